"""When somebody is told: waiting times derived from the cold start, and the labels the cluster selects rules by.

What depends on how long a group takes to start is derived from it: a limit shorter than a load is an alarm at every
start. What says that nothing serves does not wait for that (`observability §2`).
"""

from collections.abc import Mapping
from typing import NamedTuple

from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults, Defaults
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.plan.startup import StartupPlan
from gangform.units import Seconds


class MonitoringPlan(NamedTuple):
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
    quiet_window: Seconds
    """A rollout counts as stalled when nothing has moved for so long."""
    rebuild_window: Seconds
    """In how long the rebuilds of a group are counted."""
    no_signal_after: Seconds
    """How long the signal of an autoscaler may be absent: before the first leader answers there is none."""
    limits: AlertDefaults
    """The waiting times that no start decides."""


@formula("worst cold start + margin", source="observability §2")
def not_ready_after(worst: Seconds, margin: Seconds) -> Seconds:
    """A group that is only starting must not alarm."""
    return Seconds(worst + margin)


@formula("max(30m, worst cold start + margin)", source="observability §1.7")
def quiet_window(least: Seconds, starting: Seconds) -> Seconds:
    """Between a group's new pods and its readiness no counter moves, however well the rollout goes."""
    return max(least, starting)


@formula("max(1h, 3 x startup budget)", source="observability §1.7")
def rebuild_window(least: Seconds, starts: int, budget: Seconds) -> Seconds:
    """Long enough to see three lives of a leader that dies at the end of each start."""
    return max(least, Seconds(starts * budget))


@formula("max(15m, worst cold start + margin)", source="observability §3.5")
def no_signal_after(least: Seconds, starting: Seconds) -> Seconds:
    """The only leader exports nothing while it loads."""
    return max(least, starting)


def derive(
    serving: Serving, cluster: Cluster, startup: StartupPlan, defaults: Defaults
) -> MonitoringPlan:
    """Thresholds and labels."""
    monitoring, limits = cluster.monitoring, defaults.alerts
    starting = not_ready_after(startup.worst, limits.not_ready_margin)
    return MonitoringPlan(
        enabled=monitoring.enabled,
        labels=monitoring.labels,
        job=monitoring.kube_state_metrics_job,
        runbook_base=monitoring.runbook_base,
        not_ready_after=starting,
        pending_after=limits.pending
        if serving.pending_alert_after is None
        else serving.pending_alert_after,
        quiet_window=quiet_window(limits.quiet_window, starting),
        rebuild_window=rebuild_window(limits.rebuild_window, limits.rebuild_starts, startup.budget),
        no_signal_after=no_signal_after(limits.blind, starting),
        limits=limits,
    )
