"""Arguments mean what vLLM's own parser makes of them, in every spelling that it takes."""

from __future__ import annotations

import pytest
from tests.engines.vllm_terms import mixture, model, part, terms

from gangform.engines.flags import Given
from gangform.engines.vllm_args import given
from gangform.engines.vllm_words import on, settings, whole

COMPILATION = "--compilation-config"


def graphs(*args: str, **variables: str) -> object:
    found = terms(version="0.33.0", args=args, variables=variables)
    return part(found, "graphs")


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1024", 1024),
        ("1_024", 1024),
        (" +5 ", 5),
        ("0", 0),
        ("1__0", None),
        ("-1", None),
        ("1k", None),
        ("1.0", None),
        ("٣", None),
        ("9" * 5000, None),
    ],
)
def test_a_whole_number_is_what_python_reads(text: str, number: int | None) -> None:
    assert whole(text) == number


@pytest.mark.parametrize(
    ("args", "keys"),
    [
        (['--x={"a": 1}'], {"a": 1}),
        (['--x={"a": 1}', '--x={"b": 2}'], {"b": 2}),
        (["--x.a=1", '--x={"b": 2}'], {"a": 1}),
        (["--x.a=1", "--x.b", "text", "--x.c=null", "--x.d=8k"], {"a": 1, "b": "text", "c": None, "d": 8000}),
        (["--x.a.b=1"], {"a": {}}),
        (["--x.a+=1,2", "--x.a+", "4"], {"a": [1, 2, 4]}),
        (["--x=[1]"], {}),
        (["--x=" + "[" * 100_000], {}),
        (["--y.a=1"], {}),
    ],
)  # fmt: skip
def test_the_last_object_counts_whole_and_single_keys_make_the_last(
    args: list[str], keys: dict[str, object]
) -> None:
    assert settings(given(args), "--x") == keys


def test_a_switch_is_on_until_it_is_taken_back() -> None:
    on_, off = Given(0, "--enable-lora", None), Given(1, "--no-enable-lora", None)
    assert on([on_], "--enable-lora")
    assert on([off, on_], "--enable-lora")
    assert not on([on_, off], "--enable-lora")
    assert not on([], "--enable-lora")


@pytest.mark.parametrize(
    "args",
    [
        ("--enforce-eager",),
        ("--enforce_eag",),
        ("--no-enforce-eager", "--enforce-eager"),
        ("-O0",),
        ("-O=0",),
        ("-O", "0"),
        ("--optimization-level=0",),
        ('-cc={"cudagraph_mode": "NONE"}',),
        ("-cc.cudagraph_mode=none",),
        ("-O.cudagraph_mode=NONE",),
        (f"{COMPILATION}.cudagraph_mode", "NONE"),
    ],
)
def test_without_graphs(args: tuple[str, ...]) -> None:
    assert graphs(*args) == 0


@pytest.mark.parametrize(
    "args",
    [
        ("--enforce-eager", "--no-enforce-eager"),
        ("--enforce-eager", "--no-enforce"),
        ("-O3",),
        ("-O0", "-cc.cudagraph_mode=FULL"),
        (f'{COMPILATION}={{"cudagraph_mode": "NONE"}}', f"{COMPILATION}.mode=3"),
        (f'{COMPILATION}={{"cudagraph_mode": "NONE"}}', f"{COMPILATION}={{}}"),
        (f"{COMPILATION}=null",),
    ],
)
def test_with_all_graphs(args: tuple[str, ...]) -> None:
    assert graphs(*args) == graphs() != 0


@pytest.mark.parametrize(
    "args",
    [
        ("--cudagraph-capture-sizes", "1", "2", "4", "--max-num-seqs", "1024"),
        ("-cc.cudagraph_capture_sizes+=1,2,4",),
        (f'{COMPILATION}={{"cudagraph_capture_sizes": [4, 2, 1, 1, 2]}}',),
        (f'{COMPILATION}={{"cudagraph_capture_sizes": [1, 2, 4, 9000]}}',),
        ("--max-cudagraph-capture-size=$(LARGEST)",),
    ],
)
def test_sizes_that_are_listed_count_once(args: tuple[str, ...]) -> None:
    assert graphs(*args, LARGEST="4") == graphs("-cc.max_cudagraph_capture_size=4") != graphs()


def test_a_variable_is_put_in_where_its_value_is_written() -> None:
    told = terms(args=("--max-num-batched-tokens=$(TOKENS)",), variables={"TOKENS": "4k"})
    assert told.in_flight == 4000
    assert terms(args=("--max-num-batched-tokens=$(TOKENS)",)).in_flight == terms().in_flight


def test_throughput_doubles_the_batch_that_nobody_gives() -> None:
    fast = "--performance-mode=throughput"
    assert terms(args=(fast,)).in_flight == 2 * terms().in_flight
    assert terms(args=(fast, "--max-num-batched-tokens=512")).in_flight == 512


def test_adapters_and_experts_that_are_taken_back_take_nothing() -> None:
    assert terms(model(), args=("--enable-lora", "--no-enable-lora")) == terms(model())
    spare = '--eplb-config={"num_redundant_experts": 8}'
    assert (
        terms(mixture(), args=("--enable-eplb", spare, "--eplb-config={}")).redundant_experts == 0
    )
    nested = "--eplb-config=" + "[" * 100_000
    assert terms(mixture(), args=(nested,)).redundant_experts == 0
