"""What a configuration says of windows, positions and layers, in its many spellings; and what is another model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.inputs.checkpoints import (
    COMMAND,
    DEEPSEEK,
    EXAONE,
    GEMMA,
    LLAMA,
    MIMO,
    MINIMAX,
    MINIMAX_3,
    NEMOTRON,
    OLMO,
    QWEN,
    QWEN_VL,
    Config,
    codes,
    profile,
    written,
)

from gangform.findings import InputError
from gangform.inputs.checkpoint import import_checkpoint


@pytest.mark.parametrize(
    ("value", "windows"),
    [
        (OLMO, [(48, 4096)]),
        (EXAONE, [(48, 4096)]),
        ({**EXAONE, "layer_types": None}, [(48, 4096)]),
        ({**EXAONE, "layer_types": None, "sliding_window_pattern": 5}, [(52, 4096)]),
        (GEMMA, [(52, 1024)]),
        (COMMAND, [(30, 4096)]),
        (QWEN_VL, []),
        (QWEN_VL | {"use_sliding_window": True, "max_window_layers": 20}, [(8, 32768)]),
        (MIMO, [(39, 128)]),
        (LLAMA | {"architectures": ["MistralForCausalLM"], "sliding_window": 4096}, [(126, 4096)]),
        # A window as long as the context is none.
        (LLAMA | {"architectures": ["Phi3ForCausalLM"], "sliding_window": 262144}, []),
    ],
)
def test_windows_are_known_in_every_spelling(
    value: Config, windows: list[tuple[int, int]], tmp_path: Path
) -> None:
    made = profile(tmp_path, value).architecture
    assert made and [(one.layers, one.tokens) for one in made.windows] == windows


def test_sliding_layers_may_have_heads_of_their_own(tmp_path: Path) -> None:
    made = profile(tmp_path, MIMO).architecture
    assert made
    (window,) = made.windows
    assert (window.kv_heads, window.head_dim, window.value_dim) == (8, 192, 128)
    assert (made.attending, made.attention.kv_heads, made.dense_layers) == (9, 4, 1)


@pytest.mark.parametrize(
    ("more", "limit"),
    [
        ({}, 131072),
        ({"rope_scaling": None}, 131072),
        ({"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 65536}}, 262144),
        ({"rope_parameters": {"type": "yarn", "factor": 2, "rope_theta": 1e6}}, 262144),
        ({"rope_scaling": {"type": "linear", "factor": 8}}, 1048576),
        ({"rope_scaling": {"type": "dynamic", "factor": 2.5}}, 327680),
        ({"rope_scaling": {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}}, 131072),
        ({"rope_scaling": {"type": "longrope", "factor": 32.0}}, 131072),
        ({"rope_scaling": {"type": "mrope", "mrope_section": [1, 2]}}, 131072),
        ({"rope_scaling": {"type": "video_rope", "factor": None}}, 131072),
        ({"rope_scaling": {"type": "yarn", "factor": "x"}}, 131072),
        ({"max_position_embeddings": None, "model_max_length": 4096}, 4096),
        ({"model_type": "gemma3_text", "rope_scaling": {"rope_type": "linear", "factor": 8.0}}, 131072),
    ],
)  # fmt: skip
def test_positions_that_are_stretched_lengthen_the_context(
    more: Config, limit: int, tmp_path: Path
) -> None:
    made = profile(tmp_path, LLAMA | more)
    assert made.context_limit == limit
    assert ("rope_scaling" in made.sources["contextLimit"]) == (limit > 131072)


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (LLAMA | {"num_local_experts": 8}, "num_local_experts"),
        (LLAMA | {"kv_lora_rank": 512}, "kv_lora_rank"),
        (LLAMA | {"layer_types": ["linear_attention"] * 126}, "layer_types: linear_attention"),
        (LLAMA | {"block_configs": [{"attention": {}}]}, "block_configs"),
        (QWEN | {"decoder_sparse_step": 2}, "decoder_sparse_step"),
        (QWEN | {"mlp_only_layers": [0, 1]}, "mlp_only_layers"),
        (MINIMAX | {"attn_type_list": [0, 1] * 31}, "attn_type_list"),
        (DEEPSEEK | {"moe_layer_freq": 2}, "moe_layer_freq: 2"),
        (DEEPSEEK | {"mlp_layer_types": ["sparse", "dense"]}, "layers without experts between"),
        (NEMOTRON | {"layers_block_type": ["mamba", "moe", "rwkv"]}, "a layer of kind rwkv"),
    ],
)
def test_another_model_under_a_known_name_is_refused(
    value: Config, named: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError) as error:
        import_checkpoint(written(tmp_path, value), repository="org/model", name=None)
    (finding,) = error.value.findings
    assert finding.code.id == "architecture-unknown"
    assert named in finding.what


def test_what_says_nothing_new_is_no_other_model(tmp_path: Path) -> None:
    more = {
        "decoder_sparse_step": 1, "mlp_only_layers": [], "attn_type_list": [1] * 94, "kv_lora_rank": None,
        "layer_types": ["full_attention"] * 94, "sliding_window": None, "num_kv_shared_layers": 0,
    }  # fmt: skip
    assert profile(tmp_path, QWEN | more) == profile(tmp_path, QWEN)


def test_an_index_with_keys_alone_is_counted(tmp_path: Path) -> None:
    sparse = {
        "sparse_attention_freq": [0] * 3 + [1] * 57,
        "sparse_index_dim": 128,
        "sparse_num_index_heads": 4,
    }
    made = profile(tmp_path, MINIMAX_3 | {"sparse_attention_config": sparse})
    assert made.architecture and made.architecture.indexer
    assert (made.architecture.indexer.layers, made.architecture.indexer.size) == (57, 256)
    assert made.parameters == 426174572928


@pytest.mark.parametrize(
    "more",
    [
        {"hidden_size": 10**30},
        {"vocab_size": 1e300},
        {"num_hidden_layers": 10**9, "hidden_size": 10**9, "moe_intermediate_size": 10**9},
    ],
)
def test_numbers_beyond_all_models_are_refused(more: Config, tmp_path: Path) -> None:
    assert codes(tmp_path, QWEN | more) == ["configuration-incomplete"]


@pytest.mark.parametrize(
    "value",
    [
        {"metadata": {"total_size": float("inf")}, "weight_map": 7},
        {"metadata": {"total_size": "many"}, "weight_map": [True]},
        {"metadata": {"total_size": -1}, "weight_map": None},
        {"metadata": 3, "weight_map": 2.5},
    ],
)
def test_a_damaged_index_says_nothing(value: Config, tmp_path: Path) -> None:
    folder = written(tmp_path, DEEPSEEK)
    (folder / "model.safetensors.index.json").write_text(json.dumps(value))
    made = import_checkpoint(folder, repository="org/model", name=None)
    assert made.profile.sources["checkpoint"].startswith("calculated") and made.findings == ()
