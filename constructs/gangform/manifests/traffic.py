"""The Service of the leaders."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core
from gangform.documents.document import Manifest
from gangform.manifests.pod import metadata
from gangform.plan.serving import ServingPlan


def services(plan: ServingPlan) -> Iterator[Manifest]:
    """One Service for the leaders of all groups; only ready ones."""
    traffic = plan.traffic
    yield {
        "apiVersion": core.CORE,
        "kind": "Service",
        "metadata": metadata(plan.lead, plan.namespace, traffic.service),
        "spec": {
            "type": "ClusterIP",
            "publishNotReadyAddresses": False,
            "selector": dict(traffic.leaders),
            "ports": [
                {
                    "name": traffic.port_name,
                    "port": traffic.port,
                    "targetPort": traffic.port_name,
                }
            ],
        },
    }
