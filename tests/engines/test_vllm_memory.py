"""What vLLM keeps of a GPU beside weights and cache: by release, model, batch, and what somebody measured."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.engines.vllm_terms import gib, mixture, model, part, terms

from gangform.apis.versions import Release
from gangform.engines import vllm_overheads as table
from gangform.inputs.model import (
    Experts,
    Overhead,
)
from gangform.units import Bytes

# ── activations ──────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("vocabulary", "version", "printed"),
    [
        (128_256, "0.19.0", "1.89"),
        (151_936, "0.19.0", "2.21"),
        (151_936, "0.18.0", "2.23"),
        (262_144, "0.19.0", "3.9"),
        (49_152, "0.19.0", "0.75"),
        (128_256, "0.16.0", "4.8"),
        (151_936, "0.16.0", "5.64"),
        (201_088, "0.14.0", "7.4"),
    ],
)
def test_the_peak_is_sampling_and_grows_with_the_vocabulary(
    vocabulary: int, version: str, printed: str
) -> None:
    """Eight models and two classes of `engines §6.3`, by two constants."""
    narrow = model(architecture={"vocabulary": vocabulary, "dense_width": 1024, "hidden": 1024})
    found = part(terms(narrow, version=version), "activation")
    assert abs(found - Decimal(printed)) <= Decimal("0.15")


def test_sampling_lies_on_the_last_stage_only() -> None:
    """k043: 1.10 GiB of Llama-3.1-8B on the first of two stages, 1.89 on one."""
    assert part(terms(), "activation") == Decimal("1.88")
    assert terms().sampling == 0
    first = terms(pipeline=2)
    assert part(first, "activation") == Decimal("1.09")
    assert gib(first.sampling) == Decimal("0.79")
    assert first.overhead + first.sampling == terms().overhead


def test_tensor_ranks_share_layers_and_not_the_sampling() -> None:
    assert part(terms(tensor=2), "activation") == part(terms(), "activation")
    assert part(terms(tensor=2, pipeline=2), "activation") < Decimal("0.8")


@pytest.mark.parametrize(
    ("flag", "activation"),
    [
        ("--max-num-seqs=256", "1.09"),
        ("--max-num-seqs=2048", "3.77"),
        ("--max-num-batched-tokens=32768", "4.38"),
        ("--max-num-batched-tokens=32K", "4.38"),
        ("--max-num-batched-tokens=32.768k", "4.38"),
        ("--max-num-batched-tokens=512", "0.94"),
        ("--max-num-seqs=soon", "1.88"),
    ],
)
def test_the_batch_that_arguments_ask_for_is_the_one_that_is_reckoned(
    flag: str, activation: str
) -> None:
    assert part(terms(args=(flag,)), "activation") == Decimal(activation)


def test_small_gpus_and_a100_have_smaller_batches() -> None:
    for small in (
        terms(visible="39.5"),
        terms(product="NVIDIA-A100-SXM4-80GB", visible="79.2"),
    ):
        assert part(small, "activation") == Decimal("0.47")
        assert small.in_flight == 2048
    assert terms().in_flight == 8192


def test_the_first_engine_ran_a_whole_context_as_one_step() -> None:
    """k071: 3.4 GiB beside the weights at 29,000 tokens on a small GPU."""
    old = terms(version="0.6.4", visible="23.6", context=29_000)
    assert abs(gib(old.overhead) - Decimal("3.4")) < 1
    assert old.in_flight == 29_000
    assert terms(version="0.6.4", context=100_000).in_flight == 2048


@pytest.mark.parametrize(
    ("experts", "split", "printed"),
    [
        # Qwen3-MoE and Qwen2-MoE of `engines §6.3`.
        ({}, {}, "2.7"),
        ({"routed": 60, "active": 4, "width": 1408}, {}, "2.5"),
    ],
)
def test_kernels_of_experts_add_their_work_space(
    experts: dict[str, int], split: dict[str, Any], printed: str
) -> None:
    found = part(terms(mixture(**experts), **split), "activation")
    assert abs(found - Decimal(printed)) <= Decimal("0.2")


def test_work_space_counts_the_tokens_of_all_data_ranks_up_to_a_chunk() -> None:
    """k026: 9.7 GiB beside the weights of Qwen3-Coder-480B at data 8 with whole experts."""
    coder = model(
        architecture={
            "hidden": 6144,
            "vocabulary": 151_936,
            "dense_width": None,
            "experts": Experts(routed=160, active=8, width=2560),
        }
    )
    wide = terms(coder, version="0.10.1", data=8, expert_parallel=True)
    assert abs(gib(wide.overhead) - Decimal("9.7")) < Decimal("0.5")
    assert terms(coder, version="0.10.1", data=16, expert_parallel=True) == wide
    assert terms(coder, version="0.10.1", data=2, expert_parallel=True).overhead < wide.overhead


def test_an_unknown_architecture_takes_the_larger_suggestion() -> None:
    unknown = model(architecture={}).model_copy(update={"architecture": None})
    assert part(terms(unknown), "activation") == 3


def test_hidden_states_side_by_side_are_held_each() -> None:
    one = terms(model(), args=("--max-num-batched-tokens=32768",))
    four = terms(model(architecture={"streams": 4}), args=("--max-num-batched-tokens=32768",))
    assert four.overhead - one.overhead == 32_768 * 3 * 7 * 4096 * 2


# ── communication, graphs, band ──────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("version", "tensor", "outside", "graphs"),
    [
        ("0.33.0", 1, "0.26", "1.50"),
        ("0.21.0", 8, "2.20", "1.50"),
        ("0.20.2", 2, "2.10", "0.00"),
        ("0.17.0", 4, "2.20", "0.00"),
        ("0.16.0", 1, "0.13", "0.00"),
        ("0.11.0", 2, "0.55", "0.00"),
        ("0.11.0", 8, "1.30", "0.00"),
        ("0.7.3", 8, "2.50", "0.00"),
    ],
)
def test_communication_and_graphs_by_class(
    version: str, tensor: int, outside: str, graphs: str
) -> None:
    found = terms(version=version, tensor=tensor)
    assert part(found, "communication") == Decimal(outside)
    assert part(found, "graphs") == Decimal(graphs)
    known = Decimal(4) if version == "0.7.3" else Decimal("1.5")
    assert (found.band, found.block) == (Bytes.gib(known), 16)
    assert part(terms(version=version, args=("--enforce-eager",)), "graphs") == 0


def test_the_class_is_said() -> None:
    assert terms(version="0.33.0").source == "engines §6.3, class A, dense"
    assert terms(mixture(), version="0.18.1").source == "engines §6.3, class B, mixture of experts"


def test_memory_that_the_host_shares_is_known_less_well() -> None:
    assert terms(unified=True).band == Bytes.gib(6)


@pytest.mark.parametrize("name", ["activation", "communication", "graphs"])
def test_what_was_measured_wins_the_serving_over_the_model(name: str) -> None:
    here, there = Bytes.gib(5), Bytes.gib(7)
    known = model(overhead=Overhead(**{name: there}))
    assert part(terms(known), name) == 7
    both = terms(known, options={"overhead": Overhead(**{name: here})})
    assert part(both, name) == 5
    none = terms(known, options={"overhead": Overhead(**{name: Bytes(0)})})
    assert part(none, name) == 0
    assert next(one.source for one in none.parts if one.name == name) == "measured"


def test_a_measured_peak_needs_no_sampling_beside_it() -> None:
    assert terms(model(overhead=Overhead(activation=Bytes.gib(2))), pipeline=2).sampling == 0


@settings(deadline=None)
@given(
    version=st.tuples(st.integers(0, 1), st.integers(0, 40), st.integers(0, 9)),
    tensor=st.integers(1, 10_000),
    data=st.integers(1, 10_000),
    pipeline=st.integers(1, 10_000),
    whole=st.booleans(),
    context=st.integers(1, 2**31 - 1),
)
def test_any_request_has_terms(
    version: tuple[int, int, int],
    tensor: int,
    data: int,
    pipeline: int,
    whole: bool,
    context: int,
) -> None:
    found = terms(
        mixture(),
        version=".".join(map(str, version)),
        tensor=tensor,
        data=data,
        pipeline=pipeline,
        expert_parallel=whole,
        context=context,
    )
    assert found.overhead > 0
    assert found.overhead + found.sampling == sum(one.size for one in found.parts)


# ── the table ────────────────────────────────────────────────────────────────────────────────────


def figures() -> list[table.Figure]:
    values = [*vars(table).values(), *table.FP8_LATENTS.values()]
    for era in table.ERAS:
        values += [era.sampling, *era.communication, era.graphs, era.band]
    return [value for value in values if isinstance(value, table.Figure)]


def test_every_figure_names_its_rows() -> None:
    assert len(figures()) > 20
    assert all(len(one.source) > 10 for one in figures())


def test_classes_are_newest_first_and_leave_no_release_out() -> None:
    since = [era.since for era in table.ERAS]
    assert since == sorted(since, reverse=True)
    assert since[-1] == Release(0, 0)
    letters = {
        Release.parse(text): table.era(Release.parse(text)).letter for text in ("0.33", "0.7.3")
    }
    assert list(letters.values()) == ["A", "D"]
