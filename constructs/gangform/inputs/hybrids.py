"""Decoders in which a state of fixed size stands for attention on most layers."""

from __future__ import annotations

from collections import Counter

from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import Decoder, Weights, dense_first, grouped, latent, made, mixed
from gangform.inputs.mixers import delta_net, kimi_delta, mamba
from gangform.units import Bytes


def qwen_next(config: Configuration) -> Decoder:
    """Qwen 3.5 and Qwen 3 Next: a state on three of four layers, gated attention on the fourth; with experts or not."""
    layers, hidden = config.positive("num_hidden_layers"), config.positive("hidden_size")
    kinds = config.items("layer_types")
    step = config.number("full_attention_interval", default=0)
    if not kinds and not step:
        config.missing.append("layer_types")
    full = kinds.count("full_attention") if kinds else layers // max(1, step)
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


def nemotron(config: Configuration) -> Decoder:
    """Nemotron H and 3: each layer is one of attention, Mamba, feed-forward, experts."""
    letters = {"M": "mamba", "*": "attention", "E": "moe", "-": "mlp"}
    kinds = config.items("layers_block_type") or [
        letters.get(letter, "") for letter in config.word("hybrid_override_pattern")
    ]
    if not kinds:
        config.missing.append("layers_block_type")
    count = Counter(_WORDS.get(str(kind), str(kind)) for kind in kinds)
    others = sorted(set(count) - {"mamba", "attention", "moe", "mlp"})
    config.odd += [f"a layer of kind {kind or 'unknown'}" for kind in others]
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


_WORDS = {"linear_attention": "mamba", "full_attention": "attention"}
"""What later releases of transformers call the layers of a Nemotron that they save."""


def kimi_linear(config: Configuration) -> Decoder:
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
    first = dense_first(config, layers)
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
