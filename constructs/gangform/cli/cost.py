"""What changing one value of the output costs: the price of a bundle in which it alone is another one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gangform.apis.consequences import table_of
from gangform.apis.effects import Effect, Outcome, Situation
from gangform.apis.versions import Versions
from gangform.apis.views import Documents
from gangform.diff.price import prices
from gangform.diff.record import Price
from gangform.diff.words import said
from gangform.documents.changes import Change
from gangform.documents.document import Document, Key, dig
from gangform.findings import Path
from gangform.trace.tree import ends, others, replaced
from gangform.units import Seconds

_NOTHING = "nothing by itself: the API server fills it in from another field"
_IDENTITY = (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace"))
_INSIDE: Mapping[Outcome, str] = {
    Outcome.NONE: "no restart",
    Outcome.IN_PLACE: "no restart; it holds at once",
    Outcome.ROLLS: "groups are replaced, as the rollout strategy says",
    Outcome.REFUSED: "refused",
    Outcome.RECREATES: "all groups are made anew",
}


def cost(
    documents: Sequence[Document],
    index: int,
    path: Path,
    versions: Versions,
    durations: Mapping[Key, Seconds],
) -> list[dict[str, Any]]:
    """What another value at a path does, once for a larger and once for a smaller one where that differs."""
    document = documents[index]
    if path in _IDENTITY:
        return [{"does": "it is another object then: this one is deleted, and the other one made"}]
    found: dict[str, dict[str, Any]] = {}
    for number, other in enumerate(others(dig(document.manifest, *path))):
        changed = Document(
            manifest=replaced(document.manifest, path, other),
            builder=document.builder,
            origin=document.origin,
            wave=document.wave,
        )
        after = [*documents[:index], changed, *documents[index + 1 :]]
        priced = prices(
            Documents(documents), Documents(after), versions=versions, durations=durations
        )
        for price in priced:
            data = {"when": ("larger", "smaller")[number], **_priced(price)}
            found.setdefault(data["does"], data)
    costs = list(found.values())
    if not costs:
        empty = not isinstance(dig(document.manifest, *path), (str, int))
        return cost_inside(document, path, versions) if empty else [{"does": _NOTHING}]
    if len(costs) == 1:
        costs[0].pop("when")
    return costs


def _priced(price: Price) -> dict[str, Any]:
    data: dict[str, Any] = {"does": said(price), "outcome": price.outcome.value}
    if price.decisive:
        effect = price.decisive[0].consequence.effect
        data |= {"evidence": effect.evidence.value, "source": effect.source}
    return data


def cost_inside(document: Document, path: Path, versions: Versions) -> list[dict[str, Any]]:
    """The worst that another value inside of a map or list does."""
    worst = max(_effects(document, path, versions), key=lambda one: one.outcome.rank, default=None)
    if worst is None:
        return []
    by = f" {worst.by}" if worst.by else ""
    more = f" ({worst.says})" if worst.says else ""
    return [
        {
            "does": f"at worst: {_INSIDE[worst.outcome]}{by}{more}",
            "outcome": worst.outcome.value,
            "evidence": worst.evidence.value,
            "source": worst.source,
        }
    ]


def _effects(document: Document, path: Path, versions: Versions) -> Iterator[Effect]:
    table, manifest = table_of(document.key), document.manifest
    for one in ends(dig(manifest, *path), path):
        before = dig(manifest, *one)
        # An empty map or list can only get something in.
        for other in [{"x": "x"}, ["x"]] if before in ({}, []) else others(before):
            if one in _IDENTITY or type(before) is not type(other):
                continue
            after = replaced(manifest, one, other)
            change = Change(one, "changed", before, dig(after, *one))
            yield table.of(change, Situation(manifest, after, versions))
