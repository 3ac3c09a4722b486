"""The verdict in words: what is refused, what is said, and what lets it pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import gpus

from gangform.engines.engine import Shape
from gangform.findings import Finding
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import Measured, ModelProfile
from gangform.inputs.serving import Fit
from gangform.plan import cache
from gangform.plan import fit as fit_of
from gangform.plan.memory import MemoryPlan
from gangform.units import Bytes

MakeModel = Callable[..., ModelProfile]
MakeHardware = Callable[..., HardwareShape]
Codes = Callable[[Iterable[Finding]], list[str]]
Fill = Callable[..., MemoryPlan]
AT = ("servings", "llm")
GIB = 2**30


def split(**changes: Any) -> Shape:
    return gpus.split(**{"tensor": 8, **changes})


# ── findings ─────────────────────────────────────────────────────────────────────────────────────


def checked(
    plan: MemoryPlan, *, fit: Fit | None = None, concurrency: int | None = None, **shape: Any
) -> list[Finding]:
    return list(
        fit_of.check(plan, fit=fit or Fit(), concurrency=concurrency, shape=split(**shape), at=AT)
    )


def big(make: MakeModel, gib: int | str) -> ModelProfile:
    return make(measured=Measured(weights_per_gpu=Bytes.gib(gib), kv_bytes_per_token=65_536))


def test_what_fits_says_nothing(fill: Fill) -> None:
    assert checked(fill()) == []


def test_what_does_not_fit_is_refused_with_the_arithmetic(
    fill: Fill, make_model: MakeModel, codes: Codes
) -> None:
    plan = fill(big(make_model, "65.5"))
    (found,) = checked(plan, pipeline=2)
    assert codes([found]) == ["model-does-not-fit"]
    assert found.at.path == (*AT, "context")
    assert found.what.startswith(
        "80.0 GiB visible x 0.9 = 72.0 GiB; less 65.5 GiB weights and 6.0 GiB overhead leaves "
        "512.0 MiB; one request of 32768 tokens needs 2.0 GiB: short by 1.5 GiB"
    )
    assert found.fix.startswith("use more pipeline stages than 2, or a context of at most 8192;")
    assert found.seen["longest"] == "8192"
    assert found.seen["short"] == str(3 * GIB // 2)


def test_weights_that_leave_no_cache_point_to_the_parallelism(
    fill: Fill, make_model: MakeModel
) -> None:
    (found,) = checked(fill(big(make_model, 70)))
    assert found.at.path == (*AT, "parallelism")
    assert "leaves -4.0 GiB" in found.what
    assert "context of at most" not in found.fix


def test_a_reason_lets_what_does_not_fit_pass_with_a_warning(
    fill: Fill, make_model: MakeModel, codes: Codes
) -> None:
    fit = Fit(accepted="seen to run")
    (found,) = checked(fill(big(make_model, 70), fit=fit), fit=fit)
    assert codes([found]) == ["fit-accepted"]
    assert not found.breaks
    assert found.what.endswith("; accepted: seen to run")
    assert checked(fill(fit=fit), fit=fit) == []


def test_what_fits_within_the_error_is_said(
    fill: Fill, make_model: MakeModel, codes: Codes
) -> None:
    (found,) = checked(fill(big(make_model, 64)))
    assert codes([found]) == ["model-fits-tightly"]
    assert found.what.endswith("within the error of 1.0 GiB")
    assert not found.breaks


def test_a_measured_cache_is_shown_as_measured(fill: Fill) -> None:
    fit = Fit(available_kv=Bytes.gib(1))
    (found,) = checked(fill(fit=fit, context=2_000_000), fit=fit)
    assert found.what.startswith("1.0 GiB measured for the cache; one request of 2000000 tokens")


def test_more_requests_than_the_cache_holds_are_said_with_what_it_holds(
    fill: Fill, codes: Codes
) -> None:
    plan = fill(fit=Fit(available_kv=Bytes(10 * 32_768 * 1024)))
    assert plan.requests == 10
    assert checked(plan, concurrency=10) == []
    (found,) = checked(plan, concurrency=11, data=2)
    assert codes([found]) == ["concurrency-exceeds-cache"]
    assert found.at.path == (*AT, "concurrency")
    assert found.what == "11 requests of 32768 tokens were asked for; 655360 tokens hold 10.00"
    assert found.fix.startswith("ask for 10, or ")


@settings(deadline=None)
@given(
    available=st.integers(-(2**40), 2**40),
    per_token=st.integers(1, 2**20),
    context=st.integers(1, 2**20),
    block=st.sampled_from([1, 16, 128]),
    ranks=st.sampled_from([1, 2, 8]),
)
def test_one_request_fits_exactly_when_its_tokens_do(
    available: int, per_token: int, context: int, block: int, ranks: int
) -> None:
    """Tokens and shortage are two readings of one figure, where the ranks share whole blocks."""
    lacks = cache.short(available, per_token, context=context, block=block, decode_context=ranks)
    held = cache.tokens(available, per_token, block) * ranks
    if held >= context:
        assert lacks <= 0
    elif ranks == 1:
        assert lacks > 0
    exact = Fraction(-(-context // block) * block * per_token, ranks) - available
    assert exact <= lacks < exact + 1


def test_what_nobody_described_is_not_checked_and_that_is_said(
    make_layered: MakeModel, fill: Fill, codes: Codes
) -> None:
    unknown = fill(make_layered(parameters=None))
    assert unknown.verdict == "unknown"
    (found,) = fit_of.check(unknown, fit=Fit(), concurrency=9999, shape=split(), at=AT)
    assert codes([found]) == ["fit-unknown"]
    assert not found.breaks
    assert found.what.startswith("not checked whether the model fits")
    measured = Fit(available_kv=Bytes.gib(20))
    assert fill(make_layered(parameters=None), fit=measured).verdict == "fits"
    assert fill(make_layered()).verdict == "fits"


def test_a_cache_larger_than_the_gpu_was_measured_elsewhere(fill: Fill, codes: Codes) -> None:
    def faults(amount: int) -> list[Finding]:
        fit = Fit(available_kv=Bytes.gib(amount))
        return list(fit_of.check(fill(fit=fit), fit=fit, concurrency=None, shape=split(), at=AT))

    (found,) = faults(90)
    assert codes([found]) == ["measured-cache-beyond-gpu"]
    assert found.at.path == (*AT, "fit", "availableKv")
    assert faults(40) == []


def test_absurd_numbers_of_stages_take_no_time(make_layered: MakeModel, fill: Fill) -> None:
    assert len(fill(make_layered(), shape=split(pipeline=10_000)).stages) == 10_000


# ── a cache that arguments fix ───────────────────────────────────────────────────────────────────


def pinned(fill: Fill, gib: int | str = 0, **changes: Any) -> MemoryPlan:
    """10 GiB of weights and 6 of overhead leave 64 of all 80."""
    by = "--num-gpu-blocks-override" if "pinned_blocks" in changes else "--kv-cache-memory-bytes"
    return fill(terms=gpus.terms(pinned=Bytes.gib(gib), pinned_by=by, **changes))


@pytest.mark.parametrize(
    ("gib", "verdict"),
    [("20", "fits"), ("62.5", "fits"), ("63.5", "tight"), ("66", "does not fit")],
)
def test_a_fixed_cache_may_go_beyond_the_share_and_not_beyond_the_gpu(
    fill: Fill, gib: str, verdict: str
) -> None:
    found = pinned(fill, gib)
    assert (found.worst.available, found.verdict) == (Bytes.gib(gib), verdict)
    assert found.crowded == Bytes.gib(gib) - 64 * GIB
    assert found.tokens == int(Bytes.gib(gib)) // 1024 // 16 * 16


def test_a_fixed_cache_that_no_gpu_has_is_refused_with_the_most_that_there_is(
    fill: Fill, codes: Codes
) -> None:
    (finding,) = checked(pinned(fill, 70))
    assert codes([finding]) == ["model-does-not-fit"]
    assert "70.0 GiB fixed by --kv-cache-memory-bytes" in finding.what
    assert "short by 6.0 GiB with an error of 1.0 GiB" in finding.what
    assert finding.fix == "leave --kv-cache-memory-bytes out, or fix at most 63.0 GiB"
    assert codes(checked(pinned(fill, 70), fit=Fit(accepted="tried"))) == ["fit-accepted"]
    assert codes(checked(pinned(fill, "63.5"))) == ["model-fits-tightly"]
    assert checked(pinned(fill, 63)) == []


def test_a_fixed_cache_below_one_request_is_refused_without_an_error(fill: Fill) -> None:
    """32768 tokens of 1 KiB are 32 MiB."""
    short, enough = pinned(fill, "0.03"), pinned(fill, "0.03125")
    assert (short.verdict, enough.verdict) == ("does not fit", "fits")
    (finding,) = checked(short)
    assert "with an error" not in finding.what
    assert "fix at least 64.0 MiB by it" in finding.fix


def test_a_heap_lies_beside_a_fixed_cache_and_not_outside_the_share(
    fill: Fill, codes: Codes
) -> None:
    """8 GiB are outside a share of 0.9, which a fixed cache of 20 GiB does not fill."""
    assert checked(pinned(fill, 20, heap=Bytes.gib(16))) == []
    assert pinned(fill, 20, heap=Bytes.gib(16)).crowded == (20 + 16 - 64) * GIB
    (finding,) = checked(pinned(fill, 50, heap=Bytes.gib(16)))
    assert codes([finding]) == ["model-does-not-fit"]
    assert "6.0 GiB overhead, 16.0 GiB heap and 50.0 GiB fixed" in finding.what


def test_a_heap_of_a_variable_is_shown_at_the_variable(fill: Fill, codes: Codes) -> None:
    (finding,) = checked(fill(terms=gpus.terms(heap=Bytes.gib(16))))
    assert (codes([finding]), finding.at.path) == (["heap-outside-share"], (*AT, "pods", "env"))


def test_blocks_win_over_bytes(fill: Fill) -> None:
    found = pinned(fill, 20, pinned_blocks=4096)
    assert (found.tokens, found.worst.available) == (4096 * 16, 4096 * 16 * 1024)


def test_a_measured_cache_wins_over_a_fixed_one(fill: Fill) -> None:
    fixed = gpus.terms(pinned=Bytes.gib(70), pinned_by="--kv-cache-memory-bytes")
    found = fill(terms=fixed, fit=Fit(available_kv=Bytes.gib(5)))
    assert (found.worst.available, found.pinned_by, found.verdict) == (5 * GIB, "", "fits")
