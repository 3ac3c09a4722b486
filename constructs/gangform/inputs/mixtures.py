"""Decoders with experts, and keys and values per head."""

from __future__ import annotations

from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import Decoder, Weights, dense_first, grouped, made, mixed, with_draft
from gangform.inputs.windows import sliding_layers, windows


def mixture(config: Configuration) -> Decoder:
    """Mixtral, Qwen 3 with experts, GLM 4.5 to 4.7, MiniMax M2: keys and values per head."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    kind = config.word("model_type")
    first = dense_first(config, layers, default=0)
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
        windows=windows(config, layers, slides=True),
    )


def minimax_m3(config: Configuration) -> Decoder:
    """MiniMax M3: keys and values per head; which layers have experts, and which an index, is listed.

    The index has keys alone, one head of them, in the number format of the cache; ROCm's plugin for vLLM keeps it so.
    """
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    first = dense_first(config, layers, default=0)
    width = config.positive("moe_intermediate_size", "intermediate_size")
    dense_width = config.positive("dense_intermediate_size")
    common = config.number("n_shared_experts")
    attention, shared, small = grouped(config)
    sparse = layers - first
    experts, routed, routers = mixed(config, sparse, width=width)
    experts["shared"] = common
    index, indexes = None, 0
    parts = config.inside("sparse_attention_config")
    indexed = sum(one == 1 for one in parts.items("sparse_attention_freq")[:layers])
    if indexed:
        dim = parts.positive("sparse_index_dim")
        index = {"layers": indexed, "size": 2 * dim}
        indexes = indexed * dim * (hidden * (parts.positive("sparse_num_index_heads") + 1) + 2)
    weights = Weights(
        experts=routed,
        attention=layers * shared,
        replicated=layers * small + routers + indexes,
        dense=3 * hidden * (first * dense_width + sparse * common * width),
    )
    return made(
        config,
        attention,
        weights,
        experts=experts,
        dense_layers=first or None,
        dense_width=dense_width if first else None,
        indexer=index,
        notes={"indexer": "keys in bf16, one head of them: not verified"} if index else {},
    )


def mimo_v2(config: Configuration) -> Decoder:
    """MiMo V2: sliding layers have heads of their own, and a sink for each; the first layers have no experts."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    first = dense_first(config, layers)
    width, dense_width = (
        config.positive("moe_intermediate_size"),
        config.positive("intermediate_size"),
    )
    full, shared, small = grouped(config, norms=0)
    heads = config.positive("swa_num_attention_heads")
    kv_heads, dim = config.positive("swa_num_key_value_heads"), config.positive("swa_head_dim")
    value = config.positive("swa_v_head_dim")
    own = hidden * (heads * (dim + value) + kv_heads * (dim + value))
    own += heads if config.flag("add_swa_attention_sink_bias") else 0
    sliding = sliding_layers(config, layers)
    config.said("attention_chunk_size")  # the window, once more
    sparse = layers - first
    experts, routed, routers = mixed(config, sparse, width=width)
    window = {"layers": sliding, "tokens": config.positive("sliding_window")}
    window |= {"kv_heads": kv_heads, "head_dim": dim, "value_dim": value}
    weights = Weights(
        experts=routed,
        attention=(layers - sliding) * shared + sliding * own,
        replicated=layers * small + routers,
        dense=3 * hidden * first * dense_width,
    )
    return made(
        config,
        full,
        weights,
        experts=experts,
        dense_layers=first or None,
        dense_width=dense_width if first else None,
        windows=(window,) if sliding else None,
    )


def gpt_oss(config: Configuration) -> Decoder:
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
    return made(
        config, attention, weights, experts=experts, windows=windows(config, layers, every=2)
    )


def llama4(config: Configuration) -> Decoder:
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
    kinds = config.items("layer_types")[:layers]
    whole = kinds.count("full_attention") or config.items("no_rope_layers").count(0)
    whole = whole or layers // _WHOLE_EVERY
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
