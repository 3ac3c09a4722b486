"""A small world for plans: a model, a node, a cluster and a serving that differ by what a test says.

Everything is inline, so that no shipped profile moves a figure here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.gpus import split, terms

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Installed, Library, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import Architecture, Attention, Measured, ModelProfile
from gangform.inputs.serving import Admission, Engine, Fit, Parallelism, Serving
from gangform.plan import memory
from gangform.plan.memory import MemoryPlan
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes, Millicores

MakeHardware = Callable[..., HardwareShape]
MakeModel = Callable[..., ModelProfile]
MakeCluster = Callable[..., Cluster]
MakeServing = Callable[..., Serving]
MakePlan = Callable[..., ServingPlan]
Codes = Callable[[Iterable[Finding]], list[str]]


def hardware(**changes: Any) -> HardwareShape:
    gpu = {
        "product": "NVIDIA-H100-80GB-HBM3",
        "count": 8,
        "visible_memory": Bytes.gib(80),
        **changes.pop("gpu", {}),
    }
    given: dict[str, Any] = {
        "name": "eight",
        "gpu": Gpu(**gpu),
        "cpu": Millicores(100_000),
        "memory": Bytes.gib(1600),
        "ephemeral_storage": Bytes.gib(3000),
    }
    return HardwareShape(**{**given, **changes})


def model(**changes: Any) -> ModelProfile:
    """A model that fits anywhere: what a GPU holds of it is measured."""
    given: dict[str, Any] = {
        "name": "small",
        "repository": "example/small",
        "weights": "bf16",
        "checkpoint": Bytes.gib(100),
        "context_limit": 131_072,
        "measured": Measured(weights_per_gpu=Bytes.gib(10), kv_bytes_per_token=1024),
    }
    return ModelProfile(**{**given, **changes})


def layered(**changes: Any) -> ModelProfile:
    """The same by its architecture: 60 dense layers."""
    architecture: dict[str, Any] = {
        "layers": 60,
        "hidden": 8192,
        "vocabulary": 128_000,
        "attention": Attention(kind="gqa", heads=64, kv_heads=8, head_dim=128),
        **changes.pop("architecture", {}),
    }
    return model(
        **{
            "measured": None,
            "parameters": 50_000_000_000,
            "architecture": Architecture(**architecture),
            **changes,
        }
    )


def cluster(**changes: Any) -> Cluster:
    pool = {"hardware": hardware(), **changes.pop("pool", {})}
    given: dict[str, Any] = {
        "name": "prod",
        "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
        "foundation": "existing",
        "pools": {"gpu": Pool(**pool)},
        "metrics_adapter": "external",
    }
    return Cluster(**{**given, **changes})


def serving(**changes: Any) -> Serving:
    backend = changes.pop("backend", None)
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": model(),
        "pool": "gpu",
        "engine": Engine(version="0.33.0"),
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": None if "autoscaling" in changes else 4,
        "context": 32_768,
        "admission": Admission(backend="none"),
    }
    if backend is not None:
        given["admission"] = Admission(
            backend=backend, queue=None if backend == "none" else "serving"
        )
    return Serving(**{**given, **changes})


def planned(*, on: Cluster | None = None, search: bool = False, **changes: Any) -> ServingPlan:
    library = Library(models={}, hardware={})
    return plan_serving(serving(**changes), cluster=on or cluster(), library=library, search=search)


@pytest.fixture(scope="session")
def make_hardware() -> MakeHardware:
    return hardware


@pytest.fixture(scope="session")
def make_model() -> MakeModel:
    return model


@pytest.fixture(scope="session")
def make_layered() -> MakeModel:
    return layered


@pytest.fixture(scope="session")
def make_cluster() -> MakeCluster:
    return cluster


@pytest.fixture(scope="session")
def make_serving() -> MakeServing:
    return serving


@pytest.fixture(scope="session")
def make_plan() -> MakePlan:
    return planned


@pytest.fixture(scope="session")
def fill() -> Callable[..., MemoryPlan]:
    """A GPU of 80 GiB, so 72 to plan with; 10 of weights and 6 of overhead leave 56."""

    def plan(profile: ModelProfile | None = None, **changes: Any) -> MemoryPlan:
        given: dict[str, Any] = {
            "model": profile or model(),
            "hardware": hardware(),
            "shape": split(tensor=8),
            "terms": terms(),
            "context": 32_768,
            "fit": Fit(),
        }
        return memory.derive(**{**given, **changes})

    return plan


@pytest.fixture(scope="session")
def codes() -> Codes:
    return lambda findings: [finding.code.id for finding in findings]


@pytest.fixture
def shipped(make_cluster: MakeCluster) -> Callable[..., ServingPlan]:
    """A shipped model on shipped hardware."""
    library = Library.shipped()

    def plan(model: str, hardware: str, **asked: Any) -> ServingPlan:
        home = make_cluster(pool={"hardware": hardware})
        given: dict[str, Any] = {
            "name": "llm",
            "namespace": "m",
            "model": model,
            "pool": "gpu",
            "engine": {"version": "0.33.0"},
            "groups": 1,
            "context": 32_768,
            "admission": {"backend": "none"},
            "parallelism": "auto",
        }
        serving = Serving.model_validate({**given, **asked}, by_name=True)
        return plan_serving(serving, cluster=home, library=library)

    return plan


@pytest.fixture
def auto(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    make_layered: MakeModel,
) -> Callable[..., ServingPlan]:
    def plan(
        node: dict[str, Any] | None = None,
        model: dict[str, Any] | None = None,
        nodes: int | None = None,
        **asked: Any,
    ) -> ServingPlan:
        home = make_cluster(pool={"hardware": make_hardware(**(node or {})), "nodes": nodes})
        profile = make_layered(**(model or {}))
        return make_plan(on=home, **{"model": profile, "parallelism": "auto", **asked})

    return plan
