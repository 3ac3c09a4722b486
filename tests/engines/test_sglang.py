"""SGLang in foreign containers."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.engines.engine import ENGINES, EngineReading, readers
from gangform.engines.sglang import Sglang

COMMAND = ["python3", "-m", "sglang.launch_server", "--model-path=/m", "--host=0.0.0.0"]


def read(*args: str, command: list[str] | None = None, **more: Any) -> EngineReading | None:
    return Sglang().read({"command": command or COMMAND, "args": list(args), **more})


def test_it_is_read_and_no_serving_may_name_it() -> None:
    assert "sglang" not in ENGINES
    assert any(isinstance(each, Sglang) for each in readers())


def test_what_it_is_by_default() -> None:
    found = read()
    assert found is not None
    assert (found.engine, found.port, found.gpus, found.nodes) == ("sglang", 30000, 1, None)
    assert found.opens_early and not found.rank_zero_answers and found.model == "/m"
    assert read(command=["python", "-m", "sglang.launch_server"]).host == "127.0.0.1"  # type: ignore[union-attr]
    assert found.host == "0.0.0.0"


@pytest.mark.parametrize(
    ("args", "gpus"),
    [
        (["--tp=8", "--pp-size", "2"], 16),
        (["--tp-size", "4", "--dp", "2"], 8),
        (["--tensor-parallel-size=16", "--dp-size=16", "--enable-dp-attention"], 16),
        (["--tp=16", "--dp=4", "--attn-dp-size=4"], 16),
        (["--tp=16", "--dp=2", "--nnodes=4"], None),
        (["--tp=$(TP)"], None),
    ],
)
def test_ranks(args: list[str], gpus: int | None) -> None:
    found = read(*args)
    assert found is not None and found.gpus == gpus


def test_several_nodes() -> None:
    nodes = ["--nnodes", "$(LWS_GROUP_SIZE)", "--node-rank=$(LWS_WORKER_INDEX)"]
    for spelling in ("--dist-init-addr", "--nccl-init-addr"):
        found = read(*nodes, f"{spelling}=$(LWS_LEADER_ADDRESS):20000")
        assert found is not None
        assert (found.nodes, found.rank) == ("$(LWS_GROUP_SIZE)", "$(LWS_WORKER_INDEX)")
        assert found.address == "$(LWS_LEADER_ADDRESS):20000"
        assert found.rank_zero_answers and "/ready" in found.rank_zero_paths


def test_metrics_and_side_channel_need_a_flag() -> None:
    quiet, loud = read(), read("--enable-metrics")
    assert quiet is not None and quiet.metrics_off is not None and not quiet.metrics_served
    assert loud is not None and loud.metrics_off is None and loud.side_channel is None
    nixl = ["--disaggregation-mode=decode", "--disaggregation-transfer-backend=nixl"]
    env = [{"name": "SGLANG_NIXL_SIDE_CHANNEL_HOST", "value": "0.0.0.0"}]
    split = read(*nixl, env=env)
    assert split is not None and split.side_channel is not None
    assert split.side_channel.value == "0.0.0.0"


@pytest.mark.parametrize(
    "command",
    [
        ["python3", "-m", "sglang.bench_serving"],
        ["python3", "server.py"],
        ["vllm", "serve", "m"],
        ["sh", "-c", "if [ $X ]; then python3 -m sglang.launch_server; fi"],
        [*COMMAND, "--config=x.yaml"],
        [*COMMAND, "--port=$(PORT)"],
    ],
)
def test_what_is_not_certain_is_not_said(command: list[str]) -> None:
    assert read(command=command) is None


def test_a_script_around_it() -> None:
    script = "export A=1\nexec python3 -m sglang.launch_server --model-path m --tp 8 --port 8001"
    found = read(command=["bash", "-c", script])
    assert found is not None and (found.gpus, found.port) == (8, 8001)
