"""Node objects: what their labels, taints, conditions and resources mean.

Sources: `engines §8.3, §8.4` (labels and resources of providers), `volcano §9` (cliques), and the documentation of GPU
feature discovery and of AMD's node labeller.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from gangform.apis.keys import GPU, GPU_CLIQUE, GPU_PRODUCT, REGION, ZONE
from gangform.apis.pods import amount_of
from gangform.documents.document import Manifest, dig, mapping, sequence, text
from gangform.units import Bytes

PLACES = (REGION, ZONE)
"""Where a node stands, coarse to fine; not how it is wired."""

FABRIC: tuple[tuple[str, ...], ...] = (
    ("cloud.google.com/gce-topology-block", "cloud.google.com/gce-topology-subblock"),
    tuple(f"topology.k8s.aws/network-node-layer-{layer}" for layer in range(1, 5)),
    (
        "oci.oraclecloud.com/rdma.hpc_island_id",
        "oci.oraclecloud.com/rdma.network_block_id",
        "oci.oraclecloud.com/rdma.local_block_id",
    ),
    ("oci.oraclecloud.com/host.network_block_id", "oci.oraclecloud.com/host.rack_id"),
    (
        "ib.coreweave.cloud/fabric",
        "ib.coreweave.cloud/superpod",
        "ib.coreweave.cloud/leafgroup",
    ),
    (
        "network.topology.nvidia.com/core",
        "network.topology.nvidia.com/spine",
        "network.topology.nvidia.com/leaf",
    ),
    tuple(f"fabric.topograph.run/tier-{tier}" for tier in range(9, -1, -1)),
    ("topology.k8s.aws/ultraserver-id",),
    ("network.topology.nvidia.com/accelerator",),
    ("ds.coreweave.com/nvlink.domain",),
    ("accelerator.topograph.run/domain", "accelerator.topograph.run/sub-domain"),
    (GPU_CLIQUE,),
)
"""How nodes are wired: families of labels, each coarse to fine, NVLink domains last (`engines §8.4`). Labels of one
host (`gce-topology-host`, `rdma.host_id`) say no more than the host's name and are left out."""

GKE_PRODUCT = "cloud.google.com/gke-accelerator"
AMD_PRODUCT = "amd.com/gpu.product-name"
PRODUCTS: Mapping[str, tuple[str, ...]] = {
    GPU: (GPU_PRODUCT, GKE_PRODUCT),
    "amd.com/gpu": (AMD_PRODUCT,),
}
"""Resources of whole GPUs, and the labels that may carry the product, the vendor's own first."""
GPU_MEMORY = "nvidia.com/gpu.memory"
"""What the driver reports for one GPU, in MiB (GPU feature discovery)."""
GPU_COUNT = "nvidia.com/gpu.count"
CAPABILITY = ("nvidia.com/gpu.compute.major", "nvidia.com/gpu.compute.minor")
"""Compute capability (GPU feature discovery)."""
UNSEEN_MEMORY = Bytes(7 * 2**30 // 10)
"""The most of what the driver reports that CUDA was seen to lack (`engines §8.1`)."""
SHARED_SUFFIX = "-SHARED"
"""What GPU feature discovery ends the product with where a GPU is handed out several times."""
_MIG = "-MIG-"
_PARTS = re.compile(r"nvidia\.com/mig-|nvidia\.com/gpu\.shared$")

COUNTED_FABRIC = frozenset({"vpc.amazonaws.com/efa", "nvidia.com/sriov-rdma-vf"})
"""Resources of which a node has as many as adapters: a pod of the whole node takes all of them (`engines §8.3`)."""
_SHARED_FABRIC = re.compile(r"rdma/[^/]+|nvidia\.com/hostdev")
"""Resources of which one is enough: the number a node shows is how many pods may share the adapters."""

DRIVERS: tuple[tuple[str, ...], ...] = (
    ("nvidia.com/cuda.driver-version.full",),
    tuple(f"nvidia.com/cuda.driver.{part}" for part in ("major", "minor", "rev")),
    ("amd.com/gpu.driver-version",),
)
"""Labels that say the driver's release, whole or in parts. GPU feature discovery writes the first two, old releases the
second alone, with an empty revision where there is none (its `internal/lm/nvml.go`)."""

_RELEASE = re.compile(r"[0-9]+(\.[0-9]+)+")

_PASSING_TAINTS = re.compile(
    r"node\.kubernetes\.io/|node\.cloudprovider\.kubernetes\.io/|karpenter\.sh/|node\.cilium\.io/"
    r"|ToBeDeletedByClusterAutoscaler|DeletionCandidateOfClusterAutoscaler"
)
"""Taints that controllers set for a while: no property of the node."""


KEEPING_OUT = ("NoSchedule", "NoExecute")
"""Effects of a taint that keep a pod off a node."""


class NodeTaint(NamedTuple):
    """A lasting taint of a node."""

    key: str
    value: str
    """Empty where there is none."""
    effect: str


class NodeView(NamedTuple):
    """What one Node object says."""

    name: str
    labels: Mapping[str, str]
    resource: str
    """The extended resource of its GPUs; empty where it has none."""
    gpus: int
    """GPUs that it has, broken ones among them."""
    usable: int
    """GPUs that pods may request now."""
    divided: bool
    """Whether its GPUs are handed out in parts (MIG), or to several pods each."""
    allocatable: Mapping[str, Fraction]
    """What pods may request: cores, bytes, counts."""
    taints: tuple[NodeTaint, ...]
    ready: bool
    cordoned: bool
    kubelet: str
    """Release of its kubelet, as it says it: `v1.36.2-gke.100`; empty where it says none."""

    @property
    def products(self) -> tuple[tuple[str, str], ...]:
        """Labels that name the GPU's product, with their values, the vendor's own first."""
        keys = PRODUCTS.get(self.resource, ())
        return tuple((key, self.labels[key]) for key in keys if self.labels.get(key))

    @property
    def driver(self) -> str:
        """Release of its GPU driver; empty where no label says it."""
        for keys in DRIVERS:
            said = ".".join(one for key in keys if (one := self.labels.get(key)))
            if _RELEASE.fullmatch(said):
                return said
        return ""

    @property
    def fabric(self) -> Iterator[tuple[str, int]]:
        """Resources of the fabric that it offers, and how many of it a pod of the whole node requests."""
        for name, amount in sorted(self.allocatable.items()):
            if amount and name in COUNTED_FABRIC:
                yield name, int(amount)
            elif amount and _SHARED_FABRIC.fullmatch(name):
                yield name, 1


def read_node(node: Manifest) -> NodeView:
    """What a Node says; what is missing or of another type counts as absent."""
    labels = {
        key: value
        for key, value in mapping(node, "metadata", "labels").items()
        if isinstance(value, str)
    }
    allocatable = _amounts(node, "allocatable")
    capacity = _amounts(node, "capacity") or allocatable
    resource = next((name for name in PRODUCTS if capacity.get(name)), "")
    parts = any(_PARTS.match(name) and amount for name, amount in capacity.items())
    named = labels.get(GPU_PRODUCT, "")
    return NodeView(
        name=text(node, "metadata", "name"),
        labels=labels,
        resource=resource,
        gpus=int(capacity.get(resource, 0)),
        usable=int(allocatable.get(resource, 0)),
        divided=parts or named.endswith(SHARED_SUFFIX) or _MIG in named,
        allocatable=allocatable,
        taints=tuple(_taints(node)),
        ready=_ready(node),
        cordoned=dig(node, "spec", "unschedulable") is True,
        kubelet=text(node, "status", "nodeInfo", "kubeletVersion"),
    )


def _amounts(node: Manifest, key: str) -> dict[str, Fraction]:
    found = {name: amount_of(value) for name, value in sorted(mapping(node, "status", key).items())}
    return {name: amount for name, amount in found.items() if amount is not None}


def _taints(node: Manifest) -> Iterator[NodeTaint]:
    for taint in sequence(node, "spec", "taints"):
        key = text(taint, "key")
        if key and not _PASSING_TAINTS.match(key):
            yield NodeTaint(key, text(taint, "value"), text(taint, "effect"))


def _ready(node: Manifest) -> bool:
    """Whether its kubelet says so; a node without conditions is one of a file and counts as ready."""
    for condition in sequence(node, "status", "conditions"):
        if text(condition, "type") == "Ready":
            return text(condition, "status") == "True"
    return True
