from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.engines.vllm import Vllm
from gangform.inputs.defaults import defaults
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Parallelism, Serving, Weights
from gangform.plan import startup
from gangform.plan.serving import ServingPlan
from gangform.plan.startup import StartupPlan
from gangform.units import Bytes, BytesPerSecond, Seconds

MakeServing = Callable[..., Serving]
MakeHardware = Callable[..., HardwareShape]
MakeModel = Callable[..., ModelProfile]
Start = Callable[..., StartupPlan]

TWO, FOUR = BytesPerSecond(2 * 2**30), BytesPerSecond(4 * 2**30)


@pytest.fixture
def start(make_serving: MakeServing, make_hardware: MakeHardware, make_model: MakeModel) -> Start:
    def plan(
        checkpoint: int = 800, node: dict[str, Any] | None = None, **asked: Any
    ) -> StartupPlan:
        return startup.derive(
            make_serving(**asked),
            make_model(checkpoint=Bytes.gib(checkpoint)),
            make_hardware(**(node or {})),
            defaults(1),
        )

    return plan


def test_without_any_bandwidth_one_gib_a_second_is_assumed(start: Start) -> None:
    plan = start(800)
    assert (plan.basis, plan.declared, plan.bandwidth) == ("assumed", False, 2**30)
    assert plan.read == Bytes.gib(800)
    assert (plan.load, plan.cold_start, plan.worst) == (800, 1040, 1560)


def test_the_budget_of_an_assumed_bandwidth_is_45_minutes_at_least(start: Start) -> None:
    assert start(100).budget == Seconds.parse("45m")
    assert start(800).budget == 2700
    assert start(3000).budget == (3000 + 240) * 3 // 2


def test_the_budget_of_a_declared_bandwidth_is_10_minutes_at_least(start: Start) -> None:
    weights = Weights(read_bandwidth=TWO)
    assert start(100, weights=weights).budget == 600
    assert start(800, weights=weights).budget == (400 + 240) * 3 // 2
    assert start(100, weights=weights).declared


def test_a_budget_is_never_capped(start: Start) -> None:
    assert start(10**6).budget == (10**6 + 240) * 3 // 2


def test_the_servings_bandwidth_wins_over_the_hardwares(start: Start) -> None:
    node = {"read_bandwidth": TWO}
    assert (start(800, node).bandwidth, start(800, node).basis) == (TWO, "declared")
    both = start(800, node, weights=Weights(read_bandwidth=FOUR))
    assert (both.bandwidth, both.load) == (FOUR, 200)


def test_a_measured_cold_start_wins_over_the_reckoned_one(start: Start) -> None:
    plan = start(800, cold_start=Seconds(500))
    assert (plan.basis, plan.declared) == ("measured", True)
    assert (plan.load, plan.cold_start, plan.worst, plan.budget) == (800, 500, 750, 750)
    assert start(800, cold_start=Seconds(100)).budget == 600


def test_the_worst_cold_start_is_no_floor(start: Start) -> None:
    plan = start(100)
    assert plan.worst == (100 + 240) * 3 // 2 == 510
    assert plan.worst < plan.budget


def test_a_deployment_counts_as_stuck_after_the_probe_gave_up(start: Start) -> None:
    plan = start(100)
    assert plan.progress_deadline == plan.budget + 300


@pytest.mark.parametrize(("expected", "worst"), [(0, 0), (1, 2), (2, 3), (3, 5), (100, 150)])
def test_the_worst_is_rounded_up_to_a_whole_second(expected: int, worst: int) -> None:
    assert startup.worst(Seconds(expected), Fraction(3, 2)) == worst


@settings(deadline=None)
@given(size=st.integers(0, 2**50), bandwidth=st.integers(1, 2**40), floor=st.integers(0, 10**5))
def test_every_time_limit_waits_for_the_worst_start(size: int, bandwidth: int, floor: int) -> None:
    loading = startup.load(Bytes(size), BytesPerSecond(bandwidth))
    assert loading * bandwidth >= size > (loading - 1) * bandwidth
    expected = startup.cold_start(loading, Seconds(240), None)
    worst = startup.worst(expected, Fraction(3, 2))
    budget = startup.budget(worst, Seconds(floor))
    assert loading < expected <= worst <= budget
    assert budget in (worst, floor)
    assert startup.progress_deadline(budget, Seconds(1)) > budget


def test_workers_are_not_made_after_a_leader_that_waits_for_them(
    make_plan: Callable[..., ServingPlan], monkeypatch: pytest.MonkeyPatch
) -> None:
    def found(**asked: Any) -> list[str]:
        plan = make_plan(startup_policy="LeaderReady", **asked)
        return [one.what for one in plan.findings if one.code.id == "leader-ready-never-starts"]

    (what,) = found()
    assert what.startswith("LeaderReady with groups of 2 pods: a leader of vllm")
    assert found(parallelism=Parallelism(tensor=8), workload="LeaderWorkerSet") == []
    monkeypatch.setattr(Vllm, "ready_before_workers", True)
    assert found() == []
