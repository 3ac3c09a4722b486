"""Comments that say a finding is known and meant.

    replicas: 3  # gangform: ignore[replicas-owned-by-autoscaler] the autoscaler is suspended until March

After a value a comment is about what stands on its line. On a line of its own it is about the field, list entry or
object that begins on the next line, and about everything inside: above `apiVersion` about the whole object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_COMMENT = re.compile(r"(?:^|(?<=\s))#\s*gangform:\s*ignore\b(?:\[([^\]]*)\])?[ \t]*(.*)")
_BLOCK = re.compile(r"(?:^|[\s:-])[|>][-+0-9]{0,2}\s*(?:#.*)?$")
_LINE_END = re.compile(r"\r\n|\r|\n")
_BETWEEN = re.compile(r"\s*(?:#.*|---\s*(?:#.*)?)?")


class Comment(NamedTuple):
    """One comment."""

    line: int
    """Where it stands, from 1."""
    column: int
    about: int
    """The line that it is about."""
    inside: bool
    """Whether it is also about what lies inside of what begins there."""
    codes: tuple[str, ...]
    """Empty where none are named: then it hides nothing."""
    reason: str


def comments(text: str) -> tuple[Comment, ...]:
    """Every comment of a text, in order."""
    return tuple(_comments(text)) if "gangform:" in text else ()


def _comments(text: str) -> Iterator[Comment]:
    lines = _LINE_END.split(text)
    block: int | None = None
    for index, line in enumerate(lines):
        indent = len(line) - len(line.lstrip())
        if block is not None and (not line.strip() or indent > block):
            continue  # inside a text of several lines nothing is a comment
        block = None
        found = _COMMENT.search(line)
        if found is not None and _outside_quotes(line[: found.start()]):
            own_line = not line[: found.start()].strip()
            codes = tuple(part.strip() for part in (found[1] or "").split(",") if part.strip())
            yield Comment(
                line=index + 1,
                column=found.start() + 1,
                about=_next(lines, index) if own_line else index + 1,
                inside=own_line,
                codes=codes,
                reason=found[2].strip(),
            )
        if not line.lstrip().startswith("#") and _BLOCK.search(line):
            block = indent


def _next(lines: list[str], index: int) -> int:
    """The next line that is neither empty nor a comment; of several comments each is about it."""
    for further in range(index + 1, len(lines)):
        if not _BETWEEN.fullmatch(lines[further]):
            return further + 1
    return index + 1


def _outside_quotes(before: str) -> bool:
    """Whether no quote is open where a comment would begin. An apostrophe inside a word opens none."""
    quote, last = "", " "
    for character in before:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and last in " \t[{,:-":
            quote = character
        last = character
    return not quote
