"""What a dashboard shows of Volcano's queues, from the series of its controller manager (`observability §1.9`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.apis import queue_metrics as api
from gangform.apis.panels import Panel, Query
from gangform.apis.promql import one_of, selector

_STATES = {
    api.VOLCANO_PENDING: "Pending",
    api.VOLCANO_INQUEUE: "Inqueue",
    api.VOLCANO_RUNNING: "Running",
    api.VOLCANO_UNKNOWN: "Unknown",
}


def panels(demands: Sequence[Demand]) -> Iterator[Panel]:
    """PodGroups by state."""
    queues = sorted({demand.queue for demand in demands if demand.queue})
    if not queues:
        return
    mine = one_of("queue_name", queues)
    yield Panel(
        "PodGroups, by queue and state",
        "Pending waits for quota. Inqueue has it and lacks nodes, or a place where the whole group fits. Unknown ran "
        "and has fewer pods than it needs.",
        tuple(
            Query(f"max by (queue_name) ({selector(series, mine)})", f"{{{{queue_name}}}} {said}")
            for series, said in _STATES.items()
        ),
        width=24,
    )
