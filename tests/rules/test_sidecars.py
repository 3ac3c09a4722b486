"""Proxies beside an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
SIDECAR = "ghcr.io/llm-d/llm-d-router-disagg-sidecar:v0.10.0"


def test_a_sidecar_knows_the_engines_port(make: Make, refused: Check, accepted: Check) -> None:
    def beside(*args: str, image: str = SIDECAR, port: int = 8001) -> dict[str, Any]:
        proxy = {"name": "proxy", "image": image, "restartPolicy": "Always", "args": list(args)}
        return make("set", {"L>spec>initContainers": [proxy], "L>C>args": [f"--port={port}"]})

    at = "leaderTemplate.spec.initContainers[0].args ~ port 8200"
    refused("sidecar-upstream-unserved", at, beside("--port=8000"))
    for flag in ("--model-server-port=8300", "--vllm-port=8300"):
        refused("sidecar-upstream-unserved", "args ~ port 8300", beside(flag))
        accepted("sidecar-upstream-unserved", beside(flag, port=8300))
    old = "ghcr.io/llm-d/llm-d-routing-sidecar:v0.2.0"
    accepted(
        "sidecar-upstream-unserved",
        make("set"),
        beside(port=8200),
        beside("--port=8000", image=old),
        beside("--port=8000", image="example.net/proxy:1"),
    )
