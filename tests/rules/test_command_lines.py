"""Command lines as such."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.rules.test_engine import NODES, RANK, line

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


def test_flags_that_end_the_engine(make: Make, refused: Check, accepted: Check) -> None:
    def flagged(*args: str) -> dict[str, Any]:
        return make("set", {"W>C>args": line(NODES, RANK, "--headless", *args)})

    at = "workerTemplate.spec.containers[0].args"
    for more in (
        ("--distributed-executor-backend=ray",),
        ("--api-server-count", "2"),
        ("--data-parallel-hybrid-lb",),
        ("--data-parallel-backend=ray",),
    ):
        refused("engine-refuses-flags", at, flagged(*more))
    joined = flagged("--max-model-len 4096")
    refused("engine-refuses-flags", f"{at}[5] ~ --max-model-len=4096", joined)
    accepted("engine-leaves-gpus-idle", joined)
    accepted(
        "engine-refuses-flags",
        make("set"),
        flagged("--distributed-executor-backend=mp", "--api-server-count=0"),
        flagged('--kv-transfer-config={"kv_connector": "X"}'),
    )


def test_a_supervisor_has_servers_of_its_own(make: Make, refused: Check, accepted: Check) -> None:
    def supervised(*args: str) -> dict[str, Any]:
        own = ["--data-parallel-multi-port-external-lb", "--data-parallel-size=8", *args]
        return make("set", {"B>C>args": line(*own)})

    for args, words in (
        (["--data-parallel-size-local=1"], "two ranks a pod at least"),
        (["-dpl=3"], "3 ranks a pod do not divide 8 data ranks"),
        (["-dpl=4", "--api-server-count=2"], "--api-server-count 2 exclude each other"),
        (
            ["-dpl=4", "--data-parallel-supervisor-port=8003"],
            "8003 is one of the ranks' own, 8000 to 8003",
        ),
        (["-dpl=4", "--port=9255"], "9256 is one of the ranks' own, 9255 to 9258"),
    ):
        refused("engine-refuses-flags", f"args ~ {words}", supervised(*args))
    accepted(
        "engine-refuses-flags",
        supervised("-dpl=4"),
        supervised("-dpl=4", "--data-parallel-supervisor-port=8004", "--api-server-count=1"),
        supervised("-dpl=$(LOCAL)"),
    )


def test_a_shell_passes_on_what_its_script_asks_for(
    make: Make, refused: Check, accepted: Check
) -> None:
    shell = {"L>C>command": ["bash", "-c", "exec vllm serve /models/m"]}
    refused(
        "shell-drops-arguments",
        "leaderTemplate.spec.containers[0].args[0] ~ --port=8000",
        make("set", {**shell, "L>C>args": ["--port=8000"]}),
    )
    asks = {"L>C>command": ["bash", "-c", 'exec vllm serve "$@"', "serve"]}
    accepted("shell-drops-arguments", make("set", {**asks, "L>C>args": ["--port=8000"]}))
    accepted("shell-drops-arguments", make("set"), make("set", {**shell, "L>C>args": []}))


def test_what_else_ends_the_engine(make: Make, refused: Check, accepted: Check) -> None:
    code, at = "engine-refuses-flags", "leaderTemplate.spec.containers[0].args"
    for args, words in (
        (["--tensor-parallel-size=8", "--nnodes=3"], "3 nodes do not divide 8"),
        (line("--nnodes=2", "--node-rank=2"), "rank 2 is beyond 2 nodes"),
        (["--kv-transfer-config={kv_connector: X}"], "is no JSON"),
    ):
        refused(code, f"{at} ~ {words}", make("set", {"L>C>args": args}))
    unquoted = {"B>C>command": ["sh", "-c"], "B>C>args": ['vllm serve m --eplb-config {"a":1}']}
    refused(code, "args[0] ~ is no JSON", make("set", unquoted))
    entry = ["python3", "-m", "vllm.entrypoints.openai.api_server"]
    refused(
        code,
        "workerTemplate.spec.containers[0].args ~ ignores --headless",
        make("set", {"W>C>command": entry}),
    )
    sglang = ["python3", "-m", "sglang.launch_server", "--host=0.0.0.0"]
    both = {"B>C>command": sglang, "B>C>args": ["--dist-init-addr=$(LWS_LEADER_ADDRESS):30000"]}
    refused(code, f"{at} ~ are both 30000", make("set", both))
    quoted = {"B>C>command": ["sh", "-c"], "B>C>args": ["vllm serve m --eplb-config '{\"a\":1}'"]}
    accepted(code, make("set", quoted), make("set", {"L>C>args": ["--eplb-config=$(EPLB)"]}))
    apart = {"B>C>command": sglang, "B>C>args": ["--dist-init-addr=$(LWS_LEADER_ADDRESS):20000"]}
    accepted(code, make("set", apart))


def test_a_size_stands_once(make: Make, refused: Check, accepted: Check) -> None:
    twice = make("set", {"L>C>args": line(NODES, RANK, "-tp", "4")})
    at = "leaderTemplate.spec.containers[0].args ~ is 8 first and then 4"
    refused("engine-flag-repeated", at, twice)
    long = make("set", {"L>C>args": line(NODES, RANK, "--max-model-len=1", "--max-model-len=2")})
    refused("engine-flag-repeated", "leaderTemplate.spec.containers[0].args ~ is 1 first", long)
    accepted("engine-flag-repeated", make("set"), make("set", {"L>C>args": line(NODES, "-tp=8")}))
