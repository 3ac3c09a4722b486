"""How vLLM stores its cache, and what arguments and variables fix of it, of stages and of weights."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from tests.engines.vllm_terms import GIB, LATENT, mixture, model, part, terms

from gangform.engines import vllm_words
from gangform.inputs.model import (
    Attention,
    Compressed,
    Indexer,
    Overhead,
)
from gangform.units import Bytes

# ── the cache's format, and the host's memory ────────────────────────────────────────────────────


def test_an_element_is_two_bytes_one_in_fp8_and_four_in_fp32() -> None:
    assert terms().cache_element == 2
    assert terms(options={"kv_cache_type": "fp8"}).cache_element == 1
    assert terms(model(weights="fp32")).cache_element == 4


@pytest.mark.parametrize(
    ("changes", "entry"),
    [
        ({"attention": LATENT}, None),
        ({"attention": LATENT, "indexer": Indexer(layers=21)}, 656),
        (
            {
                "attention": Attention(kind="mla", heads=64, latent=512),
                "full_layers": 0,
                "compressed": (Compressed(layers=20, ratio=4),),
            },
            584,
        ),
        ({"indexer": Indexer(layers=21)}, None),
        (
            {
                "attention": Attention(kind="mla", heads=64, latent=100),
                "indexer": Indexer(layers=1),
            },
            None,
        ),
    ],
)
def test_fp8_of_sparse_attention_is_a_format_of_its_own(
    changes: dict[str, Any], entry: int | None
) -> None:
    narrow = terms(model(architecture=changes), options={"kv_cache_type": "fp8"})
    assert narrow.latent_entry == entry
    assert terms(model(architecture=changes)).latent_entry is None


@pytest.mark.parametrize(
    ("args", "size"),
    [
        ((), 0),
        (("--cpu-offload-gb=10",), 10 * GIB),
        (("--cpu-offload-gb", "2.5"), 5 * GIB // 2),
        (("--cpu-offload-gb=much",), 0),
    ],
)
def test_weights_on_the_host_are_not_on_the_gpu(args: tuple[str, ...], size: int) -> None:
    assert terms(args=args).offloaded == size


def test_redundant_experts_are_read() -> None:
    spare = ("--enable-eplb", '--eplb-config={"num_redundant_experts": 8}')
    assert terms(mixture(), args=spare).redundant_experts == 8
    assert terms(mixture()).redundant_experts == 0


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("4096", 4096),
        ("4k", 4000),
        ("4K", 4096),
        ("1.5g", 1_500_000_000),
        ("30G", 30 * GIB),
        ("2T", 2 * 2**40),
        ("1.5G", None),
        ("30GiB", None),
        ("much", None),
        ("-1", None),
        ("", None),
        ("9" * 40, None),
    ],
)
def test_amounts_are_read_as_the_engine_reads_them(text: str, size: int | None) -> None:
    assert vllm_words.amount(text) == size


def test_a_fixed_cache_is_said_with_the_argument_that_fixes_it() -> None:
    found = terms(args=("--kv-cache-memory-bytes=10G",))
    assert (found.pinned, found.pinned_by) == (10 * GIB, "--kv-cache-memory-bytes")
    both = terms(args=("--kv-cache-memory", "10G", "--num-gpu-blocks-override", "512"))
    assert (both.pinned_blocks, both.pinned_by) == (512, "--num-gpu-blocks-override")
    assert terms(args=("--kv-cache-memory-bytes=x",)).pinned_by == terms().pinned_by == ""


def test_block_and_format_of_the_cache_are_those_of_the_arguments() -> None:
    assert terms(args=("--block-size=64",)).block == 64
    assert terms(args=("--block-size=none",)).block == 16
    assert terms(args=("--kv-cache-dtype=fp8_e5m2",)).cache_element == 1
    assert terms(model(weights="fp32"), args=("--kv-cache-dtype=bfloat16",)).cache_element == 2


def test_a_layer_for_prediction_lies_on_the_last_stage_and_keeps_a_cache() -> None:
    mtp = '--speculative-config={"method": "mtp", "num_speculative_tokens": 3}'
    own = model(draft=Bytes.gib(2))
    found = terms(own, args=(mtp,))
    assert (found.draft_layers, found.speculative) == (1, 3)
    assert part(found, "draft model on the last stage") == 2
    assert terms(own, args=(mtp,), pipeline=2).sampling > terms(own, pipeline=2).sampling
    assert part(terms(own, args=(mtp,), tensor=4), "draft model on the last stage") == Decimal(
        "0.5"
    )
    # Where the checkpoint does not say how much is for prediction, it is one mean layer.
    layer = part(terms(args=(mtp,)), "draft model on the last stage")
    assert Decimal("0.3") < layer < Decimal("0.5")
    for without in ("", '--speculative-config={"method": "ngram"}', "--speculative-config={"):
        assert terms(args=(without,)).draft_layers == 0


def test_each_key_of_the_draft_may_be_an_argument_of_its_own() -> None:
    keys = ("--speculative-config.method=mtp", "--speculative-config.num_speculative_tokens=2")
    assert (terms(args=keys).draft_layers, terms(args=keys).speculative) == (1, 2)


def test_other_spellings_of_the_draft_are_read() -> None:
    short = ("-sc", '{"method": "mtp", "num_speculative_tokens": 2}')
    for args in (
        short,
        ("--spec-method=mtp", "--spec-tokens", "2"),
        ("--spec_method=mtp", "--spec-tokens=2"),
    ):
        assert (terms(args=args).draft_layers, terms(args=args).speculative) == (1, 2)


def test_a_draft_of_another_model_weighs_what_somebody_says() -> None:
    head = '--speculative-config={"model": "org/head", "num_speculative_tokens": 2}'
    name = "draft model on the last stage"
    assert name not in [one.name for one in terms(args=(head,)).parts]
    said = terms(args=(head,), options={"overhead": Overhead(draft=Bytes.gib(1))})
    assert part(said, name) == 1
    assert said.draft_layers == 1
    known = model(overhead=Overhead(draft=Bytes.gib(2)))
    assert part(terms(known, args=(head,)), name) == 2
    nothing = terms(known, args=(head,), options={"overhead": Overhead(draft=Bytes(0))})
    assert name not in [one.name for one in nothing.parts]


def test_slots_for_adapters_are_laid_out_at_the_start() -> None:
    """Llama-3.1-8B, rank 16: 32 layers of (3 + 2) x 4096 + 4096 + 14336 in, 4096 + 2048 + 4096 + 28672 + 4096 out."""
    found = terms(args=("--enable-lora",))
    size = next(one.size for one in found.parts if one.name == "adapters")
    assert size == 32 * 16 * (5 * 4096 + 4096 + 14_336 + 4096 + 2048 + 4096 + 28_672 + 4096) * 2
    more = terms(args=("--enable-lora", "--max-loras=4", "--max-lora-rank=64"))
    assert next(one.size for one in more.parts if one.name == "adapters") == 16 * size
    cut = terms(args=("--enable-lora",), tensor=8)
    assert size / 8 < next(one.size for one in cut.parts if one.name == "adapters") < size
    assert "adapters" not in [one.name for one in terms(mixture(), args=("--enable-lora",)).parts]


@pytest.mark.parametrize(
    ("args", "size"),
    [
        ((), "1.50"),
        (("--max-num-seqs=1",), "0.34"),
        (("--max-num-seqs=8",), "0.43"),
        (("--max-cudagraph-capture-size=4",), "0.38"),
        (('--compilation-config={"cudagraph_capture_sizes": [1, 2]}',), "0.36"),
        (('--compilation-config={"cudagraph_mode": "NONE"}',), "0"),
        (("--enforce-eager",), "0"),
    ],
)
def test_fewer_graphs_take_less(args: tuple[str, ...], size: str) -> None:
    assert part(terms(version="0.25.0", args=args), "graphs") == Decimal(size)
    assert part(terms(version="0.19.0", args=args), "graphs") == 0


def test_a_variable_decides_whether_graphs_come_out_of_the_share() -> None:
    name = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"
    assert part(terms(version="0.25.0", variables={name: "0"}), "graphs") == 0
    assert part(terms(version="0.19.0", variables={name: "1"}), "graphs") == Decimal("1.5")


def test_no_step_is_longer_than_all_sequences_together() -> None:
    assert terms(args=("--max-num-seqs=2",), context=512).in_flight == 1024
    both = ("--max-num-seqs=2", "--max-num-batched-tokens=4096")
    assert terms(args=both, context=512).in_flight == 4096


@pytest.mark.parametrize(
    ("text", "size"),
    [("16G", 16 * GIB), ("20m", 20 * 2**20), ("1073741824", GIB), ("much", None), ("", None)],
)
def test_the_heap_of_a_library_is_what_its_variable_says(text: str, size: int | None) -> None:
    assert terms(variables={"NVSHMEM_SYMMETRIC_SIZE": text}).heap == size
    assert terms().heap is None


def test_a_variable_cuts_the_layers_of_stages() -> None:
    cut = {"VLLM_PP_LAYER_PARTITION": "20, 12"}
    assert terms(variables=cut, pipeline=2).layers == (20, 12)
    assert terms(pipeline=2).layers == ()
