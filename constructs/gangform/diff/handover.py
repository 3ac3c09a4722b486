"""From a fixed number of groups to an autoscaler, or from one to another: the order in which no group is lost.

An apply from which a field is gone takes it away where the same client wrote it: the server's default of one group
comes back, and all others are deleted before the autoscaler looks. So the number is handed over first (Kubernetes:
migrating Deployments to horizontal autoscaling, server-side apply: transferring ownership; `observability §3.6`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from gangform.apis.forms import GroupView
from gangform.apis.keys import SYNC_WAVE
from gangform.apis.views import Documents
from gangform.diff.units import Pair
from gangform.documents.document import Document, text
from gangform.rules.joins import scaler_for


def order(pair: Pair, before: Documents, after: Documents) -> tuple[str, ...]:
    """The steps, where a workload gets an autoscaler that is new; empty for any other change."""
    old, new = pair
    if old is None or new is None or old.key != new.key or old.sets or new.sets:
        return ()
    were = {group.at: group for group in old.groups}
    for group in new.groups:
        was, scaler = were.get(group.at), scaler_for(after, group)
        if was is None or scaler is None or group.replicas is not None:
            continue
        former = scaler_for(before, was)
        if former is not None and former.document.key != scaler.document.key:
            return _exchange(former.document, scaler.document)
        # One group is what the server's default leaves too; roles are handed over by their controller (`lws §6`).
        fixed = former is None and (was.replicas or 0) > 1
        if fixed and group.target == group.document.key:
            return tuple(_steps(group, was.replicas or 0, scaler.document))
    return ()


def _exchange(old: Document, new: Document) -> tuple[str, ...]:
    """Two autoscalers never scale one set: KEDA refuses a target that another one has (KEDA: admission webhook)."""
    return (
        f"delete {old.kind} {old.key.name}, with what GitOps would make it anew from; the number of groups stays",
        f"apply {new.kind} {new.key.name}",
    )


def _steps(group: GroupView, count: int, scaler: Document) -> Iterator[str]:
    key = group.document.key
    if text(group.document.manifest, "metadata", "annotations", SYNC_WAVE):
        ignored = {
            "group": key.group,
            "kind": key.kind,
            "namespace": key.namespace,
            "name": key.name,
            "jsonPointers": ["/spec/replicas"],
        }
        yield (
            f"in the Application, before this change is synced: ignoreDifferences: [{json.dumps(ignored)}] and "
            "syncOptions: [RespectIgnoreDifferences=true]; a sync then leaves the number as it is"
        )
        yield f"sync this change: {scaler.kind} {scaler.key.name} takes over at {count} groups"
        return
    yield f"apply {scaler.kind} {scaler.key.name} alone"
    resource = f"{key.kind.lower()}.{key.group}" if key.group else key.kind.lower()
    yield (
        f"where you apply client-side: `kubectl apply edit-last-applied {resource} -n {key.namespace} {key.name}`, and "
        "delete spec.replicas there"
    )
    shared = {
        "apiVersion": text(group.document.manifest, "apiVersion"),
        "kind": key.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
        "spec": {"replicas": count},
    }
    yield (
        f"where you apply server-side: `kubectl apply --server-side --field-manager=handover -f - <<< "
        f"'{json.dumps(shared)}'`, so that somebody keeps the number"
    )
    yield "apply the rest"
