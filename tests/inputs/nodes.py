"""Node objects for tests of imports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

H100 = {
    "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
    "nvidia.com/gpu.count": "8",
    "nvidia.com/gpu.memory": "81559",
}
AWS = "topology.k8s.aws/network-node-layer-"
EFA = {"vpc.amazonaws.com/efa": "32"}
TAINT = {"key": "nvidia.com/gpu", "effect": "NoSchedule"}


def node(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    gpus: int = 8,
    usable: int | None = None,
    resource: str = "nvidia.com/gpu",
    taints: tuple[Mapping[str, str], ...] = (TAINT,),
    ready: bool = True,
    cordoned: bool = False,
    amounts: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """A Node as the API server prints it; `amounts` are further or other resources."""
    capacity = {"cpu": "192", "memory": "2000Gi", "ephemeral-storage": "14Ti", "pods": "110"}
    capacity |= amounts or {}
    if gpus:
        capacity[resource] = str(gpus)
    allocatable = capacity if usable is None else {**capacity, resource: str(usable)}
    spec: dict[str, Any] = {"taints": list(taints)}
    if cordoned:
        spec["unschedulable"] = True
        spec["taints"] += [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, **(H100 if labels is None else labels)},
        },
        "spec": spec,
        "status": {
            "capacity": capacity,
            "allocatable": allocatable,
            "conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}],
            "nodeInfo": {"kubeletVersion": "v1.36.2"},
        },
    }


def racked(count: int, a_rack: int = 4) -> list[dict[str, Any]]:
    """Nodes of an EFA cluster in racks, all under one spine."""
    return [
        node(
            f"n{index:04}",
            {**H100, f"{AWS}1": "spine", f"{AWS}2": f"row-{index // a_rack // 2}", f"{AWS}3": rack},
            amounts=EFA,
        )
        for index in range(count)
        for rack in [f"rack-{index // a_rack}"]
    ]
