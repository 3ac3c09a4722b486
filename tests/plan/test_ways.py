"""Ways out of what does not fit: each planned as if it had been asked for, none that the engine refuses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest

from gangform.findings import InputError
from gangform.inputs.cluster import Library
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import Architecture, Attention, ModelProfile
from gangform.inputs.serving import Engine, Fit, Parallelism
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.plan.ways import Way
from gangform.units import Bytes

MakeCluster = Callable[..., Any]
MakeServing = Callable[..., Any]
MakeHardware = Callable[..., HardwareShape]
TABLE = 8192 * 128_000


def large(name: str = "large", **changes: Any) -> ModelProfile:
    """405 billion parameters in 16 bits: more than eight GPUs of 80 GiB hold."""
    given: dict[str, Any] = {
        "name": name,
        "repository": f"org/{name}",
        "weights": "bf16",
        "checkpoint": Bytes(810_000_000_000),
        "parameters": 405_000_000_000,
        "context_limit": 131_072,
        "architecture": Architecture(
            layers=126,
            hidden=8192,
            vocabulary=128_000,
            attention=Attention(kind="gqa", heads=64, kv_heads=8, head_dim=128),
        ),
    }
    return ModelProfile(**{**given, **changes})


def narrow(name: str = "large-fp8", size: int = 405_000_000_000, **changes: Any) -> ModelProfile:
    return large(name, weights="fp8", checkpoint=Bytes(size), **changes)


@pytest.fixture
def plan(make_cluster: MakeCluster, make_serving: MakeServing) -> Callable[..., ServingPlan]:
    def planned(
        models: Mapping[str, ModelProfile] | None = None,
        shapes: Mapping[str, HardwareShape] | None = None,
        **changes: Any,
    ) -> ServingPlan:
        given: dict[str, Any] = {
            "model": large(),
            "parallelism": Parallelism(tensor=8),
            "workload": "LeaderWorkerSet",
            **changes,
        }
        return plan_serving(
            make_serving(**given),
            cluster=make_cluster(),
            library=Library(models=models or {}, hardware=shapes or {}),
        )

    return planned


Plan = Callable[..., ServingPlan]


def by_kind(plan: ServingPlan) -> dict[str, Way]:
    return {way.kind: way for way in plan.ways}


def test_what_fits_needs_no_way_out(plan: Plan) -> None:
    fits = plan(model=narrow("small", parameters=8_000_000_000, size=10_000_000_000))
    assert fits.lead.memory.verdict == "fits"
    assert fits.ways == ()


def test_the_next_number_of_stages_is_the_first_that_fits(plan: Plan) -> None:
    found = plan()
    assert found.lead.memory.verdict == "does not fit"
    way = by_kind(found)["pipeline"]
    assert (way.change, way.gpus) == ("use `pipeline: 2`", 16)
    asked = plan(parallelism=Parallelism(tensor=8, pipeline=2))
    assert way.memory == asked.lead.memory
    assert asked.lead.memory.verdict in ("fits", "tight")


def test_stages_that_leave_a_node_half_empty_are_not_named(plan: Plan) -> None:
    """Twelve GPUs are no whole nodes of eight; sixteen are."""
    model = large(
        architecture=large().architecture.model_copy(  # type: ignore[union-attr]
            update={"attention": Attention(kind="gqa", heads=48, kv_heads=12, head_dim=128)}
        ),
        parameters=405_000_000_000,
        checkpoint=Bytes(900_000_000_000),
    )
    found = plan(model=model, parallelism=Parallelism(tensor=4))
    assert [one.code.id for one in found.findings if one.breaks] == ["model-does-not-fit"]
    way = by_kind(found)["pipeline"]
    assert way.gpus % 8 == 0


def test_the_same_model_in_fewer_bytes_is_the_largest_that_fits(plan: Plan) -> None:
    shelf = {
        "other": narrow("other", parameters=404_000_000_000),
        "large": large(),
        "large-fp8": narrow(),
        "large-int4": narrow("large-int4", 210_000_000_000),
        "large-wide": narrow("large-wide", 700_000_000_000),
    }
    way = by_kind(plan(shelf))["weights"]
    assert (way.change, way.gpus) == ("use `model: large-fp8`", 8)
    assert way.memory == plan(shelf, model=narrow()).lead.memory


def test_the_next_larger_gpu_is_that_of_no_provider_first(
    plan: Plan, make_hardware: MakeHardware
) -> None:
    def shape(name: str, gib: int, **changes: Any) -> HardwareShape:
        return make_hardware(name=name, gpu={"visible_memory": Bytes.gib(gib)}, **changes)

    from gangform.inputs.hardware import Rdma

    shelf = {
        "a-cloud": shape("a-cloud", 140, rdma=Rdma(resource="x/y")),
        "b-plain": shape("b-plain", 140),
        "c-huge": shape("c-huge", 180),
        "d-same": shape("d-same", 80),
        "e-four": make_hardware(name="e-four", gpu={"visible_memory": Bytes.gib(139), "count": 4}),
    }
    way = by_kind(plan(None, shelf))["hardware"]
    assert (way.change, way.gpus) == ("use a pool of `hardware: b-plain`", 8)
    assert way.memory.visible == Bytes.gib(140)


def test_ways_are_said_with_their_figures_and_the_cheapest_first(plan: Plan) -> None:
    found = plan({"large-fp8": narrow()})
    assert [way.kind for way in found.ways] == ["weights", "pipeline"]
    (finding,) = [one for one in found.findings if one.code.id == "model-does-not-fit"]
    first, second = found.ways
    assert finding.fix.startswith(f"{first.text}; or {second.text}")
    stage = first.memory.worst
    assert first.text == (
        f"use `model: large-fp8` ({first.memory.verdict}: 8 GPUs a group, {stage.weights.human()} weights a GPU, "
        f"{stage.available.human()} for the cache, {first.memory.requests} requests)"
    )


def test_a_profile_that_cannot_be_read_is_passed_over(plan: Plan) -> None:
    class Broken(Mapping[str, ModelProfile]):
        def __getitem__(self, name: str) -> ModelProfile:
            if name == "bad":
                raise InputError([])
            return narrow()

        def __iter__(self) -> Iterator[str]:
            return iter(("bad", "large-fp8"))

        def __len__(self) -> int:
            return 2

    assert by_kind(plan(Broken()))["weights"].change == "use `model: large-fp8`"


def test_a_measured_cache_holds_for_what_was_measured_only(plan: Plan) -> None:
    found = plan(fit=Fit(available_kv=Bytes.gib("0.1")))
    assert found.lead.memory.measured
    assert all(not way.memory.measured for way in found.ways)
    assert "pipeline" in by_kind(found)


def test_what_no_number_of_gpus_holds_has_no_way_out(plan: Plan) -> None:
    endless = large(checkpoint=Bytes(10**15))
    found = plan(model=endless)
    assert found.ways == ()
    (finding,) = [one for one in found.findings if one.code.id == "model-does-not-fit"]
    assert finding.fix.startswith("use more pipeline stages than 1")


def test_a_heap_is_checked_beside_the_fit(plan: Plan) -> None:
    engine = Engine(version="0.33.0", utilization=Decimal("0.9"), heap=Bytes.gib(9))
    found = plan(engine=engine, parallelism=Parallelism(tensor=8, pipeline=4))
    assert [one.code.id for one in found.findings if one.breaks] == ["heap-outside-share"]
    eight = engine.model_copy(update={"heap": Bytes.gib(8)})
    assert not any(
        one.code.id == "heap-outside-share"
        for one in plan(engine=eight, parallelism=Parallelism(tensor=8, pipeline=4)).findings
    )
    whole = engine.model_copy(update={"heap": Bytes.gib(100)})
    (finding,) = [one for one in plan(engine=whole).findings if one.code.id == "heap-outside-share"]
    assert finding.fix == "use GPUs with more memory, or a smaller heap"
