"""Sets that wait in a Kueue queue: annotations that hold a group together, requests that count, rollouts that end."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import kueue, volcano
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.versions import Release
from gangform.apis.views import Documents
from gangform.documents.document import Key, dig, mapping, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import (
    cluster_queue,
    flavors,
    levels,
    queue_label,
    quota,
    renamed,
    shown,
)
from gangform.rules.joins import (
    SETS,
    asked,
    is_percent,
    most_groups,
    over_groups,
    own_workers,
    rollout,
    rolls_in_place,
    runs,
    templates,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

ANNOTATIONS = declare(
    "topology-annotations-wrong",
    "Topology annotations that Kueue refuses, or that split a group in silence",
    Severity.BREAKS,
    "kueue §3; lab E4",
)
LEVEL = declare(
    "level-not-in-topology",
    "A topology level that no flavor of the queue knows: the group waits for ever",
    Severity.BREAKS,
    "kueue §1.7; lab E4",
)
SLICES = declare(
    "slice-does-not-divide",
    "A slice size that does not divide the pods it is for: the rest stays gated",
    Severity.BREAKS,
    "kueue §3",
)
TEMPLATE_LABEL = declare(
    "queue-label-on-template",
    "The queue label stands on a pod template and not on the set: each pod would be admitted alone",
    Severity.BREAKS,
    "kueue §2.2",
)
LABEL_TWICE = declare(
    "queue-label-twice",
    "The queue label stands on a pod template too, where it is not read",
    Severity.STYLE,
    "kueue §2.2",
)
UNCOVERED = declare(
    "request-not-covered",
    "A set requests a resource that its queue does not cover: no group is ever admitted",
    Severity.BREAKS,
    "kueue §7; lab E4",
)
SURGE = declare(
    "surge-under-queue",
    "Under Kueue a rollout that surges with nothing unavailable never finishes",
    Severity.BREAKS,
    "lab E4; kueue §2.5",
)
SURGE_PERCENT = declare(
    "surge-in-percent-under-queue",
    "Kueue reads a percentage of surge as 0: the surge group is never admitted and the rollout hangs",
    Severity.BREAKS,
    "lab E4; kueue §2.5",
)
DIPS = declare(
    "surge-dips-under-queue",
    "Under Kueue a surge group is killed late in the rollout, and one group less is ready than promised",
    Severity.STYLE,
    "lab E4; kueue §2.5",
)
MIXED = declare(
    "queue-and-gang-scheduler",
    "A set waits in a Kueue queue and asks for Volcano: two admit it, and neither knows of the other",
    Severity.BREAKS,
    "kueue §2.6, §11 item 9",
)
NO_REQUESTS = declare(
    "queue-without-requests",
    "A container of a set under quota requests nothing: Kueue counts it as nothing",
    Severity.STYLE,
    "kueue §11 item 5",
)

_PERCENT_READ: Final = Release(0, 19, 7)
"""From here on a percentage of surge is read as one (`kueue §2.5`)."""
_ROLLING: Final = ("rolloutStrategy", "rollingUpdateConfiguration")
_LEVELS: Final = (
    kueue.REQUIRED_TOPOLOGY,
    kueue.PREFERRED_TOPOLOGY,
    kueue.SLICE_REQUIRED_TOPOLOGY,
)


def _annotation(pod: PodView, key: str) -> Path:
    return (*pod.path, "metadata", "annotations", key)


@rule(ANNOTATIONS, kinds=SETS)
@over_groups
def topology_annotations_wrong(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Both templates ask for one domain in the same words."""
    if not queue_label(group):
        return
    workers = own_workers(group)
    if workers is None:
        faults = kueue.annotation_faults(None, group.leader.annotations)
        for key, what, fix in faults:
            yield Fault(path=_annotation(group.leader, key), what=what, fix=fix)
        return
    for key, what, fix in kueue.annotation_faults(group.leader.annotations, workers.annotations):
        on_worker = "workerTemplate" in what or key not in group.leader.annotations
        pod = workers if on_worker and key in workers.annotations else group.leader
        yield Fault(path=_annotation(pod, key), what=what, fix=fix)


@rule(LEVEL, kinds=WORKLOADS)
@over_groups
def level_not_in_topology(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A level stands in the Topology of a flavor of the queue."""
    queue = cluster_queue(documents, group)
    if queue is None:
        return
    known: list[str] = []
    names: list[str] = []
    for flavor in flavors(documents, queue):
        name = text(flavor.manifest, "spec", "topologyName")
        topology = documents.get(Key(kueue.GROUP, "Topology", "", name))
        if topology is None:
            if name:
                return
            continue
        names.append(name)
        known.extend(level for level in levels(topology) if level not in known)
    written = sum(
        len(sequence(each, "flavors"))
        for each in sequence(queue.manifest, "spec", "resourceGroups")
    )
    if len(flavors(documents, queue)) < written:
        return
    for pod in templates(group):
        for key in _LEVELS:
            level = pod.annotations.get(key)
            if level is not None and level not in known:
                yield Fault(
                    path=_annotation(pod, key),
                    what=f"`{level}` is no level of "
                    + (f"Topology {', '.join(names)}" if names else "a queue without a Topology")
                    + (f": {', '.join(known)}" if known else ""),
                    fix=f"write {_nearest(level, known)}"
                    if known
                    else "remove the annotation, or give the flavor a topologyName",
                    seen={"level": level, "levels": ", ".join(known)},
                )


def _nearest(level: str, known: list[str]) -> str:
    tail = level.rpartition("/")[2]
    return next((each for each in known if each.rpartition("/")[2] == tail), known[0])


@rule(SLICES, kinds=SETS)
@over_groups
def slice_does_not_divide(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Slices fill the pod set that they are for."""
    if not queue_label(group):
        return
    for pod in templates(group):
        size = pod.annotations.get(kueue.SLICE_SIZE, "")
        count = pod.per_group if own_workers(group) is not None else group.size
        if not size:
            continue
        each = int(size) if size.isdecimal() and size.isascii() and len(size) < 10 else 0
        if each < 1 or count % each:
            whole_sets = [n for n in range(2, min(count, 1000) + 1) if count % n == 0]
            yield Fault(
                path=_annotation(pod, kueue.SLICE_SIZE),
                what=f"slices of {size} do not divide the {count} pods of this pod set"
                + (
                    f": {group.size} pods a group, of which the leader is a set of its own"
                    if own_workers(group) is not None
                    else ""
                ),
                fix=f'write "{whole_sets[0]}"' if whole_sets else "remove the slice annotations",
                seen={"slice": size, "pods": str(count)},
            )


@rule(TEMPLATE_LABEL, kinds=SETS)
@over_groups
def queue_label_on_template(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The queue label stands on the set's own metadata; the webhook copies it where it belongs.

    Of other kinds Kueue takes such pods one by one.
    """
    for pod in templates(group):
        label = pod.labels.get(kueue.QUEUE_NAME)
        if label is not None and label != queue_label(group):
            yield Fault(
                path=(*pod.path, "metadata", "labels", kueue.QUEUE_NAME),
                what=f"the template names queue `{label}`, the {group.kind} itself "
                + (f"`{queue_label(group)}`" if queue_label(group) else "none"),
                fix=f"write {kueue.QUEUE_NAME}: {label} into metadata.labels of the {group.kind} "
                "and remove it here",
            )


@rule(LABEL_TWICE, kinds=WORKLOADS)
@over_groups
def queue_label_twice(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The queue label stands on the set alone, unless the webhook copied it."""
    for pod in templates(group):
        label = pod.labels.get(kueue.QUEUE_NAME)
        if (
            label
            and label == queue_label(group)
            and not kueue.STAMPED_ANNOTATIONS & {*pod.annotations}
        ):
            yield Fault(
                path=(*pod.path, "metadata", "labels", kueue.QUEUE_NAME),
                what=f"the template repeats queue `{label}` of the {group.kind}",
                fix="remove it here: the webhook copies what it needs",
            )


@rule(UNCOVERED, kinds=WORKLOADS)
@over_groups
def request_not_covered(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The queue covers every resource that the pods request."""
    queue = cluster_queue(documents, group)
    if queue is None:
        return
    covered = quota(queue)
    for pod in templates(group):
        for name, amount in sorted(asked(documents, pod).items()):
            if amount and name not in covered and not renamed(name, pod, covered, documents):
                yield Fault(
                    path=_request(pod, name),
                    what=f"{name} is requested, and {queue.key.name} covers "
                    + (", ".join(sorted(covered)) or "nothing"),
                    fix=f"cover {name} in every flavor of ClusterQueue {queue.key.name}, with at "
                    f"least {shown(amount)} a pod",
                    seen={"resource": name},
                )


def _request(pod: PodView, name: str) -> Path:
    for run in runs(pod):
        for side in ("requests", "limits"):
            if name in mapping(run.container, "resources", side):
                return (*run.path, "resources", side, name)
    return (*pod.path, "spec")


@rule(SURGE, kinds=SETS)
@over_groups
def surge_under_queue(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A rollout under Kueue may miss a group whenever it may surge."""
    if not queue_label(group) or is_percent(group.surge) or not rolls_in_place(group):
        return
    surge, gone = rollout(group, max(1, most_groups(documents, group)))
    if not kueue.surge_finishes(surge, gone):
        yield Fault(
            path=(*group.at, *_ROLLING, "maxSurge"),
            what=f"maxSurge {surge} with maxUnavailable {gone} in queue {queue_label(group)}: the "
            "surge group is taken away before the last old group is replaced",
            fix="write maxSurge: 0 and maxUnavailable: 1",
            seen={"maxSurge": str(surge), "maxUnavailable": str(gone)},
        )


@rule(SURGE_PERCENT, kinds=SETS)
@over_groups
def surge_in_percent_under_queue(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Surge under Kueue is a whole number."""
    release = context.versions.kueue if context.versions is not None else None
    if not queue_label(group) or not is_percent(group.surge) or not rolls_in_place(group):
        return
    if rollout(group, max(1, most_groups(documents, group)))[0] == 0:
        return
    if release is None or release < _PERCENT_READ:
        yield Fault(
            path=(*group.at, *_ROLLING, "maxSurge"),
            what=f"maxSurge {group.surge} is read as 0 by Kueue before {_PERCENT_READ}",
            fix="write maxSurge: 0 and maxUnavailable: 1",
        )


@rule(DIPS, kinds=SETS)
@over_groups
def surge_dips_under_queue(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What a rollout under Kueue really keeps."""
    if not queue_label(group) or is_percent(group.surge) or not rolls_in_place(group):
        return
    groups = most_groups(documents, group)
    surge, gone = rollout(group, max(1, groups))
    if kueue.surge_dips(surge, gone):
        kept = lws.serving_groups(groups, unavailable=gone)
        yield Fault(
            path=(*group.at, *_ROLLING, "maxSurge"),
            what=f"({surge}, {gone}) keeps {max(0, kept - 1)} of {groups} groups at worst, not "
            f"{kept}",
            fix="write maxSurge: 0 and maxUnavailable: 1, with one group more",
        )


@rule(MIXED, kinds=WORKLOADS)
@over_groups
def queue_and_gang_scheduler(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """One admission decides about a group."""
    if not queue_label(group):
        return
    for pod in templates(group):
        scheduler = text(pod.spec, "schedulerName")
        if scheduler == volcano.SCHEDULER:
            yield Fault(
                path=(*pod.path, "spec", "schedulerName"),
                what=f"schedulerName {scheduler} on a set in the Kueue queue {queue_label(group)}",
                fix="remove schedulerName, or the queue label",
            )
        elif volcano.GROUP_NAME in pod.annotations:
            yield Fault(
                path=_annotation(pod, volcano.GROUP_NAME),
                what=f"a PodGroup on pods of a set in the Kueue queue {queue_label(group)}",
                fix="remove the annotation, or the queue label",
            )


@rule(NO_REQUESTS, kinds=WORKLOADS)
@over_groups
def queue_without_requests(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every container under quota says what it takes."""
    if not queue_label(group):
        return
    for pod in templates(group):
        for run in runs(pod):
            resources = mapping(run.container, "resources")
            nothing = not mapping(resources, "requests") and not mapping(resources, "limits")
            if nothing and dig(pod.spec, "resources") is None:
                yield Fault(
                    path=(*run.path, "resources"),
                    what=f"`{text(run.container, 'name')}` requests nothing",
                    fix="write requests, equal to the limits",
                )
