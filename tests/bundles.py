"""Bundles of a small model on one cluster, and what is found in them."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.bundle import Bundle, bundle
from gangform.documents.document import Manifest, mapping
from gangform.findings import Finding, InputError, Path
from gangform.inputs.cluster import Cluster, Installed, Library, Monitoring, Pool
from gangform.inputs.hardware import Gpu, HardwareShape, Taint
from gangform.inputs.model import Measured, ModelProfile
from gangform.inputs.serving import Admission, Engine, Parallelism, Patch, Serving
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes, Millicores

NODE = HardwareShape(
    name="eight",
    gpu=Gpu(product="NVIDIA-H100-80GB-HBM3", count=8, visible_memory=Bytes.gib(80)),
    cpu=Millicores(100_000),
    memory=Bytes.gib(1600),
    ephemeral_storage=Bytes.gib(3000),
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
WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"


def cluster(**changes: Any) -> Cluster:
    given: dict[str, Any] = {
        "name": "prod",
        "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
        "foundation": "all",
        "pools": {"gpu": Pool(hardware=NODE)},
        "metrics_adapter": "external",
    }
    return Cluster(**{**given, **changes})


def with_keda(**changes: Any) -> Cluster:
    """A cluster whose autoscalers are KEDA's."""
    versions = Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15", keda="2.18")
    at = Monitoring(prometheus="http://prometheus:9090")
    return cluster(**{"metrics_adapter": "keda", "versions": versions, "monitoring": at, **changes})


def plan(backend: str = "none", *, on: Cluster | None = None, **changes: Any) -> ServingPlan:
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": MODEL,
        "pool": "gpu",
        "engine": Engine(version="0.33.0"),
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": None if "autoscaling" in changes else 2,
        "context": 32_768,
        "admission": Admission(backend=backend, queue=None if backend == "none" else "serving"),
    }
    return plan_serving(
        Serving(**{**given, **changes}),
        cluster=on or cluster(),
        library=Library(models={}, hardware={}),
    )


ONE = Parallelism(tensor=8)


def made(*args: Any, **changes: Any) -> Bundle:
    return bundle(plan(*args, **changes))


def find(built: Bundle, kind: str, name: str = "llm") -> Manifest:
    (found,) = [one for one in built.documents if one.kind == kind and one.key.name == name]
    return found.manifest


def pods(built: Bundle) -> list[Manifest]:
    """The pod specs of all workloads."""
    places: tuple[Path, ...] = (
        ("spec", "template", "spec"),
        ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
        ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
    )
    found = [mapping(one.manifest, *place) for one in built.documents for place in places]
    return [spec for spec in found if spec]


def kinds(built: Bundle) -> list[str]:
    return [document.kind for document in built.documents]


def refused(*patches: Patch, backend: str = "none", **changes: Any) -> list[Finding]:
    with pytest.raises(InputError) as caught:
        made(backend, patches=patches, **changes)
    return list(caught.value.findings)


ENGINE = ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec")
