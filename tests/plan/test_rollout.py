from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.policies import DEPLOYMENT, FREE, KUEUE, LONE, SET, policy

from gangform.admission.admission import Policy
from gangform.apis.set_rollout import Strategy
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Autoscaling, Parallelism, Rollout, Serving
from gangform.plan import rollout
from gangform.plan.rollout import RolloutPlan
from gangform.plan.serving import ServingPlan
from gangform.plan.simulation import World, simulate
from gangform.units import Seconds

MakeServing = Callable[..., Serving]
MakeCluster = Callable[..., Cluster]
MakePlan = Callable[..., ServingPlan]
Codes = Callable[[Iterable[Finding]], list[str]]
Roll = Callable[..., RolloutPlan]
Faults = Callable[..., list[Finding]]

AT = ("servings", "llm")


@pytest.fixture
def roll(make_serving: MakeServing) -> Roll:
    def plan(
        groups: int = 4, *, under: Policy = FREE, form: Any = SET, **asked: Any
    ) -> RolloutPlan:
        serving = make_serving(groups=groups, rollout=Rollout(**asked))
        return rollout.derive(
            serving,
            policy=under,
            form=form,
            replicas=serving.lowest_groups,
            highest=serving.highest_groups,
            teardown=Seconds(90),
            cold_start=Seconds(600),
        )

    return plan


# ── what is derived ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("under", "form", "asked", "pair"),
    [
        (FREE, SET, {}, (0, 1)),
        (FREE, SET, {"spare_groups": 1}, (1, 0)),
        (FREE, SET, {"spare_groups": 3}, (1, 0)),
        (KUEUE, SET, {}, (0, 1)),
        (KUEUE, SET, {"spare_groups": 1}, (0, 1)),
        (LONE, SET, {"spare_groups": 1}, (0, 1)),
        (policy(surges=False), SET, {"spare_groups": 1}, (0, 1)),
        (KUEUE, DEPLOYMENT, {}, (0, 1)),
        (KUEUE, DEPLOYMENT, {"spare_groups": 1}, (1, 0)),
        (LONE, DEPLOYMENT, {"spare_groups": 1}, (1, 0)),
        (FREE, SET, {"max_surge": 2}, (2, 0)),
        (FREE, SET, {"max_surge": 0}, (0, 1)),
        (FREE, SET, {"max_unavailable": 2}, (0, 2)),
        (FREE, SET, {"max_unavailable": 2, "spare_groups": 1}, (0, 2)),
        (FREE, SET, {"max_unavailable": 0, "spare_groups": 1}, (1, 0)),
        (FREE, SET, {"max_unavailable": 0}, (0, 0)),
        (FREE, SET, {"max_surge": 2, "max_unavailable": 1}, (2, 1)),
        (KUEUE, SET, {"max_surge": 1}, (1, 0)),
    ],
)
def test_surge_follows_a_spare_group_and_unavailable_follows_surge(
    roll: Roll, under: Policy, form: Any, asked: dict[str, int], pair: tuple[int, int]
) -> None:
    plan = roll(under=under, form=form, **asked)
    assert (plan.max_surge, plan.max_unavailable) == pair


@settings(deadline=None)
@given(spare=st.integers(0, 3), finishes=st.booleans())
def test_what_is_derived_always_moves(spare: int, finishes: bool) -> None:
    surge = rollout.max_surge(None, spare=spare, finishes=finishes, unavailable=None)
    unavailable = rollout.max_unavailable(None, surge=surge)
    assert surge + unavailable == 1
    assert finishes or not surge


@pytest.mark.parametrize(
    ("under", "asked", "reason"),
    [
        (FREE, {}, "no spare group is declared, so one group after another is replaced in place"),
        (
            FREE,
            {"spare_groups": 1},
            "a spare group is declared, so a new group comes up before an old one goes",
        ),
        (
            KUEUE,
            {"spare_groups": 1},
            "a spare group is declared, but under this backend a surge does not finish",
        ),
        (FREE, {"max_surge": 0}, "as declared"),
        (KUEUE, {"max_unavailable": 1}, "as declared"),
    ],
)
def test_the_numbers_come_with_their_reason(
    roll: Roll, under: Policy, asked: dict[str, int], reason: str
) -> None:
    assert roll(under=under, **asked).reason == reason


def test_capacity_beyond_the_wanted_groups_is_the_larger_of_surge_and_spare(roll: Roll) -> None:
    assert roll().extra == 0
    assert roll(spare_groups=2).extra == 2
    assert (roll(spare_groups=2).spare, roll(spare_groups=2).max_surge) == (2, 1)
    assert roll(max_surge=3, spare_groups=2).extra == 3
    assert roll(under=KUEUE, spare_groups=1).extra == 1


@pytest.mark.parametrize(
    ("canary", "partition"), [(None, 0), (0, 4), (1, 3), (3, 1), (4, 0), (9, 0)]
)
def test_a_canary_keeps_the_rest_below_the_partition(
    roll: Roll, canary: int | None, partition: int
) -> None:
    assert roll(canary_groups=canary).partition == partition


def test_a_rollout_takes_a_grace_and_a_cold_start_for_each_group(roll: Roll) -> None:
    assert roll(4).duration == 4 * 690
    assert roll(4, spare_groups=1).duration == 4 * 690 + 600
    assert roll(4, max_surge=2, max_unavailable=0).duration == 4 * 690 + 600
    assert roll(4, canary_groups=1).duration == 690
    assert roll(4, canary_groups=3).duration == 3 * 690
    assert roll(4, canary_groups=1, spare_groups=1).duration == 690 + 600
    assert roll(4, canary_groups=0).duration == 0
    assert rollout.duration(3, 0, Seconds(1), Seconds(10)) == 33
    assert rollout.duration(3, 2, Seconds(1), Seconds(10)) == 43


# ── peak and floor, against the controller's stepping ────────────────────────────────────────────


@settings(deadline=None, max_examples=150)
@given(
    replicas=st.integers(1, 7),
    surge=st.integers(0, 8),
    unavailable=st.integers(0, 8),
    partition=st.sampled_from([0, 0, 1, 3]),
    teardown=st.integers(0, 9),
    cold=st.integers(1, 9),
)
def test_the_closed_formulas_are_those_of_the_simulation(
    replicas: int, surge: int, unavailable: int, partition: int, teardown: int, cold: int
) -> None:
    if not surge and not unavailable:
        return
    played = simulate(
        Strategy(replicas, surge, unavailable, partition),
        World(size=2, grace=Seconds(0), worker_grace=Seconds(teardown), start=Seconds(cold)),
    )
    assert played is not None
    assert played.peak == rollout.peak(replicas, surge, unavailable)
    assert played.floor >= rollout.floor(replicas, unavailable)
    if unavailable < 2 and not partition:
        assert played.floor == rollout.floor(replicas, unavailable)
    made = rollout.peak(replicas, surge, unavailable) - replicas
    assert played.end == rollout.duration(
        rollout.replaced(replicas, partition), made, Seconds(teardown), Seconds(cold)
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "peak", "floor"),
    [
        (6, 0, 1, 6, 5),
        (6, 1, 0, 7, 6),
        (6, 1, 1, 7, 5),
        (6, 2, 1, 8, 5),
        (6, 2, 2, 8, 4),
        (4, 1, 1, 5, 3),
        (2, 1, 0, 3, 2),
        (2, 2, 1, 3, 1),
        (2, 2, 0, 4, 2),
        (1, 1, 0, 2, 1),
        (1, 1, 1, 1, 0),
        (1, 0, 1, 1, 0),
        (2, 0, 5, 2, 0),
    ],
)
def test_peak_and_floor_are_those_of_the_lab(
    replicas: int, surge: int, unavailable: int, peak: int, floor: int
) -> None:
    assert rollout.peak(replicas, surge, unavailable) == peak
    assert rollout.floor(replicas, unavailable) == floor


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "peak"),
    [(3, 1, 0, 4), (3, 0, 1, 3), (3, 1, 1, 4), (1, 1, 1, 2), (2, 5, 0, 4)],
)
def test_a_deployment_makes_at_most_as_many_again(
    replicas: int, surge: int, unavailable: int, peak: int
) -> None:
    assert rollout.peak(replicas, surge, unavailable, sets=False) == peak


def test_a_deployment_makes_each_replica_once(roll: Roll) -> None:
    once = Seconds(90) + Seconds(600)
    assert roll(3, form=DEPLOYMENT, max_surge=1, max_unavailable=0).duration == 3 * once
    assert roll(3, max_surge=1, max_unavailable=0).duration == 3 * once + Seconds(600)


def test_only_a_group_of_several_pods_holds_two_revisions() -> None:
    (said,) = rollout.remarks(SET, 2)
    assert "two revisions" in said
    assert [*rollout.remarks(SET, 1), *rollout.remarks(DEPLOYMENT, 1)] == []


def test_a_deployment_keeps_no_more_room_than_it_takes(roll: Roll) -> None:
    alone = roll(1, form=DEPLOYMENT, max_surge=3, max_unavailable=0)
    assert (alone.peak, alone.extra) == (2, 1)
    assert roll(1, form=DEPLOYMENT, max_surge=3, max_unavailable=0, spare_groups=2).extra == 2
    assert roll(1, max_surge=3, max_unavailable=0).extra == 3


def test_capacity_for_a_surge_is_that_of_the_autoscalers_maximum(make_plan: MakePlan) -> None:
    """Of one replica a Deployment makes one more, of four the two that are allowed."""
    plan = make_plan(
        parallelism=Parallelism(tensor=8),
        autoscaling=Autoscaling(min=1, max=4),
        rollout=Rollout(max_surge=2, max_unavailable=0),
    )
    found = plan.lead.rollout
    assert (found.peak, found.made, found.extra, found.idle) == (6, 2, 2, 0)


def test_the_peak_is_that_of_the_autoscalers_maximum_and_the_floor_of_its_minimum(
    make_plan: MakePlan,
) -> None:
    plan = make_plan(autoscaling=Autoscaling(min=2, max=6), rollout=Rollout(spare_groups=1))
    found = plan.lead.rollout
    assert (found.peak, found.floor) == (7, 2)
    cold = plan.lead.startup.cold_start
    assert found.duration == 2 * (plan.lead.launch.teardown + cold) + cold
