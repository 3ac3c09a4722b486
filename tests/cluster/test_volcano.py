"""Volcano under LeaderWorkerSet's own provider: each group starts whole or holds nothing, rollouts included."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.gangs import POD_GROUPS, bound, bound_pods, lasts, waits
from tests.cluster.servings import (
    REVISION,
    Made,
    apply,
    count,
    counts,
    group_of,
    make,
    ready_groups,
    serving,
)
from tests.cluster.watch import Watch, watching

from gangform.apis import volcano as api
from gangform.findings import InputError
from gangform.inputs.serving import Serving
from gangform.plan.cluster import SURGES_COMPETE

SIZE = 2
NEXT = {"annotations": {"example.com/turn": "2"}}
"""Pods of the next revision."""


def one(*, name: str = "r1", groups: int, **fields: object) -> Serving:
    """A serving in a queue of Volcano's, with one group spare."""
    asked: dict[str, object] = {
        "pool": "h200",
        "rollout": {"spare_groups": 1},
        "admission": {"backend": "volcano", "queue": "serving"},
        **fields,
    }
    return serving(name=name, size=SIZE, groups=groups, **asked)


def pod_groups(made: Made) -> str:
    return POD_GROUPS.format(namespace=made.plan.namespace)


def rolled(groups: int, old: set[str]) -> Callable[[Watch], bool]:
    """Whether exactly these groups exist, whole, and none of an old revision."""
    return ready_groups(groups, size=SIZE, revision=lambda one: one not in old)


def revisions(now: Watch) -> set[str]:
    return {pod["metadata"]["labels"][REVISION] for pod in now.of("Pod")}


@pytest.mark.claim(
    "Under LWS's provider a group that does not fit holds no GPU while others serve, at the start and as the surge "
    "of a rollout that ends once it fits",
    "admission.volcano; plan.demands; plan.rollout; lab E8",
)
def test_a_group_that_does_not_fit_holds_nothing(volcano: ControlPlane, saw: Saw) -> None:
    groups = 2
    made = make(volcano.cluster, one(groups=groups))
    rollout, gpus = made.plan.lead.rollout, made.plan.lead.shape.gpus
    assert (rollout.max_surge, rollout.max_unavailable) == (1, 0)
    volcano.set_nodes(volcano.own_nodes[: groups * SIZE - 1])
    with watching(volcano.api, made.pods, pod_groups(made)) as seen:
        apply(volcano, made)
        seen.until(
            lambda now: count(now.of("Pod"), size=SIZE).ready == groups - 1 and waits(now),
            within=60,
            what="one group serves and one waits",
        )
        assert lasts(seen, bound_pods) == (0, SIZE)
        waiting = next(group for group, nodes in bound(seen.of("Pod")).items() if not nodes)
        assert not any(
            event.object["spec"].get("nodeName")
            for event in list(seen.events)
            if event.place.kind == "Pod" and group_of(event.object) == waiting
        )
        # Two more: all groups fit, and half of a surge group.
        volcano.set_nodes(volcano.own_nodes[: rollout.peak * SIZE - 1])
        seen.until(ready_groups(groups, size=SIZE), within=60, what="the waiting group runs too")
    old = revisions(seen)
    as_planned(made, seen, groups)
    with watching(volcano.api, made.pods, pod_groups(made)) as seen:
        apply(volcano, make(volcano.cluster, one(groups=groups, pods=NEXT)))
        seen.until(
            lambda now: count(now.of("Pod"), size=SIZE).groups == rollout.peak and waits(now),
            within=60,
            what="the surge group waits",
        )
        assert lasts(seen, bound_pods) == (0, *groups * [SIZE])
        stalled = count(seen.of("Pod"), size=SIZE)
        assert stalled.requested == rollout.peak * gpus
        assert stalled.bound == groups * gpus
        volcano.set_nodes(volcano.own_nodes)
        seen.until(rolled(groups, old), within=120, what="all groups are of the next revision")
    as_planned(made, seen, groups)
    counted = list(counts(seen, size=SIZE))
    assert max(each.bound for each in counted) == rollout.peak * gpus
    assert min(each.ready for each in counted) == rollout.floor == groups
    saw("one node short at the start: 2 and 0 of 2 pods bound; with it all groups serve")
    saw(f"one node short in a rollout: {stalled.requested} GPUs requested, {stalled.bound} bound")
    saw(
        f"with it the rollout ends, {rollout.floor} of {groups} groups serving at least and {rollout.peak * gpus} GPUs "
        "bound at most; before and after it a PodGroup a group, with minMember 2"
    )


def as_planned(made: Made, seen: Watch, groups: int) -> None:
    """Each group has one PodGroup, of its revision, whole size, requests and queue."""
    demand = made.plan.demands[0]
    live = {each["metadata"]["name"]: each["spec"] for each in seen.of("PodGroup")}
    (revision,) = revisions(seen)
    names = {api.group_name(demand.workload, index, revision) for index in range(groups)}
    assert set(live) == names
    for spec in live.values():
        assert spec["minMember"] == api.gang_size(demand.size, leader_ready=False) == SIZE
        assert spec["minResources"] == demand.group.spelled()
        assert spec["queue"] == demand.queue


@pytest.mark.claim(
    "Two rollouts at once with room for one surge group end under Volcano, where no warning of a deadlock is given",
    "plan.cluster surges-compete; lab E2, E8",
)
def test_two_rollouts_at_once_end(volcano: ControlPlane, saw: Saw) -> None:
    def both(**fields: object) -> Made:
        asked = {"r1": 2, "r2": 1}
        servings = [one(name=name, groups=groups, **fields) for name, groups in asked.items()]
        return make(volcano.cluster, *servings)

    made = both()
    rollouts = [each.lead.rollout for each in made.cluster.servings]
    groups, gpus = 3, made.plan.lead.shape.gpus
    assert {rollout.max_surge for rollout in rollouts} == {1}
    assert len(volcano.own_nodes) == (groups + 1) * SIZE
    assert SURGES_COMPETE not in {each.code for each in made.cluster.every_finding}
    unheld = both(admission={"backend": "none"})
    assert SURGES_COMPETE in {each.code for each in unheld.cluster.every_finding}
    with watching(volcano.api, made.pods) as seen:
        apply(volcano, made)
        seen.until(ready_groups(groups, size=SIZE), within=60, what="all groups serve")
    old = revisions(seen)
    with watching(volcano.api, made.pods) as seen:
        apply(volcano, both(pods=NEXT))
        seen.until(rolled(groups, old), within=240, what="both have rolled")
    counted = list(counts(seen, size=SIZE))
    assert min(each.ready for each in counted) == sum(rollout.floor for rollout in rollouts)
    assert max(each.requested for each in counted) == sum(each.peak for each in rollouts) * gpus
    saw(
        f"sets of 2 and 1 groups surged at once with room for one group more, and both ended; {groups} of {groups} "
        "groups serving at least"
    )


@pytest.mark.claim(
    "Without its queue a group stops at a lone leader and nothing says so; gangform writes the queue, and refuses a "
    "serving that names none",
    "plan prerequisites; admission queue-missing; lab E8",
)
def test_without_its_queue_a_leader_stays_alone(volcano: ControlPlane, saw: Saw) -> None:
    with pytest.raises(InputError) as refused:
        make(volcano.cluster, one(groups=1, admission={"backend": "volcano"}))
    assert [finding.code.id for finding in refused.value.findings] == ["queue-missing"]
    made = make(volcano.cluster, one(name="alone", groups=1))
    (queue,) = [each for each in made.cluster.prerequisites if "Queue" in each.what]
    (name,) = [name for name in made.files if name.endswith("/foundation.k8s.yaml")]
    rest = {file: content for file, content in made.files.items() if file != name}
    with watching(volcano.api, made.pods, pod_groups(made)) as seen:
        apply(volcano, replace(made, files=rest))
        seen.until(lambda now: now.of("Pod"), within=60, what="the leader")
        pods = lasts(seen, lambda now: tuple(pod["metadata"]["name"] for pod in now.of("Pod")))
        assert pods == (f"{made.plan.name}-0",)
        assert bound_pods(seen) == (0,)
        assert seen.of("PodGroup") == []
        events = volcano.api.list(made.pods.replace("/pods", "/events"))
        own = [each for each in events if each["involvedObject"]["name"].startswith("alone")]
        assert not any("queue" in each["message"].lower() for each in own)
        assert not any(each["involvedObject"]["kind"] == "Pod" for each in own)
        apply(volcano, made)
        seen.until(ready_groups(1, size=SIZE), within=120, what="the group serves")
    total = made.cluster.quota[made.plan.serving.pool]
    capability = volcano.api.read(made.one("Queue"))["spec"]["capability"]
    assert capability == total.spelled()
    assert queue.without == "groups stay pending, or stop at a lone leader, without an event"
    saw("without the queue 1 pod of 2, without a node, and no event that says why")
    saw("with the foundation applied the group serves")
    saw("the Queue's capability is the planned quota; without `queue` refused: queue-missing")
