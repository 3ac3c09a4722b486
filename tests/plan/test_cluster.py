from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Pool
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.serving import Disruption, Parallelism, Rollout
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeHardware = Callable[..., HardwareShape]
Codes = Callable[[Iterable[Finding]], list[str]]
Together = Callable[..., ClusterPlan]


@pytest.fixture
def together(make_plan: MakePlan, make_cluster: MakeCluster) -> Together:
    def plan(*servings: dict[str, Any], on: Cluster | None = None) -> ClusterPlan:
        home = on or make_cluster()
        return plan_cluster(home, [make_plan(on=home, **one) for one in servings])

    return plan


def test_an_empty_cluster_has_a_plan(together: Together) -> None:
    plan = together()
    assert (plan.servings, plan.quota, plan.pools, plan.findings) == ((), {}, (), ())
    assert plan.defaults.edition == 1


@settings(deadline=None, max_examples=50)
@given(
    st.lists(
        st.tuples(st.integers(1, 5), st.integers(1, 3), st.integers(0, 2)), min_size=1, max_size=4
    )
)
def test_the_quota_is_what_all_groups_take_at_the_peak(
    make_plan: MakePlan, make_cluster: MakeCluster, wanted: list[tuple[int, int, int]]
) -> None:
    on = make_cluster()
    plans = [
        make_plan(
            on=on,
            name=f"s{n}",
            backend="kueue",
            groups=groups,
            parallelism=Parallelism(tensor=8, pipeline=stages),
            rollout=Rollout(spare_groups=spare),
        )
        for n, (groups, stages, spare) in enumerate(wanted)
    ]
    plan = plan_cluster(on, plans)
    pods = sum((groups + spare) * stages for groups, stages, spare in wanted if stages > 1)
    # A Deployment surges under Kueue too, and a spare group is its room.
    pods += sum((groups + spare) for groups, stages, spare in wanted if stages == 1)
    assert plan.quota["gpu"]["nvidia.com/gpu"] == 8 * pods
    assert plan.quota["gpu"]["memory"] == 1440 * 2**30 * pods
    assert sum(demand.total["nvidia.com/gpu"] for demand in plan.demands) == 8 * pods


def test_a_spare_group_is_counted_once_over_several_sets(together: Together) -> None:
    spare = Rollout(spare_groups=1)
    plan = together({"groups": 3, "backend": "volcano-podgroup", "rollout": spare})
    assert [demand.extra for demand in plan.demands] == [1, 0, 0]
    assert plan.quota["gpu"]["nvidia.com/gpu"] == 4 * 16


def test_demands_go_by_backend_in_the_order_of_names(together: Together) -> None:
    plan = together(
        {"name": "b", "backend": "none"},
        {"name": "c", "backend": "kueue"},
        {"name": "a", "backend": "none"},
    )
    assert [(name, [demand.workload for demand in demands]) for name, demands in plan.backends] == [
        ("kueue", ["c"]),
        ("none", ["a", "b"]),
    ]


def test_every_finding_is_the_clusters_and_the_servings(together: Together, codes: Codes) -> None:
    plan = together({"name": "a", "groups": 1}, {"name": "a-1"})
    assert codes(plan.findings) == ["names-clash"] * len(plan.findings)
    assert "rollout-stops-serving" in codes(plan.every_finding)
    assert "names-clash" in codes(plan.every_finding)


# ── names ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("one", "other", "clash"),
    [
        ({"name": "a"}, {"name": "b"}, False),
        ({"name": "a"}, {"name": "a", "namespace": "n"}, False),
        ({"name": "a"}, {"name": "a-leader"}, True),
        ({"name": "a"}, {"name": "a-7"}, True),
        ({"name": "a"}, {"name": "a-7", "namespace": "n"}, False),
        ({"name": "a"}, {"name": "a-b"}, False),
        ({"name": "a", "backend": "volcano-podgroup"}, {"name": "a-2"}, True),
        (
            {"name": "a", "disruption": Disruption(mode="perGroup")},
            {"name": "a-group-1"},
            True,
        ),
    ],
)
def test_no_two_servings_make_objects_or_pods_of_one_name(
    together: Together, codes: Codes, one: dict[str, Any], other: dict[str, Any], clash: bool
) -> None:
    for servings in ((one, other), (other, one)):
        assert ("names-clash" in codes(together(*servings).findings)) == clash


# ── pools ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("a", "b", "alike"),
    [
        ({}, {}, True),
        ({"pool": "a"}, {}, True),
        ({"pool": "a"}, {"disk": "b"}, True),
        ({"pool": "a"}, {"pool": "b"}, False),
        ({"pool": "a", "x": "1"}, {"pool": "a", "x": "1"}, True),
        ({"pool": "a", "x": "1"}, {"pool": "a", "x": "2"}, False),
    ],
)
def test_pools_in_use_are_told_apart_by_a_label(
    together: Together,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    codes: Codes,
    a: dict[str, str],
    b: dict[str, str],
    alike: bool,
) -> None:
    pools = {
        "a": Pool(hardware=make_hardware(), node_labels=a),
        "b": Pool(hardware=make_hardware(), node_labels=b),
    }
    on = make_cluster(pools=pools)
    plan = together({"name": "one", "pool": "a"}, {"name": "two", "pool": "b"}, on=on)
    assert ("pools-not-told-apart" in codes(plan.findings)) == alike
    unused = together({"name": "one", "pool": "a"}, on=on)
    assert codes(unused.findings) == []


# ── surges ───────────────────────────────────────────────────────────────────────────────────────

SURGE = {"rollout": Rollout(max_surge=1)}
SPARE = {"rollout": Rollout(spare_groups=1)}


def surging(*changes: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": f"s{n}", **one} for n, one in enumerate(changes)]


@pytest.mark.parametrize(
    ("servings", "compete"),
    [
        (surging(SURGE, SURGE), True),
        (surging(SURGE), False),
        (surging(SURGE, {}), False),
        (surging(SPARE, SPARE), False),
        (surging(SPARE, SURGE), True),
        (surging({**SURGE, "backend": "volcano"}, {**SURGE, "backend": "volcano"}), False),
        (
            surging(
                *[{**SURGE, "parallelism": Parallelism(tensor=8)}] * 2,
            ),
            False,
        ),
    ],
)
def test_two_surges_need_room_for_both_where_nobody_gangs(
    together: Together, codes: Codes, servings: list[dict[str, Any]], compete: bool
) -> None:
    found = [one for one in together(*servings).findings if one.code.id == "surges-compete"]
    assert [one.at.path[1] for one in found] == (["s0", "s1"] if compete else [])


@pytest.mark.parametrize(("nodes", "compete"), [(20, False), (19, True)])
def test_an_inventory_says_whether_both_find_room(
    together: Together, make_cluster: MakeCluster, codes: Codes, nodes: int, compete: bool
) -> None:
    plan = together(*surging(SURGE, SURGE), on=make_cluster(pool={"nodes": nodes}))
    assert ("surges-compete" in codes(plan.findings)) == compete
    hoped = together(*surging(SPARE, SPARE), on=make_cluster(pool={"nodes": nodes}))
    assert ("surges-compete" in codes(hoped.findings)) == compete


def test_the_warning_counts_gpus_that_surge_and_that_are_spare(together: Together) -> None:
    """A group is 16 GPUs: three surge, and room for one is kept free."""
    servings = surging(SPARE, SURGE, SURGE)
    found = [one for one in together(*servings).findings if one.code.id == "surges-compete"]
    assert [one.seen for one in found] == [{"needed": "48", "spare": "16"}] * 3


# ── backends together ────────────────────────────────────────────────────────────────────────────


def test_the_mixture_of_backends_is_checked_over_the_whole_cluster(
    together: Together, make_cluster: MakeCluster, codes: Codes
) -> None:
    on = make_cluster(lws_scheduler_provider="volcano")
    (found,) = together({"backend": "kueue"}, on=on).findings
    assert found.code.id == "provider-makes-groups-all-the-same"
    assert not found.breaks
    off = make_cluster(lws_scheduler_provider="none")
    assert codes(together({"backend": "kueue"}, on=off).findings) == []
    shared = together({"name": "a", "backend": "kueue"}, {"name": "b", "backend": "none"})
    assert codes(shared.findings) == ["backends-share-pool"] * 2
