"""What fields an object has, as its CustomResourceDefinition says, and where a manifest departs from it.

The server drops a field that it does not know, in silence unless it was asked to be strict, so that a limit or a
label that is misspelt is simply absent (`lws §13.1`). Pod templates are open here: `refusals` looks into them.

A structure is written as a tree, one field a line, two spaces a level:

    size~ int 1..        a whole number with its bounds; `~`: without it the object is not what anyone means
    levels[]! 1..16      a list of maps with its fields below; `!`: refused without it
    nodeLabels{}         a map of free keys
    stopPolicy Hold|None one of these words
    scheduling{} @0.11   exists from this release on
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, NamedTuple

from gangform.apis.versions import Release
from gangform.documents.document import Node
from gangform.findings import Path

_LINE: Final = re.compile(
    r"^(?P<indent> *)(?P<name>[A-Za-z]+)(?P<shape>\[\]|\{\})?(?P<mark>[!~]?)"
    r"(?: (?P<type>int|str|bool|list|amount|[A-Za-z0-9|]*\|[A-Za-z0-9|]*|[A-Z][A-Za-z]+))?"
    r"(?: (?P<least>[0-9]*)\.\.(?P<most>[0-9]*))?(?: @(?P<since>[0-9.]+))?$"
)
_LARGEST: Final = 2**63


class Field(NamedTuple):
    """One field and what may stand in it."""

    name: str
    shape: str
    """`map`, `open` (free keys), `maps` (a list of maps), `list`, `int`, `str`, `bool`, `amount` or `words`."""
    words: tuple[str, ...]
    needed: bool
    """Without it the object is refused, or is not what anyone means."""
    refused: bool
    """Without it the object is refused."""
    least: int
    most: int
    """Bounds of a number, or of how many items a list has."""
    since: Release | None
    fields: Mapping[str, Field]
    must: tuple[str, ...] = ()
    """Names of the fields inside without which it is refused."""


class Departure(NamedTuple):
    """A place where a manifest is not as its structure says."""

    kind: str
    """`unknown`, `value`, `absent` or `newer`."""
    path: Path
    field: Field | None
    """The field; `None` for an unknown one."""
    known: tuple[str, ...] = ()
    """What may stand there."""


@cache
def structure(text: str) -> Field:
    """The root of a structure that is written as a tree."""
    root: dict[str, Field] = {}
    open_: list[dict[str, Field]] = [root]
    for line in text.strip("\n").splitlines():
        found = _LINE.match(line)
        assert found is not None, line
        depth = len(found["indent"]) // 2
        fields: dict[str, Field] = {}
        kind = found["type"] or ""
        words: tuple[str, ...] = ()
        if kind and kind not in ("int", "str", "bool", "list", "amount"):
            kind, words = "words", tuple(kind.split("|"))
        shape = {"[]": "maps", "{}": "open"}.get(found["shape"] or "", kind or "map")
        open_[depth:] = [open_[depth], fields]
        open_[depth][found["name"]] = Field(
            name=found["name"],
            shape=shape,
            words=words,
            needed=bool(found["mark"]),
            refused=found["mark"] == "!",
            least=int(found["least"] or 0),
            most=int(found["most"] or _LARGEST),
            since=Release.parse(found["since"]) if found["since"] else None,
            fields=fields,
        )
    return _whole(Field("", "map", (), False, False, 0, _LARGEST, None, root))


def _whole(field: Field) -> Field:
    """A field, all of it read."""
    fields = {name: _whole(below) for name, below in field.fields.items()}
    must = tuple(name for name, below in fields.items() if below.refused)
    return field._replace(fields=fields, must=must)


def departures(
    node: Node, field: Field, release: Release | None, at: Path = ()
) -> Iterator[Departure]:
    """Where a map departs from its structure, outermost first.

    Args:
        node: The map.
        field: Its structure.
        release: The release that is run; `None` where nobody said.
        at: Where the map stands.
    """
    if not isinstance(node, Mapping) or not field.fields:
        return
    for name in field.must:
        if node.get(name) is None:
            yield Departure("absent", (*at, name), field.fields[name])
    for name, value in node.items():
        known = field.fields.get(name)
        if value is None:
            continue
        if known is None:
            yield Departure("unknown", (*at, name), None, tuple(field.fields))
        elif known.since is not None and release is not None and release < known.since:
            yield Departure("newer", (*at, name), known)
        elif not _holds(value, known):
            yield Departure("value", (*at, name), known)
        elif known.fields and known.shape == "maps":
            if not isinstance(value, (str, int, Mapping)):
                for index, item in enumerate(value):
                    yield from departures(item, known, release, (*at, name, index))
        elif known.fields and known.shape == "map":
            yield from departures(value, known, release, (*at, name))


def strangers(node: Node, field: Field, at: Path = ()) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """Where a map has names that its structure does not know, with those that it does; values are not looked at."""
    if isinstance(node, Mapping) and field.fields:
        for name, value in node.items():
            known = field.fields.get(name)
            if known is None:
                yield (*at, name), tuple(field.fields)
            elif known.fields and known.shape == "map":
                yield from strangers(value, known, (*at, name))
            elif known.fields and isinstance(value, list):
                for index, item in enumerate(value):
                    yield from strangers(item, known, (*at, name, index))


def unrendered(value: Node | None) -> bool:
    """Whether a text waits for somebody to fill it in: envsubst, Helm."""
    return isinstance(value, str) and ("$" in value or "{{" in value)


def _holds(value: Node, field: Field) -> bool:
    if unrendered(value):
        return True
    number = isinstance(value, int) and not isinstance(value, bool)
    match field.shape:
        case "int":
            return number and field.least <= int(str(value)) <= field.most
        case "str":
            return isinstance(value, str)
        case "bool":
            return isinstance(value, bool)
        case "words":
            return isinstance(value, str) and value in field.words
        case "amount":
            return number or isinstance(value, (str, float))
        case "maps" | "list":
            listed = isinstance(value, (list, tuple))
            return listed and (field.least <= len(value) <= field.most)  # type: ignore[arg-type]
        case _:
            return isinstance(value, Mapping)


def elsewhere(name: str, field: Field, at: str = "") -> Iterator[str]:
    """The places of a structure that have a field of this name, widest first."""
    for each in field.fields.values():
        mark = "[]" if each.shape == "maps" else ""
        path = f"{at}.{each.name}" if at else each.name
        if each.name == name:
            yield path
        yield from elsewhere(name, each, path + mark)
