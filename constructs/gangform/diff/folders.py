"""Two states of a folder of manifests → the price of every cluster: one folder below is one cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from gangform.apis.versions import Versions
from gangform.apis.views import Documents
from gangform.diff.price import prices
from gangform.diff.record import Price
from gangform.documents.document import Document, Key, Manifest
from gangform.documents.read import WrittenFloat, read_manifests
from gangform.units import Seconds


class Known(NamedTuple):
    """What a plan knows of a cluster beyond its documents."""

    versions: Versions | None = None
    durations: Mapping[Key, Seconds] = {}
    """How long the rollout of every workload takes."""


class Priced(NamedTuple):
    """A cluster, and what changes there."""

    cluster: str
    """The folder of its files; empty for the folder itself."""
    prices: tuple[Price, ...]
    unread: tuple[str, ...] = ()
    """Files that changed and cannot be read: what changes in them has no price."""


def price_folders(
    before: Mapping[str, bytes],
    after: Mapping[str, bytes],
    *,
    known: Callable[[str], Known],
) -> Iterator[Priced]:
    """The price of every folder whose files differ.

    Args:
        before: Files by path, as they were.
        after: The same, as they are.
        known: What a plan knows of a cluster.
    """
    paths = sorted({*before, *after})
    for folder in dict.fromkeys(map(cluster_of, paths)):
        here = [path for path in paths if cluster_of(path) == folder]
        if all(before.get(path) == after.get(path) for path in here):
            continue
        read: list[_File] = []
        unread: list[str] = []
        for path in here:
            was, now = before.get(path), after.get(path)
            sides = [documents_of(now, path)]
            # The same bytes are the same objects, which are then not compared.
            sides.append(sides[0] if was == now else documents_of(was, path))
            ours, theirs = sides
            if ours is None or theirs is None:
                if was != now:
                    unread.append(path)
                continue
            read.append(_File(theirs, ours))
        facts = known(folder)
        found = [
            price
            for files in _together(read)
            for price in prices(
                Documents(one for file in files for one in file.before),
                Documents(one for file in files for one in file.after),
                versions=facts.versions,
                durations=facts.durations,
            )
        ]
        yield Priced(folder, tuple(found), tuple(unread))


class _File(NamedTuple):
    """The objects of a file, before and after."""

    before: list[Document]
    after: list[Document]


def _together(files: list[_File]) -> list[list[_File]]:
    """Files that are priced together: all; each by itself where an object stands in two, as a base and its patch do."""
    sides = ([one.before for one in files], [one.after for one in files])
    keys = [[one.key for file in side for one in file] for side in sides]
    parted = any(len(set(each)) < len(each) for each in keys)
    return [[file] for file in files] if parted else [files]


def cluster_of(path: str) -> str:
    """The folder that a file lies in."""
    return path.rpartition("/")[0]


def documents_of(content: bytes | None, path: str) -> list[Document] | None:
    """The objects of a file; none of a file that is not there, and `None` where some of it cannot be read."""
    if content is None:
        return []
    found = read_manifests(content.decode(errors="replace"), path)
    if any(one.findings for one in found):
        return None
    made = [document_of(one.manifest) for one in found]
    # Settings of a tool lie beside manifests: no object of a cluster. Of one that stands twice the last is what stays.
    return list({one.key: one for one in made if one.kind and one.key.name}.values())


def document_of(read: Manifest) -> Document:
    """An object as it is compared: a number with a fraction is text, as a quantity is."""
    return Document(manifest=_texts(read), builder="")


def _texts(node: Any) -> Any:
    if isinstance(node, dict):
        return {key: _texts(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_texts(value) for value in node]
    if isinstance(node, WrittenFloat):
        return node.written
    return repr(node) if isinstance(node, float) else node
