"""Lists of arguments as flags and values, whichever engine's they are."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_FLAG = re.compile("--?[A-Za-z]")


class Given(NamedTuple):
    """One flag of a list of arguments."""

    at: int
    """Where it stands in the list."""
    flag: str
    """The long spelling, with dashes: `-tp` and `--tensor_parallel_size` are `--tensor-parallel-size`."""
    value: str | None
    """`None` for a switch."""


def given(args: Sequence[str], spellings: Mapping[str, str]) -> list[Given]:
    """The flags of a list of arguments, in order; what belongs to none is left out.

    Args:
        args: The arguments.
        spellings: Long spellings by other ones.
    """
    found = []
    for index, argument in enumerate(args):
        if not _FLAG.match(argument):
            continue
        name, joined, said = argument.partition("=")
        after = args[index + 1] if index + 1 < len(args) else "-"
        if joined:
            found.append(Given(index, _long(name, spellings), said))
        else:
            each = None if after.startswith("-") else after
            found.append(Given(index, _long(name, spellings), each))
    return found


def _long(name: str, spellings: Mapping[str, str]) -> str:
    head, dot, tail = name.partition(".")
    head = head if head in spellings else head.replace("_", "-")
    return f"{spellings.get(head, head)}{dot}{tail.replace('-', '_')}"


def last(flags: Sequence[Given], name: str) -> Given | None:
    """The occurrence of a flag that counts."""
    for one in reversed(flags):
        if one.flag == name:
            return one
    return None


def value(flags: Sequence[Given], name: str) -> str:
    """The value of a flag; empty where there is none."""
    found = last(flags, name)
    return found.value or "" if found else ""


def parsed(text: str) -> object | None:
    """What a text is in JSON; `None` where it is none."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def is_number(text: str) -> bool:
    """Whether a text is a whole number of a size that means anything here."""
    return text.isdecimal() and text.isascii() and len(text) < 10


def number(flags: Sequence[Given], name: str, default: int) -> int | None:
    """The number that a flag gives; `None` where its value is none."""
    found = last(flags, name)
    if found is None:
        return default
    text = found.value or ""
    return int(text) if is_number(text) else None


def repeated(flags: Sequence[Given], names: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    """Flags of these names that are given twice with different values."""
    found = []
    for name in names:
        values = [one.value or "" for one in flags if one.flag == name]
        if len(set(values)) > 1:
            found.append((name, values[-2] if values[-2] != values[-1] else values[0], values[-1]))
    return tuple(found)


def together(
    words: Sequence[str], flags: Sequence[Given], defaults: Mapping[str, str]
) -> Mapping[str, str]:
    """The values of flags that every rank of a group has to have alike.

    Args:
        words: The arguments.
        flags: The same as flags.
        defaults: The flags by name, each with what counts where it is not written. Defaults are left out where a
            variable may hold more flags.
    """
    values = {one.at + 1 for one in flags if one.flag in defaults and one.value is not None}
    hidden = any(
        word.startswith(("$", "`")) and index not in values for index, word in enumerate(words)
    )
    found = {}
    for name, default in defaults.items():
        one = last(flags, name)
        if one is None and not hidden:
            found[name] = default
        elif one is not None and one.value is not None:
            found[name] = one.value
    return found
