"""What a node, a rack or a drain takes down, on the map of the plan and by pods that run."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.conftest import cluster, planned

from gangform.apis.leaderworkerset import GROUP_INDEX, NAME, WORKER_INDEX
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.loss import Loss, assumed, drained, losses, places, table
from gangform.plan.seen import nodes_with_pods, seen
from gangform.units import Seconds

RACK = "example.net/rack"


def racks(*nodes: int) -> dict[str, Any]:
    domains = [{"at": (f"r{index}",), "nodes": count} for index, count in enumerate(nodes)]
    return {"nodes": sum(nodes), "levels": (RACK,), "domains": tuple(domains)}


def plan_of(pool: dict[str, Any], **changes: Any) -> ClusterPlan:
    here = cluster(pool=pool)
    return plan_cluster(here, [planned(on=here, **changes)])


def lost(plan: ClusterPlan, *names: str) -> Loss:
    known = places(plan)
    gone = frozenset(node for name in names for node in known[name])
    (found,) = losses(plan, assumed(plan), gone, on_map=True)
    return found


def required(**changes: Any) -> dict[str, Any]:
    return {"topology": {"level": RACK, "mode": "required"}, "backend": "kueue", **changes}


def test_a_backend_that_gives_a_domain_to_one_group_needs_another_domain() -> None:
    loss = lost(plan_of(racks(4, 4, 4), **required(groups=2, backend="none")), "gpu/r0/0")
    assert (loss.groups, loss.home) == ((0,), 1)
    assert lost(plan_of(racks(2, 4), **required(groups=2, backend="none")), "gpu/r0/0").home == 0


def test_a_node_takes_its_whole_group_and_a_rack_takes_all_that_lie_in_it() -> None:
    plan = plan_of(racks(4, 4, 2), **required(groups=4))
    node, rack = lost(plan, "gpu/r0/0"), lost(plan, "gpu/r0")
    assert (len(node.groups), node.lost, node.of) == (1, 3, 4)
    assert (len(rack.groups), rack.lost) == (2, 2)
    assert lost(plan, "gpu/r0/0", "gpu/r0/1").groups == node.groups


def test_the_map_names_each_node_and_each_domain() -> None:
    plan = plan_of(racks(2, 2), **required(groups=2))
    known = places(plan)
    assert sorted(known) == ["gpu/r0", "gpu/r0/0", "gpu/r0/1", "gpu/r1", "gpu/r1/0", "gpu/r1/1"]
    assert known["gpu/r0"] == {"gpu/r0/0", "gpu/r0/1"}


def test_under_one_budget_a_drain_takes_one_group_after_another() -> None:
    plan = plan_of(racks(4, 4), **required(groups=2))
    loss = lost(plan, "gpu/r0")
    assert [one.answer for one in loss.drain] == ["evicted", "evicted in turn"]
    assert {one.budget for one in loss.drain} == {"llm"}
    lead = plan.servings[0].lead
    assert (loss.floor, loss.lost, loss.home) == (1, 0, 2)
    assert loss.back == lead.startup.cold_start
    assert loss.drained == 2 * (lead.launch.grace + lead.startup.cold_start)


def test_a_budget_a_group_refuses_and_a_released_group_goes() -> None:
    plan = plan_of(
        racks(4, 4), **required(groups=2, disruption={"mode": "perGroup", "released": (1,)})
    )
    loss = lost(plan, "gpu/r0")
    assert [(one.group, one.answer, one.budget) for one in loss.drain] == [
        (0, "refused", "llm-group-0"),
        (1, "evicted", ""),
    ]
    assert (loss.floor, loss.drained) == (1, None)


def test_free_nodes_are_no_whole_place() -> None:
    """A node is left of each rack: the group does not come back; with two of one rack it does."""
    scattered = lost(plan_of(racks(3, 3), **required(groups=2)), "gpu/r0/0")
    assert (scattered.home, scattered.back, scattered.drained) == (
        1,
        scattered.back,
        scattered.drained,
    )
    stuck = lost(plan_of(racks(2, 3), **required(groups=2)), "gpu/r0/0")
    assert (stuck.home, stuck.back, stuck.drained) == (0, None, None)
    whole = lost(plan_of(racks(2, 4), **required(groups=2)), "gpu/r0/0")
    assert whole.home == 1


def test_a_place_that_one_group_takes_is_no_place_for_the_next() -> None:
    loss = lost(plan_of(racks(4, 4), **required(groups=3)), "gpu/r0")
    assert (len(loss.groups), loss.home, loss.back) == (2, 1, None)


def test_groups_that_may_lie_anywhere_take_scattered_nodes() -> None:
    loss = lost(plan_of({"nodes": 6}, groups=2), "gpu/0")
    assert (loss.home, loss.groups) == (1, (0,))
    assert lost(plan_of({"nodes": 4}, groups=2), "gpu/0").home == 0


def test_where_no_domain_is_known_any_free_node_is_a_home() -> None:
    pool = {"nodes": 6, "levels": (RACK,)}
    assert lost(plan_of(pool, **required(groups=2, backend="none")), "gpu/0").home == 1


def test_workloads_of_one_name_in_two_namespaces_are_two() -> None:
    """The second group of one serving, a set of its own, is called like the other serving's only set."""
    here = cluster(pool=racks(2, 2, 1, 1), lws_scheduler_provider="none", gitops="argocd")
    apart = planned(on=here, name="a", **required(groups=2, backend="volcano-podgroup"))
    small = planned(on=here, name="a-1", namespace="other", groups=1, parallelism={"tensor": 8})
    plan = plan_cluster(here, [apart, small])
    names = [one.workload for one in plan.demands]
    assert names == ["a-0", "a-1", "a-1"]
    rack = next(
        one
        for one in assumed(plan)
        if one.group == 0 and one.workload == "a-1" and one.serving == "a"
    )
    (found,) = losses(plan, assumed(plan), rack.nodes, on_map=True)
    assert (found.serving, found.home) == ("a", 0)


def test_where_each_group_is_a_workload_it_is_counted_as_a_group() -> None:
    here = cluster(pool=racks(2, 2, 2), lws_scheduler_provider="none", gitops="argocd")
    plan = plan_cluster(here, [planned(on=here, **required(groups=3, backend="volcano-podgroup"))])
    assert len(plan.servings[0].workloads) == 3
    assert sorted(lost(plan, f"gpu/r{rack}").groups[0] for rack in range(3)) == [0, 1, 2]
    assert lost(plan, "gpu/r0").of == 3


def test_every_place_with_something_on_it_has_a_row() -> None:
    plan = plan_of(racks(4, 2), **required(groups=3))
    rows = list(table(plan))
    assert [row.names for row in rows] == [
        ("gpu/r0",), ("gpu/r1",), ("gpu/r0/0", "gpu/r0/1"), ("gpu/r0/2", "gpu/r0/3"), ("gpu/r1/0", "gpu/r1/1"),
    ]  # fmt: skip


def test_without_an_inventory_nothing_is_on_the_map() -> None:
    plan = plan_of({}, groups=2)
    assert (places(plan), assumed(plan), list(table(plan))) == ({}, (), [])


@settings(deadline=None)
@given(
    nodes=st.lists(st.integers(1, 5), min_size=1, max_size=4),
    groups=st.integers(1, 4),
    data=st.data(),
)
def test_what_is_lost_and_what_is_left_are_all(nodes: list[int], groups: int, data: Any) -> None:
    plan = plan_of(racks(*nodes), **required(groups=groups))
    known = places(plan)
    names = data.draw(st.sets(st.sampled_from(sorted(known)), min_size=1))
    gone = frozenset(node for name in names for node in known[name])
    for loss in losses(plan, assumed(plan), gone, on_map=True):
        assert loss.lost + len(loss.groups) == loss.of
        assert loss.lost <= loss.floor < loss.of
        assert loss.home is not None and 0 <= loss.home <= len(loss.groups)
        assert (loss.back is None) == (loss.home < len(loss.groups))


def test_turns_add_up() -> None:
    assert drained(3, Seconds(90), Seconds(600)) == Seconds(2070)


# ── pods that run ────────────────────────────────────────────────────────────────────────────────


def pod(name: str, node: str, group: int, worker: int, **changes: Any) -> Any:
    labels = {NAME: "llm", GROUP_INDEX: str(group), WORKER_INDEX: str(worker)}
    return {
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "m",
            "labels": labels,
            **changes.pop("metadata", {}),
        },
        "spec": {"nodeName": node},
        "status": {"phase": "Running"},
        **changes,
    }


PODS = [
    pod("llm-0-1", "n1", 0, 1),
    pod("llm-0", "n2", 0, 0),
    pod("llm-1", "n3", 1, 0),
    pod("llm-1-1", "n4", 1, 1),
]


def test_groups_lie_where_their_pods_run() -> None:
    plan = plan_of({}, groups=2)
    held = seen(plan, PODS)
    assert [(one.group, one.nodes) for one in held] == [(0, ("n2", "n1")), (1, ("n3", "n4"))]
    (loss,) = losses(plan, held, ["n1", "n2"], on_map=False)
    assert (loss.groups, loss.of, loss.home, loss.floor) == ((0,), 2, None, 1)
    assert loss.back is not None
    assert nodes_with_pods(PODS) == ("n1", "n2", "n3", "n4")


@pytest.mark.parametrize(
    "changes",
    [
        {"status": {"phase": "Failed"}},
        {"metadata": {"namespace": "other"}},
        {"metadata": {"labels": {NAME: "another", GROUP_INDEX: "0", WORKER_INDEX: "0"}}},
        {"metadata": {"labels": {NAME: "llm", GROUP_INDEX: "x", WORKER_INDEX: "0"}}},
    ],
)
def test_pods_that_hold_nothing_of_ours_are_left_out(changes: dict[str, Any]) -> None:
    assert seen(plan_of({}, groups=2), [pod("p", "n1", 0, 0, **changes)]) == ()


def ready(status: str) -> dict[str, Any]:
    return {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}


@pytest.mark.parametrize(
    "changes",
    [
        {"spec": {}},
        {"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}},
        {"status": ready("False")},
    ],
)
def test_a_group_with_a_pod_that_waits_goes_or_is_not_ready_does_not_serve(
    changes: dict[str, Any],
) -> None:
    """`lab E3`: while one pod of a set is not ready its budget lets no healthy pod of another group go."""
    plan = plan_of({}, groups=2)
    held = seen(plan, [*PODS[:3], pod("llm-1-1", "n4", 1, 1, **changes)])
    assert [(one.group, one.serves) for one in held] == [(0, True), (1, False)]
    (loss,) = losses(plan, held, ["n1"], on_map=False)
    assert (loss.groups, loss.of, loss.broken, loss.lost, loss.floor) == ((0,), 2, (1,), 0, 0)
    assert [one.answer for one in loss.drain] == ["evicted in turn"]
    assert loss.drained is None
    (own,) = losses(plan, held, ["n3"], on_map=False)
    assert (own.lost, own.floor, [one.answer for one in own.drain]) == (1, 1, ["evicted"])


def test_of_several_groups_the_broken_one_goes_first() -> None:
    plan = plan_of({}, groups=2)
    held = seen(plan, [*PODS[:3], pod("llm-1-1", "n4", 1, 1, status=ready("False"))])
    (loss,) = losses(plan, held, ["n1", "n3"], on_map=False)
    assert [(one.group, one.answer) for one in loss.drain] == [
        (1, "evicted"),
        (0, "evicted in turn"),
    ]
    assert (loss.lost, loss.floor) == (0, 0)
    assert loss.drained is not None


def test_a_budget_a_group_lets_a_broken_group_go() -> None:
    plan = plan_of({}, groups=2, disruption={"mode": "perGroup"})
    held = seen(plan, [*PODS[:3], pod("llm-1-1", "n4", 1, 1, status=ready("False"))])
    (loss,) = losses(plan, held, ["n1", "n3"], on_map=False)
    assert {one.group: one.answer for one in loss.drain} == {0: "refused", 1: "evicted"}


def test_a_group_none_of_whose_pods_found_a_node_is_counted() -> None:
    plan = plan_of({}, groups=2)
    held = seen(plan, [*PODS[:2], pod("llm-1", "", 1, 0)])
    assert [(one.group, one.nodes, one.serves) for one in held][1] == (1, (), False)
    (loss,) = losses(plan, held, ["n1"], on_map=False)
    assert (loss.of, loss.lost) == (2, 0)


def test_a_pod_that_stands_there_twice_is_one_and_the_order_is_no_matter() -> None:
    plan = plan_of({}, groups=2)
    assert seen(plan, [*PODS, *PODS]) == seen(plan, PODS) == seen(plan, PODS[::-1])
