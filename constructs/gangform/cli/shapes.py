"""What `gangform plan` says about the search for a shape: why each of those that were looked at lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gangform.report.shapes import Way, asked, verdict, ways

if TYPE_CHECKING:
    from gangform.cli.table import Cells
    from gangform.plan.choice import Search
    from gangform.plan.preference import Candidate
    from gangform.plan.serving import ServingPlan


def rows(plan: ServingPlan, search: Search, *, wide: bool) -> Iterator[Cells]:
    """For people: one line for each way to lose, with the shape that came nearest; all of them where it is wide."""
    if search.unsearchable:
        yield "", verdict(search)
        return
    yield "", f"{verdict(search)}; {asked(plan, search)}"
    for way in (Way(one, 1) for one in search.considered if one.lost) if wide else ways(search):
        yield "  not", str(way)
    for left in search.left_out:
        yield "  left out", f"{left.what}: {left.why}"


def record(search: Search) -> dict[str, Any]:
    """For machines."""
    return {
        "preference": search.preference,
        "chosen": None if search.chosen is None else _split(search.chosen),
        "declared": None if search.own is None else _considered(search.own),
        "leftOut": [{"what": one.what, "why": one.why} for one in search.left_out],
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
