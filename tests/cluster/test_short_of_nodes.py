"""Rollouts that cannot move, as the plan says of them: one node short of a surge group, and two for one spare group.

The two begin at one moment: where the first has its whole surge group before the other begins, they may well end. All
hang side by side, on pools of their own, until nothing has happened for a good while; then nodes are added.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.scenarios import (
    each,
    held_up,
    now_there,
    put_nodes,
    quiet,
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

from gangform.findings import InputError
from gangform.inputs.serving import Serving
from gangform.plan.cluster import SURGES_COMPETE, ClusterPlan
from gangform.plan.serving import ServingPlan
from gangform.plan.shortage import CANNOT_SURGE

GROUPS, SIZE = 2, 2
LARGE = 4
"""Pods of each of the two groups that are rolled at once: their surges ask for eight nodes, four are free."""
QUIET = 12
"""Seconds without any change of a pod. The scheduler tries a waiting pod again after ten at the most."""


def short(turn: int) -> Serving:
    return each(
        "short",
        turn=turn,
        pool="short",
        size=SIZE,
        groups=GROUPS,
        rollout={"spare_groups": 1},
    )


def pair(turn: int) -> list[Serving]:
    return [
        each(
            name,
            turn=turn,
            pool="pair",
            size=LARGE,
            groups=1,
            rollout={"max_surge": 1, "max_unavailable": 0},
        )
        for name in ("one", "two")
    ]


def asks_for(plane: ControlPlane, name: str, leaders: int) -> bool:
    """Whether LeaderWorkerSet asks Kubernetes for so many leaders."""
    path = plane.api.path("apps/v1", "StatefulSet", namespace=name, name=name)
    return bool(plane.api.get(path)["spec"]["replicas"] == leaders)


@dataclass(frozen=True)
class Stalled:
    """What was seen of one rollout: while it hung, and after nodes were added."""

    plan: ServingPlan
    cluster: ClusterPlan
    counted: list[Count]
    """Until it hung, after every event."""
    hanging: Count
    old: str
    """The revision of before."""
    pods: list[Object]
    """While it hung."""
    rest: list[Count]
    """After nodes were added, until it was done."""

    @property
    def held(self) -> int:
        """GPUs that the surge group had while it hung."""
        surge = self.plan.serving.lowest_groups
        return count((pod for pod in self.pods if group_of(pod)[1] == surge), size=1).bound


@pytest.fixture(scope="module")
def stalled(plain_plane: ControlPlane) -> Iterator[dict[str, Stalled]]:
    """All three, rolled at once."""
    plane = plain_plane

    def made(turn: int, nodes: int | None) -> Made:
        cluster = with_pools(plane, short=nodes, pair=3 * LARGE)
        return make(cluster, short(turn), *pair(turn))

    # With its nodes declared the first would be refused; that is a claim of its own.
    first, second = made(1, None), made(2, None)
    enough = (GROUPS + 1) * SIZE
    put_nodes(plane, with_pools(plane, short=enough - 1, pair=3 * LARGE))
    with watching_each(plane, first) as seen:
        apply(plane, first)
        settle(seen, first)
    before = {plan.name: now_there(plane, plan) for plan in first.cluster.servings}
    old = {
        name: next(iter(pods.values()))["metadata"]["labels"][REVISION]
        for name, pods in before.items()
    }
    with watching_each(plane, second) as seen:
        with held_up(plane, "kube-controller-manager"):
            apply(plane, second)
            for name in ("one", "two"):
                plane.site.wait(f"the surge of {name}", lambda name=name: asks_for(plane, name, 2))  # type: ignore[misc]
        quiet(seen, seconds=QUIET)
        hung = {plan.name: now_there(plane, plan) for plan in second.cluster.servings}
        ended = {name: len(one.events) for name, one in seen.items()}
        put_nodes(plane, with_pools(plane, short=enough, pair=4 * LARGE))
        for plan in second.cluster.servings:
            seen[plan.name].until(
                ready_groups(
                    plan.serving.lowest_groups,
                    size=plan.lead.shape.size,
                    revision=lambda one, was=old[plan.name]: one != was,  # type: ignore[misc]
                ),
                within=120,
                what=f"{plan.name} is rolled",
            )
    plane.reset()
    found = {}
    for plan in second.cluster.servings:
        size, pods = plan.lead.shape.size, list(hung[plan.name].values())
        counted = list(counts(seen[plan.name], size=size))
        found[plan.name] = Stalled(
            plan=plan,
            cluster=second.cluster,
            counted=counted[: ended[plan.name]],
            hanging=count(pods, size=size),
            old=old[plan.name],
            pods=pods,
            rest=counted[ended[plan.name] :],
        )
    yield found


def old_groups_serve(one: Stalled) -> None:
    """Every wanted group is whole, of the old revision, and was at every moment."""
    groups, rollout = one.plan.serving.lowest_groups, one.plan.lead.rollout
    assert one.hanging.ready == min(each.ready for each in one.counted) == rollout.floor == groups
    kept = [pod for pod in one.pods if group_of(pod)[1] < groups]
    assert {pod["metadata"]["labels"][REVISION] for pod in kept} == {one.old}


def finishes(one: Stalled) -> None:
    """It ended with all groups new, and took what the plan says."""
    rollout, gpus = one.plan.lead.rollout, one.plan.lead.shape.gpus
    assert one.rest[-1].ready == one.plan.serving.lowest_groups
    assert min(each.ready for each in one.rest) == rollout.floor
    assert max(each.bound for each in one.rest) == rollout.peak * gpus


@pytest.mark.claim(
    "A rollout that may take no group down is refused where a pool has no room for its surge group, "
    "since it would wait for ever",
    "plan.placement: surge-cannot-be-placed; lab E2",
)
def test_one_node_short_of_a_surge_group_is_refused_and_hangs(
    plain_plane: ControlPlane, stalled: dict[str, Stalled], saw: Saw
) -> None:
    one = stalled["short"]
    rollout, shape = one.plan.lead.rollout, one.plan.lead.shape
    enough = rollout.peak * SIZE
    with pytest.raises(InputError) as caught:
        make(with_pools(plain_plane, short=enough - 1), short(2))
    assert [finding.code for finding in caught.value.findings] == [CANNOT_SURGE]
    assert make(with_pools(plain_plane, short=enough), short(2)).cluster.findings == ()

    old_groups_serve(one)
    per_pod = shape.gpus // SIZE
    assert one.hanging.requested == rollout.peak * shape.gpus
    assert one.hanging.bound == one.hanging.requested - per_pod
    assert one.held == shape.gpus - per_pod
    finishes(one)
    saw(
        f"refused with {enough - 1} nodes for {enough}; there it hung with {one.hanging.ready} old groups ready and "
        f"the surge group holding {one.held} of its {shape.gpus} GPUs, and ended once a node was added"
    )


@pytest.mark.claim(
    "Two rollouts at once, with room for the surge group of one, deadlock without a gang scheduler",
    "plan.cluster: surges-compete; lab E2",
)
def test_two_surges_for_one_place_are_warned_of_and_deadlock(
    stalled: dict[str, Stalled], saw: Saw
) -> None:
    one, two = both = stalled["one"], stalled["two"]
    gpus = one.plan.lead.shape.gpus
    warned = [finding for finding in one.cluster.findings if finding.code is SURGES_COMPETE]
    assert {finding.at.path for finding in warned} == {
        (*serving.plan.at, "rollout") for serving in both
    }
    assert {int(finding.seen["needed"]) for finding in warned} == {2 * gpus}
    (spare,) = {int(finding.seen["spare"]) for finding in warned}

    for serving in both:
        old_groups_serve(serving)
        assert serving.hanging.requested == serving.plan.lead.rollout.peak * gpus
        assert 0 < serving.held < gpus
    assert one.held + two.held == spare
    finishes(one)
    finishes(two)
    saw(
        f"both warned of; all {spare} spare GPUs held, each surge group with some and less than its {gpus}, old groups "
        "ready; both ended once nodes were added"
    )
