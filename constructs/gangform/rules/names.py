"""Where documents name others: queues, flavors, topologies, scale targets, backends, pools."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from gangform.apis import kueue, volcano
from gangform.documents.document import Document, Key, Node, dig, group_of, mapping, sequence, text
from gangform.findings import Path
from gangform.rules.joins import scaler_of

_BACKENDS: Final = ("HTTPRoute", "GRPCRoute")

ANY_GROUP: Final = "*"
"""In a key: whatever group the object is in."""


def _target(subject: Document) -> Iterator[tuple[Path, Key]]:
    key = scaler_of(subject).target
    if key.kind:
        yield ("spec", "scaleTargetRef", "name"), key


def _local_queue(subject: Document) -> Iterator[tuple[Path, Key]]:
    name = text(subject.manifest, "spec", "clusterQueue")
    yield ("spec", "clusterQueue"), Key(kueue.GROUP, "ClusterQueue", "", name)


def _cluster_queue(subject: Document) -> Iterator[tuple[Path, Key]]:
    for number, group in enumerate(sequence(subject.manifest, "spec", "resourceGroups")):
        for index, flavor in enumerate(sequence(group, "flavors")):
            path = ("spec", "resourceGroups", number, "flavors", index, "name")
            yield path, Key(kueue.GROUP, "ResourceFlavor", "", text(flavor, "name"))


def _flavor(subject: Document) -> Iterator[tuple[Path, Key]]:
    name = text(subject.manifest, "spec", "topologyName")
    yield ("spec", "topologyName"), Key(kueue.GROUP, "Topology", "", name)


def _pod_group(subject: Document) -> Iterator[tuple[Path, Key]]:
    name = text(subject.manifest, "spec", "queue")
    if name not in (volcano.DEFAULT_QUEUE, volcano.ROOT_QUEUE):
        yield ("spec", "queue"), Key(volcano.GROUP, "Queue", "", name)


def _route(subject: Document) -> Iterator[tuple[Path, Key]]:
    for number, each in enumerate(sequence(subject.manifest, "spec", "rules")):
        for index, ref in enumerate(sequence(each, "backendRefs")):
            path = ("spec", "rules", number, "backendRefs", index, "name")
            space = text(ref, "namespace") or subject.key.namespace
            kind = text(ref, "kind") or "Service"
            yield path, Key(text(ref, "group"), kind, space, text(ref, "name"))


def _ingress(subject: Document) -> Iterator[tuple[Path, Key]]:
    for path, backend in ingress_backends(subject):
        name = text(backend, "service", "name")
        yield (*path, "service", "name"), Key("", "Service", subject.key.namespace, name)


def ingress_backends(subject: Document) -> Iterator[tuple[Path, Node]]:
    """Where the backends of an Ingress stand, the default one first."""
    default = dig(subject.manifest, "spec", "defaultBackend")
    if default is not None:
        yield ("spec", "defaultBackend"), default
    for number, each in enumerate(sequence(subject.manifest, "spec", "rules")):
        for index, way in enumerate(sequence(each, "http", "paths")):
            backend = dig(way, "backend")
            if backend is not None:
                yield ("spec", "rules", number, "http", "paths", index, "backend"), backend


def _picker(subject: Document) -> Iterator[tuple[Path, Key]]:
    for field in ("endpointPickerRef", "extensionRef"):
        ref = mapping(subject.manifest, "spec", field)
        key = Key(
            text(ref, "group"),
            text(ref, "kind") or "Service",
            subject.key.namespace,
            text(ref, "name"),
        )
        yield ("spec", field, "name"), key


def _pool(subject: Document) -> Iterator[tuple[Path, Key]]:
    ref = mapping(subject.manifest, "spec", "poolRef")
    group = text(ref, "group") or ANY_GROUP  # Its default moved with the releases.
    kind = text(ref, "kind") or "InferencePool"
    yield ("spec", "poolRef", "name"), Key(group, kind, subject.key.namespace, text(ref, "name"))


def _vertical(subject: Document) -> Iterator[tuple[Path, Key]]:
    ref = mapping(subject.manifest, "spec", "targetRef")
    group = group_of(text(ref, "apiVersion"))
    key = Key(group, text(ref, "kind"), subject.key.namespace, text(ref, "name"))
    if key.kind:
        yield ("spec", "targetRef", "name"), key


def _parent(subject: Document) -> Iterator[tuple[Path, Key]]:
    name = text(subject.manifest, "spec", "parent")
    if subject.key.group == volcano.GROUP and name != volcano.ROOT_QUEUE:
        yield ("spec", "parent"), Key(volcano.GROUP, "Queue", "", name)


NAMES: Final[Mapping[str, Callable[[Document], Iterator[tuple[Path, Key]]]]] = {
    "HorizontalPodAutoscaler": _target,
    "ScaledObject": _target,
    "LocalQueue": _local_queue,
    "ClusterQueue": _cluster_queue,
    "ResourceFlavor": _flavor,
    "PodGroup": _pod_group,
    "Ingress": _ingress,
    "InferencePool": _picker,
    "InferenceModel": _pool,
    "InferenceObjective": _pool,
    "VerticalPodAutoscaler": _vertical,
    "Queue": _parent,
    **dict.fromkeys(_BACKENDS, _route),
}
"""By kind: where a name stands, and the key that it means; empty names included."""

OFTEN_ELSEWHERE: Final = frozenset({"InferencePool", "Queue"})
"""Kinds that name what others install: an endpoint picker, the queue of a department. Missed in a whole alone."""
