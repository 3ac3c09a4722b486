"""Network policies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Check = Callable[..., None]


def policy(*peers: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {"podSelector": {}, "ingress": [{"from": list(peers)}]},
    }


def test_a_peer_is_one_that_the_server_takes(refused: Check, accepted: Check) -> None:
    at = "NetworkPolicy/r1 spec.ingress[0].from[1]"
    good: dict[str, Any] = {"podSelector": {}}
    refused(
        "network-peer-refused",
        f"{at}.namespace ~ namespaceSelector",
        policy(good, {"namespace": "x"}),
    )
    refused("network-peer-refused", at, policy(good, {}))
    both = {"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}
    refused("network-peer-refused", f"{at}.ipBlock ~ podSelector is beside", policy(good, both))
    block = {"ipBlock": {"cidr": "10.0.0.0/8"}}
    accepted("network-peer-refused", policy(good, block, {**good, "namespaceSelector": {}}))
