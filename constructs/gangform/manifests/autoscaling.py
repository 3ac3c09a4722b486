"""HorizontalPodAutoscaler or ScaledObject on the workload, never both: one step is one group."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core, keda
from gangform.documents.document import Manifest
from gangform.manifests.pod import metadata, plain
from gangform.plan.scaling import ScalingPlan
from gangform.plan.serving import ServingPlan, WorkloadPlan
from gangform.plan.triggers import KedaPlan
from gangform.units import Seconds


def autoscalers(plan: ServingPlan) -> Iterator[Manifest]:
    """One autoscaler for each workload that has bounds."""
    for workload in plan.workloads:
        scaling = workload.role.scaling
        if scaling is None:
            continue
        if scaling.keda is None:
            yield _own(plan, workload, scaling)
        else:
            yield _by_keda(plan, workload, scaling, scaling.keda)


def _own(plan: ServingPlan, workload: WorkloadPlan, scaling: ScalingPlan) -> Manifest:
    """A HorizontalPodAutoscaler, which needs an adapter that serves its metric."""
    return {
        "apiVersion": core.AUTOSCALING,
        "kind": "HorizontalPodAutoscaler",
        "metadata": metadata(workload.role, plan.namespace, scaling.autoscaler),
        "spec": {
            "scaleTargetRef": _target(workload),
            "minReplicas": scaling.lowest,
            "maxReplicas": scaling.highest,
            "metrics": [_metric(scaling)],
            "behavior": _behavior(scaling),
        },
    }


def _by_keda(
    plan: ServingPlan, workload: WorkloadPlan, scaling: ScalingPlan, asked: KedaPlan
) -> Manifest:
    """A ScaledObject, of which KEDA makes the HorizontalPodAutoscaler."""
    cooldown = {} if asked.cooldown is None else {"cooldownPeriod": plain(asked.cooldown)}
    return {
        "apiVersion": keda.API_VERSION,
        "kind": keda.KIND,
        "metadata": metadata(workload.role, plan.namespace, workload.name),
        "spec": {
            "scaleTargetRef": _target(workload),
            "minReplicaCount": scaling.lowest,
            "maxReplicaCount": scaling.highest,
            **cooldown,
            "triggers": [
                {
                    "type": keda.PROMETHEUS,
                    "name": trigger.name,
                    "metricType": "AverageValue",
                    "metadata": {
                        "serverAddress": asked.server,
                        "query": trigger.query,
                        "threshold": f"{trigger.threshold}",
                        "ignoreNullValues": "false",
                    },
                }
                for trigger in asked.triggers
            ],
            "fallback": {
                "failureThreshold": asked.failures,
                "replicas": asked.fallback,
                "behavior": keda.KEEP,
            },
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": _behavior(scaling)}},
        },
    }


def _target(workload: WorkloadPlan) -> Manifest:
    return {
        "apiVersion": workload.form.api_version,
        "kind": workload.form.kind,
        "name": workload.name,
    }


def _metric(scaling: ScalingPlan) -> Manifest:
    """The metric and its value a group."""
    selector = {"selector": {"matchLabels": dict(scaling.selector)}} if scaling.selector else {}
    return {
        "type": scaling.type,
        scaling.type.lower(): {
            "metric": {"name": scaling.metric, **selector},
            "target": {"type": "AverageValue", "averageValue": f"{scaling.target}"},
        },
    }


def _behavior(scaling: ScalingPlan) -> Manifest:
    """Whole groups, one at a time."""
    return {
        "scaleUp": _rules(scaling.step, window=scaling.up_window, period=scaling.up_period),
        "scaleDown": _rules(scaling.step, window=scaling.down_window, period=scaling.down_period),
    }


def _rules(step: int, *, window: Seconds, period: Seconds) -> Manifest:
    return {
        "stabilizationWindowSeconds": plain(window),
        "selectPolicy": "Max",
        "policies": [{"type": "Pods", "value": step, "periodSeconds": plain(period)}],
    }
