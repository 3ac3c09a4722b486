"""Filling in and rewriting values at the places of an object, by paths such as `spec.ports[].protocol`.

`[]` stands for every item of a list, `{}` for every value of a map. A value is filled in only where its parent
exists, as the defaulting of a structural schema does it; a parent that has a default of its own comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from gangform.documents.document import Manifest, Node
from gangform.units import UnitError, canonical

Fills = Sequence[tuple[str, Node]]
"""Paths and what the server writes there, parents before children."""


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
    for path, value in fills:
        way = parts(path)
        for parent in nodes(target, way[:-1]):
            if isinstance(parent, dict) and way[-1] not in parent:
                parent[way[-1]] = thaw(value)


def spell(target: dict[str, Any], paths: Sequence[str]) -> None:
    """Give every quantity at these paths its canonical spelling; what is no quantity stays."""
    for path in paths:
        way = parts(path)
        for parent in nodes(target, way[:-1]):
            if isinstance(parent, dict):
                for key in list(parent) if way[-1] == "{}" else [way[-1]]:
                    if key in parent:
                        parent[key] = _spelled(parent[key])


def _spelled(value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        return value
    try:
        new = canonical(str(value))
    except UnitError:
        return value
    return value if new == value else new
