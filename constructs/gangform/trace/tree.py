"""Values inside of inputs, plans and tables: walked over by path, and put back with one of them changed.

Inputs are models, plans are named tuples, both hold maps and lists. Nothing is changed in place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from gangform.findings import Path
from gangform.inputs.base import Model
from gangform.inputs.fields import alias_of
from gangform.units import Resources

_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)+")
"""A release: its last number may go up or down, and it is one still."""


def leaves(node: object, path: Path = (), *, models: bool = True) -> Iterator[tuple[Path, object]]:
    """Every single value in a tree with its path, `None` among them. Fields of models go by their key in YAML.

    Args:
        node: A model, a named tuple, a map, a list or a single value.
        path: Where it stands.
        models: Whether to look into models; a plan carries some that belong to the inputs.
    """
    if isinstance(node, Model) and not models:
        return
    children = list(_children(node))
    if children or _is_inner(node):
        for part, value in children:
            yield from leaves(value, (*path, part), models=models)
    else:
        yield path, node


def at(node: object, path: Path) -> object:
    """The value at a path of `leaves`.

    Raises:
        LookupError: There is none.
    """
    for part in path:
        node = dict(_children(node))[part]
    return node


def replaced(node: Any, path: Path, value: object) -> Any:
    """A tree with another value at a path of `leaves`."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    inner = replaced(at(node, (part,)), rest, value)
    if isinstance(node, Model):
        return node.model_copy(update={_field(node, str(part)): inner})
    if isinstance(node, Resources):
        return Resources({**node, str(part): inner})
    if isinstance(node, Mapping):
        return {**node, part: inner}
    if _is_record(node):
        return node._replace(**{str(part): inner})
    return type(node)(inner if index == part else one for index, one in enumerate(node))


def others(value: object) -> Iterator[object]:
    """Other values of the same type: larger and smaller, or another text. None for what has no other."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        kind = type(value)
        yield kind(int(value) * 2 + 1)
        if value > 0:
            yield kind(int(value) // 2)
    elif isinstance(value, (Decimal, Fraction)):
        yield value * 2
        yield value / 2
    elif isinstance(value, str):
        yield from _texts(value)
    elif isinstance(value, Resources):
        yield value * 2


def _texts(text: str) -> Iterator[str]:
    if _NUMBERS.fullmatch(text):
        head, _, last = text.rpartition(".")
        yield f"{head}.{int(last) + 1}"
        if int(last):
            yield f"{head}.{int(last) - 1}"
    else:
        yield f"{text}x"


def _children(node: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(node, Model):
        for name, field in type(node).model_fields.items():
            yield alias_of(name, field), getattr(node, name)
    elif isinstance(node, Mapping):
        yield from node.items()
    elif _is_record(node):
        yield from ((name, getattr(node, name)) for name in type(node)._fields)  # type: ignore[attr-defined]
    elif isinstance(node, (list, tuple)):
        yield from enumerate(node)


def _is_inner(node: object) -> bool:
    return isinstance(node, (Model, Mapping, list, tuple))


def _is_record(node: object) -> bool:
    return isinstance(node, tuple) and hasattr(type(node), "_fields")


def _field(node: Model, key: str) -> str:
    fields = type(node).model_fields
    return next(name for name, field in fields.items() if alias_of(name, field) == key)


def without(node: Any, path: Path) -> Any:
    """A manifest that lacks the field at a path."""
    part, rest = path[0], path[1:]
    if isinstance(node, Mapping):
        pairs = (
            (key, without(one, rest) if key == part and rest else one) for key, one in node.items()
        )
        return {key: one for key, one in pairs if rest or key != part}
    entries = (
        without(one, rest) if index == part and rest else one for index, one in enumerate(node)
    )
    return [one for index, one in enumerate(entries) if rest or index != part]


def differing(before: object, after: object) -> Iterator[Path]:
    """Paths of the single values of a manifest that another version of it has otherwise, or no more.

    Entries of a list are known by what they are called, so that one more among them changes no other.
    """
    yield from _differing(before, after, ())


def _differing(before: Any, after: Any, path: Path) -> Iterator[Path]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for key, value in before.items():
            if key in after:
                yield from _differing(value, after[key], (*path, key))
            else:
                yield from ends(value, (*path, key))
    elif _is_list(before) and _is_list(after):
        for index, partner in enumerate(_partners(before, after)):
            if partner is None:
                yield from ends(before[index], (*path, index))
            else:
                yield from _differing(before[index], after[partner], (*path, index))
    elif before != after or isinstance(before, bool) != isinstance(after, bool):
        yield from ends(before, path)


def ends(node: object, path: Path = ()) -> Iterator[Path]:
    """The paths of all single values of a manifest, empty maps and lists among them."""
    pairs: list[tuple[str | int, object]] = []
    if isinstance(node, Mapping):
        pairs = list(node.items())
    elif isinstance(node, (list, tuple)):
        pairs = list(enumerate(node))
    if not pairs:
        yield path
    for part, value in pairs:
        yield from ends(value, (*path, part))


def _partners(before: Sequence[Any], after: Sequence[Any]) -> list[int | None]:
    """For each entry the index of the one that it has become."""
    ours, theirs = [[_called(one) for one in side] for side in (before, after)]
    if len(set(ours)) == len(ours) and len(set(theirs)) == len(theirs):
        known = {name: index for index, name in enumerate(theirs)}
        gone = [index for index, name in enumerate(ours) if name not in known]
        come = [index for index, name in enumerate(theirs) if name not in set(ours)]
        renamed = dict(zip(gone, come, strict=True)) if len(gone) == len(come) else {}
        return [known.get(name, renamed.get(index)) for index, name in enumerate(ours)]
    return [index if index < len(after) else None for index in range(len(before))]


def _called(entry: object) -> str:
    """What an entry of a list is called: its name or key, the flag before `=`, or its keys."""
    if isinstance(entry, Mapping):
        for word in ("mountPath", "name", "alert", "key", "nodeLabel", "topologyKey"):
            if isinstance(entry.get(word), str):
                return str(entry[word])
        return ",".join(sorted(map(str, entry)))
    return str(entry).partition("=")[0]


def _is_list(node: object) -> bool:
    return isinstance(node, (list, tuple))
