"""What may happen to groups, and which alert fires at which minute."""

from __future__ import annotations

import re

from tests.signals.scenario import (
    Scenario,
    Series,
    World,
    created,
    endpoint,
    endpoints,
    in_namespace,
    node,
    phase,
    ready,
    revision,
    series,
    set_ready,
    steady,
    then,
    updated,
    wanted,
)

from gangform.plan.serving import ServingPlan


def nothing_is_wrong(world: World) -> Scenario:
    return Scenario({}, {minute: [] for minute in (1, 90)})


def a_worker_is_lost_and_its_leader_stays_ready(world: World) -> Scenario:
    broken = world.leaders[1]
    if world.size == 1:
        return Scenario({}, {40: []})
    serves = in_namespace("ServingLeaderReadyGroupIncomplete", pod=broken)
    endpoints_differ = in_namespace("ServingLeaderEndpointsMismatch", 2)
    return Scenario(
        {set_ready(broken): then((world.size - 1, 10), (world.size - 2, 1))},
        {
            10: [],
            11: [],
            12: [serves],
            16: [serves, endpoints_differ],
            29: [serves, endpoints_differ],
            31: [serves, endpoints_differ, in_namespace("ServingGroupsNotReady", 1)],
        },
    )


def no_leader_is_ready(world: World) -> Scenario:
    down = then((1, 10), (0, 1))
    nothing = in_namespace("ServingNoGroupReady", 0)
    return Scenario(
        {
            **{ready(leader): down for leader in world.leaders},
            **endpoints(world.leaders, values="1+0x9 stale"),
        },
        {10: [], 14: [], 16: [nothing], 31: [nothing, in_namespace("ServingGroupsNotReady", 0)]},
    )


def no_pod_is_there_at_all(world: World) -> Scenario:
    gone: dict[str, str | None] = {
        name: None
        for name in world.healthy()
        if name.startswith("kube_pod") or "endpoints{" in name or "-leader-" in name
    }
    # Another Service's slice: slices are exported, ours has none.
    gone[series("kube_endpointslice_info", endpointslice="other-abc12")] = steady(1)
    return Scenario(
        gone,
        {
            25: [
                in_namespace("ServingNoGroupReady", 0),
                in_namespace("ServingGroupsNotReady", 0),
            ]
        },
    )


def scaled_to_zero(world: World) -> Scenario:
    gone: dict[str, str | None] = {
        name: None
        for name in world.healthy()
        if name.startswith("kube_pod") or "endpoints{" in name
    }
    return Scenario({**gone, **{wanted(name): steady(0) for name in world.sets}}, {30: [], 90: []})


def a_surge_group_does_not_hide_a_broken_one(world: World) -> Scenario:
    name, surge = world.sets[0], f"{world.sets[0]}-9"
    own = sum(world.set_of(leader) == name for leader in world.leaders)
    whole: Series = {ready(surge): steady(1), **endpoints([surge, world.leaders[1]])}
    if world.size > 1:
        whole[set_ready(surge)] = steady(world.size - 1)
    return Scenario(
        {
            **whole,
            wanted(name): steady(own + 1),
            ready(world.leaders[0]): steady(0),
            **{endpoint(f"llm-leader-{end}", world.leaders[0]): None for end in ("abc12", "xyz89")},
        },
        {15: [], 21: [in_namespace("ServingGroupsNotReady", 2)]},
    )


def a_rollout_moves_once_and_then_stands(world: World) -> Scenario:
    name = world.sets[-1]
    stalled = in_namespace("ServingRolloutStalled", statefulset=name, revision="b")
    return Scenario(
        {
            revision("update", name, "a"): "1+0x4 stale",
            revision("update", name, "b"): f"_x5 {steady(1)}",
            updated(name): then((2, 5), (0, 15), (1, 1)),
        },
        {
            10: [],
            45: [],
            54: [],
            57: [] if world.held else [stalled],
        },
    )


def a_rollout_that_goes_on(world: World) -> Scenario:
    name = world.sets[-1]
    return Scenario(
        {
            revision("update", name, "a"): None,
            revision("update", name, "b"): steady(1),
            set_ready(name): " ".join(f"{1 + turn % 2}+0x14" for turn in range(8)),
        },
        {60: [], 100: []},
    )


def one_after_another(world: World, *, ends: bool) -> dict[str, str | None]:
    """The groups are updated in turn, twenty minutes each; or the first never comes back."""
    first, second = world.leaders
    there = f"1+0x4 stale _x19 {steady(1)}" if ends else "1+0x4 stale"
    found: dict[str, str | None] = {
        ready(first): then((1, 5), (0, 20), (1, 1)) if ends else then((1, 5), (0, 1)),
        **{endpoint(f"llm-leader-{end}", first): there for end in ("abc12", "xyz89")},
    }
    if ends:
        later = f"1+0x24 stale _x19 {steady(1)}"
        found |= {ready(second): then((1, 25), (0, 20), (1, 1))}
        found |= {endpoint(f"llm-leader-{end}", second): later for end in ("abc12", "xyz89")}
    if len(world.sets) == 1:
        lone = ((2, 5), (0, 20), (1, 20), (2, 1)) if ends else ((2, 5), (0, 1))
        return {**found, updated(world.sets[0]): then(*lone)}
    steps = ((1, 5), (0, 20), (1, 1)) if ends else ((1, 5), (0, 1))
    found[updated(world.sets[0])] = then(*steps)
    if ends:
        found[updated(world.sets[1])] = then((1, 25), (0, 20), (1, 1))
    return found


def a_healthy_rollout_takes_one_group_after_another(world: World) -> Scenario:
    return Scenario(
        one_after_another(world, ends=True), {minute: [] for minute in (10, 26, 44, 60, 90)}
    )


def a_group_does_not_come_back_from_its_update(world: World) -> Scenario:
    missing = in_namespace("ServingGroupsNotReady", 1)
    return Scenario(one_after_another(world, ends=False), {30: [], 53: [], 57: [missing]})


def a_leader_lives_three_times_in_an_hour(world: World) -> Scenario:
    leader = world.leaders[0]
    rebuilt = in_namespace("ServingGroupRebuiltRepeatedly", 3, pod=leader)
    return Scenario(
        {
            created(leader, "1"): "1+0x9 stale",
            created(leader, "2"): "_x10 1+0x9 stale",
            created(leader, "3"): f"_x20 {steady(1)}",
        },
        {19: [], 21: [rebuilt], 60: [rebuilt], 75: []},
    )


def two_lives_and_two_exporters_for_a_while(world: World) -> Scenario:
    """A pod's old and new uid, and old and new kube-state-metrics, are there at once: no join may fail."""
    leader = world.leaders[0]
    again = {
        name.replace("{", '{instance="new",', 1): values for name, values in world.healthy().items()
    }
    return Scenario(
        {**again, ready(leader, "2"): steady(1), created(leader, "2"): steady(1)}, {90: []}
    )


def pods_wait_for_capacity(world: World) -> Scenario:
    waiting = [pod for pod in world.pods if pod.startswith(world.leaders[1])]
    pending = in_namespace("ServingGroupPodsPending", len(waiting))
    return Scenario(
        {phase(pod): steady(1) for pod in waiting}, {29: [], 30: [pending], 90: [pending]}
    )


def a_ready_leader_is_no_endpoint(world: World) -> Scenario:
    lost = {endpoint(f"llm-leader-{end}", world.leaders[0]): None for end in ("abc12", "xyz89")}
    return Scenario(lost, {4: [], 5: [in_namespace("ServingLeaderEndpointsMismatch", 1)]})


def the_service_has_no_endpoint(world: World) -> Scenario:
    lost = {
        endpoint(f"llm-leader-{end}", leader): None
        for end in ("abc12", "xyz89")
        for leader in world.leaders
    }
    return Scenario(lost, {5: [in_namespace("ServingLeaderEndpointsMismatch", 0)]})


def slices_are_not_exported(world: World) -> Scenario:
    """Before 2.18 kube-state-metrics has no slices by default: that is no mismatch."""
    return Scenario({name: None for name in world.healthy() if "endpointslice" in name}, {90: []})


def a_node_is_cordoned(world: World) -> Scenario:
    pod = world.pods[-1]
    held = in_namespace("ServingGroupOnCordonedNode", node=f"node-of-{pod}")
    return Scenario({node(f"node-of-{pod}"): steady(1)}, {29: [], 30: [held]})


def a_set_is_absent(world: World) -> Scenario:
    name = world.sets[-1]
    lost = in_namespace("ServingGroupsAbsent", job="kube-state-metrics", statefulset=name)
    # Nothing else of the set is there either, and its endpoints went with it.
    gone: dict[str, str | None] = {
        each: None
        for each in world.healthy()
        if re.search(rf'"{name}["-]', each) and "leader-" not in each and '"llm-x' not in each
    }
    gone |= {
        endpoint(f"llm-leader-{end}", leader): None
        for end in ("abc12", "xyz89")
        for leader in world.leaders
        if world.set_of(leader) == name
    }
    return Scenario(gone, {14: [], 15: [lost], 90: [lost]})


GROUP_SCENARIOS = [
    nothing_is_wrong,
    a_worker_is_lost_and_its_leader_stays_ready,
    no_leader_is_ready,
    no_pod_is_there_at_all,
    scaled_to_zero,
    a_surge_group_does_not_hide_a_broken_one,
    a_rollout_moves_once_and_then_stands,
    a_rollout_that_goes_on,
    a_healthy_rollout_takes_one_group_after_another,
    a_group_does_not_come_back_from_its_update,
    a_leader_lives_three_times_in_an_hour,
    two_lives_and_two_exporters_for_a_while,
    pods_wait_for_capacity,
    a_ready_leader_is_no_endpoint,
    the_service_has_no_endpoint,
    slices_are_not_exported,
    a_node_is_cordoned,
    a_set_is_absent,
]


def normal(plan: ServingPlan) -> Series:
    return World.of(plan).healthy() if plan.choice.form.can.makes_stateful_sets else {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    if not plan.choice.form.can.makes_stateful_sets:
        return {}
    world = World.of(plan)
    return {make.__name__: make(world) for make in GROUP_SCENARIOS}
