"""What exporters export: series with their labels, and the record of an alert over them.

A rule on a series that nobody exports is silent for ever, and looks like health. So every series that a rule of ours
reads stands here, with the labels it really has; a test holds the rules against this table. Nothing here needs a
configuration of kube-state-metrics: no label allowlist, no CustomResourceState (`observability §1.2`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from gangform.apis.versions import Release
from gangform.units import Seconds

METRICS_PATH = "/metrics"
"""Where exporters and engines alike answer a scrape (`engines §4`)."""

AlertSeverity = Literal["critical", "warning", "info"]
"""Who hears of it, as kube-prometheus routes it: `critical` pages somebody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Alert:
    """One alerting rule, as data."""

    name: str
    """CamelCase, with a component before the fault: `ServingGroupsNotReady`. The runbook is called like it."""
    expr: str
    """PromQL; an alert fires for each series that it returns."""
    for_: Seconds | None = None
    """How long it must hold; `None`: one evaluation is enough, since the query looks back by itself."""
    severity: AlertSeverity
    summary: str
    """What is wrong, in one sentence without values."""
    description: str
    """Who it is, how much, and what it means, with the labels and the value of the series."""
    runbook_url: str | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    """Labels beside the severity. Without a label that tells servings apart, two that fire in one namespace would be
    one alert to Alertmanager, since the queries keep little more than the namespace."""


class Series(NamedTuple):
    """One series of an exporter."""

    name: str
    labels: tuple[str, ...]
    """The labels of the object; what a scrape adds (`job`, `instance`) is not listed."""
    since: Release = Release(2, 0)
    """First release that exports it with these labels and no flag."""

    def __str__(self) -> str:
        """The name, as a query writes it."""
        return self.name


# ── kube-state-metrics, read at 2.20 ─────────────────────────────────────────────────────────────

POD_READY = Series("kube_pod_status_ready", ("namespace", "pod", "uid", "condition"))
POD_PHASE = Series("kube_pod_status_phase", ("namespace", "pod", "uid", "phase"))
POD_CREATED = Series("kube_pod_created", ("namespace", "pod", "uid"))
"""Creation time. A pod of a StatefulSet keeps its name when it is made anew, and gets another uid."""
POD_INFO = Series("kube_pod_info", ("namespace", "pod", "uid", "node", "created_by_kind"))

_SET = ("namespace", "statefulset")
SET_WANTED = Series("kube_statefulset_replicas", _SET)
"""Of the leader set of a LeaderWorkerSet: groups wanted, surge included (`observability §1.2`)."""
SET_READY = Series("kube_statefulset_status_replicas_ready", _SET)
SET_UPDATED = Series("kube_statefulset_status_replicas_updated", _SET)
SET_CURRENT_REVISION = Series("kube_statefulset_status_current_revision", (*_SET, "revision"))
SET_UPDATE_REVISION = Series("kube_statefulset_status_update_revision", (*_SET, "revision"))

_DEPLOYMENT = ("namespace", "deployment")
DEPLOYMENT_WANTED = Series("kube_deployment_spec_replicas", _DEPLOYMENT)
DEPLOYMENT_PODS = Series("kube_deployment_status_replicas", _DEPLOYMENT)
"""Pods of every revision, surge included."""
DEPLOYMENT_READY = Series("kube_deployment_status_replicas_ready", _DEPLOYMENT)
DEPLOYMENT_UPDATED = Series("kube_deployment_status_replicas_updated", _DEPLOYMENT)

SLICE = Series(
    "kube_endpointslice_info", ("namespace", "endpointslice", "addresstype"), Release(2, 18)
)
"""Slices are exported without a flag from 2.18 only: a query must tell "none is ready" from "none is exported"."""
SLICE_ENDPOINTS = Series(
    "kube_endpointslice_endpoints",
    ("namespace", "endpointslice", "address", "ready", "serving", "terminating", "targetref_name"),
    Release(2, 18),
)
"""One series an address: dual stack has two a pod. It has no Service's name; slices are called after theirs."""

NODE_UNSCHEDULABLE = Series("kube_node_spec_unschedulable", ("node",))

_SCALER = ("namespace", "horizontalpodautoscaler")
SCALER_WISH = Series("kube_horizontalpodautoscaler_status_desired_replicas", _SCALER)
SCALER_MAXIMUM = Series("kube_horizontalpodautoscaler_spec_max_replicas", _SCALER)
SCALER_CONDITION = Series(
    "kube_horizontalpodautoscaler_status_condition", (*_SCALER, "condition", "status")
)

KUBE_STATE_METRICS: Mapping[str, Series] = {
    series.name: series
    for series in (
        POD_READY,
        POD_PHASE,
        POD_CREATED,
        POD_INFO,
        SET_WANTED,
        SET_READY,
        SET_UPDATED,
        SET_CURRENT_REVISION,
        SET_UPDATE_REVISION,
        DEPLOYMENT_WANTED,
        DEPLOYMENT_PODS,
        DEPLOYMENT_READY,
        DEPLOYMENT_UPDATED,
        SLICE,
        SLICE_ENDPOINTS,
        NODE_UNSCHEDULABLE,
        SCALER_WISH,
        SCALER_MAXIMUM,
        SCALER_CONDITION,
    )
}
"""Every series that rules of ours may read, by name."""

SLICE_SUFFIX = "[a-z0-9]{5}"
"""What the API server appends to `<service>-` for the name of an EndpointSlice, as a pattern."""
