"""Rollouts under Kueue: those that a plan proposes finish with what it says, those that it refuses do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.queues import (
    POOL,
    altered,
    gated,
    queued,
    quiet,
    racked,
    refusals,
    refused,
    revisions,
    set_racks,
    workloads,
)
from tests.cluster.servings import (
    GPU,
    GROUP_INDEX,
    SET_NAME,
    Count,
    Made,
    apply,
    count,
    gpus,
    group_of,
    is_ready,
    make,
    ready_groups,
    serving,
)
from tests.cluster.watch import Watch, watching

from gangform.plan.serving import ServingPlan

QUEUED: dict[str, Any] = {"admission": {"backend": "kueue", "queue": "q"}}
TURN = "example.com/turn"
CHANGED: dict[str, Any] = {"pods": {"annotations": {TURN: "2"}}}
"""A change of the pods, as a new image would be one."""


def counts_of(seen: Watch, name: str) -> Iterator[Count]:
    """The count of one set of groups of two, after every event of a pod."""
    for event, objects in seen.replay():
        if event.place.kind == "Pod":
            pods = [one for place, one in objects.items() if place.kind == "Pod"]
            own = [pod for pod in pods if pod["metadata"]["labels"].get(SET_NAME) == name]
            yield count(own, size=2, at=event.at)


# ── several at once, in a pool and a queue that hold what the plan says and nothing more ─────────


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolled:
    """Three servings changed at once, each rolled to the end."""

    made: Made
    before: dict[str, str]
    """The Workloads before the change, by name."""
    after: dict[str, str]
    seen: Watch

    def plan(self, name: str) -> ServingPlan:
        """The plan of one of the servings."""
        return next(one for one in self.made.cluster.servings if one.name == name)

    def counts(self, name: str) -> list[Count]:
        return list(counts_of(self.seen, name))


@pytest.fixture(scope="module")
def rolled(kueue_plane: ControlPlane) -> Rolled:
    try:
        return _rolled(kueue_plane)
    finally:
        kueue_plane.reset()


def _rolled(plane: ControlPlane) -> Rolled:
    racks = (8, 10)
    cluster = racked(plane.cluster, *racks)

    def servings(**changed: Any) -> Made:
        return make(
            cluster,
            serving(name="fixed", groups=2, **QUEUED, **changed),
            serving(
                name="scaled", autoscaling={"min": 2, "max": 3, "target": 4}, **QUEUED, **changed
            ),
            serving(
                name="surging",
                groups=3,
                rollout={"max_surge": 1, "max_unavailable": 1},
                **QUEUED,
                **changed,
            ),
        )

    made = servings()
    (pool,) = made.cluster.pools
    assert pool.peak == pool.nodes == sum(racks)
    set_racks(plane, *racks)
    path = workloads(plane, made)
    with watching(plane.api, made.pods, path) as seen:
        apply(plane, made)
        # What an autoscaler would do under load; there are no metrics here.
        plane.api.scale(plane.api.path_of(made.one("LeaderWorkerSet", "scaled")), 3)
        seen.until(ready_groups(8, size=2), within=120, what="all groups are ready")
        old = revisions(seen.of("Pod"))
        before = {one["metadata"]["name"]: one["metadata"]["uid"] for one in seen.of("Workload")}
    with watching(plane.api, made.pods, path) as seen:
        apply(plane, servings(**CHANGED))
        seen.until(
            ready_groups(8, size=2, revision=lambda one: one not in old),
            within=180,
            what="all three have rolled",
        )
        seen.until(lambda now: len(now.of("Workload")) == 8, within=30, what="no surge is left")
        after = {one["metadata"]["name"]: one["metadata"]["uid"] for one in seen.of("Workload")}
    return Rolled(made=made, before=before, after=after, seen=seen)


@pytest.mark.claim(
    "Under Kueue rollouts of several servings at once all finish, on exactly the GPUs that the plan sums up",
    "plan.cluster surges-compete (not under gangs); lab E2, E4",
)
def test_rollouts_at_once_all_finish_on_the_planned_gpus(rolled: Rolled, saw: Saw) -> None:
    planned = rolled.made.cluster.quota[POOL][GPU]
    pods = (
        [one for place, one in objects.items() if place.kind == "Pod"]
        for _, objects in rolled.seen.replay()
    )
    most = max(sum(gpus(pod) for pod in now if pod["spec"].get("nodeName")) for now in pods)
    assert most <= planned
    assert not {"surges-compete"} & {one.code.id for one in rolled.made.cluster.every_finding}
    names = [one.name for one in rolled.made.cluster.servings]
    saw(f"{len(names)} rollouts at once finished on {planned} GPUs of nodes and quota")


@pytest.mark.claim(
    "The rollout that is derived under Kueue, one group after another in place, finishes and keeps all groups but one",
    "design §4 Workload, Rollout; plan.rollout; lab E4",
)
def test_the_derived_rollout_finishes_with_its_floor_and_peak(rolled: Rolled, saw: Saw) -> None:
    rollout = rolled.plan("fixed").lead.rollout
    assert (rollout.max_surge, rollout.max_unavailable) == (0, 1)
    counted = rolled.counts("fixed")
    least, most = min(one.ready for one in counted), max(one.groups for one in counted)
    assert (least, most) == (rollout.floor, rollout.peak)
    assert max(one.bound for one in counted) == rollout.peak * rolled.plan("fixed").lead.shape.gpus
    kept = {name: uid for name, uid in rolled.before.items() if "-surging-" not in name}
    assert kept.items() <= rolled.after.items()
    saw(f"{least} of 2 groups ready at least, {most} at most; every group kept its Workload")


@pytest.mark.claim(
    "A set that an autoscaler moves rolls at its maximum within the planned quota, and an apply leaves its scale",
    "design §4 Autoscaling; plan.rollout peak; lab E5",
)
def test_an_autoscaled_set_rolls_at_its_maximum(rolled: Rolled, saw: Saw) -> None:
    plan = rolled.plan("scaled")
    rollout, highest = plan.lead.rollout, plan.serving.highest_groups
    counted = rolled.counts("scaled")
    least, most = min(one.ready for one in counted), max(one.groups for one in counted)
    assert most == rollout.peak == highest
    # The plan's floor is that of the minimum; at the maximum as many groups more serve.
    assert plan.serving.autoscaling is not None
    assert least == rollout.floor + highest - plan.serving.autoscaling.min
    assert counted[-1].ready == highest
    saw(f"{most} groups at most, {least} ready at least, {counted[-1].ready} in the end")


@pytest.mark.claim(
    "A rollout with a surge group and one unavailable finishes under Kueue, and may keep one group less than R − u: "
    "the plan warns of it",
    "plan.rollout surge-dips-below-floor; rule surge-dips-under-queue; lab E4",
)
def test_a_surge_with_one_unavailable_finishes(rolled: Rolled, saw: Saw) -> None:
    plan = rolled.plan("surging")
    rollout = plan.lead.rollout
    assert "surge-dips-below-floor" in {one.code.id for one in plan.findings}
    counted = rolled.counts("surging")
    least, most = min(one.ready for one in counted), max(one.groups for one in counted)
    assert most == rollout.peak
    assert max(one.bound for one in counted) <= rollout.peak * plan.lead.shape.gpus
    assert least >= rollout.floor - 1
    assert counted[-1].ready == plan.serving.groups
    saw(
        f"finished; {most} groups at most, never under {rollout.floor - 1} of {plan.serving.groups} ready"
    )


# ── the one that never ends ──────────────────────────────────────────────────────────────────────


@pytest.mark.claim(
    "Under Kueue a surge with nothing unavailable never finishes: the plan and a rule refuse it, and maxUnavailable 1 "
    "is the way out",
    "plan.rollout surge-never-finishes; rule surge-under-queue; lab E4",
)
def test_a_surge_with_nothing_unavailable_hangs(kueue: ControlPlane, saw: Saw) -> None:
    fields = {"groups": 2, "rollout": {"spare_groups": 1}}
    faults = refused(kueue.cluster, groups=2, rollout={"max_surge": 1, "max_unavailable": 0})
    assert {one.code.id for one in faults} == {"surge-never-finishes"}

    def surge_alone(manifest: Object) -> None:
        rolling = manifest["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"]
        rolling.update(maxSurge=1, maxUnavailable=0)

    # A spare group gives the quota and the nodes that a surge group needs.
    made, changed = queued(kueue.cluster, **fields), queued(kueue.cluster, **fields, **CHANGED)
    assert made.cluster.quota[POOL][GPU] == 3 * made.plan.lead.shape.gpus
    by_hand = altered(made, "LeaderWorkerSet", surge_alone)
    assert (refusals(made), refusals(by_hand)) == (set(), {"surge-under-queue"})
    path = kueue.api.path_of(made.one("LeaderWorkerSet"))
    with watching(kueue.api, made.pods) as seen:
        apply(kueue, by_hand)
        seen.until(ready_groups(2, size=2), within=90, what="both groups are ready")
        old = revisions(seen.of("Pod"))
    with watching(kueue.api, made.pods, workloads(kueue, made)) as seen:
        apply(kueue, altered(changed, "LeaderWorkerSet", surge_alone))
        seen.until(lambda now: revisions(now.of("Pod")) - old, within=60, what="it has begun")
        seen.until(quiet(10), within=150, what="nothing moves any more")
        pods, asked = seen.of("Pod"), seen.of("Workload")
    behind = {group_of(pod)[1] for pod in pods if revisions([pod]) <= old}
    held_back = {group_of(pod)[1] for pod in gated(pods)}
    assert (behind, held_back) == ({0}, {2})
    assert len(asked) == 2
    conditions = kueue.api.get(path)["status"]["conditions"]
    assert {one["type"]: one["status"] for one in conditions}["UpdateInProgress"] == "True"
    with watching(kueue.api, made.pods) as seen:
        apply(kueue, changed)
        seen.until(
            ready_groups(2, size=2, revision=lambda one: one not in old),
            within=120,
            what="it has finished with maxUnavailable 1",
        )
    saw(
        "refused: surge-never-finishes, surge-under-queue; applied by hand: quiet with group 1 new, group 0 old, the "
        "surge group gated and without a Workload, UpdateInProgress; with (0, 1) it finished"
    )


# ── replicas of one pod ──────────────────────────────────────────────────────────────────────────


@pytest.mark.claim(
    "A serving of one node is a Deployment that Kueue admits pod by pod, and it rolls as planned",
    "design §4 Shape; plan.rollout; admission.kueue",
)
def test_a_deployment_is_admitted_and_rolls_as_planned(kueue: ControlPlane, saw: Saw) -> None:
    made = queued(kueue.cluster, groups=2, size=1)
    rollout, gpus_each = made.plan.lead.rollout, made.plan.lead.shape.gpus
    assert made.plan.choice.form.kind == made.one("Deployment")["kind"]
    assert made.cluster.quota[POOL][GPU] == rollout.peak * gpus_each

    def ready(*, turned: bool) -> Callable[[Watch], bool]:
        def hold(now: Watch) -> bool:
            pods = now.of("Pod")
            return len(pods) == 2 and all(
                is_ready(pod) and (TURN in pod["metadata"].get("annotations", {})) == turned
                for pod in pods
            )

        return hold

    with watching(kueue.api, made.pods, workloads(kueue, made)) as seen:
        apply(kueue, made)
        seen.until(ready(turned=False), within=90, what="both pods are ready")
        asked = seen.of("Workload")
    assert [[one["count"] for one in each["spec"]["podSets"]] for each in asked] == [[1], [1]]
    with watching(kueue.api, made.pods) as seen:
        apply(kueue, queued(kueue.cluster, groups=2, size=1, **CHANGED))
        seen.until(ready(turned=True), within=120, what="both pods are new")
    serving_pods, bound, lasting = [], [], []
    for _, objects in seen.replay():
        pods = list(objects.values())
        stay = [pod for pod in pods if "deletionTimestamp" not in pod["metadata"]]
        serving_pods.append(sum(map(is_ready, stay)))
        bound.append(sum(gpus(pod) for pod in pods if pod["spec"].get("nodeName")))
        lasting.append(len(stay))
    assert not any(GROUP_INDEX in pod["metadata"]["labels"] for pod in seen.of("Pod"))
    assert min(serving_pods) == rollout.floor
    assert max(lasting) == rollout.peak
    assert max(bound) == rollout.peak * gpus_each
    saw(
        f"2 pods, 2 Workloads; rolled with {min(serving_pods)} of 2 ready at least and {max(bound)} GPUs bound at "
        "most"
    )
