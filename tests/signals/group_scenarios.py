"""What may happen to groups, and which alert fires at which minute."""

from __future__ import annotations

import re

from tests.signals.scenario import (
    Fires,
    Scenario,
    Series,
    bound,
    cordoned,
    created,
    endpoint,
    endpoints,
    in_namespace,
    phase,
    ready,
    revision,
    series,
    set_ready,
    steady,
    then,
    up,
    wanted,
)
from tests.signals.world import World, elsewhere, waiting, whole

from gangform.plan.serving import ServingPlan

FEWER, NOTHING = "ServingGroupsNotReady", "ServingNoGroupReady"


def nothing_is_wrong(world: World) -> Scenario:
    return Scenario({}, {minute: [] for minute in (1, 90)}, {90: world.serves(2, 2)})


def not_endpoints(world: World, *leaders: str, values: str | None = None) -> dict[str, str | None]:
    return {
        endpoint(f"llm-leader-{end}", leader): values
        for end in ("abc12", "xyz89")
        for leader in leaders or world.leaders
    }


def all_leaders(world: World, ready_: str, endpoints_: str | None) -> dict[str, str | None]:
    return {
        **{ready(leader): ready_ for leader in world.leaders},
        **not_endpoints(world, values=endpoints_),
    }


def absent(world: World) -> list[Fires]:
    job = "kube-state-metrics"
    return [in_namespace("ServingGroupsAbsent", job=job, statefulset=name) for name in world.sets]


def a_worker_is_lost_and_its_leader_stays_ready(world: World) -> Scenario:
    broken = world.leaders[1]
    if world.size == 1:
        return Scenario({}, {40: []})
    serves = in_namespace("ServingLeaderReadyGroupIncomplete", pod=broken)
    differ = in_namespace("ServingLeaderEndpointsMismatch", 2)
    back = (world.size - 1, 10), (world.size - 2, 30), (world.size - 1, 1)
    return Scenario(
        {set_ready(broken): then(*back)},
        {
            10: [],
            11: [],
            12: [serves],
            15: [serves],
            16: [serves, differ],
            29: [serves, differ],
            30: [serves, differ, in_namespace(FEWER, 1)],
            40: [],
        },
        {9: world.serves(2, 2), 11: world.serves(1, 2), 41: world.serves(2, 2)},
    )


def a_leader_is_ready_and_its_workers_do_not_exist(world: World) -> Scenario:
    if world.size == 1:
        return Scenario({}, {40: []})
    broken = world.leaders[1]
    return Scenario(
        {set_ready(broken): None, wanted(broken): None},
        {1: [], 2: [in_namespace("ServingLeaderReadyGroupIncomplete", pod=broken)]},
        {2: world.serves(1, 2)},
    )


def no_leader_is_ready(world: World) -> Scenario:
    nothing, fewer = in_namespace(NOTHING, 0), in_namespace(FEWER, 0)
    return Scenario(
        all_leaders(world, then((1, 10), (0, 60), (1, 1)), f"1+0x9 stale _x59 {steady(1)}"),
        {
            10: [],
            14: [],
            15: [nothing],
            29: [nothing],
            30: [nothing, fewer],
            60: [nothing, fewer],
            70: [],
        },
        {11: world.serves(0, 2), 60: world.serves(0, 2)},
    )


def all_die_soon_after_their_first_start(world: World) -> Scenario:
    return Scenario(
        all_leaders(world, then((0, 5), (1, 5), (0, 1)), "_x5 1+0x4 stale"),
        {14: [], 15: [in_namespace(NOTHING, 0)]},
    )


def they_start_for_the_first_time(world: World) -> Scenario:
    """As long as the worst cold start: pods that pull and load are Pending and have nodes."""
    starting = {phase(pod): then((1, 10), (0, 1)) for pod in world.pods}
    return Scenario(
        {**all_leaders(world, then((0, 15), (1, 1)), f"_x15 {steady(1)}"), **starting},
        {minute: [] for minute in (6, 14, 19, 26, 60)},
        {5: world.serves(0, 2), 16: world.serves(2, 2)},
    )


def pods_of_another(world: World) -> dict[str, str | None]:
    """Nothing of the pods is there."""
    return {
        name: None
        for name in world.healthy()
        if name.startswith(("kube_pod", "up{")) or "endpoints{" in name
    }


def no_pod_comes_up_at_all(world: World) -> Scenario:
    nothing, fewer = in_namespace(NOTHING, 0), in_namespace(FEWER, 0)
    # Another Service's slice: slices are exported, ours has none.
    other = {series("kube_endpointslice_info", endpointslice="other-abc12"): steady(1)}
    return Scenario(
        {**pods_of_another(world), **other},
        {19: [], 20: [fewer], 24: [fewer], 25: [nothing, fewer]},
        {5: world.serves(0, 2)},
    )


def scaled_to_zero(world: World) -> Scenario:
    zero = {wanted(name): steady(0) for name in world.sets}
    return Scenario({**pods_of_another(world), **zero}, {30: [], 90: []}, {90: world.serves(0, 0)})


def at_zero_for_a_while(world: World) -> Scenario:
    """A start from zero is no outage, though something served not long ago."""
    differs = all_leaders(world, then((1, 10), (0, 30), (1, 1)), f"1+0x9 stale _x29 {steady(1)}")
    for name in world.sets:
        groups = world.groups_of(name)
        differs[wanted(name)] = then((groups, 10), (0, 15), (groups, 1))
    return Scenario(
        differs,
        {minute: [] for minute in (12, 20, 26, 32, 39, 60)},
        {20: world.serves(0, 0), 30: world.serves(0, 2)},
    )


def a_surge_group_does_not_hide_a_broken_one(world: World) -> Scenario:
    name, surge = world.sets[0], f"{world.sets[0]}-9"
    return Scenario(
        {
            **whole(surge, world.size),
            **endpoints([surge, world.leaders[1]]),
            wanted(name): steady(world.groups_of(name) + 1),
            ready(world.leaders[0]): steady(0),
            **not_endpoints(world, world.leaders[0]),
        },
        {15: [], 19: []} if world.scaled else {19: [], 20: [in_namespace(FEWER, 2)]},
        {10: world.serves(2, 3)},
    )


def groups_come_and_go(world: World) -> Scenario:
    """An autoscaler or a surge makes the same leader three times, and nobody rebuilt it."""
    if not world.varies:
        return Scenario({}, {60: []})
    name = world.sets[0]
    again = f"{name}-2"
    return Scenario(
        {
            wanted(name): then((2, 5), (3, 10), (2, 5), (3, 10), (2, 5), (3, 10), (2, 1)),
            created(again, "1"): "_x5 1+0x9 stale",
            created(again, "2"): "_x20 1+0x9 stale",
            created(again, "3"): "_x35 1+0x9 stale",
        },
        {minute: [] for minute in (10, 30, 37, 45, 60)},
    )


def one_group_after_another_is_added(world: World) -> Scenario:
    """Something is starting for longer than one start takes, and none of the groups is late."""
    if not world.scaled:
        return Scenario({}, {60: []})
    name = world.sets[0]
    third, fourth = f"{name}-2", f"{name}-3"
    added = {**whole(third, world.size), **whole(fourth, world.size)}
    added |= {ready(third): f"_x5 {then((0, 14), (1, 1))}", created(third, "1"): f"_x5 {steady(1)}"}
    added |= {ready(fourth): f"_x20 {then((0, 14), (1, 1))}"}
    for end in ("abc12", "xyz89"):
        added[endpoint(f"llm-leader-{end}", third)] = f"_x19 {steady(1)}"
        added[endpoint(f"llm-leader-{end}", fourth)] = f"_x34 {steady(1)}"
    return Scenario(
        {**added, wanted(name): then((2, 5), (3, 15), (4, 1))},
        {minute: [] for minute in (20, 26, 33, 40, 60)},
        {10: world.serves(2, 3), 25: world.serves(3, 4), 40: world.serves(4, 4)},
    )


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
        name.replace("{", '{instance="new",', 1): values
        for name, values in world.healthy().items()
        if 'instance="' not in name
    }
    return Scenario(
        {**again, ready(leader, "2"): steady(1), created(leader, "2"): steady(1)},
        {90: []},
        {90: world.serves(2, 2)},
    )


def lost(world: World, leader: str) -> dict[str, str | None]:
    """The group has been made anew and its pods have no node: gated, or not placed."""
    differs: dict[str, str | None] = {ready(leader): steady(0), up(leader): None}
    for pod in world.group(leader):
        differs |= waiting(pod, f"node-of-{pod}")
    if world.size > 1:
        differs[set_ready(leader)] = steady(0)
    return {**differs, **not_endpoints(world, leader)}


def pods_wait_and_there_is_room(world: World) -> Scenario:
    """Gated by Kueue, or for quota: replacement pods are no capacity."""
    fewer, pending = in_namespace(FEWER, 1), in_namespace("ServingGroupPodsPending", world.size)
    return Scenario(
        lost(world, world.leaders[1]),
        {19: [], 20: [fewer], 29: [fewer], 30: [fewer, pending], 90: [fewer, pending]},
        {10: world.serves(1, 2)},
    )


def a_group_pulls_for_long(world: World) -> Scenario:
    """Its pods are Pending and have nodes: that is no lack of capacity."""
    leader = world.leaders[1]
    differs: dict[str, str | None] = {phase(pod): steady(1) for pod in world.group(leader)}
    differs |= {ready(leader): steady(0), up(leader): steady(0), **not_endpoints(world, leader)}
    return Scenario(differs, {19: [], 40: [in_namespace(FEWER, 1)]})


def an_old_life_has_a_node_and_the_new_one_waits(world: World) -> Scenario:
    pod = world.leaders[1]
    return Scenario(
        {phase(pod, "Pending", "2"): steady(1), bound(pod, "", "2"): steady(1)},
        {29: [], 30: [in_namespace("ServingGroupPodsPending", 1)]},
    )


def leaders_are_not_scraped(world: World) -> Scenario:
    """One does not answer, of the other Prometheus knows nothing."""
    first, second = world.leaders
    silent, unknown = (in_namespace("ServingLeaderNotScraped", pod=pod) for pod in (first, second))
    return Scenario(
        {up(first): steady(0), up(second): f"_x60 {steady(1)}"},
        {9: [], 10: [silent, unknown], 60: [silent]},
    )


def a_ready_leader_is_no_endpoint(world: World) -> Scenario:
    return Scenario(
        not_endpoints(world, world.leaders[0]),
        {5: [], 6: [in_namespace("ServingLeaderEndpointsMismatch", 1)]},
    )


def the_service_has_no_endpoint(world: World) -> Scenario:
    return Scenario(
        not_endpoints(world), {5: [], 6: [in_namespace("ServingLeaderEndpointsMismatch", 0)]}
    )


def slices_are_not_exported(world: World) -> Scenario:
    """Before 2.18 kube-state-metrics has no slices by default: that is no mismatch."""
    return Scenario({name: None for name in world.healthy() if "endpointslice" in name}, {90: []})


def a_node_is_cordoned(world: World) -> Scenario:
    pod = world.pods[-1]
    held = in_namespace("ServingGroupOnCordonedNode", node=f"node-of-{pod}")
    return Scenario(
        {cordoned(f"node-of-{pod}"): then((1, 40), (0, 1))}, {29: [], 30: [held], 40: []}
    )


def a_set_is_absent(world: World) -> Scenario:
    name = world.sets[-1]
    # Nothing else of the set is there either, and its endpoints went with it.
    gone: dict[str, str | None] = {
        each: None
        for each in world.healthy()
        if re.search(rf'"{name}["-]', each)
        and "leader-" not in each
        and not re.search('"llm-[x7]', each)
    }
    left = [leader for leader in world.leaders if world.set_of(leader) != name]
    gone |= not_endpoints(world, *(leader for leader in world.leaders if leader not in left))
    serves = world.serves(len(left), len(left)) if left else {}
    alarm = absent(world)[-1:]
    return Scenario(gone, {14: [], 15: alarm, 90: alarm}, {20: serves})


def the_exporter_is_missing(world: World) -> Scenario:
    """One alert says so, and no other guesses."""
    gone = {name: None for name in world.healthy() if "kube-state-metrics" in name}
    return Scenario(gone, {14: [], 15: absent(world), 90: absent(world)}, {20: {}})


GROUP_SCENARIOS = [
    nothing_is_wrong,
    a_worker_is_lost_and_its_leader_stays_ready,
    a_leader_is_ready_and_its_workers_do_not_exist,
    no_leader_is_ready,
    all_die_soon_after_their_first_start,
    they_start_for_the_first_time,
    no_pod_comes_up_at_all,
    scaled_to_zero,
    at_zero_for_a_while,
    a_surge_group_does_not_hide_a_broken_one,
    groups_come_and_go,
    one_group_after_another_is_added,
    a_leader_lives_three_times_in_an_hour,
    two_lives_and_two_exporters_for_a_while,
    pods_wait_and_there_is_room,
    a_group_pulls_for_long,
    an_old_life_has_a_node_and_the_new_one_waits,
    leaders_are_not_scraped,
    a_ready_leader_is_no_endpoint,
    the_service_has_no_endpoint,
    slices_are_not_exported,
    a_node_is_cordoned,
    a_set_is_absent,
    the_exporter_is_missing,
]


def normal(plan: ServingPlan) -> Series:
    if not plan.choice.form.can.makes_stateful_sets:
        return {}
    world = World.of(plan)
    healthy = world.healthy()
    mislead = elsewhere(healthy)
    for name in world.sets:
        for which, value in (("update", "z"), ("current", "b")):
            found = revision(which, name, value)
            mislead[found.replace('job="kube-state-metrics"', 'job="other"')] = steady(1)
    return {**mislead, **healthy}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    if not plan.choice.form.can.makes_stateful_sets:
        return {}
    world = World.of(plan)
    return {make.__name__: make(world) for make in GROUP_SCENARIOS}
