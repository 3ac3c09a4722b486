"""Every object of a cluster's bundles, with what it names and what names it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gangform.bundle import Bundle
from gangform.documents.document import Key
from gangform.report.anchors import Anchors
from gangform.report.links import Link, links
from gangform.synth import SUFFIX


class Reference(NamedTuple):
    """One end of a link."""

    field: str
    text: str
    """The object at the other end."""
    anchor: str
    """Empty where it is not of these bundles: others make it."""


class Row(NamedTuple):
    """One object."""

    anchor: str
    kind: str
    name: str
    """With its namespace."""
    names: tuple[Reference, ...]
    named_by: tuple[Reference, ...]


class File(NamedTuple):
    """One file of the output."""

    path: str
    """Below the output folder."""
    rows: tuple[Row, ...]


def files(cluster: str, bundles: Sequence[Bundle], anchors: Anchors) -> tuple[File, ...]:
    """The files of a cluster that hold something, in the order of their names."""
    documents = [document for bundle in bundles for document in bundle.documents]
    found = links(documents)
    outwards: dict[Key, list[Link]] = {}
    inwards: dict[Key, list[Link]] = {}
    for link in found:
        outwards.setdefault(link.source, []).append(link)
        inwards.setdefault(link.target, []).append(link)
    made = []
    for bundle in sorted(bundles, key=lambda bundle: bundle.name):
        rows = tuple(
            _row(cluster, document.key, outwards, inwards, anchors) for document in bundle.documents
        )
        if rows:
            made.append(File(path=f"{cluster}/{bundle.name}{SUFFIX}", rows=rows))
    return tuple(made)


def _row(
    cluster: str,
    key: Key,
    outwards: Mapping[Key, Sequence[Link]],
    inwards: Mapping[Key, Sequence[Link]],
    anchors: Anchors,
) -> Row:
    def ends() -> Iterator[Reference]:
        for link in outwards.get(key, ()):
            anchor = anchors.of("object", cluster, *link.target) if link.here else ""
            yield Reference(link.field, str(link.target), anchor)

    return Row(
        anchor=anchors.of("object", cluster, *key),
        kind=key.kind,
        name="/".join(part for part in (key.namespace, key.name) if part),
        names=tuple(ends()),
        named_by=tuple(
            Reference(link.field, str(link.source), anchors.of("object", cluster, *link.source))
            for link in inwards.get(key, ())
        ),
    )
