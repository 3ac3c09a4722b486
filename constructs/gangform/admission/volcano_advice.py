"""Where to look when Volcano holds a gang back, and what not to do to it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.admission.advice import Advice, Look, namespaces, pattern
from gangform.apis import volcano as api

_GROUPS = f"podgroups.{api.GROUP}"


def advice(demands: Sequence[Demand], *, own: bool) -> Advice:
    """On demands of one serving, or of one queue; `own`: each set has a PodGroup of ours, called like it."""
    sets = [one for one in demands if one.runs_groups]
    placed = any(one.placement for one in sets) and own
    return Advice(
        waits="A group that Volcano holds back has `Pending` pods, all of them, and holds no GPU. Its PodGroup is "
        "`Pending` or `Inqueue`, and it is not always the one with the highest index.",
        groups=tuple(_groups(sets, own)),
        queue=(*_queue(demands), *_domains(placed)),
        cures=(
            "`queue resource quota insufficient`: give the queue more in Git, or another serving in it fewer groups.",
            "`pod group is not ready` or `tasks in gang unschedulable`: not enough GPUs are free at once"
            f"{' in one domain' if placed else ''}; free or add nodes.",
            "A leader alone, `Pending`, with no worker and no event: its queue does not exist. Create it, or correct "
            "`admission.queue`.",
        ),
        never=tuple(_never(sets, own)),
        never_queue=(
            "Do not close the queue to get GPUs: nothing that goes comes back meanwhile.",
        ),
    )


def _groups(sets: Sequence[Demand], own: bool) -> Iterator[Look]:
    for namespace in namespaces(sets):
        names = [one.workload for one in sets if one.namespace == namespace]
        # LWS calls the PodGroup of a group `<set>-<index>-<revision>` (`lab E8`).
        found = f"{pattern(names)}{'[[:space:]]' if own else '-[0-9]+-'}"
        yield Look(
            f"kubectl get {_GROUPS} -n {namespace} | grep -E '^(NAME|{found})'",
            "one line a group: `Running` is placed whole, all else waits",
        )
        yield Look(
            f"kubectl get events -n {namespace} --field-selector involvedObject.kind=PodGroup "
            "--sort-by=.lastTimestamp",
            "why a gang waits",
        )


def _queue(demands: Sequence[Demand]) -> Iterator[Look]:
    for queue in sorted({one.queue for one in demands if one.queue}):
        yield Look(
            f"kubectl describe queues.{api.GROUP} {queue}",
            "its state, what it may use and what it uses",
        )


def _domains(placed: bool) -> Iterator[Look]:
    if placed:
        yield Look(
            f"kubectl get hypernodes.{api.TOPOLOGY_GROUP}",
            "the domains that Volcano knows; without any of them a rack is silently not enforced",
        )


def _never(sets: Sequence[Demand], own: bool) -> Iterator[str]:
    if own:
        yield (
            "Do not delete or edit the PodGroup: it is in Git, and without it the pods are no gang and take what they "
            "find."
        )
        yield (
            "Do not apply the sets of all groups at once: all go down together, and one may hang with its leader alone."
        )
    elif sets:
        yield "Do not make or edit a PodGroup by hand: LeaderWorkerSet owns one for each group and revision."
