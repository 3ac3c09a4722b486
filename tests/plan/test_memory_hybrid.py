"""Models whose layers keep different things: two numbers a request, and never a number of tokens."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import gpus

from gangform.engines.engine import MemoryTerms
from gangform.inputs.model import Architecture, Attention, ModelProfile, State, Window
from gangform.inputs.serving import Fit
from gangform.plan import cache, fit, memory
from gangform.plan.memory import MemoryPlan
from gangform.units import Bytes

GIB = 2**30
AT = ("servings", "llm")
LAYER = 2 * 2 * 256 * 2
"""Bytes a token of one layer: two heads of 256, keys and values, two bytes each."""


def terms(**changes: Any) -> MemoryTerms:
    return gpus.terms(**{"in_flight": 8192, **changes})


def model(**changes: Any) -> ModelProfile:
    """15 of 60 layers keep every token, 45 a state of 4 MiB."""
    shape: dict[str, Any] = {
        "layers": 60,
        "hidden": 4096,
        "vocabulary": 248_320,
        "attention": Attention(kind="gqa", heads=32, kv_heads=2, head_dim=256),
        "states": (State(layers=45, size=Bytes(4 * 2**20)),),
        **changes,
    }
    return ModelProfile(
        name="hybrid",
        repository="org/hybrid",
        weights="bf16",
        checkpoint=Bytes.gib(50),
        parameters=25 * GIB,
        context_limit=262_144,
        architecture=Architecture(**shape),
    )


def filled(
    available: int,
    *,
    profile: ModelProfile | None = None,
    context: int = 32_768,
    measured: bool = True,
    terms_: MemoryTerms | None = None,
    **split: Any,
) -> MemoryPlan:
    """The plan of so many bytes for the cache, measured or as the rest of a GPU."""
    used = terms_ or terms()
    visible = Bytes.gib(80)
    if not measured:
        weights = 50 * GIB
        visible = Bytes(-(-(available + weights + used.overhead) * 10 // 9))
    return memory.derive(
        model=profile or model(),
        hardware=gpus.node(visible),
        shape=gpus.split(**split),
        terms=used,
        context=context,
        fit=Fit(available_kv=Bytes(available)) if measured else Fit(),
    )


def test_a_hybrid_has_two_numbers_and_no_tokens() -> None:
    found = filled(10 * GIB)
    (stage,) = found.stages
    assert (found.tokens, stage.tokens) == (None, None)
    assert (stage.cache_per_token, stage.cache_fixed) == (15 * LAYER, 45 * 4 * 2**20)
    assert stage.cache_paged == (32_768 // 2048 + 6) * 15 * 2048 * LAYER
    need = stage.cache_fixed + 32_768 * stage.cache_per_token
    assert found.short == need - 10 * GIB
    assert found.requests == Decimal(10 * GIB * 100 // stage.cache_paged) / 100
    assert found.requests_most == Decimal(10 * GIB * 100 // need) / 100
    assert found.requests <= found.requests_most


def test_concurrency_is_that_of_the_declared_length_and_does_not_scale() -> None:
    """The same memory holds more tokens in long requests than in short ones."""
    short, long = filled(10 * GIB, context=4096), filled(10 * GIB, context=65_536)
    assert short.requests * 4096 < long.requests * 65_536


def test_data_ranks_hold_requests_of_their_own() -> None:
    one, four = filled(10 * GIB), filled(10 * GIB, data=4)
    assert four.requests_most - 4 * one.requests_most < Decimal("0.04")
    assert four.requests >= 4 * one.requests


def test_the_longest_request_is_the_last_that_lies_in_whole_pages() -> None:
    found = filled(2 * GIB)
    paged = cache.cache_paged(model().architecture or pytest.fail(), 1, terms(), 60, found.longest)
    more = cache.cache_paged(
        model().architecture or pytest.fail(), 1, terms(), 60, found.longest + 16
    )
    assert paged <= 2 * GIB < more
    assert filled(500 * GIB).longest == 262_144
    assert filled(1).longest == 0


@pytest.mark.parametrize(
    ("off", "verdict"),
    [(-3 * GIB, "does not fit"), (0, "tight"), (GIB // 2, "tight"), (3 * GIB, "fits")],
)
def test_a_hybrid_fits_only_in_pages_and_is_refused_only_without_them(
    off: int, verdict: str
) -> None:
    need = 45 * 4 * 2**20 + 32_768 * 15 * LAYER
    assert filled(need + off, measured=False).verdict == verdict


def test_between_both_needs_a_measured_cache_is_tight() -> None:
    def verdict(available: int) -> str:
        return filled(available, context=30_000).verdict

    (stage,) = filled(10 * GIB, context=30_000).stages
    need = stage.cache_fixed + 30_000 * stage.cache_per_token
    assert stage.cache_paged > need
    assert verdict(need - 1) == "does not fit"
    assert verdict(need) == verdict(stage.cache_paged - 1) == "tight"
    assert verdict(stage.cache_paged) == "fits"


def test_a_larger_step_needs_more_of_a_window() -> None:
    profile = model(states=(), windows=(Window(layers=45, tokens=128),))
    small, large = (
        filled(10 * GIB, profile=profile, context=65_536, terms_=terms(in_flight=size))
        for size in (2048, 16_384)
    )
    assert small.requests > large.requests
    assert small.stages[0].cache_per_token == large.stages[0].cache_per_token


def test_sampling_is_taken_from_the_last_stage_alone() -> None:
    found = filled(10 * GIB, measured=False, terms_=terms(sampling=Bytes.gib(1)), pipeline=3)
    assert [stage.overhead for stage in found.stages] == [
        Bytes.gib(6),
        Bytes.gib(6),
        Bytes.gib(7),
    ]


def test_weights_on_the_host_leave_room_for_the_cache() -> None:
    here = filled(10 * GIB, measured=False)
    there = filled(10 * GIB, measured=False, terms_=terms(offloaded=Bytes.gib(4)))
    assert there.worst.available - here.worst.available == 4 * GIB
    all_of_it = filled(10 * GIB, measured=False, terms_=terms(offloaded=Bytes.gib(400)))
    assert all_of_it.worst.weights == 0


def test_more_requests_than_a_hybrid_holds_are_said_without_a_number_of_tokens(
    codes: Callable[..., list[str]],
) -> None:
    plan = filled(10 * GIB)
    (found,) = fit.check(plan, fit=Fit(), concurrency=1000, shape=gpus.split(), at=AT)
    assert codes([found]) == ["concurrency-exceeds-cache"]
    assert found.what.endswith(f"the cache holds {plan.requests}")


@settings(deadline=None)
@given(
    available=st.integers(0, 2**40),
    context=st.integers(1, 262_144),
    data=st.integers(1, 64),
    stages=st.integers(1, 60),
    tensor=st.integers(1, 16),
)
def test_what_is_promised_is_never_more_than_what_is_there(
    available: int, context: int, data: int, stages: int, tensor: int
) -> None:
    found = filled(available, context=context, data=data, pipeline=stages, tensor=tensor)
    for stage in found.stages:
        assert found.requests * stage.cache_paged <= available * data
    assert 0 <= found.requests <= found.requests_most
    assert found.tokens is None
    if found.longest >= context:
        assert found.verdict != "does not fit"
