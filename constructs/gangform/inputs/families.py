"""From a published configuration to the shape of its decoder: one function for models that are made alike.

Counts are sums over the matrices that the models' own code makes; what was published is the check: 671.0, 1026, 405.8,
235.1, 480.2, 400.7, 116.8, 140.6 billion weights (`engines §5`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial

from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import (
    SCALE,
    Decoder,
    Weights,
    grouped,
    indexed,
    latent,
    made,
    mixed,
    with_draft,
)
from gangform.inputs.mixers import delta_net, kimi_delta, mamba
from gangform.units import Bytes


def decoder(config: Configuration) -> Decoder | None:
    """The decoder of a configuration; `None` for a class that nobody described here. Ask it what was missing."""
    for name in config.classes:
        if name in FAMILIES:
            return FAMILIES[name](config)
    return None


def _dense(config: Configuration, *, norms: int | None = 0) -> Decoder:
    """Llama, Mistral, Qwen 2 and 3."""
    layers, width = config.positive("num_hidden_layers"), config.positive("intermediate_size")
    bias = config.flag("attention_bias") or "Qwen2ForCausalLM" in config.classes
    attention, shared, small = grouped(config, bias=bias, norms=norms)
    weights = Weights(
        attention=layers * shared,
        replicated=layers * small,
        dense=layers * 3 * config.positive("hidden_size") * width,
    )
    windows = None
    if config.flag("use_sliding_window") or (
        config.word("model_type") == "mistral" and config.number("sliding_window", default=0)
    ):
        full = config.number("max_window_layers", default=0)
        tokens = config.positive("sliding_window")
        windows = ({"layers": layers - full, "tokens": tokens},) if layers > full else None
    return made(config, attention, weights, dense_width=width, windows=windows)


def _mixture(config: Configuration) -> Decoder:
    """Mixtral, Qwen 3 with experts, GLM 4.5 to 4.7, MiniMax M2: keys and values per head."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    kind = config.word("model_type")
    first = min(layers, config.number("first_k_dense_replace", default=0))
    width = config.positive("moe_intermediate_size", "intermediate_size")
    norms = None if "qwen3" in kind or config.flag("use_qk_norm") else 0
    if kind == "minimax_m2":
        heads, dim = config.positive("num_attention_heads"), config.positive("head_dim")
        norms = (heads + config.positive("num_key_value_heads")) * dim
    attention, shared, small = grouped(config, bias=config.flag("attention_bias"), norms=norms)
    sparse = layers - first
    experts, routed, routers = mixed(config, sparse, width=width)
    if kind == "mixtral" or "qwen3" in kind:
        routers -= sparse * experts["routed"]  # without the bias of the others
    common = config.number("n_shared_experts", default=0)
    dense = first * 3 * hidden * (config.positive("intermediate_size") if first else 0)
    weights = Weights(
        experts=routed,
        attention=layers * shared,
        replicated=layers * small + routers,
        dense=dense + sparse * common * 3 * hidden * width,
    )
    if common:
        experts["shared"] = common
    return made(
        config,
        attention,
        with_draft(
            config,
            weights,
            (shared + small, routed // max(1, sparse), routers // max(1, sparse)),
            common,
        ),
        experts=experts,
        dense_layers=first or None,
        dense_width=config.positive("intermediate_size") if first else None,
    )


def _deepseek(config: Configuration) -> Decoder:
    """DeepSeek V3, R1, V3.1, V3.2, Kimi K2, GLM 5: attention over a latent, experts after the first layers."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    first = min(layers, config.number("first_k_dense_replace"))
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


def _deepseek_v4(config: Configuration) -> Decoder:
    """DeepSeek V4: one latent head, a window on every layer, and compressed entries beside it on most."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    heads, dim = config.positive("num_attention_heads"), config.positive("head_dim")
    asked, low = config.positive("q_lora_rank"), config.positive("o_lora_rank")
    groups, width = config.positive("o_groups"), config.positive("moe_intermediate_size")
    ratios = [one for one in config.items("compress_ratios")[:layers] if isinstance(one, int)]
    if not ratios:
        config.missing.append("compress_ratios")
    counts = Counter(one for one in ratios if one > 0)
    common = config.number("n_shared_experts")
    experts, routed, routers = mixed(config, layers, width=width)
    experts["shared"] = common
    shared = asked * heads * dim + heads * dim * low + groups * low * hidden
    finest = min(counts, default=0)
    indexer = None
    if finest:
        size = config.positive("index_head_dim") + SCALE
        indexer = {"layers": counts[finest], "size": size, "ratio": finest}
    weights = Weights(
        experts=routed,
        attention=layers * shared,
        replicated=layers * (hidden * (asked + dim) + asked + dim + 2 * hidden) + routers,
        dense=layers * common * 3 * hidden * width,
    )
    layer = (shared, routed // layers, routers // layers)
    return made(
        config,
        {"kind": "mla", "heads": heads, "latent": dim},
        with_draft(config, weights, layer, common),
        experts=experts,
        full_layers=0,
        windows=({"layers": layers, "tokens": config.positive("sliding_window")},),
        compressed=tuple({"layers": n, "ratio": ratio} for ratio, n in sorted(counts.items())),
        indexer=indexer,
        exact=False,
    )


def _minimax_m3(config: Configuration) -> Decoder:
    """MiniMax M3: keys and values per head; which layers have experts is listed."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    frequency = config.items("moe_layer_freq")
    first = min(layers, frequency.count(0) or config.number("first_k_dense_replace", default=0))
    width = config.positive("moe_intermediate_size", "intermediate_size")
    dense_width = config.positive("dense_intermediate_size")
    common = config.number("n_shared_experts")
    attention, shared, small = grouped(config)
    sparse = layers - first
    experts, routed, routers = mixed(config, sparse, width=width)
    experts["shared"] = common
    weights = Weights(
        experts=routed,
        attention=layers * shared,
        replicated=layers * small + routers,
        dense=3 * hidden * (first * dense_width + sparse * common * width),
    )
    return made(
        config,
        attention,
        weights,
        experts=experts,
        dense_layers=first or None,
        dense_width=dense_width if first else None,
        exact=False,
    )


def _gpt_oss(config: Configuration) -> Decoder:
    """The gpt-oss models: biases everywhere, sinks, a window on every second layer."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    width = config.positive("intermediate_size")
    attention, shared, _ = grouped(config, bias=True, norms=0)
    # The output's bias and one sink a head.
    shared += hidden + attention["heads"]
    experts, routed, routers = mixed(config, layers, width=width)
    routed += layers * experts["routed"] * (2 * width + hidden)
    weights = Weights(
        experts=routed, attention=layers * shared, replicated=layers * 2 * hidden + routers
    )
    windowed = config.items("layer_types").count("sliding_attention")
    windows = None
    if windowed:
        windows = ({"layers": windowed, "tokens": config.positive("sliding_window")},)
    return made(config, attention, weights, experts=experts, windows=windows)


def _llama4(config: Configuration) -> Decoder:
    """Llama 4: experts on every n-th layer, each with one for every token; chunks on three of four layers."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    step = config.positive("interleave_moe_layer_step", default=1)
    listed = config.items("moe_layers")
    sparse = min(layers, len(listed)) if listed else layers // step
    width, dense_width = (
        config.positive("intermediate_size"),
        config.positive("intermediate_size_mlp"),
    )
    attention, shared, small = grouped(config, bias=config.flag("attention_bias"), norms=0)
    experts, routed, routers = mixed(config, sparse, width=width)
    routers -= sparse * experts["routed"]
    experts["shared"] = 1
    if sparse < layers:
        experts["layers"] = sparse
    weights = Weights(
        experts=routed,
        attention=layers * shared,
        replicated=layers * small + routers,
        dense=3 * hidden * (sparse * width + (layers - sparse) * dense_width),
    )
    whole = config.items("no_rope_layers").count(0) or layers // _WHOLE_EVERY
    chunk = config.number("attention_chunk_size", default=0)
    return made(
        config,
        attention,
        weights,
        experts=experts,
        dense_width=dense_width if sparse < layers else None,
        windows=({"layers": layers - whole, "tokens": chunk},) if chunk else None,
    )


_WHOLE_EVERY = 4
"""`no_rope_layer_interval` of Llama 4, by default: such a layer sees everything, the others their chunk."""


def _qwen_next(config: Configuration) -> Decoder:
    """Qwen 3.5 and Qwen 3 Next: a state on three of four layers, gated attention on the fourth; with experts or not."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    kinds = config.items("layer_types")
    full = kinds.count("full_attention") or layers // config.positive("full_attention_interval")
    linear = layers - full
    attention, shared, small = grouped(config, gate=True)
    mixer = delta_net(config)
    common = config.number("shared_expert_intermediate_size", default=0)
    experts, routed, routers, dense = None, 0, 0, 0
    if config.number("num_experts", default=0):
        width = config.positive("moe_intermediate_size")
        experts, routed, routers = mixed(config, layers, width=width)
        routers += layers * (hidden - experts["routed"])  # a gate for the shared one, no bias
        dense = layers * 3 * hidden * common
        if common:
            experts["shared"] = max(1, common // width)
    else:
        dense = layers * 3 * hidden * config.positive("intermediate_size")
    weights = Weights(
        experts=routed,
        attention=full * shared + linear * mixer.shared,
        replicated=full * small + linear * (mixer.whole + 2 * hidden) + routers,
        dense=dense,
    )
    return made(
        config,
        attention,
        weights,
        experts=experts,
        dense_width=None if experts else config.positive("intermediate_size"),
        states=({"layers": linear, "size": Bytes(mixer.state)},),
    )


def _nemotron(config: Configuration) -> Decoder:
    """Nemotron H and 3: each layer is one of attention, Mamba, feed-forward, experts."""
    letters = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
    kinds = config.items("layers_block_type") or [
        letters.get(letter, "") for letter in config.word("hybrid_override_pattern")
    ]
    if not kinds:
        config.missing.append("layers_block_type")
    count = Counter(kinds)
    hidden, layers = config.positive("hidden_size"), len(kinds) or 1
    attention, shared, _ = grouped(config, bias=config.flag("attention_bias"), norms=0)
    mixer = mamba(config) if count["mamba"] else None
    experts, routed, routers, dense = None, 0, 0, 0
    if count["moe"]:
        width = config.positive("moe_intermediate_size")
        inner = config.number("moe_latent_size", default=0)
        common = config.number("n_shared_experts", default=0)
        experts, routed, routers = mixed(
            config, count["moe"], width=width, matrices=2, inner=inner or hidden
        )
        experts |= {"shared": common, "layers": count["moe"]}
        wide = config.positive("moe_shared_expert_intermediate_size", default=width)
        dense += count["moe"] * 2 * hidden * (common * wide + inner)
    dense += (
        count["mlp"] * 2 * hidden * (config.positive("intermediate_size") if count["mlp"] else 0)
    )
    weights = Weights(
        experts=routed,
        attention=count["attention"] * shared + count["mamba"] * (mixer.shared if mixer else 0),
        replicated=layers * hidden + count["mamba"] * (mixer.whole if mixer else 0) + routers,
        dense=dense,
    )
    states = ({"layers": count["mamba"], "size": Bytes(mixer.state)},) if mixer else None
    return made(
        config,
        attention,
        weights,
        layers=layers,
        experts=experts,
        full_layers=count["attention"],
        states=states,
        dense_width=config.positive("intermediate_size") if count["mlp"] else None,
    )


def _kimi_linear(config: Configuration) -> Decoder:
    """Kimi K3: attention over a latent on some layers, a delta state on the others, experts in a narrower space."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    linear = config.inside("linear_attn_config")
    full, states = len(linear.items("full_attn_layers")), len(linear.items("kda_layers"))
    if full + states != layers:
        config.missing.append(
            "linear_attn_config.full_attn_layers and kda_layers, all layers in all"
        )
    attention, shared, whole = latent(config)
    if config.flag("mla_use_output_gate"):
        shared += hidden * config.positive("num_attention_heads") * config.positive("v_head_dim")
    mixer = kimi_delta(linear, hidden)
    first = min(layers, config.number("first_k_dense_replace"))
    width, common = config.positive("moe_intermediate_size"), config.number("num_shared_experts")
    inner = config.number("routed_expert_hidden_size", default=0)
    sparse = layers - first
    experts, routed, routers = mixed(config, sparse, width=width, inner=inner or hidden)
    experts["shared"] = common
    weights = Weights(
        experts=routed,
        attention=full * shared + states * mixer.shared,
        replicated=full * whole + states * (mixer.whole + 2 * hidden) + routers,
        dense=3 * hidden * (first * config.positive("intermediate_size") + sparse * common * width)
        + sparse * 2 * hidden * inner,
    )
    return made(
        config,
        attention,
        weights,
        experts=experts,
        dense_layers=first or None,
        dense_width=config.positive("intermediate_size") if first else None,
        states=({"layers": states, "size": Bytes(mixer.state)},) if states else None,
        exact=False,
    )


FAMILIES: Mapping[str, Callable[[Configuration], Decoder]] = {
    "LlamaForCausalLM": _dense,
    "MistralForCausalLM": _dense,
    "Mistral3ForConditionalGeneration": _dense,
    "Qwen2ForCausalLM": _dense,
    "Qwen3ForCausalLM": partial(_dense, norms=None),
    "Qwen3VLForConditionalGeneration": partial(_dense, norms=None),
    "MixtralForCausalLM": _mixture,
    "Qwen3MoeForCausalLM": _mixture,
    "Qwen3VLMoeForConditionalGeneration": _mixture,
    "Glm4MoeForCausalLM": _mixture,
    "MiniMaxM2ForCausalLM": _mixture,
    "MiniMaxM3ForCausalLM": _minimax_m3,
    "MiniMaxM3SparseForCausalLM": _minimax_m3,
    "MiniMaxM3SparseForConditionalGeneration": _minimax_m3,
    "DeepseekV3ForCausalLM": _deepseek,
    "DeepseekV32ForCausalLM": _deepseek,
    "GlmMoeDsaForCausalLM": _deepseek,
    "KimiK25ForConditionalGeneration": _deepseek,
    "DeepseekV4ForCausalLM": _deepseek_v4,
    "KimiLinearForCausalLM": _kimi_linear,
    "GptOssForCausalLM": _gpt_oss,
    "Llama4ForCausalLM": _llama4,
    "Llama4ForConditionalGeneration": _llama4,
    "Qwen3NextForCausalLM": _qwen_next,
    "Qwen3_5ForConditionalGeneration": _qwen_next,
    "Qwen3_5MoeForConditionalGeneration": _qwen_next,
    "NemotronHForCausalLM": _nemotron,
}
"""By the name of the model's class in `architectures`."""
