"""Autoscalers that take a set to zero: something else than the set itself must bring it back."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.views import Documents
from gangform.documents.document import Document, Manifest, mapping, sequence, text, whole
from gangform.engines.exports import engine_alone, engine_series
from gangform.findings import Path, Severity, declare
from gangform.rules.rule import Context, Fault, rule

NEVER = declare(
    "scale-to-zero-never-wakes",
    "An autoscaler takes a set to zero and waits for a series that only the set's own pods export",
    Severity.BREAKS,
    "observability §3.5; engines §4",
)

_KEDA: Final = "ScaledObject"
_PROMETHEUS: Final = "prometheus"
"""What reads stored series; other triggers may know of requests themselves."""


def _zero(spec: Manifest) -> str:
    """The field by which an autoscaler goes to zero; empty where it does not."""
    least = whole(spec, "minReplicaCount")
    if "minReplicas" in spec:
        return ""  # Meant for a minimum, in the words of another kind: said by `scaling`.
    if whole(spec, "idleReplicaCount") == 0:
        return "idleReplicaCount"
    return "minReplicaCount" if not least else ""


@rule(NEVER, kinds=("HorizontalPodAutoscaler", _KEDA))
def scale_to_zero_never_wakes(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What brings a set back from zero is seen while there is none of it."""
    spec = mapping(subject.manifest, "spec")
    if subject.kind == _KEDA:
        field = _zero(spec)
        asked = [
            text(each, "metadata", "query") if text(each, "type") == _PROMETHEUS else ""
            for each in sequence(spec, "triggers")
        ]
    else:
        field = "minReplicas" if whole(spec, "minReplicas") == 0 else ""
        asked = [
            text(mapping(metric, text(metric, "type").lower()), "metric", "name")
            for metric in sequence(spec, "metrics")
        ]
    if field and asked and all(map(engine_alone, asked)):
        path: Path = ("spec", field)
        found = engine_series(asked[0])
        yield Fault(
            path=path,
            what=f"{field} is 0, and with no pod left nothing exports {found[0] if found else asked[0]}",
            fix=f"write {field}: 1, or add a trigger on requests as a gateway or router counts them"
            if field != "idleReplicaCount"
            else "remove idleReplicaCount, or add a trigger on requests as a gateway counts them",
        )
