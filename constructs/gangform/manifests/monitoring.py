"""PrometheusRule with the alerts of a serving, and the PodMonitor of its leaders."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gangform.apis import core
from gangform.apis.alerting import METRICS_PATH, Alert, Recording
from gangform.documents.document import Manifest, Node
from gangform.manifests.pod import metadata
from gangform.plan.cluster import ClusterPlan
from gangform.plan.serving import ServingPlan
from gangform.signals.alerts import alerts, linked
from gangform.signals.queues import watches
from gangform.signals.records import records


def rules(plan: ServingPlan) -> Iterator[Manifest]:
    """One PrometheusRule: an object with one bad rule is refused whole, so servings do not share any."""
    if not plan.monitoring.enabled:
        return
    head = metadata(plan.lead, plan.namespace, plan.name, labels=plan.monitoring.labels)
    yield _object(
        head,
        {
            f"{plan.name}.records": [recording(record) for record in records(plan)],
            f"{plan.name}.serving": [rule(alert) for alert in alerts(plan)],
        },
    )


def cluster_rules(plan: ClusterPlan) -> Iterator[Manifest]:
    """One PrometheusRule for each queue of ours, and one for what alerts stand on: the foundation's, no serving's."""
    watch = plan.cluster.monitoring
    for each in watches(plan):
        head: dict[str, Node] = {"name": each.name, "namespace": each.namespace}
        if watch.labels:
            head["labels"] = dict(sorted(watch.labels.items()))
        rules = [rule(linked(alert, watch.runbook_base)) for alert in each.alerts]
        yield _object(head, {each.name: rules})


def _object(head: Manifest, groups: Mapping[str, Sequence[Node]]) -> Manifest:
    return {
        "apiVersion": core.MONITORING,
        "kind": "PrometheusRule",
        "metadata": head,
        "spec": {
            "groups": [{"name": name, "rules": made} for name, made in groups.items()],
        },
    }


def recording(record: Recording) -> Manifest:
    """One recording rule."""
    return {"record": record.record, "expr": record.expr, "labels": dict(record.labels)}


def rule(alert: Alert) -> Manifest:
    """One alerting rule."""
    made: dict[str, Node] = {"alert": alert.name, "expr": alert.expr}
    if alert.for_ is not None:
        made["for"] = f"{alert.for_}"
    made["labels"] = dict(sorted({**alert.labels, "severity": alert.severity}.items()))
    annotations = {"summary": alert.summary, "description": alert.description}
    if alert.runbook_url is not None:
        annotations["runbook_url"] = alert.runbook_url
    made["annotations"] = annotations
    return made


def monitors(plan: ServingPlan) -> Iterator[Manifest]:
    """One PodMonitor for the leaders: a worker has no server, and would be down for ever.

    Labels that tell servings, sets and groups apart go over to every series.
    """
    if not plan.monitoring.enabled:
        return
    identity = plan.lead.identity
    selectors = identity.selectors
    # The keys are the same for every group.
    own = selectors.pods if selectors.group is None else selectors.group(identity.highest_index)
    yield {
        "apiVersion": core.MONITORING,
        "kind": "PodMonitor",
        "metadata": metadata(plan.lead, plan.namespace, plan.name, labels=plan.monitoring.labels),
        "spec": {
            "podTargetLabels": list(dict.fromkeys([*identity.pod_labels, *own])),
            "selector": {"matchLabels": dict(plan.traffic.leaders)},
            "podMetricsEndpoints": [{"port": plan.traffic.port_name, "path": METRICS_PATH}],
        },
    }
