"""Published configurations as far as they say the shape of a model, and what was published about their weights."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from gangform.findings import InputError
from gangform.inputs.checkpoint import import_checkpoint
from gangform.inputs.model import ModelProfile

Config = dict[str, Any]

DEEPSEEK_FP8: Config = {"quant_method": "fp8", "fmt": "e4m3", "weight_block_size": [128, 128]}


def config(name: str, **fields: Any) -> Config:
    return {
        "architectures": [name],
        "max_position_embeddings": 131072,
        "dtype": "bfloat16",
        **fields,
    }


DEEPSEEK = config(
    "DeepseekV3ForCausalLM", num_hidden_layers=61, hidden_size=7168, num_attention_heads=128, kv_lora_rank=512,
    qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, q_lora_rank=1536, n_routed_experts=256,
    n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=2048, first_k_dense_replace=3,
    intermediate_size=18432, vocab_size=129280, num_nextn_predict_layers=1, quantization_config=DEEPSEEK_FP8,
)  # fmt: skip
KIMI = DEEPSEEK | {
    "num_attention_heads": 64, "n_routed_experts": 384, "first_k_dense_replace": 1, "vocab_size": 163840,
    "num_nextn_predict_layers": 0,
}  # fmt: skip
GLM = config(
    "GlmMoeDsaForCausalLM", num_hidden_layers=78, hidden_size=6144, num_attention_heads=64, kv_lora_rank=512,
    qk_rope_head_dim=64, qk_nope_head_dim=192, v_head_dim=256, q_lora_rank=2048, n_routed_experts=256,
    n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=2048, first_k_dense_replace=3,
    intermediate_size=12288, vocab_size=154880, index_head_dim=128, index_n_heads=32, index_topk=2048,
    indexer_types=["full"] * 21 + ["shared"] * 57,
)  # fmt: skip
LLAMA = config(
    "LlamaForCausalLM", num_hidden_layers=126, hidden_size=16384, num_attention_heads=128, num_key_value_heads=8,
    head_dim=128, intermediate_size=53248, vocab_size=128256,
)  # fmt: skip
QWEN = config(
    "Qwen3MoeForCausalLM", model_type="qwen3_moe", num_hidden_layers=94, hidden_size=4096, num_attention_heads=64,
    num_key_value_heads=4, head_dim=128, num_experts=128, num_experts_per_tok=8, moe_intermediate_size=1536,
    intermediate_size=12288, vocab_size=151936,
)  # fmt: skip
CODER = QWEN | {
    "num_hidden_layers": 62, "hidden_size": 6144, "num_attention_heads": 96, "num_key_value_heads": 8,
    "num_experts": 160, "moe_intermediate_size": 2560,
}  # fmt: skip
MIXTRAL = config(
    "MixtralForCausalLM", model_type="mixtral", num_hidden_layers=56, hidden_size=6144, num_attention_heads=48,
    num_key_value_heads=8, num_local_experts=8, num_experts_per_tok=2, intermediate_size=16384, vocab_size=32000,
)  # fmt: skip
MAVERICK = config("Llama4ForConditionalGeneration", vision_config={}) | {
    "text_config": {
        "num_hidden_layers": 48, "hidden_size": 5120, "num_attention_heads": 40, "num_key_value_heads": 8,
        "head_dim": 128, "num_local_experts": 128, "num_experts_per_tok": 1, "intermediate_size": 8192,
        "intermediate_size_mlp": 16384, "interleave_moe_layer_step": 2, "vocab_size": 202048,
        "attention_chunk_size": 8192,
    }
}  # fmt: skip
OSS = config(
    "GptOssForCausalLM", num_hidden_layers=36, hidden_size=2880, num_attention_heads=64, num_key_value_heads=8,
    head_dim=64, num_local_experts=128, num_experts_per_tok=4, intermediate_size=2880, vocab_size=201088,
    sliding_window=128, layer_types=["sliding_attention", "full_attention"] * 18,
    quantization_config={
        "quant_method": "mxfp4",
        "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"],
    },
)  # fmt: skip
MINIMAX = config(
    "MiniMaxM2ForCausalLM", model_type="minimax_m2", num_hidden_layers=62, hidden_size=3072, num_attention_heads=48,
    num_key_value_heads=8, head_dim=128, num_local_experts=256, num_experts_per_tok=8, intermediate_size=1536,
    vocab_size=200064,
)  # fmt: skip
MINIMAX_3 = config(
    "MiniMaxM3ForCausalLM", num_hidden_layers=60, hidden_size=6144, num_attention_heads=64, num_key_value_heads=4,
    head_dim=128, num_local_experts=128, n_shared_experts=1, num_experts_per_tok=4, intermediate_size=3072,
    dense_intermediate_size=12288, moe_layer_freq=[0] * 3 + [1] * 57, vocab_size=200064,
)  # fmt: skip
GLM_4 = config(
    "Glm4MoeForCausalLM", num_hidden_layers=92, hidden_size=5120, num_attention_heads=96, num_key_value_heads=8,
    head_dim=128, n_routed_experts=160, n_shared_experts=1, num_experts_per_tok=8, moe_intermediate_size=1536,
    first_k_dense_replace=3, intermediate_size=12288, vocab_size=151552, attention_bias=True, use_qk_norm=True,
)  # fmt: skip
QWEN_35 = config(
    "Qwen3_5MoeForConditionalGeneration", num_hidden_layers=60, hidden_size=4096, num_attention_heads=32,
    num_key_value_heads=2, head_dim=256, full_attention_interval=4, linear_conv_kernel_dim=4,
    linear_num_key_heads=16, linear_key_head_dim=128, linear_num_value_heads=64, linear_value_head_dim=128,
    mamba_ssm_dtype="float32", num_experts=512, num_experts_per_tok=10, moe_intermediate_size=1024,
    shared_expert_intermediate_size=1024, vocab_size=248320,
)  # fmt: skip
NEMOTRON = config(
    "NemotronHForCausalLM", hidden_size=8192, num_attention_heads=64, num_key_value_heads=2, head_dim=128,
    layers_block_type=["mamba", "moe"] * 48 + ["attention"] * 12, mamba_num_heads=256, mamba_head_dim=64,
    ssm_state_size=128, n_groups=8, conv_kernel=4, mamba_ssm_cache_dtype="float32", n_routed_experts=512,
    n_shared_experts=1, num_experts_per_tok=22, moe_intermediate_size=5120, moe_latent_size=2048,
    moe_shared_expert_intermediate_size=10240, vocab_size=131072,
)  # fmt: skip
V4 = config(
    "DeepseekV4ForCausalLM", num_hidden_layers=61, hidden_size=7168, num_attention_heads=128, head_dim=512,
    q_lora_rank=1536, o_lora_rank=1024, o_groups=16, n_routed_experts=384, n_shared_experts=1,
    num_experts_per_tok=6, moe_intermediate_size=3072, vocab_size=129280, sliding_window=128, index_head_dim=128,
    index_n_heads=64, hc_mult=4,
    compress_ratios=[128, 128, *([4, 128] * 30)][:62], expert_dtype="fp4", quantization_config=DEEPSEEK_FP8,
)  # fmt: skip
KIMI_3 = config(
    "KimiLinearForCausalLM", num_hidden_layers=93, hidden_size=7168, num_attention_heads=96, kv_lora_rank=512,
    qk_rope_head_dim=64, qk_nope_head_dim=128, v_head_dim=128, q_lora_rank=1536, num_experts=896,
    num_shared_experts=2, num_experts_per_token=16, moe_intermediate_size=3072, routed_expert_hidden_size=3584,
    first_k_dense_replace=1, intermediate_size=33792, vocab_size=163840, mla_use_output_gate=True,
    linear_attn_config={
        "full_attn_layers": list(range(24)), "kda_layers": list(range(69)), "num_heads": 96, "head_dim": 128,
        "short_conv_kernel_size": 4, "use_full_rank_gate": True,
    },
)  # fmt: skip

MIMO = config(
    "MiMoV2FlashForCausalLM", num_hidden_layers=48, hidden_size=4096, num_attention_heads=64, num_key_value_heads=4,
    head_dim=192, v_head_dim=128, intermediate_size=16384, vocab_size=152576, sliding_window=128,
    attention_chunk_size=128, swa_num_attention_heads=64, swa_num_key_value_heads=8, swa_head_dim=192,
    swa_v_head_dim=128, hybrid_layer_pattern=[0, *([1] * 4), 0, *([*([1] * 5), 0] * 7)],
    add_swa_attention_sink_bias=True, moe_layer_freq=[0] + [1] * 47,
    moe_intermediate_size=2048, n_routed_experts=256, num_experts_per_tok=8,
)  # fmt: skip
KIMI_48 = config(
    "KimiLinearForCausalLM", hidden_size=2304, num_hidden_layers=27, vocab_size=163840, num_attention_heads=32,
    num_experts=256, num_experts_per_token=8, num_shared_experts=1, moe_intermediate_size=1024,
    intermediate_size=9216, kv_lora_rank=512, q_lora_rank=None, qk_nope_head_dim=128, qk_rope_head_dim=64,
    v_head_dim=128, first_k_dense_replace=1, moe_layer_freq=1,
    linear_attn_config={
        "full_attn_layers": list(range(7)), "kda_layers": list(range(20)), "num_heads": 32, "head_dim": 128,
        "short_conv_kernel_size": 4,
    },
)  # fmt: skip
SLIDING = ["sliding_attention"] * 3 + ["full_attention"]
EXAONE = config(
    "Exaone4ForCausalLM", head_dim=128, hidden_size=5120, intermediate_size=27392, layer_types=SLIDING * 16,
    num_attention_heads=40, num_hidden_layers=64, num_key_value_heads=8, sliding_window=4096,
    sliding_window_pattern="LLLG", vocab_size=102400,
)  # fmt: skip
OLMO = config(
    "Olmo3ForCausalLM", hidden_size=5120, intermediate_size=27648, layer_types=SLIDING * 16, num_attention_heads=40,
    num_hidden_layers=64, num_key_value_heads=8, sliding_window=4096, vocab_size=100278,
)  # fmt: skip
GEMMA = config("Gemma3ForConditionalGeneration", vision_config={}) | {
    "max_position_embeddings": None,
    "text_config": {
        "head_dim": 128, "hidden_size": 5376, "intermediate_size": 21504, "model_type": "gemma3_text",
        "num_attention_heads": 32, "num_hidden_layers": 62, "num_key_value_heads": 16, "sliding_window": 1024,
        "rope_scaling": {"factor": 8.0, "rope_type": "linear"},
    },
}  # fmt: skip
MISTRAL_4 = config("Mistral3ForConditionalGeneration", vision_config={}) | {
    "text_config": {
        "model_type": "mistral4", "vocab_size": 131072, "hidden_size": 4096, "intermediate_size": 12288,
        "moe_intermediate_size": 2048, "num_hidden_layers": 36, "num_attention_heads": 32, "n_shared_experts": 1,
        "n_routed_experts": 128, "kv_lora_rank": 256, "q_lora_rank": 1024, "qk_rope_head_dim": 64, "v_head_dim": 128,
        "qk_nope_head_dim": 64, "num_experts_per_tok": 4, "first_k_dense_replace": 0,
    }
}  # fmt: skip
COMMAND = config(
    "Cohere2ForCausalLM", hidden_size=8192, intermediate_size=22528, num_attention_heads=64, num_hidden_layers=40,
    vocab_size=256000, sliding_window=4096, _sliding_window_pattern=4,
)  # fmt: skip
QWEN_VL = config(
    "Qwen2_5_VLForConditionalGeneration", hidden_size=3584, intermediate_size=18944, num_attention_heads=28,
    num_hidden_layers=28, num_key_value_heads=4, vocab_size=152064, sliding_window=32768, max_window_layers=28,
    use_sliding_window=False, vision_config={},
)  # fmt: skip

# Billions, rounded: of all weights, of routed experts.
PUBLISHED: Mapping[str, tuple[Config, str, str]] = {
    "DeepSeek-R1": (DEEPSEEK, "671.0", "653.9"),
    "Kimi-K2": (KIMI, "1026.4", "1014.7"),
    "GLM-5.2": (GLM, "743.4", "724.8"),
    "Llama-3.1-405B": (LLAMA, "405.9", "0.0"),
    "Qwen3-235B": (QWEN, "235.1", "227.1"),
    "Qwen3-Coder-480B": (CODER, "480.2", "468.1"),
    "Mixtral-8x22B": (MIXTRAL, "140.6", "135.3"),
    "Llama-4-Maverick": (MAVERICK, "400.7", "386.5"),
    "gpt-oss-120b": (OSS, "116.8", "114.7"),
    "MiniMax-M2": (MINIMAX, "228.7", "224.7"),
    "MiniMax-M3": (MINIMAX_3, "425.9", "413.1"),
    "GLM-4.5": (GLM_4, "352.8", "336.0"),
    "Qwen3.5-397B": (QWEN_35, "396.3", "386.5"),
    "Nemotron-3-Ultra": (NEMOTRON, "549.3", "515.4"),
    "DeepSeek-V4-Pro": (V4, "1573.0", "1547.4"),
    "Kimi-K3": (KIMI_3, "2779.5", "2722.7"),
    # What the models' own code makes of them, counted without memory.
    "MiMo-V2-Flash": (MIMO, "308.78", "302.80"),
    "Kimi-Linear-48B": (KIMI_48, "49.12", "47.11"),
    "EXAONE-4.0-32B": (EXAONE, "32.00", "0.0"),
    "Olmo-3.1-32B": (OLMO, "32.23", "0.0"),
    "Gemma-3-27B": (GEMMA, "27.01", "0.0"),
    "Mistral-Small-4": (MISTRAL_4, "118.97", "115.96"),
    "Command": (COMMAND, "34.98", "0.0"),
    "Qwen2.5-VL-7B": (QWEN_VL, "7.62", "0.0"),
}


def written(folder: Path, value: Any, **beside: Any) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / "config.json").write_text(json.dumps(value))
    for name, content in beside.items():
        (folder / f"{name.replace('_', '.')}.json").write_text(json.dumps(content))
    return folder


def index(folder: Path, total: int, *names: str) -> None:
    value = {
        "metadata": {"total_size": total},
        "weight_map": dict.fromkeys(names, "one.safetensors"),
    }
    (folder / "model.safetensors.index.json").write_text(json.dumps(value))


def profile(folder: Path, value: Config) -> ModelProfile:
    return import_checkpoint(written(folder, value), repository="org/model", name=None).profile


def codes(folder: Path, value: Any, repository: str | None = "org/model") -> list[str]:
    with pytest.raises(InputError) as error:
        import_checkpoint(written(folder, value), repository=repository, name=None)
    return [one.code.id for one in error.value.findings]
