"""Shipped model profiles: valid, with a source for each figure, and computed again here from the architecture."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml

from gangform.inputs.model import Architecture, ModelProfile

FOLDER = Path(__file__).parents[2] / "profiles" / "models"
FILES = sorted(FOLDER.glob("*.yaml"))
GIB = 2**30


def load(path: Path) -> ModelProfile:
    """The profile in a file, read by alias only, as the loader reads it."""
    return ModelProfile.model_validate(
        yaml.safe_load(path.read_text(encoding="utf-8")), by_alias=True, by_name=False
    )


def named(name: str) -> ModelProfile:
    """The shipped profile of that name."""
    return load(FOLDER / f"{name}.yaml")


def architecture_of(profile: ModelProfile) -> Architecture:
    """The architecture, which every shipped profile has."""
    assert profile.architecture is not None
    return profile.architecture


class Mla(NamedTuple):
    """What MLA has beyond the profile (`config.json`); the defaults are those of DeepSeek-V3 and Kimi-K2."""

    query_rank: int = 1536
    latent: int = 512
    rotary: int = 64
    unrotated: int = 128
    value: int = 128


GLM = Mla(query_rank=2048, unrotated=192, value=256)
LATENTS = {"glm-5-fp8": GLM, "glm-5.2-fp8": GLM}
INDEX_HEADS = {"deepseek-v3.2": 64, "glm-5-fp8": 32, "glm-5.2-fp8": 32}
"""Heads of 128 elements of the index of sparse attention."""
BESIDE = {
    "mistral-small-3.2": 439_000_000,
    "qwen3.5-397b": 456_000_000,
    "qwen3.6-27b": 456_000_000,
    "qwen3.6-35b-a3b": 456_000_000,
}
"""Encoders of images, as their published totals leave for them."""
OTHERWISE = {
    # Queries and outputs by low ranks in eight groups; compressors and an index on 41 and 21 layers.
    "deepseek-v4-flash": 43
    * (4096 * 1024 + 1024 * 64 * 512 + 4096 * 512 + 8 * 4096 * 1024 + 8 * 1024 * 4096)
    + 21 * (1024 * 64 * 128 + 4096 * 64 + 4096 * 1024 * 2 + 4096 * 256 * 2)
    + 20 * 4096 * 512 * 2,
    "deepseek-v4-pro": 61
    * (7168 * 1536 + 1536 * 128 * 512 + 7168 * 512 + 16 * 4096 * 1024 + 16 * 1024 * 7168)
    + 30 * (1536 * 64 * 128 + 7168 * 64 + 7168 * 1024 * 2 + 7168 * 256 * 2)
    + 31 * 7168 * 512 * 2,
    # Attention over a latent with a gate on 24 layers, a delta rule with a full gate on 69.
    "kimi-k3": 24
    * (
        1536 * (7168 + 96 * 192)
        + 7168 * 576
        + 512 * 96 * 256
        + 2 * 96 * 128 * 7168  # output and its gate
    )
    + 69 * (5 * 7168 * 12288 + 7168 * (128 + 96) + 128 * 12288),
    # Four heads of queries and one of keys for the index, 128 each.
    "minimax-m3": 60 * 2 * 6144 * 128 * (64 + 4) + 57 * 6144 * 5 * 128,
    # Layers that attend, and layers of Mamba: into gates, values, keys, queries and steps, and out.
    "nemotron-3-ultra": 12 * 2 * 8192 * 128 * (64 + 2)
    + 48 * (8192 * (16384 + 18432 + 256) + 16384 * 8192),
    "nemotron-3-super": 8 * 2 * 4096 * 128 * (32 + 2)
    + 40 * (4096 * (8192 + 10240 + 128) + 8192 * 4096),
    "nemotron-3-nano": 6 * 2 * 2688 * 128 * (32 + 2)
    + 23 * (2688 * (4096 + 6144 + 64) + 4096 * 2688),
    # One of four layers has queries with gates, the others are linear attention.
    "qwen3.5-397b": 15 * (4096 * 32 * 256 * 2 + 2 * 4096 * 2 * 256 + 32 * 256 * 4096)
    + 45 * (4096 * 20480 + 4096 * 128 + 12288 * 4 + 8192 * 4096),
    "qwen3.6-27b": 16 * (5120 * 24 * 256 * 2 + 2 * 5120 * 4 * 256 + 24 * 256 * 5120)
    + 48 * (5120 * 16384 + 5120 * 96 + 10240 * 4 + 6144 * 5120),
    "qwen3.6-35b-a3b": 10 * (2048 * 16 * 256 * 2 + 2 * 2048 * 2 * 256 + 16 * 256 * 2048)
    + 30 * (2048 * 12288 + 2048 * 64 + 8192 * 4 + 4096 * 2048),
}
"""Parameters of all attention where it is neither of the two kinds."""


class Routed(NamedTuple):
    """Experts that are no gate, up and down of the hidden size."""

    matrices: int
    inner: int
    """What an expert takes and gives."""
    beside: int
    """Parameters of a layer's shared experts, and of projections into the experts' space and back."""


ROUTED = {
    "kimi-k3": Routed(3, 3584, 2 * 3 * 7168 * 3072 + 2 * 7168 * 3584),
    "nemotron-3-ultra": Routed(2, 2048, 2 * 8192 * (10240 + 2048)),
    "nemotron-3-super": Routed(2, 1024, 2 * 4096 * (5376 + 1024)),
    "nemotron-3-nano": Routed(2, 2688, 2 * 2688 * 3712),
}
WIDTHS = {
    "fp8": Fraction(1),
    "bf16": Fraction(2),
    "int4": Fraction(9, 16),
    "mxfp4": Fraction(17, 32),
}


def attention_weights(profile: ModelProfile) -> int:
    """Parameters of all attention, norms left out."""
    arch = architecture_of(profile)
    attention, hidden = arch.attention, arch.hidden
    if profile.name in OTHERWISE:
        return OTHERWISE[profile.name]
    if attention.kind == "mla":
        mla = LATENTS.get(profile.name, Mla())
        query = mla.query_rank * (hidden + attention.heads * (mla.unrotated + mla.rotary))
        down = hidden * (mla.latent + mla.rotary)
        up = mla.latent * attention.heads * (mla.unrotated + mla.value)
        layer = query + down + up + attention.heads * mla.value * hidden
        heads = INDEX_HEADS.get(profile.name, 0)
        index = mla.query_rank * heads * 128 + hidden * 128 + hidden * heads
        indexed = arch.indexer.layers if arch.indexer else 0
        return arch.layers * layer + indexed * index
    assert attention.kv_heads is not None
    assert attention.head_dim is not None
    return arch.layers * 2 * hidden * attention.head_dim * (attention.heads + attention.kv_heads)


def sparse_layers(arch: Architecture) -> int:
    """Layers with experts."""
    if arch.experts is None:
        return 0
    return arch.experts.layers or arch.layers - (arch.dense_layers or 0)


def expert_weights(profile: ModelProfile) -> int:
    """Parameters of all routed experts."""
    arch = architecture_of(profile)
    if arch.experts is None:
        return 0
    kind = ROUTED.get(profile.name, Routed(3, arch.hidden, 0))
    each = kind.matrices * kind.inner * arch.experts.width
    return sparse_layers(arch) * arch.experts.routed * each


def linear_weights(profile: ModelProfile) -> int:
    """Parameters of all matrices inside the blocks, routers left out: what a quantised checkpoint quantises."""
    arch = architecture_of(profile)
    dense = arch.dense_layers
    if dense is None:
        dense = 0 if arch.experts else arch.layers
    total = attention_weights(profile) + expert_weights(profile)
    total += dense * 3 * arch.hidden * (arch.dense_width or 0)
    if profile.name in ROUTED:
        total += sparse_layers(arch) * ROUTED[profile.name].beside
    elif arch.experts is not None:
        shared = arch.experts.shared * arch.experts.width
        total += (arch.layers - dense) * 3 * arch.hidden * shared
    return total + BESIDE.get(profile.name, 0)


def table_weights(arch: Architecture) -> int:
    """Parameters of the embedding and the head, which no shipped model ties."""
    return 2 * arch.vocabulary * arch.hidden


def cache_bytes_per_token(arch: Architecture) -> int:
    """Cache of one token over all layers and heads, 16 bits an element (`engines §6.1`)."""
    attention = arch.attention
    if attention.kind == "mla":
        assert attention.latent is not None
        return arch.layers * attention.latent * 2
    assert attention.kv_heads is not None
    assert attention.head_dim is not None
    return arch.layers * 2 * attention.kv_heads * attention.head_dim * 2


def near(value: int, wanted: int | Fraction, tolerance: str) -> bool:
    """Whether two figures differ by no more than a share of the wanted one."""
    return abs(Fraction(value) - wanted) <= Fraction(tolerance) * wanted


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_name_is_the_files_name(path: Path) -> None:
    assert load(path).name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_figure_has_a_source(path: Path) -> None:
    profile = load(path)
    figures = {"weights", "checkpoint", "parameters", "contextLimit", "architecture"}
    if profile.quantization_block is not None:
        figures.add("quantizationBlock")
    if profile.expert_parameters:
        figures.add("expertParameters")
    if profile.draft:
        figures.add("draft")
    if profile.tensors.model_fields_set:
        figures.add("tensors")
    # A part of a figure may have a source of its own.
    assert {key.partition(".")[0] for key in profile.sources} == figures <= set(profile.sources)
    assert all(profile.sources.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_calculated_figures_say_so(path: Path) -> None:
    profile = load(path)
    assert profile.sources["parameters"].startswith("calculated")
    assert "calculat" in profile.sources["checkpoint"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_parameters_follow_from_the_architecture(path: Path) -> None:
    profile = load(path)
    arch = architecture_of(profile)
    assert profile.parameters is not None
    assert near(profile.parameters, linear_weights(profile) + table_weights(arch), "0.005")
    # The experts of gpt-oss have biases too.
    assert near(profile.expert_parameters, expert_weights(profile), "0.0004")
    assert profile.expert_parameters < profile.parameters


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("deepseek-r1", "671.0"),
        ("deepseek-v3.2", "671.9"),
        ("deepseek-v4-flash", "284"),
        # With the layer for multi-token prediction 1599, as published; 2.8 T is said of Kimi-K3.
        ("deepseek-v4-pro", "1573"),
        ("kimi-k3", "2780"),
        ("minimax-m3", "426"),
        ("nemotron-3-ultra", "549.3"),
        ("nemotron-3-super", "120.7"),
        ("nemotron-3-nano", "31.6"),
        ("glm-4.7", "352.8"),
        ("glm-4.7-fp8", "352.8"),
        ("glm-5-fp8", "743.9"),
        ("glm-5.2-fp8", "743.4"),
        ("gpt-oss-120b", "116.8"),
        ("gpt-oss-20b", "20.9"),
        ("kimi-k2-thinking", "1026.4"),
        ("llama-4-maverick", "400.7"),
        ("minimax-m2.7", "228.7"),
        ("mixtral-8x22b", "140.6"),
        ("mistral-small-3.2", "24.0"),
        ("qwen2.5-7b", "7.62"),
        ("qwen3-14b", "14.77"),
        ("qwen3-30b-a3b", "30.53"),
        ("qwen3-8b", "8.19"),
        ("qwen3.5-397b", "397"),
        ("qwen3.6-27b", "27.4"),
        ("qwen3.6-35b-a3b", "35.1"),
        ("kimi-k2", "1026.4"),
        ("llama-3.1-405b", "405.9"),
        ("llama-3.1-405b-fp8", "405.9"),
        ("llama-3.1-8b", "8.03"),
        ("llama-3.3-70b", "70.6"),
        ("llama-3.3-70b-fp8", "70.6"),
        ("qwen3-235b", "235.1"),
        ("qwen3-235b-fp8", "235.1"),
        ("qwen3-32b", "32.8"),
        ("qwen3-coder-480b", "480.2"),
        ("qwen3-coder-480b-fp8", "480.2"),
    ],
)
def test_parameters_are_the_published_total(name: str, billions: str) -> None:
    parameters = named(name).parameters
    assert parameters is not None
    assert near(parameters, Fraction(billions) * 10**9, "0.002")


def test_every_profile_is_compared_with_a_published_total() -> None:
    compared = test_parameters_are_the_published_total.pytestmark[0].args[1]  # type: ignore[attr-defined]
    assert {name for name, _ in compared} == {path.stem for path in FILES}


def checkpoint_of(profile: ModelProfile) -> Fraction:
    """What the weights take in their formats, without a layer for multi-token prediction."""
    arch = architecture_of(profile)
    linear, tables = linear_weights(profile), table_weights(arch)
    if profile.weights == "bf16":
        return Fraction(2 * (linear + tables))
    if profile.quantization_block is not None:
        return linear * (1 + Fraction(4, profile.quantization_block**2)) + 2 * tables
    experts = expert_weights(profile)
    stored = profile.tensors
    others = stored.attention or stored.replicated
    width = WIDTHS["fp8" if others is None or others.format is None else others.format]
    return experts * WIDTHS[profile.weights] + (linear - experts) * width + 2 * tables


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_checkpoint_is_parameters_in_their_formats(path: Path) -> None:
    profile = load(path)
    # Biases of the experts of gpt-oss and routers are the larger part of the difference.
    assert near(profile.checkpoint - profile.draft, checkpoint_of(profile), "0.003")


def test_the_draft_is_a_block_a_projection_and_its_own_tables() -> None:
    profile = named("deepseek-r1")
    arch = architecture_of(profile)
    layer = attention_weights(profile) // arch.layers + 257 * 3 * arch.hidden * 2048
    expected = layer * (1 + Fraction(4, 128**2)) + 2 * (2 * arch.hidden**2 + table_weights(arch))
    assert near(profile.draft, expected, "0.01")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_classes_of_tensors_are_parts_of_the_checkpoint(path: Path) -> None:
    profile = load(path)
    stored = profile.tensors
    sizes = [one.size for one in (stored.experts, stored.replicated, stored.attention) if one]
    assert sum(sizes) <= profile.checkpoint - profile.draft
    if stored.experts is not None and stored.experts.held is None:
        share = Fraction(profile.expert_parameters, profile.parameters or 1)
        assert stored.experts.size <= profile.checkpoint * share * Fraction("1.01")


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("llama-3.1-8b", "14.99"),
        ("llama-3.3-70b-fp8", "67.72"),
        ("qwen3-32b", "61.03"),
        ("qwen3-8b", "15.27"),
        ("qwen3-14b", "27.52"),
        ("mistral-small-3.2", "44.76"),
    ],
)
def test_the_checkpoint_is_what_vllm_printed_for_one_gpu(name: str, printed: str) -> None:
    """Printed weights at tensor 1 (`engines §5.2`)."""
    assert near(named(name).checkpoint, Fraction(printed) * GIB, "0.003")


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("deepseek-r1", 70_272),
        ("kimi-k2", 70_272),
        ("llama-3.1-405b", 516_096),
        ("llama-3.1-405b-fp8", 516_096),
        ("qwen3-coder-480b", 253_952),
        ("qwen3-coder-480b-fp8", 253_952),
        ("qwen3-235b", 192_512),
        ("qwen3-235b-fp8", 192_512),
        ("llama-3.1-8b", 131_072),
        ("kimi-k2-thinking", 70_272),
        ("glm-4.7", 376_832),
        ("minimax-m2.7", 253_952),
        ("minimax-m3", 122_880),
        ("qwen3-14b", 163_840),
        ("mistral-small-3.2", 163_840),
    ],
)
def test_cache_bytes_per_token_are_those_of_the_logs(name: str, size: int) -> None:
    """`engines §5.2`; the last from 58.11 GiB for 476,000 tokens (`engines §6.4`)."""
    assert cache_bytes_per_token(architecture_of(named(name))) == size


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_blocks_cover_what_they_quantise(path: Path) -> None:
    profile = load(path)
    if profile.quantization_block is None:
        return
    arch = architecture_of(profile)
    assert profile.weights == "fp8"
    assert arch.hidden % profile.quantization_block == 0
    assert arch.experts is None or arch.experts.width % profile.quantization_block == 0


QUANTISED = [
    path.stem
    for path in FILES
    if path.stem.endswith("-fp8") and (FOLDER / f"{path.stem[:-4]}.yaml").exists()
]


@pytest.mark.parametrize("name", QUANTISED)
def test_a_quantised_profile_has_the_shape_of_its_original(name: str) -> None:
    quantised, original = named(name), named(name.removesuffix("-fp8"))
    assert quantised.architecture == original.architecture
    assert quantised.parameters == original.parameters
    assert quantised.expert_parameters == original.expert_parameters
    assert quantised.context_limit == original.context_limit
    assert quantised.checkpoint < original.checkpoint
