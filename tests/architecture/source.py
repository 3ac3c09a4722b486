"""The package's modules as syntax trees, and what it takes to hold a check against them.

Each check of the house is a function over one module. Two tests use it: one over the package, and one that shows
that the check sees what it is there to see.
"""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "constructs" / "gangform"


class Source(NamedTuple):
    """One module: its place below the package, and its syntax tree."""

    place: str
    text: str
    tree: ast.Module


class Fault(NamedTuple):
    """One thing that the house forbids; its text is what a failing test shows."""

    place: str
    line: int
    what: str


Check = Callable[[Source], Iterator[Fault]]


def source(text: str, place: str = "plan/example.py") -> Source:
    return Source(place, text, ast.parse(text))


@cache
def sources() -> tuple[Source, ...]:
    """Every module of the package, parsed once in a run. The trees stay, so the collector leaves them alone."""
    gc.disable()
    found = tuple(
        source(path.read_text("utf-8"), path.relative_to(PACKAGE).as_posix())
        for path in sorted(PACKAGE.rglob("*.py"))
    )
    gc.freeze()
    gc.enable()
    return found


@cache
def modules_of_tests() -> tuple[Source, ...]:
    """Every module below `tests/`, by its place there and its text; nobody asks for its tree."""
    below = ROOT / "tests"
    return tuple(
        Source(path.relative_to(below).as_posix(), path.read_text("utf-8"), ast.Module([], []))
        for path in sorted(below.rglob("*.py"))
    )


def within(*folders: str) -> list[Source]:
    return [each for each in sources() if each.place.split("/")[0] in folders]


def keep(check: Check, modules: Iterable[Source]) -> None:
    """Fail with one line a fault."""
    faults = [fault for module in modules for fault in check(module)]
    assert not faults, "\n" + "\n".join(f"{at}:{line}: {what}" for at, line, what in faults)


def called(node: ast.Call) -> str:
    """The last name of what is called: `sorted`, or `join` of `", ".join`."""
    if isinstance(node.func, ast.Attribute):
        return node.func.attr
    return node.func.id if isinstance(node.func, ast.Name) else ""


def faults(check: Check, text: str, place: str) -> int:
    """How many a check sees in a text that stands at a place."""
    return len(list(check(source(text, place))))
