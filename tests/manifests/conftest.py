"""A small world for manifests, and goldens as one plain YAML file each.

Everything is inline, so that no shipped profile moves a golden. A golden is read by the operator who will apply it:
its name says what it shows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from gangform.bundle import Bundle, bundle, foundation
from gangform.documents.document import Document, Manifest
from gangform.documents.emit import emit
from gangform.inputs.cluster import Cluster, Domain, Installed, Library, Pool
from gangform.inputs.hardware import Gpu, HardwareShape, Rdma, Taint
from gangform.inputs.model import Measured, ModelProfile
from gangform.inputs.serving import Admission, Engine, Parallelism, Serving
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes, Millicores, Seconds

Built = Callable[..., Bundle]
Foundation = Callable[..., Bundle]
Spell = Callable[[Manifest], str]

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"

NODE = HardwareShape(
    name="eight",
    gpu=Gpu(product="NVIDIA-H100-80GB-HBM3", count=8, visible_memory=Bytes.gib(80)),
    cpu=Millicores(100_000),
    memory=Bytes.gib(1600),
    ephemeral_storage=Bytes.gib(3000),
    rdma=Rdma(resource="rdma/ib", count=8),
    taints=(Taint(key="nvidia.com/gpu"),),
)
MODEL = ModelProfile(
    name="small",
    repository="example/small",
    weights="bf16",
    checkpoint=Bytes.gib(100),
    context_limit=131_072,
    measured=Measured(weights_per_gpu=Bytes.gib(10), kv_bytes_per_token=1024),
)


class ManifestSnapshot(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "yaml"


@pytest.fixture
def golden(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    return snapshot.use_extension(ManifestSnapshot)


def cluster(**changes: Any) -> Cluster:
    domains = (Domain(at=("b0", "r0"), nodes=4), Domain(at=("b0", "r1"), nodes=4))
    pool = {"hardware": NODE, "levels": (BLOCK, RACK, HOST), "domains": domains}
    given: dict[str, Any] = {
        "name": "prod",
        "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
        "foundation": "all",
        "pools": {"gpu": Pool(**{**pool, **changes.pop("pool", {})})},
        "metrics_adapter": "external",
    }
    return Cluster(**{**given, **changes})


def planned(backend: str = "kueue", *, on: Cluster | None = None, **changes: Any) -> ServingPlan:
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": MODEL,
        "pool": "gpu",
        "engine": Engine(version="0.33.0"),
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": None if "autoscaling" in changes else 2,
        "context": 32_768,
        "cold_start": Seconds(600),
        "admission": Admission(backend=backend, queue=None if backend == "none" else "serving"),
    }
    return plan_serving(
        Serving(**{**given, **changes}),
        cluster=on or cluster(),
        library=Library(models={}, hardware={}),
    )


@pytest.fixture(scope="session")
def build() -> Built:
    """The bundle of a serving: two groups of two nodes under Kueue, but for what is said."""
    return lambda *args, **changes: bundle(planned(*args, **changes))


@pytest.fixture(scope="session")
def lay() -> Foundation:
    """The foundation of a cluster that runs this serving."""

    def made(backend: str = "kueue", *, on: dict[str, Any] | None = None, **changes: Any) -> Bundle:
        home = cluster(**(on or {}))
        return foundation(plan_cluster(home, [planned(backend, on=home, **changes)]))

    return made


@pytest.fixture(scope="session")
def spell() -> Spell:
    """A manifest, or a part of one, as it is written."""
    return lambda manifest: emit([Document(manifest=manifest, builder="")]).decode()
