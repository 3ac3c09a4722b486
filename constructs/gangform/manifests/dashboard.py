"""ConfigMap with the dashboard of a cluster, where the sidecar of Grafana finds it."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core
from gangform.apis.sidecar import FOLDER_ANNOTATION
from gangform.documents.document import Manifest, Node
from gangform.plan.cluster import ClusterPlan


def dashboards(plan: ClusterPlan) -> Iterator[Manifest]:
    """One ConfigMap where a dashboard is asked for and something runs; none otherwise."""
    asked = plan.cluster.monitoring.dashboard
    if asked is None or not plan.servings:
        return
    from gangform.signals import grafana
    from gangform.signals.dashboard import dashboard

    made = dashboard(plan)
    metadata: dict[str, Node] = {
        "name": made.uid,
        "namespace": asked.namespace,
        "labels": dict(asked.labels),
    }
    if asked.folder is not None:
        metadata["annotations"] = {FOLDER_ANNOTATION: asked.folder}
    yield {
        "apiVersion": core.CORE,
        "kind": "ConfigMap",
        "metadata": metadata,
        "data": {f"{made.uid}.json": grafana.text(made)},
    }
