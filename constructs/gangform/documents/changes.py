"""What differs between two versions of an object, as people speak of it: one entry a field, or a whole subtree.

Entries of named lists are compared by name, so that one put before others changes nothing of theirs. A list of plain
values is one field: an argument more moves all that follow it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from gangform.documents.document import Node, dig, printable
from gangform.findings import Path

Way = Literal["added", "removed", "changed", "reordered"]

_NAMES = ("name", "key", "nodeLabel", "mountPath", "containerPort", "port", "topologyKey", "alert")
"""What an entry of a list is known by, the first that all have and no two share."""
_IN_ORDER = frozenset({"containers", "initContainers"})
"""Lists whose entries are still the same ones under another name; those that have none are so everywhere."""

_COMPARED = 100_000
"""Pairs of entries that are looked at for how alike they are; of longer lists the order tells."""


class Change(NamedTuple):
    """One difference."""

    path: Path
    """In the object as it is afterwards; of what is gone, in the object as it was."""
    way: Way
    before: Node | None
    after: Node | None


def changes(before: Node, after: Node) -> list[Change]:
    """Every difference, in the order of the object afterwards; what is gone comes last in its map or list."""
    return list(_walk(before, after, ()))


def _walk(before: Any, after: Any, path: Path) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, value in after.items():
            if key not in before:
                yield Change((*path, key), "added", None, value)
            else:
                yield from _walk(before[key], value, (*path, key))
        for key, value in before.items():
            if key not in after:
                yield Change((*path, key), "removed", value, None)
    elif _maps(before) and _maps(after) and (before or after):
        yield from _lists(before, after, path)
    elif not same(before, after):
        yield Change(path, "changed", before, after)


def _lists(before: Sequence[Any], after: Sequence[Any], path: Path) -> Iterator[Change]:
    pairs, named = _paired(before, after, path)
    old = {index for index, _ in pairs}
    new = {index: one for one, index in pairs}
    for index, entry in enumerate(after):
        if index in new:
            yield from _walk(before[new[index]], entry, (*path, index))
        else:
            yield Change((*path, index), "added", None, entry)
    for index, entry in enumerate(before):
        if index not in old:
            yield Change((*path, index), "removed", entry, None)
    kept = [one for one, _ in sorted(pairs, key=lambda pair: pair[1])]
    if named and kept != sorted(kept):
        yield Change(path, "reordered", before, after)


def _paired(
    before: Sequence[Any], after: Sequence[Any], path: Path
) -> tuple[list[tuple[int, int]], bool]:
    """Which entry has become which, by index, and whether they were known by name."""
    for word in _NAMES:
        ours, theirs = _by(before, word), _by(after, word)
        if ours is not None and theirs is not None:
            pairs = [(ours[name], index) for name, index in theirs.items() if name in ours]
            if word != "name" or (path and path[-1] in _IN_ORDER):
                gone = [index for name, index in ours.items() if name not in theirs]
                come = [index for name, index in theirs.items() if name not in ours]
                pairs += _renamed(before, after, gone, come)
            return pairs, True
    if len(before) == len(after) or len(before) * len(after) > _COMPARED:
        return [(index, index) for index in range(min(len(before), len(after)))], False
    rest = list(range(len(before)))
    pairs = []
    for index, entry in enumerate(after):
        found = next((one for one in rest if same(before[one], entry)), None)
        if found is not None:
            rest.remove(found)
            pairs.append((found, index))
    return pairs, False


def _renamed(
    before: Sequence[Any], after: Sequence[Any], gone: Sequence[int], come: Sequence[int]
) -> list[tuple[int, int]]:
    """Which entry that is gone has become which that came: the most alike first, then in their order."""
    if len(gone) == len(come) == 1 or len(gone) * len(come) > _COMPARED:
        return list(zip(gone, come, strict=False))
    alike = sorted(
        (-_likeness(before[one], after[other]), abs(number - place), number, place)
        for number, one in enumerate(gone)
        for place, other in enumerate(come)
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for _, _, number, place in alike:
        if number not in pairs and place not in taken:
            pairs[number] = place
            taken.add(place)
    return [(gone[number], come[place]) for number, place in pairs.items()]


def _likeness(one: Mapping[str, Any], other: Mapping[str, Any]) -> int:
    return sum(key in other and same(value, other[key]) for key, value in one.items())


def _maps(node: object) -> bool:
    return isinstance(node, (list, tuple)) and all(isinstance(entry, Mapping) for entry in node)


def _by(entries: Sequence[Any], word: str) -> dict[object, int] | None:
    """The entries by a key of theirs; `None` where one has none or two share it."""
    found = {
        entry[word]: index
        for index, entry in enumerate(entries)
        if isinstance(entry.get(word), (str, int))
    }
    return found if len(found) == len(entries) else None


def same(one: Any, other: Any) -> bool:
    """Equal as JSON: `true` is not `1`, order in maps does not matter."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)


def name_of(entry: Node) -> str | None:
    """What an entry of a list is called, where it has a name."""
    name = entry.get("name") if isinstance(entry, Mapping) else None
    return name if isinstance(name, str) and name else None


def spelled(path: Path, node: Node) -> str:
    """A path as people read it, with the entries of an object by name: `spec.containers[engine].image`."""
    named: list[str | int] = []
    here: Node | None = node
    for part in path:
        here = dig(here, part)
        name = name_of(here) if isinstance(part, int) and here is not None else None
        named.append(part if name is None else f"[{name}]")
    parts = (_spelled(part, first=not number) for number, part in enumerate(named))
    return printable("".join(parts))


def _spelled(part: str | int, *, first: bool) -> str:
    if isinstance(part, int):
        return f"[{part}]"
    if part.startswith("[") or part.replace("-", "").replace("_", "").isalnum():
        return part if first or part.startswith("[") else f".{part}"
    return f"[{part}]"


def every_leaf(change: Change) -> Iterator[Path]:
    """The paths of all plain values that a change adds, removes or changes, empty maps and lists among them.

    Of a list in another order these are the values that differ from what stood in their place.
    """
    sides = [
        {} if node is None else dict(_leaves(node, change.path))
        for node in (change.after, change.before)
    ]
    after, before = sides
    moved = change.way == "reordered"
    for path in {**after, **before}:
        if not (moved and path in after and path in before and same(after[path], before[path])):
            yield path


def _leaves(node: Node, path: Path) -> Iterator[tuple[Path, Node]]:
    if isinstance(node, Mapping) and node:
        for key, value in node.items():
            yield from _leaves(value, (*path, key))
    elif isinstance(node, (list, tuple)) and node:
        for index, value in enumerate(node):
            yield from _leaves(value, (*path, index))
    else:
        yield path, node
