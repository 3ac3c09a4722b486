"""Plans of small servings, one of each kind that alerts differ by."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from gangform.inputs.cluster import Cluster, Installed, Library, Monitoring, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import Measured, ModelProfile
from gangform.inputs.objectives import Objectives
from gangform.inputs.serving import (
    Admission,
    Autoscaling,
    Engine,
    Parallelism,
    Rollout,
    Serving,
    TopologyRequest,
)
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes, Millicores, Seconds

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
OTHER = HARDWARE.model_copy(
    update={"name": "other", "gpu": HARDWARE.gpu.model_copy(update={"product": "OTHER-80GB"})}
)
RACK = "example.com/rack"
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
    "an objective": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "objectives": Objectives(time_to_first_token="2.5s", share=Decimal("0.95")),
    },
    "an older engine": {
        "parallelism": Parallelism(tensor=8),
        "groups": 2,
        "engine": Engine(version="0.10.0"),
    },
    "spare": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "rollout": Rollout(spare_groups=1),
    },
    "deployment with a spare": {
        "parallelism": Parallelism(tensor=4),
        "groups": 2,
        "rollout": Rollout(spare_groups=1),
    },
    "one domain": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "admission": Admission(backend="kueue", queue="serving"),
        "topology": TopologyRequest(level=RACK, mode="required"),
    },
    "one domain with a spare": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "admission": Admission(backend="kueue", queue="serving"),
        "topology": TopologyRequest(level=RACK, mode="required"),
        "rollout": Rollout(spare_groups=1),
    },
    "shown, under kueue": {
        "parallelism": Parallelism(tensor=8, pipeline=3),
        "groups": 2,
        "admission": Admission(backend="kueue", queue="serving"),
        "state_metrics": "configured",
    },
    "shown, under volcano": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "admission": Admission(backend="volcano", queue="serving"),
        "state_metrics": "configured",
    },
    "shown, sets of one group": {
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": 2,
        "admission": Admission(backend="volcano-podgroup", queue="serving"),
        "state_metrics": "configured",
    },
}
"""Every kind of serving whose alerts differ, by what makes it so. `state_metrics` is the cluster's."""
KEDA = ("by keda", "to zero")
"""Those on a cluster with KEDA."""
RUNBOOKS = "https://runbooks.example.com/serving/"
POOLS = {
    "gpu": Pool(hardware="eight", levels=(RACK, "kubernetes.io/hostname")),
    "other": Pool(hardware="other"),
}
IN_DOMAINS = (RACK, "nvidia.com/gpu.product")
"""The node labels that an alert needs to count free domains, and to tell two pools apart."""


def plan_of(
    form: str = "groups", *, monitoring: Monitoring | None = None, **changes: Any
) -> ServingPlan:
    """The plan of a form; named arguments are fields of the serving, `monitoring` is the cluster's."""
    asked = {**FORMS[form], **changes}
    shown = asked.pop("state_metrics", "stock")
    cluster = Cluster(
        name="prod",
        versions=Installed(
            kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15", keda="2.18"
        ),
        foundation="existing",
        pools=POOLS if "topology" in asked else {"gpu": Pool(hardware="eight")},
        metrics_adapter="keda" if form in KEDA else "external",
        monitoring=monitoring
        or Monitoring(
            runbook_base=RUNBOOKS,
            prometheus="http://prometheus:9090",
            state_metrics=shown,
            node_labels=IN_DOMAINS if "topology" in asked else (),
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
    serving = Serving(**{**given, **asked})
    library = Library(models={"small": MODEL}, hardware={"eight": HARDWARE, "other": OTHER})
    return plan_serving(serving, cluster=cluster, library=library)
