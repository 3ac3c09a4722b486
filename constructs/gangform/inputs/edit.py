"""A value in somebody's file is replaced by another, and every other byte stays: comments, quotes, line ends, order.

The text is cut where the strict reader saw the value. What comes out is read again, and has to be what was there with
the new value in the old one's place; anything else (a word spelled by escapes, or folded over lines) is not edited.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from gangform.documents.read import Source
from gangform.findings import Path
from gangform.inputs.files import read_text

_MARK = "\ufeff"
"""What some editors begin a file with. It is no character of the first line."""
_LINE_END = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
"""What ends a line in YAML 1.1."""


def replaced(text: str, before: Source, words: Mapping[Path, tuple[str, str]]) -> str | None:
    """The text with some words replaced; `None` where that cannot be done by cutting.

    Args:
        text: The content of the file.
        before: The same as it was read.
        words: By path, the word that stands there, and YAML on one line for its place.
    """
    cuts: list[tuple[int, int, str]] = []
    wanted: Any = before.value
    for path, (old, new) in words.items():
        if path not in before.places:
            return None
        begin = _offset(text, before, path)
        token = next((one for one in _spellings(old) if text.startswith(one, begin)), None)
        if token is None:
            return None
        cuts.append((begin, begin + len(token), new))
        wanted = _with(wanted, path, read_text(f"x: {new}", before.file).value.get("x"))
    made = text
    for begin, end, new in sorted(cuts, reverse=True):
        made = made[:begin] + new + made[end:]
    after = read_text(made, before.file)
    return made if not after.findings and after.value == wanted else None


def is_json(text: str, source: Source, path: Path) -> bool:
    """Whether a text and its key are quoted as JSON asks for."""
    return path in source.places and all(
        text.startswith('"', _at(text, place.line, place.column))
        for place in (source.places.key(path), source.places.value(path))
    )


def _spellings(word: str) -> tuple[str, ...]:
    return word, f'"{word}"', f"'{word}'"


def _offset(text: str, source: Source, path: Path) -> int:
    """Where a value begins."""
    place = source.places.value(path)
    return _at(text, place.line, place.column)


def _at(text: str, line: int, column: int) -> int:
    begin = len(_MARK) if text.startswith(_MARK) else 0
    for _ in range(line - 1):
        found = _LINE_END.search(text, begin)
        if found is None:
            break
        begin = found.end()
    return begin + column - 1


def _with(value: Any, path: Path, new: Any) -> Any:
    """A copy with another value at a path that is there."""
    if not path:
        return new
    first, *rest = path
    if isinstance(value, list):
        return [
            _with(one, tuple(rest), new) if index == first else one
            for index, one in enumerate(value)
        ]
    return {
        key: _with(one, tuple(rest), new) if key == first else one for key, one in value.items()
    }
