"""What a server and its controllers write into an object beyond what was applied, so that it is no difference.

An apply leaves all of it alone: nobody who applies owns it (`observability §4.4`, `kueue §2.2`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from gangform.apis import kueue, leaderworkerset
from gangform.apis.places import as_map
from gangform.documents.document import Manifest, dig, mapping, sequence

_METADATA: Final = (
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "managedFields",
    "selfLink",
    "finalizers",
    "generateName",
)
_ANNOTATIONS: Final = (
    "kubectl.kubernetes.io/last-applied-configuration",
    "kubectl.kubernetes.io/restartedAt",
    "deployment.kubernetes.io/revision",
    "autoscaling.alpha.kubernetes.io/conditions",
    "autoscaling.alpha.kubernetes.io/current-metrics",
    "argocd.argoproj.io/tracking-id",
)
_BY_SERVER: Final = (
    ("spec", "clusterIP"),
    ("spec", "clusterIPs"),
    ("spec", "ipFamilies"),
    ("spec", "ipFamilyPolicy"),
    ("spec", "healthCheckNodePort"),
    ("spec", "replicas"),
)
"""Written by the server or an autoscaler where what was applied leaves them out."""
_TEMPLATES: Final = (
    leaderworkerset.LEADER_TEMPLATE,
    leaderworkerset.WORKER_TEMPLATE,
    ("spec", "template"),
)


def as_applied(living: Manifest, ours: Manifest) -> Manifest:
    """A living object without what nobody applied.

    Args:
        living: As the server gives it.
        ours: What is to be applied: what it says itself is never left out.
    """
    plain = as_map(living)
    plain.pop("status", None)
    metadata = plain.get("metadata")
    if isinstance(metadata, dict):
        for key in _METADATA:
            metadata.pop(key, None)
        _drop(metadata, "annotations", _ANNOTATIONS, dig(ours, "metadata", "annotations"))
    for way in _BY_SERVER:
        if dig(ours, *way) is None:
            _remove(plain, way)
    theirs = sequence(ours, "spec", "ports")
    for index, port in enumerate(sequence(plain, "spec", "ports")):
        if isinstance(port, dict) and "nodePort" not in mapping(dig(theirs, index)):
            port.pop("nodePort", None)
    for template in _TEMPLATES:
        inside = dig(plain, *template, "metadata")
        if isinstance(inside, dict):
            inside.pop("creationTimestamp", None)
            own = mapping(ours, *template, "metadata")
            marks = (*kueue.STAMPED_LABELS, kueue.MANAGED_LABEL)
            _drop(inside, "labels", marks, own.get("labels"))
            stamped = (*kueue.STAMPED_ANNOTATIONS, *_ANNOTATIONS)
            _drop(inside, "annotations", stamped, own.get("annotations"))
            for word in ("labels", "annotations"):
                if inside.get(word) == {} and word not in own:
                    del inside[word]
            if not inside and dig(ours, *template, "metadata") is None:
                _remove(plain, (*template, "metadata"))
    return plain


def _drop(parent: dict[str, Any], word: str, keys: Any, ours: Any) -> None:
    """Leave out entries of a map that ours does not have."""
    entries = parent.get(word)
    if isinstance(entries, dict):
        for key in keys:
            if not isinstance(ours, Mapping) or key not in ours:
                entries.pop(key, None)


def _remove(node: dict[str, Any], way: tuple[str, ...]) -> None:
    parent = dig(node, *way[:-1])
    if isinstance(parent, dict):
        parent.pop(way[-1], None)
