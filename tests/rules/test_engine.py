"""Command lines of engines against their group."""

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
    at = "leaderTemplate.spec.containers[0].args ~ 32 GPUs; 2 pods of 8: 16"
    more = make("set", {"L>C>args": line(NODES, RANK, pipeline=4)})
    refused("engine-needs-more-gpus", at, more)
    accepted("engine-leaves-gpus-idle", more)
    less = make("set", {"L>C>args": line(NODES, RANK, pipeline=1)})
    refused("engine-leaves-gpus-idle", "containers[0].args ~ 8 GPUs", less)
    accepted("engine-needs-more-gpus", less)
    two = make("deployment", {"spec>template>spec>containers>0>args": line()})
    refused("engine-needs-more-gpus", "containers[0].args ~ 1 pod of 8: 8", two)
    for code in ("engine-needs-more-gpus", "engine-leaves-gpus-idle"):
        accepted(code, make("set"), make("deployment"))
        accepted(code, make("set", {"L>C>args": line("--distributed-executor-backend=ray")}))


def ray(words: str, size: str = "$(LWS_GROUP_SIZE)") -> dict[str, Any]:
    start = "bash /vllm-workspace/examples/online_serving/multi-node-serving.sh"
    return {
        "B>C>args": ...,
        "L>C>command": [
            "sh",
            "-c",
            f"{start} leader --ray_cluster_size={size}; vllm serve m {words}",
        ],
        "W>C>command": ["sh", "-c", f"{start} worker --ray_address=$(LWS_LEADER_ADDRESS)"],
    }


def test_a_ray_cluster_has_the_gpus_of_its_pods(
    make: Make, refused: Check, accepted: Check
) -> None:
    at = "leaderTemplate.spec.containers[0].command[2]"
    more, idle = "engine-needs-more-gpus", "engine-leaves-gpus-idle"
    refused(more, f"{at} ~ 32 GPUs; 2 pods of 8: 16", make("set", ray("-tp 8 -pp 4")))
    refused(idle, f"{at} ~ 8 GPUs; 2 pods of 8: 16", make("set", ray("-tp 4 -pp 2")))
    refused("engine-nodes-differ", f"{at} ~ 3 nodes", make("set", ray("-tp 8 -pp 2", "3")))
    right = make("set", ray("-tp 8 -pp 2"))
    for code in (more, idle, "engine-nodes-differ", "node-rank-missing", "worker-not-headless"):
        accepted(code, right)
    # Outside a set nobody knows who else is in the cluster.
    joins = "ray start --address=head:6379; vllm serve m -tp 16"
    alone = {"spec>template>spec>containers>0>command": ["sh", "-c", joins]}
    alone["spec>template>spec>containers>0>args"] = ...  # type: ignore[assignment]
    accepted(more, make("deployment", alone))


def test_a_shared_script_is_followed_for_leader_and_workers(
    make: Make, refused: Check, accepted: Check
) -> None:
    serve = "exec vllm serve m -dp ${RANKS:-0} -dpl 8 -dpa $(LWS_LEADER_ADDRESS) -dpr $((LWS_WORKER_INDEX * 8))"
    script = f'if [ "${{LWS_WORKER_INDEX:-0}}" -eq 0 ]; then\n  {serve}\nelse\n  {serve} --headless\nfi\n'

    def shared(ranks: str, words: str = script) -> dict[str, Any]:
        changes = {
            "spec>leaderWorkerTemplate>leaderTemplate": ...,
            "W>C>command": ["sh", "-c", words],
            "W>C>args": ...,
            "W>C>env": [{"name": "RANKS", "value": ranks}],
        }
        return make("set", changes)

    refused("engine-nodes-differ", "command[2] ~ fill 4 pods; a group has 2", shared("32"))
    accepted("engine-nodes-differ", shared("16"))
    accepted("leader-headless", shared("16"))
    refused("leader-headless", "command[2]", shared("16", script.replace("-eq", "-ne")))
    case = script.replace('[ "${LWS_WORKER_INDEX:-0}" -eq 0 ]', "[ -f /leader ]")
    for code in ("engine-nodes-differ", "leader-headless"):
        accepted(code, shared("32", case))


def test_pods_that_nothing_joins(make: Make, refused: Check, accepted: Check) -> None:
    code = "engine-needs-more-gpus"
    apart = {"B>C>args": ["--tensor-parallel-size=8", "--pipeline-parallel-size=2"]}
    refused(code, "leaderTemplate.spec.containers[0].args ~ joins no other pod", make("set", apart))
    refused(code, "workerTemplate.spec.containers[0].args ~ joins no other pod", make("set", apart))
    accepted(code, make("set", {"B>C>args": ["--tensor-parallel-size=8"]}))
    backend = [*apart["B>C>args"], "--distributed-executor-backend=ray"]
    accepted(code, make("set", {"B>C>args": backend}))
    script = {"B>C>command": ["sh", "-c", "/boot.sh; vllm serve m -tp 16"], "B>C>args": ...}
    accepted(code, make("set", script))
    # A set without a template of workers is not whole yet.
    accepted(code, make("set", {"W>spec": {}}))


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


SGLANG = ["python3", "-m", "sglang.launch_server", "--model-path=/models/m", "--host=0.0.0.0"]
PLACE = [NODES, RANK, "--dist-init-addr=$(LWS_LEADER_ADDRESS):20000"]


def test_sglang_has_the_same_duties(make: Make, refused: Check, accepted: Check) -> None:
    def sglang(*args: str, **more: Any) -> dict[str, Any]:
        return make("set", {"B>C>command": SGLANG, "B>C>args": list(args), **more})

    whole = sglang("--tp=16", *PLACE)
    wide = sglang("--tp=16", "--dp-size=16", "--enable-dp-attention", *PLACE)
    for code in (
        "engine-needs-more-gpus",
        "engine-leaves-gpus-idle",
        "engine-nodes-differ",
        "node-rank-missing",
        "node-rank-wrong",
        "worker-not-headless",
        "leader-headless",
    ):
        accepted(code, whole)
        accepted(code, wide)
    refused("engine-needs-more-gpus", "containers[0].args ~ 32 GPUs", sglang("--tp=32", *PLACE))
    refused("engine-leaves-gpus-idle", "containers[0].args ~ 8 GPUs", sglang("--tp=8", *PLACE))
    refused("engine-nodes-differ", "args[1] ~ 3 nodes", sglang("--tp=16", "--nnodes=3", RANK))
    refused("node-rank-missing", "workerTemplate.spec.containers[0].args", sglang("--tp=16", NODES))
    refused(
        "node-rank-wrong",
        "workerTemplate.spec.containers[0].args",
        sglang("--tp=16", NODES, "--node-rank=0"),
    )


def test_data_ranks_fill_their_pods(make: Make, refused: Check, accepted: Check) -> None:
    meet = ["--data-parallel-address=$(LWS_LEADER_ADDRESS)", "--data-parallel-hybrid-lb"]

    def wide(data: int, local: int, *more: str) -> dict[str, Any]:
        sizes = [f"--data-parallel-size={data}", f"--data-parallel-size-local={local}"]
        script = " ".join(["exec vllm serve m", *sizes, *meet, *more])
        return make("set", {"B>C>command": ["bash", "-c"], "B>C>args": [script]})

    first = "--data-parallel-start-rank=$((LWS_WORKER_INDEX * 8))"
    for code in ("engine-needs-more-gpus", "engine-leaves-gpus-idle", "engine-nodes-differ"):
        accepted(code, wide(16, 8, first))
    accepted("node-rank-missing", wide(16, 8, first))
    refused("engine-needs-more-gpus", "args[0] ~ runs 16 ranks on each", wide(32, 16, first))
    refused("engine-leaves-gpus-idle", "args[0] ~ runs 4 ranks on each", wide(8, 4, first))
    refused("engine-nodes-differ", "args[0] ~ fill 4 pods", wide(32, 8, first))
    refused("node-rank-missing", "workerTemplate.spec.containers[0].args[0]", wide(16, 8))
    # The leader answers, and the worker has all the ranks.
    apart = make(
        "set",
        {
            "L>C>args": ["--data-parallel-size=8", "--data-parallel-size-local=0", meet[0]],
            "W>C>args": [
                "--data-parallel-size=8",
                "--data-parallel-size-local=8",
                meet[0],
                "--headless",
            ],
        },
    )
    for code in ("engine-nodes-differ", "node-rank-missing", "engine-needs-more-gpus"):
        accepted(code, apart)


def test_nodes_that_are_no_group_are_not_judged(make: Make, accepted: Check) -> None:
    one = {"spec>template>spec>containers>0>args": line("--nnodes=2", "--node-rank=0")}
    for code in ("engine-needs-more-gpus", "engine-leaves-gpus-idle"):
        accepted(code, make("deployment", one))


def test_tensor_ranks_lie_on_one_node(make: Make, refused: Check, accepted: Check) -> None:
    wide = ["--tensor-parallel-size=16", NODES, RANK]
    at = "leaderTemplate.spec.containers[0].args ~ tensor 8 and pipeline 2"
    refused("tensor-across-nodes", at, make("set", {"L>C>args": wide}))
    env = [{"name": "NCCL_MNNVL_ENABLE", "value": "1"}]
    claims = {"L>spec>resourceClaims": [{"name": "domain"}]}
    accepted("tensor-across-nodes", make("set"), make("set", {"L>C>args": wide, "L>C>env": env}))
    accepted("tensor-across-nodes", make("set", {"L>C>args": wide, **claims}))
