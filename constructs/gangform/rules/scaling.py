"""Autoscalers: they scale the set, by a signal that means load, in steps and up to a number that can start."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from gangform.apis import disaggregatedset as roles
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView
from gangform.apis.keys import GPU
from gangform.apis.views import FORMS, Documents
from gangform.documents.document import Document, Key, dig, mapping, sequence, text, whole
from gangform.findings import Path, Severity, counted, declare
from gangform.rules.demand import base_demand, cluster_queue, group_requests, quota, shown
from gangform.rules.joins import (
    base_groups,
    gpus,
    groups_of,
    is_set,
    most_groups,
    owned,
    peak,
    scaler_for,
    scaler_of,
    scalers,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

CHILD = declare(
    "scale-target-is-child",
    "An autoscaler targets an object that a set's controller makes and sets back",
    Severity.BREAKS,
    "observability §3.1; lab E1",
)
SIGNAL = declare(
    "scale-by-idle-signal",
    "CPU and memory of leaders say nothing about the load of GPUs",
    Severity.DEGRADES,
    "observability §3.2; lws §7",
)
STEP = declare(
    "scale-steps-unlimited",
    "Without a scale-up policy an autoscaler adds 4 groups, or twice as many, every 15 seconds",
    Severity.DEGRADES,
    "observability §3.3",
)
STEP_KEDA = declare(
    "scale-steps-of-keda-unlimited",
    "Without a scale-up policy KEDA's autoscaler adds 4 groups, or twice as many, every 15 seconds",
    Severity.STYLE,
    "observability §3.3, §3.5",
)
TWO_OWNERS = declare(
    "replicas-owned-by-autoscaler",
    "The manifest writes replicas that an autoscaler owns: every apply sets the scale back",
    Severity.DEGRADES,
    "lab E5; observability §3.6",
)
BEYOND_QUOTA = declare(
    "scale-beyond-quota",
    "The autoscaler's maximum does not fit the quota of its queue: the last groups never start",
    Severity.DEGRADES,
    "observability §3.3; kueue §7",
)
BOUNDS = declare(
    "scale-bounds-refused",
    "Bounds that the API refuses",
    Severity.BREAKS,
    "lab E5",
)

MISNAMED = declare(
    "scale-bounds-misnamed",
    "Bounds of an autoscaler in the words of another kind: they are dropped, and its defaults count",
    Severity.DEGRADES,
    "observability §3.5; KEDA: ScaledObject spec",
)
AMBIGUOUS = declare(
    "scale-target-twice",
    "Two autoscalers scale one set: each sets back what the other wrote, or both stop",
    Severity.BREAKS,
    "observability §3; Kubernetes: condition AmbiguousSelector",
)
TO_ZERO = declare(
    "scale-to-zero-unsaid",
    "KEDA takes a set to zero groups where no minimum is written",
    Severity.STYLE,
    "observability §3.5",
)
_HPA: Final = "HorizontalPodAutoscaler"
_KEDA: Final = "ScaledObject"
_DEFAULTS: Final = {"minReplicaCount": 0, "maxReplicaCount": 100}
_IDLE: Final = frozenset({"cpu", "memory"})


def _targets(subject: Document, documents: Documents) -> Iterator[GroupView]:
    """The set behind an autoscaler, where its pods are groups or have GPUs."""
    for group in documents.groups_of(scaler_of(subject).target):
        if (is_set(group) and group.size > 1) or gpus(documents, group.leader):
            yield group


@rule(CHILD, kinds=(_HPA, _KEDA))
def scale_target_is_child(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The target is the set itself."""
    target = scaler_of(subject).target
    owner = documents.maker(target)
    if owner is not None:
        form = FORMS[owner.kind]
        yield Fault(
            path=("spec", "scaleTargetRef"),
            what=f"the target is {target.kind} {target.name}; {owner.kind} {owner.name} makes StatefulSets, "
            "and sets their replicas",
            fix=f"target apiVersion: {form.api_version}, kind: {owner.kind}, name: {owner.name}",
        )
    elif documents.get(target) is None:
        yield from _of_role(documents, target)


def _of_role(documents: Documents, target: Key) -> Iterator[Fault]:
    """A target that the controller of roles makes, called after its slice, revision and role."""
    for group in documents.groups():
        owner = group.document.key
        if not group.role or (target.kind, target.namespace) != (lws.KIND, owner.namespace):
            continue
        if roles.is_child(target.name, owner=owner.name, role=group.role):
            yield Fault(
                path=("spec", "scaleTargetRef"),
                what=f"{owner.kind} {owner.name} makes {target.name}, under another name with each revision",
                fix=f"write scaling: {{mode: External}} in the role, and target its scaler {owner.name}-{group.role}",
            )


@rule(SIGNAL, kinds=(_HPA, _KEDA))
def scale_by_idle_signal(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """GPU groups scale by what waits for them."""
    names: list[tuple[Path, str]] = []
    for index, metric in enumerate(sequence(subject.manifest, "spec", "metrics")):
        for field in ("resource", "containerResource"):
            path: Path = ("spec", "metrics", index, field, "name")
            names.append((path, text(metric, field, "name")))
    for index, trigger in enumerate(sequence(subject.manifest, "spec", "triggers")):
        names.append((("spec", "triggers", index, "type"), text(trigger, "type")))
    if subject.kind == _HPA and dig(subject.manifest, "spec", "metrics") in (None, ()):
        names.append((("spec", "metrics"), "cpu"))  # What the API fills in: 80 % of CPU.
    for group in _targets(subject, documents):
        for path, name in names:
            if name in _IDLE and gpus(documents, group.leader):
                yield Fault(
                    path=path,
                    what=f"{name} is averaged over the leaders of {group.title}, whose work is on "
                    f"{gpus(documents, group.leader)} GPUs a pod",
                    fix="scale by requests that wait, as an External metric with an averageValue",
                )


def _step_faults(subject: Document, documents: Documents, path: Path) -> Iterator[Fault]:
    up = dig(subject.manifest, *path, "scaleUp")
    if sequence(up, "policies") or text(up, "selectPolicy") == "Disabled":
        return
    for group in _targets(subject, documents):
        held = int(group_requests(documents, group).get(GPU, Fraction(0)))
        each = counted(held, "GPU") if held else counted(group.size, "pod")
        now = base_groups(documents, group)
        step = min(max(4, now), max(0, most_groups(documents, group) - now))
        if step > 1:
            yield Fault(
                path=(*path, "scaleUp"),
                what=f"{step} groups of {each} may be added within 15 s, before the first of "
                "them has loaded",
                fix="add the policy {type: Pods, value: 1, periodSeconds: the cold start}",
                seen={"groups": str(step)},
            )


@rule(STEP, kinds=(_HPA,))
def scale_steps_unlimited(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """One group is added at a time."""
    yield from _step_faults(subject, documents, ("spec", "behavior"))


@rule(STEP_KEDA, kinds=(_KEDA,))
def scale_steps_of_keda_unlimited(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """One group is added at a time, under KEDA too."""
    path = ("spec", "advanced", "horizontalPodAutoscalerConfig", "behavior")
    yield from _step_faults(subject, documents, path)


@rule(TWO_OWNERS, kinds=WORKLOADS)
def replicas_owned_by_autoscaler(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A set of groups, or of pods with GPUs, that an autoscaler scales leaves its replicas out."""
    for group in groups_of(documents, subject):
        scaler = scaler_for(documents, group)
        counts = (is_set(group) and group.size > 1) or gpus(documents, group.leader)
        if scaler is not None and group.replicas is not None and counts:
            yield Fault(
                path=(*group.at, "replicas"),
                what=f"replicas {group.replicas} is written, and {scaler.document.kind} "
                f"{scaler.document.key.name} scales between {scaler.least} and {scaler.most}",
                fix="remove spec.replicas",
            )


@rule(BEYOND_QUOTA, kinds=(_HPA, _KEDA))
def scale_beyond_quota(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The maximum of groups and their surge fit the quota, beside what else waits in the queue."""
    for group in documents.groups_of(scaler_of(subject).target):
        scaler = scaler_for(documents, group)
        queue = cluster_queue(documents, group)
        if queue is None or scaler is None or scaler.document is not subject:
            continue
        surge = peak(group, scaler.most) - scaler.most
        requests, least = group_requests(documents, group), peak(group, scaler.least)
        for name, (most, _) in quota(queue).items():
            one = requests.get(name, Fraction(0))
            base = one * least
            beside = base_demand(documents)[queue.key].get(name, Fraction(0)) - base
            need = one * (scaler.most + surge)
            if one and most is not None and beside + base <= most < beside + need:
                fits = int((most - beside) // one) - surge
                yield Fault(
                    path=scaler.at_most,
                    what=f"{scaler.most} groups and {surge} in surge, of {shown(one)} {name} each, "
                    f"are {shown(need)}"
                    + (f" beside {shown(beside)} of other sets" if beside else "")
                    + f"; {queue.key.name} has {shown(most)}",
                    fix=f"write {scaler.at_most[-1]}: {max(fits, 1)}, or raise the quota to "
                    f"{shown(beside + need)}",
                    seen={"needed": shown(beside + need), "quota": shown(most)},
                )
                break


@rule(BOUNDS, kinds=(_HPA, _KEDA))
def scale_bounds_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The minimum is at least one and not above the maximum."""
    spec = mapping(subject.manifest, "spec")
    if subject.kind == _KEDA:
        yield from _keda_bounds(subject)
        return
    least, most = whole(spec, "minReplicas"), whole(spec, "maxReplicas")
    outside = any(
        text(metric, "type") in ("External", "Object") for metric in sequence(spec, "metrics")
    )
    if least == 0 and not outside:
        yield Fault(
            path=("spec", "minReplicas"),
            what="minReplicas 0 needs an Object or External metric, and the gate HPAScaleToZero",
            fix="write minReplicas: 1, or scale to zero with KEDA",
        )
    if "maxReplicas" not in spec:
        yield Fault(
            path=("spec", "maxReplicas"),
            what="there is no maxReplicas, which the API needs",
            fix=f"write maxReplicas: {max(2, (least or 1) + 1)}",
        )
    elif most is not None and most < max(1, 1 if least is None else least):
        yield Fault(
            path=("spec", "maxReplicas"),
            what=f"maxReplicas {most} is below minReplicas {1 if least is None else least}",
            fix=f"write maxReplicas: {max(2, (least or 1) + 1)}",
        )


def _keda_bounds(subject: Document) -> Iterator[Fault]:
    scaler = scaler_of(subject)
    idle = whole(subject.manifest, "spec", "idleReplicaCount")
    most = whole(subject.manifest, "spec", "maxReplicaCount")
    if most is not None and scaler.least > most:
        yield Fault(
            path=("spec", "maxReplicaCount"),
            what=f"maxReplicaCount {most} is below minReplicaCount {scaler.least}",
            fix=f"write maxReplicaCount: {scaler.least + 1}",
        )
    if idle is not None and idle >= scaler.least:
        yield Fault(
            path=("spec", "idleReplicaCount"),
            what=f"idleReplicaCount {idle} is not below minReplicaCount {scaler.least}",
            fix="write idleReplicaCount: 0, with minReplicaCount 1 or more",
        )


@rule(MISNAMED, kinds=(_KEDA,))
def scale_bounds_misnamed(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """KEDA's bounds are counts of replicas."""
    spec = mapping(subject.manifest, "spec")
    for wrong, right in (("minReplicas", "minReplicaCount"), ("maxReplicas", "maxReplicaCount")):
        if wrong in spec and right not in spec and sequence(spec, "triggers"):
            yield Fault(
                path=("spec", wrong),
                what=f"a {_KEDA} has no {wrong}, so that {right} is {_DEFAULTS[right]}",
                fix=f"write {right}: {dig(spec, wrong)}",
            )


@rule(AMBIGUOUS, kinds=(_HPA, _KEDA))
def scale_target_twice(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A set has one autoscaler."""
    for other in scalers(documents).get(scaler_of(subject).target, ()):
        if other.document is subject or owned(subject) or owned(other.document):
            break
        yield Fault(
            path=("spec", "scaleTargetRef"),
            what=f"{other.target.kind} {other.target.name} is scaled by {other.document.kind} "
            f"{other.document.key.name} too",
            fix="keep one of the two",
            seen={"other": other.document.key.name},
        )
        return


@rule(TO_ZERO, kinds=(_KEDA,))
def scale_to_zero_unsaid(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Groups that take long to start go to zero on purpose only."""
    if dig(subject.manifest, "spec", "minReplicaCount") is None:
        for group in _targets(subject, documents):
            yield Fault(
                path=("spec", "minReplicaCount"),
                what=f"minReplicaCount is 0 by default: without load no group of {group.title} is left, "
                "and the next request waits for a cold start",
                fix="write minReplicaCount: 1, or 0 where that is meant",
            )
            return
