"""From a parser's events to plain data, places and findings.

Not by PyYAML's constructors: so an alias is seen as an alias and cannot explode, a number keeps its spelling, and no
depth of nesting reaches Python's stack.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from gangform.documents.places import NOTHING_INSIDE, Entry, Inside, entry
from gangform.documents.words import (
    ANY_BOOLEANS,
    BOOLEANS,
    NULLS,
    OLD_BOOLEANS,
    disputed,
    is_text,
    number,
)
from gangform.findings import CODES, Finding, InputPath, Path, Severity, declare

for _id, _title in {
    "yaml-syntax": "The file is not well-formed YAML",
    "yaml-tab": "A line is indented with a tab",
    "yaml-character": "The file holds a character that YAML forbids",
    "yaml-limit": "The file is larger, deeper or more repetitive than any that is meant to be read",
    "yaml-empty": "A key, a list entry or a file has no value",
    "yaml-duplicate-key": "A key is given twice in one map",
    "yaml-boolean": "A word without quotes is a boolean to one reader of YAML and a text to another",
    "yaml-number": "A number is spelled so that readers of YAML disagree about it",
    "yaml-date": "A text without quotes is a date to YAML",
    "yaml-key": "A key is not a text",
    "yaml-alias": "An anchor, alias, merge key or tag hides what is written where",
    "yaml-one-object": "A file holds exactly one map",
}.items():
    declare(_id, _title, Severity.BREAKS, "design §3")

declare(
    "key-repeated",
    "A key stands twice in one map of a manifest: kubectl refuses the object, others take the last value",
    Severity.DEGRADES,
    "Kubernetes: field validation Strict, the default of kubectl apply",
)

# Named one by one, since a class of all that is allowed takes 9 ms to compile; what lies beyond ASCII when it is met.
_FORBIDDEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_FORBIDDEN_BEYOND = "[\x80-\x84\x86-\x9f\ud800-\udfff\ufeff\ufffe\uffff]"
_CURES = {
    "mapping values": "align the line with its neighbours, or quote a text that holds `: `",
    "start any token": "quote a text that begins with such a character",
    "expected": "align the line with its neighbours and close what is open",
}

_DEEPEST = 100
_MOST_VALUES = 2_000_000

_MERGE: Final = object()
"""In the place of a key: what follows is merged into the map."""


def nowhere(path: Path) -> bool:
    """No path at all."""
    return False


class _Frame:
    """A map or list whose end was not met yet."""

    __slots__ = (
        "anchor",
        "before",
        "inside",
        "is_map",
        "key",
        "key_at",
        "merged",
        "place",
        "value",
    )

    def __init__(self, value: Any, place: Entry, anchor: str | None, before: int) -> None:
        self.value, self.place, self.inside, self.anchor = value, place, place[4], anchor
        self.is_map = value.__class__ is dict
        self.key: Any = None
        self.key_at = (0, 0)
        self.merged: list[tuple[Any, Inside]] = []
        self.before = before
        """How many values there were before it: what came since is its size."""


class _Stop(Exception):
    """What follows cannot be read."""


class Builder:
    """Builds one document after the other from events."""

    def __init__(
        self, *, strict: bool = False, nulls: Callable[[Path], bool] = nowhere, first_line: int = 0
    ) -> None:
        self._strict, self._nulls, self._first_line = strict, nulls, first_line
        self.found: list[Finding] = []
        self.begin()

    def begin(self) -> None:
        """Forget the document, keep the findings."""
        self.root: Any = None
        self.place = entry(self._first_line + 1, 1)
        self.repeated: list[Finding] = []
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, Entry, int]] = {}
        self._size = 0

    def find(self, code: str, path: Path, what: str, fix: str, at: Entry | None = None) -> None:
        """Note a finding. Its place is that of its path, unless another is given."""
        _, _, line, column, _ = at or self.place
        seen = {"line": str(line), "column": str(column)}
        self.found.append(
            Finding(code=CODES[code], at=InputPath(path), what=what, fix=fix, seen=seen)
        )

    def run(self, text: str) -> Iterator[None]:
        """Take events; pause where a document ends."""
        from gangform.documents.pyyaml import yaml

        anywhere = _FORBIDDEN if text.isascii() else f"{_FORBIDDEN}|{_FORBIDDEN_BEYOND}"
        forbidden = re.search(anywhere, text)
        if forbidden:
            before = text[: forbidden.start()]
            line = self._first_line + 1 + before.count("\n")
            self.place = entry(line, len(before) - before.rfind("\n"), self.place[4])
            name = f"U+{ord(forbidden[0]):04X}"
            self.find(
                "yaml-character", (), f"the character {name} is not allowed in YAML", "remove it"
            )
            return
        parser = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader
        try:
            # Without `yaml.parse`, which asks twice for each event.
            for event in iter(parser(text).get_event, None):
                kind = event.__class__
                if kind is yaml.ScalarEvent:
                    self._scalar(event)
                elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
                    self._open({} if kind is yaml.MappingStartEvent else [], event)
                elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
                    self._close()
                elif kind is yaml.AliasEvent:
                    self._alias(event)
                elif kind is yaml.DocumentEndEvent:
                    yield
        except _Stop:
            return
        except yaml.YAMLError as error:
            self._malformed(error, text)

    def _malformed(self, error: Any, text: str) -> None:
        problem = getattr(error, "problem", None) or str(error)
        mark = getattr(error, "problem_mark", None)
        # What was never closed is missed where something else begins; its own beginning says more.
        if mark is None or "end of stream" in problem or "',' or" in problem:
            mark = getattr(error, "context_mark", None) or mark
        written = ""
        if mark is not None:
            lines = text.splitlines()
            line, column = mark.line, mark.column
            if line >= len(lines) > 0:  # missed at the end: the last line is one that there is
                line, column = len(lines) - 1, len(lines[-1])
            written = lines[line] if line < len(lines) else ""
            self.place = entry(self._first_line + line + 1, column + 1, self.place[4])
        if "\t" in written[: len(written) - len(written.lstrip())]:
            self.find("yaml-tab", (), "the line is indented with a tab", "indent with spaces")
            return
        context = getattr(error, "context", None)
        what = f"`{written.strip()[:60]}`: {problem}" + (f" ({context})" if context else "")
        cure = next(
            (cure for sign, cure in _CURES.items() if sign in problem),
            "correct the line, or quote its text",
        )
        self.find("yaml-syntax", (), what, cure)

    def _at(self, event: Any) -> Entry:
        start = event.start_mark
        return entry(self._first_line + start.line + 1, start.column + 1)

    def _path(self, *last: str) -> Path:
        """Of the value that is about to come."""
        parts: list[str | int] = []
        for frame in self._stack:
            if isinstance(frame.value, list):
                parts.append(len(frame.value) - (frame is not self._stack[-1]))
            elif isinstance(frame.key, str):
                parts.append(frame.key)
        return (*parts, *last)

    def _stop(self, code: str, what: str, fix: str, event: Any) -> None:
        self.find(code, self._path(), what, fix, self._at(event))
        raise _Stop

    def _expects_key(self) -> bool:
        return bool(self._stack) and self._stack[-1].is_map and self._stack[-1].key is None

    def _plainly(self, event: Any) -> None:
        """Strict files have no anchors and tags: whoever reads a line must see all of it."""
        if self._strict and (event.anchor or event.tag):
            name = f"the anchor `&{event.anchor}`" if event.anchor else f"the tag `{event.tag}`"
            self.find(
                "yaml-alias",
                self._path(),
                f"{name} is not read here",
                "write the value itself",
                self._at(event),
            )

    def _scalar(self, event: Any) -> None:
        if self._strict:
            self._plainly(event)
        start = event.start_mark
        line, column = self._first_line + start.line + 1, start.column + 1
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.key is None and frame.is_map:
            frame.key_at = (line, column)
            frame.key = self._key(event)
            return
        value = self._typed(event)
        self._attach(value, line, column, NOTHING_INSIDE, 1)
        if event.anchor:
            self._anchors[event.anchor] = (value, entry(line, column), 1)
        if frame is not None:
            frame.key = None

    def _open(self, value: Any, event: Any) -> None:
        self._plainly(event)
        if self._expects_key():
            self._stop(
                "yaml-key",
                "a map or list is used as a key",
                "quote a text that begins with `{` or `[`",
                event,
            )
        if len(self._stack) >= _DEEPEST:
            self._stop(
                "yaml-limit",
                f"more than {_DEEPEST} maps and lists inside each other",
                "flatten it",
                event,
            )
        start = event.start_mark
        line, column = self._first_line + start.line + 1, start.column + 1
        inside: Inside = {}
        frame = _Frame(value, entry(line, column, inside), event.anchor, self._size)
        self._attach(value, line, column, inside, 1)
        self._stack.append(frame)

    def _close(self) -> None:
        frame = self._stack.pop()
        for value, inside in frame.merged:
            maps = [(value, inside)] if isinstance(value, dict) else []
            if isinstance(value, list):
                maps = [
                    (item, inside[index][4])
                    for index, item in enumerate(value)
                    if isinstance(item, dict)
                ]
            for given, where in maps:
                for key in given:
                    if key not in frame.value:
                        frame.value[key], frame.inside[key] = given[key], where[key]
        if frame.anchor:
            self._anchors[frame.anchor] = (frame.value, frame.place, self._size - frame.before)
        if self._stack:
            self._stack[-1].key = None

    def _alias(self, event: Any) -> None:
        if self._strict:
            self.find(
                "yaml-alias",
                self._path(),
                f"the alias `*{event.anchor}` is not read here",
                "write the value itself, or quote a text that begins with `*`",
                self._at(event),
            )
        elif event.anchor not in self._anchors:
            self._stop(
                "yaml-syntax",
                f"the alias `*{event.anchor}` has no anchor before it",
                "define it",
                event,
            )
        here = ("", self._at(event), 1)
        value, place, size = here if self._strict else self._anchors[event.anchor]
        if self._expects_key():
            self._stack[-1].key = str(value)
            return
        self._attach(value, *place[2:], size)
        if self._stack:
            self._stack[-1].key = None

    def _attach(self, value: Any, line: int, column: int, inside: Inside, size: int) -> None:
        """Put a value where it belongs. Aliases count in full: what is small on disk may be huge to walk over."""
        self._size += size
        if self._size > _MOST_VALUES:
            self.find(
                "yaml-limit",
                (),
                f"more than {_MOST_VALUES} values, aliases counted in full",
                "write less",
            )
            raise _Stop
        if not self._stack:
            self.root, self.place = value, (line, column, line, column, inside)
            return
        frame = self._stack[-1]
        if not frame.is_map:
            frame.inside[len(frame.value)] = (line, column, line, column, inside)
            # The API server reads a null in a list as the zero value of the entry's type.
            frame.value.append("" if value is None and not self._strict else value)
        elif frame.key is _MERGE:
            frame.merged.append((value, inside))
        else:
            key = frame.key
            frame.inside[key] = (*frame.key_at, line, column, inside)
            frame.value[key] = value
            if value is None and not self._strict:
                del frame.value[key]

    def _key(self, event: Any) -> Any:
        written, plain = event.value, not event.style
        if not self._strict:
            if plain and written == "<<":
                return _MERGE
            boolean = ANY_BOOLEANS.get(written) if plain else None
            written = written if boolean is None else str(boolean).lower()
            if written in self._stack[-1].inside:
                self._repeat(written, event)
            return written

        def wrong(code: str, what: str, fix: str = f'write `"{written}":`') -> None:
            self.find(code, self._path(written), what, fix, self._at(event))

        if plain and written == "<<":
            wrong("yaml-alias", "the merge key `<<` is not read here", "write the keys themselves")
        elif plain and (dispute := disputed(written)):
            wrong(dispute[0], f"the key {dispute[1]}")
        elif plain and (written in NULLS or written in BOOLEANS or number(written) is not None):
            wrong("yaml-key", f"the key `{written}` is not a text to YAML")
        before = self._stack[-1].inside.get(written)
        if before:
            lines = f"on line {before[0]} and on line {self._at(event)[0]}"
            wrong("yaml-duplicate-key", f"`{written}` is given twice: {lines}", "keep one of them")
        return written

    def _repeat(self, key: str, event: Any) -> None:
        """Note that a key of a manifest is given twice."""
        line, column, _, _, _ = self._at(event)
        first = self._stack[-1].inside[key][0]
        self.repeated.append(
            Finding(
                code=CODES["key-repeated"],
                at=InputPath(self._path(key)),
                what=f"`{key}` is given twice: on line {first} and on line {line}",
                fix="keep one of them",
                seen={"line": str(line), "column": str(column)},
            )
        )

    def _typed(self, event: Any) -> Any:
        """The value of a scalar: a text if it is quoted, else what YAML makes of it."""
        written, tag = event.value, event.tag
        if tag is None and (event.style or (not self._strict and is_text(written))):
            return written
        tag = tag or ""
        if (event.style and not tag) or tag.endswith(":str") or tag == "!":
            return written
        if written in NULLS:
            if self._strict and not (written and self._nulls(self._path())):
                said = f"is `{written}`" if written else "is empty, which YAML makes null"
                fix = "write a value, or remove the line" + (
                    "; to delete the key write `null`" if self._nulls(self._path()) else ""
                )
                self.find("yaml-empty", self._path(), f"the value {said}", fix, self._at(event))
            return None
        if written in BOOLEANS:
            return BOOLEANS[written]
        dispute = disputed(written) if self._strict else None
        if dispute:
            code, what, fix = dispute
            self.find(code, self._path(), what, fix, self._at(event))
            return written
        if written in OLD_BOOLEANS:
            return OLD_BOOLEANS[written]
        value = number(written)
        return written if value is None else value
