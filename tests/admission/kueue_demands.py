"""Clusters and demands that Kueue is asked about."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.admission.admission import Demand
from gangform.inputs.cluster import Cluster, Installed, KueueSettings, Pool
from gangform.units import Resources

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
QUEUE = "kueue.x-k8s.io/queue-name"
MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[..., list[str]]


def kueue(**fields: Any) -> dict[str, Any]:
    return {"kueue": KueueSettings(**fields)}


def release(text: str | None) -> dict[str, Any]:
    return {"versions": Installed(kubernetes="1.36", kueue=text)}


def pool(**fields: Any) -> dict[str, Any]:
    return {"pools": {"h100": Pool(hardware="h100-8x", **fields)}}


def two_pools(make_cluster: MakeCluster, foundation: str) -> Cluster:
    return make_cluster(
        foundation=foundation,
        priorities={"gold": 100},
        pools={
            "h200": Pool(hardware="h200-8x", node_labels={"half": "left"}),
            "h100": Pool(hardware="h100-8x", levels=(BLOCK, RACK)),
        },
    )


def two_demands(make_demand: MakeDemand) -> list[Demand]:
    small = Resources({"nvidia.com/gpu": 8, "rdma/ib": 1, "cpu": 1500})
    return [
        make_demand(
            serving="b", namespace="chat", pool="h200", size=1, groups=1, extra=0, leader=small
        ),
        make_demand(serving="a"),
    ]
