from __future__ import annotations

import random

import pytest
from tests.plan import toy_model
from tests.plan.controllers import Case, least_serving, play

from gangform.apis.set_rollout import Strategy
from gangform.plan import capacity
from gangform.plan.simulation import MOST_GROUPS, World, simulate
from gangform.plan.timeline import Rollout
from gangform.units import Seconds


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


@pytest.mark.parametrize(
    "tenth", [0, *(pytest.param(tenth, marks=pytest.mark.thorough) for tenth in range(1, 10))]
)
def test_the_simulation_equals_a_brute_force_model_of_the_controllers(tenth: int) -> None:
    """10,000 random cases: every figure at every second, the order, the end."""
    for number in range(tenth * 1000, (tenth + 1) * 1000):
        agree(drawn(number))


# ── what the lab recorded ────────────────────────────────────────────────────────────────────────

LAB = World(
    size=4,
    whole=False,
    grace=Seconds(5),
    worker_grace=Seconds(5),
    back_off=Seconds(2),
    start=Seconds(17),
)
"""Tenths of a second of the lab: a leader is ready by itself 1.7 s after it has a node, and gone after 0.5 s."""
KUEUE = LAB._replace(gang=True, reserved=True, drops_surge=True)


def update(pair: tuple[int, int, int], world: World, *, partition: int = 0) -> Rollout:
    found = simulate(Strategy(*pair, partition), world)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("pair", "gpus", "groups", "floor", "order"),
    [
        ((6, 1, 0), 224, 7, 6, (6, 5, 4, 3, 2, 1, 0)),
        ((6, 0, 1), 192, 6, 5, (5, 4, 3, 2, 1, 0)),
        ((6, 1, 1), 224, 7, 5, (6, 5, 4, 3, 2, 1, 0)),
        ((6, 2, 1), 256, 8, 5, (6, 7, 5, 4, 3, 2, 1, 0)),
        ((6, 2, 0), 256, 8, 6, (6, 7, 5, 4, 3, 2, 1, 0)),
        ((6, 0, 2), 192, 6, 4, (5, 4, 3, 2, 1, 0)),
        ((6, 2, 2), 256, 8, 4, (6, 7, 5, 4, 3, 2, 1, 0)),
        ((1, 1, 0), 64, 2, 1, (1, 0)),
        ((1, 1, 1), 32, 1, 0, (0,)),
    ],
)
def test_an_update_goes_as_it_went_in_the_lab(
    pair: tuple[int, int, int], gpus: int, groups: int, floor: int, order: tuple[int, ...]
) -> None:
    """`lab E2`, every column but the seconds."""
    found = update(pair, LAB)
    assert (found.bound * 8, found.requested * 8) == (gpus, gpus)
    assert (found.peak, found.floor, found.order) == (groups, floor, order)
    assert found.overlapping == 1
    assert (found.stall, found.steps) == (None, groups)


@pytest.mark.parametrize("pair", [(6, 1, 1), (6, 2, 1), (6, 2, 2), (6, 0, 2), (6, 2, 0)])
def test_with_the_gate_two_groups_go_at_a_time(pair: tuple[int, int, int]) -> None:
    """`lab E2`: the same peaks and floors, in less time."""
    slow, fast = update(pair, LAB), update(pair, LAB._replace(gate=True))
    assert (fast.peak, fast.floor) == (slow.peak, slow.floor)
    assert fast.end is not None
    assert slow.end is not None
    assert fast.end < slow.end


def test_one_node_short_the_surge_group_holds_what_it_got() -> None:
    """`lab E2`: 216 GPUs bound, 224 asked for, six groups serve on; article A's case 4 without a gang."""
    found = update((6, 1, 0), LAB._replace(room=3))
    assert (found.bound * 8, found.requested * 8, found.floor) == (216, 224, 6)
    assert found.stall == ("room", (6,), 3, 1)
    assert found.moments[-1].hollow == 1
    assert found.order == (6,)
    assert update((6, 1, 0), LAB._replace(room=4)).stall is None


@pytest.mark.parametrize(
    ("pair", "quota", "ends", "floor"),
    [
        ((6, 0, 1), 6, True, 5),
        ((6, 2, 2), 8, True, 4),
        ((6, 2, 1), 8, True, 5),
        ((6, 1, 0), 7, False, 5),
        ((2, 1, 0), 3, False, 1),
        ((3, 1, 0), 4, False, 2),
        ((1, 1, 0), 2, False, 1),
        ((1, 1, 1), 2, True, 0),
        ((6, 1, 0), 6, False, 6),
    ],
)
def test_under_kueue_an_update_ends_or_not_as_in_the_lab(
    pair: tuple[int, int, int], quota: int, ends: bool, floor: int
) -> None:
    """`lab E4`, E10. With R = 3 the floor was not noted; it is that of the end, which was."""
    found = update(pair, KUEUE._replace(room=(quota - pair[0]) * 4))
    assert (found.end is not None, found.floor) == (ends, floor)


def test_under_kueue_the_last_old_group_waits_for_a_surge_group_that_lost_its_place() -> None:
    """`lab E4`: groups 1 to 5 new, 0 old, 6 gated without a Workload; 192 GPUs bound."""
    found = update((6, 1, 0), KUEUE)
    assert found.stall == ("admission", (6,), 0, 4)
    assert found.order == (6, 5, 4, 3, 2, 1)
    assert (found.moments[-1].bound * 8, found.moments[-1].serving) == (192, 6)
    assert update((6, 1, 0), KUEUE._replace(room=0)).stall == ("room", (6,), 0, 4)


@pytest.mark.parametrize(
    ("whole", "gate", "floor"), [(True, False, 5), (False, False, 4), (True, True, 4)]
)
def test_under_kueue_one_and_one_falls_below_the_promise_by_readiness_or_by_the_gate(
    whole: bool, gate: bool, floor: int
) -> None:
    """`lab E4` and E10 saw 4 of 6 where 5 are promised: there a leader is ready before its workers exist, and its
    StatefulSet goes on to the next while Kueue takes the surge group away. Readiness that means the whole group keeps
    5, unless the gate MaxUnavailableStatefulSet lets two leaders go at once."""
    slow = KUEUE._replace(worker_grace=Seconds(5), back_off=Seconds(20), whole=whole, gate=gate)
    found = update((6, 1, 1), slow)
    assert (found.end is not None, found.floor) == (True, floor)


def test_a_new_leader_answers_beside_old_workers_unless_it_answers_for_all() -> None:
    """`lab E2`, workers that take six seconds to end: ready at 2.5, new workers at 11.5."""
    slow = LAB._replace(worker_grace=Seconds(60), back_off=Seconds(47))
    alone, whole = update((6, 1, 0), slow), update((6, 1, 0), slow._replace(whole=True))
    assert (alone.mixed, whole.mixed) == (1, 0)
    assert (alone.overlapping, whole.overlapping) == (1, 1)
    first = next(moment for moment in alone.moments if moment.mixed)
    last = next(moment for moment in alone.moments if moment.hollow)
    assert (last.at - first.at) == 60 - 17
    assert (whole.floor, alone.floor) == (6, 6)


def test_a_canary_keeps_the_groups_below_and_its_surge_groups() -> None:
    found = update((6, 1, 0), LAB, partition=3)
    assert found.order == (6, 5, 4, 3)
    assert found.stall is None
    assert found.moments[-1].groups == 7


def test_an_update_that_may_neither_add_nor_take_stands_still() -> None:
    found = update((4, 0, 0), LAB)
    assert found.stall == ("strategy", (), 0, 0)
    assert (found.order, found.floor) == ((), 4)


def test_a_surge_group_without_a_node_stops_an_update_that_may_take_groups_down() -> None:
    """Without the gate no leader goes while one above it in line is not available, whatever maxUnavailable says."""
    short = LAB._replace(room=0, gang=True)
    assert update((6, 1, 1), short).stall == ("room", (6,), 0, 4)
    assert update((6, 1, 1), short._replace(gate=True)).stall is None
    assert update((6, 0, 1), short).stall is None


def test_nobody_reads_the_steps_of_hundreds_of_groups() -> None:
    assert simulate(Strategy(MOST_GROUPS, 1, 0), LAB) is None
    assert simulate(Strategy(0, 1, 0), LAB) is None
    assert update((MOST_GROUPS - 1, 1, 0), LAB._replace(whole=True)).steps == MOST_GROUPS


@pytest.mark.parametrize(
    ("case", "dips"),
    [((4, 3, 2), 1), ((6, 5, 3), 1), ((6, 4, 4), 0), ((6, 3, 0), 0)],
)
def test_only_the_gate_and_uneven_starts_take_more_groups_than_promised(
    case: tuple[int, int, int], dips: int
) -> None:
    """Surge groups go while others are down. Without the gate leaders go one by one, which hides it."""
    replicas, _, unavailable = case
    shape = Case(*case, 0, 1, None, False, False, False, True, True, 0, 0, 0, 1)
    promised = replicas - unavailable
    assert min(least_serving(shape, seed) for seed in range(60)) == promised - dips
    slow = shape._replace(gate=False)
    assert min(least_serving(slow, seed) for seed in range(60)) >= promised


# ── article A ────────────────────────────────────────────────────────────────────────────────────

GANG = World(size=4, gang=True, grace=Seconds(90), worker_grace=Seconds(9), start=Seconds(600))


def test_article_a_counts_a_fleet_in_pods_and_in_gpus() -> None:
    """Case 0: 4 pods a group, 32 GPUs, 192 in all."""
    steady = update((6, 0, 1), GANG).moments[0]
    assert (GANG.size, GANG.size * 8) == (4, 32)
    assert update((6, 1, 0), GANG._replace(room=0)).bound * 8 == steady.bound * 8 == 192


def test_article_a_surges_by_a_whole_group() -> None:
    """Case 1: peak 224, no group serves mixed, nothing stalls."""
    found = update((6, 1, 0), GANG._replace(room=4))
    assert (found.bound * 8, found.mixed, found.stall) == (224, 0, None)
    assert toy_model.by_groups(6, 4, 8, spare=32) == (224, 0, False)


def test_article_a_finds_mixed_groups_where_pods_are_replaced_one_by_one() -> None:
    """Case 2, by the toy model: peak 200, 18 looks found two revisions."""
    assert toy_model.by_pods(6, 4, 8, spare=8) == (200, 18, False)


def test_article_a_says_by_how_much_pods_understate_the_room() -> None:
    """Case 3: four times, the pods of a group."""
    found = update((6, 1, 0), GANG._replace(room=4))
    pods = toy_model.by_pods(6, 4, 8, spare=8)
    assert (found.bound * 8 - 192) // (pods.peak - 192) == 4


@pytest.mark.parametrize("spare", range(4))
def test_article_a_needs_a_whole_group_or_stands_still_with_the_fleet_intact(spare: int) -> None:
    """Case 4: every room short of 32 GPUs gives the same."""
    found = update((6, 1, 0), GANG._replace(room=spare))
    assert found.stall == ("room", (6,), 0, 4)
    assert (found.bound * 8, found.mixed, found.floor) == (192, 0, 6)
    assert toy_model.by_groups(6, 4, 8, spare=spare * 8) == (192, 0, True)


def test_article_a_holds_over_its_120_shapes() -> None:
    """Case 5: whole groups never mix, pods always do once a group has several."""
    shapes = 0
    for groups in range(1, 7):
        for pods in (1, 2, 4, 8, 16):
            found = update((groups, 1, 0), GANG._replace(size=pods, room=pods))
            assert (found.mixed, found.stall) == (0, None)
            assert found.bound == (groups + 1) * pods
            for gpus in (1, 2, 4, 8):
                shapes += 1
                whole = toy_model.by_groups(groups, pods, gpus, spare=pods * gpus)
                assert whole == (found.bound * gpus, 0, False)
                assert toy_model.by_pods(groups, pods, gpus, spare=gpus).mixed == groups * (
                    pods - 1
                )
    assert shapes == 120


def test_article_a_adds_up_what_a_pool_needs() -> None:
    """Cases 6 and 7: 224 or 256; a rack of two groups makes it 256."""
    assert (capacity.floor(192, 32, 32), capacity.additive(192, 32, 32)) == (224, 256)
    assert capacity.floor(192, 64, 32) == 256
