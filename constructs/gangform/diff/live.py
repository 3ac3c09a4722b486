"""What runs in a cluster against what would be applied: adopted as it is, or at which price."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from gangform.apis.effects import Outcome
from gangform.apis.living import as_applied
from gangform.apis.views import Documents
from gangform.bundle import Bundle
from gangform.diff.avoid import Kept, disturbing, keep
from gangform.diff.folders import Known
from gangform.diff.price import prices
from gangform.diff.record import Field, Price
from gangform.diff.units import runs_pods
from gangform.documents.document import Document, Key
from gangform.findings import some
from gangform.rules.joins import owned

_NAMED = 8
"""Workloads of a hint that are called by name."""


class Adoption(NamedTuple):
    """How what runs and what is applied fit together."""

    prices: tuple[Price, ...]
    """Of every object that is in both and differs, and of what is new."""
    adopted: tuple[Key, ...]
    """Workloads that are taken over without a restart."""
    kept: Mapping[Key, Kept]
    """How to keep those that are not."""
    hints: tuple[str, ...]
    """Where the names do not fit."""
    servings: Mapping[Key, str]
    """The serving that an object is of."""
    strange: tuple[Document, ...]
    """What runs and is not ours."""


def adopt(bundles: Sequence[Bundle], living: Iterable[Document], known: Known) -> Adoption:
    """Compare the documents of one cluster with what runs there."""
    mine = {document.key: (made, document) for made in bundles for document in made.documents}
    runs = {one.key: one for one in living if not owned(one)}
    both = {
        key: Document(manifest=as_applied(one.manifest, mine[key][1].manifest), builder="")
        for key, one in runs.items()
        if key in mine
    }
    found = prices(
        Documents(both.values()),
        Documents(document for _, document in mine.values()),
        versions=known.versions,
        durations=known.durations,
    )
    asked = {key._replace(name="") for key in runs}
    # What nobody asked the cluster for may well be there.
    found = [
        _without_metadata(price)
        for price in found
        if price.news != "added" or price.key._replace(name="") in asked
    ]
    kept: dict[Key, Kept] = {}
    for price in found:
        for key in dict.fromkeys(one.key for one in price.fields):
            wanted = disturbing(one for one in price.fields if one.key == key)
            if wanted:
                kept[key] = keep(*mine[key], both[key], wanted)
    disturbed = {one.key for price in found for one in disturbing(price.fields)}
    workloads = [key for key, (_, document) in mine.items() if runs_pods(document)]
    return Adoption(
        prices=tuple(price for price in found if price.fields or price.news != "changed"),
        adopted=tuple(key for key in workloads if key in both and key not in disturbed),
        kept=MappingProxyType(kept),
        hints=tuple(_hints([key for key in workloads if key not in both], runs, mine, asked)),
        strange=tuple(one for key, one in runs.items() if key not in mine),
        servings={key: made.name for key, (made, _) in mine.items()},
    )


def _without_metadata(price: Price) -> Price:
    """A price without labels and annotations that only the living object has: an apply leaves them."""

    def stays(one: Field) -> bool:
        change = one.consequence.change
        own = change.path[:1] == ("metadata",) and change.way == "removed"
        return own and one.consequence.effect.outcome is Outcome.NONE

    return price._replace(fields=tuple(one for one in price.fields if not stays(one)))


def _hints(
    missing: Sequence[Key],
    runs: Mapping[Key, Document],
    mine: Mapping[Key, tuple[Bundle, Document]],
    asked: Collection[Key],
) -> Iterator[str]:
    """What to set so that ours is what runs, where there is one candidate; and what was not compared."""
    free = [key for key, one in runs.items() if key not in mine and runs_pods(one)]
    for key in missing:
        made, _ = mine[key]
        alike = [one for one in free if (one.group, one.kind) == (key.group, key.kind)]
        if len(free) == 1 and not alike:
            yield f"{key} does not run; {free[0]} does, and a set of another kind is never adopted"
        elif len(alike) == 1 and len(missing) == 1:
            (other,) = alike
            wanted = [
                f"`{word}: {theirs}`"
                for word, ours, theirs in (
                    ("name", key.name, other.name),
                    ("namespace", key.namespace, other.namespace),
                )
                if ours != theirs
            ]
            yield (
                f"{key} does not run; {other} does: set {' and '.join(wanted)} in serving {made.name} to adopt it"
            )
        elif alike:
            alike.sort(key=lambda one: one.name != key.name)
            yield f"{key} does not run; what runs is {some(alike, _NAMED)}"
        elif key._replace(name="") not in asked:
            where = f" of namespace {key.namespace}" if key.namespace else ""
            yield f"{key} is not compared: what was given holds no {key.kind}{where}"
