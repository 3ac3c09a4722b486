"""Outages that are not seen by looking at leaders alone, or at more than one group."""

from __future__ import annotations

from tests.signals.group_scenarios import FEWER, NOTHING, a_set_is_absent, absent, not_endpoints
from tests.signals.scenario import (
    Scenario,
    Series,
    in_namespace,
    ready,
    set_ready,
    steady,
    then,
    up,
    updated,
    wanted,
)
from tests.signals.world import World, of_groups

from gangform.plan.serving import ServingPlan


def no_group_is_whole(world: World) -> Scenario:
    """Every leader is Ready, and each has lost a worker."""
    if world.size == 1:
        return Scenario({}, {40: []})
    broken = then((world.size - 1, 10), (world.size - 2, 1))
    serve = [in_namespace("ServingLeaderReadyGroupIncomplete", pod=pod) for pod in world.leaders]
    differ = in_namespace("ServingLeaderEndpointsMismatch", 2)
    told = [*serve, in_namespace(NOTHING, 0), differ]
    return Scenario(
        {set_ready(leader): broken for leader in world.leaders},
        {11: [], 12: serve, 29: told, 30: [*told, in_namespace(FEWER, 0)]},
        {11: world.serves(0, 2)},
    )


def the_only_group_dies(world: World) -> Scenario:
    if len(world.sets) > 1:
        return Scenario({}, {40: []})
    name, (only, other) = world.sets[0], world.leaders
    return Scenario(
        {
            wanted(name): then((1, 1)),
            set_ready(name): then((1, 1)),
            updated(name): then((1, 1)),
            ready(other): None,
            up(other): None,
            **not_endpoints(world, other),
            ready(only): then((1, 10), (0, 1)),
            ready(only).replace('"true"', '"false"'): then((0, 10), (1, 1)),
            **not_endpoints(world, only, values="1+0x9 stale"),
        },
        {14: [], 15: [in_namespace(NOTHING, 0)]},
        {9: world.serves(1, 1), 11: world.serves(0, 1)},
    )


def a_set_is_deleted_and_its_endpoints_are_left(world: World) -> Scenario:
    """Sets of others of the namespace say nothing of ours."""
    if len(world.sets) > 1:
        return Scenario({}, {60: []})
    left = set(not_endpoints(world))
    gone = {name: None for name in a_set_is_absent(world).differs if name not in left}
    return Scenario(gone, {14: [], 15: absent(world), 60: absent(world)})


def a_leader_is_not_ready_and_another_series_says_so(world: World) -> Scenario:
    """The exporter has a series for each value of a condition. A leader that is not Ready serves nobody."""
    leader = world.leaders[1]
    differs: dict[str, str | None] = {ready(leader): steady(0), up(leader): steady(0)}
    differs[ready(leader).replace('"true"', '"false"')] = steady(1)
    differs[ready(leader).replace('"true"', '"unknown"')] = steady(0)
    if world.size > 1:
        differs[set_ready(leader)] = steady(world.size - 2)
    return Scenario(
        {**differs, **not_endpoints(world, leader)},
        {19: [], 20: [in_namespace(FEWER, 1)], 60: [in_namespace(FEWER, 1)]},
        {10: world.serves(1, 2)},
    )


def a_leader_is_not_ready_beside_its_workers(world: World) -> Scenario:
    leader = world.leaders[1]
    differs: dict[str, str | None] = {ready(leader): steady(0)}
    differs[ready(leader).replace('"true"', '"false"')] = steady(1)
    return Scenario(
        {**differs, **not_endpoints(world, leader)},
        {19: [], 20: [in_namespace(FEWER, 1)]},
        {10: world.serves(1, 2)},
    )


SCENARIOS = [
    no_group_is_whole,
    the_only_group_dies,
    a_set_is_deleted_and_its_endpoints_are_left,
    a_leader_is_not_ready_and_another_series_says_so,
    a_leader_is_not_ready_beside_its_workers,
]


def normal(plan: ServingPlan) -> Series:
    return {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    return of_groups(plan, SCENARIOS)
