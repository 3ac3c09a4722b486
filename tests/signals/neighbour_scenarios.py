"""What goes wrong elsewhere, and what two exporters show at once."""

from __future__ import annotations

from tests.signals.group_scenarios import FEWER, lost
from tests.signals.scenario import (
    Scenario,
    Series,
    by_two_exporters,
    created,
    in_another_namespace,
    in_namespace,
    ready,
    revision,
    set_ready,
    steady,
    up,
)
from tests.signals.world import World, of_groups

from gangform.plan.serving import ServingPlan


def all_is_wrong_elsewhere(world: World) -> Scenario:
    """In a namespace that is not ours: an outage, pods that wait, a rollout that stands, a third life."""
    healthy = world.healthy()
    wrong: dict[str, str | None] = {**healthy}
    for leader in world.leaders:
        wrong |= lost(world, leader)
        wrong |= {created(leader, uid): steady(1) for uid in "234"}
    for name in world.sets:
        wrong |= {revision("update", name, "a"): None, revision("update", name, "b"): steady(1)}
    return Scenario(in_another_namespace(wrong), {60: []})


def leaders_are_ready_without_workers_elsewhere(world: World) -> Scenario:
    wrong: dict[str, str | None] = {**world.healthy()}
    wrong |= {ready(leader): steady(1) for leader in world.leaders}
    wrong |= dict.fromkeys((set_ready(leader) for leader in world.leaders), steady(0))
    wrong |= {up(leader): steady(0) for leader in world.leaders}
    wrong |= {created(leader, uid): steady(1) for leader in world.leaders for uid in "234"}
    return Scenario(in_another_namespace(wrong), {60: []})


def two_exporters_show_a_group_that_is_not_ready(world: World) -> Scenario:
    """Each series is there twice, and so is what is wrong."""
    wrong = {**world.healthy(), **lost(world, world.leaders[1])}
    told = [in_namespace(FEWER, 1), in_namespace("ServingGroupPodsPending", world.size)]
    return Scenario({**wrong, **by_two_exporters(wrong)}, {29: told[:1], 40: told})


def two_exporters_show_a_leader_that_is_not_scraped(world: World) -> Scenario:
    leader = world.leaders[0]
    wrong = {**world.healthy(), up(leader): steady(0)}
    told = in_namespace("ServingLeaderNotScraped", pod=leader)
    return Scenario({**wrong, **by_two_exporters(wrong)}, {9: [], 10: [told]})


def two_exporters_show_a_group_that_lost_a_worker(world: World) -> Scenario:
    if world.size == 1:
        return Scenario({}, {40: []})
    leader = world.leaders[0]
    wrong = {**world.healthy(), set_ready(leader): steady(world.size - 2)}
    told = in_namespace("ServingLeaderReadyGroupIncomplete", pod=leader)
    return Scenario({**wrong, **by_two_exporters(wrong)}, {1: [], 2: [told]})


SCENARIOS = [
    two_exporters_show_a_leader_that_is_not_scraped,
    two_exporters_show_a_group_that_lost_a_worker,
    all_is_wrong_elsewhere,
    leaders_are_ready_without_workers_elsewhere,
    two_exporters_show_a_group_that_is_not_ready,
]


def normal(plan: ServingPlan) -> Series:
    return {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    return of_groups(plan, SCENARIOS)
