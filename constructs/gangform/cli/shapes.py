"""What `gangform plan` says about the search for a shape: why each of those that were looked at lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gangform.findings import counted

if TYPE_CHECKING:
    from gangform.cli.table import Cells
    from gangform.plan.choice import Candidate, Search

_WORDS = {
    "fewestGpus": "the fewest GPUs, then nodes, then pipeline stages, then the most requests",
    "fewestNodes": "the fewest nodes, then pipeline stages, then the most requests",
    "tensorFirst": "the fewest GPUs, then nodes, then pipeline stages, then data ranks",
}


def rows(search: Search, *, wide: bool) -> Iterator[Cells]:
    """For people: one line for each way to lose, with the shape that came nearest; all of them where it is wide."""
    if search.unsearchable:
        yield "", f"no other shape was looked at: {search.unsearchable}"
        return
    count = counted(len(search.considered), "shape")
    yield "", f"{_head(search)}; {count} looked at for {_WORDS[search.preference]}"
    ways: dict[str, list[Candidate]] = {}
    for one in search.considered:
        if one.lost:
            ways.setdefault(one.lost, []).append(one)
    for lost, those in ways.items():
        for one in those if wide else those[:1]:
            more = "" if wide or not those[1:] else f" (and {len(those) - 1} more)"
            yield "  not", f"{one.parallelism.written} {lost}: {one.why}{more}"


def _head(search: Search) -> str:
    if search.chosen is None:
        nearest = "" if search.declared else ", this one comes nearest"
        return f"no shape holds the load{nearest}"
    if search.declared is None:
        return "chosen, not pinned"
    if search.declared == search.chosen.parallelism:
        return "as `auto` would choose"
    return f"`auto` would choose {search.chosen.parallelism.written}"


def record(search: Search) -> dict[str, Any]:
    """For machines."""
    return {
        "preference": search.preference,
        "chosen": None if search.chosen is None else _split(search.chosen),
        "unsearchable": search.unsearchable or None,
        "considered": [_considered(one) for one in search.considered],
    }


def _considered(one: Candidate) -> dict[str, Any]:
    memory = one.memory
    known = {
        **_split(one),
        "gpusPerGroup": one.shape.gpus,
        "podsPerGroup": one.shape.size,
        "verdict": memory and memory.verdict,
        "requests": memory and str(memory.requests),
        "shortBytes": memory and int(memory.short),
        "lost": one.lost or None,
        "why": one.why or None,
    }
    return {key: value for key, value in known.items() if value is not None}


def _split(one: Candidate) -> dict[str, Any]:
    return one.parallelism.model_dump(by_alias=True)
