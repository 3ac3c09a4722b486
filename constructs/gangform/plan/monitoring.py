"""When somebody is told: waiting times derived from the cold start, and the labels the cluster selects rules by.

What depends on how long a group takes to start is derived from it: a limit shorter than a load is an alarm at every
start. What says that nothing serves does not wait for that (`observability §2`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gangform.admission.admission import Demand
from gangform.apis import state_metrics
from gangform.apis.alerting import Alert
from gangform.findings import Finding, InputPath, Prerequisite, Severity, declare
from gangform.inputs.cluster import Cluster, Library
from gangform.inputs.defaults import AlertDefaults, Defaults
from gangform.inputs.serving import Serving
from gangform.plan import room
from gangform.plan.figures import formula
from gangform.plan.resolve import Resolved
from gangform.plan.role import RolePlan
from gangform.units import Seconds

DASHBOARD_BLIND = declare(
    "dashboard-without-rules",
    "A dashboard counts groups by what PrometheusRules record, and none are made",
    Severity.DEGRADES,
    "design §4 Monitoring",
)
OFF = declare(
    "monitoring-is-off",
    "What comes with alerts is asked for, and none are made",
    Severity.STYLE,
    "design §4 Monitoring",
)

STATE_METRICS_FILE = "kube-state-metrics.yaml"
"""The exporter's configuration, among what comes with a cluster and is no manifest."""
STATE_METRICS_MISSING = "StateMetricsMissing"
"""The alert that says it is not there."""


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
    mismatch_after: Seconds
    """How long Service and groups may disagree before a warning."""
    room: room.RoomPlan
    """How free places for a group are counted."""
    no_signal_after: Seconds
    """How long the signal of an autoscaler may be absent: before the first leader answers there is none."""
    limits: AlertDefaults
    """The waiting times that no start decides."""
    states: frozenset[str]
    """Series on objects of controllers that the cluster's kube-state-metrics is configured to make; none of a stock
    one."""
    admission_alerts: tuple[Alert, ...]
    """What the admission backend tells of this serving."""
    engine_alerts: tuple[Alert, ...] = ()
    """What the engine's own series tell."""
    blind_spots: tuple[str, ...] = ()
    """What those series do not show, in words."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What no alert tells."""
        return (*room.remarks(self.room), *self.blind_spots) if self.enabled else ()


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


@formula("grace period + limit", source="observability §6")
def mismatch_after(grace: Seconds, limit: Seconds) -> Seconds:
    """A leader that drains is Ready and no endpoint until it is gone."""
    return Seconds(grace + limit)


def states(cluster: Cluster) -> frozenset[str]:
    """The series that the configuration of a cluster's kube-state-metrics makes; none where it is a stock one."""
    if cluster.monitoring.state_metrics == "stock":
        return frozenset()
    kinds = state_metrics.declared(cluster.versions.releases)
    return frozenset(kind.series(metric) for kind in kinds for metric in kind.metrics)


def derive(
    serving: Serving,
    cluster: Cluster,
    lead: RolePlan,
    demands: Sequence[Demand],
    found: Resolved,
    library: Library,
    defaults: Defaults,
) -> MonitoringPlan:
    """Thresholds and labels, and what the admission backend tells; `lead` is what all groups have in common."""
    monitoring, limits = cluster.monitoring, defaults.alerts
    starting = not_ready_after(lead.startup.worst, limits.not_ready_margin)
    pending = serving.pending_alert_after
    pending = limits.pending if pending is None else pending
    return MonitoringPlan(
        enabled=monitoring.enabled,
        labels=monitoring.labels,
        job=monitoring.kube_state_metrics_job,
        runbook_base=monitoring.runbook_base,
        not_ready_after=starting,
        pending_after=pending,
        quiet_window=quiet_window(limits.quiet_window, starting),
        rebuild_window=rebuild_window(
            limits.rebuild_window, limits.rebuild_starts, lead.startup.budget
        ),
        mismatch_after=mismatch_after(lead.launch.grace, limits.mismatch),
        room=room.derive(serving, cluster, lead, library),
        no_signal_after=no_signal_after(limits.blind, starting),
        limits=limits,
        states=states(cluster),
        admission_alerts=tuple(
            found.admission.alerts(demands, cluster, limits._replace(pending=pending))
        ),
    )


def prerequisites(cluster: Cluster) -> Iterator[Prerequisite]:
    """What has to be set in the cluster for the alerts that read objects of controllers."""
    if not cluster.monitoring.enabled or not states(cluster):
        return
    kinds = ", ".join(f"{kind.kind}s" for kind in state_metrics.declared(cluster.versions.releases))
    yield Prerequisite(
        what=f"kube-state-metrics runs with out/{cluster.name}/{STATE_METRICS_FILE}, so that it shows {kinds}",
        check="kubectl get --raw /api/v1/namespaces/NAMESPACE/services/kube-state-metrics:8080/proxy/metrics | "
        f"grep -c '^{state_metrics.SETS_CREATED}'",
        without=f"{STATE_METRICS_MISSING} fires; alerts on groups that are not admitted, on rollouts that are blocked "
        "and on a controller that lags stay silent",
    )


def check(cluster: Cluster) -> Iterator[Finding]:
    """What is asked for and needs alerts, where there are none."""
    asked = cluster.monitoring
    if asked.enabled:
        return
    at = ("clusters", cluster.name, "monitoring")
    if asked.dashboard is not None:
        yield Finding(
            code=DASHBOARD_BLIND,
            at=InputPath((*at, "dashboard")),
            what="a dashboard is asked for and `monitoring.enabled` is false: its groups and GPUs stay empty",
            fix="remove `enabled: false`, or the dashboard",
        )
    for field, wanted, what in (
        ("runbookBase", asked.runbook_base is not None, "pages"),
        ("stateMetrics", asked.state_metrics != "stock", f"a {STATE_METRICS_FILE}"),
    ):
        if wanted:
            yield Finding(
                code=OFF,
                at=InputPath((*at, field)),
                what=f"`{field}` asks for {what} and `monitoring.enabled` is false: nothing is written for it",
                fix=f"remove `enabled: false`, or `{field}`",
            )
