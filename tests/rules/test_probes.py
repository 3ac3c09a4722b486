"""Probes that mean something, in time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.documents.document import Key

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
AT = "leaderTemplate.spec.containers[0]"
SGLANG = ["python3", "-m", "sglang.launch_server", "--port=8000", "--host=0.0.0.0"]
CONNECT = {"tcpSocket": {"port": "http"}, "periodSeconds": 10}


def test_readiness_by_a_connection(make: Make, refused: Check, accepted: Check) -> None:
    vllm = make("set", {"L>C>readinessProbe": CONNECT})
    at = f"{AT}.readinessProbe.tcpSocket"
    refused("readiness-by-connection", at, vllm)
    accepted("readiness-before-loaded", vllm)
    sglang = make("set", {"B>C>command": SGLANG, "B>C>args": [], "L>C>readinessProbe": CONNECT})
    refused("readiness-before-loaded", f"{at} ~ while it loads", sglang)
    accepted("readiness-by-connection", sglang)
    number = {"L>C>readinessProbe": {"tcpSocket": {"port": 8000}}}
    refused("readiness-by-connection", at, make("set", number))
    elsewhere = make("set", {"L>C>readinessProbe": {"tcpSocket": {"port": 9000}}})
    unread = make("set", {"L>C>readinessProbe": CONNECT, "B>C>command": ["server"]})
    for code in ("readiness-by-connection", "readiness-before-loaded"):
        accepted(code, make("set"), elsewhere, unread)


def test_liveness_by_what_a_start_takes(make: Make, refused: Check, accepted: Check) -> None:
    code, key = "liveness-before-loaded", Key("apps", "Deployment", "llm", "small")
    base = "spec>template>spec>containers>0>"

    def live(
        delay: int, model: str = "org/m-8b", more: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        probe = {"httpGet": {"path": "/health", "port": "http"}, "initialDelaySeconds": delay}
        changes = {f"{base}livenessProbe": probe, f"{base}startupProbe": ...}
        return make(
            "deployment", {**changes, f"{base}command": ["vllm", "serve", model], **(more or {})}
        )

    accepted(code, live(120), live(600, "org/m-70b"))
    refused(code, "livenessProbe.initialDelaySeconds ~ 150 s", live(120, "org/m-405b"))
    refused(code, "livenessProbe.initialDelaySeconds ~ 630 s", live(600, "/models/m"))
    refused(code, "initialDelaySeconds ~ failureThreshold: 70", live(600), cold_starts={key: 700})
    accepted(code, live(600, "/models/m"), cold_starts={key: 600})
    # SGLang opens its port at once: such a startup probe waits for nothing.
    opens = {f"{base}startupProbe": {**CONNECT, "failureThreshold": 300}}
    early = live(120, "/models/m", {**opens, f"{base}command": SGLANG, f"{base}args": []})
    refused(code, "livenessProbe.initialDelaySeconds", early)
    amounts = {"nvidia.com/gpu": "1"}
    other = {f"{base}command": ["server"], f"{base}resources": {"limits": amounts}}
    accepted(code, live(60, more=other))


def test_a_probe_can_fail(make: Make, refused: Check, accepted: Check) -> None:
    def asks(*command: str) -> dict[str, Any]:
        return make("set", {"L>C>livenessProbe": {"exec": {"command": list(command)}}})

    at = f"{AT}.livenessProbe.exec.command"
    for command in (
        ("true",),
        ("/bin/echo", "ok"),
        ("sh", "-c", "exit 0"),
        ("sh", "-c", "echo alive; true"),
        ("bash", "-c", "ps aux | grep vllm"),
    ):
        refused("probe-always-succeeds", at, asks(*command))
    for command in (
        ("curl", "-f", "localhost:8000/health"),
        ("sh", "-c", "curl -f localhost:8000/health || exit 1"),
        ("bash", "-c", "ps aux | grep [v]llm"),
        ("bash", "-c", "ps aux | grep -v grep | grep vllm"),
        ("sh", "-c", "echo ok; test -f /ready"),
        ("cat", "/tmp/ready"),
    ):
        accepted("probe-always-succeeds", asks(*command))
    accepted("probe-always-succeeds", make("set"))


def test_a_headless_worker_is_asked_nothing(make: Make, refused: Check, accepted: Check) -> None:
    code, at = "probe-without-server", "workerTemplate.spec.containers[0].livenessProbe"
    for handler in ({"httpGet": {"path": "/health", "port": 8000}}, {"tcpSocket": {"port": 8000}}):
        refused(code, at, make("set", {"W>C>livenessProbe": handler}))
    other = make("set", {"W>C>livenessProbe": {"httpGet": {"port": 9000}}})
    beside = {"name": "agent", "image": "a:1", "ports": [{"containerPort": 9000}]}
    other["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["containers"].append(beside)
    accepted(code, other)
