"""What Volcano's metrics tell of gangs that wait.

Volcano counts PodGroups by queue and phase. A gang that finds no room is Pending, or taken into the queue and not
placed; both wait. Which serving's it is the PodGroups say, where kube-state-metrics shows them. Nothing says why.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission import waiting
from gangform.admission.admission import Demand, shown
from gangform.apis import queue_metrics as api
from gangform.apis.alerting import Alert
from gangform.apis.promql import equal, like, one_of, selector
from gangform.apis.state_metrics import GROUPS_PHASE
from gangform.findings import Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults

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
    yield waiting.not_admitted(
        f"max by (namespace, podgroup) ({waits}) == 1",
        limits,
        which=f"PodGroup {{{{ $labels.podgroup }}}} of {demands[0].serving} in namespace {{{{ $labels.namespace }}}} "
        f"has waited for {limits.pending}: one group finds no room for all of its pods at once.",
    )


def queue_alerts(
    queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
) -> Iterator[Alert]:
    """A Queue of ours: gangs that wait."""
    mine = equal("queue_name", queue)
    whose = waiting.whose("queue_name", demands)
    counts = [
        f"max by (queue_name) ({selector(series, mine)})"
        for series in (api.VOLCANO_PENDING, api.VOLCANO_INQUEUE)
    ]
    yield waiting.pending(
        "\n+ on (queue_name)\n".join(counts).join(("(\n", "\n) > 0")),
        whose,
        limits,
        why="it finds no room for all of its pods at once",
    )
    yield waiting.absent(
        selector(api.VOLCANO_PENDING, mine),
        whose,
        limits,
        by="Volcano",
        metrics="the metrics of its controller manager",
    )


def unseen(demand: Demand, cluster: Cluster) -> Iterator[str]:
    """What nothing that the cluster exports tells."""
    yield from waiting.untold(demand, cluster, counted="waiting", kind="Volcano's PodGroups")
    if waiting.watched([demand], cluster):
        yield "Volcano has no metric that says why a group waits"


def scraped(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    """The controller manager's metrics have to be made and collected, where alerts read them."""
    if waiting.watched(demands, cluster):
        yield waiting.collected(
            "Volcano's controller manager runs with --enable-metrics, and Prometheus collects its metrics",
            check="kubectl -n volcano-system get deployment volcano-controllers -o yaml; "
            "kubectl get servicemonitors,podmonitors -A",
        )
