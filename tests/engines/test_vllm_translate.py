"""A foreign vLLM command line in the words of the inputs."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.engines.engine import Translation
from gangform.engines.vllm_translate import translate


def of(*args: str, **container: Any) -> Translation:
    made = translate({"command": ["vllm", "serve"], "args": [*args], **container})
    assert made is not None
    return made


def test_flags_that_inputs_say_become_inputs_in_any_spelling() -> None:
    made = of(
        "/models/r1", "-tp", "8", "--pipeline_parallel_size=2", "--enable-expert-parallel", "--max-model-len=32k",
        "--served-model-name", "r1", "--gpu-memory-utilization=0.85", "--kv-cache-dtype", "fp8", "-dcp=4",
    )  # fmt: skip
    assert made == Translation(
        model="/models/r1",
        served_name="r1",
        context=32000,
        parallelism={"tensor": 8, "pipeline": 2, "decodeContext": 4, "expertParallel": True},
        unsized=(),
        options={"utilization": "0.85", "kvCacheType": "fp8"},
        args=(),
    )


def test_the_beginning_of_a_flag_becomes_its_input() -> None:
    made = of("m", "--tensor-parallel", "8", "--max-model", "8192", "--no-enable-expert")
    assert made is not None
    assert (made.parallelism, made.context, made.args) == ({"tensor": 8}, 8192, ())
    assert made.unread == (("--no-enable-expert", "the plan decides it"),)


def test_what_gangform_writes_by_itself_is_left_out_in_silence() -> None:
    made = of(
        "m/x", "--nnodes=$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)", "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=29501", "--port=8000", "--headless", "--distributed-executor-backend=mp",
    )  # fmt: skip
    assert (made.args, made.unread) == ((), ())
    assert made.served_name == "m/x"


def test_everything_else_is_an_argument_as_it_was_written() -> None:
    made = of(
        "m",
        "--trust-remote-code",
        "--lora-modules",
        "a=b",
        "c=d",
        "--block-size=32",
        "--no-enable-chunked-prefill",
    )
    assert made.args == (
        "--trust-remote-code", "--lora-modules", "a=b", "c=d", "--block-size=32", "--no-enable-chunked-prefill",
    )  # fmt: skip
    assert made.unread == ()


@pytest.mark.parametrize(
    ("word", "why"),
    [
        ("--port=8080", "gangform writes --port=8000"),
        ("--distributed-executor-backend=ray", "gangform joins nodes without it"),
        ("--max-model-len=$(LENGTH)", "the length is not written out"),
        ("--gpu-memory-utilization=$(SHARE)", "the share is not written out"),
        ("--tensor-parallel-size=$(GPUS)", "the number is not written out"),
        ("--data-parallel-hybrid-lb", "the plan places data ranks by itself"),
        ("--no-enable-expert-parallel", "the plan decides it"),
    ],
)
def test_what_no_input_takes_is_named_with_the_reason(word: str, why: str) -> None:
    made = of("m", word)
    assert made.unread == ((word, why),)
    assert made.args == ()


def test_further_names_are_said() -> None:
    assert of("m", "--served-model-name", "a", "b").unread == (
        ("b", "--served-model-name takes one value here"),
    )


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("4096", 4096),
        ("128k", 128_000),
        ("32K", 32_768),
        ("1M", 2**20),
        ("2.5k", 2500),
        ("2.5K", None),
        ("auto", None),
    ],
)
def test_lengths_are_read_as_the_engine_reads_them(text: str, tokens: int | None) -> None:
    assert of("m", f"--max-model-len={text}").context == tokens


def test_scripts_are_followed_and_what_is_not_vllm_is_none() -> None:
    script = "ray start --head; python3 -m vllm.entrypoints.openai.api_server --model m --tensor-parallel-size 8"
    made = translate({"command": ["sh", "-c", script]})
    assert made is not None and (made.model, made.parallelism) == ("m", {"tensor": 8})
    image = {"image": "vllm/vllm-openai:v0.33.0", "args": ["--model=m"]}
    assert translate(image) is not None
    assert translate({"command": ["python3", "-m", "sglang.launch_server"]}) is None
    assert translate({"command": ["sh", "-c", "if $X; then vllm serve m; fi"]}) is None
