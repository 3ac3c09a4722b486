"""What the search for a shape looked at, in words: `gangform plan` and the page say the same."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gangform.findings import counted
from gangform.report.tables import Cell, Grid

if TYPE_CHECKING:
    from gangform.plan.choice import Search
    from gangform.plan.preference import Candidate
    from gangform.plan.serving import ServingPlan

COLUMNS = ("shape", "a group", "memory", "requests", "why not")
MOST_LISTED = 100
"""Shapes that the page lists of one serving, the nearest; the command lists all."""

_WORDS = {
    "fewestGpus": "the fewest GPUs, then nodes, then pipeline stages, then the most requests",
    "fewestNodes": "the fewest nodes, then pipeline stages, then the most requests",
    "tensorFirst": "the fewest GPUs, then nodes, then pipeline stages, then data ranks",
}


class View(NamedTuple):
    """What the search for a shape looked at."""

    title: str
    verdict: str
    asked: str
    """For which load, and how many; empty where nothing could be looked at."""
    ways: tuple[str, ...]
    """The respects in which shapes lost, each with the one that came nearest."""
    left_out: tuple[str, ...]
    """What is never looked at, and why."""
    all: Grid
    more: int
    """Shapes that are not listed."""


class Way(NamedTuple):
    """The shapes that lost in the same respect."""

    nearest: Candidate
    alike: int
    """How many there are in all."""

    def __str__(self) -> str:
        """The one that came nearest, and how many more there are."""
        one = self.nearest
        more = f" (and {self.alike - 1} more)" if self.alike > 1 else ""
        return f"{one.parallelism.written} {one.lost}: {one.why}{more}"


def verdict(search: Search) -> str:
    """What the search found, beside what is declared."""
    if search.unsearchable:
        return f"no other shape was looked at: {search.unsearchable}"
    if search.chosen is None:
        nearest = "" if search.declared else ", this one comes nearest"
        return f"no shape holds the load{nearest}"
    if search.declared is None:
        return "chosen, not pinned"
    if search.declared == search.chosen.parallelism:
        return "as `auto` would choose"
    written = search.chosen.parallelism.written
    if search.own is not None and search.own.lost:
        return f"`auto` would choose {written}: this one {search.own.lost}, {search.own.why}"
    return f"`auto` would choose {written}"


def asked(plan: ServingPlan, search: Search) -> str:
    """How many shapes were looked at, and for what."""
    wanted = plan.serving.concurrency
    load = f"{counted(wanted or 1, 'request')} of {plan.serving.context} tokens"
    if wanted is None:
        load += " (no `concurrency` is declared)"
    count = counted(len(search.considered), "shape")
    return f"{count} looked at for {load} on {_WORDS[search.preference]}"


def ways(search: Search) -> Iterator[Way]:
    """One for each respect in which shapes lost, the nearest to the load first."""
    found: dict[str, list[Candidate]] = {}
    for one in search.considered:
        if one.lost:
            found.setdefault(one.lost, []).append(one)
    for those in found.values():
        yield Way(those[0], len(those))


def in_order(search: Search) -> Sequence[Candidate]:
    """As the page lists them: the declared shape first, then the chosen one, then the nearest."""
    own = search.own
    if own is None:
        return search.considered
    return own, *(one for one in search.considered if one.parallelism != own.parallelism)


def cells(one: Candidate, search: Search) -> tuple[str, str, str, str, str]:
    """A shape as a row."""
    nodes = f" on {counted(one.shape.size, 'node')}" if one.shape.size > 1 else ""
    declared = "declared" if one.parallelism == search.declared else ""
    chosen = "chosen" if search.chosen and one.parallelism == search.chosen.parallelism else ""
    mine = " and ".join(word for word in (declared, chosen) if word)
    why = f"{one.lost}: {one.why}" if one.lost else ""
    return (
        one.parallelism.written,
        f"{counted(one.shape.gpus, 'GPU')}{nodes}",
        one.memory.verdict if one.memory else "",
        str(one.memory.requests) if one.memory else "",
        f"{mine}, but it {why}" if mine and why else mine or why,
    )


def view(plan: ServingPlan, search: Search) -> View:
    """The search as the page shows it."""
    every = in_order(search)
    return View(
        title="Shape: what was looked at"
        if search.declared is None
        else "Shape: declared, and what `auto` would take",
        verdict=verdict(search),
        asked="" if search.unsearchable else asked(plan, search),
        ways=tuple(map(str, ways(search))),
        left_out=tuple(f"{one.what}: {one.why}" for one in search.left_out),
        all=Grid(
            title=f"Shapes of {plan.name}",
            columns=COLUMNS,
            kind="shapes",
            rows=tuple(
                tuple(
                    Cell(column, text, kind="code" if column == "shape" else "")
                    for column, text in zip(COLUMNS, cells(one, search), strict=True)
                )
                for one in every[:MOST_LISTED]
            ),
        ),
        more=max(0, len(every) - MOST_LISTED),
    )
