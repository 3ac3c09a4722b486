"""What a dashboard shows of Volcano's queues, from the series of its controller manager (`observability §1.9`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.apis.panels import Panel, Query
from gangform.apis.promql import one_of

_STATES = {
    "pending": "Pending",
    "inqueue": "Inqueue",
    "running": "Running",
    "unknown": "Unknown",
}


def panels(demands: Sequence[Demand]) -> Iterator[Panel]:
    """PodGroups by state."""
    queues = sorted({demand.queue for demand in demands if demand.queue})
    if not queues:
        return
    mine = f"{{{one_of('queue_name', queues)}}}"
    yield Panel(
        "PodGroups, by queue and state",
        "Pending waits for quota. Inqueue has it and lacks nodes, or a place where the whole group fits. Unknown runs "
        "with fewer pods than it needs.",
        tuple(
            Query(
                f"max by (queue_name) (volcano_queue_pod_group_{state}_count{mine})",
                f"{{{{queue_name}}}} {said}",
            )
            for state, said in _STATES.items()
        ),
        width=24,
    )
