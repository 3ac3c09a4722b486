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
    """What MLA has beyond the profile; the same for DeepSeek-V3 and Kimi-K2 (`config.json`)."""

    query_rank: int = 1536
    latent: int = 512
    rotary: int = 64
    unrotated: int = 128
    value: int = 128


def attention_weights(arch: Architecture) -> int:
    """Parameters of one layer's attention, norms left out."""
    attention, hidden = arch.attention, arch.hidden
    if attention.kind == "mla":
        mla = Mla()
        query = mla.query_rank * (hidden + attention.heads * (mla.unrotated + mla.rotary))
        down = hidden * (mla.latent + mla.rotary)
        up = mla.latent * attention.heads * (mla.unrotated + mla.value)
        return query + down + up + attention.heads * mla.value * hidden
    assert attention.kv_heads is not None
    assert attention.head_dim is not None
    return 2 * hidden * attention.head_dim * (attention.heads + attention.kv_heads)


def expert_weights(arch: Architecture) -> int:
    """Parameters of all routed experts."""
    if arch.experts is None:
        return 0
    layers = arch.layers - (arch.dense_layers or 0)
    return layers * arch.experts.routed * 3 * arch.hidden * arch.experts.width


def linear_weights(arch: Architecture) -> int:
    """Parameters of all matrices inside the blocks, routers left out: what a quantised checkpoint quantises."""
    dense = arch.dense_layers
    if dense is None:
        dense = 0 if arch.experts else arch.layers
    total = arch.layers * attention_weights(arch) + expert_weights(arch)
    total += dense * 3 * arch.hidden * (arch.dense_width or 0)
    if arch.experts is not None:
        shared = arch.experts.shared * arch.experts.width
        total += (arch.layers - dense) * 3 * arch.hidden * shared
    return total


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
    assert set(profile.sources) == figures
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
    assert near(profile.parameters, linear_weights(arch) + table_weights(arch), "0.005")
    assert profile.expert_parameters == expert_weights(arch)
    assert profile.expert_parameters < profile.parameters


@pytest.mark.parametrize(
    ("name", "billions"),
    [
        ("deepseek-r1", "671.0"),
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


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_checkpoint_is_parameters_in_their_formats(path: Path) -> None:
    profile = load(path)
    arch = architecture_of(profile)
    linear, tables = linear_weights(arch), table_weights(arch)
    if profile.weights == "bf16":
        expected = Fraction(2 * (linear + tables))
    elif profile.quantization_block is not None:
        expected = linear * (1 + Fraction(4, profile.quantization_block**2)) + 2 * tables
    else:
        expected = Fraction(linear + 2 * tables)
    if profile.name == "deepseek-r1":
        # The layer for multi-token prediction: a block, a projection from two hidden states, and its own tables.
        one = arch.model_copy(update={"layers": 1, "dense_layers": 0})
        expected += linear_weights(one) + 2 * (2 * arch.hidden**2 + tables)
    assert near(profile.checkpoint, expected, "0.001")


@pytest.mark.parametrize(
    ("name", "printed"),
    [
        ("llama-3.1-8b", "14.99"),
        ("llama-3.3-70b-fp8", "67.72"),
        ("qwen3-32b", "61.03"),
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


@pytest.mark.parametrize("name", [path.stem for path in FILES if path.stem.endswith("-fp8")])
def test_a_quantised_profile_has_the_shape_of_its_original(name: str) -> None:
    quantised, original = named(name), named(name.removesuffix("-fp8"))
    assert quantised.architecture == original.architecture
    assert quantised.parameters == original.parameters
    assert quantised.expert_parameters == original.expert_parameters
    assert quantised.context_limit == original.context_limit
    assert quantised.checkpoint < original.checkpoint
