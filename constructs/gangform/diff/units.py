"""What one price is for: a workload, or the sets of one serving where each group is a set of its own.

A unit that is gone and one that is new are one that was renamed where they run the same thing: the cluster then deletes
all groups of the one and makes those of the other, which is no news that a pull request should hide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from gangform.apis import volcano
from gangform.apis.consequences import TABLES
from gangform.apis.forms import GroupView
from gangform.apis.keys import APP_NAME, SYNC_WAVE
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, dig, sequence, text


class Unit(NamedTuple):
    """One workload, or the sets of a serving."""

    key: Key
    """The workload's; of several sets the name is that of the serving."""
    documents: tuple[Document, ...]
    groups: tuple[GroupView, ...]
    """Empty for a kind that we do not read."""
    sets: bool = False
    """Whether each group is a set of its own."""

    @property
    def staged(self) -> bool:
        """Whether every set has a sync wave of its own, so that one is applied after another."""
        waves = [text(one.manifest, "metadata", "annotations", SYNC_WAVE) for one in self.documents]
        return all(waves) and len(set(waves)) == len(waves)


class Pair(NamedTuple):
    """What a unit was and what it is; one of them is `None` where it is new or gone."""

    before: Unit | None
    after: Unit | None


def runs_pods(document: Document) -> bool:
    """Whether a change of it can restart something."""
    table = TABLES.get((document.key.group, document.key.kind))
    return table is not None and table.rolls


def pairs(before: Documents, after: Documents) -> list[Pair]:
    """Every unit of both sides; a renamed one is one pair. In the order of the documents afterwards."""
    old = {(unit.key, unit.sets): unit for unit in _units(before)}
    new = {(unit.key, unit.sets): unit for unit in _units(after)}
    gone = [unit for key, unit in old.items() if key not in new]
    found = []
    for key, unit in new.items():
        if key in old:
            found.append(Pair(old[key], unit))
            continue
        former = next((one for one in gone if renamed(one, unit)), None)
        if former is not None:
            gone.remove(former)
        found.append(Pair(former, unit))
    return found + [Pair(unit, None) for unit in gone]


def _units(documents: Documents) -> Iterator[Unit]:
    sets: dict[Key, list[Document]] = {}
    for document in documents.all:
        if not runs_pods(document):
            continue
        if (serving := _serving_of_a_set(documents, document)) is None:
            yield _unit(documents, document.key, [document])
        else:
            sets.setdefault(document.key._replace(name=serving), []).append(document)
    for key, several in sets.items():
        yield _unit(documents, key, several, sets=True)


def _unit(
    documents: Documents, key: Key, several: Iterable[Document], *, sets: bool = False
) -> Unit:
    kept = tuple(several)
    groups = [group for one in kept for group in documents.groups_of(one.key)]
    return Unit(key, kept, tuple(groups), sets)


def _serving_of_a_set(documents: Documents, document: Document) -> str | None:
    """The serving whose group a set is, where a PodGroup of its own holds it together; `None` for any other."""
    for group in documents.groups_of(document.key):
        own = group.leader.annotations.get(volcano.GROUP_NAME)
        if own == document.key.name:
            return _app(document) or None
    return None


def renamed(old: Unit, new: Unit) -> bool:
    """Whether two units of different keys are one serving under another name, kind or namespace."""
    if old.key.name == new.key.name:
        return True
    ours, theirs = old.documents[0], new.documents[0]
    if old.key.namespace == new.key.namespace and _app(ours) == _app(theirs) != "":
        return True
    was, now = _run(old), _run(new)
    return (
        bool(was)
        and len(was) == len(now)
        and all(
            one == other or _nameless(one, old) == _nameless(other, new)
            for one, other in zip(was, now, strict=True)
        )
    )


def _app(document: Document) -> str:
    return text(document.manifest, "metadata", "labels", APP_NAME)


def _run(unit: Unit) -> list[str]:
    """The words that the first container of a unit runs; none where it says none."""
    if not unit.groups:
        return []
    first = dig(unit.groups[0].leader.spec, "containers", 0)
    return [str(word) for key in ("command", "args") for word in sequence(first, key)]


def _nameless(word: str, unit: Unit) -> str:
    return re.sub(rf"(?<![\w-]){re.escape(unit.key.name)}(?![\w-])", "…", word)
