"""Kinds of fault, each a question asked of plain documents, and why our output cannot have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tests.cases.reading import World

Ask = Callable[[World], bool]


class Kind(NamedTuple):
    """A kind of fault: how it is seen, and why our output cannot have it."""

    ask: Ask
    why: str


def noting(kinds: dict[str, Kind]) -> Callable[[str, str], Callable[[Ask], Ask]]:
    """A decorator that notes a question under its name, with the reason."""

    def kind(name: str, why: str) -> Callable[[Ask], Ask]:
        def note(ask: Ask) -> Ask:
            kinds[name] = Kind(ask, why)
            return ask

        return note

    return kind
