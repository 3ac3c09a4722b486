"""Outages that are not seen by looking at leaders alone, or at more than one group."""

from __future__ import annotations

from tests.signals.group_scenarios import FEWER, NOTHING, not_endpoints
from tests.signals.scenario import (
    Scenario,
    Series,
    in_namespace,
    ready,
    set_ready,
    then,
    up,
    updated,
    wanted,
)
from tests.signals.world import World

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


SCENARIOS = [no_group_is_whole, the_only_group_dies]


def normal(plan: ServingPlan) -> Series:
    return {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    if not plan.choice.form.can.makes_stateful_sets:
        return {}
    world = World.of(plan)
    return {make.__name__: make(world) for make in SCENARIOS}
