"""Which object of a bundle names which: queues, selectors, scale targets, accounts, volumes, classes of priority."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gangform.apis import kueue, volcano
from gangform.apis.forms import GroupView
from gangform.apis.pods import needs
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, text
from gangform.findings import Path, show_path
from gangform.rules.demand import queue_label
from gangform.rules.joins import templates
from gangform.rules.names import NAMES
from gangform.rules.selectors import selector_of


class Link(NamedTuple):
    """One object names another."""

    source: Key
    field: str
    """Where: `spec.scaleTargetRef.name`."""
    target: Key
    here: bool
    """Whether the other is among the documents."""


def links(documents: Sequence[Document]) -> tuple[Link, ...]:
    """Every name that leads from one object to another, in the order of the documents; each once."""
    index = Documents(documents)
    found: dict[tuple[Key, Key], Link] = {}
    for document in documents:
        for path, target in _named(document, index):
            if target.name and target != document.key:
                link = Link(
                    source=document.key,
                    field=show_path(path),
                    target=target,
                    here=index.get(target) is not None,
                )
                found.setdefault((link.source, link.target), link)
    return tuple(found.values())


def _named(document: Document, index: Documents) -> Iterator[tuple[Path, Key]]:
    if document.kind in NAMES:
        yield from NAMES[document.kind](document)
    chosen = selector_of(document)
    if chosen is not None:
        path, labels = chosen
        for pod in index.pods(document.key.namespace, labels):
            yield path, pod.document.key
    for group in index.groups_of(document.key):
        yield from _of_group(group)


def _of_group(group: GroupView) -> Iterator[tuple[Path, Key]]:
    """What a set of groups and its pods name."""
    space = group.namespace
    labels = (*group.own, "labels")
    yield (*labels, kueue.QUEUE_NAME), Key(kueue.GROUP, "LocalQueue", space, queue_label(group))
    priority = text(group.document.manifest, *labels, kueue.PRIORITY_CLASS)
    yield (*labels, kueue.PRIORITY_CLASS), Key(kueue.GROUP, "WorkloadPriorityClass", "", priority)
    queue = text(group.document.manifest, *group.own, "annotations", volcano.QUEUE_NAME)
    if queue != volcano.DEFAULT_QUEUE:
        path = (*group.own, "annotations", volcano.QUEUE_NAME)
        yield path, Key(volcano.GROUP, "Queue", "", queue)
    for pod in templates(group):
        gang = pod.annotations.get(volcano.GROUP_NAME, "")
        path = (*pod.path, "metadata", "annotations", volcano.GROUP_NAME)
        yield path, Key(volcano.GROUP, "PodGroup", space, gang)
        for inner, kind, name in needs(pod.spec):
            yield (*pod.path, "spec", *inner), Key("", kind, space, name)
