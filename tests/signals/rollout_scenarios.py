"""Rollouts: those that go on are silent, those that stand are told."""

from __future__ import annotations

from tests.signals.group_scenarios import not_endpoints
from tests.signals.scenario import (
    Scenario,
    Series,
    in_namespace,
    ready,
    revision,
    set_ready,
    steady,
    then,
    updated,
)
from tests.signals.world import World, of_groups

from gangform.plan.serving import ServingPlan


def a_rollout_moves_once_and_then_stands(world: World) -> Scenario:
    name = world.sets[-1]
    stalled = in_namespace("ServingRolloutStalled", statefulset=name, revision="b")
    return Scenario(
        {
            revision("update", name, "a"): "1+0x4 stale",
            revision("update", name, "b"): f"_x5 {steady(1)}",
            updated(name): then((2, 5), (0, 15), (1, 1)),
        },
        {10: [], 45: [], 54: [], 57: [] if world.held else [stalled]},
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
    found: dict[str, str | None] = {
        ready(first): then((1, 5), (0, 20), (1, 1)) if ends else then((1, 5), (0, 1)),
        **not_endpoints(
            world, first, values=f"1+0x4 stale _x19 {steady(1)}" if ends else "1+0x4 stale"
        ),
    }
    lone = len(world.sets) == 1
    for turn, name in enumerate(world.sets if ends else world.sets[:1]):
        # A set's own revision follows when all of its groups have been updated and are ready.
        begins = 5 + 20 * turn
        lasts = 40 if lone else 20
        found[revision("update", name, "a")] = f"1+0x{begins - 1} stale"
        found[revision("update", name, "b")] = f"_x{begins} {steady(1)}"
        if ends:
            found[revision("current", name, "a")] = f"1+0x{begins + lasts - 1} stale"
            found[revision("current", name, "b")] = f"_x{begins + lasts} {steady(1)}"
    if ends:
        found |= {ready(second): then((1, 25), (0, 20), (1, 1))}
        found |= not_endpoints(world, second, values=f"1+0x24 stale _x19 {steady(1)}")
    if lone:
        moves = ((2, 5), (0, 20), (1, 20), (2, 1)) if ends else ((2, 5), (0, 1))
        return {**found, updated(world.sets[0]): then(*moves)}
    steps = ((1, 5), (0, 20), (1, 1)) if ends else ((1, 5), (0, 1))
    found[updated(world.sets[0])] = then(*steps)
    if ends:
        found[updated(world.sets[1])] = then((1, 25), (0, 20), (1, 1))
    return found


def a_healthy_rollout_takes_one_group_after_another(world: World) -> Scenario:
    return Scenario(
        one_after_another(world, ends=True),
        {minute: [] for minute in (10, 26, 44, 60, 90)},
        {10: world.serves(1, 2), 60: world.serves(2, 2)},
    )


def a_group_does_not_come_back_from_its_update(world: World) -> Scenario:
    missing = in_namespace("ServingGroupsNotReady", 1)
    name = world.sets[0]
    stalled = in_namespace("ServingRolloutStalled", statefulset=name, revision="b")
    told = [] if world.held else [stalled]
    return Scenario(
        one_after_another(world, ends=False),
        {30: [], 38: [], 41: told, 53: told, 57: [*told, missing]},
    )


def a_group_is_rebuilt_and_does_not_come_back(world: World) -> Scenario:
    """The counter of updated groups moves, and yet nothing is being updated."""
    leader, name = world.leaders[0], world.sets[0]
    groups = world.groups_of(name)
    return Scenario(
        {
            ready(leader): then((1, 5), (0, 1)),
            **not_endpoints(world, leader, values="1+0x4 stale"),
            updated(name): then((groups, 5), (groups - 1, 2), (groups, 1)),
        },
        {24: [], 25: [in_namespace("ServingGroupsNotReady", 1)]},
    )


SCENARIOS = [
    a_rollout_moves_once_and_then_stands,
    a_rollout_that_goes_on,
    a_healthy_rollout_takes_one_group_after_another,
    a_group_does_not_come_back_from_its_update,
    a_group_is_rebuilt_and_does_not_come_back,
]


def normal(plan: ServingPlan) -> Series:
    return {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    return of_groups(plan, SCENARIOS)
