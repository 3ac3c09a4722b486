from __future__ import annotations

from collections.abc import Callable

import pytest

from gangform.admission.mixture import Use, mixture_faults
from gangform.findings import InputPath, Severity, ordered
from gangform.inputs.cluster import Cluster

MakeCluster = Callable[..., Cluster]
Codes = Callable[..., list[str]]


def use(serving: str, pool: str, backend: str) -> Use:
    return Use(pool, backend, ("servings", serving))


def test_one_backend_a_pool_is_fine(make_cluster: MakeCluster, codes: Codes) -> None:
    uses = [use("a", "h100", "kueue"), use("b", "h100", "kueue"), use("c", "h200", "volcano")]
    assert codes(mixture_faults(uses, make_cluster())) == []


def test_two_backends_on_a_pool_are_refused_at_every_serving(make_cluster: MakeCluster) -> None:
    uses = [use("a", "h100", "kueue"), use("b", "h100", "none"), use("c", "h100", "kueue")]
    found = ordered(mixture_faults(uses, make_cluster()))
    assert [each.code.id for each in found] == ["backends-share-pool"] * 3
    assert [each.at for each in found] == [
        InputPath(("servings", name, "admission", "backend")) for name in "abc"
    ]
    assert found[1].what == "pool h100 is admitted by none here and by kueue elsewhere"


def test_the_two_ways_of_volcano_exclude_each_other_on_a_cluster(
    make_cluster: MakeCluster,
) -> None:
    uses = [use("a", "h100", "volcano"), use("b", "h200", "volcano-podgroup")]
    found = ordered(mixture_faults(uses, make_cluster()))
    assert [each.what for each in found] == [
        "volcano needs LWS's schedulerProvider on; volcano-podgroup on this cluster the opposite",
        "volcano-podgroup needs LWS's schedulerProvider off; volcano on this cluster the opposite",
    ]
    assert all(each.code.id == "backends-need-opposite-providers" for each in found)


@pytest.mark.parametrize(
    ("provider", "backends", "said"),
    [
        ("volcano", ["kueue", "none"], ["kueue, none"]),
        ("volcano", ["kueue", "volcano"], ["kueue"]),
        ("volcano", ["volcano"], []),
        ("none", ["kueue", "none"], []),
        ("unknown", ["kueue", "none"], []),
    ],
)
def test_groups_that_the_provider_makes_all_the_same_are_noted(
    provider: str, backends: list[str], said: list[str], make_cluster: MakeCluster
) -> None:
    uses = [use(f"s{index}", f"p{index}", name) for index, name in enumerate(backends)]
    found = list(mixture_faults(uses, make_cluster(lws_scheduler_provider=provider)))
    assert [each.seen["backends"] for each in found] == said
    assert all(each.code.severity is Severity.STYLE for each in found)


def test_a_backend_that_does_not_exist_is_left_to_others(
    make_cluster: MakeCluster, codes: Codes
) -> None:
    uses = [use("a", "h100", "kueue"), use("b", "h100", "slurm")]
    assert codes(mixture_faults(uses, make_cluster())) == []


def test_the_order_of_servings_changes_nothing(make_cluster: MakeCluster) -> None:
    uses = [use("a", "p", "kueue"), use("b", "p", "volcano"), use("c", "q", "volcano-podgroup")]
    cluster = make_cluster(lws_scheduler_provider="volcano")
    assert ordered(mixture_faults(uses, cluster)) == ordered(mixture_faults(uses[::-1], cluster))
