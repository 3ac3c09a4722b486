"""The configuration that kube-state-metrics needs to show objects of controllers, as values for its Helm chart.

It is no object of Kubernetes, so it does not lie among manifests. Only kinds of software that the cluster declares are
in it, in the version that the declared release serves: a kind in two versions would be counted twice.
"""

from collections.abc import Iterator
from typing import Any

from gangform.apis import leaderworkerset as lws
from gangform.apis import state_metrics as api
from gangform.documents.emit import emit
from gangform.plan.cluster import ClusterPlan
from gangform.plan.monitoring import STATE_METRICS_FILE

HEAD = """\
# Values for the Helm chart of kube-state-metrics, so that it shows the objects that alerts of {cluster} read:
# helm upgrade --install kube-state-metrics prometheus-community/kube-state-metrics --reuse-values -f {file}
# As a part of kube-prometheus-stack the same stands one level deeper, below `kube-state-metrics:`. Without Helm,
# `config` is the file of --custom-resource-state-config-file, and `extraRules` goes into the exporter's ClusterRole.
# A list that your own values have already is replaced by this one, not joined with it.
# No alert needs labels of pods. For queries of your own by group add, below `metricLabelsAllowlist`:
#   - pods=[{labels}]
"""


def asked(plan: ClusterPlan) -> bool:
    """Whether the cluster's kube-state-metrics is to be configured."""
    watch = plan.cluster.monitoring
    return watch.enabled and watch.state_metrics == "configured"


def files(plan: ClusterPlan) -> Iterator[tuple[str, str]]:
    """Path below the cluster's folder, and text; nothing where kube-state-metrics is a stock one."""
    kinds = tuple(api.declared(plan.cluster.versions.releases))
    if not asked(plan) or not kinds:
        return
    labels = ",".join((lws.NAME, lws.GROUP_INDEX, lws.WORKER_INDEX))
    head = HEAD.format(cluster=plan.cluster.name, file=STATE_METRICS_FILE, labels=labels)
    yield STATE_METRICS_FILE, head + emit([_labels(plan) | values(kinds)]).decode()


def _labels(plan: ClusterPlan) -> dict[str, Any]:
    """Labels of nodes that alerts count free nodes and domains by."""
    keys = plan.cluster.monitoring.node_labels
    return {"metricLabelsAllowlist": [f"nodes=[{','.join(keys)}]"]} if keys else {}


def values(kinds: tuple[api.StateKind, ...]) -> dict[str, Any]:
    """Values of the chart: the configuration, and what the exporter must be allowed to list for it."""
    rules = [
        {"apiGroups": [group], "resources": [resource], "verbs": ["list", "watch"]}
        for group, resource in (
            api.DEFINITIONS,
            *((kind.api_version.partition("/")[0], kind.plural) for kind in kinds),
        )
    ]
    config = {"kind": api.CONFIGURATION, "spec": {"resources": [_resource(one) for one in kinds]}}
    return {
        "rbac": {"extraRules": rules},
        "customResourceState": {"enabled": True, "config": config},
    }


def _resource(kind: api.StateKind) -> dict[str, Any]:
    group, _, version = kind.api_version.partition("/")
    return {
        "groupVersionKind": {"group": group, "version": version, "kind": kind.kind},
        "metricNamePrefix": kind.prefix,
        "errorLogV": api.QUIET,
        "labelsFromPath": {label: [*path] for label, path in kind.labels.items()},
        "metrics": [_metric(one) for one in kind.metrics],
    }


def _metric(metric: api.StateMetric) -> dict[str, Any]:
    found: dict[str, Any] = {"path": [*metric.path]}
    if metric.value_from:
        found["valueFrom"] = [*metric.value_from]
    if metric.nil_is_zero:
        found["nilIsZero"] = True
    if metric.labels:
        found["labelsFromPath"] = {label: [*path] for label, path in metric.labels.items()}
    each = {"type": "Gauge", "gauge": found}
    if metric.states:
        found |= {"labelName": metric.label, "list": [*metric.states]}
        each = {"type": "StateSet", "stateSet": found}
    return {"name": metric.name, "help": metric.help, "each": each}
