"""A rollout that would never start: what the status of a living set says, and no manifest does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gangform.apis.effects import Outcome
from gangform.apis.leaderworkerset import REPAIRS
from gangform.apis.versions import Versions
from gangform.apis.views import Documents
from gangform.diff.record import Price
from gangform.documents.document import Document, dig, whole
from gangform.findings import DocumentPath, Finding, Severity, counted, declare
from gangform.rules.joins import base_groups, is_set, rollout

STUCK = declare(
    "rollout-waits-for-ready-groups",
    "Before LeaderWorkerSet 0.7 a change of broken groups waits for a ready one, and none is",
    Severity.DEGRADES,
    "cases r19; lws §10 (lws#488, #567)",
)


def stuck(
    living: Iterable[Document],
    ours: Iterable[Document],
    prices: Iterable[Price],
    versions: Versions | None,
) -> Iterator[Finding]:
    """Sets whose rollout waits for ever, judged by what runs.

    Args:
        living: The objects as the server gives them, status included.
        ours: What is to be applied.
        prices: What applying it does.
        versions: The releases of the cluster.
    """
    lws = None if versions is None else versions.lws
    if lws is None or lws >= REPAIRS:
        return
    rolls = {price.key for price in prices if price.outcome is Outcome.ROLLS}
    wanted = Documents(ours)
    runs = {one.key: one for one in living}
    for group in wanted.groups():
        key = group.document.key
        if key not in rolls or key not in runs or not is_set(group):
            continue
        now = runs[key].manifest
        there, ready = whole(now, "status", "replicas"), whole(now, "status", "readyReplicas")
        surge, gone = rollout(group, base_groups(wanted, group))
        # The server leaves a number of 0 out; without a status nobody counted.
        if not surge or gone or not there or ready or dig(now, "status") is None:
            continue
        yield Finding(
            code=STUCK,
            at=DocumentPath(key.kind, key.namespace, key.name, ("status", "readyReplicas")),
            what=f"0 of {counted(there, 'group')} ready under LeaderWorkerSet {lws}, with maxSurge {surge} and "
            "maxUnavailable 0: 1 step waits for ever",
            fix=f"delete the leaders of the broken groups, or upgrade to {REPAIRS}",
            seen={"ready": "0", "groups": str(there), "runs": str(lws)},
        )
