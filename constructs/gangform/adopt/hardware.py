"""The nodes that a set runs on: a pool of a described cluster, or a shape by the GPU product that the set selects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gangform.adopt.subject import Subject
from gangform.documents.document import mapping, text
from gangform.findings import DocumentPath, Finding, InputError, Severity, declare
from gangform.inputs.cluster import Cluster, Library
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.spans import LoadError

NODES_UNKNOWN = declare(
    "adopt-nodes-unknown",
    "A set that does not say for certain which nodes it runs on",
    Severity.BREAKS,
    "design §3 HardwareShape",
)


class Nodes(NamedTuple):
    """Where a set runs."""

    pool: str
    """A pool of the cluster; empty where the cluster is still to be written."""
    shape: HardwareShape


def nodes(
    subject: Subject, library: Library, *, cluster: Cluster | None, asked: str | None
) -> Nodes:
    """The nodes of a set.

    Args:
        subject: The set.
        library: The shapes there are.
        cluster: The cluster that it runs on, where that is described.
        asked: A shape, or a pool of the cluster, by name.

    Raises:
        InputError: Nothing says for certain which they are.
    """
    choices = dict(_pools(cluster, library) if cluster else _shapes(library))
    if asked is not None:
        names = [name for name, one in choices.items() if asked in (name, one.name)]
    else:
        names = _fitting(subject, choices)
    if len(names) != 1:
        asks = subject.requested()
        alike = [n for n, one in choices.items() if asks.get(one.gpu.resource) == one.gpu.count]
        known = names or alike or list(choices)
        raise InputError([_unknown(subject, known, cluster, asked, certain=bool(names))])
    return Nodes(names[0] if cluster else "", choices[names[0]])


def _pools(cluster: Cluster, library: Library) -> Iterator[tuple[str, HardwareShape]]:
    for name, pool in cluster.pools.items():
        if not isinstance(pool.hardware, str):
            yield name, pool.hardware
        elif pool.hardware in library.hardware:
            yield name, library.hardware[pool.hardware]


def _shapes(library: Library) -> Iterator[tuple[str, HardwareShape]]:
    for name in library.hardware:
        try:
            yield name, library.hardware[name]
        except LoadError:
            continue


def _fitting(subject: Subject, choices: Mapping[str, HardwareShape]) -> list[str]:
    """Shapes of the product that the set selects; of several those with the fabric that it requests."""
    selector = mapping(subject.spec, "nodeSelector")
    fits = {
        name: one
        for name, one in choices.items()
        if text(selector, one.gpu.product_label) == one.gpu.product
    }
    if not fits and len(choices) == 1:
        return list(choices)
    asked = subject.requested()
    for better in (
        lambda one: asked.get(one.gpu.resource, 0) == one.gpu.count,
        lambda one: _fabric(one) in asked if _fabric(one) else False,
        lambda one: one.rdma is None,
    ):
        chosen = {name: one for name, one in fits.items() if better(one)}
        if len(chosen) == 1:
            return list(chosen)
        fits = chosen or fits
    return list(fits)


def _fabric(shape: HardwareShape) -> str:
    return (shape.rdma.resource or "") if shape.rdma is not None else ""


def _unknown(
    subject: Subject,
    names: list[str],
    cluster: Cluster | None,
    asked: str | None,
    *,
    certain: bool,
) -> Finding:
    group = subject.group
    kind = f"a pool of {cluster.name}" if cluster else "a hardware shape"
    what = f"the node selector of {group.name} names no GPU product that is known"
    if asked is not None:
        what = f"there is no {'pool' if cluster else 'hardware shape'} `{asked}`"
    elif certain:
        what = f"the node selector of {group.name} fits several: {', '.join(names)}"
    return Finding(
        code=NODES_UNKNOWN,
        at=DocumentPath(
            group.kind, group.namespace, group.name, (*group.leader.path, "spec", "nodeSelector")
        ),
        what=what,
        fix=f"name {kind} with `--hardware`: {', '.join(names)}",
    )
