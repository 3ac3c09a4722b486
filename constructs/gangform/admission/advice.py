"""What a backend says to somebody who is called: where to look when groups wait or are gone, what to leave alone."""

from collections.abc import Sequence
from typing import NamedTuple

from gangform.admission.admission import Demand


class Look(NamedTuple):
    """One command, and what it shows."""

    command: str
    shows: str


class Advice(NamedTuple):
    """What pages about a serving, or about a queue, have from its backend."""

    waits: str
    """What a group that is not let in looks like, as a sentence."""
    groups: tuple[Look, ...] = ()
    """On the groups of these demands, the most telling first; empty where the pods alone say all."""
    queue: tuple[Look, ...] = ()
    """On their queue."""
    cures: tuple[str, ...] = ()
    """What lets a waiting group in."""
    never: tuple[str, ...] = ()
    """What makes it worse for a serving."""
    never_queue: tuple[str, ...] = ()
    """What makes it worse for all in the queue."""
    evicts: str = ""
    """What becomes of a group that it throws out; empty where it throws none out."""


def pattern(names: Sequence[str]) -> str:
    """One of some names, as an extended regular expression."""
    return names[0] if len(names) == 1 else f"({'|'.join(names)})"


def namespaces(demands: Sequence[Demand]) -> list[str]:
    """Where the demands are, in alphabetical order."""
    return sorted({demand.namespace for demand in demands})
