"""What a dashboard shows of Kueue's queues. A Workload is one group, and no series says of which set (`kueue §6`).

Queues are named where the foundation makes them; elsewhere a LocalQueue may lead to a ClusterQueue of any name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.apis.panels import RATE, Panel, Query
from gangform.apis.promql import one_of
from gangform.inputs.cluster import Cluster

_QUEUE = "{{cluster_queue}}"


def panels(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Panel]:
    """Groups that wait, groups that run, how long admission takes, and who was evicted."""
    queues = sorted({demand.queue for demand in demands if demand.queue})
    ours = cluster.foundation != "existing" and queues
    mine = f"{{{one_of('cluster_queue', queues)}}}" if ours else ""
    yield Panel(
        "Groups that wait, by queue",
        "Workloads without quota. `inadmissible` ones are looked at again only when something in the cluster changes.",
        (
            Query(
                f"max by (cluster_queue, status) (kueue_pending_workloads{mine})",
                f"{_QUEUE} {{{{status}}}}",
            ),
        ),
    )
    yield Panel(
        "Groups admitted, by queue",
        "Workloads that hold quota and may run. Ready or not: a group that still loads is one of them.",
        (
            Query(
                f"max by (cluster_queue) (kueue_admitted_active_workloads{mine})",
                f"{_QUEUE} admitted",
            ),
        ),
    )
    waits = f"kueue_admission_wait_time_seconds_bucket{mine}"
    yield Panel(
        "Time to admission",
        "95 of 100 groups that were admitted had waited less. What still waits is not in it.",
        (
            Query(
                f"histogram_quantile(0.95, sum by (cluster_queue, le) (increase({waits}[1h])))",
                f"{_QUEUE} 95 %",
            ),
        ),
        unit="s",
    )
    yield Panel(
        "Groups evicted",
        "Workloads that lost their quota, a second, by reason. No disruption budget stops that.",
        (
            Query(
                f"sum by (cluster_queue, reason) (rate(kueue_evicted_workloads_total{mine}[{RATE}]))",
                f"{_QUEUE} {{{{reason}}}}",
            ),
        ),
        unit="cps",
    )
