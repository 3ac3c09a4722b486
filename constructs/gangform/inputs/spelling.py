"""How the files that we write for people are spelled: plain words plain, everything else in quotes, blocks indented."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_WORDS = ("y", "n", "yes", "no", "on", "off", "true", "false", "null")
"""What a reader of YAML takes for something else than a text."""
_PLAIN = re.compile(r"[A-Za-z][-A-Za-z0-9._]*(/[-A-Za-z0-9._]+)*")
_WIDTH = 100
"""Longest line that a map or list is written on."""


def label(name: str) -> str:
    """A DNS label that says what `name` says: `llama-3.1-8b` is `llama-3-1-8b`."""
    text = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
    return (text if text[:1].isalpha() else f"x-{text}")[:40].rstrip("-")


def scalar(value: Any) -> str:
    """A value on one line: a text in quotes where it might be taken for something else."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        written = getattr(value, "written", None)
        return str(value) if written is None else str(written)
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS
    return value if plain else _quoted(value)


def _quoted(text: str) -> str:
    """JSON's quotes; what a reader of YAML would not take as it is beyond ASCII is escaped too."""
    quoted = json.dumps(text, ensure_ascii=False)
    return "".join(one if one.isprintable() else f"\\U{ord(one):08x}" for one in quoted)


def flow(value: Any) -> str:
    """A value on one line, maps and lists in brackets."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(flow, value)) + "]"
    return scalar(value)


def entry(key: str, value: Any, pad: str = "") -> Iterator[str]:
    """The lines of a key and its value: short ones on one line, others in a block."""
    head = f"{pad}{scalar(key)}:"
    if isinstance(value, str) and _is_block(value):
        yield f"{head} |{'' if value.endswith(chr(10)) else '-'}"
        yield from (f"{pad}  {line}".rstrip() for line in value.splitlines())
    elif not isinstance(value, (Mapping, list, tuple)) or not value or _is_short(value, len(head)):
        yield f"{head} {flow(value)}"
    elif isinstance(value, Mapping):
        yield head
        for inner, one in value.items():
            yield from entry(inner, one, f"{pad}  ")
    else:
        yield head
        for one in value:
            yield from _item(one, f"{pad}  ")


def _item(value: Any, pad: str) -> Iterator[str]:
    """The lines of an item of a list."""
    if not isinstance(value, Mapping) or not value or _is_short(value, len(pad) + 2):
        yield f"{pad}- {flow(value)}"
        return
    first = True
    for key, one in value.items():
        for line in entry(key, one, f"{pad}  "):
            yield f"{pad}- {line[len(pad) + 2 :]}" if first else line
            first = False


def _is_short(value: Any, taken: int) -> bool:
    """Whether it is one line that a person reads at a glance: no block of text in it, and not too long."""
    text = flow(value)
    return "\\n" not in text and taken + len(text) < _WIDTH


def _is_block(text: str) -> bool:
    """Whether a text of several lines is read back from a block as it is."""
    lines = text.split("\n")
    return (
        len(lines) > 1
        and not text.endswith("\n\n")
        and bool(lines[0])
        and all(line == line.rstrip() and line.isprintable() for line in lines)
        and not lines[0].startswith(" ")
    )
