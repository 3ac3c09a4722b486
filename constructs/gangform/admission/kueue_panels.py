"""What a dashboard shows of Kueue's queues. A Workload is one group, and no series says of which set (`kueue §6`).

Queues are named where the foundation makes them; elsewhere a LocalQueue may lead to a ClusterQueue of any name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.apis import queue_metrics as api
from gangform.apis.panels import RATE, Panel, Query
from gangform.apis.promql import one_of, selector
from gangform.inputs.cluster import Cluster

_QUEUE = "{{cluster_queue}}"


def panels(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Panel]:
    """Groups that wait, and why where the release says it; groups that run; how long admission takes; evictions."""
    queues = sorted({demand.queue for demand in demands if demand.queue})
    named = cluster.foundation != "existing" and queues
    mine = (one_of("cluster_queue", queues),) if named else ()
    yield Panel(
        "Groups that wait, by queue",
        "Workloads without quota. `inadmissible` ones are looked at again only when something in the cluster changes.",
        (
            Query(
                f"max by (cluster_queue, status) ({selector(api.KUEUE_PENDING, *mine)})",
                f"{_QUEUE} {{{{status}}}}",
            ),
        ),
    )
    release = cluster.versions.releases.kueue
    if release is not None and api.KUEUE.has(api.KUEUE_UNADMITTED, release):
        keys = "cluster_queue, underlying_cause"
        yield Panel(
            "Why groups wait",
            "Workloads that are not admitted, by what keeps them.",
            (
                Query(
                    f"max by ({keys}) ({selector(api.KUEUE_UNADMITTED, *mine)})",
                    f"{_QUEUE} {{{{underlying_cause}}}}",
                ),
            ),
        )
    yield Panel(
        "Groups admitted, by queue",
        "Workloads that hold quota and may run, ready or not: a group that still loads is one of them.",
        (Query(f"max by (cluster_queue) ({selector(api.KUEUE_ADMITTED, *mine)})", _QUEUE),),
    )
    waits = f"increase({selector(f'{api.KUEUE_WAIT}_bucket', *mine)}[1h])"
    yield Panel(
        "Time to admission",
        "95 of 100 groups that were admitted had waited less. What still waits is not in it.",
        (
            Query(
                f"histogram_quantile(0.95, sum by (cluster_queue, le) ({waits}))",
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
                f"sum by (cluster_queue, reason) (rate({selector(api.KUEUE_EVICTED, *mine)}[{RATE}]))",
                f"{_QUEUE} {{{{reason}}}}",
            ),
        ),
        unit="cps",
    )
