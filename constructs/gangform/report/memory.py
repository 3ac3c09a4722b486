"""The memory of one GPU of each pipeline stage, as a bar that is the whole GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from markupsafe import Markup

from gangform.plan.memory import MemoryPlan, Stage
from gangform.report.drawing import Numbers, box, line, picture, share
from gangform.units import Bytes

_HEIGHT, _TOP = 30, 4


class Piece(NamedTuple):
    """One part of a GPU."""

    kind: str
    """Its class."""
    name: str
    size: Bytes


class Bar(NamedTuple):
    """The stages that are alike."""

    title: str
    """`stages 0 to 2, 31 layers each`."""
    pieces: tuple[Piece, ...]
    short: Bytes
    """What weights and overhead take beyond the engine's share; 0 where nothing is short."""
    picture: Markup


def pieces(plan: MemoryPlan, stage: Stage) -> tuple[Piece, ...]:
    """Weights, overhead, cache, what the cache leaves, and what is not the engine's.

    The cache is as long on every stage as on the one that decides, so others have room that nothing uses. What stands
    beside weights and cache is overhead: the difference, also where the cache was measured.
    """
    available = max(0, int(stage.available))
    least = min(each.tokens or 0 for each in plan.stages)
    # Where no number of tokens is known, or none finds room, all that is left is the cache's.
    held = min(available, least * stage.cache_per_token or available)
    usable = int(plan.share)
    if plan.pinned_by:  # A fixed cache is taken whatever the share is.
        usable = int(stage.weights) + int(stage.overhead) + available
    overhead = max(0, usable - int(stage.weights) - int(stage.available))
    return (
        Piece("weights", "weights", stage.weights),
        Piece("overhead", "overhead", Bytes(overhead)),
        Piece("cache", "cache", Bytes(held)),
        Piece("free", "unused", Bytes(available - held)),
        Piece("outside", "outside the engine's share", Bytes(max(0, int(plan.visible) - usable))),
    )


def bars(plan: MemoryPlan, numbers: Numbers) -> tuple[Bar, ...]:
    """One bar for each run of stages that are alike."""
    return tuple(_bar(plan, first, stages, numbers) for first, stages in _alike(plan.stages))


def _alike(stages: Sequence[Stage]) -> Iterator[tuple[int, Sequence[Stage]]]:
    first = 0
    for _, group in groupby(stages):
        here = list(group)
        yield first, here
        first += len(here)


def _bar(plan: MemoryPlan, first: int, stages: Sequence[Stage], numbers: Numbers) -> Bar:
    stage, last = stages[0], first + len(stages) - 1
    parts = pieces(plan, stage)
    title = f"stage {first}" if last == first else f"stages {first} to {last}"
    each = " each" if last > first else ""
    layers = f", {stage.layers} layers{each}" if stage.layers else ""
    # Where weights and overhead alone go beyond the engine's share, the bar goes beyond the GPU.
    beyond = max(0, int(plan.crowded) if plan.pinned_by else -int(stage.available))
    whole = max(int(plan.visible), sum(int(piece.size) for piece in parts))
    figures = ", ".join(f"{piece.name} {piece.size.human()}" for piece in parts if piece.size)
    drawn: list[Markup] = [box("ground", x=0, y=_TOP, width="100%", height=_HEIGHT - 2 * _TOP)]
    at = 0
    for piece in parts:
        if piece.size > 0:
            drawn.append(
                box(
                    piece.kind,
                    x=share(at, whole),
                    y=_TOP,
                    width=share(int(piece.size), whole),
                    height=_HEIGHT - 2 * _TOP,
                    title=f"{piece.name}: {piece.size.human()}",
                )
            )
        at += int(piece.size)
    edge = share(int(plan.visible if plan.pinned_by else plan.share), whole)
    drawn.append(line("edge", x1=edge, y1=0, x2=edge, y2=_HEIGHT))
    return Bar(
        title=f"{title}{layers}",
        pieces=tuple(piece for piece in parts if piece.size),
        short=Bytes(beyond),
        picture=picture(
            numbers,
            title=f"Memory of a GPU of {title}",
            description=f"Of {plan.visible.human()}: {figures}"
            + (f"; {Bytes(beyond).human()} more than the engine may use" if beyond else ""),
            height=_HEIGHT,
            children=drawn,
            kind="bar",
        ),
    )
