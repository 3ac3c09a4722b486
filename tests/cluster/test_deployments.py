"""A replica that fits one node is a Deployment: its rollouts are counted as those of groups are.

A Deployment counts a pod no more once it ends, and makes the next one before it is gone; so does this module. The
nodes are as many as the plan says all the same: a new pod waits for the node of one that ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw, claimed
from tests.cluster.scenarios import TURN, each, healthy, put_nodes, watching_each, with_pools
from tests.cluster.servings import Made, apply, gpus, is_ready, make
from tests.cluster.watch import Watch

from gangform.plan.rollout import STOPS_SERVING
from gangform.plan.serving import ServingPlan

ASKED: dict[str, dict[str, Any]] = {
    "surge": {"groups": 3, "rollout": {"spare_groups": 1}},
    "in-place": {"groups": 3},
    "both": {"groups": 3, "rollout": {"max_surge": 1, "max_unavailable": 1}},
    "one-surge": {"groups": 1, "rollout": {"spare_groups": 1}},
    "one-both": {"groups": 1, "rollout": {"max_surge": 1, "max_unavailable": 1}},
    "one-in-place": {"groups": 1},
}


def made(plane: ControlPlane, *, nodes: int | None, turn: int) -> Made:
    """All servings; another turn is another pod template."""
    return make(
        with_pools(plane, h100=nodes),
        *(each(name, turn=turn, size=1, **asked) for name, asked in ASKED.items()),
    )


def live(pods: list[Object]) -> list[Object]:
    """Those that do not end."""
    return [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]


def settled(plan: ServingPlan, turn: int) -> Any:
    def hold(now: Watch) -> bool:
        pods = now.of("Pod")
        turns = [pod["metadata"]["annotations"][TURN] for pod in pods if is_ready(pod)]
        return turns == len(pods) * [str(turn)] and len(pods) == plan.serving.groups

    return hold


@dataclass(frozen=True)
class Rolled:
    """What was seen of one rollout."""

    plan: ServingPlan
    ready: int
    """Pods that were ready and did not end, at the least."""
    requested: int
    """GPUs of pods that did not end, at the most."""


@pytest.fixture(scope="module")
def rolled(plain_plane: ControlPlane) -> Iterator[dict[str, Rolled]]:
    """Every serving, rolled once."""
    plane = plain_plane
    (pool,) = made(plane, nodes=None, turn=1).cluster.pools
    first, second = (made(plane, nodes=pool.peak, turn=turn) for turn in (1, 2))
    put_nodes(plane, first.cluster.cluster)
    with watching_each(plane, first) as seen:
        apply(plane, first)
        for plan in first.cluster.servings:
            seen[plan.name].until(settled(plan, 1), within=120, what=f"{plan.name} runs")
    with watching_each(plane, second) as seen:
        apply(plane, second)
        for plan in second.cluster.servings:
            seen[plan.name].until(settled(plan, 2), within=120, what=f"{plan.name} is rolled")
    found = {}
    for plan in second.cluster.servings:
        healthy(plane, plan)
        moments = [
            live([one for place, one in objects.items() if place.kind == "Pod"])
            for _, objects in seen[plan.name].replay()
        ]
        found[plan.name] = Rolled(
            plan=plan,
            ready=min(sum(map(is_ready, pods)) for pods in moments),
            requested=max(sum(map(gpus, pods)) for pods in moments),
        )
    plane.reset()
    yield found


SOURCE = "design §4 Shape; plan.rollout.peak, plan.rollout.floor"


@pytest.mark.parametrize(
    "name",
    [
        claimed(
            "surge",
            "A Deployment with one surge serves from all replicas and takes one more",
            SOURCE,
        ),
        claimed(
            "in-place",
            "A Deployment with no surge takes no more and serves from all but one",
            SOURCE,
        ),
        claimed(
            "both",
            "A Deployment with surge and one unavailable takes one more, serves from all but one",
            SOURCE,
        ),
        claimed("one-surge", "A Deployment of one replica with a surge serves throughout", SOURCE),
        claimed(
            "one-both",
            "A Deployment of one replica with surge and one unavailable takes one more and serves nothing meanwhile",
            SOURCE,
        ),
        claimed(
            "one-in-place",
            "A Deployment of one replica without a spare one serves nothing meanwhile",
            SOURCE,
        ),
    ],
)
def test_gpus_and_serving_replicas_are_those_of_the_plan(
    rolled: dict[str, Rolled], name: str, saw: Saw
) -> None:
    one = rolled[name]
    plan, rollout = one.plan, one.plan.lead.rollout
    assert plan.choice.form.kind == "Deployment"
    assert one.ready == rollout.floor
    assert one.requested == rollout.peak * plan.lead.shape.gpus
    warned = STOPS_SERVING in {finding.code for finding in plan.findings}
    assert warned is not bool(one.ready)
    saw(
        f"at least {one.ready} of {plan.serving.groups} ready, {'' if warned else 'not '}warned of; at most "
        f"{one.requested} GPUs requested"
    )
