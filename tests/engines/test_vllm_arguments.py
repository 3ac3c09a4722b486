"""Arguments of the user beside those of the plan: what vLLM refuses, and what passes."""

from __future__ import annotations

from fractions import Fraction
from time import process_time

import pytest
from tests.engines.vllm_requests import A100, DENSE, ask, container, ids, only, place

from gangform.engines.vllm import Vllm
from gangform.findings import Severity


@pytest.mark.parametrize(
    ("argument", "field"),
    [
        ("--tensor-parallel-size=4", "parallelism.tensor"),
        ("-tp=4", "parallelism.tensor"),
        ("-tp", "parallelism.tensor"),
        ("--tensor_parallel_size=4", "parallelism.tensor"),
        ("--pipeline-parallel-size=2", "parallelism.pipeline"),
        ("-pp", "parallelism.pipeline"),
        ("-dp", "parallelism.data"),
        ("-dcp=2", "parallelism.decodeContext"),
        ("--enable-expert-parallel", "parallelism.expertParallel"),
        ("--no-enable-expert-parallel", "parallelism.expertParallel"),
        ("--max-model-len=8192", "context"),
        ("--served-model-name=x", "servedModelName"),
        ("--gpu-memory-utilization=0.5", "engine.utilization"),
        ("--kv-cache-dtype=fp8", "engine.kvCacheType: fp8"),
        ("--nnodes=2", None),
        ("--node-rank=1", None),
        ("--master-addr=x", None),
        ("--headless", None),
        ("--port=80", None),
        ("--data-parallel-hybrid-lb", None),
        ("--tensor-paralle=4", "parallelism.tensor"),
        ("--pipeline_par=4", "parallelism.pipeline"),
        ("--serve=x", "servedModelName"),
        ("--no-enable-expert", "parallelism.expertParallel"),
        ("--nnode=2", None),
        ("--headl", None),
    ],
)
def test_a_flag_of_the_plan_is_refused_with_its_input(argument: str, field: str | None) -> None:
    found = only(ask(args=("--max-num-seqs=64", argument)), "engine-args-repeat-plan")
    assert place(found) == "engine.args.1"
    assert field is None or f"set {field}" in found.fix


@pytest.mark.parametrize(
    "argument",
    [
        "--max-num-seqs=64",
        "--trust-remote-code",
        "--host=::",
        "--host=0.0.0.0",
        "--host=$(POD_IP)",
        "--max=1",
        "--tensor-parallelism=4",
        "--max-num-batched-tokens",
        "--seed=1",
    ],
)
def test_other_arguments_pass(argument: str) -> None:
    assert ids(ask(pipeline=2, args=(argument,))) == []


@pytest.mark.parametrize(
    ("argument", "group", "one_pod"),
    [
        ("--distributed-executor-backend=ray", True, False),
        ("--distributed-executor-backend=mp", False, False),
        ("-dpb=ray", True, False),
        ("--api-server-count=2", True, False),
        ("--enable-elastic-ep", True, False),
        ("--uds=/tmp/socket", True, True),
        ("--ssl-keyfile=/key", True, True),
        ("--config=/etc/vllm.yaml", True, True),
        ("--grpc", True, True),
        ("--host=127.0.0.1", True, True),
        ("--distributed-executor=ray", True, False),
    ],
)
def test_arguments_that_the_shape_does_not_bear(argument: str, group: bool, one_pod: bool) -> None:
    conflict = ["engine-args-conflict"]
    assert ids(ask(pipeline=2, args=(argument,))) == conflict * group
    assert ids(ask(args=(argument,))) == conflict * one_pod


def test_a_stage_holds_a_layer() -> None:
    found = only(ask(DENSE, pipeline=62, size=62), "pipeline-longer-than-model")
    assert (place(found), found.fix) == ("parallelism.pipeline", "use pipeline 61 or less")
    assert "pipeline-longer-than-model" not in ids(ask(DENSE, pipeline=61, size=61))


def test_absurd_sizes_are_answered_at_once() -> None:
    began = process_time()
    absurd = ask(DENSE, tensor=10**9 + 7, decode_context=10**9, size=2)
    assert "tensor-does-not-divide-heads" in ids(absurd)
    assert process_time() - began < 5


def test_a_leader_is_ready_with_all_its_ranks_only() -> None:
    assert not Vllm.ready_before_workers
    launch = Vllm().launch(ask(pipeline=2))
    reading = Vllm().read(container(launch.leader))
    assert reading is not None and reading.all_ranks
    alone = Vllm().read(container(Vllm().launch(ask()).leader))
    assert alone is not None and not alone.all_ranks


def test_two_words_in_one_item_are_refused() -> None:
    found = only(ask(args=("--max-num-seqs 64",)), "engine-args-joined")
    assert found.fix == "write --max-num-seqs=64, or two items"
    assert ids(ask(args=("--max-num-seqs", "64"))) == []


@pytest.mark.parametrize(
    "argument",
    [
        "--kv-cache-memory-bytes=30GiB",
        "--kv-cache-dtype=nvfp4",
        "--quantization=awq",
        "--enable-eplb",
        "--enable-lora",
        "--dtype=float32",
        "--dtype=float",
        "--max-num-seqs=$(SEQUENCES)",
        "--max-num-seqs=0",
        "--max-num-batched-tokens=1.5K",
        "--cpu-offload-gb=10GiB",
        '--speculative-config={"method": "eagle3", "model": "org/head", "num_speculative_tokens": 3}',
    ],
)
def test_arguments_that_change_memory_beyond_the_arithmetic_are_said(argument: str) -> None:
    found = only(ask(args=(argument,)), "engine-args-change-memory")
    assert found.code.severity is Severity.DEGRADES
    assert "fit.availableKv" in found.fix


@pytest.mark.parametrize(
    "argument",
    [
        "--kv-cache-memory-bytes=30G",
        "--kv-cache-memory=32212254720",
        "--kv_cache_dtype=fp8_e5m2",
        "--block-size=64",
        "--dtype=auto",
        "--dtype=half",
        "--dtype=bfloat16",
        "--max-num-seqs=1_024",
        "--max-num-batched-tokens=8k",
        "--cpu-offload-gb=.5",
        "--num-gpu-blocks-override=4000",
        '--speculative-config={"method": "deepseek_mtp", "num_speculative_tokens": 1}',
        '--speculative-config={"method": "ngram", "num_speculative_tokens": 4}',
    ],
)
def test_arguments_that_the_arithmetic_reckons_with_are_not(argument: str) -> None:
    assert ids(ask(args=(argument,))) == []


def test_a_draft_of_a_size_that_somebody_says_is_reckoned_with() -> None:
    head = '--speculative-config={"method": "eagle3", "model": "org/head"}'
    assert ids(ask(args=(head,), overhead={"draft": "1Gi"})) == []
    found = only(ask(args=(head,)), "engine-args-change-memory")
    assert "nothing says how large it is" in found.what
    assert found.fix.startswith("set engine.overhead.draft")


def test_stages_that_a_variable_cuts_wrongly_are_refused() -> None:
    split = {"VLLM_PP_LAYER_PARTITION": "31,30"}
    assert "pipeline-partition-does-not-add-up" not in ids(
        ask(pipeline=2)._replace(variables=split)
    )
    for text, why in (("30,30", "2 stages of 60 layers"), ("61", "1 stages"), ("a,b", "no list")):
        wrong = ask(pipeline=2)._replace(variables={"VLLM_PP_LAYER_PARTITION": text})
        found = only(wrong, "pipeline-partition-does-not-add-up")
        assert why in found.what and "such as 31,30" in found.fix and place(found) == "pods.env"


def test_every_finding_has_a_fix_and_stands_at_the_serving() -> None:
    worst = ask(
        version="0.11.0",
        tensor=7,
        pipeline=3,
        data=2,
        prefill_context=2,
        decode_context=3,
        expert_parallel=True,
        hardware=A100,
        context=10**7,
        args=("-tp=3", "--uds=x", "--block-size=32", "--a b"),
    )
    found = list(Vllm().check(worst))
    assert len({one.code.id for one in found}) > 10
    for one in found:
        assert place(one) and one.fix and not one.what.endswith(".")
    Vllm().launch(worst)
    assert Vllm().memory(worst).overhead > 0
    assert Fraction(Vllm().memory(worst).utilization) == Fraction(9, 10)
