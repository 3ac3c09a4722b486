"""What is told of groups that wait in a queue, in the same words whoever keeps it.

A backend knows which series say it, and why a group waits; what such an alert is called, how long it is silent and what
nobody tells is the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand, shown
from gangform.apis.alerting import Alert
from gangform.findings import Prerequisite, some
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults

_NAMED = 6
"""Servings that an alert lists; the page of the queue has all of them."""


def whose(label: str, demands: Sequence[Demand]) -> str:
    """A queue, by the label that names it, and whose groups wait in it."""
    names = sorted({demand.serving for demand in demands})
    return f"queue {{{{ $labels.{label} }}}} ({some(names, _NAMED)})"


def not_admitted(expr: str, limits: AlertDefaults, *, which: str) -> Alert:
    """A group of one serving is not let in. `which`: the group in words, and why it waits."""
    return Alert(
        name="ServingGroupNotAdmitted",
        expr=expr,
        for_=limits.pending,
        severity="warning",
        summary="A group is not admitted.",
        description=which,
    )


def pending(expr: str, queue: str, limits: AlertDefaults, *, why: str) -> Alert:
    """Groups wait in a queue; `why` is what keeps them."""
    return Alert(
        name="QueuePending",
        expr=expr,
        for_=limits.pending,
        severity="warning",
        summary="Groups wait in a queue.",
        description=f"Groups wait in {queue}, {{{{ $value }}}} now, and for {limits.pending} there was always "
        f"one: {why}.",
    )


ABSENT = "QueueAbsent"


def absent(series: str, queue: str, limits: AlertDefaults, *, by: str, metrics: str) -> Alert:
    """Nobody says anything of a queue. `by` is who would; `metrics`, what may not be collected."""
    return Alert(
        name=ABSENT,
        expr=f"absent({series})",
        for_=limits.missing,
        severity="warning",
        summary="A queue is absent.",
        description=f"{by} has said nothing of {queue} for {limits.missing}: it was never applied, was deleted, or "
        f"{metrics} are not collected, and then no other alert on it can fire.",
    )


def untold(demand: Demand, cluster: Cluster, *, counted: str, kind: str) -> Iterator[str]:
    """What nothing that the cluster exports tells. `counted`: what stock metrics count; `kind`: objects of groups."""
    if not cluster.monitoring.enabled:
        return
    if shown([demand], cluster) is None:
        yield (
            f"Stock metrics count {counted} groups by queue: which group of which serving it is shows where "
            "kube-state-metrics is `configured`"
        )
    elif not demand.runs_groups:
        yield f"{kind} of single pods have names that nobody knows beforehand: no alert tells whose wait"
    if cluster.foundation == "existing":
        yield "The queue is others', and so are alerts on it"


def watched(demands: Sequence[Demand], cluster: Cluster) -> bool:
    """Whether alerts of ours read the metrics of who keeps the queues of these demands."""
    return cluster.monitoring.enabled and cluster.foundation != "existing" and bool(demands)


def collected(what: str, *, check: str) -> Prerequisite:
    """These metrics have to be collected."""
    return Prerequisite(
        what=what, check=check, without=f"{ABSENT} fires, and no other alert on queues can"
    )
