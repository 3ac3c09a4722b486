"""From a published configuration to the shape of its decoder: one function for models that are made alike.

Counts are sums over the matrices that the models' own code makes; what was published is the check: 671.0, 1026, 405.8,
235.1, 480.2, 400.7, 116.8, 140.6 billion weights (`engines §5`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from gangform.inputs.configuration import Configuration
from gangform.inputs.decoders import Decoder
from gangform.inputs.dense import dense, gemma_3, olmo
from gangform.inputs.hybrids import kimi_linear, nemotron, qwen_next
from gangform.inputs.latents import deepseek, deepseek_v4
from gangform.inputs.mixtures import gpt_oss, llama4, mimo_v2, minimax_m3, mixture

SHAPING: tuple[tuple[str, ...], ...] = (
    ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"),
    ("n_shared_experts", "num_shared_experts", "shared_expert_intermediate_size", "shared_intermediate_size",
     "moe_shared_expert_intermediate_size", "share_expert_dim"),
    ("first_k_dense_replace", "moe_layer_freq", "mlp_layer_types", "moe_layers", "interleave_moe_layer_step"),
    ("decoder_sparse_step",), ("mlp_only_layers",), ("moe_latent_size", "routed_expert_hidden_size"),
    ("kv_lora_rank",), ("q_lora_rank",), ("v_head_dim",), ("index_n_heads", "index_topk"), ("kv_source_layers",),
    ("sparse_attention_config",), ("compress_ratios",), ("num_kv_shared_layers",), ("global_head_dim",),
    ("num_global_key_value_heads",), ("swa_num_key_value_heads",), ("block_configs",), ("attention_other_setting",),
    ("sliding_window",), ("sliding_window_pattern", "_sliding_window_pattern"), ("hybrid_layer_pattern",),
    ("layer_types",), ("attention_chunk_size",), ("full_attention_interval",), ("attn_type_list",),
    ("linear_attn_config",), ("layer_group_size",), ("linear_num_value_heads",),
    ("hybrid_override_pattern", "layers_block_type"), ("attn_layer_indices",), ("attn_layer_period",),
    ("mamba_num_heads", "mamba_n_heads"), ("mamba_d_state", "ssm_state_size"), ("hc_mult",),
    ("hidden_size_per_layer_input",), ("vocab_size_per_layer_input",),
)  # fmt: skip
"""Fields that make another model of it, those of one meaning together. A class that asks for none of them is another
than the one described here, whatever its name."""


def decoder(config: Configuration) -> Decoder | None:
    """The decoder of a configuration; `None` for a class that nobody described here. Ask it what was missing."""
    for name in config.classes:
        if name in FAMILIES:
            return FAMILIES[name](config)
    return None


def strange(config: Configuration) -> list[str]:
    """Fields that its decoder, which was made before, took no notice of, and that make another one of it."""
    return config.odd + [name for names in SHAPING for name in config.unasked(names)]


def mistral_3(config: Configuration) -> Decoder:
    """What stands in Mistral's frame for text and images: a dense decoder, or since Small 4 one over a latent."""
    return (
        deepseek(config) if config.number("kv_lora_rank", default=0) else dense(config, slides=True)
    )


FAMILIES: Mapping[str, Callable[[Configuration], Decoder]] = {
    "LlamaForCausalLM": dense,
    "MistralForCausalLM": partial(dense, slides=True),
    "Ministral3ForCausalLM": partial(dense, slides=True),
    "Mistral3ForConditionalGeneration": mistral_3,
    "Qwen2ForCausalLM": partial(dense, bias=True),
    "Qwen2VLForConditionalGeneration": partial(dense, bias=True),
    "Qwen2_5_VLForConditionalGeneration": partial(dense, bias=True),
    "SeedOssForCausalLM": dense,
    "Exaone4ForCausalLM": partial(dense, norms=None),
    "Olmo2ForCausalLM": olmo,
    "Olmo3ForCausalLM": olmo,
    "Gemma2ForCausalLM": partial(dense, layer_norms=4, every=2, tied=True),
    "Gemma3ForCausalLM": gemma_3,
    "Gemma3ForConditionalGeneration": gemma_3,
    "Phi3ForCausalLM": partial(dense, slides=True),
    "Cohere2ForCausalLM": partial(dense, layer_norms=1, every=4, tied=True),
    "Qwen3ForCausalLM": partial(dense, norms=None),
    "Qwen3VLForConditionalGeneration": partial(dense, norms=None),
    "MixtralForCausalLM": mixture,
    "Qwen3MoeForCausalLM": mixture,
    "Qwen3VLMoeForConditionalGeneration": mixture,
    "Glm4MoeForCausalLM": mixture,
    "MiniMaxM2ForCausalLM": mixture,
    "MiMoV2FlashForCausalLM": mimo_v2,
    "MiniMaxM3ForCausalLM": minimax_m3,
    "MiniMaxM3SparseForCausalLM": minimax_m3,
    "MiniMaxM3SparseForConditionalGeneration": minimax_m3,
    "DeepseekV3ForCausalLM": deepseek,
    "Mistral4ForCausalLM": deepseek,
    "MistralLarge3ForCausalLM": deepseek,
    "Glm4MoeLiteForCausalLM": deepseek,
    "DeepseekV32ForCausalLM": deepseek,
    "GlmMoeDsaForCausalLM": deepseek,
    "KimiK25ForConditionalGeneration": deepseek,
    "DeepseekV4ForCausalLM": deepseek_v4,
    "KimiLinearForCausalLM": kimi_linear,
    "GptOssForCausalLM": gpt_oss,
    "Llama4ForCausalLM": llama4,
    "Llama4ForConditionalGeneration": llama4,
    "Qwen3NextForCausalLM": qwen_next,
    "Qwen3_5ForConditionalGeneration": qwen_next,
    "Qwen3_5MoeForConditionalGeneration": qwen_next,
    "NemotronHForCausalLM": nemotron,
}
"""By the name of the model's class in `architectures`."""
