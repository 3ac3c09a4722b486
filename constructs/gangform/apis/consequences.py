"""What a change does, for every kind whose controller we know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from gangform.apis import core_effects, kueue_effects, leaderworkerset_effects, volcano_effects
from gangform.apis.effects import Effect, Effects, Outcome, Situation, field
from gangform.apis.stored import complete
from gangform.apis.versions import Evidence, Versions
from gangform.documents.changes import Change, changes
from gangform.documents.document import Key, Manifest, key_of

TABLES: Final[Mapping[tuple[str, str], Effects]] = {
    (table.group, table.kind): table
    for table in (
        leaderworkerset_effects.SET,
        leaderworkerset_effects.ROLES,
        *core_effects.TABLES,
        *kueue_effects.TABLES,
        *volcano_effects.TABLES,
    )
}
"""The table of every kind, by group and kind."""

_UNKNOWN: Final = Effects(
    "",
    "",
    [
        Effect(("metadata",), Outcome.NONE, Evidence.CODE, "apimachinery ObjectMeta"),
        Effect(field("spec.template.spec"), Outcome.ROLLS, Evidence.DOCS, "a template of pods"),
        Effect((), Outcome.IN_PLACE, Evidence.DOCS, "no table: not known to restart anything"),
    ],
)


_NO_FIELDS: Final = (("status",), ("apiVersion",))
"""The controllers' own, and the version that an object is written in: it is the same object in each."""


class Consequence(NamedTuple):
    """One difference between two versions of an object, and what it does."""

    change: Change
    effect: Effect


def table_of(key: Key) -> Effects:
    """The table of an object's kind; of an unknown one a table that knows only templates of pods."""
    return TABLES.get((key.group, key.kind), _UNKNOWN)


def consequences(
    before: Manifest, after: Manifest, versions: Versions | None = None
) -> Iterator[Consequence]:
    """Every difference, as the API server stores both sides, with its effect.

    Args:
        before: The living object.
        after: What is applied.
        versions: The releases of the cluster; one that is not known counts as the newest that we know.
    """
    before, after = complete(before), complete(after)
    situation = Situation(before, after, versions or Versions())
    table = table_of(key_of(after))
    for change in changes(before, after):
        if change.path[:1] not in _NO_FIELDS:
            yield Consequence(change, table.of(change, situation))
