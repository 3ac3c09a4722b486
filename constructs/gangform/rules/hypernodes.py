"""Volcano's picture of the network: a tree that holds, tiers that exist, and gangs that nobody overwrites."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gangform.apis import volcano
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, Manifest, mapping, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import is_set, over_groups, templates
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule

TREE = declare(
    "hyper-node-tree-broken",
    "A node or HyperNode with two parents, or above itself: every PodGroup with a topology is skipped",
    Severity.BREAKS,
    "volcano §1.6, §2",
)
TIER = declare(
    "pod-group-tier-unknown",
    "A PodGroup asks for a tier that no HyperNode has: its topology is dropped in silence",
    Severity.BREAKS,
    "volcano §1.6; lab E8",
)
OVERWRITTEN = declare(
    "pod-group-overwritten",
    "LWS's provider writes its own PodGroup onto every pod of a set: a PodGroup by hand has no members",
    Severity.BREAKS,
    "volcano §5, §6",
)
INERT = declare(
    "gang-annotation-inert",
    "An annotation of Volcano that nobody reads where it stands: no gang is formed by it",
    Severity.DEGRADES,
    "volcano §1.3, §1.4, §5",
)
JOB = declare(
    "volcano-job-refused",
    "A Job of Volcano that its webhook refuses",
    Severity.BREAKS,
    "volcano §4",
)

_HYPER_NODE: Final = "HyperNode"


@joined
def _parents(documents: Documents) -> dict[tuple[str, str], list[str]]:
    """HyperNodes that name a member exactly, by the member's type and name."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for document in documents.of(_HYPER_NODE):
        for member in sequence(document.manifest, "spec", "members"):
            if name := text(member, "selector", "exactMatch", "name"):
                found[text(member, "type"), name].append(document.key.name)
    return dict(found)


@rule(TREE, kinds=(_HYPER_NODE,))
def hyper_node_tree_broken(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every member has one parent, of a higher tier."""
    tier = whole(subject.manifest, "spec", "tier")
    for index, member in enumerate(sequence(subject.manifest, "spec", "members")):
        kind, name = text(member, "type"), text(member, "selector", "exactMatch", "name")
        path: Path = ("spec", "members", index, "selector", "exactMatch", "name")
        parents = _parents(documents).get((kind, name), [])
        first = parents[0] if parents else ""
        if first and first != subject.key.name:
            yield Fault(
                path=path,
                what=f"{kind} {name} is a member of {first} too",
                fix="keep it in one of them",
            )
        if kind != _HYPER_NODE or not name:
            continue
        child = documents.get(Key(subject.key.group, _HYPER_NODE, "", name))
        below = whole(child.manifest, "spec", "tier") if child is not None else None
        if tier is not None and below is not None and below >= tier:
            yield Fault(
                path=path,
                what=f"{name} of tier {below} is a member of tier {tier}",
                fix=f"write tier: {below + 1} here, or a lower one there",
                seen={"tier": str(tier), "member": str(below)},
            )


@rule(TIER, kinds=("PodGroup",))
def pod_group_tier_unknown(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A tier by name or number is one of the HyperNodes."""
    nodes = documents.of(_HYPER_NODE)
    if subject.key.group != volcano.GROUP or not nodes:
        return
    names = sorted({text(node.manifest, "spec", "tierName") for node in nodes} - {""})
    path: Path = ("spec", "networkTopology", "highestTierName")
    name = text(subject.manifest, *path)
    if name and name not in names:
        yield Fault(
            path=path,
            what=f"no HyperNode has the tierName `{name}`"
            + (f"; there is {', '.join(names)}" if names else ""),
            fix=f"write {names[0]}" if names else "give the HyperNodes tierNames",
            seen={"tier": name},
        )


@rule(OVERWRITTEN, kinds=WORKLOADS, needs=("provider",))
@over_groups
def pod_group_overwritten(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Under LWS's provider pods name no PodGroup by hand."""
    for pod in templates(group) if is_set(group) and context.provider == volcano.SCHEDULER else ():
        if volcano.GROUP_NAME in pod.annotations:
            yield Fault(
                path=(*pod.path, "metadata", "annotations", volcano.GROUP_NAME),
                what=f"{volcano.GROUP_NAME} by hand, and LWS's provider writes its own",
                fix="remove it and the PodGroup, or switch schedulerProvider off",
            )


@rule(INERT, kinds=WORKLOADS)
@over_groups
def gang_annotation_inert(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Annotations of Volcano stand where they are read."""
    fix = f"name a PodGroup in {volcano.GROUP_NAME} of both templates, or use LWS's provider"
    own = mapping(group.document.manifest, *group.own, "annotations")
    for key in (volcano.GROUP_MIN_MEMBER, volcano.GROUP_MIN_RESOURCES):
        if key in own and (is_set(group) or key == volcano.GROUP_MIN_RESOURCES):
            yield Fault(
                path=(*group.own, "annotations", key),
                what=f"{key} forms no gang over the leader and the workers of a group"
                if is_set(group)
                else f"{key} is read by nobody",
                fix=fix if is_set(group) else "remove it",
            )
    for pod in templates(group):
        keys = [volcano.GROUP_MIN_MEMBER, volcano.GROUP_MIN_RESOURCES]
        if volcano.GROUP_NAME not in pod.annotations:
            keys.append(volcano.OTHER_GROUP_NAME)
        for key in keys:
            if key in pod.annotations:
                yield Fault(
                    path=(*pod.path, "metadata", "annotations", key),
                    what=f"{key} on a pod is read by nobody",
                    fix=f"write {volcano.GROUP_NAME}" if key == keys[-1] and len(keys) > 2 else fix,
                )
    yield from _queue_unread(group, own, context)


def _queue_unread(group: GroupView, own: Manifest, context: Context) -> Iterator[Fault]:
    """The queue of a gang: LWS's provider reads it from the set, Volcano from the pods of anything else."""
    key = volcano.QUEUE_NAME
    if is_set(group):
        if context.provider != volcano.SCHEDULER or key in own:
            return
        for pod in templates(group):
            if key in pod.annotations:
                yield Fault(
                    path=(*pod.path, "metadata", "annotations", key),
                    what=f"{key} on a pod is not read by LWS's provider, which makes its PodGroup",
                    fix="write it into the annotations of the set",
                )
        return
    pod = group.leader
    waits = text(pod.spec, "schedulerName") == volcano.SCHEDULER
    if waits and key in own and not {key, volcano.GROUP_NAME} & pod.annotations.keys():
        yield Fault(
            path=(*group.own, "annotations", key),
            what=f"{key} is read from pods, and stands on their owner: they wait in the default queue",
            fix="write it into the annotations of the pod template",
        )


@rule(JOB, kinds=("Job",))
def volcano_job_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A Job as Volcano takes it."""
    if subject.key.group == volcano.BATCH_GROUP:
        for path, what, fix in volcano.job_faults(subject.manifest):
            yield Fault(path=path, what=what, fix=fix)
