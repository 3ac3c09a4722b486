"""What changing a field of a living object does to what runs: the records, and how a change is looked up.

The facts stand beside their APIs, one table a kind: field → outcome, under which condition, and how it is known.
`apis.consequences` gathers them. A row covers its field and everything below it, and the first row that fits counts;
so what is special comes before what is general.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Final, Literal, NamedTuple

from gangform.apis.pods import amount_of
from gangform.apis.versions import Evidence, Versions
from gangform.documents.changes import Change, every_leaf
from gangform.documents.document import Manifest
from gangform.findings import Path

ENTRY: Final = "[]"
"""In the field of a row: any entry of a list."""

API_SERVER: Final = "by the API server"
"""Who refuses what an API calls immutable."""

Way = Literal["added", "removed", "changed", "reordered", "lowered", "raised"]
"""How a field may change; `lowered` and `raised` are kinds of `changed`, for quantities."""


class Outcome(StrEnum):
    """What a change does, from nothing to the worst."""

    NONE = "none"
    """Nothing that runs is touched: pods stay, and nothing new holds for them."""
    IN_PLACE = "in-place"
    """It holds at once for what runs, without a restart: endpoints, budgets, quotas."""
    ROLLS = "rolls"
    """Groups are replaced, as the rollout strategy says."""
    EVICTS = "evicts"
    """Groups that run are taken down at once, past rollout strategy and budgets, and wait until it is taken back."""
    REFUSED = "refused"
    """A server refuses it: the living object stays as it is, and Git and cluster differ."""
    RECREATES = "recreates"
    """Only deleting the object and making it anew does it, or repairs what the change leaves behind."""

    @property
    def rank(self) -> int:
        """Where it stands between nothing (0) and the worst."""
        return list(Outcome).index(self)


class Situation(NamedTuple):
    """What decides beside the field: the object before and after, and the releases of the cluster."""

    before: Manifest
    after: Manifest
    versions: Versions = Versions()


class Condition(NamedTuple):
    """When a row holds."""

    text: str
    """`Kueue manages the set`, for people."""
    holds: Callable[[Situation], bool]


class Effect(NamedTuple):
    """What a change of one field does. One row of a table, and what a look-up in it answers."""

    field: Path
    """With `[]` for any entry of a list; empty for everything that no other row covers."""
    outcome: Outcome
    evidence: Evidence
    source: str
    says: str = ""
    """What an operator should know beyond the outcome, without a full stop."""
    by: str = ""
    """Who refuses it, or as long as what: `by the API server`."""
    instead: str = ""
    """What leads there all the same where it is refused, as an imperative without a full stop."""
    ways: tuple[Way, ...] = ()
    """Only where it changes like this; empty for every way."""
    condition: Condition | None = None
    entry: bool = False
    """Only where an entry of the list as a whole comes, goes or moves."""
    paced: bool = True
    """Whether a rollout that it begins obeys the rollout strategy."""

    def covers(self, path: Path) -> bool:
        """Whether a path lies at or below the field."""
        return len(path) >= len(self.field) and all(
            isinstance(part, int) if ours == ENTRY else ours == part
            for ours, part in zip(self.field, path, strict=False)
        )

    def is_about(self, path: Path, change: Change, situation: Situation) -> bool:
        """Whether the row answers for a path that a change touches."""
        if self.ways and not set(self.ways) & _ways(change, exact=path == change.path):
            return False
        if not (self._whole(change) if self.entry else self.covers(path)):
            return False
        return self.condition is None or self.condition.holds(situation)

    def _whole(self, change: Change) -> bool:
        if change.way == "reordered":
            return change.path == self.field[:-1] or self._at(change.path)
        return self._at(change.path)

    def _at(self, path: Path) -> bool:
        return len(path) == len(self.field) and self.covers(path)


def _ways(change: Change, *, exact: bool) -> set[Way]:
    ways: set[Way] = {change.way}
    old, new = amount_of(change.before), amount_of(change.after)
    if exact and change.way == "changed" and old is not None and new is not None:
        ways.add("lowered" if new < old else "raised")
    return ways


class Effects:
    """The table of one kind."""

    def __init__(self, group: str, kind: str, rows: Sequence[Effect], *, gone: str = "") -> None:
        """Rows in order: the first that covers a field counts. The last one covers everything.

        `gone`: what an operator should know where an object that groups stand on is removed, without a full stop.
        """
        self.gone = gone
        assert not rows[-1].field and rows[-1].condition is None, f"{kind}: no row for the rest"
        self.group, self.kind, self.rows = group, kind, tuple(rows)

    def of(self, change: Change, situation: Situation) -> Effect:
        """What a change does: of the plain values that it touches, the worst counts."""
        paths = [change.path, *every_leaf(change)]
        found = [self._first(path, change, situation) for path in dict.fromkeys(paths)]
        return max(found, key=lambda effect: effect.outcome.rank)

    def _first(self, path: Path, change: Change, situation: Situation) -> Effect:
        return next(row for row in self.rows if row.is_about(path, change, situation))

    @cached_property
    def rolls(self) -> bool:
        """Whether the kind runs pods that a change replaces."""
        return any(row.outcome is Outcome.ROLLS for row in self.rows)

    @cached_property
    def shown(self) -> tuple[tuple[str, Effect], ...]:
        """The rows with their fields as people write them."""
        return tuple((show(row.field), row) for row in self.rows)


def field(dotted: str, *more: str) -> Path:
    """`spec.containers[].image` as parts; what follows is taken as it is, since keys of labels have dots."""
    parts = dotted.replace(ENTRY, f".{ENTRY}").split(".") if dotted else []
    return (*parts, *more)


def show(path: Path) -> str:
    """The inverse of `field`, for people; `everything else` for the empty path."""
    text = ""
    for part in path:
        plain = str(part).replace("-", "").replace("_", "").isalnum()
        text += ENTRY if part == ENTRY else f".{part}" if plain and text else str(part)
        if part != ENTRY and not plain:
            text = text.removesuffix(str(part)) + f"[{part}]"
    return text or "everything else"
