"""Profiles out of published configurations: their facts as in `engines §5.1`, their totals as published (§5.2)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from gangform.findings import InputError
from gangform.inputs.checkpoint import import_checkpoint, usual_name
from gangform.inputs.configuration import Configuration
from gangform.inputs.families import FAMILIES, decoder
from gangform.inputs.model import ModelProfile
from gangform.units import Bytes

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
    "DeepSeek-V4-Pro": (V4, "1571.7", "1547.4"),
    "Kimi-K3": (KIMI_3, "2779.5", "2722.7"),
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


@pytest.mark.parametrize("name", PUBLISHED)
def test_weights_are_those_that_were_published(name: str, tmp_path: Path) -> None:
    value, total, experts = PUBLISHED[name]
    made = profile(tmp_path, value)
    assert made.parameters is not None
    assert abs(made.parameters / 10**9 - float(total)) <= 0.06
    assert abs(made.expert_parameters / 10**9 - float(experts)) <= 0.06


def test_deepseek_is_the_shipped_profile_within_what_headers_take(tmp_path: Path) -> None:
    made = profile(tmp_path, DEEPSEEK)
    assert (made.parameters, made.expert_parameters) == (671026419200, 653908770816)
    assert abs(int(made.checkpoint) / 688586727753 - 1) < 0.0005
    assert made.quantization_block == 128
    assert made.architecture is not None
    assert made.architecture.attention.latent == 576
    assert made.tensors.embeddings is not None and made.tensors.embeddings.format == "bf16"


def test_layers_that_keep_other_things_are_said(tmp_path: Path) -> None:
    made = {name: profile(tmp_path, PUBLISHED[name][0]).architecture for name in PUBLISHED}
    oss, chunks = made["gpt-oss-120b"], made["Llama-4-Maverick"]
    assert oss and [(one.layers, one.tokens) for one in oss.windows] == [(18, 128)]
    assert chunks and [(one.layers, one.tokens) for one in chunks.windows] == [(36, 8192)]
    glm = made["GLM-5.2"]
    assert glm and glm.indexer and (glm.indexer.layers, glm.indexer.size) == (21, 132)
    state = made["Qwen3.5-397B"]
    # 64 heads of 128 x 128 in fp32, and three inputs of 2 x 2048 + 8192 in bf16.
    assert state and [(one.layers, one.size) for one in state.states] == [
        (45, Bytes(64 * 128 * 128 * 4 + 12288 * 3 * 2))
    ]
    mixed = made["Nemotron-3-Ultra"]
    assert mixed and (mixed.layers, mixed.attending, mixed.states[0].layers) == (108, 12, 48)
    packed = made["DeepSeek-V4-Pro"]
    assert packed and [(one.layers, one.ratio) for one in packed.compressed] == [(30, 4), (31, 128)]
    kimi = made["Kimi-K3"]
    assert kimi and (kimi.attending, kimi.states[0].layers) == (24, 69)


@pytest.mark.parametrize(
    ("quantization", "weights", "experts", "attention"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", "fp8", "fp8"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["x.layers.1", "self_attn"]}, "mxfp4", "mxfp4", "bf16"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4", "int4", "int4"),
        ({"quant_method": "gptq", "bits": 4, "ignore": ["model.layers.*.self_attn"]}, "int4", "int4", "bf16"),
        ({"quant_algo": "NVFP4", "exclude_modules": ["model.layers.93.self_attn*"]}, "nvfp4", "nvfp4", "bf16"),
        (
            {
                "quant_method": "compressed-tensors",
                "format": "pack-quantized",
                "ignore": ["lm_head", "re:.*self_attn.*"],
                "config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}},
            },
            "int4", "int4", "bf16",
        ),
        (
            {
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                    "model.layers.93.mlp.experts": {"quant_algo": "NVFP4"},
                    "model.layers.93.self_attn.q_proj": {"quant_algo": "FP8"},
                    "model.layers.93.self_attn.o_proj": {"quant_algo": "FP8"},
                },
            },
            "nvfp4", "nvfp4", "fp8",
        ),
    ],
)  # fmt: skip
def test_classes_of_weights_have_their_formats(
    quantization: Config, weights: str, experts: str, attention: str, tmp_path: Path
) -> None:
    made = profile(tmp_path, QWEN | {"quantization_config": quantization})
    assert made.weights == weights
    assert made.tensors.experts and made.tensors.experts.format == experts
    assert made.tensors.attention and made.tensors.attention.format == attention


def test_four_bits_take_what_their_scales_take_too(tmp_path: Path) -> None:
    said = {"quant_method": "awq", "bits": 4, "group_size": 32}
    made = profile(tmp_path, QWEN | {"quantization_config": said})
    assert made.tensors.experts
    assert int(made.tensors.experts.size) == made.expert_parameters * 9 // 16


def test_the_index_wins_and_says_whether_the_draft_is_there(tmp_path: Path) -> None:
    folder = written(tmp_path, DEEPSEEK)
    index(folder, 688586727753, "model.layers.60.x", "model.layers.61.x")
    made = import_checkpoint(folder, repository="org/model", name=None)
    assert (int(made.profile.checkpoint), made.findings) == (688586727753, ())
    assert made.profile.draft > 0
    index(folder, 673000000000, "model.layers.60.x")
    without = import_checkpoint(folder, repository="org/model", name=None)
    assert (without.profile.draft, without.findings) == (0, ())


def test_an_index_of_another_model_is_said(tmp_path: Path) -> None:
    folder = written(tmp_path, QWEN)
    index(folder, 235 * 10**9)
    made = import_checkpoint(folder, repository="org/model", name=None)
    assert [one.code.id for one in made.findings] == ["checkpoint-differs"]


def test_the_cache_of_the_hub_says_the_id(tmp_path: Path) -> None:
    folder = tmp_path / "models--Qwen--Qwen3-235B-A22B" / "snapshots" / "abc"
    folder.mkdir(parents=True)
    made = import_checkpoint(written(folder, QWEN), repository=None, name=None).profile
    assert (made.repository, made.name) == ("Qwen/Qwen3-235B-A22B", "qwen3-235b-a22b")
    assert usual_name("org/Some_Model v1.5") == "some-model-v1.5"


def test_the_file_reads_back_as_the_profile(tmp_path: Path) -> None:
    for value, _, _ in PUBLISHED.values():
        made = import_checkpoint(written(tmp_path, value), repository="org/model", name="m")
        assert (
            ModelProfile.model_validate(yaml.safe_load(made.text), by_alias=True, by_name=False)
            == made.profile
        )


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    assert codes(tmp_path, []) == ["checkpoint-unreadable"]
    assert codes(tmp_path, config("GemmaForCausalLM", num_hidden_layers=2)) == [
        "architecture-unknown"
    ]
    assert codes(tmp_path, {}) == ["architecture-unknown"]
    assert codes(tmp_path, QWEN, repository=None) == ["repository-not-said"]
    odd = {"quantization_config": {"quant_method": "bitsandbytes"}}
    assert codes(tmp_path, QWEN | odd) == ["weights-format-unknown"]
    (tmp_path / "config.json").write_text("{")
    with pytest.raises(InputError):
        import_checkpoint(tmp_path, repository="org/model", name=None)


def test_every_missing_fact_is_named_at_once(tmp_path: Path) -> None:
    value = {key: one for key, one in DEEPSEEK.items() if key not in ("kv_lora_rank", "vocab_size")}
    with pytest.raises(InputError) as error:
        import_checkpoint(written(tmp_path, value | {"hidden_size": 0}), repository=None, name=None)
    first, second = error.value.findings
    assert second.code.id == "repository-not-said"
    assert first.what.endswith("does not say hidden_size (is 0), kv_lora_rank, vocab_size")


JSON = st.sampled_from(
    [
        None,
        True,
        -1,
        0,
        1,
        7,
        2.5,
        1e9,
        "",
        "x",
        [],
        [0],
        [1, "full"],
        {},
        {"a": 1},
        {"num_heads": "x"},
    ]
)


@example(family="Glm4MoeForCausalLM", changed={"first_k_dense_replace": 10**9}, base="GLM-4.5")
@given(
    family=st.sampled_from(sorted(FAMILIES)),
    changed=st.dictionaries(
        st.sampled_from(sorted({key for value, _, _ in PUBLISHED.values() for key in value})),
        JSON,
        max_size=4,
    ),
    base=st.sampled_from(sorted(PUBLISHED)),
)
def test_no_configuration_raises(family: str, changed: Config, base: str) -> None:
    asked = Configuration(PUBLISHED[base][0] | changed | {"architectures": [family]})
    made = decoder(asked)
    assert made is not None
    assert all(count >= 0 for count in made.weights) or asked.missing
