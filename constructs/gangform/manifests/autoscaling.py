"""HorizontalPodAutoscaler on the workload: one step is one group."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core
from gangform.documents.document import Manifest
from gangform.manifests.pod import metadata, plain
from gangform.plan.serving import ServingPlan


def autoscalers(plan: ServingPlan) -> Iterator[Manifest]:
    """One autoscaler for each workload that has bounds."""
    for workload in plan.workloads:
        scaling = workload.role.scaling
        if scaling is None:
            continue
        yield {
            "apiVersion": core.AUTOSCALING,
            "kind": "HorizontalPodAutoscaler",
            "metadata": metadata(workload.role, plan.namespace, workload.name),
            "spec": {
                "scaleTargetRef": {
                    "apiVersion": workload.form.api_version,
                    "kind": workload.form.kind,
                    "name": workload.name,
                },
                "minReplicas": scaling.lowest,
                "maxReplicas": scaling.highest,
                "metrics": [
                    {
                        "type": "External",
                        "external": {
                            "metric": {
                                "name": scaling.metric,
                                "selector": {"matchLabels": dict(scaling.selector)},
                            },
                            "target": {
                                "type": "AverageValue",
                                "averageValue": f"{scaling.target}",
                            },
                        },
                    }
                ],
                "behavior": {
                    "scaleUp": {
                        "stabilizationWindowSeconds": plain(scaling.up_window),
                        "selectPolicy": "Max",
                        "policies": [
                            {
                                "type": "Pods",
                                "value": scaling.step,
                                "periodSeconds": plain(scaling.up_period),
                            }
                        ],
                    },
                    "scaleDown": {
                        "stabilizationWindowSeconds": plain(scaling.down_window),
                        "selectPolicy": "Max",
                        "policies": [
                            {
                                "type": "Pods",
                                "value": scaling.step,
                                "periodSeconds": plain(scaling.down_period),
                            }
                        ],
                    },
                },
            },
        }
