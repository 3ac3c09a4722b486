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
from gangform.inputs.serving import Autoscaling, Engine, Parallelism, Serving, Weights
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


def test_a_download_of_its_own_speed_comes_before_the_reading(start: Start) -> None:
    for source in ("hub", "perPod"):
        plan = start(800, weights=Weights(source=source, read_bandwidth=FOUR))
        assert (plan.downloads, plan.download, plan.load) == (True, 0, 200)
        told = Weights(source=source, read_bandwidth=FOUR, download_bandwidth=TWO)
        plan = start(800, weights=told)
        assert (plan.download, plan.load, plan.warm_up) == (400, 200, 240)
        assert (plan.cold_start, plan.worst) == (840, 1260)
    claim = Weights(source="claim", claim="models", read_bandwidth=FOUR)
    assert not start(800, weights=claim).downloads


def test_a_pod_that_keeps_its_claim_downloads_once(start: Start) -> None:
    kept = Weights(source="perPod", read_bandwidth=FOUR, download_bandwidth=TWO)
    assert (start(800, weights=kept).cold_start, start(800, weights=kept).restart) == (840, 440)
    gone = Weights(source="hub", read_bandwidth=FOUR, download_bandwidth=TWO)
    assert start(800, weights=gone).restart == 840
    measured = start(800, weights=kept, cold_start=Seconds(500))
    assert (measured.cold_start, measured.restart) == (500, 500)


def test_a_measured_warm_up_wins_over_the_default(start: Start) -> None:
    engine = Engine(version="0.33.0", warm_up=Seconds(90))
    plan = start(800, engine=engine, weights=Weights(read_bandwidth=TWO))
    assert (plan.warm_up, plan.warm_up_measured, plan.cold_start) == (90, True, 490)
    plain = start(800)
    assert (plain.warm_up, plain.warm_up_measured) == (240, False)
    # A whole start that was measured wins over its parts.
    assert start(800, engine=engine, cold_start=Seconds(300)).cold_start == 300


def test_every_limit_follows_the_parts(make_plan: Callable[..., ServingPlan]) -> None:
    """The startup probe, the limits of admission and autoscaler, and the alerts: all wait for one sum."""
    fast = Weights(read_bandwidth=FOUR)
    for weights in (fast, Weights(read_bandwidth=FOUR, download_bandwidth=BytesPerSecond(2**28))):
        plan = make_plan(weights=weights, autoscaling=Autoscaling(min=1, max=2), backend="kueue")
        role = plan.lead
        probe = role.launch.leader.startup
        assert probe is not None and role.scaling is not None
        worst = role.startup.worst
        assert probe.failures * probe.period >= role.startup.budget >= worst
        assert role.demand.worst_cold_start == worst
        assert plan.monitoring.not_ready_after > worst
        assert role.scaling.up_period == worst


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
@given(
    size=st.integers(0, 2**50),
    bandwidth=st.integers(1, 2**40),
    network=st.none() | st.integers(1, 2**40),
    floor=st.integers(0, 10**5),
)
def test_every_time_limit_waits_for_the_worst_start(
    size: int, bandwidth: int, network: int | None, floor: int
) -> None:
    loading = startup.load(Bytes(size), BytesPerSecond(bandwidth))
    assert loading * bandwidth >= size > (loading - 1) * bandwidth
    fetching = startup.download(Bytes(size), None if network is None else BytesPerSecond(network))
    assert network is not None or fetching == 0
    expected = startup.cold_start(loading, Seconds(240), None, fetching)
    assert expected == fetching + loading + 240
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
