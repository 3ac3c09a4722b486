"""What a change of core Kubernetes' objects, and of those of monitoring, does to pods that run.

Sources: validation of Kubernetes 1.36 (immutable fields), its controllers, and the prometheus-operator; `lab` where
it was seen (tests/cluster/test_effects.py, test_beside_effects.py).
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import keys
from gangform.apis.effects import API_SERVER, Effect, Effects, Outcome, field
from gangform.apis.kueue_effects import MADE_ANEW, queue_labels
from gangform.apis.versions import Evidence
from gangform.documents.document import group_of

_METADATA = Effect(("metadata",), Outcome.NONE, Evidence.LAB, "apimachinery ObjectMeta")


def replicas() -> Iterator[Effect]:
    """The number of groups or pods."""
    yield Effect(
        field("spec.replicas"),
        Outcome.NONE,
        Evidence.LAB,
        "Kubernetes: Migrating Deployments to horizontal autoscaling; lab summary 12",
        says="1 is left until an autoscaler acts, unless the apply is server-side and somebody scaled it since Git did",
        ways=("removed",),
    )
    yield Effect(field("spec.replicas"), Outcome.NONE, Evidence.LAB, "lab E5")


DEPLOYMENT = Effects(
    group_of(keys.APPS),
    "Deployment",
    [
        *queue_labels("a Deployment"),
        Effect(
            field("spec.selector"),
            Outcome.REFUSED,
            Evidence.LAB,
            "apps/v1 ValidateDeploymentUpdate",
            says="a Deployment keeps its selector",
            by=API_SERVER,
            instead=MADE_ANEW,
        ),
        Effect(field("spec.template"), Outcome.ROLLS, Evidence.LAB, "apps/v1"),
        *replicas(),
        _METADATA,
        Effect((), Outcome.NONE, Evidence.LAB, "apps/v1: not in the pod template's hash"),
    ],
)

SERVICE = Effects(
    "",
    "Service",
    [
        *(
            Effect(
                ("spec", name),
                Outcome.REFUSED,
                Evidence.LAB,
                "core/v1 ValidateServiceUpdate",
                says="a Service keeps its address",
                by=API_SERVER,
                instead="delete the Service and apply it anew",
                ways=("changed",),
            )
            for name in ("clusterIP", "clusterIPs")
        ),
        Effect(
            field("spec.selector"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "endpoint slice controller",
            says="the endpoints move at once: requests go to the pods that it selects now",
        ),
        Effect(
            field("spec.ports"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "endpoint slice controller",
            says="the endpoints move at once: clients of the old port lose it",
        ),
        Effect(
            field("spec.publishNotReadyAddresses"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "endpoint slice controller",
            says="the endpoints change at once",
        ),
        _METADATA,
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "core/v1"),
    ],
)

BUDGET = Effects(
    group_of(keys.POLICY),
    "PodDisruptionBudget",
    [
        _METADATA,
        Effect(
            (),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "policy/v1; lab E3",
            says="evictions are judged by it from now on",
        ),
    ],
)

AUTOSCALER = Effects(
    group_of(keys.AUTOSCALING),
    "HorizontalPodAutoscaler",
    [
        _METADATA,
        Effect(
            field("spec.minReplicas"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "lab E5",
            says="groups below it are added at once",
            ways=("raised",),
        ),
        Effect(
            field("spec.maxReplicas"),
            Outcome.IN_PLACE,
            Evidence.LAB,
            "lab E5; tests/cluster/test_scaling.py",
            says="groups above it are taken down at once",
            ways=("lowered",),
        ),
        Effect((), Outcome.IN_PLACE, Evidence.LAB, "lab E5"),
    ],
)

SCALED_OBJECT = Effects(
    group_of(keys.KEDA),
    "ScaledObject",
    [
        _METADATA,
        Effect(
            field("spec.minReplicaCount"),
            Outcome.IN_PLACE,
            Evidence.CODE,
            "KEDA: pkg/scaling/executor",
            says="groups below it are added at once",
            ways=("raised",),
        ),
        Effect(
            field("spec.maxReplicaCount"),
            Outcome.IN_PLACE,
            Evidence.CODE,
            "KEDA: controllers/keda/hpa.go; lab E5",
            says="groups above it are taken down at once",
            ways=("lowered",),
        ),
        Effect((), Outcome.IN_PLACE, Evidence.CODE, "KEDA: controllers/keda/hpa.go"),
    ],
)

POLICY = Effects(
    group_of(keys.NETWORKING),
    "NetworkPolicy",
    [
        _METADATA,
        Effect(
            (),
            Outcome.IN_PLACE,
            Evidence.DOCS,
            "networking.k8s.io/v1",
            says="new connections are judged by it from now on",
        ),
    ],
)

ACCOUNT = Effects(
    "",
    "ServiceAccount",
    [Effect((), Outcome.NONE, Evidence.CODE, "core/v1", says="new pods follow it")],
)

MONITOR = Effects(
    group_of(keys.MONITORING),
    "PodMonitor",
    [Effect((), Outcome.NONE, Evidence.DOCS, "observability §3")],
)

RULE = Effects(
    group_of(keys.MONITORING),
    "PrometheusRule",
    [Effect((), Outcome.NONE, Evidence.DOCS, "observability §3")],
)

TABLES = (DEPLOYMENT, SERVICE, BUDGET, AUTOSCALER, SCALED_OBJECT, POLICY, ACCOUNT, MONITOR, RULE)
