"""Fields that LWS has since 0.11: limits of restarts, groups with random keys, gangs of Kubernetes itself.

Where `lws §12` leaves open on which level a field stands, both are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis import volcano
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import Node, dig, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import queue_label
from gangform.rules.joins import SETS, annotation, over_groups, own_workers, templates
from gangform.rules.rule import Context, Fault, rule

RESTARTS = declare(
    "restart-limit-refused",
    "A limit of restarts that the webhook refuses",
    Severity.BREAKS,
    "lws §12 (KEP-820)",
)
HASH = declare(
    "hash-identity-refused",
    "Groups with random keys have no order: claims per pod and a partition are refused",
    Severity.BREAKS,
    "lws §12 (KEP-898)",
)
GANG = declare(
    "native-gang-refused",
    "A gang of Kubernetes itself that the webhook refuses",
    Severity.BREAKS,
    "lws §12; volcano §8 (KEP-666)",
)
TWO = declare(
    "native-gang-beside-another",
    "A set asks Kubernetes for a gang and waits in a queue or for a gang scheduler as well",
    Severity.DEGRADES,
    "kueue §2.6; volcano §8",
)

_BASE: Final = "leaderWorkerTemplate"
_RECREATES: Final = ("", lws.AFTER_START, lws.ON_POD_RESTART)
_PARTITION: Final = ("rolloutStrategy", "rollingUpdateConfiguration", "partition")


def _either(group: GroupView, name: str) -> tuple[Path, Node] | None:
    """A field of the set or of its template, whichever is written."""
    for way in ((name,), (_BASE, name)):
        value = group.part(*way)
        if value is not None:
            return (*group.at, *way), value
    return None


@rule(RESTARTS, kinds=SETS)
@over_groups
def restart_limit_refused(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Restarts are limited where a restart takes the group, by bounds in order."""
    policy = group.word(_BASE, "restartPolicy")
    for name in ("maxGroupRestarts", "restartBackoff"):
        found = _either(group, name)
        if found is not None and policy not in _RECREATES:
            yield Fault(
                path=found[0],
                what=f"{name} with restartPolicy {policy}, which recreates no group",
                fix=f"write {lws.AFTER_START}, or remove it",
            )
    backoff = _either(group, "restartBackoff")
    if backoff is not None:
        first, last = whole(backoff[1], "baseSeconds"), whole(backoff[1], "capSeconds")
        low = any(each is not None and each < 1 for each in (first, last))
        if low or (first is not None and last is not None and first > last):
            yield Fault(
                path=backoff[0],
                what=f"baseSeconds {first} and capSeconds {last}: both are above 0, the base not above the cap",
                fix="write baseSeconds: 10 and capSeconds: 300",
            )


@rule(HASH, kinds=SETS)
@over_groups
def hash_identity_refused(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Groups without an order ask for nothing that goes by index."""
    if group.word("groupIdentity") != "Hash":
        return
    if sequence(group.part(_BASE, "volumeClaimTemplates")):
        yield Fault(
            path=(*group.at, _BASE, "volumeClaimTemplates"),
            what="volumeClaimTemplates with groupIdentity Hash",
            fix="write groupIdentity: Ordinal, or use a claim made beforehand",
        )
    if group.part(*_PARTITION):
        yield Fault(
            path=(*group.at, *_PARTITION),
            what="a partition with groupIdentity Hash",
            fix="write groupIdentity: Ordinal, or remove the partition",
        )


@rule(GANG, kinds=SETS)
@over_groups
def native_gang_refused(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A gang of Kubernetes holds pods that start together, at one priority, without another placement."""
    scheduling = group.part("scheduling")
    if scheduling is None:
        return
    if annotation(group, lws.EXCLUSIVE_TOPOLOGY):
        yield Fault(
            path=(*group.own, "annotations", lws.EXCLUSIVE_TOPOLOGY),
            what="exclusive topology beside spec.scheduling",
            fix="remove one of the two",
        )
    if scheduling == {} and group.word("startupPolicy") == lws.LEADER_READY:
        yield Fault(
            path=(*group.at, "startupPolicy"),
            what=f"{lws.LEADER_READY}, and the gang holds leader and workers",
            fix=f"write {lws.LEADER_CREATED}",
        )
    workers = own_workers(group)
    classes = [text(pod.spec, "priorityClassName") for pod in templates(group)]
    if workers is not None and len(set(classes)) > 1:
        yield Fault(
            path=(*workers.path, "spec", "priorityClassName"),
            what=f"priorityClassName is `{classes[0]}` on the leader and `{classes[1]}` on the workers",
            fix="write the same class into both templates",
        )
    for pod in templates(group):
        if dig(pod.spec, "schedulingGroup") is not None:
            yield Fault(
                path=(*pod.path, "spec", "schedulingGroup"),
                what="a template names a group, and spec.scheduling makes one",
                fix="remove it",
            )


@rule(TWO, kinds=SETS)
@over_groups
def native_gang_beside_another(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """One of them decides when a group starts."""
    if group.part("scheduling") is None:
        return
    scheduler = text(group.leader.spec, "schedulerName")
    other = f"the Kueue queue {queue_label(group)}" if queue_label(group) else ""
    if scheduler == volcano.SCHEDULER:
        other = f"schedulerName {scheduler}"
    if other:
        yield Fault(
            path=(*group.at, "scheduling"),
            what=f"spec.scheduling beside {other}",
            fix="remove spec.scheduling, or the other",
        )
