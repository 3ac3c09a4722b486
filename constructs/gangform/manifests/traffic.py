"""The Service of the leaders."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core
from gangform.documents.document import Manifest
from gangform.manifests.pod import metadata
from gangform.plan.serving import ServingPlan


def services(plan: ServingPlan) -> Iterator[Manifest]:
    """One Service for the leaders of all groups; only ready ones.

    `publishNotReadyAddresses: false` is not written: the server drops it, and a tool that compares texts would see
    a difference for ever (seen on a real control plane).
    """
    traffic = plan.traffic
    yield {
        "apiVersion": core.CORE,
        "kind": "Service",
        "metadata": metadata(plan.lead, plan.namespace, traffic.service),
        "spec": {
            "type": "ClusterIP",
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
