"""Demands against quotas that stand, and their order."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.admission.kueue_demands import Codes, MakeCluster, MakeDemand, kueue, two_pools

from gangform.admission.kueue import Kueue
from gangform.findings import Severity, brief
from gangform.inputs.defaults import defaults
from gangform.units import Resources, Seconds

ENOUGH = {"cpu": "800", "memory": "12800Gi", "ephemeral-storage": "16000Gi", "nvidia.com/gpu": "64"}


@pytest.mark.parametrize(
    ("quota", "found"),
    [
        (None, []),
        ({"h100": ENOUGH}, []),
        ({"h100": ENOUGH | {"rdma/ib": "1"}}, []),
        ({"h100": ENOUGH | {"memory": "13.7T"}}, ["clusters.prod.kueue.quota.h100.memory"]),
        ({"h100": ENOUGH | {"cpu": "799999m"}}, ["clusters.prod.kueue.quota.h100.cpu"]),
        (
            {"h100": ENOUGH | {"nvidia.com/gpu": "63"}},
            ["clusters.prod.kueue.quota.h100[nvidia.com/gpu]"],
        ),
    ],
)
def test_the_sum_of_demands_is_held_against_an_existing_quota(
    quota: dict[str, dict[str, str]] | None,
    found: list[str],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    cluster = make_cluster(foundation="existing", **kueue(quota=quota))
    findings = list(Kueue().check_sum([make_demand()], cluster))
    assert [each.code.id for each in findings] == ["quota-too-small"] * len(found)
    assert [brief(each).splitlines()[1].removeprefix("  --> ") for each in findings] == found


def test_a_short_quota_shows_the_arithmetic(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = make_cluster(
        foundation="existing", **kueue(quota={"h100": ENOUGH | {"nvidia.com/gpu": "64"}})
    )
    demands = [make_demand(serving="b", groups=1, extra=0), make_demand(serving="a")]
    gpus = [each for each in Kueue().check_sum(demands, cluster) if "gpu" in each.what]
    assert [each.what for each in gpus] == [
        "flavor `h100` needs 80 nvidia.com/gpu, its quota is 64: a (3 + 1) groups × 16 + b (1 + 0) groups × 16"
    ]


@pytest.mark.parametrize(
    ("code", "foundation", "quota"),
    [
        (
            "quota-lacks-resource",
            "existing",
            {"h100": {k: v for k, v in ENOUGH.items() if k != "cpu"}},
        ),
        ("quota-unreadable", "existing", {"h100": ENOUGH | {"cpu": "many"}}),
        ("quota-lacks-flavor", "existing", {"gpu": ENOUGH}),
        ("quota-not-used", "all", {"h100": ENOUGH}),
        ("quota-not-used", "queues", {"h100": {}}),
    ],
)
def test_a_quota_that_cannot_be_checked_is_said(
    code: str,
    foundation: str,
    quota: dict[str, dict[str, str]],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    cluster = make_cluster(foundation=foundation, **kueue(quota=quota))
    assert codes(Kueue().check_sum([make_demand()], cluster)) == [code]


def test_only_an_assumed_bandwidth_makes_a_warning(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    late = make_demand(worst_cold_start=Seconds(1801), bandwidth_declared=False)
    (found,) = Kueue().check(late, make_cluster())
    assert found.code.severity is Severity.DEGRADES


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "rdma/ib"]),
    st.integers(0, 10**12),
    min_size=1,
)
CHOICES = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["llm", "chat"]),
    st.sampled_from(["serving", "batch"]),
    st.sampled_from(["h100", "h200"]),
    st.integers(1, 4),
    st.integers(0, 5),
    AMOUNTS,
)


@settings(deadline=None)
@given(chosen=st.lists(CHOICES, max_size=6), data=st.data())
def test_the_order_of_demands_changes_nothing(
    chosen: list[tuple[str, str, str, str, int, int, dict[str, int]]],
    data: st.DataObject,
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    demands = [
        make_demand(
            serving=f"{serving}{index}",
            namespace=namespace,
            queue=queue,
            pool=pool,
            size=size,
            groups=groups,
            leader=Resources(amounts),
            worker=Resources(amounts),
        )
        for index, (serving, namespace, queue, pool, size, groups, amounts) in enumerate(chosen)
    ]
    other = data.draw(st.permutations(demands))
    ours = two_pools(make_cluster, "all")
    theirs = make_cluster(
        foundation="existing", **kueue(quota={"h100": {"cpu": "1"}, "h200": {"memory": "1"}})
    )
    one, two = (Kueue().foundation(each, ours, defaults=defaults(1)) for each in (demands, other))
    assert repr(one) == repr(two)
    assert list(Kueue().check_sum(demands, theirs)) == list(Kueue().check_sum(other, theirs))
    assert Kueue().prerequisites(demands, theirs) == Kueue().prerequisites(other, theirs)
