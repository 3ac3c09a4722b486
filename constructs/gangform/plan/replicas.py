"""An update of what is no set of groups played through: replicas of a Deployment, or one set a group in waves."""

from __future__ import annotations

from typing import NamedTuple

from gangform.apis.deployment_rollout import lowered, raised
from gangform.plan.timeline import Moment, Rollout, Stall
from gangform.units import Seconds


class Replicas(NamedTuple):
    """A Deployment and what its update meets."""

    wanted: int
    surge: int
    unavailable: int
    room: int | None
    """Pods that find a place beyond those wanted; `None`: as many as are asked for."""
    grace: Seconds
    """From a pod's deletion to its end; it holds its place so long."""
    start: Seconds
    """From bound to ready."""


def replace(case: Replicas) -> Rollout:
    """Play an update whose replicas all serve. They have no index, so that there is no order."""
    old, now = case.wanted, 0
    new: list[int] = []
    """When each bound pod of the new revision found its place."""
    waiting = 0
    leaving: list[int] = []
    moments: list[Moment] = []
    end: Seconds | None = None
    while True:
        leaving = [until for until in leaving if until > now]
        busy = True
        while busy:
            ready = sum(now >= bound + case.start for bound in new)
            more = raised(case.wanted, surge=case.surge, old=old, new=len(new) + waiting)
            fewer = lowered(
                case.wanted, unavailable=case.unavailable, old=old, new=more, available=ready
            )
            waiting += more - len(new) - waiting
            if case.grace:
                leaving += [now + case.grace] * (old - fewer)
            free = waiting
            if case.room is not None:
                free = case.wanted + case.room - fewer - len(leaving) - len(new)
            found = max(0, min(waiting, free))
            new += [now] * found
            busy = fewer != old or found > 0
            old, waiting = fewer, waiting - found
        ready = sum(now >= bound + case.start for bound in new)
        held = old + len(leaving) + len(new)
        moment = Moment(
            Seconds(now), held, held + waiting, old + len(new) + waiting, old + ready, 0, 0, 0
        )
        if not moments or moment[1:] != moments[-1][1:]:
            moments.append(moment)
        if end is None and not old and ready == case.wanted:
            end = Seconds(now)
        times = [*leaving, *(bound + case.start for bound in new)]
        later = min((time for time in times if time > now), default=None)
        if later is None:
            break
        now = later
    stall = None
    if end is None:
        stall = Stall("room" if waiting else "strategy", (), 0, waiting)
    return Rollout(tuple(moments), (), end, stall, made=len(new) + waiting)


def in_waves(one: Rollout, sets: int, *, staged: bool) -> Rollout:
    """An update of as many sets of one group: one after another is ready again, or all at once."""
    size = one.moments[-1].requested
    if not staged or one.end is None:
        moments = [
            Moment(moment.at, *(sets * figure for figure in moment[1:])) for moment in one.moments
        ]
        end = one.end
    else:
        others = (size, size, 1, 1, 0, 0, 0)
        moments, end = [], Seconds(sets * one.end)
        for turn in range(sets):
            for moment in one.moments[turn > 0 :]:
                figures = (
                    own + (sets - 1) * other for own, other in zip(moment[1:], others, strict=True)
                )
                moments.append(Moment(Seconds(turn * one.end + moment.at), *figures))
    return Rollout(tuple(moments), tuple(range(sets)), end, one.stall)
