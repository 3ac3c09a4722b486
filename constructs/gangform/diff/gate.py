"""What is not done by accident: deleting all groups of a serving and making them anew."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from gangform.apis.effects import Outcome
from gangform.diff.record import Price
from gangform.diff.words import said
from gangform.findings import DocumentPath, Finding, Severity, declare

RECREATES = declare(
    "recreates-groups",
    "A change deletes all groups of a serving and makes them anew, which nobody has allowed",
    Severity.BREAKS,
    "issue 5, the price of a change; lab E4; lws §2c",
)


def not_allowed(prices: Iterable[Price], allowed: Collection[str]) -> Iterator[Finding]:
    """A finding for every workload that is made anew and is not among the names that may be, new name or old."""
    for price in prices:
        if price.role != "workload" or price.outcome is not Outcome.RECREATES:
            continue
        key, former = price.key, price.former
        names = {key.name, former.name if former else key.name}
        if names & set(allowed):
            continue
        back = "keep what it was" if former else "take the change back"
        yield Finding(
            code=RECREATES,
            at=DocumentPath(key.kind, key.namespace, key.name, ()),
            what=f"the change {said(price)}",
            fix=f"{back}, or give `--allow-recreate {key.name}` where an outage is meant",
            seen={"name": key.name},
        )
