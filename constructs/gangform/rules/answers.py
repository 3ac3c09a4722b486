"""Autoscalers whose source of metrics does not answer: what then happens to groups."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis import keda
from gangform.apis.views import Documents
from gangform.documents.document import Document, mapping, sequence, text
from gangform.findings import Severity, declare
from gangform.rules.joins import gpus, is_set, scaler_of
from gangform.rules.rule import Context, Fault, rule

NO_DATA = declare(
    "scale-in-without-data",
    "KEDA reads no data as 0 unless it is told not to: a scrape that fails takes groups away",
    Severity.STYLE,
    "observability §3.5; KEDA: Prometheus scaler, ignoreNullValues",
)

_ALWAYS: Final = re.compile(r"\bor\b[^|]*\bvector\s*\(|\babsent(?:_over_time)?\s*\(", re.IGNORECASE)
"""In a query: it has a result whatever is there, so that 0 is meant."""
_NO: Final = ("false", "f", "0")


@rule(NO_DATA, kinds=(keda.KIND,))
def scale_in_without_data(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A query without a result is a fault, and no zero."""
    scaler = scaler_of(subject)
    groups = [
        one
        for one in documents.groups_of(scaler.target)
        if (is_set(one) and one.size > 1) or gpus(documents, one.leader)
    ]
    if not groups or scaler.least >= scaler.most:
        return
    for index, trigger in enumerate(sequence(subject.manifest, "spec", "triggers")):
        asked = mapping(trigger, "metadata")
        if text(trigger, "type") != keda.PROMETHEUS or _ALWAYS.search(text(asked, "query")):
            continue
        if text(asked, "ignoreNullValues").lower() not in _NO:
            yield Fault(
                path=("spec", "triggers", index, "metadata"),
                what=f"without a result this query counts as 0, and groups of {groups[0].title} go until "
                f"{scaler.least} are left",
                fix='write ignoreNullValues: "false", and a fallback with behavior: currentReplicasIfHigher',
            )
