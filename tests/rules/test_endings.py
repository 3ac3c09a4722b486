"""How engines end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
GRACE = "spec>terminationGracePeriodSeconds"
ARGS = ["--tensor-parallel-size=8", "--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)"]
DRAIN = {"L>C>args": [*ARGS, "--shutdown-timeout=90"]}


def test_the_drain_fits_the_grace_period(make: Make, refused: Check, accepted: Check) -> None:
    hook = {"L>C>lifecycle": {"preStop": {"sleep": {"seconds": 45}}}}
    at = "leaderTemplate.spec.terminationGracePeriodSeconds ~ 45 s and the drain up to 90 s"
    refused("grace-shorter-than-drain", at, make("set", {**DRAIN, **hook}))
    accepted(
        "grace-shorter-than-drain",
        make("set"),
        make("set", DRAIN),
        make("set", {**DRAIN, **hook, f"B>{GRACE}": 150}),
        # Shorter than the hook alone: another finding.
        make("set", {**DRAIN, **hook, f"B>{GRACE}": 30}),
    )


def test_workers_outlast_their_leader(make: Make, refused: Check, accepted: Check) -> None:
    short = {f"W>{GRACE}": 30}
    at = "workerTemplate.spec.terminationGracePeriodSeconds ~ 30 s, the leader 120 s"
    refused("workers-end-first", at, make("set", {**DRAIN, **short}))
    accepted("workers-end-first", make("set", DRAIN), make("set", short), make("deployment"))


def test_a_dead_engine_ends(make: Make, refused: Check, accepted: Check) -> None:
    def kept(value: str) -> dict[str, Any]:
        return make(
            "set", {"L>C>env": [{"name": "VLLM_KEEP_ALIVE_ON_ENGINE_DEATH", "value": value}]}
        )

    refused("dead-engine-kept", "leaderTemplate.spec.containers[0].env[0]", kept("1"))
    accepted("dead-engine-kept", make("set"), kept("0"))


def test_liveness_is_cheap(make: Make, refused: Check, accepted: Check) -> None:
    command = ["python3", "-m", "sglang.launch_server", "--port=8000", "--host=0.0.0.0"]
    live = {"L>C>livenessProbe": {"httpGet": {"path": "/health", "port": 8000}}}
    sglang = {"B>C>command": command, "B>C>args": [], **live}
    at = "leaderTemplate.spec.containers[0].livenessProbe.httpGet.path"
    refused("liveness-generates", at, make("set", sglang))
    off = [{"name": "SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "value": "false"}]
    accepted("liveness-generates", make("set", live), make("set", {**sglang, "B>C>env": off}))
