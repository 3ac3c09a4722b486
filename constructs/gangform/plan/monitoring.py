"""When somebody is told: waiting times derived from the cold start, and the labels the cluster selects rules by."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.plan.startup import StartupPlan
from gangform.units import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoringPlan:
    """What the alerts of a serving need beside its names."""

    enabled: bool
    labels: Mapping[str, str]
    """Labels that the cluster's Prometheus selects by."""
    job: str
    """Job name of kube-state-metrics."""
    runbook_base: str | None
    not_ready_after: Seconds
    """How long a group may be missing before a warning."""
    pending_after: Seconds
    """How long pods may wait for capacity before a warning."""


@formula("worst cold start + margin", source="observability §2")
def not_ready_after(worst: Seconds, margin: Seconds) -> Seconds:
    """A group that is only starting must not alarm."""
    return Seconds(worst + margin)


def derive(
    serving: Serving, cluster: Cluster, startup: StartupPlan, defaults: Defaults
) -> MonitoringPlan:
    """Thresholds and labels."""
    monitoring = cluster.monitoring
    return MonitoringPlan(
        enabled=monitoring.enabled,
        labels=monitoring.labels,
        job=monitoring.kube_state_metrics_job,
        runbook_base=monitoring.runbook_base,
        not_ready_after=not_ready_after(startup.worst, defaults.not_ready_margin),
        pending_after=serving.pending_alert_after or defaults.pending_alert,
    )
