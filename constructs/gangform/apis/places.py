"""Filling in and rewriting values at the places of an object, by paths such as `spec.ports[].protocol`.

`[]` stands for every item of a list, `{}` for every value of a map. A value is filled in only where its parent
exists, as the defaulting of a structural schema does it; a parent that has a default of its own comes first. Paths are
kept as a tree, so that each place of an object is visited once and not once a path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache, cached_property
from typing import Any, Final

from gangform.documents.document import Manifest, Node
from gangform.units import UnitError, canonical

_NOTHING: Final = object()


class _Branch:
    """A part of a path: what belongs there, if anything does, and the parts after it."""

    __slots__ = ("below", "value")

    def __init__(self) -> None:
        self.value: Any = _NOTHING
        self.below: dict[str, _Branch] = {}


class Fills(list[tuple[str, Node]]):
    """Paths and what the server writes there, parents before children."""

    def __init__(self, *pairs: tuple[str, Node]) -> None:
        """Keep the pairs in their order."""
        super().__init__(pairs)

    @cached_property
    def tree(self) -> dict[str, _Branch]:
        """The same by parts of paths."""
        return _tree(self)


def _tree(table: Iterable[tuple[str, Any]]) -> dict[str, _Branch]:
    top = _Branch()
    for path, value in table:
        branch = top
        for part in parts(path):
            branch = branch.below.setdefault(part, _Branch())
        branch.value = value
    return top.below


@cache
def _marked(paths: Sequence[str]) -> dict[str, _Branch]:
    return _tree((path, True) for path in paths)


def thaw(node: Node) -> Any:
    """A copy whose maps and lists can be changed; leaves are kept as they are."""
    kind = node.__class__
    if kind is str or kind is int or kind is bool:
        return node
    if isinstance(node, (dict, Mapping)):
        return {key: thaw(value) for key, value in node.items()}
    if isinstance(node, Sequence) and not isinstance(node, str):
        return [thaw(value) for value in node]
    return node


def as_map(manifest: Manifest) -> dict[str, Any]:
    """`thaw` for a whole object."""
    return {key: thaw(value) for key, value in manifest.items()}


@cache
def parts(path: str) -> tuple[str, ...]:
    """`a.b[].c{}` is `a`, `b`, `[]`, `c`, `{}`."""
    return tuple(path.replace("[]", ".[]").replace("{}", ".{}").split("."))


def nodes(node: Any, way: Sequence[str]) -> list[Any]:
    """Every value that a way leads to; none where it meets something of another type."""
    found = [node]
    for part in way:
        if part == "[]":
            found = [item for each in found if isinstance(each, list) for item in each]
        elif part == "{}":
            found = [item for each in found if isinstance(each, dict) for item in each.values()]
        else:
            found = [each[part] for each in found if isinstance(each, dict) and part in each]
        if not found:
            break
    return found


def fill(target: dict[str, Any], fills: Fills) -> None:
    """Append what is missing, in the order given; what is there stays."""
    _fill(target, fills.tree)


def _fill(node: Any, tree: Mapping[str, _Branch]) -> None:
    for part, branch in tree.items():
        if part == "[]" or part == "{}":
            for item in _inside(node, part):
                _fill(item, branch.below)
        elif isinstance(node, dict):
            if part not in node:
                if branch.value is _NOTHING:
                    continue
                node[part] = thaw(branch.value)
            if branch.below:
                _fill(node[part], branch.below)


def spell(target: dict[str, Any], paths: tuple[str, ...]) -> None:
    """Give every quantity at these paths its canonical spelling; what is no quantity stays."""
    _spell(target, _marked(paths))


def _spell(node: Any, tree: Mapping[str, _Branch]) -> None:
    for part, branch in tree.items():
        if part == "[]":
            for item in _inside(node, part):
                _spell(item, branch.below)
        elif isinstance(node, dict):
            for key in list(node) if part == "{}" else [part] if part in node else ():
                if branch.value is _NOTHING:
                    _spell(node[key], branch.below)
                else:
                    node[key] = _spelled(node[key])


def _inside(node: Any, part: str) -> Iterable[Any]:
    """The items of a list for `[]`, the values of a map for `{}`."""
    if part == "[]":
        return node if isinstance(node, list) else ()
    return node.values() if isinstance(node, dict) else ()


def _spelled(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    try:
        new = canonical(str(value))
    except UnitError:
        return value
    return value if new == value else new
