"""A small world for backends: one cluster with one pool, and demands that differ from one by what a test says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.admission.admission import Demand
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Domain, Installed, Monitoring, Pool
from gangform.inputs.hardware import Gpu, HardwareShape, Taint
from gangform.units import Bytes, Millicores, Resources, Seconds

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"

HARDWARE = HardwareShape(
    name="h100-8x",
    gpu=Gpu(product="NVIDIA-H100-80GB-HBM3", count=8, visible_memory=Bytes.gib("79.18")),
    cpu=Millicores(120_000),
    memory=Bytes.gib(1810),
    ephemeral_storage=Bytes.gib(3000),
    taints=(Taint(key="nvidia.com/gpu"), Taint(key="team", value="llm", effect="NoExecute")),
)

POD = Resources(
    {
        "cpu": Millicores(100_000),
        "memory": Bytes.gib(1600),
        "nvidia.com/gpu": 8,
        "ephemeral-storage": Bytes.gib(2000),
    }
)

DOMAINS = (
    Domain(at=("b1", "r1"), nodes=4),
    Domain(at=("b1", "r2"), nodes=4),
    Domain(at=("b2", "r1"), nodes=4),
)
"""Rack r1 exists twice: a domain is its whole path."""

MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[[Iterable[Finding]], list[str]]


@pytest.fixture(scope="session")
def make_cluster() -> MakeCluster:
    def make(**changes: Any) -> Cluster:
        given: dict[str, Any] = {
            "name": "prod",
            "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
            "foundation": "all",
            "pools": {"h100": Pool(hardware=HARDWARE, levels=(BLOCK, RACK, HOST))},
            # What alerts need and cannot see is tried with the signals.
            "monitoring": Monitoring(enabled=False),
        }
        return Cluster(**{**given, **changes})

    return make


@pytest.fixture(scope="session")
def make_demand() -> MakeDemand:
    def make(**changes: Any) -> Demand:
        serving = changes.get("serving", "r1")
        given: dict[str, Any] = {
            "at": ("servings", serving),
            "serving": serving,
            "namespace": "llm",
            "workload": serving,
            "queue": "serving",
            "pool": "h100",
            "hardware": HARDWARE,
            "size": 2,
            "groups": 3,
            "extra": 1,
            "leader": POD,
            "worker": POD,
            "placement": None,
            "priority_class": None,
            "pod_priority": None,
            "startup_policy": "LeaderCreated",
            "worst_cold_start": Seconds(1200),
            "bandwidth_declared": True,
        }
        return Demand(**{**given, **changes})

    return make


@pytest.fixture(scope="session")
def codes() -> Codes:
    return lambda findings: [finding.code.id for finding in findings]


@pytest.fixture(scope="session")
def domains() -> tuple[Domain, ...]:
    return DOMAINS
