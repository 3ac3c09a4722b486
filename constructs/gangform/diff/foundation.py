"""Whom an object of the cluster's foundation is for: the workloads behind queues, flavors, levels and priorities."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from gangform.apis import kueue, kueue_effects, volcano, volcano_effects
from gangform.apis.forms import GroupView
from gangform.apis.pods import amount_of
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, Manifest, mapping, sequence, text
from gangform.rules.demand import group_requests, nominal, queue_label, shown
from gangform.rules.joins import annotation, base_groups

_KINDS = frozenset(
    (table.group, table.kind)
    for table in (*kueue_effects.TABLES, *volcano_effects.TABLES)
    if table is not volcano_effects.POD_GROUP
)


def is_foundation(key: Key) -> bool:
    """Whether an object belongs to the cluster rather than to one serving."""
    return (key.group, key.kind) in _KINDS


def users(documents: Documents, key: Key) -> list[str]:
    """The workloads that an object of the foundation is for, by name, in the order of the documents."""
    found = dict.fromkeys(group.name for group in groups_of(documents, key))
    return list(found)


def groups_of(documents: Documents, key: Key) -> Iterator[GroupView]:
    """The same, as sets of groups."""
    for group in documents.groups():
        if any(_is(key, one) for one in _foundations(documents, group)):
            yield group


def _is(key: Key, other: Key) -> bool:
    return (key.group, key.kind, key.name) == (other.group, other.kind, other.name) and (
        not other.namespace or key.namespace == other.namespace
    )


def _foundations(documents: Documents, group: GroupView) -> Iterator[Key]:
    """Everything that a set of groups stands on."""
    if label := queue_label(group):
        local = Key(kueue.GROUP, "LocalQueue", group.namespace, label)
        yield local
        yield from _queue(documents, text(_manifest(documents, local), "spec", "clusterQueue"))
    if priority := text(group.document.manifest, "metadata", "labels", kueue.PRIORITY_CLASS):
        yield Key(kueue.GROUP, "WorkloadPriorityClass", "", priority)
    yield from _volcano(documents, group)


def _queue(documents: Documents, name: str) -> Iterator[Key]:
    queue = Key(kueue.GROUP, "ClusterQueue", "", name)
    yield queue
    manifest = _manifest(documents, queue)
    if cohort := text(manifest, "spec", "cohortName"):
        yield Key(kueue.GROUP, "Cohort", "", cohort)
    for group in sequence(manifest, "spec", "resourceGroups"):
        for entry in sequence(group, "flavors"):
            flavor = Key(kueue.GROUP, "ResourceFlavor", "", text(entry, "name"))
            yield flavor
            topology = text(_manifest(documents, flavor), "spec", "topologyName")
            yield Key(kueue.GROUP, "Topology", "", topology)


def _volcano(documents: Documents, group: GroupView) -> Iterator[Key]:
    name = annotation(group, volcano.QUEUE_NAME)
    own = group.leader.annotations.get(volcano.GROUP_NAME)
    if own:
        pods = _manifest(documents, Key(volcano.GROUP, "PodGroup", group.namespace, own))
        name = text(pods, "spec", "queue")
        if mapping(pods, "spec", "networkTopology"):
            for node in documents.of("HyperNode"):
                yield node.key
    if name:
        yield Key(volcano.GROUP, "Queue", "", name)


def _manifest(documents: Documents, key: Key) -> Manifest:
    document = documents.get(key)
    return document.manifest if document is not None else {}


def shortages(documents: Documents, key: Key) -> Iterator[str]:
    """Where a queue has less than what the groups take that run in it."""
    queue = documents.get(key)
    if queue is None:
        return
    has = _has(queue)
    if not has:
        return
    groups = list(groups_of(documents, key))
    used: dict[str, Fraction] = {}
    for group in groups:
        for name, value in group_requests(documents, group).items():
            used[name] = used.get(name, Fraction(0)) + value * base_groups(documents, group)
    for name, value in used.items():
        if name in has and value > has[name]:
            names = ", ".join(dict.fromkeys(group.name for group in groups))
            yield (
                f"{name}: {shown(has[name])} is less than the {shown(value)} of the groups of {names}"
            )


def _has(queue: Document) -> dict[str, Fraction]:
    """What a queue grants of each resource."""
    if queue.key.group == kueue.GROUP:
        return nominal(queue)
    most = mapping(queue.manifest, "spec", "capability")
    return {name: amount_of(value) or Fraction(0) for name, value in most.items()}
