"""Flags by release, and how a list of arguments is read."""

from __future__ import annotations

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from gangform.apis.versions import Release
from gangform.engines.flags import Given, last
from gangform.engines.vllm_args import given, redundant_experts, two_in_one
from gangform.engines.vllm_flags import FLAGS, default_utilization


@pytest.mark.parametrize(
    ("flag", "before", "since"),
    [
        ("--nnodes", "0.11.0", "0.11.1"),
        ("--headless", "0.11.0", "0.11.1"),
        ("VLLM_ENGINE_READY_TIMEOUT_S", "0.13.0", "0.14.0"),
        ("--prefill-context-parallel-size", "0.32.0", "0.33.0"),
        ("--data-parallel-size together with --nnodes", "0.32.0", "0.33.0"),
        ("--shutdown-timeout", "0.32.0", "0.33.0"),
    ],
)
def test_a_flag_exists_from_its_release(flag: str, before: str, since: str) -> None:
    assert not FLAGS.has(flag, Release.parse(before))
    assert FLAGS.has(flag, Release.parse(since))


def test_an_unknown_newer_release_counts_as_the_newest_known() -> None:
    assert all(FLAGS.has(name, Release(1, 0)) for name in FLAGS.rows)


def test_every_row_says_where_it_was_read() -> None:
    assert all(row.source.startswith("engines §") for row in FLAGS.rows.values())


def test_the_default_share_grows_at_0_21() -> None:
    assert str(default_utilization(Release(0, 20, 2))) == "0.9"
    assert str(default_utilization(Release(0, 21))) == "0.92"


def test_every_spelling_is_one_flag() -> None:
    args = ["model", "-tp", "8", "--pipeline_parallel_size=2", "--headless", "--a.b-c=1", "-x"]
    assert given(args) == [
        Given(1, "--tensor-parallel-size", "8"),
        Given(3, "--pipeline-parallel-size", "2"),
        Given(4, "--headless", None),
        Given(5, "--a.b_c", "1"),
        Given(6, "-x", None),
    ]


def test_the_beginning_of_a_flag_is_the_flag() -> None:
    args = ["--tensor-parallel", "8", "--max_model=32k", "--kv-transfer={}", "--max", "--no-enable"]
    assert [one.flag for one in given(args)] == [
        "--tensor-parallel-size",
        "--max-model-len",
        "--kv-transfer-config",
        "--max",
        "--no-enable",
    ]
    assert given(["--data-parallel-size=2"])[0].flag == "--data-parallel-size"


def test_the_last_of_a_flag_counts() -> None:
    found = last(given(["--port=1", "--port", "2"]), "--port")
    assert found is not None and found.value == "2"
    assert last([], "--port") is None


def test_an_item_with_a_space_is_two() -> None:
    assert two_in_one(["--a b", "--a=b c", "a b", '--j={"a": 1}', "-tp 8"]) == [0, 4]


@pytest.mark.parametrize(
    ("args", "count"),
    [
        ([], 0),
        (['--eplb-config={"num_redundant_experts": 32}'], 32),
        (["--eplb-config", '{"window_size": 10}'], 0),
        (["--eplb-config=not json"], 0),
        (["--eplb-config=[1]"], 0),
        (["--eplb-config=" + "[" * 100_000], 0),
        (["--eplb-config.num_redundant_experts", "16"], 16),
        (["--eplb-config.num-redundant-experts=16"], 16),
        (["--num-redundant-experts=4"], 4),
    ],
)
def test_redundant_experts_are_read(args: list[str], count: int) -> None:
    assert redundant_experts(given(args)) == count


@for_all(st.lists(st.text(max_size=12), max_size=6))
def test_no_list_of_arguments_raises(args: list[str]) -> None:
    redundant_experts(given(args))
    two_in_one(args)
