"""Ports and paths that somebody asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.documents.document import Key

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

AT = "leaderTemplate.spec.containers[0]"


def probe(path: str = "/health", port: int | str = "http") -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": port}, "periodSeconds": 10, "failureThreshold": 360}


def test_a_probe_asks_a_path_that_the_engine_has(
    make: Make, refused: Check, accepted: Check
) -> None:
    for name in ("readinessProbe", "livenessProbe"):
        wrong = make("set", {f"L>C>{name}": probe("/health/ready")})
        refused("probe-path-unknown", f"{AT}.{name}.httpGet.path ~ /health", wrong)
    accepted("probe-path-unknown", make("set"), make("deployment"))
    accepted("probe-path-unknown", make("set", {"L>C>readinessProbe": probe("/v1/models")}))
    proxied = make("set", {"L>C>readinessProbe": probe("/health/ready", 9000)})
    other = make("set", {"L>C>readinessProbe": probe("/health/ready"), "B>C>command": ["server"]})
    accepted("probe-path-unknown", proxied, other)


def test_a_probe_asks_a_port_that_is_open(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("set", {"L>C>readinessProbe": probe(port=8080)})
    refused("probe-port-unserved", f"{AT}.readinessProbe.httpGet.port ~ opens 8000", wrong)
    quoted = make("set", {"L>C>readinessProbe": probe(port="8080")})
    refused("probe-port-unserved", f"{AT}.readinessProbe.httpGet.port", quoted)
    accepted(
        "probe-port-unserved", make("set"), make("set", {"L>C>readinessProbe": probe(port=8000)})
    )
    args = make("set")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0][
        "args"
    ]
    changed = {"L>C>readinessProbe": probe(port=8080)}
    accepted(
        "probe-port-unserved",
        make("set", {**changed, "L>C>args": [*args, "--port=8080"]}),
        make("set", {**changed, "L>C>args": [*args, "--supervisor-port=8080"]}),
        make("set", {**changed, "L>C>ports": [{"containerPort": 8080}]}),
        make("set", {**changed, "L>C>command": ["server"]}),
        make(
            "set", {**changed, "L>spec>initContainers": [{"name": "p", "restartPolicy": "Always"}]}
        ),
    )
    elsewhere = probe(port=8080)
    elsewhere["httpGet"]["host"] = "127.0.0.1"
    accepted("probe-port-unserved", make("set", {"L>C>readinessProbe": elsewhere}))


def test_a_declared_port_is_the_engines(make: Make, refused: Check, accepted: Check) -> None:
    at = f"{AT}.ports[0].containerPort"
    ports = {"L>C>ports": [{"name": "http", "containerPort": 8080}]}
    refused("container-port-unserved", f"{at} ~ opens 8000", make("set", ports))
    bare = {**ports, "L>C>startupProbe": ..., "L>C>readinessProbe": ...}
    refused(
        "container-port-unserved", f"{at} ~ Service r1-leader", make("set", bare), make("service")
    )
    accepted("container-port-unserved", make("set", bare))
    accepted("container-port-unserved", make("set"), make("service"), make("deployment"))
    args = make("set")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0][
        "args"
    ]
    accepted("container-port-unserved", make("set", {**ports, "L>C>args": [*args, "--port=8080"]}))
    beside = [{"name": "http", "containerPort": 8080}, {"name": "api", "containerPort": 8000}]
    accepted("container-port-unserved", make("set", {**ports, "L>C>ports": beside}))


def test_a_startup_probe_gives_time_to_load(make: Make, refused: Check, accepted: Check) -> None:
    short = make("set", {"L>C>startupProbe": {**probe(), "failureThreshold": 12}})
    refused("startup-budget-short", f"{AT}.startupProbe.failureThreshold ~ 120 s", short)
    accepted("startup-budget-short", make("set"), make("deployment"))
    delayed = {**probe(), "failureThreshold": 12, "initialDelaySeconds": 600}
    accepted("startup-budget-short", make("set", {"L>C>startupProbe": delayed}))
    cpu = {"L>C>startupProbe": {**probe(), "failureThreshold": 12}, "B>C>resources": {}}
    accepted("startup-budget-short", make("set", cpu))


def limited(seconds: int) -> dict[str, Any]:
    return {"L>C>env": [{"name": "VLLM_ENGINE_READY_TIMEOUT_S", "value": str(seconds)}]}


def test_a_startup_probe_waits_for_what_is_known(
    make: Make, refused: Check, accepted: Check
) -> None:
    code, at = "startup-probe-too-short", f"{AT}.startupProbe.failureThreshold"
    short = {"L>C>startupProbe": {**probe(), "failureThreshold": 30}}
    refused(
        "startup-probe-too-short",
        f"{at} ~ raised to 3600 s",
        make("set", {**short, **limited(3600)}),
    )
    accepted("startup-budget-short", make("set", {**short, **limited(3600)}))
    accepted("startup-probe-too-short", make("set", short), make("set", {**short, **limited(600)}))
    never = {"L>C>startupProbe": {**probe(), "failureThreshold": 3}}
    refused(code, f"{at} ~ no engine on GPUs", make("set", never))
    accepted("startup-budget-short", make("set", never))
    tiny = {**never, "L>C>command": ["vllm", "serve", "org/tiny-0.5B"]}
    accepted(code, make("set", tiny))
    accepted(code, make("set", limited(7200)), make("deployment"))
    key = Key("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "llm", "r1")
    refused(code, f"{at} ~ failureThreshold: 130", make("set", short), cold_starts={key: 1300})
    accepted(code, make("set"), cold_starts={key: 1300})


def test_an_engine_listens_where_it_is_asked(make: Make, refused: Check, accepted: Check) -> None:
    args = make("set")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"][0][
        "args"
    ]
    own = {"L>C>args": [*args, "--host=127.0.0.1"]}
    refused("engine-on-loopback", f"{AT}.args ~ startupProbe asks", make("set", own))
    silent = {**own, "L>C>startupProbe": ..., "L>C>readinessProbe": ...}
    refused("engine-on-loopback", f"{AT}.args ~ Service", make("set", silent), make("service"))
    accepted("engine-on-loopback", make("set", silent))
    sglang = ["python3", "-m", "sglang.launch_server", "--port=8000"]
    bare = {"B>C>command": sglang, "B>C>args": ["--tp=8"]}
    refused("engine-on-loopback", f"{AT}.args ~ listens on 127.0.0.1", make("set", bare))
    open_ = {"B>C>command": sglang, "B>C>args": ["--host=0.0.0.0"]}
    accepted("engine-on-loopback", make("set"), make("set", open_))


def test_other_ranks_of_sglang_have_fewer_paths(
    make: Make, refused: Check, accepted: Check
) -> None:
    sglang = ["python3", "-m", "sglang.launch_server", "--port=8000", "--host=0.0.0.0"]
    bare = {"B>C>command": sglang, "B>C>args": ["--nnodes=2", "--node-rank=$(LWS_WORKER_INDEX)"]}
    asks = {"W>C>readinessProbe": probe("/ready", 8000)}
    at = "workerTemplate.spec.containers[0].readinessProbe.httpGet.path ~ ranks above 0"
    refused("probe-path-unknown", at, make("set", {**bare, **asks}))
    accepted("probe-path-unknown", make("set", {**bare, "L>C>readinessProbe": probe("/ready")}))
    accepted(
        "probe-path-unknown", make("set", {**bare, "W>C>readinessProbe": probe("/health", 8000)})
    )
