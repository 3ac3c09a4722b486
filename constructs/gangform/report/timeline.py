"""A rollout over time: GPUs that it asks for against what is granted or kept, and the groups that serve meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

from markupsafe import Markup

from gangform.findings import counted
from gangform.plan.cluster import ClusterPlan
from gangform.plan.rehearsal import rehearse
from gangform.plan.serving import ServingPlan
from gangform.report.drawing import Key, Numbers, box, line, picture, words
from gangform.report.stalls import STALLS
from gangform.units import Seconds

_TOP, _HIGH, _BETWEEN, _LOW, _FOOT = 18, 110, 30, 46, 22


_LABELLED = Fraction(1, 16)
"""Share of the width from which a step has room for its number."""
_LEGEND = (
    Key("bound", "GPUs held; the line shows what is asked for"),
    Key("serving", "groups that serve"),
)
_MARKED = 60
"""Marks that the axis has room for."""


class Step(NamedTuple):
    """What stands from here to the next step."""

    at: Seconds
    bound: int
    """GPUs that its pods hold."""
    asked: int
    """GPUs that its pods hold or wait for."""
    serving: int
    """Groups that serve."""


class Timeline(NamedTuple):
    """One rollout."""

    steps: tuple[Step, ...]
    end: Seconds | None
    """When it is over; `None` where it stands still."""
    made: int
    """Groups that are made or replaced."""
    marks: tuple[Seconds, ...]
    """Times that the axis marks."""
    wanted: int
    """Groups that should serve."""
    granted: int
    """GPUs of its part of the quota; without a queue, of all its groups, surge and spare included."""
    queued: bool
    """Whether a quota stands behind it."""
    torn: int
    """Groups whose pods are of two revisions, at the height; 0 where that is not known."""
    note: str
    """Why it stands still, or what the picture does not show."""


def timeline(plan: ServingPlan, cluster: ClusterPlan) -> Timeline:
    """The rollout as it is played through; of what cannot be played, the plan's figures."""
    found = rehearse(plan, cluster.cluster, cluster.pool(plan.serving.pool))
    rollout = found.play()
    if rollout is None:
        return _figures(plan, found.unplayed)
    gpus = plan.lead.shape.gpus_per_pod
    steps = tuple(
        Step(one.at, one.bound * gpus, one.requested * gpus, one.serving) for one in rollout.moments
    )
    note = ""
    if rollout.stall is not None:
        stall = rollout.stall
        note = f"Then it stands still: {STALLS[stall.cause]}"
        if stall.groups:
            note += f". Groups that wait: {', '.join(map(str, stall.groups))}"
        if stall.short:
            note += f", {stall.short * gpus} GPUs short"
    return Timeline(
        steps=steps,
        end=rollout.end,
        made=rollout.steps,
        marks=tuple(one.at for one in steps[1:]),
        wanted=plan.serving.lowest_groups,
        granted=_part(plan),
        queued=plan.serving.admission.queue is not None,
        torn=rollout.overlapping,
        note=note,
    )


def _figures(plan: ServingPlan, why: str) -> Timeline:
    """Two steps: the height and the least hold until it is over. Nothing moves where a canary holds all groups."""
    role, serving = plan.lead, plan.serving
    rollout, gpus = role.rollout, role.shape.gpus
    wanted, lasts = serving.lowest_groups, rollout.duration
    # The plan's peak is that at an autoscaler's maximum; what is drawn is the rollout at its minimum.
    height = (wanted + max(0, rollout.peak - serving.highest_groups)) * gpus
    after = Step(lasts, wanted * gpus, wanted * gpus, wanted)
    return Timeline(
        steps=(Step(Seconds(0), height, height, rollout.floor), after) if lasts else (after,),
        end=lasts,
        made=wanted if lasts else 0,
        marks=(lasts,),
        wanted=wanted,
        granted=_part(plan),
        queued=serving.admission.queue is not None,
        torn=0,
        note=f"Drawn are the most and the least of the plan, not every moment: {why}",
    )


def _part(plan: ServingPlan) -> int:
    return sum((demand.groups + demand.extra) * plan.lead.shape.gpus for demand in plan.demands)


class Drawn(NamedTuple):
    """A timeline for people."""

    picture: Markup
    legend: tuple[Key, ...]
    words: str


def drawn(plan: ServingPlan, cluster: ClusterPlan, numbers: Numbers) -> Drawn:
    """The picture, and the same in words."""
    time = timeline(plan, cluster)
    span = max(1, *(int(at) for at in (*time.marks, time.end or 0))) * Fraction(10, 9)
    said = _said(time)
    image = picture(
        numbers,
        title=f"Rollout of {plan.name} over time",
        description=said,
        height=_TOP + _HIGH + _BETWEEN + _LOW + _FOOT,
        children=[*_gpus(time, span), *_groups(time, span), *_axis(time, span)],
        kind="timeline",
    )
    return Drawn(image, _LEGEND, said)


def _said(time: Timeline) -> str:
    height = max(step.asked for step in time.steps)
    floor = min(step.serving for step in time.steps)
    groups = f"{counted(time.made, 'group')} made or replaced"
    lasts = f" in {time.end}" if time.end is not None else ""
    most = f"at most {counted(height, 'GPU')} asked for, of {time.granted} {_granted(time)}"
    least = f"at least {floor} of {counted(time.wanted, 'group')} serve"
    torn = (
        f"; {counted(time.torn, 'group')} at most with pods of two revisions" if time.torn else ""
    )
    note = f". {time.note}" if time.note else ""
    return f"{groups}{lasts}; {most}; {least}{torn}{note}"


def _granted(time: Timeline) -> str:
    return "in its part of the quota" if time.queued else "planned for it"


def _spans(time: Timeline, span: Fraction) -> Iterator[tuple[Step, Fraction, Fraction]]:
    """Each step with the share of the width where it begins and that it takes."""
    ends = [*(Fraction(int(step.at)) for step in time.steps[1:]), span]
    for step, end in zip(time.steps, ends, strict=True):
        begin = Fraction(int(step.at))
        yield step, begin / span, (end - begin) / span


def _gpus(time: Timeline, span: Fraction) -> Iterator[Markup]:
    top = max(1, time.granted, *(step.asked for step in time.steps))
    foot = _TOP + _HIGH
    said = -1
    for step, x, width in _spans(time, span):
        title = f"from {step.at}: {counted(step.bound, 'GPU')} held"
        title += f", {step.asked} asked for" if step.asked != step.bound else ""
        height = _HIGH * step.bound // top
        yield box("bound", x=x, y=foot - height, width=width, height=height, title=title)
        level = foot - _HIGH * step.asked // top
        yield line("asked", x1=x, y1=level, x2=x + width, y2=level)
        if width > _LABELLED and step.asked != said:
            said = step.asked
            yield words(str(said), x=x + width / 2, y=level + 14, anchor="middle")
    level = foot - _HIGH * time.granted // top
    yield line("granted", x1=0, y1=level, x2="100%", y2=level)
    yield words(f"{counted(time.granted, 'GPU')} {_granted(time)}", x=0, y=level - 5)
    yield line("base", x1=0, y1=foot, x2="100%", y2=foot)


def _groups(time: Timeline, span: Fraction) -> Iterator[Markup]:
    top = _TOP + _HIGH + _BETWEEN
    foot = top + _LOW
    most = max(1, time.wanted, *(step.serving for step in time.steps))
    said = -1
    yield words(f"groups that serve, of {time.wanted}", x=0, y=top - 6)
    for step, x, width in _spans(time, span):
        height = _LOW * step.serving // most
        title = f"from {step.at}: {step.serving} of {counted(time.wanted, 'group')} serve"
        yield box("serving", x=x, y=foot - height, width=width, height=height, title=title)
        yield line("serves", x1=x, y1=foot - height, x2=x + width, y2=foot - height)
        if width > _LABELLED and step.serving != said:
            said = step.serving
            level = foot - max(height - 14, 4)
            yield words(str(said), x=x + width / 2, y=level, anchor="middle")
    yield line("base", x1=0, y1=foot, x2="100%", y2=foot)


def _axis(time: Timeline, span: Fraction) -> Iterator[Markup]:
    foot = _TOP + _HIGH + _BETWEEN + _LOW
    yield words("0", x=0, y=foot + 15)
    for mark in time.marks if len(time.marks) <= _MARKED else time.marks[-1:]:
        x = Fraction(int(mark)) / span
        yield line("mark", x1=x, y1=foot, x2=x, y2=foot + 4)
    if time.end is None:
        yield words("stands still", x="100%", y=foot + 15, anchor="end")
    elif time.end:
        yield words(str(time.end), x=Fraction(int(time.end)) / span, y=foot + 15, anchor="middle")
