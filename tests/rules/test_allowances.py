"""What namespaces, budgets and network policies allow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

L = "leaderworkerset.sigs.k8s.io/"


def quota(**hard: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "llm"},
        "spec": {"hard": {name.replace("_", "."): amount for name, amount in hard.items()}},
    }


def test_a_quota_holds_the_sets(make: Make, refused: Check, accepted: Check) -> None:
    gpus = {**quota(), "spec": {"hard": {"requests.nvidia.com/gpu": "31"}}}
    at = "spec.hard[requests.nvidia.com/gpu] ~ r1 2 × 16 are 32"
    refused("namespace-quota-below-demand", at, gpus, make("set"))
    refused("namespace-quota-below-demand", "spec.hard.pods", quota(pods="3"), make("set"))
    refused("namespace-quota-below-demand", "spec.hard.cpu", quota(cpu="127"), make("set"))
    accepted("namespace-quota-below-demand", quota(pods="4", cpu="128"), make("set"))
    accepted("namespace-quota-below-demand", quota(limits_cpu="1", secrets="0"), make("set"))
    scoped = quota(pods="1")
    scoped["spec"]["scopes"] = ["BestEffort"]
    accepted("namespace-quota-below-demand", scoped, make("set"))
    accepted(
        "namespace-quota-below-demand", quota(pods="1"), make("set", {"metadata>namespace": "b"})
    )


def limits(**bounds: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"name": "l", "namespace": "llm"},
        "spec": {"limits": [{"type": "Container", **bounds}]},
    }


def test_containers_keep_the_limits(make: Make, refused: Check, accepted: Check) -> None:
    at = "containers[0].resources.limits.memory ~ above the maximum 64Gi"
    refused("limit-range-refuses", at, limits(max={"memory": "64Gi"}), make("set"))
    low = "containers[0].resources.requests.cpu ~ below the minimum 64"
    refused("limit-range-refuses", low, limits(min={"cpu": "64"}), make("set"))
    sound = limits(max={"memory": "1Ti"}, min={"cpu": "100m"}, default={"memory": "1Gi"})
    accepted("limit-range-refuses", sound, make("set"))


def test_a_budget_is_taken(make: Make, refused: Check, accepted: Check) -> None:
    both = make("budget", {"spec>minAvailable": 1})
    refused("budget-refused", "spec.minAvailable ~ exclude each other", both)
    for value in (-1, "101%", "1", "x%"):
        refused(
            "budget-refused", "spec.maxUnavailable", make("budget", {"spec>maxUnavailable": value})
        )
    for value in (0, 1, "50%", "100%"):
        accepted("budget-refused", make("budget", {"spec>maxUnavailable": value}))
    bare = make("budget", {"spec>selector": ...})
    refused("selector-matches-nothing", "spec.selector ~ no selector", bare)
    accepted("selector-matches-nothing", make("budget"), make("set"))


def policy(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": "p", "namespace": "llm"},
        "spec": {"podSelector": {"matchLabels": {L + "name": "r1"}}, **spec},
    }


GATEWAY = {"from": [{"podSelector": {"matchLabels": {"app": "gateway"}}}]}
GROUP = {"podSelector": {"matchLabels": {L + "name": "r1"}}}


def test_a_policy_leaves_the_group_together(make: Make, refused: Check, accepted: Check) -> None:
    code = "network-policy-cuts-group"
    refused(
        "network-policy-cuts-group",
        "spec.ingress ~ podSelector",
        policy(ingress=[GATEWAY]),
        make("set"),
    )
    refused("network-policy-cuts-group", "spec.ingress", policy(), make("set"))
    one_port = {"from": [GROUP], "ports": [{"port": 29500}]}
    refused("network-policy-cuts-group", "spec.ingress", policy(ingress=[one_port]), make("set"))
    out = policy(
        policyTypes=["Egress"], egress=[{"to": [{"podSelector": {"matchLabels": {"a": "b"}}}]}]
    )
    refused("network-policy-cuts-group", "spec.egress", out, make("set"))
    open_: list[dict[str, Any]] = [
        {},
        {"from": [GROUP]},
        {"from": [{"podSelector": {}}]},
        {"from": [{"namespaceSelector": {}}]},
        {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]},
        {"from": [GROUP], "ports": [{"port": 1024, "endPort": 65535}]},
    ]
    for entry in open_:
        accepted("network-policy-cuts-group", policy(ingress=[GATEWAY, entry]), make("set"))
    accepted(code, policy(ingress=[GATEWAY]), policy(ingress=[{"from": [GROUP]}]), make("set"))
    accepted(code, policy(podSelector={}), make("set"))
    accepted(code, policy(ingress=[GATEWAY]), make("set", {"L>spec>hostNetwork": True}))
    leaders = {"matchLabels": {L + "name": "r1", L + "worker-index": "0"}}
    refused(
        "network-policy-cuts-group",
        "spec.ingress ~ the leader",
        policy(podSelector=leaders),
        make("set"),
    )
    single = make("set", {"spec>leaderWorkerTemplate>size": 1})
    accepted(code, policy(ingress=[GATEWAY]), single)
