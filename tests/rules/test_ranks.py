"""Ranks of one engine are told alike, and meet in their own namespace."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

TWO = ["--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)"]
MEET = "--master-addr=$(LWS_LEADER_ADDRESS)"
SIZES = ["--tensor-parallel-size=8", "--pipeline-parallel-size=2"]
SGLANG = ["python3", "-m", "sglang.launch_server"]


def vllm(make: Make, led: list[str], worked: list[str], **models: str) -> dict[str, Any]:
    has, wants = (models.get(role, "/models/m") for role in ("leader", "worker"))
    return make(
        "set",
        {
            "L>C>command": ["vllm", "serve", has],
            "W>C>command": ["vllm", "serve", wants],
            "L>C>args": [*TWO, MEET, *led],
            "W>C>args": [*TWO, MEET, "--headless", *worked],
        },
    )


def sglang(make: Make, led: list[str], worked: list[str]) -> dict[str, Any]:
    return make(
        "set",
        {
            "B>C>image": "lmsysorg/sglang:v0.5.6",
            "B>C>command": SGLANG,
            "L>C>args": ["--model-path=/models/m", *TWO, *led],
            "W>C>args": ["--model-path=/models/m", *TWO, *worked],
        },
    )


@pytest.mark.parametrize(
    ("led", "worked", "words"),
    [
        ([*SIZES, "--master-port=29600"], SIZES, "--master-port is 29600 on the leader and 29501"),
        (SIZES, ["-tp", "16"], "--tensor-parallel-size is 8 on the leader and 16 on the workers"),
        (SIZES, SIZES[:1], "--pipeline-parallel-size is 2 on the leader and 1 on the workers"),
    ],
)
def test_vllm_is_told_alike(
    make: Make, refused: Check, led: list[str], worked: list[str], words: str
) -> None:
    refused(
        "ranks-told-apart",
        f"workerTemplate.spec.containers[0].args ~ {words}",
        vllm(make, led, worked),
    )


def test_vllm_loads_one_model_on_every_rank(make: Make, refused: Check, accepted: Check) -> None:
    code = "ranks-told-apart"
    ids = {"leader": "org/m", "worker": "org/other"}
    refused(code, "args ~ the model is org/m", vllm(make, SIZES, SIZES, **ids))
    paths = {"leader": "/models/m", "worker": "/models/other"}
    refused(code, "args ~ the model is /models/m", vllm(make, SIZES, SIZES, **paths))
    for same in (
        {"leader": "org/m", "worker": "/models/m"},
        {"leader": "/models/m", "worker": "/cache/m/"},
        {"leader": "$(MODEL)", "worker": "org/m"},
    ):
        accepted(code, vllm(make, SIZES, SIZES, **same))


def test_a_worker_that_joins_nobody_is_told_apart(make: Make, refused: Check) -> None:
    alone = make("set", {"W>C>args": ["--tensor-parallel-size=8"]})
    refused("ranks-told-apart", "args ~ --nnodes is $(LWS_GROUP_SIZE) on the leader and abs", alone)


def test_what_is_not_known_or_equal_is_accepted(make: Make, accepted: Check) -> None:
    accepted(
        "ranks-told-apart",
        make("set"),
        make("deployment"),
        vllm(make, [*SIZES, "--master-port=29501"], SIZES),
        vllm(make, SIZES, ["--tensor-parallel-size=$(TP)", "--pipeline-parallel-size", "$(PP)"]),
        vllm(make, SIZES, ["$(MORE)"]),
        sglang(make, ["--tp=16", "--dist-init-addr=0.0.0.0:5000"], ["--tp-size=16"]),
        sglang(make, ["--dist-init-addr=r1-0.r1:5000"], ["--dist-init-addr=r1-0.r1.llm:5000"]),
        sglang(
            make,
            ["--dist-init-addr=$(LWS_LEADER_ADDRESS):5000"],
            ["--dist-init-addr=r1-0.r1.llm:5000"],
        ),
    )


@pytest.mark.parametrize(
    ("led", "worked", "words"),
    [
        (["--tp=16"], ["--tp=8"], "--tensor-parallel-size is 16 on the leader and 8"),
        (["--tp=8", "--pp=2"], ["--tp=8"], "--pipeline-parallel-size is 2 on the leader and 1"),
        (
            ["--dist-init-addr=$(LWS_LEADER_ADDRESS):5000"],
            ["--dist-init-addr=$(LWS_LEADER_ADDRESS):5001"],
            "the port where ranks meet is 5000 on the leader and 5001",
        ),
        (
            ["--dist-init-addr=r1-0.r1:5000"],
            ["--dist-init-addr=r2-0.r2:5000"],
            "the address where ranks meet is r1-0.r1 on the leader and r2-0.r2",
        ),
    ],
)
def test_sglang_is_told_alike(
    make: Make, refused: Check, led: list[str], worked: list[str], words: str
) -> None:
    refused("ranks-told-apart", f"args ~ {words}", sglang(make, led, worked))


def test_ranks_meet_in_the_namespace_of_their_set(
    make: Make, refused: Check, accepted: Check
) -> None:
    for host in ("r1-0.r1.default", "r1-0.r1.default.svc.cluster.local", "r1.default.svc"):
        meet = [f"--dist-init-addr={host}:5000"]
        refused(
            "ranks-meet-in-other-namespace",
            "args ~ in namespace default; the set is in llm",
            sglang(make, meet, meet),
        )
    for host in ("r1-0.r1", "r1-0.r1.llm.svc", "head.default.svc", "r1", "$(LWS_LEADER_ADDRESS)"):
        meet = [f"--dist-init-addr={host}:5000"]
        accepted("ranks-meet-in-other-namespace", sglang(make, meet, meet))
    meet = ["--dist-init-addr=r1-0.r1.default:5000"]
    accepted(
        "ranks-meet-in-other-namespace", {**sglang(make, meet, meet), "metadata": {"name": "r1"}}
    )
