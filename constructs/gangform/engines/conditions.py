"""Conditions of a script that are decided by variables whose values are certain, the index of a pod among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from gangform.documents.document import Manifest, sequence
from gangform.engines.tokens import Word

_BRACKETS: Final = {"[": "]", "[[": "]]"}
_EQUAL: Final = frozenset({"-eq", "=", "=="})
_UNEQUAL: Final = frozenset({"-ne", "!=", "-gt"})


def ranked(container: Manifest, variable: str, *, leads: bool) -> Manifest:
    """A container that knows whether it is the first of its group.

    A worker's index is one of several: it stays as it is written, and is known to be above 0.

    Args:
        container: As it is written.
        variable: What the controller sets to the index.
        leads: Whether the index is 0.
    """
    index = {"name": variable, "value": "0" if leads else f"$({variable})"}
    return {**container, "env": [index, *sequence(container, "env")]}


def asks_for(container: Manifest, variable: str) -> bool:
    """Whether the words of a container name a variable."""
    words = (*sequence(container, "command"), *sequence(container, "args"))
    return any(isinstance(word, str) and variable in word for word in words)


class Blocks:
    """The blocks that a command of a script stands in."""

    def __init__(self) -> None:
        self._names: list[str] = []
        self._run: list[bool | None] = []
        self._ran: list[bool] = []
        """Whether a branch of each surely ran."""

    @property
    def run(self) -> bool | None:
        """Whether commands at this place run; `None`: they may."""
        return False if False in self._run else None if None in self._run else True

    @property
    def inner(self) -> str:
        """The word that opened the innermost one; empty outside of all."""
        return self._names[-1] if self._names else ""

    def open(self, name: str, run: bool | None = None) -> None:
        """Go into a block."""
        self._names.append(name)
        self._run.append(run)
        self._ran.append(run is True)

    def otherwise(self, run: bool | None) -> None:
        """Go on to the next branch of a condition, which runs where none before it did."""
        if self.inner == "if":
            before, ran = self._run[-1], self._ran[-1]
            self._run[-1] = None if before is None else not ran and run
            self._ran[-1] = ran or self._run[-1] is True

    def doubt(self) -> None:
        """The condition of the innermost one is not all that was taken for it."""
        if self._run:
            self._run[-1] = None

    def close(self) -> None:
        """Leave the innermost one."""
        for stack in (self._names, self._run, self._ran):
            stack.pop()


def verdict(words: Sequence[Word], value: Callable[[str], str | None]) -> bool | None:
    """Whether `[ A = B ]` and its like hold; `None` where that is not certain."""
    first = words[0].plain if words else ""
    closing = _BRACKETS.get(first)
    if closing is not None and words[-1].plain == closing:
        inside = words[1:-1]
    elif first == "test":
        inside = words[1:]
    else:
        return None
    if len(inside) != 3:
        return None
    sides = (_known(inside[0], value), _known(inside[2], value))
    operator = inside[1].plain
    if operator not in _EQUAL | _UNEQUAL or None in sides:
        return None
    same = _same(*sides)
    if same is None or (operator == "-gt" and sides[1] != "0"):
        return None
    return same == (operator in _EQUAL)


def _known(word: Word, value: Callable[[str], str | None]) -> str | None:
    if not all(piece.known and (piece.name is None or value(piece.name)) for piece in word.pieces):
        return None
    return word.text(value)[0]


def _same(one: str | None, other: str | None) -> bool | None:
    """Whether two values are equal; an index that is only known to be above 0 is not 0, and may be anything else."""
    some = [side for side in (one, other) if side is not None and side.startswith("$(")]
    if not some:
        return one == other
    return False if len(some) == 1 and "0" in (one, other) else None
