"""Decoders with experts that attend over a latent: DeepSeek, and what is made like it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import (
    SCALE,
    Decoder,
    Weights,
    dense_first,
    indexed,
    latent,
    made,
    mixed,
    with_draft,
)


def deepseek(config: Configuration) -> Decoder:
    """DeepSeek V3, R1, V3.1, V3.2, Kimi K2, GLM 5: attention over a latent, experts after the first layers."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    first = dense_first(config, layers)
    width, common = config.positive("moe_intermediate_size"), config.number("n_shared_experts")
    attention, shared, whole = latent(config)
    sparse = layers - first
    experts, routed, routers = mixed(config, sparse, width=width)
    experts["shared"] = common
    indexer, indexes = None, 0
    if config.number("index_n_heads", default=0):
        indexer, indexes = indexed(config, layers)
    weights = Weights(
        experts=routed,
        attention=layers * shared,
        replicated=layers * whole + routers + indexes,
        dense=first * 3 * hidden * config.positive("intermediate_size")
        + sparse * common * 3 * hidden * width,
    )
    layer = (shared + whole, routed // max(1, sparse), routers // max(1, sparse))
    return made(
        config,
        attention,
        with_draft(config, weights, layer, common),
        experts=experts,
        dense_layers=first or None,
        dense_width=config.positive("intermediate_size") if first else None,
        indexer=indexer,
    )


def deepseek_v4(config: Configuration) -> Decoder:
    """DeepSeek V4: one latent head, a window on every layer, and compressed entries beside it on most."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    heads, dim = config.positive("num_attention_heads"), config.positive("head_dim")
    asked, low = config.positive("q_lora_rank"), config.positive("o_lora_rank")
    groups, width = config.positive("o_groups"), config.positive("moe_intermediate_size")
    ratios = [one for one in config.items("compress_ratios")[:layers] if isinstance(one, int)]
    if not ratios:
        config.missing.append("compress_ratios")
    counts = Counter(one for one in ratios if one > 0)
    finest = min(counts, default=0)
    size = config.positive("index_head_dim") if finest else 0
    compressors, kept = _compressors(config, counts, dim=dim, index=size)
    streams = config.number("hc_mult", default=1) or 1
    common = config.number("n_shared_experts")
    experts, routed, routers = mixed(config, layers, width=width)
    experts["shared"] = common
    shared = asked * heads * dim + heads * dim * low + groups * low * hidden
    indexer = None
    if finest:
        indexer = {"layers": counts[finest], "size": size + SCALE, "ratio": finest}
    weights = Weights(
        experts=routed,
        attention=layers * (shared + heads),
        replicated=layers * (hidden * (asked + dim) + asked + dim + 2 * hidden)
        + routers
        + compressors
        + _mixing(streams, hidden, layers),
        dense=layers * common * 3 * hidden * width,
    )
    layer = (shared, routed // layers, routers // layers)
    return made(
        config,
        {"kind": "mla", "heads": heads, "latent": dim},
        with_draft(config, weights, layer, common, own_tables=False),
        experts=experts,
        full_layers=0,
        windows=({"layers": layers, "tokens": config.positive("sliding_window")}, *kept),
        compressed=tuple({"layers": n, "ratio": ratio} for ratio, n in sorted(counts.items())),
        indexer=indexer,
        streams=streams if streams > 1 else None,
        notes={"windows": "the states of compressors are not verified"} if kept else {},
    )


def _compressors(
    config: Configuration, counts: Mapping[int, int], *, dim: int, index: int
) -> tuple[int, list[dict[str, Any]]]:
    """Weights of all compressors and indexes; and what they keep of tokens that they have not compressed yet.

    Keys, values and scores in four bytes each; the finest ones have two series, and an index (`engines §6.1`).
    """
    hidden, finest = config.positive("hidden_size"), min(counts, default=0)
    weights, kept = 0, []
    for ratio, layers in sorted(counts.items()):
        series = 2 if ratio == finest else 1
        wide = series * (dim + (index if ratio == finest else 0))
        each = 2 * hidden * wide + ratio * wide + wide // series
        if ratio == finest:
            heads = config.positive("index_n_heads")
            each += config.positive("q_lora_rank") * heads * index + hidden * heads
        weights += layers * each
        kept.append({"layers": layers, "tokens": series * ratio, "size": 2 * _FP32 * wide})
    return weights, kept


_FP32 = 4


def _mixing(streams: int, hidden: int, layers: int) -> int:
    """What mixes hidden states that layers carry side by side, at each half of a layer and at the end."""
    if streams == 1:
        return 0
    ways = (2 + streams) * streams
    half = ways * streams * hidden + ways + 3
    return 2 * layers * half + streams * streams * hidden + streams + 1
