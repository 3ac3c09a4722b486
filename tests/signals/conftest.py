"""Plans of small servings, one of each kind that alerts differ by."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangform.inputs.cluster import Cluster, Installed, Library, Monitoring, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import Measured, ModelProfile
from gangform.inputs.serving import Admission, Autoscaling, Engine, Parallelism, Rollout, Serving
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes, Millicores, Seconds

MakePlan = Callable[..., ServingPlan]
"""Named arguments are fields of the serving; `monitoring` is the cluster's."""

MODEL = ModelProfile(
    name="small",
    repository="example/small",
    weights="bf16",
    checkpoint=Bytes.gib(100),
    context_limit=32768,
    measured=Measured(weights_per_gpu=Bytes.gib(10), kv_bytes_per_token=1024),
)
HARDWARE = HardwareShape(
    name="eight",
    gpu=Gpu(product="NVIDIA-H100-80GB-HBM3", count=8, visible_memory=Bytes.gib("79.18")),
    cpu=Millicores(96_000),
    memory=Bytes.gib(1600),
    ephemeral_storage=Bytes.gib(3000),
)
NOBODY = Admission(backend="none")

FORMS: dict[str, dict[str, Any]] = {
    "groups": {"parallelism": Parallelism(tensor=8, pipeline=3), "groups": 2},
    "groups of one": {
        "parallelism": Parallelism(tensor=8),
        "groups": 2,
        "workload": "LeaderWorkerSet",
    },
    "sets of one group": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "admission": Admission(backend="volcano-podgroup", queue="serving"),
    },
    "deployment": {"parallelism": Parallelism(tensor=8), "groups": 2},
    "autoscaled": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "autoscaling": Autoscaling(min=2, max=4),
    },
    "by keda": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "autoscaling": Autoscaling(min=2, max=4),
    },
    "to zero": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "autoscaling": Autoscaling(
            min=0, max=4, buffer_query='sum(queue{gateway="llm"})', buffer_holds=Seconds(900)
        ),
    },
    "canary": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 4,
        "rollout": Rollout(canary_groups=1),
    },
}
"""Every kind of serving whose alerts differ, by what makes it so."""
KEDA = ("by keda", "to zero")
"""Those on a cluster with KEDA."""


@pytest.fixture(scope="session")
def make_plan() -> MakePlan:
    def make(
        form: str = "groups", *, monitoring: Monitoring | None = None, **changes: Any
    ) -> ServingPlan:
        cluster = Cluster(
            name="prod",
            versions=Installed(kubernetes="1.36", lws="0.10", volcano="1.15", keda="2.18"),
            foundation="existing",
            pools={"gpu": Pool(hardware="eight")},
            metrics_adapter="keda" if form in KEDA else "external",
            monitoring=monitoring
            or Monitoring(
                runbook_base="https://runbooks.example.com/serving/",
                prometheus="http://prometheus:9090",
            ),
        )
        given: dict[str, Any] = {
            "name": "llm",
            "namespace": "m",
            "model": "small",
            "pool": "gpu",
            "engine": Engine(version="0.32.0"),
            "context": 8192,
            "admission": NOBODY,
            "cold_start": Seconds(600),
        }
        serving = Serving(**{**given, **FORMS[form], **changes})
        library = Library(models={"small": MODEL}, hardware={"eight": HARDWARE})
        return plan_serving(serving, cluster=cluster, library=library)

    return make
