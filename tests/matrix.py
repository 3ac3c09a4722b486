"""Every way to combine what a serving may ask for, over one small model and one small node.

A combination names a value in each dimension. The product is too large to render in one run, so `sampled` takes the
same part of it each time: an equal number from every pair of backend and form, in steps that spread over all other
values.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import product
from typing import NamedTuple

from gangform.inputs.cluster import Cluster, Domain, Installed, Library, Monitoring, Pool
from gangform.inputs.hardware import Gpu, HardwareShape, Rdma, Taint
from gangform.inputs.model import Architecture, Attention, ModelProfile
from gangform.inputs.serving import (
    Admission,
    Autoscaling,
    Disruption,
    Engine,
    Network,
    Parallelism,
    Rollout,
    Secret,
    Serving,
    TopologyRequest,
    Weights,
)
from gangform.units import Bytes, BytesPerSecond, Millicores

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"

HARDWARE = HardwareShape(
    name="small-8x",
    gpu=Gpu(product="SMALL-80GB", count=8, visible_memory=Bytes.gib(80), capability="9.0"),
    cpu=Millicores(128_000),
    memory=Bytes.gib(1000),
    ephemeral_storage=Bytes.gib(1000),
    rdma=Rdma(resource="rdma/ib", count=8, hca="mlx5"),
    taints=(Taint(key="nvidia.com/gpu"), Taint(key="team", value="llm")),
    read_bandwidth=BytesPerSecond.parse("2GiB/s"),
)
MODEL = ModelProfile(
    name="small",
    repository="example/small",
    weights="bf16",
    checkpoint=Bytes.gib(100),
    parameters=50_000_000_000,
    context_limit=32768,
    architecture=Architecture(
        layers=16,
        hidden=8192,
        vocabulary=128_000,
        attention=Attention(kind="gqa", heads=64, kv_heads=8, head_dim=128),
        dense_width=16384,
    ),
)
NETWORK = Network(
    clients=({"podSelector": {"matchLabels": {"app": "gateway"}}},),
    scrapers=({"namespaceSelector": {"matchLabels": {"app": "prometheus"}}},),
)
LIBRARY = Library({}, {})
"""Nothing is named: model and hardware are written inline."""


class Combination(NamedTuple):
    """One value of each dimension."""

    backend: str
    form: str
    restart: str
    startup: str
    groups: str
    disruption: str
    weights: str
    rollout: str
    gitops: str
    topology: str

    @property
    def odd(self) -> bool:
        """A coin that no single dimension decides, and that falls the same way in every run."""
        return bool(sha256("/".join(self).encode()).digest()[0] % 2)


DIMENSIONS: tuple[tuple[str, ...], ...] = (
    ("kueue", "volcano", "volcano-podgroup", "none"),
    ("deployment", "set of one pod", "two pods", "four pods"),
    ("derived", "RecreateGroupAfterStart", "RecreateGroupOnPodRestart", "None"),
    ("LeaderCreated", "LeaderReady"),
    ("fixed", "autoscaled"),
    ("serial", "perGroup", "released"),
    ("hub", "claim", "nodePath", "perPod"),
    ("derived", "spare", "declared"),
    ("none", "argocd"),
    ("none", "preferred", "required"),
)
"""The values of each field of a combination, in the order of its fields."""

PLAIN = Combination(
    "kueue",
    "two pods",
    "derived",
    "LeaderCreated",
    "fixed",
    "serial",
    "claim",
    "derived",
    "none",
    "none",
)
"""Nothing special; tests change a value or two."""

BUFFER = "sum(gateway_queue_size)"
FIXED, LOWEST, HIGHEST, RELEASED = 3, 2, 5, 1
"""Groups of a fixed serving; bounds of an autoscaled one; the group without a budget."""

STEP = 2137
"""About the golden section of the other dimensions' product, and prime to it: neighbours lie far apart."""

SIZES = {"deployment": 1, "set of one pod": 1, "two pods": 2, "four pods": 4}


def whole() -> Iterator[Combination]:
    """The whole product."""
    yield from (Combination(*values) for values in product(*DIMENSIONS))


def sampled(each: int) -> list[Combination]:
    """So many combinations from every pair of backend and form, the same ones in every run."""
    rest = list(product(*DIMENSIONS[2:]))
    pairs = product(DIMENSIONS[0], DIMENSIONS[1])
    return [
        Combination(*pair, *rest[(turn * STEP + start * each) % len(rest)])
        for start, pair in enumerate(pairs)
        for turn in range(each)
    ]


def cluster(backend: str, gitops: str) -> Cluster:
    """The cluster of a backend; without GitOps an older one, where Kueue bounds names."""
    older = gitops == "none"
    return Cluster.model_validate(
        {
            "name": f"{backend}-{gitops}",
            "versions": Installed(
                kubernetes="1.36",
                lws="0.9" if older else "0.10",
                kueue="0.17" if older else "0.19",
                volcano="1.14",
                keda="2.18",
            ),
            "foundation": "all",
            "gitops": gitops,
            "lws_scheduler_provider": "volcano" if backend == "volcano" else "none",
            "metrics_adapter": "prometheus-adapter" if older else "keda",
            "monitoring": Monitoring(prometheus="http://prometheus.monitoring:9090"),
            "node_autoscaler": AUTOSCALERS.get(backend, "unknown"),
            "pools": {
                "small": Pool(
                    hardware=HARDWARE,
                    levels=(BLOCK, RACK, HOST),
                    # Our own PodGroups need the domains; elsewhere no inventory leaves room for any number of groups.
                    domains=DOMAINS if backend == "volcano-podgroup" else None,
                )
            },
        }
    )


AUTOSCALERS = {"kueue": "karpenter", "volcano": "cluster-autoscaler", "none": "none"}
"""Who takes nodes away, by backend."""

DOMAINS = tuple(
    Domain(at=(f"b{block}", f"r{rack}"), nodes=10_000) for block in range(2) for rack in range(3)
)
"""Rack names stand under two blocks: a domain is its whole path."""


def scaling(combination: Combination) -> Autoscaling | None:
    """Bounds; every second one has what only its cluster brings: zero groups under KEDA, metrics of pods elsewhere."""
    if combination.groups == "fixed":
        return None
    if combination.odd:
        return Autoscaling(min=LOWEST, max=HIGHEST)
    if combination.gitops == "none":
        return Autoscaling(min=LOWEST, max=HIGHEST, type="Pods")
    return Autoscaling(min=0, max=HIGHEST, buffer_query=BUFFER)


def serving(combination: Combination, name: str) -> Serving:
    """The serving that a combination asks for. Every second one shares its namespace and has a NetworkPolicy."""
    size = SIZES[combination.form]
    odd = combination.odd
    fixed = combination.groups == "fixed"
    # A Deployment has no use for the words of a set.
    groups = combination.form != "deployment"
    return Serving(
        name=name,
        namespace=f"llm-{odd:d}",
        model=MODEL,
        pool="small",
        engine=Engine(version="0.33.0"),
        groups=FIXED if fixed else None,
        autoscaling=scaling(combination),
        context=8192,
        parallelism=Parallelism(tensor=8, pipeline=size),
        workload="LeaderWorkerSet" if combination.form == "set of one pod" else None,
        admission=Admission(
            backend=combination.backend,
            queue=None if combination.backend == "none" else f"queue-{odd:d}",
        ),
        restart_policy=None
        if not groups or combination.restart == "derived"
        else combination.restart,  # type: ignore[arg-type]
        startup_policy=combination.startup if groups else "LeaderCreated",  # type: ignore[arg-type]
        disruption={
            "serial": Disruption(),
            "perGroup": Disruption(mode="perGroup"),
            "released": Disruption(mode="perGroup", released=(RELEASED,)),
        }[combination.disruption],
        weights={
            "hub": Weights(token=Secret(name="hub-token")),
            "claim": Weights(source="claim", claim="models", path="small"),
            "nodePath": Weights(source="nodePath", path="/mnt/models"),
            "perPod": Weights(source="perPod", storage_class="local"),
        }[combination.weights],
        rollout={
            "derived": Rollout(),
            "spare": Rollout(spare_groups=1),
            "declared": Rollout(max_surge=1, max_unavailable=1),
        }[combination.rollout],
        topology=None
        if combination.topology == "none"
        else TopologyRequest(level=RACK, mode=combination.topology),  # type: ignore[arg-type]
        network=NETWORK if odd else None,
    )
