"""Budgets as the API takes them; what they mean for groups is said by `disruption`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis.views import Documents
from gangform.documents.document import Document, dig
from gangform.findings import Severity, declare
from gangform.rules.rule import Context, Fault, rule

REFUSED = declare(
    "budget-refused",
    "A budget that the API refuses",
    Severity.BREAKS,
    "Kubernetes: validation of PodDisruptionBudget",
)

_FIELDS: Final = ("minAvailable", "maxUnavailable")
_SHARE: Final = re.compile(r"[0-9]{1,3}%")


@rule(REFUSED, kinds=("PodDisruptionBudget",))
def budget_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A budget has one amount, a number of pods or a share of them."""
    amounts = {name: dig(subject.manifest, "spec", name) for name in _FIELDS}
    if None not in amounts.values():
        yield Fault(
            path=("spec", "minAvailable"),
            what="minAvailable and maxUnavailable exclude each other",
            fix="keep maxUnavailable: 1",
        )
    for name, value in amounts.items():
        negative = isinstance(value, int) and value < 0
        share = isinstance(value, str) and (not _SHARE.fullmatch(value) or int(value[:-1]) > 100)
        if negative or share:
            yield Fault(
                path=("spec", name),
                what=f"{name} `{value}` is neither a number of pods nor a share up to 100%",
                fix=f"write {name}: 1, without quotes",
            )
