"""The small world of the planning cases, and what is asked of its plans."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import pytest
import yaml

from gangform.apis.views import Documents
from gangform.bundle import bundle, judge_bundles
from gangform.documents.document import Document
from gangform.findings import Finding, InputError, Severity
from gangform.inputs.cluster import Cluster, Installed, Library, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import Architecture, Attention, Measured, ModelProfile
from gangform.inputs.serving import (
    Admission,
    Engine,
    Parallelism,
    Serving,
)
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.rules.rule import Context, judge
from gangform.units import Bytes, Millicores, Seconds

RACK = "example.com/rack"

Test = TypeVar("Test", bound=Callable[..., None])


def row(*ids: str) -> Callable[[Test], Test]:
    """Say which rows a test stands for: they are looked for where this is written."""
    assert ids

    def note(test: Test) -> Test:
        return test

    return note


def node(count: int = 8, *, visible: str = "79.19", **gpu: Any) -> HardwareShape:
    given: dict[str, Any] = {
        "product": "NVIDIA-H100-80GB-HBM3",
        "count": count,
        "visible_memory": Bytes.gib(visible),
        "capability": "9.0",
    }
    return HardwareShape(
        name="node",
        gpu=Gpu(**{**given, **gpu}),
        cpu=Millicores(190_000),
        memory=Bytes.gib(1900),
        ephemeral_storage=Bytes.gib(6000),
        nvlink_gpus=72,
    )


def layers(**changes: Any) -> Architecture:
    given: dict[str, Any] = {
        "layers": 80,
        "hidden": 8192,
        "vocabulary": 131_072,
        "attention": Attention(kind="gqa", heads=64, kv_heads=8, head_dim=128),
    }
    return Architecture(**{**given, **changes})


def model(**changes: Any) -> ModelProfile:
    """A model that fits anywhere: what does not come from its architecture is measured and small."""
    given: dict[str, Any] = {
        "name": "m",
        "repository": "org/m",
        "weights": "bf16",
        "checkpoint": Bytes.gib(10),
        "context_limit": 262_144,
        "measured": Measured(weights_per_gpu=Bytes.gib(1), kv_bytes_per_token=1024),
    }
    return ModelProfile(**{**given, **changes})


def fp8(**architecture: Any) -> ModelProfile:
    return model(weights="fp8", quantization_block=128, architecture=layers(**architecture))


def cluster(hardware: HardwareShape, **changes: Any) -> Cluster:
    pool = changes.pop("pool", {})
    given: dict[str, Any] = {
        "name": "prod",
        "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19"),
        "foundation": "existing",
        "pools": {"gpu": Pool(hardware=hardware, **pool)},
        "metrics_adapter": "external",
    }
    return Cluster(**{**given, **changes})


def planned(
    profile: ModelProfile, *, on: HardwareShape | Cluster | None = None, **changes: Any
) -> ServingPlan:
    home = on if isinstance(on, Cluster) else cluster(on or node())
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": profile,
        "pool": "gpu",
        "engine": Engine(version="0.33.0"),
        "parallelism": Parallelism(tensor=8),
        "groups": 2,
        "context": 32_768,
        "admission": Admission(backend="none"),
    }
    return plan_serving(
        Serving(**{**given, **changes}),
        cluster=home,
        library=Library(models={}, hardware={}),
    )


def summed(home: Cluster, **changes: Any) -> ClusterPlan:
    return plan_cluster(home, [planned(model(), on=home, **changes)])


def said(findings: Iterable[Finding], severity: Severity) -> dict[str, Finding]:
    return {one.code.id: one for one in findings if one.code.severity is severity}


def refused(plan: ServingPlan | ClusterPlan) -> dict[str, Finding]:
    findings = plan.findings if isinstance(plan, ServingPlan) else plan.every_finding
    return said(findings, Severity.BREAKS)


def warned(plan: ServingPlan | ClusterPlan) -> dict[str, Finding]:
    findings = plan.findings if isinstance(plan, ServingPlan) else plan.every_finding
    return said(findings, Severity.DEGRADES)


def refusal(plan: ServingPlan) -> dict[str, Finding]:
    """What stops the bundle of a plan that is accepted itself."""
    assert not refused(plan)
    with pytest.raises(InputError) as caught:
        bundle(plan)
    return said(caught.value.findings, Severity.BREAKS)


def objections(plan: ServingPlan) -> Iterator[Finding]:
    """What the rules say of the documents of a plan."""
    assert not refused(plan)
    yield from judge_bundles([bundle(plan)], cluster(node()), complete=False)


def judged(text: str, *, takes: Seconds | None = None) -> list[Finding]:
    """What the rules say; `takes`: how long a start of every workload is known to take."""
    documents = [Document(manifest=one, builder="") for one in yaml.safe_load_all(text)]
    known = None if takes is None else {one.key: takes for one in documents}
    return judge(Documents(documents), Context(cold_starts=known))
