from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import gpus

from gangform.engines.engine import Shape
from gangform.findings import Finding
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import Architecture, Attention, Experts, Measured, ModelProfile
from gangform.inputs.serving import Fit
from gangform.plan import cache, memory, tensors
from gangform.plan import fit as fit_of
from gangform.plan.memory import MemoryPlan
from gangform.units import Bytes

MakeModel = Callable[..., ModelProfile]
MakeHardware = Callable[..., HardwareShape]
Codes = Callable[[Iterable[Finding]], list[str]]
GIB = 2**30
AT = ("servings", "llm")
Fill = Callable[..., MemoryPlan]


def split(**changes: Any) -> Shape:
    return gpus.split(**{"tensor": 8, **changes})


# ── layers and cache ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("layers", "stages", "cut"),
    [
        (61, 2, (31, 30)),
        (60, 2, (30, 30)),
        (62, 4, (15, 16, 16, 15)),
        (61, 4, (15, 15, 16, 15)),
        (63, 4, (16, 16, 16, 15)),
        (7, 1, (7,)),
        (2, 4, (0, 1, 1, 0)),
    ],
)
def test_stages_are_cut_as_vllm_cuts_them(layers: int, stages: int, cut: tuple[int, ...]) -> None:
    assert tensors.stage_layers(layers, stages) == cut


@settings(deadline=None)
@given(layers=st.integers(1, 200), stages=st.integers(1, 32))
def test_no_layer_is_lost_and_stages_differ_by_one(layers: int, stages: int) -> None:
    cut = tensors.stage_layers(layers, stages)
    assert (len(cut), sum(cut)) == (stages, layers)
    assert max(cut) - min(cut) <= 1
    assert cut[-1] == min(cut)


def attention(**changes: Any) -> Architecture:
    kind = Attention(**{"kind": "gqa", "heads": 64, "kv_heads": 8, "head_dim": 128, **changes})
    return Architecture(layers=60, hidden=8192, vocabulary=128_000, attention=kind)


@pytest.mark.parametrize(
    ("changes", "tensor", "element", "size"),
    [
        ({}, 1, 2, 2 * 128 * 8 * 2),
        ({}, 4, 2, 2 * 128 * 2 * 2),
        ({}, 8, 2, 2 * 128 * 1 * 2),
        ({}, 16, 2, 2 * 128 * 1 * 2),
        ({}, 8, 1, 2 * 128 * 1),
        ({"kv_heads": 6}, 4, 2, 2 * 128 * 2 * 2),
        ({"kind": "mla", "latent": 576}, 8, 2, 1152),
        ({"kind": "mla", "latent": 576}, 1, 1, 576),
    ],
)
def test_a_token_takes_its_heads_of_a_rank_or_a_whole_latent(
    changes: dict[str, Any], tensor: int, element: int, size: int
) -> None:
    assert cache.cache_per_layer(attention(**changes), tensor, Decimal(element)) == size


@pytest.mark.parametrize(
    ("available", "per_token", "found"),
    [(1600, 10, 160), (1759, 10, 160), (1760, 10, 176), (159, 10, 0), (-1, 10, 0), (100, 0, 0)],
)
def test_tokens_come_in_whole_blocks(available: int, per_token: int, found: int) -> None:
    assert cache.tokens(available, per_token, 16) == found


@pytest.mark.parametrize(
    ("context", "decode_context", "lacks"),
    [(160, 1, 600), (161, 1, 760), (176, 1, 760), (160, 3, -466), (160, 2, -200)],
)
def test_what_lacks_is_counted_in_whole_blocks_and_shared_by_context_ranks(
    context: int, decode_context: int, lacks: int
) -> None:
    found = cache.short(1000, 10, context=context, block=16, decode_context=decode_context)
    assert found == lacks


# ── weights ──────────────────────────────────────────────────────────────────────────────────────


def test_measured_weights_stand_for_themselves(fill: Fill) -> None:
    found = fill(shape=split(pipeline=2))
    assert [stage.weights for stage in found.stages] == [Bytes.gib(10)] * 2
    assert [stage.cache_per_token for stage in found.stages] == [1024, 1024]


def test_without_a_count_of_parameters_the_checkpoint_is_shared_evenly(
    make_layered: MakeModel,
) -> None:
    profile = make_layered(parameters=None, checkpoint=Bytes(101))
    assert tensors.stage_weights(profile, split(tensor=2, pipeline=5), 0) == 11


TABLE = 128_000 * 8192
"""Weights of an embedding."""


def test_the_first_stage_has_the_embedding_and_the_last_the_head(make_layered: MakeModel) -> None:
    profile = make_layered(
        parameters=2 * TABLE + 60_000_000, checkpoint=Bytes(2 * (2 * TABLE + 60_000_000))
    )
    found = [tensors.stage_weights(profile, split(tensor=4, pipeline=3), n) for n in range(3)]
    body = 20 * 1_000_000 * 2 // 4
    assert found == [body + 2 * TABLE // 4, body, body + 2 * TABLE // 4]
    both = tensors.stage_weights(profile, split(tensor=4, pipeline=1), 0)
    assert both == 3 * body + 4 * TABLE // 4


@settings(deadline=None)
@given(
    tensor=st.integers(1, 8),  # Beyond its eight key/value heads they are copied.
    pipeline=st.integers(1, 12),
    draft=st.integers(0, 10**9),
    parameters=st.integers(3 * TABLE, 10**12),
    width=st.integers(1, 4),
)
def test_all_gpus_together_hold_what_is_loaded(
    make_layered: MakeModel, tensor: int, pipeline: int, draft: int, parameters: int, width: int
) -> None:
    size = parameters * width + 4 * TABLE
    profile = make_layered(
        parameters=parameters, checkpoint=Bytes(size + draft), draft=Bytes(draft)
    )
    shape = split(tensor=tensor, pipeline=pipeline)
    held = sum(tensors.stage_weights(profile, shape, n) for n in range(pipeline)) * tensor
    assert size <= held < size + tensor * pipeline


def mixture(make: MakeModel, **changes: Any) -> ModelProfile:
    experts = 40_000_000_000
    given: dict[str, Any] = {
        "parameters": 2 * TABLE + experts + 6_000_000_000,
        "expert_parameters": experts,
        "checkpoint": Bytes(4 * TABLE + experts + 6_000_000_000),
        "architecture": {
            "dense_layers": 20,
            "experts": Experts(routed=160, active=8, width=1536),
            **changes.pop("architecture", {}),
        },
    }
    return make(**{**given, **changes})


def test_experts_lie_in_the_layers_that_have_them(make_layered: MakeModel) -> None:
    shape = split(tensor=8, pipeline=3)
    found = [tensors.stage_weights(mixture(make_layered), shape, n) for n in range(3)]
    other = 20 * 100_000_000 // 8
    experts = 20 * 1_000_000_000 // 8
    table = 2 * TABLE // 8
    assert found == [other + table, other + experts, other + experts + table]


def test_a_stage_with_some_dense_layers_has_the_experts_of_the_rest(
    make_layered: MakeModel,
) -> None:
    profile = mixture(make_layered, architecture={"dense_layers": 10, "layers": 50})
    first = tensors.stage_weights(profile, split(tensor=8, pipeline=2), 0)
    assert first == 25 * 120_000_000 // 8 + 15 * 1_000_000_000 // 8 + 2 * TABLE // 8


@pytest.mark.parametrize(("data", "prefill"), [(4, 1), (1, 4), (2, 2)])
def test_experts_are_shared_by_data_and_prefill_ranks_too(
    make_layered: MakeModel, data: int, prefill: int
) -> None:
    profile = mixture(make_layered, architecture={"dense_layers": 0})
    one = tensors.stage_weights(profile, split(tensor=2), 0)
    shared = tensors.stage_weights(profile, split(tensor=2, data=data, prefill_context=prefill), 0)
    assert one - shared == 40_000_000_000 // 2 - 40_000_000_000 // 8


def test_layers_without_experts_are_none_of_a_model_that_says_nothing(
    make_layered: MakeModel,
) -> None:
    profile = mixture(make_layered, architecture={"dense_layers": None})
    every = mixture(make_layered, architecture={"dense_layers": 0})
    shape = split(pipeline=2)
    assert tensors.stage_weights(profile, shape, 0) == tensors.stage_weights(every, shape, 0)


# ── the plan ─────────────────────────────────────────────────────────────────────────────────────


def test_a_gpu_is_shared_out_to_the_byte(fill: Fill) -> None:
    found = fill()
    assert (found.visible, found.utilization, found.share) == (
        Bytes.gib(80),
        Decimal("0.9"),
        Bytes.gib(72),
    )
    assert (found.overhead, found.band, found.source) == (Bytes.gib(6), Bytes.gib(1), "here")
    (stage,) = found.stages
    assert stage.available == Bytes.gib(56)
    assert stage.tokens == found.tokens == 56 * GIB // 1024
    assert found.requests == Decimal(found.tokens) / 32_768
    assert found.short == stage.short == 32_768 * 1024 - 56 * GIB
    assert (found.verdict, found.measured, found.context) == ("fits", False, 32_768)


def test_the_share_is_rounded_down() -> None:
    assert memory.share(Bytes(101), Decimal("0.5")) == 50


def test_data_ranks_multiply_requests_and_context_ranks_multiply_tokens(fill: Fill) -> None:
    one = fill()
    assert fill(shape=split(data=4)).requests == one.requests * 4
    assert fill(shape=split(data=4)).tokens == one.tokens
    assert one.tokens is not None
    assert fill(shape=split(decode_context=2)).tokens == one.tokens * 2
    assert fill(shape=split(decode_context=2)).requests == one.requests * 2


def test_requests_are_given_to_two_places(fill: Fill) -> None:
    found = fill(fit=Fit(available_kv=Bytes(1024 * 50_000)), context=30_000)
    assert (found.tokens, found.requests) == (50_000, Decimal("1.67"))


def test_no_longer_context_is_offered_than_the_model_was_made_for(
    fill: Fill, make_model: MakeModel
) -> None:
    found = fill(make_model(context_limit=10_007))
    assert found.tokens is not None and found.tokens > 10_007
    assert found.longest == 10_000
    few = fill(make_model(context_limit=10_007), fit=Fit(available_kv=Bytes(1024 * 160)))
    assert few.longest == few.tokens == 160


def test_a_measured_cache_stands_for_all_stages_and_has_no_error(fill: Fill) -> None:
    found = fill(fit=Fit(available_kv=Bytes(32_768 * 1024)))
    assert found.measured
    assert [stage.available for stage in found.stages] == [32_768 * 1024]
    assert (found.short, found.verdict) == (0, "fits")
    assert fill(fit=Fit(available_kv=Bytes(32_768 * 1024 - 1))).verdict == "does not fit"


def test_the_fullest_stage_decides(fill: Fill, make_layered: MakeModel) -> None:
    profile = make_layered(
        parameters=2 * TABLE + 60_000_000_000, checkpoint=Bytes(4 * TABLE + 120_000_000_000)
    )
    found = fill(profile, shape=split(tensor=1, pipeline=3), context=16)
    first, middle, last = found.stages
    assert first.weights == last.weights > middle.weights
    assert first.tokens is not None and middle.tokens is not None
    assert found.tokens == first.tokens < middle.tokens
    assert found.short == first.short > middle.short
    assert found.worst is first


def test_the_stage_that_lacks_most_is_the_one_that_is_shown(
    fill: Fill, make_layered: MakeModel
) -> None:
    profile = mixture(make_layered, checkpoint=Bytes.gib(600))
    found = fill(profile, shape=split(tensor=2, pipeline=3))
    assert [stage.tokens for stage in found.stages][1:] == [0, 0]
    assert found.worst is found.stages[2]
    assert found.short == found.worst.short == max(stage.short for stage in found.stages)
    (finding,) = fit_of.check(
        found, fit=Fit(), concurrency=None, shape=split(tensor=2, pipeline=3), at=AT
    )
    needs = Bytes(32_768 * found.worst.cache_per_token)
    assert f"{found.worst.weights.human()} weights" in finding.what
    assert f"one request of 32768 tokens needs {needs.human()}" in finding.what


LACKING = [(-(GIB + 1), "fits"), (-GIB, "fits"), (-GIB + 1, "tight"), (0, "tight"), (GIB, "tight")]


@pytest.mark.parametrize(("lacks", "verdict"), [*LACKING, (GIB + 1, "does not fit")])
def test_only_what_is_short_by_more_than_the_band_does_not_fit(
    fill: Fill, make_model: MakeModel, lacks: int, verdict: str
) -> None:
    # 66 GiB are left for weights and cache; one token takes 16 KiB, and 65536 of them 1 GiB.
    weights = Bytes(65 * GIB + lacks)
    profile = make_model(measured=Measured(weights_per_gpu=weights, kv_bytes_per_token=16_384))
    found = fill(profile, context=65_536)
    assert (found.short, found.verdict) == (lacks, verdict)


def test_stages_have_the_layers_that_somebody_gives_them(
    fill: Fill, make_layered: MakeModel
) -> None:
    even = fill(make_layered(), shape=split(pipeline=2))
    found = fill(make_layered(), shape=split(pipeline=2), terms=gpus.terms(layers=(20, 40)))
    assert [stage.layers for stage in found.stages] == [20, 40]
    assert sum(stage.weights for stage in found.stages) == sum(one.weights for one in even.stages)
    assert found.worst is found.stages[1]
    wrong = fill(make_layered(), shape=split(pipeline=2), terms=gpus.terms(layers=(20, 41)))
    assert wrong.stages == even.stages


def test_a_draft_is_kept_on_the_last_stage_alone(fill: Fill, make_layered: MakeModel) -> None:
    plain = fill(make_layered(), shape=split(pipeline=2)).stages
    more = gpus.terms(draft_layers=1, sampling=Bytes.gib(1))
    found = fill(make_layered(), shape=split(pipeline=2), terms=more).stages
    assert found[0] == plain[0]
    assert found[1].overhead == plain[1].overhead + GIB
    assert found[1].cache_per_token * 30 == plain[1].cache_per_token * 31
