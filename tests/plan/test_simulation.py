from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.apis.set_rollout import Strategy
from gangform.plan.simulation import MOST_GROUPS, Rollout, World, simulate
from gangform.units import Seconds
from tests.plan.controllers import Case, play


def played(case: Case) -> Rollout:
    found = simulate(
        Strategy(case.replicas, case.surge, case.unavailable, case.partition),
        World(
            size=case.size,
            room=case.room,
            gang=case.gang,
            reserved=case.reserved,
            drops_surge=case.drops,
            whole=case.whole,
            gate=case.gate,
            grace=Seconds(case.grace),
            worker_grace=Seconds(case.worker_grace),
            back_off=Seconds(case.back_off),
            start=Seconds(case.start),
        ),
    )
    assert found is not None
    return found


def agree(case: Case) -> None:
    found = played(case)
    seen, order, end = play(case)
    moments = list(found.moments)
    now = moments.pop(0)
    for second, expected in enumerate(seen):
        if moments and moments[0].at == second:
            now = moments.pop(0)
        assert now[1:] == expected, (case, second)
    assert moments == []
    assert (list(found.order), found.end) == (order, end), case
    assert (found.stall is None) == (end is not None)


def drawn(number: int) -> Case:
    draw = random.Random(number)
    replicas = draw.choice([1, 2, 2, 3, 3, 4, 5])
    size = draw.choice([1, 2, 2, 3])
    gang = draw.random() < 0.5
    reserved = gang and draw.random() < 0.5
    return Case(
        replicas=replicas,
        surge=draw.randint(0, 5),
        unavailable=draw.randint(0, 4),
        partition=draw.choice([0, 0, 0, draw.randint(0, 6)]),
        size=size,
        room=draw.choice([None, draw.randint(0, 3 * size)]),
        gang=gang,
        reserved=reserved,
        drops=reserved and draw.random() < 0.7,
        whole=draw.random() < 0.5,
        gate=draw.random() < 0.4,
        grace=draw.randint(0, 2),
        worker_grace=draw.randint(0, 2),
        back_off=draw.randint(0, 1),
        start=draw.randint(1, 3),
    )


@pytest.mark.parametrize("tenth", range(10))
def test_the_simulation_equals_a_brute_force_model_of_the_controllers(tenth: int) -> None:
    """10,000 random cases: every figure at every second, the order, the end."""
    for number in range(tenth * 1000, (tenth + 1) * 1000):
        agree(drawn(number))
