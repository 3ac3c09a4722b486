"""What a price is: the records, and the fields of one object that changed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from gangform.apis.consequences import Consequence, consequences
from gangform.apis.effects import Outcome
from gangform.apis.versions import Versions
from gangform.documents.changes import Change, spelled
from gangform.documents.document import Document, Key, Node
from gangform.documents.secrets import HIDDEN, holds_secrets, is_secret, without_secrets
from gangform.units import Seconds

Role = Literal["workload", "foundation", "beside"]
News = Literal["changed", "added", "removed"]


class Field(NamedTuple):
    """A field that changed."""

    key: Key
    """The object it is in."""
    path: str
    """As people read it: entries of lists by name."""
    consequence: Consequence

    @property
    def rank(self) -> int:
        """How much it does: 0 for nothing."""
        return self.consequence.effect.outcome.rank


class Rollout(NamedTuple):
    """How groups are replaced."""

    least: int
    """Groups that roll; under an autoscaler while it stands at its minimum."""
    most: int
    """The same, at its maximum."""
    more_gpus: int
    """GPUs beyond those of the groups, at the height."""
    serving: int | None
    """Groups that serve at least; `None` where nothing holds the controller to a number."""
    seconds: Seconds | None
    """About how long; under an autoscaler while it stands at its minimum; `None` where no plan says."""
    ends: bool = True
    """Whether it ever ends: under Kueue a surge without a group that may be missing does not (`lab E4`)."""


class Price(NamedTuple):
    """What a change of one object, or of the sets of one serving, does."""

    key: Key
    role: Role
    news: News
    outcome: Outcome
    former: Key | None = None
    """What it was called, where it was renamed."""
    fields: tuple[Field, ...] = ()
    """What changed; the worst first."""
    rollout: Rollout | None = None
    """Where groups are replaced."""
    sets: int = 0
    """Sets that are replaced, where each group is one; 0 elsewhere."""
    staged: bool = False
    """Whether these come one after another."""
    groups: tuple[int, int] | None = None
    """Groups before and after; `None` where an autoscaler has them, or where we cannot read them."""
    gpus: tuple[int, int] = (0, 0)
    """GPUs of all groups before and after."""
    touches: tuple[str, ...] = ()
    """Workloads that an object of the foundation is for."""
    notes: tuple[str, ...] = ()
    """What else to know."""
    order: tuple[str, ...] = ()
    """The steps by which it is safe, where at once it is not."""

    @property
    def decisive(self) -> tuple[Field, ...]:
        """The fields that make the price."""
        worst = self.outcome
        return tuple(one for one in self.fields if one.consequence.effect.outcome is worst)


def fields(before: Document, after: Document, versions: Versions | None) -> Iterator[Field]:
    """The fields of one object that changed, each with its effect."""
    if before.manifest is after.manifest or before.manifest == after.manifest:
        return
    for one in consequences(before.manifest, after.manifest, versions):
        gone = one.change.way == "removed"
        path = spelled(one.change.path, (before if gone else after).manifest)
        yield Field(after.key, path, one._replace(change=_shown(one.change, after.kind, path)))


_VARIABLE = re.compile(r"\.env\[([^\]]+)\]\.value$")


def _shown(change: Change, kind: str, path: str) -> Change:
    """A change without the secrets in its values: it goes into reports and comments."""
    variable = _VARIABLE.search(path)
    name = variable[1] if variable else ""
    whole = holds_secrets(kind, change.path)

    def without(value: Node | None) -> Node | None:
        if whole and value is not None:
            return HIDDEN
        if name and isinstance(value, str) and is_secret(name, value):
            return HIDDEN
        shown: Node | None = without_secrets(value)
        return shown

    return change._replace(before=without(change.before), after=without(change.after))
