"""The rollout of a Deployment, held against its controller written down pod by pod and second by second."""

from __future__ import annotations

import random

import pytest

from gangform.plan.replicas import Replicas, in_waves, replace
from gangform.plan.timeline import Moment, Rollout
from gangform.units import Seconds

START, GRACE = Seconds(7), Seconds(3)


class Pod:
    def __init__(self, new: bool, bound: int | None) -> None:
        self.new, self.bound = new, bound
        self.ends: int | None = None


def play(case: Replicas) -> list[tuple[int, int, int]]:
    """Serving, bound and requested pods of each second, until nothing moves any more."""
    pods = [Pod(False, -case.start) for _ in range(case.wanted)]
    least = case.wanted - min(case.unavailable, case.wanted)
    seen = []
    for now in range(case.wanted * (case.start + case.grace) + 20):
        pods = [pod for pod in pods if pod.ends is None or pod.ends > now]
        while True:
            live = [pod for pod in pods if pod.ends is None]
            old, new = [p for p in live if not p.new], [p for p in live if p.new]
            ready = [p for p in live if p.bound is not None and now >= p.bound + case.start]
            room = case.wanted + case.surge - len(live)
            more = max(0, min(room, case.wanted - len(new)))
            if more:
                pods += [Pod(True, None) for _ in range(more)]
                continue
            down = len(live) - least - sum(pod not in ready for pod in new)
            fewer = max(0, min(len(old), len(ready) - least)) if down > 0 else 0
            for pod in old[:fewer]:
                pod.ends = now + case.grace
            held = [p for p in pods if p.bound is not None and (p.ends is None or p.ends > now)]
            places = None if case.room is None else case.wanted + case.room - len(held)
            waiting = [pod for pod in new if pod.bound is None][:places]
            for pod in waiting:
                pod.bound = now
            if not fewer and not waiting:
                break
        here = [pod for pod in pods if pod.ends is None or pod.ends > now]
        seen.append((len(ready), sum(pod.bound is not None for pod in here), len(here)))
    return seen


def at(rollout: Rollout, second: int) -> Moment:
    return [moment for moment in rollout.moments if moment.at <= second][-1]


@pytest.mark.parametrize("seed", range(20))
def test_every_second_is_that_of_the_controller(seed: int) -> None:
    draw = random.Random(seed)
    for _ in range(40):
        case = Replicas(
            draw.randint(1, 6),
            draw.randint(0, 6),
            draw.randint(0, 7),
            draw.choice((None, 0, 1, 2, 5)),
            draw.choice((GRACE, Seconds(0), Seconds(12))),
            START,
        )
        found, seen = replace(case), play(case)
        for second, expected in enumerate(seen):
            moment = at(found, second)
            assert (moment.serving, moment.bound, moment.requested) == expected, (case, second)
        assert (found.end is None) == (found.stall is not None)
        assert found.floor >= case.wanted - min(case.unavailable, case.wanted)
        most = case.wanted + min(case.surge, case.wanted)
        assert found.peak == most if not case.unavailable else found.peak <= most


@pytest.mark.parametrize(
    ("surge", "unavailable", "room", "stall"),
    [
        (1, 0, 0, ("room", (), 0, 1)),
        (0, 0, 0, ("strategy", (), 0, 0)),
        (1, 0, 1, None),
        (0, 1, 0, None),
    ],
)
def test_it_stands_still_only_where_nothing_may_go_first(
    surge: int, unavailable: int, room: int, stall: tuple[object, ...] | None
) -> None:
    assert replace(Replicas(3, surge, unavailable, room, GRACE, START)).stall == stall


def test_waves_add_up() -> None:
    one = Rollout(
        (Moment(Seconds(0), 2, 2, 1, 0, 0, 0, 0), Moment(Seconds(9), 2, 2, 1, 1, 0, 0, 0)),
        (0,),
        Seconds(9),
        None,
    )
    staged, together = in_waves(one, 3, staged=True), in_waves(one, 3, staged=False)
    assert [(m.at, m.serving, m.bound) for m in staged.moments] == [
        (0, 2, 6), (9, 3, 6), (18, 3, 6), (27, 3, 6),
    ]  # fmt: skip
    assert [(m.at, m.serving) for m in together.moments] == [(0, 0), (9, 3)]
    assert (staged.end, together.end) == (27, 9)
