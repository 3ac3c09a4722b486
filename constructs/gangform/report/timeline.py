"""A rollout over time: GPUs that it asks for against what is granted or kept, and the groups that serve meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import NamedTuple

from markupsafe import Markup

from gangform.findings import counted
from gangform.plan.serving import ServingPlan
from gangform.report.drawing import Numbers, box, line, picture, words
from gangform.units import Seconds

_TOP, _HIGH, _BETWEEN, _LOW, _FOOT = 18, 110, 30, 46, 22


_LABELLED = Fraction(1, 16)
"""Share of the width from which a step has room for its number."""


class Step(NamedTuple):
    """What stands from here to the next step."""

    at: Seconds
    bound: int
    """GPUs that its pods hold."""
    asked: int
    """GPUs that its pods hold or wait for."""
    serving: int
    """Groups that serve, at least."""


class Timeline(NamedTuple):
    """One rollout."""

    steps: tuple[Step, ...]
    end: Seconds
    """When it is over."""
    turns: int
    """Groups that are made or replaced, one after another."""
    wanted: int
    """Groups that should serve."""
    granted: int
    """GPUs of its part of the quota; without a queue, what is kept for it."""
    queued: bool
    """Whether a quota stands behind it."""


def timeline(plan: ServingPlan) -> Timeline:
    """The rollout of a serving from the plan's figures: the height holds all the time, and so does the floor.

    Nothing moves where no group is rolled, or where the strategy lets none move.
    """
    role, serving = plan.lead, plan.serving
    rollout, gpus = role.rollout, role.shape.gpus
    wanted, turn = serving.lowest_groups, int(role.launch.grace) + int(role.startup.cold_start)
    turns = int(rollout.duration) // turn if turn else 0
    # The plan's peak is that at an autoscaler's maximum; what is drawn is the rollout at its minimum.
    height = wanted + rollout.peak - serving.highest_groups
    granted = sum((demand.groups + demand.extra) * gpus for demand in plan.demands)
    steps = (
        Step(Seconds(0), height * gpus, height * gpus, rollout.floor if turns else wanted),
        Step(rollout.duration, wanted * gpus, wanted * gpus, wanted),
    )
    return Timeline(
        steps=steps if turns else steps[1:],
        end=rollout.duration,
        turns=turns,
        wanted=wanted,
        granted=granted,
        queued=serving.admission.queue is not None,
    )


class Drawn(NamedTuple):
    """A timeline for people."""

    picture: Markup
    words: str


def drawn(plan: ServingPlan, numbers: Numbers) -> Drawn:
    """The picture, and the same in words."""
    time = timeline(plan)
    span = max(1, int(time.end)) * Fraction(10, 9)
    words = _said(time)
    image = picture(
        numbers,
        title=f"Rollout of {plan.name} over time",
        description=words,
        height=_TOP + _HIGH + _BETWEEN + _LOW + _FOOT,
        children=[*_gpus(time, span), *_groups(time, span), *_axis(time, span)],
        kind="timeline",
    )
    return Drawn(image, words)


def _said(time: Timeline) -> str:
    if not time.turns:
        return "No group moves"
    height = max(step.asked for step in time.steps)
    floor = min(step.serving for step in time.steps)
    return (
        f"{counted(time.turns, 'group')} made or replaced in {time.end}; at most {height} GPUs of {time.granted} "
        f"{_granted(time)}; at least {floor} of {time.wanted} groups serve"
    )


def _granted(time: Timeline) -> str:
    return "in its part of the quota" if time.queued else "kept for it"


def _spans(time: Timeline, span: Fraction) -> Iterator[tuple[Step, Fraction, Fraction]]:
    """Each step with the share of the width where it begins and that it takes."""
    ends = [*(int(step.at) for step in time.steps[1:]), span]
    for step, end in zip(time.steps, ends, strict=True):
        yield step, Fraction(int(step.at)) / span, (end - int(step.at)) / span


def _gpus(time: Timeline, span: Fraction) -> Iterator[Markup]:
    top = max(1, time.granted, *(step.asked for step in time.steps))
    foot = _TOP + _HIGH
    for step, x, width in _spans(time, span):
        title = f"from {step.at}: {step.bound} GPUs held"
        title += f", {step.asked} asked for" if step.asked != step.bound else ""
        height = _HIGH * step.bound // top
        yield box("bound", x=x, y=foot - height, width=width, height=height, title=title)
        level = foot - _HIGH * step.asked // top
        yield line("asked", x1=x, y1=level, x2=x + width, y2=level)
        if width > _LABELLED:
            yield words(str(step.asked), x=x + width / 2, y=level + 14, anchor="middle")
    level = foot - _HIGH * time.granted // top
    yield line("granted", x1=0, y1=level, x2="100%", y2=level)
    yield words(f"{time.granted} GPUs {_granted(time)}", x=0, y=level - 5)
    yield line("base", x1=0, y1=foot, x2="100%", y2=foot)


def _groups(time: Timeline, span: Fraction) -> Iterator[Markup]:
    top = _TOP + _HIGH + _BETWEEN
    foot = top + _LOW
    most = max(1, time.wanted, *(step.serving for step in time.steps))
    yield words(f"groups that serve, of {time.wanted}", x=0, y=top - 6)
    for step, x, width in _spans(time, span):
        height = _LOW * step.serving // most
        title = f"from {step.at}: {step.serving} groups serve"
        yield box("serving", x=x, y=foot - height, width=width, height=height, title=title)
        yield line("serves", x1=x, y1=foot - height, x2=x + width, y2=foot - height)
        if width > _LABELLED:
            level = foot - max(height - 14, 4)
            yield words(str(step.serving), x=x + width / 2, y=level, anchor="middle")
    yield line("base", x1=0, y1=foot, x2="100%", y2=foot)


def _axis(time: Timeline, span: Fraction) -> Iterator[Markup]:
    foot = _TOP + _HIGH + _BETWEEN + _LOW
    yield words("0", x=0, y=foot + 15)
    for turn in _marks(time.turns):
        x = Fraction(int(time.end) * turn, max(1, time.turns)) / span
        yield line("turn", x1=x, y1=foot, x2=x, y2=foot + 4)
    yield words(str(time.end), x=int(time.end) / span, y=foot + 15, anchor="middle")


def _marks(turns: int) -> Sequence[int]:
    """The ends of turns; none where they would run into each other."""
    return range(1, turns + 1) if turns <= 40 else (turns,)
