"""Fake GPU nodes, made from the same hardware shapes and pools that plans are derived from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.cluster.api import Object

from gangform.apis.keys import HOSTNAME
from gangform.inputs.cluster import Cluster, Library, Pool
from gangform.inputs.hardware import HardwareShape

NOT_READY = "kubelet.test/not-ready"
"""Label that makes the fake kubelet report a node as not ready."""

PODS = 110
"""Pods a node takes; a kubelet's default."""


def nodes_of(cluster: Cluster, library: Library) -> list[Object]:
    """Every node of a cluster's pools, in the order of their domains: `h100-0`, `h100-1` …

    A pool that says nothing of domains has all its nodes in one, at every level above the host.
    """
    return [
        node
        for name, pool in cluster.pools.items()
        for node in _of_pool(name, pool, _shape(pool, library))
    ]


def node(name: str, shape: HardwareShape, labels: Mapping[str, str]) -> Object:
    """One node of a shape, with these labels beside those that every such node has."""
    resources = {
        "cpu": str(shape.cpu),
        "memory": str(shape.memory),
        "ephemeral-storage": str(shape.ephemeral_storage),
        "pods": str(PODS),
        shape.gpu.resource: str(shape.gpu.count),
    }
    if shape.rdma is not None and shape.rdma.resource is not None:
        resources[shape.rdma.resource] = str(shape.rdma.count)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/os": "linux",
                HOSTNAME: name,
                shape.gpu.product_label: shape.gpu.product,
                **labels,
            },
        },
        "spec": {
            "taints": [
                {
                    "key": taint.key,
                    "effect": taint.effect,
                    **({} if taint.value is None else {"value": taint.value}),
                }
                for taint in shape.taints
            ]
        },
        "status": {"allocatable": resources, "capacity": resources},
    }


def _shape(pool: Pool, library: Library) -> HardwareShape:
    return library.hardware[pool.hardware] if isinstance(pool.hardware, str) else pool.hardware


def _of_pool(name: str, pool: Pool, shape: HardwareShape) -> Iterator[Object]:
    for number, place in enumerate(_places(pool)):
        yield node(f"{name}-{number}", shape, {**pool.node_labels, **place})


def _places(pool: Pool) -> Iterator[dict[str, str]]:
    above = [level for level in pool.levels if level != HOSTNAME]
    if pool.domains is None:
        for _ in range(pool.nodes or 0):
            yield dict.fromkeys(above, "only")
    else:
        for domain in pool.domains:
            for _ in range(domain.nodes):
                yield dict(zip(above, domain.at, strict=True))


# ── what is read off nodes that exist ────────────────────────────────────────────────────────────


def ready(node: Object) -> bool:
    """Whether a node is ready, says what it offers, and has no taint but those of its shape."""
    conditions = node["status"].get("conditions", [])
    states = {condition["type"]: condition["status"] for condition in conditions}
    taints = {taint["key"] for taint in node["spec"].get("taints", [])}
    return (
        states.get("Ready") == "True"
        and bool(node["status"].get("allocatable"))
        and not any(key.startswith("node.kubernetes.io/") for key in taints)
    )


def altered(node: Object, wanted: Object) -> bool:
    """Whether a living node differs from what it was made from."""
    labels = node["metadata"].get("labels", {})
    return (
        {key: labels.get(key) for key in wanted["metadata"]["labels"]}
        != wanted["metadata"]["labels"]
        or NOT_READY in labels
        or node["spec"].get("unschedulable", False)
        or node["spec"].get("taints", []) != wanted["spec"]["taints"]
        or node["status"].get("allocatable") != wanted["status"]["allocatable"]
    )
