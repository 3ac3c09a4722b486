"""Alerts on what only the objects of controllers say, where kube-state-metrics is configured to show them.

A LeaderWorkerSet's conditions and the generation that its controller has seen are in no stock series
(`observability §1.5`, §1.8). Where the configuration that they need is missing, they are all silent, which looks like
health: so that is an alert too, once for a cluster.
"""

from collections.abc import Iterator, Sequence

from gangform.apis import alerting
from gangform.apis import state_metrics as api
from gangform.apis.alerting import Alert
from gangform.apis.promql import boxed, equal, one_of, selector
from gangform.plan.cluster import ClusterPlan
from gangform.plan.monitoring import STATE_METRICS_FILE, STATE_METRICS_MISSING
from gangform.plan.serving import ServingPlan
from gangform.signals.queries import GroupSets
from gangform.signals.replicas import sets_of

LAGGING = "ServingControllerLagging"
BLOCKED = "ServingRolloutBlockedOnCapacity"
MISSING = STATE_METRICS_MISSING

NAMES = (LAGGING, BLOCKED, MISSING)
"""Every alert of this source."""


def alerts(plan: ServingPlan) -> Iterator[Alert]:
    """Those on one serving; none for a kind that is no set, since stock metrics say all of it."""
    watch = plan.monitoring
    if not watch.states or not plan.choice.form.can.makes_stateful_sets:
        return
    who = f"{plan.name} in namespace {{{{ $labels.namespace }}}}"
    sets = sets_of(plan)
    if not plan.lead.rollout.partition:
        # A held canary is a rollout that never ends, and a pod that waits then belongs to no update.
        yield Alert(
            name=BLOCKED,
            expr=_blocked(sets, watch.limits.blocked),
            for_=watch.limits.blocked,
            severity="warning",
            summary="A rollout waits for room.",
            description=f"{{{{ $value }}}} of the pods of {who} had no node for {watch.limits.blocked} in the middle "
            "of a rollout, and no group became ready meanwhile: the new group finds no quota, no nodes or no domain "
            "that holds it.",
        )
    if api.SETS_OBSERVED in watch.states:
        yield Alert(
            name=LAGGING,
            expr=_lagging(sets),
            for_=watch.limits.lagging,
            severity="warning",
            summary="The controller of a set has not seen its last change.",
            description=f"LeaderWorkerSet {{{{ $labels.leaderworkerset }}}} of {who} has been at generation "
            f"{{{{ $value }}}} for {watch.limits.lagging}, and its controller has not seen that: no change, no scaling "
            "and no rebuild of a group happens.",
        )


def _sets(sets: GroupSets, series: str, *matchers: str) -> str:
    own = one_of("leaderworkerset", sets.names)
    return f"max by (namespace, leaderworkerset) ({sets.exporter.select(series, own, *matchers)})"


def _blocked(sets: GroupSets, quiet: int) -> str:
    """Pods that wait, while a set is being updated and no group of it gets ready."""
    updating = _sets(sets, api.SETS_CONDITION, equal("condition", "UpdateInProgress"))
    own = one_of("leaderworkerset", sets.names)
    ready = sets.exporter.select(api.SETS_READY, own)
    moves = f"max by (namespace) (changes({ready}[{quiet}])) == 0"
    return (
        f"{boxed(sets.waiting)}\nand on (namespace)\n({updating} == 1)\n"
        f"and on (namespace)\n({moves})"
    )


def _lagging(sets: GroupSets) -> str:
    """Sets whose controller has not seen the last generation."""
    made, seen = _sets(sets, api.SETS_GENERATION), _sets(sets, api.SETS_OBSERVED)
    return f"{made}\n!= on (namespace, leaderworkerset)\n{seen}"


def missing(plan: ClusterPlan) -> Iterator[Alert]:
    """The configuration is not there, although objects are that it would show. Stock series say that they are."""
    runs = [
        one
        for one in plan.servings
        if one.monitoring.states and one.choice.form.can.makes_stateful_sets
    ]
    if not runs or not plan.cluster.monitoring.enabled:
        return
    limits = plan.defaults.alerts
    parts = list(_absent(runs, plan))
    if not parts:
        return
    yield Alert(
        name=MISSING,
        expr="\nor\n".join(boxed(part) for part in parts),
        for_=limits.missing,
        severity="warning",
        summary="kube-state-metrics does not show objects that alerts read.",
        description=f"kube-state-metrics has shown no {{{{ $labels.{api.KIND_LABEL} }}}} for {limits.missing}, "
        f"although there are groups: it does not run with {STATE_METRICS_FILE} or may not list the kind, and every "
        "alert on admission, blocked rollouts and lagging controllers is silent.",
    )


def _absent(runs: Sequence[ServingPlan], plan: ClusterPlan) -> Iterator[str]:
    """For each kind that an alert reads: it is not shown, and something else shows that there must be some."""
    job = equal("job", plan.cluster.monitoring.kube_state_metrics_job)
    read = "\n".join(alert.expr for one in runs for alert in one.monitoring.admission_alerts)
    spaces = one_of("namespace", sorted({one.namespace for one in runs}))
    names = sorted({workload.name for one in runs for workload in one.workloads})
    for kind in api.declared(plan.cluster.versions.releases):
        created = kind.series(kind.metrics[0])
        if kind.software == api.SETS.software:
            witness = selector(alerting.SET_WANTED, job, spaces, one_of("statefulset", names))
            there = f"count({witness})"
        elif any(kind.series(metric) in read for metric in kind.metrics):
            witness = selector(api.SETS_EXIST, job, spaces, one_of("leaderworkerset", names))
            there = f"count({witness} > 0)"
        else:
            continue
        gone = f"absent({selector(created, job, equal(api.KIND_LABEL, kind.kind))})"
        yield f"{gone}\nand on ()\n{there}"
