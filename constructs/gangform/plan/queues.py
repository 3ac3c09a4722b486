"""The queues of a cluster that are ours: whose groups wait in each, and what is told of it.

A queue is told of once, not by each serving that uses it, and in one object a queue, so that one bad rule takes no
other with it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gangform.admission.admission import backend
from gangform.apis.alerting import Alert
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults
from gangform.plan.figures import formula
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds


class QueuePlan(NamedTuple):
    """One queue."""

    backend: str
    name: str
    namespace: str
    """Where what we write about it lies: the first of the namespaces that use it."""
    servings: tuple[str, ...]
    alerts: tuple[Alert, ...]


@formula("the longest of those that wait in it", source="design §3 pendingAlertAfter")
def pending_after(each: Sequence[Seconds]) -> Seconds:
    """A queue does not tell whose groups wait, so nobody hears of it before the most patient serving would."""
    return max(each)


def derive(
    cluster: Cluster, servings: Sequence[ServingPlan], defaults: Defaults
) -> tuple[QueuePlan, ...]:
    """The queues that the foundation makes, by backend and name; none where others own them."""
    if cluster.foundation == "existing" or not cluster.monitoring.enabled:
        return ()
    return tuple(_queues(cluster, servings, defaults))


def _queues(
    cluster: Cluster, servings: Sequence[ServingPlan], defaults: Defaults
) -> Iterator[QueuePlan]:
    users: dict[tuple[str, str], list[ServingPlan]] = {}
    for plan in servings:
        if queue := plan.lead.demand.queue:
            users.setdefault((plan.serving.admission.backend, queue), []).append(plan)
    for (name, queue), plans in sorted(users.items(), key=lambda each: each[0]):
        patience = pending_after([plan.monitoring.pending_after for plan in plans])
        demands = [demand for plan in plans for demand in plan.demands]
        limits = defaults.alerts._replace(pending=patience)
        alerts = backend(name).queue_alerts(queue, demands, cluster, limits)
        if alerts:
            yield QueuePlan(
                backend=name,
                name=queue,
                namespace=min(plan.namespace for plan in plans),
                servings=tuple(sorted(plan.name for plan in plans)),
                alerts=tuple(alerts),
            )
