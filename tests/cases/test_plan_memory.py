"""Planning cases of memory."""

from __future__ import annotations

from decimal import Decimal

import pytest
from pydantic import JsonValue
from tests.cases.planning import (
    layers,
    model,
    node,
    planned,
    refused,
    row,
    warned,
)

from gangform.inputs.model import Architecture, Attention, Experts, Measured, ModelProfile
from gangform.inputs.serving import (
    Engine,
    Fit,
    Parallelism,
    Pods,
)
from gangform.plan import cache
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes

EIGHTY = model(measured=None, architecture=layers())


@row("r03-a")
def test_the_cache_is_counted_by_stage_not_by_model() -> None:
    plan = planned(
        EIGHTY,
        parallelism=Parallelism(tensor=8, pipeline=2),
        context=200_000,
        fit=Fit(available_kv=Bytes.gib("6.0")),
    )
    assert refused(plan) == {}
    found = plan.lead.memory
    assert [stage.layers for stage in found.stages] == [40, 40]
    assert [stage.cache_per_token for stage in found.stages] == [20_480, 20_480]
    assert two(200_000 * 20_480) == Decimal("3.81")
    assert two(found.short + Bytes.gib("6.0")) == Decimal("3.81")
    assert found.tokens == 314_560
    assert found.requests == Decimal("1.57")


def two(size: int) -> Decimal:
    """GiB to two places."""
    return (Decimal(size) / 2**30).quantize(Decimal("0.01"))


@row("r03-b")
def test_the_stage_that_holds_least_decides() -> None:
    """The log prints 6.0 and 5.0 GiB; one figure is an input, so the smaller decides either way."""
    cut: dict[str, JsonValue] = {"name": "VLLM_PP_LAYER_PARTITION", "value": "30,50"}
    plan = planned(
        EIGHTY,
        parallelism=Parallelism(tensor=8, pipeline=2),
        context=200_000,
        fit=Fit(available_kv=Bytes.gib("5.0")),
        pods=Pods(env=(cut,)),
    )
    assert refused(plan) == {}
    found = plan.lead.memory
    assert [stage.layers for stage in found.stages] == [30, 50]
    assert [stage.cache_per_token for stage in found.stages] == [15_360, 25_600]
    assert cache.tokens(Bytes.gib("6.0"), 15_360, 16) == 419_424
    assert found.tokens == 209_712


@row("r06")
def test_a_context_that_does_not_fit_is_refused_with_the_longest_that_does() -> None:
    profile = model(measured=Measured(weights_per_gpu=Bytes.gib(1), kv_bytes_per_token=32_768))
    plan = planned(profile, context=98_304, fit=Fit(available_kv=Bytes.gib("2.10")))
    finding = refused(plan)["model-does-not-fit"]
    assert "2.1 GiB measured for the cache" in finding.what
    assert "one request of 98304 tokens needs 3.0 GiB" in finding.what
    assert finding.seen["longest"] == "68800"
    assert "a context of at most 68800" in finding.fix
    assert Bytes.gib("2.10") // 32_768 == 68_812
    shorter = planned(profile, context=68_800, fit=Fit(available_kv=Bytes.gib("2.10")))
    assert refused(shorter) == {}


def with_heap(utilization: str, heap: str, visible: str = "139.7") -> ServingPlan:
    return planned(
        model(),
        on=node(visible=visible),
        engine=Engine(version="0.33.0", utilization=Decimal(utilization), heap=Bytes.gib(heap)),
    )


@row("r01-a")
def test_a_heap_that_the_rest_of_the_gpu_does_not_hold_is_refused() -> None:
    plan = with_heap("0.90", "16")
    assert list(refused(plan)) == ["heap-outside-share"]
    finding = refused(plan)["heap-outside-share"]
    found = plan.lead.memory
    assert two(found.outside) == Decimal("13.97")
    assert two(found.heap - found.outside) == Decimal("2.03")
    assert finding.at.path[-2:] == ("engine", "heap")
    assert "the heap of 16.00 GiB a GPU lies outside the engine's share" in finding.what
    assert "leaves 13.97 GiB: short by 2.03 GiB" in finding.what
    assert "engine.utilization: 0.878" in finding.fix


@row("r01-b")
def test_a_heap_that_the_rest_of_the_gpu_holds_is_accepted() -> None:
    plan = with_heap("0.87", "16")
    assert refused(plan) == {}
    found = plan.lead.memory
    assert two(found.outside) == Decimal("18.16")
    assert two(found.outside - found.heap) == Decimal("2.16")


@row("r01-c")
def test_a_heap_larger_than_what_is_free_is_named() -> None:
    plan = with_heap("0.9", "12.5", visible="110")
    assert two(plan.lead.memory.outside) == Decimal("11.00")
    finding = refused(plan)["heap-outside-share"]
    assert "the heap of 12.50 GiB" in finding.what
    assert "leaves 11.00 GiB" in finding.what
    assert "memory" not in finding.what


def on_a100(tensor: int, pipeline: int) -> ServingPlan:
    profile = ModelProfile(
        name="m",
        repository="org/m",
        weights="fp8",
        checkpoint=Bytes(480_200_000_000),
        parameters=480_200_000_000,
        expert_parameters=468_100_000_000,
        context_limit=262_144,
        architecture=Architecture(
            layers=62,
            hidden=6144,
            vocabulary=151_936,
            attention=Attention(kind="gqa", heads=96, kv_heads=8, head_dim=128),
            experts=Experts(routed=160, active=8, width=2560),
        ),
    )
    return planned(
        profile,
        on=node(product="NVIDIA-A100-SXM4-80GB", capability="8.0", visible="79.2"),
        parallelism=Parallelism(tensor=tensor, pipeline=pipeline),
        engine=Engine(version="0.33.0", utilization=Decimal("0.9")),
    )


@row("h36-p")
@pytest.mark.parametrize(("pipeline", "offered"), [(1, "570.2 GiB"), (2, "1,140.5 GiB")])
def test_fp8_without_native_units_is_said_with_both_sizes(pipeline: int, offered: str) -> None:
    plan = on_a100(8, pipeline)
    assert refused(plan) == {}
    what = warned(plan)["fp8-without-native-units"].what
    assert "kept at one byte a weight they take 447.2 GiB and run slower" in what
    assert "widened to bf16 894.4 GiB" in what
    assert what.endswith(f"offered are {offered}")
