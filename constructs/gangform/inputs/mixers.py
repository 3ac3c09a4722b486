"""Layers that stand in the place of attention and keep a state: their weights, and what the state takes.

States are what the engine keeps for one request: the recurrent part in the number format that the configuration
names, the last inputs of the convolution in bf16.
"""

from __future__ import annotations

from typing import NamedTuple

from gangform.inputs.configuration import Configuration

_BF16 = 2
_FP32 = 4


class Mixer(NamedTuple):
    """One layer."""

    shared: int
    """Weights that tensor ranks share."""
    whole: int
    """Small weights that every rank keeps."""
    state: int
    """Bytes a request, at tensor 1."""


def _element(named: str) -> int:
    return _FP32 if named in ("float32", "fp32", "") else _BF16


def delta_net(config: Configuration) -> Mixer:
    """The gated delta net of Qwen: queries and keys alike, more heads of values."""
    hidden, kernel = config.positive("hidden_size"), config.positive("linear_conv_kernel_dim")
    key = config.positive("linear_num_key_heads") * config.positive("linear_key_head_dim")
    heads, dim = config.positive("linear_num_value_heads"), config.positive("linear_value_head_dim")
    value, mixed = heads * dim, 2 * key + heads * dim
    recurrent = heads * config.positive("linear_key_head_dim") * dim
    return Mixer(
        shared=hidden * (mixed + value + 2 * heads) + mixed * kernel + value * hidden + 2 * heads,
        whole=dim,
        state=recurrent * _element(config.word("mamba_ssm_dtype")) + mixed * (kernel - 1) * _BF16,
    )


def mamba(config: Configuration) -> Mixer:
    """Mamba 2 as Nemotron has it."""
    hidden, kernel = config.positive("hidden_size"), config.positive("conv_kernel")
    heads, dim = config.positive("mamba_num_heads"), config.positive("mamba_head_dim")
    inner, wide = heads * dim, config.positive("ssm_state_size")
    mixed = inner + 2 * config.positive("n_groups") * wide
    convolution = mixed * (kernel + config.flag("use_conv_bias", default=True))
    return Mixer(
        shared=hidden * (inner + mixed + heads) + convolution + inner + 3 * heads + inner * hidden,
        whole=0,
        state=inner * wide * _element(config.word("mamba_ssm_cache_dtype"))
        + mixed * (kernel - 1) * _BF16,
    )


def kimi_delta(linear: Configuration, hidden: int) -> Mixer:
    """The delta attention of Kimi: queries, keys, values, gate and output of one size, a decay of low rank.

    linear: the part of the configuration about it.
    """
    heads, dim = linear.positive("num_heads"), linear.positive("head_dim")
    kernel, inner = linear.positive("short_conv_kernel_size"), heads * dim
    gate = hidden * inner if linear.flag("use_full_rank_gate") else dim * (hidden + inner)
    return Mixer(
        shared=4 * hidden * inner
        + gate
        + hidden * heads
        + 3 * inner * kernel
        + dim * inner
        + inner,
        whole=hidden * dim + dim + heads,
        state=heads * dim * dim * _FP32 + 3 * inner * (kernel - 1) * _BF16,
    )
