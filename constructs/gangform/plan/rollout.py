"""How an update proceeds, counted in groups and GPUs: peak, floor, time, and whether it ends at all.

The default follows what the serving declares: one group after another in place, or a surge group first where a spare
one is declared and the backend lets such a rollout finish. The plan never proposes a rollout that cannot end.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gangform.admission.admission import Policy
from gangform.apis.apps import peak_replicas
from gangform.apis.forms import Form
from gangform.apis.leaderworkerset import FIELDS, REPAIRS, peak_groups, serving_groups
from gangform.apis.versions import Release
from gangform.findings import Finding, InputPath, Path, Severity, counted, declare
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.units import Seconds

CANNOT_MOVE = declare(
    "rollout-cannot-move",
    "A rollout needs a group to add or a group to take down",
    Severity.BREAKS,
    "lws §2b; lab E9",
)
NEVER_ENDS = declare(
    "surge-never-finishes",
    "Under Kueue a rollout of a LeaderWorkerSet with surge and no unavailable group never ends",
    Severity.BREAKS,
    "lab E4, E10",
)
DIPS = declare(
    "surge-dips-below-floor",
    "Under Kueue a surge group is killed late in the rollout, so fewer groups serve than promised",
    Severity.DEGRADES,
    "lab E4; kueue §2.5",
)
NO_SURGE = declare(
    "surge-not-possible",
    "This backend cannot make a group beyond the wanted number",
    Severity.BREAKS,
    "lab E8",
)
SURGE_IDLE = declare(
    "surge-does-not-happen",
    "No more groups than the surge, all of which may be missing, are taken down without a surge",
    Severity.DEGRADES,
    "lws §3; lab E2",
)
STOPS_SERVING = declare(
    "rollout-stops-serving",
    "Nothing serves while the rollout replaces the only groups",
    Severity.DEGRADES,
    "design §4 Workload",
)
CANARY_AUTOSCALED = declare(
    "canary-with-autoscaler",
    "A canary of so many groups means nothing while an autoscaler changes their number",
    Severity.BREAKS,
    "design §3 Serving",
)
CANARY_ALL = declare(
    "canary-not-fewer-groups",
    "A canary needs groups that stay behind",
    Severity.BREAKS,
    "lws §3",
)
CANARY_FORM = declare(
    "canary-needs-groups",
    "Only a set of groups can hold part of them at the old revision",
    Severity.BREAKS,
    "lws §3",
)
NOT_STAGED = declare(
    "rollout-not-staged",
    "Where each group is an object of its own, a change in Git reaches all of them at once",
    Severity.DEGRADES,
    "design §3; lab E8",
)
NEVER_REPAIRS = declare(
    "rollout-never-repairs",
    "Before LeaderWorkerSet 0.7 a rollout with no unavailable group never starts while no group is ready",
    Severity.DEGRADES,
    "cases r19; lws §8",
)


OVERLAP = (
    "A group that is updated holds two revisions for a while, its new leader beside old workers: only a readiness that "
    "means the whole group keeps requests away"
)


class RolloutPlan(NamedTuple):
    """An update of one workload."""

    max_surge: int
    max_unavailable: int
    partition: int
    """Groups below this index keep the old revision; 0 rolls all."""
    spare: int
    """Whole groups that the pool keeps free."""
    peak: int
    """Groups that exist at the height; under an autoscaler while it stands at its maximum."""
    floor: int
    """Groups that keep serving at least; under an autoscaler while it stands at its minimum."""
    made: int
    """Groups of the peak beyond the wanted ones."""
    extra: int
    """Groups of capacity beyond the wanted ones: the larger of surge and spare."""
    duration: Seconds
    """About how long it takes for the groups that roll, with every cold start as expected; under an autoscaler while it
    stands at its minimum."""
    reason: str
    """Why these numbers."""

    @property
    def idle(self) -> int:
        """Groups of `extra` that no rollout makes and nobody keeps free."""
        return max(0, self.extra - max(self.made, self.spare))


@formula(
    "1 where a spare group is declared and the backend lets such a rollout finish, else 0",
    source="design §4",
)
def max_surge(declared: int | None, *, spare: int, finishes: bool, unavailable: int | None) -> int:
    """Groups made first."""
    if declared is not None:
        return declared
    return 1 if spare and finishes and not unavailable else 0


@formula("1 without surge, else 0", source="design §4")
def max_unavailable(declared: int | None, *, surge: int) -> int:
    """Groups that may be missing."""
    if declared is not None:
        return declared
    return 0 if surge else 1


@formula(
    "R + s if R > s, else R + max(0, R - u); R + min(s, R) for a Deployment",
    source="lws §3; lab E2",
)
def peak(replicas: int, surge: int, unavailable: int, *, sets: bool = True) -> int:
    """Groups at the height of a rollout."""
    if not sets:
        return peak_replicas(replicas, surge=surge)
    return peak_groups(replicas, surge=surge, unavailable=unavailable)


@formula("max(0, R - u)", source="lws §3; lab E2")
def floor(replicas: int, unavailable: int) -> int:
    """Groups that keep serving.

    Where the gate MaxUnavailableStatefulSet is on (it is off by default) and groups take unlike times to start, the
    controller's arithmetic may keep up to two fewer with s > u > 1: simulated, tried in no lab.
    """
    return serving_groups(replicas, unavailable=unavailable)


@formula("max(0, R - groups that a canary holds back)", source="lws §3")
def replaced(replicas: int, partition: int) -> int:
    """Groups that an update takes down and makes anew."""
    return max(0, replicas - partition)


@formula(
    "groups replaced x (teardown + cold start), one after another; one cold start more for surge groups, which come "
    "together; 0 where none is replaced",
    source="lab E2; simulated",
)
def duration(groups: int, surge: int, teardown: Seconds, cold_start: Seconds) -> Seconds:
    """About how long a rollout takes: leaders go one after another whatever surge and unavailable say."""
    first = cold_start if groups and surge else 0
    return Seconds(groups * (teardown + cold_start) + first)


@formula(
    "ceil(R / (s + u)) x (teardown + cold start)",
    source="Kubernetes 1.36: rolling updates of the Deployment controller; simulated",
)
def duration_of_replicas(
    replicas: int, surge: int, unavailable: int, teardown: Seconds, cold_start: Seconds
) -> Seconds:
    """About how long the rollout of a Deployment takes: as many pods as may be added and missing start together."""
    turns = -(-replicas // max(1, surge + unavailable))
    return Seconds(turns * (teardown + cold_start))


def derive(
    serving: Serving,
    *,
    policy: Policy,
    form: Form,
    replicas: int,
    highest: int,
    teardown: Seconds,
    cold_start: Seconds,
) -> RolloutPlan:
    """The rollout of one workload with `replicas` groups now and at most `highest`."""
    declared = serving.rollout
    finishes = not form.can.runs_groups or (policy.surges and policy.surge_finishes)
    surge = max_surge(
        declared.max_surge,
        spare=declared.spare_groups,
        finishes=finishes,
        unavailable=declared.max_unavailable,
    )
    unavailable = max_unavailable(declared.max_unavailable, surge=surge)
    partition = 0
    if declared.canary_groups is not None:
        partition = max(0, replicas - declared.canary_groups)
    if declared.max_surge is not None or declared.max_unavailable is not None:
        reason = "as declared"
    elif surge:
        reason = "a spare group is declared, so a new group comes up before an old one goes"
    elif declared.spare_groups:
        reason = "a spare group is declared, but under this backend a surge does not finish"
    else:
        reason = "no spare group is declared, so one group after another is replaced in place"
    highest_peak = peak(highest, surge, unavailable, sets=form.can.runs_groups)
    made = highest_peak - highest
    return RolloutPlan(
        max_surge=surge,
        max_unavailable=unavailable,
        partition=partition,
        spare=declared.spare_groups,
        peak=highest_peak,
        made=made,
        floor=floor(replicas, unavailable),
        extra=max(surge if form.can.runs_groups else made, declared.spare_groups),
        duration=duration(
            replaced(replicas, partition),
            peak(replicas, surge, unavailable) - replicas,
            teardown,
            cold_start,
        )
        if form.can.runs_groups
        else duration_of_replicas(replicas, surge, unavailable, teardown, cold_start),
        reason=reason,
    )


def remarks(form: Form, size: int) -> Iterator[str]:
    """What an update does inside a group (`lab E2`)."""
    if form.can.runs_groups and size > 1:
        yield OVERLAP


def check(
    plan: RolloutPlan,
    *,
    serving: Serving,
    policy: Policy,
    form: Form,
    replicas: int,
    staged: bool | None,
    lws: Release | None,
    at: Path,
) -> Iterator[Finding]:
    """Whether the rollout moves, ends, and keeps serving.

    `staged`: whether something holds back the next group where each is an object of its own; `None` where it is not.
    """
    here = InputPath((*at, "rollout"))
    finishes = policy.surge_finishes or not form.can.runs_groups
    pair = f"maxSurge {plan.max_surge}, maxUnavailable {plan.max_unavailable}"
    seen = {"maxSurge": str(plan.max_surge), "maxUnavailable": str(plan.max_unavailable)}
    most = peak(replicas, plan.max_surge, plan.max_unavailable)
    if not plan.max_surge and not plan.max_unavailable:
        yield Finding(
            code=CANNOT_MOVE,
            at=here,
            what=f"{pair}: no group may be added and none taken down",
            fix="set maxUnavailable 1, or leave both out",
            seen=seen,
        )
    elif plan.max_surge and not policy.surges and form.can.runs_groups:
        yield Finding(
            code=NO_SURGE,
            at=InputPath((*here.path, "maxSurge")),
            what=f"{pair}: under {serving.admission.backend} a surge group finds no PodGroup of its own",
            fix="set maxSurge 0 and maxUnavailable 1, or leave both out",
            seen=seen,
        )
    elif plan.max_surge and form.can.runs_groups and most <= replicas:
        yield Finding(
            code=SURGE_IDLE,
            at=here,
            what=f"{pair} with {counted(replicas, 'group')}: its peak is {counted(most, 'group')}, and it serves "
            "nothing meanwhile",
            fix="set maxUnavailable 0" if finishes else "set maxSurge 0",
            seen=seen,
        )
    elif plan.max_surge and not finishes and (plan.floor or not plan.max_unavailable):
        never = not plan.max_unavailable
        yield Finding(
            code=NEVER_ENDS if never else DIPS,
            at=InputPath((*here.path, "maxSurge")),
            what=f"{pair} under {serving.admission.backend}: the surge group loses its Workload as soon as it "
            + (
                "counts as updated, and the last old group waits for it for ever"
                if never
                else f"counts as updated, so {max(0, plan.floor - min(plan.max_surge, replicas))} of {replicas} "
                f"groups may serve for a while where {plan.floor} are promised"
            ),
            fix="set maxSurge 0 and maxUnavailable 1; a spare group then stands as one more of `groups`",
            seen=seen,
        )
    if plan.floor == 0 and plan.max_unavailable and not plan.partition:
        yield Finding(
            code=STOPS_SERVING,
            at=here,
            what=f"{pair} with {counted(replicas, 'group')}: a rollout leaves none serving, "
            f"for about {plan.duration}",
            fix="add a group, declare `spareGroups: 1` where the pool has room and the backend lets a surge "
            "finish, or accept the gap",
            seen={**seen, "seconds": str(int(plan.duration))},
        )
    waits = form.can.runs_groups and plan.max_surge and not plan.max_unavailable
    if waits and lws is not None and lws < REPAIRS:
        yield Finding(
            code=NEVER_REPAIRS,
            at=here,
            what=f"{pair} under LeaderWorkerSet {lws}: with no group ready, 1 step waits for ever",
            fix=f"delete the leaders of the broken groups, or upgrade to {REPAIRS}",
            seen=seen,
        )
    if staged is False and replicas > 1:
        names = f"{serving.name}-0 … {serving.name}-{replicas - 1}"
        yield Finding(
            code=NOT_STAGED,
            at=here,
            what=f"{names} are {replicas} sets: applied together, a change takes all groups down at once, "
            "and one may hang with its leader alone",
            fix="apply one set after another, or use `gitops: argocd`, which gives each a wave; after each set run "
            + " && ".join(
                f"`{command}`" for command in waits_for(serving, f"{serving.name}-0", lws)
            ),
        )
    apart = staged is not None
    yield from _canary(serving, replicas, form, apart, (*at, "rollout", "canaryGroups"))


def waits_for(serving: Serving, name: str, lws: Release | None) -> tuple[str, str]:
    """The commands that end once a set that was just applied has been rolled out.

    Right after an apply the old `Available` still stands. So first the controller must have seen the new generation;
    it writes conditions and generation at once (`observability §1`). Before it wrote one, the start of the update is
    what can be waited for: it lasts as long as a cold start.
    """
    target = f"-n {serving.namespace} lws/{name}"
    if lws is None or FIELDS.has("observedGeneration", lws):
        generation = f"$(kubectl get {target} -o jsonpath='{{.metadata.generation}}')"
        seen = f"kubectl wait {target} --timeout=5m --for=jsonpath='{{.status.observedGeneration}}'={generation}"
    else:
        seen = f"kubectl wait {target} --timeout=5m --for=condition=UpdateInProgress"
    return seen, f"kubectl wait {target} --timeout=24h --for=condition=Available"


def _canary(
    serving: Serving, replicas: int, form: Form, apart: bool, at: Path
) -> Iterator[Finding]:
    groups = serving.rollout.canary_groups
    if groups is None:
        return
    if not form.can.runs_groups:
        yield Finding(
            code=CANARY_FORM,
            at=InputPath(at),
            what=f"canaryGroups {groups} on a {form.kind}, which rolls all its pods",
            fix="leave it out, or ask for `workload: LeaderWorkerSet`",
        )
    elif apart:
        yield Finding(
            code=CANARY_FORM,
            at=InputPath(at),
            what=f"canaryGroups {groups} where each group is a set of its own: none of them would ever be updated",
            fix="leave it out: the sets are updated one after another, and can be stopped after any",
        )
    elif serving.autoscaling is not None:
        yield Finding(
            code=CANARY_AUTOSCALED,
            at=InputPath(at),
            what=f"canaryGroups {groups} with {serving.autoscaling.min} to {serving.autoscaling.max} groups",
            fix="leave it out, or fix the number of groups",
        )
    elif groups >= replicas:
        yield Finding(
            code=CANARY_ALL,
            at=InputPath(at),
            what=f"canaryGroups {groups} of {replicas} groups leaves none at the old revision",
            fix=f"use at most {replicas - 1}, or leave it out to roll all",
            seen={"canaryGroups": str(groups), "groups": str(replicas)},
        )
