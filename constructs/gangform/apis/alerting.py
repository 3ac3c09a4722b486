"""What an alert is, and the series of stock kube-state-metrics that alerts of ours read.

A rule on a series that nobody exports is silent for ever, and looks like health; so the names stand here once, and a
test holds them against the table of what exporters export. None needs a label allowlist or a CustomResourceState
(`observability §1.2`).
"""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

from gangform.units import Seconds

METRICS_PATH = "/metrics"
"""Where exporters and engines alike answer a scrape (`engines §4`)."""


def series_label(key: str) -> str:
    """The label of a series that a pod label becomes: `app.kubernetes.io/name` is `app_kubernetes_io_name`.

    The Prometheus operator replaces every character that a label name may not have (`observability §1.4`).
    """
    return re.sub("[^a-zA-Z0-9_]", "_", key)


AlertSeverity = Literal["critical", "warning", "info"]
"""Who hears of it, as kube-prometheus routes it: `critical` pages somebody."""


PERCENT = "{{ $value | humanizePercentage }}"
"""A share, in an alert's words: 0.0512 is `5.12%`."""
ROUNDED = '{{ $value | printf "%.0f" }}'
"""A count that was divided or extrapolated: 21.333333333333332 is `21`."""


class Alert(NamedTuple):
    """One alerting rule, as data."""

    name: str
    """CamelCase, with a component before the fault: `ServingGroupsNotReady`. The runbook is called like it."""
    expr: str
    """PromQL; an alert fires for each series that it returns."""
    severity: AlertSeverity
    summary: str
    """What is wrong, in one sentence without values."""
    description: str
    """Who it is, how much, and what it means, with the labels and the value of the series."""
    for_: Seconds | None = None
    """How long it must hold; `None`: one evaluation is enough, since the query looks back by itself."""
    runbook_url: str | None = None
    labels: Mapping[str, str] = MappingProxyType({})
    """Labels beside the severity. Without a label that tells servings apart, two that fire in one namespace would be
    one alert to Alertmanager, since the queries keep little more than the namespace."""


class Recording(NamedTuple):
    """One recording rule, as data."""

    record: str
    """`level:metric:operations`, as Prometheus' own rules are called (`observability §2`)."""
    expr: str
    labels: Mapping[str, str] = MappingProxyType({})


UP = "up"
"""1 where the last scrape of a target answered, 0 where it failed; nothing where Prometheus knows no such target."""


def monitor_job(namespace: str, name: str) -> str:
    """The job of what a PodMonitor without a `jobLabel` scrapes.

    The operator also writes `namespace`, `pod`, `container` and `endpoint` (prometheus-operator, `promcfg.go`).
    """
    return f"{namespace}/{name}"


POD_READY = "kube_pod_status_ready"
POD_PHASE = "kube_pod_status_phase"
POD_INFO = "kube_pod_info"
POD_CREATED = "kube_pod_created"
"""A pod of a StatefulSet keeps its name when it is made anew, and gets another uid."""

SET_WANTED = "kube_statefulset_replicas"
"""Of the leader set of a LeaderWorkerSet: groups wanted, surge included (`observability §1.2`)."""
SET_READY = "kube_statefulset_status_replicas_ready"
SET_UPDATED = "kube_statefulset_status_replicas_updated"
SET_CURRENT_REVISION = "kube_statefulset_status_current_revision"
SET_UPDATE_REVISION = "kube_statefulset_status_update_revision"

DEPLOYMENT_WANTED = "kube_deployment_spec_replicas"
DEPLOYMENT_PODS = "kube_deployment_status_replicas"
"""Pods of every revision, surge included."""
DEPLOYMENT_READY = "kube_deployment_status_replicas_ready"
DEPLOYMENT_UPDATED = "kube_deployment_status_replicas_updated"

SLICE = "kube_endpointslice_info"
"""Slices are exported without a flag from kube-state-metrics 2.18 only (read in its releases), with a namespace from
2.11: a query must tell "none is ready" from "none is exported"."""
SLICE_ENDPOINTS = "kube_endpointslice_endpoints"
"""One series an address: dual stack has two a pod. It has no Service's name; slices are called after theirs."""
SLICE_SUFFIX = "[a-z0-9]{5}"
"""What the API server appends to `<service>-` for the name of an EndpointSlice, as a pattern; a longer base is cut."""

POD_REQUESTS = "kube_pod_container_resource_requests"
"""One series a container and resource, with the node where the pod has one; finished pods have theirs too."""

NODE_UNSCHEDULABLE = "kube_node_spec_unschedulable"
NODE_CONDITION = "kube_node_status_condition"
NODE_OFFERS = "kube_node_status_allocatable"
NODE_LABELS = "kube_node_labels"
"""Carries the labels of an allowlist and no others: without `--metric-labels-allowlist=nodes=[…]` no label at all."""


def resource_label(resource: str) -> str:
    """The value of `resource` for an extended resource: `nvidia.com/gpu` is `nvidia_com_gpu`."""
    return series_label(resource)


def node_label(key: str) -> str:
    """The label of `kube_node_labels` that a node label becomes: in snake case, after `label_`."""
    return "label_" + re.sub("([a-z0-9])([A-Z])", r"\1_\2", series_label(key)).lower()


SCALER_WISH = "kube_horizontalpodautoscaler_status_desired_replicas"
SCALER_MAXIMUM = "kube_horizontalpodautoscaler_spec_max_replicas"
SCALER_CONDITION = "kube_horizontalpodautoscaler_status_condition"

BUDGET_ALLOWED = "kube_poddisruptionbudget_status_pod_disruptions_allowed"
BUDGET_HEALTHY = "kube_poddisruptionbudget_status_current_healthy"
BUDGET_DESIRED = "kube_poddisruptionbudget_status_desired_healthy"
BUDGET_EXPECTED = "kube_poddisruptionbudget_status_expected_pods"

ALERTS = "ALERTS"
"""What Prometheus itself says of each alert that is pending or fires, with the alert's labels and `alertstate`."""
