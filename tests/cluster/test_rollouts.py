"""Rollouts take the GPUs that the plan counts, and leave the groups serving that it promises.

Seven servings are rolled side by side, on exactly as many nodes as the plan says that they need at their peak.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw, claimed
from tests.cluster.scenarios import (
    budgets,
    each,
    healthy,
    now_there,
    put_nodes,
    settle,
    watching_each,
    with_pools,
)
from tests.cluster.servings import (
    REVISION,
    Count,
    Made,
    apply,
    count,
    counts,
    group_of,
    make,
    ready_groups,
)
from tests.cluster.watch import Watch

from gangform.plan.rollout import STOPS_SERVING, SURGE_IDLE
from gangform.plan.serving import ServingPlan

SIZE = 2
ASKED: dict[str, dict[str, Any]] = {
    "surge": {"groups": 3, "rollout": {"spare_groups": 1}, "disruption": {"mode": "perGroup"}},
    "in-place": {"groups": 3},
    "both": {"groups": 3, "rollout": {"max_surge": 1, "max_unavailable": 1}},
    "one-surge": {"groups": 1, "rollout": {"spare_groups": 1}},
    "one-both": {"groups": 1, "rollout": {"max_surge": 1, "max_unavailable": 1}},
    "canary": {"groups": 3, "rollout": {"canary_groups": 1}, "disruption": {"mode": "perGroup"}},
    "canary-surge": {"groups": 2, "rollout": {"canary_groups": 1, "spare_groups": 1}},
}


def made(plane: ControlPlane, *, nodes: int | None, turn: int) -> Made:
    """All servings; another turn is another pod template."""
    return make(
        with_pools(plane, h100=nodes),
        *(each(name, turn=turn, size=SIZE, **asked) for name, asked in ASKED.items()),
    )


@dataclass(frozen=True)
class Rolled:
    """What was seen of one rollout."""

    plan: ServingPlan
    counted: list[Count]
    """After every event."""
    replaced: set[int]
    """Groups whose pods are others than before, all of the new revision."""
    kept: set[int]
    """Groups whose pods are those of before."""
    budgets: dict[str, Object]
    """Status by name, at the end."""


def at_the_end(plan: ServingPlan) -> int:
    """Groups when nothing moves any more: a canary keeps its surge group."""
    return plan.lead.rollout.peak if plan.lead.rollout.partition else plan.serving.lowest_groups


def rolls(plan: ServingPlan, old: str) -> Any:
    """A condition: all groups are whole, those that roll of a new revision and those that a canary holds back not."""

    def hold(now: Watch) -> bool:
        new = {
            group_of(pod)[1]
            for pod in now.of("Pod")
            if pod["metadata"]["labels"].get(REVISION) != old
        }
        wanted = range(plan.lead.rollout.partition, at_the_end(plan))
        return new == set(wanted) and ready_groups(at_the_end(plan), size=SIZE)(now)

    return hold


@pytest.fixture(scope="module")
def rolled(plain_plane: ControlPlane) -> Iterator[dict[str, Rolled]]:
    """Every serving, rolled once."""
    plane = plain_plane
    (pool,) = made(plane, nodes=None, turn=1).cluster.pools
    first, second = (made(plane, nodes=pool.peak, turn=turn) for turn in (1, 2))
    put_nodes(plane, first.cluster.cluster)
    with watching_each(plane, first) as seen:
        apply(plane, first)
        settle(seen, first)
    before = {plan.name: now_there(plane, plan) for plan in first.cluster.servings}
    found: dict[str, Rolled] = {}
    with watching_each(plane, second) as seen:
        apply(plane, second)
        for plan in second.cluster.servings:
            (old,) = {pod["metadata"]["labels"][REVISION] for pod in before[plan.name].values()}
            seen[plan.name].until(rolls(plan, old), within=120, what=f"{plan.name} is rolled")
    for plan in second.cluster.servings:
        healthy(plane, plan)
        after = now_there(plane, plan)
        same: dict[int, set[bool]] = {}
        for name, pod in after.items():
            was = before[plan.name].get(name)
            kept = was is not None and was["metadata"]["uid"] == pod["metadata"]["uid"]
            same.setdefault(group_of(pod)[1], set()).add(kept)
        found[plan.name] = Rolled(
            plan=plan,
            counted=list(counts(seen[plan.name], size=SIZE)),
            replaced={index for index, kept in same.items() if kept == {False}},
            kept={index for index, kept in same.items() if kept == {True}},
            budgets=budgets(plane, plan),
        )
        assert count(after.values(), size=SIZE).ready == at_the_end(plan)
    plane.reset()
    yield found


LEAST_AND_MOST = "lab E2; plan.rollout.peak, plan.rollout.floor"


@pytest.mark.parametrize(
    "name",
    [
        claimed(
            "surge",
            "A rollout with one surge group and none unavailable serves from all groups and takes one more",
            LEAST_AND_MOST,
        ),
        claimed(
            "in-place",
            "A rollout with no surge and one unavailable group takes no more GPUs and serves from all groups but one",
            LEAST_AND_MOST,
        ),
        claimed(
            "both",
            "A rollout with one surge group and one unavailable takes one group more and serves from all but one",
            LEAST_AND_MOST,
        ),
        claimed(
            "one-surge",
            "A single group with a surge group serves throughout and takes twice",
            LEAST_AND_MOST,
        ),
        claimed(
            "one-both",
            "A single group with surge and one unavailable is taken down without a surge",
            LEAST_AND_MOST,
        ),
        claimed(
            "canary",
            "A canary in place takes no more GPUs, and serves from all groups but one",
            LEAST_AND_MOST,
        ),
        claimed(
            "canary-surge",
            "A canary with a surge group takes one more and serves from all groups",
            LEAST_AND_MOST,
        ),
    ],
)
def test_gpus_and_serving_groups_are_those_of_the_plan(
    rolled: dict[str, Rolled], name: str, saw: Saw
) -> None:
    one = rolled[name]
    plan, rollout = one.plan, one.plan.lead.rollout
    least = min(each.ready for each in one.counted)
    bound = max(each.bound for each in one.counted)
    requested = max(each.requested for each in one.counted)
    assert least == rollout.floor
    assert bound == requested == rollout.peak * plan.lead.shape.gpus
    assert max(each.groups for each in one.counted) == rollout.peak
    groups = plan.serving.lowest_groups
    saw(f"at least {least} of {groups} groups ready; at most {bound} GPUs requested, all bound")


@pytest.mark.claim(
    "The plan warns of a rollout that leaves nothing serving", "plan.rollout: rollout-stops-serving"
)
def test_a_rollout_that_leaves_nothing_serving_is_said_beforehand(
    rolled: dict[str, Rolled], saw: Saw
) -> None:
    stopped = {name for name, one in rolled.items() if not min(each.ready for each in one.counted)}
    said = {
        name
        for name, one in rolled.items()
        if STOPS_SERVING in {finding.code for finding in one.plan.findings}
    }
    assert stopped == said == {"one-both"}
    assert SURGE_IDLE in {finding.code for finding in rolled["one-both"].plan.findings}
    saw("warned of the one rollout of seven in which no group was ready, and of no other")


@pytest.mark.claim(
    "A canary rolls the highest groups, as many as asked, and leaves the pods of the others alone",
    "design §3 Serving; lws §3",
)
def test_a_canary_rolls_the_highest_groups(rolled: dict[str, Rolled], saw: Saw) -> None:
    for one in rolled.values():
        held = one.plan.lead.rollout.partition
        assert one.kept == set(range(held))
        assert one.replaced == set(range(held, at_the_end(one.plan)))
    canary = rolled["canary"]
    assert canary.kept
    saw(f"of groups 0 to 2: {sorted(canary.replaced)} new, {sorted(canary.kept)} untouched")


@pytest.mark.claim(
    "A canary with a surge group keeps that group, of the new revision, for as long as it is a canary",
    "plan.rollout.peak; seen here",
)
def test_a_canary_keeps_its_surge_group(rolled: dict[str, Rolled], saw: Saw) -> None:
    # The others ended seconds later, so nothing was still to come.
    one = rolled["canary-surge"]
    rollout, groups = one.plan.lead.rollout, one.plan.serving.lowest_groups
    last = one.counted[-1]
    assert last.ready == last.groups == rollout.peak == groups + rollout.max_surge
    assert last.bound == rollout.peak * one.plan.lead.shape.gpus
    saw(
        f"{last.ready} groups of {groups} asked for stay: {sorted(one.kept)} old, {sorted(one.replaced)} new, where a "
        f"canary of {one.plan.serving.rollout.canary_groups} was asked for"
    )


@pytest.mark.claim(
    "After a rollout no budget has fewer healthy pods than it desires",
    "design §4 Disruption; observability §5",
)
def test_budgets_are_satisfied_after_rollouts(rolled: dict[str, Rolled], saw: Saw) -> None:
    # The fixture waited for it: budgets follow pods by a moment.
    modes = [one.plan.serving.disruption.mode for one in rolled.values()]
    assert set(modes) == {"serial", "perGroup"}
    every = [status for one in rolled.values() for status in one.budgets.values()]
    assert len(every) == sum(len(one.plan.disruption.budgets) for one in rolled.values())
    assert all(one["currentHealthy"] >= one["desiredHealthy"] > 0 for one in every)
    saw(
        f"{len(every)} budgets of {modes.count('serial')} servings with one budget and "
        f"{modes.count('perGroup')} with one a group, with and without surge: each has what it desires"
    )
