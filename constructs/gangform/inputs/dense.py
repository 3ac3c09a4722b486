"""Decoders whose every layer has one feed-forward network: keys and values per head, windows or none."""

from __future__ import annotations

from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import Decoder, Weights, grouped, made
from gangform.inputs.windows import windows


def dense(
    config: Configuration,
    *,
    norms: int | None = 0,
    layer_norms: int = 2,
    bias: bool = False,
    every: int = 0,
    slides: bool = False,
    tied: bool = False,
) -> Decoder:
    """Llama, Mistral, Qwen 2 and 3, and what is made like them.

    Args:
        config: What is asked.
        norms: Of queries and keys, as `grouped` takes them.
        layer_norms: Norms of the hidden size in a layer.
        bias: Whether queries, keys and values have one whatever the configuration says.
        every: The layers that see everything where the configuration does not say which slide.
        slides: Whether all layers slide where it says a window and nothing else.
        tied: Whether embedding and head are one table where it does not say.
    """
    layers, width = config.positive("num_hidden_layers"), config.positive("intermediate_size")
    hidden = config.positive("hidden_size")
    biased = config.flag("attention_bias")
    attention, shared, small = grouped(config, bias=bias or biased, norms=norms)
    if config.flag("attention_out_bias", default=biased):
        shared += hidden
    feed = 3 * hidden * width + (2 * width + hidden if config.flag("mlp_bias") else 0)
    weights = Weights(
        attention=layers * shared,
        replicated=layers * (small + (layer_norms - 2) * hidden),
        dense=layers * feed,
    )
    return made(
        config,
        attention,
        weights,
        dense_width=width,
        windows=windows(config, layers, every=every, slides=slides),
        tied=tied,
    )


def olmo(config: Configuration) -> Decoder:
    """OLMo 2 and 3: queries and keys normed over all heads."""
    heads = config.positive("num_attention_heads")
    dim = config.positive("head_dim", default=max(1, config.positive("hidden_size") // heads))
    kv_heads = config.positive("num_key_value_heads", default=heads)
    return dense(config, norms=(heads + kv_heads) * dim)


def gemma_3(config: Configuration) -> Decoder:
    """Gemma 3: four norms a layer, queries and keys normed, every sixth layer sees everything.

    Its published files leave out what its code takes by default (`configuration_gemma3.py` of transformers).
    """
    config.assume(
        vocab_size=262208,
        max_position_embeddings=131072,
        num_attention_heads=8,
        num_key_value_heads=4,
        head_dim=256,
    )
    return dense(config, norms=None, layer_norms=4, every=6, tied=True)
