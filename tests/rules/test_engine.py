"""Command lines and variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


RANK, NODES = "--node-rank=$(LWS_WORKER_INDEX)", "--nnodes=$(LWS_GROUP_SIZE)"


def line(*args: str, pipeline: int = 2) -> list[str]:
    return ["--tensor-parallel-size=8", f"--pipeline-parallel-size={pipeline}", *args]


def test_the_engine_uses_the_gpus_of_its_group(make: Make, refused: Check, accepted: Check) -> None:
    at = "leaderTemplate.spec.containers[0].args ~ 32 GPUs; 2 pods of 8 are 16"
    more = make("set", {"L>C>args": line(NODES, RANK, pipeline=4)})
    refused("engine-needs-more-gpus", at, more)
    accepted("engine-leaves-gpus-idle", more)
    less = make("set", {"L>C>args": line(NODES, RANK, pipeline=1)})
    refused("engine-leaves-gpus-idle", "containers[0].args ~ 8 GPUs", less)
    accepted("engine-needs-more-gpus", less)
    two = make("deployment", {"spec>template>spec>containers>0>args": line()})
    refused("engine-needs-more-gpus", "containers[0].args ~ 1 pods of 8 are 8", two)
    for code in ("engine-needs-more-gpus", "engine-leaves-gpus-idle"):
        accepted(code, make("set"), make("deployment"))
        accepted(code, make("set", {"L>C>args": line("--distributed-executor-backend=ray")}))


def test_the_engine_waits_for_the_pods_of_its_group(
    make: Make, refused: Check, accepted: Check
) -> None:
    three = make("set", {"W>C>args": line("--nnodes=3", RANK, "--headless")})
    at = "workerTemplate.spec.containers[0].args[2] ~ a group has 2"
    refused("engine-nodes-differ", at, three)
    two = make("set", {"W>C>args": line("--nnodes", "2", RANK, "--headless")})
    accepted("engine-nodes-differ", two, make("set"))
    refused("engine-nodes-literal", "workerTemplate.spec.containers[0].args[3]", two)
    accepted("engine-nodes-literal", make("set"), three)


def test_ranks_are_the_pods_own(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("set", {"B>C>args": line(NODES)})
    refused("node-rank-missing", "workerTemplate.spec.containers[0].args", bare)
    accepted("node-rank-missing", make("set"), make("deployment"))
    one = make("set", {"L>C>args": line(NODES, "--node-rank=1")})
    refused("node-rank-wrong", "leaderTemplate.spec.containers[0].args ~ rank 1", one)
    zero = {"W>C>args": line(NODES, "--node-rank=0", "--headless")}
    refused("node-rank-wrong", "workerTemplate.spec.containers[0].args", make("set", zero))
    first = {"W>C>args": line(NODES, "--node-rank=1", "--headless")}
    accepted("node-rank-wrong", make("set", first), make("set"))
    many = make("set", {**first, "spec>leaderWorkerTemplate>size": 3})
    refused("node-rank-wrong", "workerTemplate.spec.containers[0].args ~ all 2 workers", many)
    written = make("set", {"L>C>args": line(NODES, "--node-rank=0")})
    accepted("node-rank-wrong", written)


def test_the_leader_serves_and_workers_do_not(make: Make, refused: Check, accepted: Check) -> None:
    silent = make("set", {"L>C>args": line(NODES, RANK, "--headless")})
    refused("leader-headless", "leaderTemplate.spec.containers[0].args", silent)
    accepted("leader-headless", make("set"), make("deployment"))
    loud = make("set", {"W>C>args": line(NODES, RANK)})
    refused("worker-not-headless", "workerTemplate.spec.containers[0].args", loud)
    accepted("worker-not-headless", make("set"))
    meant = {"W>C>args": line(NODES, RANK), "W>C>ports": [{"containerPort": 8000}]}
    accepted("worker-not-headless", make("set", meant))


def test_no_shell_no_shell_variable(make: Make, refused: Check, accepted: Check) -> None:
    for word in ("--x=$HOST", "${HOST}"):
        wrong = make("set", {"L>C>args": [word]})
        refused("shell-variable-literal", "containers[0].args[0] ~ $(HOST)", wrong)
    accepted("shell-variable-literal", make("set"), make("set", {"L>C>args": ["--cost=5$", "$$A"]}))
    shell = {"L>C>command": ["bash", "-c"], "L>C>args": ["exec vllm serve $MODEL"]}
    accepted("shell-variable-literal", make("set", shell))


def test_no_shell_variable_in_a_value(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("set", {"W>C>env": [{"name": "HF_TOKEN", "value": "$HF_TOKEN"}]})
    refused("shell-variable-in-value", "containers[0].env[0].value", wrong)
    right = make(
        "set", {"W>C>env": [{"name": "A", "value": "$(B)"}, {"name": "P", "value": "a$b"}]}
    )
    accepted("shell-variable-in-value", right)


def test_every_reference_is_defined_before(make: Make, refused: Check, accepted: Check) -> None:
    typo = make("set", {"W>C>args": ["--master-addr=$(LWS_LEADER_ADRESS)"]})
    at = "workerTemplate.spec.containers[0].args[0] ~ write $(LWS_LEADER_ADDRESS)"
    refused("variable-undefined", at, typo)
    alone = {"spec>template>spec>containers>0>args": ["$(LWS_GROUP_SIZE)"]}
    refused("variable-undefined", "containers[0].args[0]", make("deployment", alone))
    early = [{"name": "A", "value": "$(B)"}, {"name": "B", "value": "1"}]
    refused("variable-undefined", "containers[0].env[0].value", make("set", {"L>C>env": early}))
    accepted("variable-undefined", make("set", {"L>C>env": early[::-1], "L>C>args": ["$(A)"]}))
    accepted(
        "variable-undefined",
        make("set"),
        make("set", {"L>C>args": ["$$(X)", "$(R1_SERVICE_HOST)"]}),
    )
    other = {"L>C>envFrom": [{"configMapRef": {"name": "x"}}], "L>C>args": ["$(X)"]}
    accepted("variable-undefined", make("set", other))
    shell = {"L>C>command": ["sh", "-c"], "L>C>args": ["exec serve $(hostname)"]}
    accepted("variable-undefined", make("set", shell))
