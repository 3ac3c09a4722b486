"""What Volcano's metrics tell of gangs that wait.

Volcano counts PodGroups by queue and phase. A gang that finds no room is Pending, or taken into the queue and not
placed; both wait. Which serving's it is the PodGroups say, where kube-state-metrics shows them. Nothing says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand, shown
from gangform.apis import queue_metrics as api
from gangform.apis.alerting import Alert
from gangform.apis.promql import equal, like, one_of, selector
from gangform.apis.state_metrics import GROUPS_PHASE
from gangform.findings import Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults

NOT_ADMITTED = "ServingGroupNotAdmitted"
PENDING = "QueuePending"
ABSENT = "QueueAbsent"

_WAITS = "Pending|Inqueue|Unknown"
"""Phases of a gang that is not wholly placed; Unknown: a part of it runs."""


def alerts(
    demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults, *, by: str
) -> Iterator[Alert]:
    """PodGroups of one serving that wait; `by` is the label that has the names of its workloads."""
    exporter = shown(demands, cluster)
    if exporter is None or not demands[0].runs_groups:
        return
    names = sorted(demand.workload for demand in demands)
    waits = exporter.select(GROUPS_PHASE, one_of(by, names), like("phase", _WAITS))
    yield Alert(
        name=NOT_ADMITTED,
        expr=f"max by (namespace, podgroup) ({waits}) == 1",
        for_=limits.pending,
        severity="warning",
        summary="A group is not admitted.",
        description=f"PodGroup {{{{ $labels.podgroup }}}} of {demands[0].serving} in namespace "
        f"{{{{ $labels.namespace }}}} has waited for {limits.pending}: one group finds no room for all of its pods at "
        "once.",
    )


def queue_alerts(
    queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
) -> Iterator[Alert]:
    """A Queue of ours: gangs that wait."""
    mine = equal("queue_name", queue)
    names = ", ".join(dict.fromkeys(sorted(demand.serving for demand in demands)))
    whose = f"queue {{{{ $labels.queue_name }}}} ({names})"
    counts = [
        f"max by (queue_name) ({selector(series, mine)})"
        for series in (api.VOLCANO_PENDING, api.VOLCANO_INQUEUE)
    ]
    yield Alert(
        name=PENDING,
        expr="\n+ on (queue_name)\n".join(counts).join(("(\n", "\n) > 0")),
        for_=limits.pending,
        severity="warning",
        summary="Groups wait in a queue.",
        description=f"Groups wait in {whose}, {{{{ $value }}}} now, and for {limits.pending} there was always one: it "
        "finds no room for all of its pods at once.",
    )
    yield Alert(
        name=ABSENT,
        expr=f"absent({selector(api.VOLCANO_PENDING, mine)})",
        for_=limits.missing,
        severity="warning",
        summary="A queue is absent.",
        description=f"Volcano has said nothing of {whose} for {limits.missing}: it was never applied, was deleted, or "
        "the metrics of its controller manager are not collected, and then no other alert on it can fire.",
    )


def unseen(demand: Demand, cluster: Cluster) -> Iterator[str]:
    """What nothing that the cluster exports tells."""
    if not cluster.monitoring.enabled:
        return
    if shown([demand], cluster) is None:
        yield (
            "Stock metrics count waiting groups by queue: which group of which serving it is shows where "
            "kube-state-metrics is `configured`"
        )
    elif not demand.runs_groups:
        yield "Volcano's PodGroups of single pods have names that nobody knows beforehand: no alert tells whose wait"
    if cluster.foundation == "existing":
        yield "The queue is others', and so are alerts on it"
    else:
        yield "Volcano has no metric that says why a group waits"


def scraped(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    """The controller manager's metrics have to be made and collected, where alerts read them."""
    if cluster.monitoring.enabled and cluster.foundation != "existing" and demands:
        yield Prerequisite(
            what="Volcano's controller manager runs with --enable-metrics, and Prometheus collects its metrics",
            check="kubectl -n volcano-system get deployment volcano-controllers -o yaml; "
            "kubectl get servicemonitors,podmonitors -A",
            without=f"{ABSENT} fires, and no other alert on queues can",
        )
