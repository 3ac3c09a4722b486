"""vLLM's checks of a shape and a model; every refusal with a neighbour that is accepted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.engines.vllm_requests import A100, DENSE, EXPERTS_1536, ask, ids, model, only, place

from gangform.engines.vllm import Vllm
from gangform.findings import Severity
from gangform.inputs.model import Experts, Measured, ModelProfile
from gangform.units import Bytes


def test_a_sound_request_has_no_finding() -> None:
    assert ids(ask()) == []
    assert ids(ask(pipeline=2)) == []
    assert ids(ask(DENSE, kv_cache_type="fp8", utilization=Decimal("0.9"))) == []


def test_tensor_3_does_not_divide_64_heads() -> None:
    """r02-e."""
    profile = model(heads=64, block=None, vocabulary=192, dense_width=None, dense_layers=0)
    found = only(ask(profile, tensor=3), "tensor-does-not-divide-heads")
    assert found.what == "tensor 3 does not divide 64 attention heads"
    assert found.fix == "use tensor 2 or 4"
    assert place(found) == "parallelism.tensor"
    assert ids(ask(profile, tensor=4)) == []


def test_tensor_5_divides_heads_and_not_the_vocabulary() -> None:
    profile = model(
        weights="bf16", block=None, heads=40, kv_heads=8, vocabulary=151936, dense_layers=None
    )
    found = only(ask(profile, tensor=5), "tensor-does-not-divide-vocabulary")
    assert found.fix == "use tensor 4 or 8"
    assert ids(ask(profile, tensor=4)) == []


def test_key_value_heads_are_cut_or_copied_evenly() -> None:
    profile = model(
        weights="bf16", block=None, heads=96, kv_heads=8, vocabulary=1200, dense_layers=None
    )
    assert ids(ask(profile, tensor=6)) == ["tensor-does-not-divide-kv-heads"]
    assert ids(ask(profile, tensor=4)) == []
    assert ids(ask(profile, tensor=16)) == []


@pytest.mark.parametrize(("tensor", "fits"), [(8, True), (16, True), (32, False)])
def test_dense_layers_in_blocks_of_128(tensor: int, fits: bool) -> None:
    """r02-a."""
    found = list(Vllm().check(ask(model(), tensor=tensor)))
    if fits:
        assert found == []
        return
    (one,) = found
    assert one.code.id == "fp8-block-is-cut"
    assert one.code.severity is Severity.BREAKS
    assert one.what == "dense layers: 18432 over 32 ranks is 576 = 4.5 blocks of 128"
    assert one.fix == "use tensor 16"


def test_experts_of_1536_are_cut_by_tensor_8() -> None:
    """r02-b."""
    found = only(ask(EXPERTS_1536), "fp8-block-is-cut")
    assert found.what == "experts: 1536 over 8 ranks is 192 = 1.5 blocks of 128"
    assert found.fix == (
        "use tensor 4, or set parallelism.expertParallel: true, which keeps experts whole"
    )
    assert ids(ask(EXPERTS_1536, tensor=4)) == []


def test_expert_parallelism_keeps_experts_whole() -> None:
    """r02-c."""
    assert ids(ask(EXPERTS_1536, expert_parallel=True)) == []


def test_data_parallel_ranks_cut_experts_too() -> None:
    two = ask(EXPERTS_1536, tensor=4, data=2, size=1)
    assert ids(two) == ["fp8-block-is-cut"]
    assert ids(two._replace(shape=two.shape._replace(expert_parallel=True))) == []


def test_blocks_hold_for_shared_experts_and_key_value_heads() -> None:
    shared = model(
        dense_width=None,
        dense_layers=0,
        experts=Experts(routed=384, active=6, width=3072, shared=1),
    )
    found = only(ask(shared, tensor=16, expert_parallel=True), "fp8-block-is-cut")
    assert found.what.startswith("shared experts: 3072 over 16 ranks is 192")
    assert ids(ask(shared, tensor=8, expert_parallel=True)) == []
    narrow = model(heads=64, kv_heads=8, head_dim=64, dense_layers=None)
    assert ids(ask(narrow, tensor=8)) == ["fp8-block-is-cut"]
    assert ids(ask(narrow, tensor=4)) == []


def test_160_experts_over_12_ranks_are_refused() -> None:
    """r02-d, first."""
    profile = model(
        weights="bf16",
        block=None,
        heads=96,
        kv_heads=4,
        vocabulary=151932,
        experts=Experts(routed=160, active=8, width=1536),
    )
    request = ask(profile, tensor=12, expert_parallel=True)
    found = only(request, "experts-do-not-divide")
    assert found.what == "160 experts over 12 ranks is 13.33 a rank"
    assert place(found) == "parallelism.expertParallel"
    assert "8 redundant experts" in found.fix
    assert "experts-do-not-divide" not in ids(ask(profile, tensor=4, expert_parallel=True))


@pytest.mark.parametrize(
    "args",
    [
        ("--enable-eplb", '--eplb-config={"num_redundant_experts": 8}'),
        ("--enable-eplb", "--eplb-config", '{"num_redundant_experts": 8}'),
        ("--enable-eplb", "--eplb-config.num_redundant_experts=8"),
    ],
)
def test_256_experts_and_8_redundant_fit_24_ranks(args: tuple[str, ...]) -> None:
    """r02-d, second."""
    request = ask(version="0.33.0", tensor=1, data=24, expert_parallel=True)
    assert ids(request) == ["experts-do-not-divide"]
    spare = request._replace(options=request.options.model_copy(update={"args": args}))
    assert ids(spare) == ["engine-args-change-memory"]


def test_redundant_experts_want_the_balancer() -> None:
    args = ("--eplb-config.num_redundant_experts=8",)
    assert ids(ask(args=args)) == ["engine-args-conflict"]


def test_a_dense_model_has_no_data_or_expert_parallelism() -> None:
    found = only(ask(DENSE, tensor=4, data=2), "no-experts")
    assert found.fix == "set parallelism.data: 1 and 2 times the groups"
    assert ids(ask(DENSE, expert_parallel=True)) == ["no-experts"]
    assert ids(ask(tensor=4, data=2)) == []


def test_data_ranks_fill_pods() -> None:
    assert "data-rank-cuts-pod" in ids(ask(version="0.33", tensor=4, pipeline=3, data=2))
    assert ids(ask(version="0.33", tensor=8, pipeline=2, data=2)) == []
    assert ids(ask(version="0.33", tensor=4, data=4)) == []


def test_decode_context_divides_tensor() -> None:
    found = only(ask(decode_context=3), "decode-context-does-not-fit")
    assert place(found) == "parallelism.decodeContext"
    assert found.fix == "use decodeContext 2"
    assert ids(ask(decode_context=8)) == []


def test_decode_context_uses_copied_heads_only() -> None:
    found = only(ask(DENSE, decode_context=2), "decode-context-does-not-fit")
    assert found.fix == "use decodeContext 1"
    assert ids(ask(EXPERTS_1536, decode_context=2, expert_parallel=True)) == []


def test_prefill_context_and_data_exclude_each_other() -> None:
    found = only(
        ask(version="0.33", tensor=2, data=2, prefill_context=2), "prefill-context-with-data"
    )
    assert place(found) == "parallelism.prefillContext"
    assert ids(ask(version="0.33", tensor=4, prefill_context=2)) == []


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.11.0", ["release-cannot-span-nodes"]),
        ("0.11.1", ["release-miscounts-devices"]),
        ("0.12.0", ["release-miscounts-devices"]),
        ("0.13.0", ["release-not-recommended"]),
        ("0.21.0", ["release-not-recommended"]),
        ("0.22.0", []),
        ("0.40.0", []),
    ],
)
def test_groups_need_a_release(version: str, expected: list[str]) -> None:
    assert ids(ask(pipeline=2, version=version)) == expected
    assert ids(ask(version=version)) == []


def test_a_flag_newer_than_the_release_names_its_input() -> None:
    prefill = only(ask(version="0.22.0", tensor=4, prefill_context=2), "flag-newer-than-release")
    assert place(prefill) == "parallelism.prefillContext"
    assert "0.33" in prefill.what and "0.22" in prefill.what
    data = only(ask(version="0.32.0", data=2, expert_parallel=True), "flag-newer-than-release")
    assert place(data) == "parallelism.data"
    assert ids(ask(version="0.33.0", data=2, expert_parallel=True)) == []
    decode = only(ask(version="0.11.0", decode_context=2), "flag-newer-than-release")
    assert place(decode) == "parallelism.decodeContext"


@pytest.mark.parametrize(("pods", "offered"), [(1, "570.2 GiB"), (2, "1,140.5 GiB")])
def test_fp8_on_gpus_without_its_units_is_said_with_both_figures(pods: int, offered: str) -> None:
    """h36-p."""
    profile = model(
        block=None,
        heads=96,
        kv_heads=8,
        vocabulary=151936,
        dense_layers=0,
        parameters=480_200_000_000,
        experts=Experts(routed=160, active=8, width=2560),
    )
    request = ask(profile, pipeline=pods, hardware=A100, utilization=Decimal("0.9"))
    found = only(request, "fp8-without-native-units")
    assert found.code.severity is Severity.DEGRADES
    for figure in ("447.2 GiB", "894.4 GiB", offered, "8.0"):
        assert figure in found.what
    assert place(found) == "pool"
    assert ids(ask(profile)) == []
    assert ids(request._replace(model=profile.model_copy(update={"weights": "bf16"}))) == []


def test_a_context_beyond_the_model_is_refused_unless_stretched() -> None:
    found = only(ask(context=163841), "context-beyond-model")
    assert found.fix.startswith("use context 163840 or less")
    assert ids(ask(context=163840)) == []
    assert ids(ask(context=200000, args=('--hf-overrides={"rope_scaling": {}}',))) == []


@pytest.mark.parametrize(
    ("share", "unusual"), [("0.99", True), ("0.98", True), ("0.97", False), ("0.3", True)]
)
def test_an_unusual_utilization_is_said(share: str, unusual: bool) -> None:
    assert ids(ask(utilization=Decimal(share))) == ["utilization-unusual"] * unusual


def test_all_of_a_gpu_is_refused_and_nearly_all_is_said() -> None:
    found = only(ask(utilization=Decimal(1)), "utilization-beyond-free")
    assert found.breaks and "0.85 to 0.95" in found.fix
    assert ids(ask(utilization=Decimal("0.99"))) == ["utilization-unusual"]
    assert "utilization-unusual" in ids(ask(utilization=Decimal(1), version="0.8.5"))


def test_a_model_of_unknown_architecture_is_checked_as_far_as_it_goes() -> None:
    measured = ModelProfile(
        name="m",
        repository="org/m",
        weights="bf16",
        checkpoint=Bytes.gib(100),
        context_limit=8192,
        measured=Measured(weights_per_gpu=Bytes.gib(12), kv_bytes_per_token=4096),
    )
    assert ids(ask(measured, tensor=7, context=8192)) == []
    assert ids(ask(measured, tensor=7, context=9000)) == ["context-beyond-model"]
