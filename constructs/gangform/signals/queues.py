"""Alerts of a whole cluster: on queues that are ours, and on what all its alerts stand on.

They stand in the chart of the foundation, once; a serving's own alerts stand in the serving's chart.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gangform.apis.alerting import Alert
from gangform.plan.cluster import ClusterPlan
from gangform.signals import states

NAMES = (
    "ServingGroupNotAdmitted",
    "ServingGroupEvicted",
    "QueuePending",
    "QueueUnadmittedByReason",
    "QueueAdmissionSlow",
    "QueueGroupsEvicted",
    "QueueAbsent",
)
"""Every alert that an admission backend gives, on a serving or a queue."""


class Watch(NamedTuple):
    """One object of rules about a cluster."""

    name: str
    """With a dot, which no name of a serving has."""
    namespace: str
    alerts: tuple[Alert, ...]


def watches(plan: ClusterPlan) -> Iterator[Watch]:
    """The rules of a cluster: an object for each of its queues, and one for kube-state-metrics' configuration."""
    for queue in plan.queues:
        yield Watch(f"{queue.backend}.{queue.name}", queue.namespace, queue.alerts)
    if alerts := tuple(states.missing(plan)):
        space = min(serving.namespace for serving in plan.servings)
        yield Watch("kube-state-metrics.objects", space, alerts)
