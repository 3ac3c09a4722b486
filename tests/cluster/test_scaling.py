"""Groups come and go whole, by the scale subresource and by the autoscaler that gangform writes.

Nobody serves the autoscaler's metric here. Without one it still holds its bounds; between them it leaves the number
as it is.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
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
from tests.cluster.servings import Made, apply, make, ready_groups

from gangform.apis.leaderworkerset import KIND
from gangform.plan.serving import ServingPlan

LOWEST, BETWEEN, HIGHEST, BEYOND = 2, 3, 4, 5
SIZE = 2
Uids = dict[str, str]
"""Of the pods, by their names."""


@dataclass(frozen=True, kw_only=True)
class Scaled:
    """What was seen of two servings with the same bounds: `hand` scaled between them, `beyond` past the higher."""

    made: Made
    first: int
    """Replicas that the server gave a set whose document names none."""
    lowest: int
    """Replicas that the autoscaler made of it."""
    steps: list[Uids]
    """The pods of `hand` at the lowest number, scaled up by one, and scaled down by one."""
    reapplied: tuple[int, int]
    """Its replicas before and after the same files were applied once more, between the bounds."""
    highest: int
    """Replicas that the autoscaler made of what was scaled beyond its bounds."""
    budgets: dict[str, Object]
    """Status of the budget: of `hand` at the lowest number and between, of `beyond` at the highest."""


def replicas(plane: ControlPlane, made: Made, name: str) -> int:
    found: int = plane.api.get(plane.api.path_of(made.one(KIND, name)))["spec"]["replicas"]
    return found


def uids(plane: ControlPlane, plan: ServingPlan) -> Uids:
    return {name: pod["metadata"]["uid"] for name, pod in now_there(plane, plan).items()}


def budget(plane: ControlPlane, plan: ServingPlan) -> Object:
    healthy(plane, plan)
    (status,) = budgets(plane, plan).values()
    return status


@pytest.fixture(scope="module")
def scaled(plain_plane: ControlPlane) -> Scaled:
    plane = plain_plane
    cluster = with_pools(plane, h100=(BETWEEN + BEYOND) * SIZE)
    cluster = cluster.model_copy(update={"metrics_adapter": "external"})
    bounds = {"min": LOWEST, "max": HIGHEST}
    made = make(
        cluster, *(each(name, size=SIZE, autoscaling=bounds) for name in ("hand", "beyond"))
    )
    hand, beyond = made.of("hand"), made.of("beyond")
    put_nodes(plane, cluster)

    def scale(plan: ServingPlan, groups: int) -> None:
        plane.api.scale(plane.api.path_of(made.one(KIND, plan.name)), groups)

    steps: list[Uids] = []
    held: dict[str, Object] = {}
    with watching_each(plane, made) as seen:

        def until(plan: ServingPlan, groups: int) -> None:
            whole = ready_groups(groups, size=SIZE)
            seen[plan.name].until(whole, within=90, what=f"{plan.name} has {groups} groups")

        apply(plane, made)
        first = replicas(plane, made, "hand")
        settle(seen, made)
        lowest = replicas(plane, made, "hand")
        steps.append(uids(plane, hand))
        held["lowest"] = budget(plane, hand)

        scale(beyond, BEYOND)
        scale(hand, BETWEEN)
        until(hand, BETWEEN)
        steps.append(uids(plane, hand))
        held["between"] = budget(plane, hand)
        before = replicas(plane, made, "hand")
        apply(plane, made)
        reapplied = before, replicas(plane, made, "hand")
        scale(hand, LOWEST)
        until(hand, LOWEST)
        steps.append(uids(plane, hand))

        until(beyond, HIGHEST)
        held["highest"] = budget(plane, beyond)
        highest = replicas(plane, made, "beyond")
    plane.reset()
    return Scaled(
        made=made,
        first=first,
        lowest=lowest,
        steps=steps,
        reapplied=reapplied,
        highest=highest,
        budgets=held,
    )


@pytest.mark.claim(
    "One step of the scale subresource is one whole group, and no other group is touched",
    "design §4 Autoscaling; lab E5",
)
def test_a_step_is_one_whole_group(scaled: Scaled, saw: Saw) -> None:
    low, high, again = scaled.steps
    name = scaled.made.of("hand").name
    group = {f"{name}-{LOWEST}", *(f"{name}-{LOWEST}-{rank}" for rank in range(1, SIZE))}
    assert high.keys() - low.keys() == group
    assert low.items() <= high.items()
    assert again == low
    saw(
        f"{LOWEST} to {BETWEEN}: {len(group)} pods of one group added; back: the same pods gone, no other replaced"
    )


@pytest.mark.claim(
    "The document of an autoscaled set names no number of groups, so that applying it again keeps the present one",
    "design §4 Autoscaling; lab E5",
)
def test_applying_again_keeps_the_number(scaled: Scaled, saw: Saw) -> None:
    assert "replicas" not in scaled.made.one(KIND, "hand")["spec"]
    assert scaled.reapplied == (BETWEEN, BETWEEN)
    saw(f"{scaled.reapplied[0]} groups before, {scaled.reapplied[1]} after")


@pytest.mark.claim(
    "The autoscaler targets the set in groups and holds its bounds, also without a metric",
    "design §4 Autoscaling; lab E5; plan.scaling",
)
def test_the_autoscaler_holds_its_bounds(scaled: Scaled, saw: Saw) -> None:
    scaling = scaled.made.of("hand").lead.scaling
    assert scaling is not None
    assert scaled.first == 1
    assert scaled.lowest == scaling.lowest
    assert scaled.highest == scaling.highest
    saw(
        f"{scaled.first} group at first, {scaled.lowest} by the autoscaler; scaled to {BEYOND} by hand, "
        f"{scaled.highest} by the autoscaler"
    )


@pytest.mark.claim(
    "Below an autoscaler's maximum no budget has fewer healthy pods than it desires",
    "design §4 Disruption; observability §5",
)
def test_the_budget_follows_the_number(scaled: Scaled, saw: Saw) -> None:
    (planned,) = scaled.made.of("hand").disruption.budgets
    assert planned.max_unavailable is not None
    for place, groups in (("lowest", LOWEST), ("between", BETWEEN), ("highest", HIGHEST)):
        status = scaled.budgets[place]
        assert status["expectedPods"] == status["currentHealthy"] == groups * SIZE
        assert status["desiredHealthy"] == groups * SIZE - planned.max_unavailable
        assert status["disruptionsAllowed"] == planned.max_unavailable
    saw(
        ", ".join(
            f"{status['desiredHealthy']} of {status['expectedPods']} desired and {status['currentHealthy']} healthy"
            for status in scaled.budgets.values()
        )
        + f" with {LOWEST}, {BETWEEN} and {HIGHEST} groups"
    )
