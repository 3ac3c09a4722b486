"""Volcano: a gang is formed by somebody, counts the whole group, and finds its topology enforced."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final

from gangform.apis import volcano
from gangform.apis.forms import GroupView
from gangform.apis.versions import Release
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, Manifest, mapping, text, whole
from gangform.findings import Path, Severity, counted, declare
from gangform.rules.demand import group_requests, shown
from gangform.rules.joins import is_set, most_groups, over_groups, templates
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule

NO_GANG = declare(
    "gang-not-formed",
    "Pods ask for Volcano, and nobody makes their PodGroup: each pod is scheduled alone",
    Severity.DEGRADES,
    "volcano §1.4, §5; lab E8",
)
MEMBERS = declare(
    "gang-counts-other-pods",
    "A PodGroup waits for another number of pods than the group has",
    Severity.BREAKS,
    "volcano §1.6, §6; lab E8",
)
RESOURCES = declare(
    "gang-without-resources",
    "A PodGroup without minResources takes queue room before its pods can fit",
    Severity.DEGRADES,
    "volcano §1.6",
)
POD_GROUP = declare(
    "pod-group-refused",
    "A PodGroup that is refused, or whose topology is dropped in silence",
    Severity.BREAKS,
    "volcano §1.2, §1.6; lab E8",
)
QUEUE = declare(
    "volcano-queue-refused",
    "A Queue that the webhook refuses",
    Severity.BREAKS,
    "volcano §3",
)
HYPER_NODE = declare(
    "hyper-node-refused",
    "A HyperNode that the CRD refuses or the scheduler ignores",
    Severity.BREAKS,
    "volcano §2",
)
INERT = declare(
    "topology-annotation-inert",
    "Volcano's topology annotations have no effect on a set of groups or its templates",
    Severity.DEGRADES,
    "lab E8",
)

_PROVIDER: Final = Release(0, 7)
"""The first release of LWS that makes PodGroups, by its own notes; 0.5.1 has no provider."""


@rule(NO_GANG, kinds=WORKLOADS)
@over_groups
def gang_not_formed(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Pods of a group that ask for Volcano have a PodGroup of ours, or LWS's provider makes one."""
    if not is_set(group) or group.size < 2:
        return
    pod = group.leader
    scheduler = text(pod.spec, "schedulerName")
    if scheduler != volcano.SCHEDULER or volcano.GROUP_NAME in pod.annotations:
        return
    provider = context.provider
    release = context.versions.lws if context.versions is not None else None
    if provider == "none":
        why = "LWS's scheduler provider is off"
    elif release is not None and release < _PROVIDER:
        why = f"LWS {release} has no scheduler provider"
    else:
        return
    yield Fault(
        path=(*pod.path, "spec", "schedulerName"),
        what=f"schedulerName {scheduler}, and {why}",
        fix=f"set LWS's schedulerProvider to {volcano.SCHEDULER} and name the queue in "
        f"{volcano.QUEUE_NAME} of the set, or add a PodGroup and name it in both templates",
    )


@joined
def _members(documents: Documents) -> dict[Key, list[GroupView]]:
    """The sets whose pods name a PodGroup."""
    found: defaultdict[Key, list[GroupView]] = defaultdict(list)
    for group in documents.groups():
        names = {pod.annotations.get(volcano.GROUP_NAME) for pod in templates(group)} - {None}
        for name in sorted(name for name in names if name):
            found[Key(volcano.GROUP, "PodGroup", group.namespace, name)].append(group)
    return dict(found)


@rule(MEMBERS, kinds=("PodGroup",))
def gang_counts_other_pods(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A gang is one whole group."""
    members = whole(subject.manifest, "spec", "minMember") or 0
    sets = _members(documents).get(subject.key, [])
    if not sets:
        return
    if not any(is_set(group) for group in sets):
        yield from _never_complete(documents, members, sets)
        return
    group = sets[0]
    joining = [
        pod.per_group
        for pod in group.pods
        if pod.annotations.get(volcano.GROUP_NAME) == subject.key.name
    ]
    groups = sum(most_groups(documents, each) for each in sets)
    if groups > 1:
        yield Fault(
            path=("metadata", "name"),
            what=f"{groups} groups share this PodGroup, so that they start and wait as one",
            fix="make one set of one group for each PodGroup",
            seen={"groups": str(groups)},
        )
    elif _tasks_elsewhere(subject, group):
        return  # Pods of a set that does not stand here belong to it too.
    elif members != group.size or sum(joining) != group.size:
        yield Fault(
            path=("spec", "minMember"),
            what=f"minMember is {members}; {group.title} has {counted(group.size, 'pod')}, of which "
            f"{sum(joining)} name this PodGroup",
            fix=f"write minMember: {group.size}, and {volcano.GROUP_NAME} into both templates",
            seen={"minMember": str(members), "size": str(group.size)},
        )


def _never_complete(
    documents: Documents, members: int, sets: Sequence[GroupView]
) -> Iterator[Fault]:
    """A gang of StatefulSets and Deployments, each of whose pods are a part of one group."""
    pods = sum(group.size * most_groups(documents, group) for group in sets)
    if members > pods:
        names = ", ".join(group.title for group in sets)
        yield Fault(
            path=("spec", "minMember"),
            what=f"minMember is {members}, and no more than {counted(pods, 'pod')} of {names} can join",
            fix=f"write minMember: {pods}",
            seen={"minMember": str(members), "pods": str(pods)},
        )


def _tasks_elsewhere(subject: Document, group: GroupView) -> bool:
    """Whether a PodGroup counts pods of a task that no pod of a set is of."""
    here = {
        value
        for pod in group.pods
        for value in (pod.annotations.get(volcano.TASK), pod.labels.get(volcano.TASK))
        if value
    }
    return not here.issuperset(mapping(subject.manifest, "spec", "minTaskMember"))


@rule(RESOURCES, kinds=("PodGroup",))
def gang_without_resources(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A PodGroup of pods that stand here says what the whole gang takes."""
    if subject.key.group != volcano.GROUP or mapping(subject.manifest, "spec", "minResources"):
        return
    sets = _members(documents).get(subject.key, [])
    if not sets:
        return
    wants = group_requests(documents, sets[0])
    listed = ", ".join(f"{name}: {shown(value)}" for name, value in sorted(wants.items()) if value)
    yield Fault(
        path=("spec", "minResources"),
        what="there are no minResources, so that the gang is let in whatever is free",
        fix=f"write minResources: {{{listed}}}" if listed else "write what the gang requests",
    )


@rule(POD_GROUP, kinds=("PodGroup",))
def pod_group_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A PodGroup as Volcano takes it."""
    if subject.key.group == volcano.GROUP:
        for path, what, fix in volcano.pod_group_faults(subject.manifest):
            yield Fault(path=path, what=what, fix=fix)


@rule(QUEUE, kinds=("Queue",))
def volcano_queue_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A Queue as Volcano takes it, by itself and among those of one parent."""
    if subject.key.group != volcano.GROUP:
        return
    above = _above(subject, documents)
    before: list[Manifest] = []
    for other in documents.of("Queue") if above else ():
        if other is subject:
            break
        if other.key.group == volcano.GROUP and _parent(other) == _parent(subject):
            before.append(other.manifest)
    yield from (
        Fault(path=path, what=what, fix=fix)
        for path, what, fix in (
            *volcano.queue_faults(subject.manifest),
            *volcano.queue_family_faults(subject.manifest, above, before),
        )
    )


def _parent(queue: Document) -> Key:
    return Key(volcano.GROUP, "Queue", "", text(queue.manifest, "spec", "parent"))


def _above(queue: Document, documents: Documents) -> list[Manifest]:
    """The queues that one lies in, the nearest first, as far as they stand here; the root is none of them."""
    found: list[Document] = []
    parent = documents.get(_parent(queue))
    while parent is not None and parent.key.name != volcano.ROOT_QUEUE and parent not in found:
        found.append(parent)
        parent = documents.get(_parent(parent))
    return [one.manifest for one in found]


@rule(HYPER_NODE, kinds=("HyperNode",))
def hyper_node_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A HyperNode as Volcano takes it."""
    for path, what, fix in volcano.hyper_node_faults(subject.manifest):
        yield Fault(path=path, what=what, fix=fix)


@rule(INERT, kinds=WORKLOADS)
@over_groups
def topology_annotation_inert(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Topology of a group of several pods stands in a PodGroup."""
    if not is_set(group):
        return
    keys = (volcano.TOPOLOGY_MODE, volcano.TOPOLOGY_TIER)
    own = mapping(group.document.manifest, *group.own, "annotations")
    found: list[Path] = [(*group.own, "annotations", key) for key in keys if key in own]
    for pod in templates(group):
        found += [(*pod.path, "metadata", "annotations", k) for k in keys if k in pod.annotations]
    for path in found:
        yield Fault(
            path=path,
            what=f"{path[-1]} is read from pods of Volcano's own groups only",
            fix="remove it; write networkTopology into a PodGroup of the group",
        )
