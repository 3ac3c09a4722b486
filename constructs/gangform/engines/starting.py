"""Which command of a container starts an engine, and where its arguments begin."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from gangform.documents.document import Manifest, sequence, text
from gangform.engines.conditions import asks_for
from gangform.engines.shell import Command, Start

_PYTHON: Final = re.compile(r"^python[0-9.]*$")
_SWITCH: Final = re.compile(r"^-[A-Za-z]+$")


def speaks_of(container: Manifest, name: str) -> bool:
    """Whether image, words or variables of a container hold a name: what does not need not be read."""
    return (
        name in text(container, "image")
        or asks_for(container, name)
        or any(name in text(variable, "value") for variable in sequence(container, "env"))
    )


def python_module(words: Sequence[str], program: str) -> tuple[str, int] | None:
    """The module that Python runs, and where its arguments begin; `None` for another program.

    Args:
        words: A command.
        program: Its first word, without folder.
    """
    if not _PYTHON.match(program) or "-m" not in words:
        return None
    at = words.index("-m")
    plain = all(map(_SWITCH.match, words[1:at]))
    return (words[at + 1], at + 2) if plain and at + 1 < len(words) else None


Finds = Callable[[tuple[str, ...], str], int | None]


def engine_command(begun: Start, arguments: Finds) -> tuple[Command, int] | None:
    """The one command that starts an engine, and where its arguments begin.

    `None` where there is none, where there are several or perhaps another, or where a word may be more than it seems.

    Args:
        begun: What the container runs.
        arguments: Gives, for words and the program among them, where the engine's arguments begin.
    """
    if not begun.whole or any(arguments(one.words, one.program) for one in begun.doubtful):
        return None
    found = [(one, at) for one in begun.commands if (at := arguments(one.words, one.program))]
    if len(found) != 1 or not found[0][0].certain(found[0][1]):
        return None
    return found[0]
