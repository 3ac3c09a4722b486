"""Engines on the node's own network."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
AT = "leaderTemplate.spec.containers[0].ports"


def bare(gpus: int = 4, more: dict[str, Any] | None = None) -> dict[str, Any]:
    amounts = {"nvidia.com/gpu": str(gpus)}
    return {
        "B>spec>hostNetwork": True,
        "B>C>resources": {"requests": amounts, "limits": amounts},
        "L>C>ports": ...,
        **(more or {}),
    }


def named(make: Make, name: str, changes: dict[str, Any]) -> dict[str, Any]:
    return make("set", {"metadata>name": name, "spec>replicas": 1, **changes})


def away(name: str) -> dict[str, Any]:
    term = {
        "labelSelector": {"matchLabels": {"leaderworkerset.sigs.k8s.io/name": name}},
        "topologyKey": "kubernetes.io/hostname",
    }
    rule = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return {"B>spec>affinity": {"podAntiAffinity": rule}}


def test_ports_on_the_node_are_declared(make: Make, refused: Check, accepted: Check) -> None:
    code = "host-port-undeclared"
    prefill, decode = (named(make, name, bare()) for name in ("prefill", "decode"))
    refused(
        "host-port-undeclared",
        f"LeaderWorkerSet/prefill spec.leaderWorkerTemplate.{AT} ~ decode",
        prefill,
        decode,
    )
    refused(
        "host-port-undeclared",
        f"LeaderWorkerSet/decode spec.leaderWorkerTemplate.{AT}",
        prefill,
        decode,
    )
    refused(code, f"{AT} ~ another of its kind", make("set", bare()))
    accepted("host-port-undeclared", prefill)
    ports = {"L>C>ports": [{"containerPort": 8000}]}
    accepted(code, *(named(make, name, {**bare(), **ports}) for name in ("a", "b")))
    accepted(code, *(named(make, name, bare(8)) for name in ("a", "b")))
    accepted(code, named(make, "a", bare(more=away("b"))), named(make, "b", bare()))
    on = [{"B>spec>nodeSelector": {"pool": pool}} for pool in ("x", "y")]
    accepted(code, *(named(make, n, bare(more=more)) for n, more in zip("ab", on, strict=True)))
    accepted(code, *(named(make, name, {"L>C>ports": ...}) for name in ("a", "b")))
    other = bare(more={"L>C>args": ["--tensor-parallel-size=4", "--port=8001"]})
    accepted(code, prefill, named(make, "b", other))


def test_pods_that_fill_their_node_share_none(make: Make, refused: Check, accepted: Check) -> None:
    arm = [{"key": "kubernetes.io/arch", "value": "arm64", "effect": "NoSchedule"}]
    claim = [{"name": "d", "resourceClaimTemplateName": "kimi-compute-domain"}]
    for more in ({"B>spec>tolerations": arm}, {"B>spec>resourceClaims": claim}):
        accepted("host-port-undeclared", make("set", bare(4, more)))
        refused("host-port-undeclared", AT, make("set", bare(2, more)))
