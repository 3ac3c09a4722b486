"""vLLM: what its pods run, read as an operator reads them; every refusal with a neighbour that is accepted."""

from __future__ import annotations

from decimal import Decimal

import pytest
from tests.engines.vllm_requests import ask, container

from gangform.engines.engine import (
    EnvVar,
    Port,
    Probe,
    engine,
)
from gangform.engines.vllm import Vllm
from gangform.units import Seconds


def test_the_registry_knows_it() -> None:
    assert isinstance(engine("vllm"), Vllm)


def test_tensor_8_pipeline_2_runs_as_an_operator_would_write_it() -> None:
    launch = Vllm().launch(ask(pipeline=2, version="0.33.0"))
    assert launch.leader.command == ("vllm", "serve")
    assert launch.leader.args == (
        "deepseek-ai/DeepSeek-R1",
        "--served-model-name=deepseek-r1",
        "--max-model-len=32768",
        "--gpu-memory-utilization=0.92",
        "--tensor-parallel-size=8",
        "--pipeline-parallel-size=2",
        "--port=8000",
        "--shutdown-timeout=60",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=29501",
        "--node-rank=0",
    )
    assert launch.worker is not None
    assert launch.worker.command == ("vllm", "serve")
    assert launch.worker.args == (
        "deepseek-ai/DeepSeek-R1",
        "--served-model-name=deepseek-r1",
        "--max-model-len=32768",
        "--gpu-memory-utilization=0.92",
        "--tensor-parallel-size=8",
        "--pipeline-parallel-size=2",
        "--nnodes=$(LWS_GROUP_SIZE)",
        "--master-addr=$(LWS_LEADER_ADDRESS)",
        "--master-port=29501",
        "--node-rank=$(LWS_WORKER_INDEX)",
        "--headless",
    )


def test_a_group_gets_its_variables_on_every_pod() -> None:
    launch = Vllm().launch(ask(pipeline=2))
    assert launch.worker is not None
    assert (
        launch.leader.env
        == launch.worker.env
        == (
            EnvVar("VLLM_HOST_IP", field="status.podIP"),
            EnvVar("NCCL_SOCKET_IFNAME", "eth0"),
            EnvVar("GLOO_SOCKET_IFNAME", "eth0"),
            EnvVar("NCCL_IB_HCA", "ibp"),
            EnvVar("VLLM_ENGINE_READY_TIMEOUT_S", "2710"),
            EnvVar("HF_HOME", "/cache"),
            EnvVar("HF_TOKEN", secret=("hub-token", "token")),
        )
    )


def test_one_pod_has_no_rendezvous_and_no_worker() -> None:
    launch = Vllm().launch(ask())
    assert launch.worker is None
    assert launch.leader.ports == (Port("http", 8000),)
    assert not [one for one in launch.leader.args if "nnodes" in one or "master" in one]
    assert launch.leader.env[0].name == "VLLM_ENGINE_READY_TIMEOUT_S"


def test_a_local_model_goes_offline() -> None:
    local = ask()._replace(cache_home=None, token=None, model_reference="/models/r1")
    launch = Vllm().launch(local)
    assert launch.leader.args[0] == "/models/r1"
    assert launch.leader.env[-1] == EnvVar("HF_HUB_OFFLINE", "1")


def test_probes_are_the_leaders_and_a_worker_opens_nothing() -> None:
    launch = Vllm().launch(ask(pipeline=2))
    leader, worker = launch.leader, launch.worker
    assert leader.ports == (Port("http", 8000), Port("rendezvous", 29501))
    assert leader.startup == Probe("/health", "http", Seconds(10), 271, Seconds(3))
    assert leader.readiness == Probe("/health", "http", Seconds(5), 2, Seconds(3))
    assert leader.liveness == Probe("/health", "http", Seconds(30), 3, Seconds(10))
    assert worker is not None
    assert worker.ports == ()
    assert worker.startup is worker.readiness is worker.liveness is None


def test_the_grace_period_holds_sleep_drain_and_margin() -> None:
    known = Vllm().launch(ask(version="0.33.0", pipeline=2))
    assert (known.leader.pre_stop, known.drain, known.grace) == (15, 60, 90)
    assert known.worker is not None
    assert known.worker.pre_stop == 75  # it outlives the leader's drain
    unknown = Vllm().launch(ask(version="0.32.0"))
    assert (unknown.leader.pre_stop, unknown.drain, unknown.grace) == (15, 0, 30)
    assert not [one for one in unknown.leader.args if "shutdown" in one]


def test_a_drain_of_the_users_own_moves_the_grace_period() -> None:
    launch = Vllm().launch(ask(version="0.33.0", args=("--shutdown-timeout", "300")))
    assert launch.grace == 330
    assert [one for one in launch.leader.args if "shutdown" in one] == ["--shutdown-timeout"]


def test_the_users_arguments_come_last_on_every_pod() -> None:
    launch = Vllm().launch(ask(pipeline=2, args=("--max-num-seqs=64", "--trust-remote-code")))
    assert launch.leader.args[-2:] == ("--max-num-seqs=64", "--trust-remote-code")
    assert launch.worker is not None
    assert launch.worker.args[-2:] == ("--max-num-seqs=64", "--trust-remote-code")


def test_every_size_beyond_one_is_written() -> None:
    args = (
        Vllm()
        .launch(
            ask(
                version="0.33.0",
                data=2,
                decode_context=4,
                expert_parallel=True,
                kv_cache_type="fp8",
                utilization=Decimal("0.88"),
            )
        )
        .leader.args
    )
    for one in (
        "--data-parallel-size=2",
        "--decode-context-parallel-size=4",
        "--enable-expert-parallel",
        "--kv-cache-dtype=fp8",
        "--gpu-memory-utilization=0.88",
    ):
        assert one in args


def test_the_image_is_the_published_one_unless_named() -> None:
    assert Vllm().launch(ask(version="0.32")).image == "vllm/vllm-openai:v0.32.0"
    assert Vllm().launch(ask(image="registry.local/vllm:7")).image == "registry.local/vllm:7"


@pytest.mark.parametrize(
    ("version", "ready", "drains", "share"),
    [
        ("0.12.0", False, False, "0.9"),
        ("0.20.2", True, False, "0.9"),
        ("0.33.0", True, True, "0.92"),
    ],
)
def test_releases_differ(version: str, ready: bool, drains: bool, share: str) -> None:
    leader = Vllm().launch(ask(pipeline=2, version=version)).leader
    assert ("VLLM_ENGINE_READY_TIMEOUT_S" in [one.name for one in leader.env]) is ready
    assert ("--shutdown-timeout=60" in leader.args) is drains
    assert f"--gpu-memory-utilization={share}" in leader.args


# ── launch, read back ────────────────────────────────────────────────────────────────────────────


def test_what_is_launched_is_read_back() -> None:
    launch = Vllm().launch(ask(pipeline=2, version="0.33.0"))
    assert launch.worker is not None
    leader, worker = (Vllm().read(container(one)) for one in (launch.leader, launch.worker))
    assert leader is not None and worker is not None
    group = "$(LWS_GROUP_SIZE)"
    assert leader[:6] == ("vllm", True, 8000, 16, group, "0")
    assert worker[:6] == ("vllm", False, 8000, 16, group, "$(LWS_WORKER_INDEX)")
    assert leader.all_ranks and worker.all_ranks and not leader.opens_early
    assert (leader.tensor, leader.address) == (8, "$(LWS_LEADER_ADDRESS)")
