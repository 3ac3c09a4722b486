"""Profiles out of published configurations: their facts as in `engines §5.1`, their totals as published (§5.2)."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.inputs.checkpoints import (
    DEEPSEEK,
    NEMOTRON,
    PUBLISHED,
    QWEN,
    Config,
    codes,
    config,
    index,
    profile,
    written,
)

from gangform.findings import InputError
from gangform.inputs.checkpoint import import_checkpoint, usual_name
from gangform.inputs.configuration import Configuration
from gangform.inputs.families import FAMILIES, decoder
from gangform.inputs.model import ModelProfile
from gangform.units import Bytes


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
    # Beside the window: keys, values and scores of what is not compressed yet, in four bytes each.
    assert [(one.layers, one.tokens, one.size) for one in packed.windows] == [
        (61, 128, None),
        (30, 8, 8 * (2 * 512 + 2 * 128)),
        (31, 128, 8 * 512),
    ]
    assert packed.streams == 4
    kimi = made["Kimi-K3"]
    assert kimi and (kimi.attending, kimi.states[0].layers) == (24, 69)


@pytest.mark.parametrize(
    ("quantization", "weights", "experts", "attention"),
    [
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, "fp8", "fp8", "fp8"),
        ({"quant_method": "mxfp4", "modules_to_not_convert": ["x.layers.1", "self_attn"]}, "mxfp4", "mxfp4", "bf16"),
        ({"quant_method": "awq", "bits": 4, "group_size": 128}, "int4", "int4", "int4"),
        ({"quant_method": "gptq", "bits": 4, "ignore": ["model.layers.*.self_attn"]}, "int4", "int4", "bf16"),
        ({"quant_algo": "NVFP4", "exclude_modules": ["model.layers.*.self_attn*"]}, "nvfp4", "nvfp4", "bf16"),
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
                    f"model.layers.{at}.{module}": {"quant_algo": algorithm}
                    for at in range(94)
                    for module, algorithm in (
                        ("mlp.experts", "NVFP4"), ("self_attn.q_proj", "FP8"), ("self_attn.o_proj", "FP8")
                    )
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


def test_layers_that_are_left_out_count_as_so_many(tmp_path: Path) -> None:
    """As NVIDIA leaves out the layers before and after attention."""
    kept = [
        f"backbone.layers.{at}.mixer.{one}" for at in range(6) for one in ("in_proj", "out_proj")
    ]
    said = {"quant_algo": "NVFP4", "exclude_modules": kept}
    made = profile(tmp_path, NEMOTRON | {"quantization_config": said})
    whole = profile(tmp_path, NEMOTRON | {"quantization_config": said | {"exclude_modules": []}})
    assert made.tensors.attention and whole.tensors.attention
    # 6 of 12 layers that attend and 48 of Mamba, at two bytes instead of nine sixteenths.
    share = int(made.tensors.attention.size) / int(whole.tensors.attention.size)
    assert abs(share - (6 * 2 + 54 * 9 / 16) / (60 * 9 / 16)) < 1e-6
    assert made.tensors.attention.format == "nvfp4"


def test_the_first_layers_do_not_speak_for_experts(tmp_path: Path) -> None:
    """A pattern for layers without experts, as NVIDIA writes it for GLM."""
    some = [f"model.layers.{at}.*" for at in range(3)]
    said = {"quant_algo": "NVFP4", "exclude_modules": ["lm_head", *some]}
    made = profile(tmp_path, DEEPSEEK | {"quantization_config": said})
    assert made.tensors.experts
    assert int(made.tensors.experts.size) == made.expert_parameters * 9 // 16


def test_a_format_said_layer_by_layer_is_quick_to_read(tmp_path: Path) -> None:
    each = {"quant_algo": "NVFP4"}
    listed = {
        f"model.layers.{at}.mlp.experts.{expert}.gate_proj": each
        for at in range(94)
        for expert in range(128)
    }
    said = {"quant_algo": "MIXED_PRECISION", "quantized_layers": listed}
    made = profile(tmp_path, QWEN | {"quantization_config": said})
    assert made.weights == "nvfp4"
    assert made.tensors.attention and made.tensors.attention.format == "bf16"


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


@settings(suppress_health_check=[HealthCheck.too_slow])
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
