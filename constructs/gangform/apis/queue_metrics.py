"""Series that Kueue and Volcano export about their queues, by release, with their labels.

They know queues and not sets: which serving a waiting group is of stands in no label. Kueue's ServiceMonitor does not
set `honorLabels`, so that the namespace of a LocalQueue arrives as `exported_namespace`; Volcano's come from the
controller manager, where it runs with `--enable-metrics` (its chart says so, its binary does not by itself).

Sources: `pkg/metrics/metrics.go` and `pkg/features/kube_features.go` of Kueue at v0.15.0, v0.16.0, v0.17.0, v0.18.1,
v0.19.0, v0.19.2 and 0.20-devel; `pkg/controllers/metrics/queue.go` of Volcano at v1.11.0 to v1.16.0-alpha.1, and
`pkg/scheduler/metrics/queue.go` of v1.9.0 and v1.10.0 (`observability §1.9`).
"""

from collections.abc import Mapping
from typing import Final

from gangform.apis import kueue, volcano
from gangform.apis.versions import Evidence, Release, Row, Table
from gangform.units import Seconds

KUEUE_PENDING: Final = "kueue_pending_workloads"
KUEUE_LOCAL_PENDING: Final = "kueue_local_queue_pending_workloads"
KUEUE_UNADMITTED: Final = "kueue_unadmitted_workloads"
KUEUE_WAIT: Final = "kueue_admission_wait_time_seconds"
"""A histogram that is observed when a group is admitted: one that waits for ever never shows in it."""
KUEUE_EVICTED: Final = "kueue_evicted_workloads_total"

KUEUE: Final = Table(
    "Kueue",
    kueue.NEWEST,
    [
        Row(KUEUE_PENDING, kueue.OLDEST, Evidence.CODE, "metrics.go"),
        Row(KUEUE_LOCAL_PENDING, Release(0, 17), Evidence.CODE, "gate LocalQueueMetrics is on"),
        Row(
            KUEUE_UNADMITTED,
            Release(0, 20),
            Evidence.CODE,
            "gate UnadmittedWorkloadsObservability is on; in v0.19.0 to v0.19.2 it exists and is off",
        ),
        Row(KUEUE_WAIT, kueue.OLDEST, Evidence.CODE, "metrics.go"),
        Row(KUEUE_EVICTED, kueue.OLDEST, Evidence.CODE, "metrics.go"),
    ],
)
"""Which series a release exports without a setting."""
UNADMITTED_GATE: Final = "UnadmittedWorkloadsObservability"
UNADMITTED_EXISTS: Final = Release(0, 19)
"""From when the gate can be switched on."""

KUEUE_LABELS: Final[Mapping[str, frozenset[str]]] = {
    name: frozenset({*labels.split(), "replica_role"})
    for name, labels in {
        KUEUE_PENDING: "cluster_queue status",
        KUEUE_LOCAL_PENDING: "name namespace exported_namespace status",
        KUEUE_UNADMITTED: "cluster_queue reason underlying_cause",
        f"{KUEUE_WAIT}_bucket": "cluster_queue priority_class le",
        f"{KUEUE_WAIT}_count": "cluster_queue priority_class",
        f"{KUEUE_WAIT}_sum": "cluster_queue priority_class",
        KUEUE_EVICTED: "cluster_queue reason underlying_cause priority_class",
    }.items()
}
"""Labels of each series. With several replicas each reports gauges under its `replica_role` (0.16 on)."""

WAIT_BOUNDS: Final = tuple(Seconds(5 * 2**power) for power in range(12))
"""Bounds of the waiting time's buckets that are whole seconds and that every release has: 5 s to 10240 s."""

LASTING_CAUSES: Final = (
    "ExceedsMaxQuota",
    "Misconfigured",
    "NoMatchingFlavor",
    "Suspended",
    "TopologyPlacementFailed",
)
"""Values of `underlying_cause` that waiting alone does not end where groups serve and never finish. The label `reason`
says no more than that there is no reservation (`getUnadmittedWorkloadStatus`, v0.19.2)."""

VOLCANO_PENDING: Final = "volcano_queue_pod_group_pending_count"
VOLCANO_INQUEUE: Final = "volcano_queue_pod_group_inqueue_count"
"""Where a gang that finds no room usually sits: taken into the queue and not placed (`observability §1.9`)."""

VOLCANO: Final = Table(
    "Volcano",
    volcano.NEWEST,
    [
        Row(name, Release(1, 9), Evidence.CODE, "queue.go")
        for name in (VOLCANO_PENDING, VOLCANO_INQUEUE)
    ],
)
VOLCANO_LABELS: Final[Mapping[str, frozenset[str]]] = dict.fromkeys(
    (VOLCANO_PENDING, VOLCANO_INQUEUE), frozenset({"queue_name"})
)


def bucket_bound(bound: Seconds) -> str:
    """A pattern for the label `le` of a bucket: Prometheus 2 keeps `640` as it is scraped, 3 makes `640.0` of it."""
    return rf"{int(bound)}(\.0)?"
