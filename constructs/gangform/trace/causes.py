"""Which inputs, defaults, formulas and fields of the plan a line follows: those that change it when they change alone.

Nothing in the plan or in a builder has to know of this, so a normal run pays nothing, and what is traced are the very
documents that are written. It finds what flows through arithmetic, decisions and texts alike, booleans included. What
another value decides at the moment is not named: of two figures whose larger one counts, the smaller one is silent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Literal, NamedTuple

from gangform.documents.document import Document
from gangform.findings import Path
from gangform.inputs.defaults import EDITIONS, Defaults
from gangform.plan.figures import Derivation, recording, watching
from gangform.trace.tree import at, differing, leaves, others, replaced

Sort = Literal["input", "default", "formula", "plan"]
Place = tuple[int, Path]
"""Which document of a bundle, and a path in it."""
Make = Callable[[], "Made"]


class Made(NamedTuple):
    """Documents of a variant. They are many, and one alone may be asked about: then only that is finished."""

    documents: Sequence[Document]
    finish: Callable[[Document], Document] = lambda document: document
    """Patches a document and completes it, where that is still to be done."""


class Cause(NamedTuple):
    """Something that a line follows."""

    sort: Sort
    path: Path
    """An input as the files name it; `("defaults", "drain")`; a formula by module and name; a field of the plan."""
    value: object
    """What it is now; `None` for an input that is left out and may be written."""
    derivation: Derivation | None = None
    """Of a formula: with which operands."""


class Variant(NamedTuple):
    """A cause, and the documents as they would be with another value of it."""

    cause: Cause
    make: Make


def followed(
    before: Sequence[Document], variants: Iterable[Variant], only: int | None = None
) -> dict[Place, list[Cause]]:
    """The causes of every single value of some documents, in the order of the variants, each once.

    An object that is not there at all in a variant follows it in its `kind` alone.

    Args:
        before: The documents as they are.
        variants: The documents as they would be.
        only: The one that is asked about; all by default.
    """
    found: dict[Place, dict[tuple[Sort, Path, str], Cause]] = {}
    for cause, make in variants:
        try:
            changed = list(_changed(before, make(), only))
        except Exception:
            continue
        for place in changed:
            identity = (cause.sort, cause.path, str(cause.derivation and cause.derivation.result))
            found.setdefault(place, {}).setdefault(identity, cause)
    return {place: list(causes.values()) for place, causes in found.items()}


def _changed(before: Sequence[Document], after: Made, only: int | None) -> Iterator[Place]:
    """An object keeps its place among those of its kind, also under another name, while their number is the same.

    Where a kind is gone as a whole, another form runs the pods or a part is off: then nothing else is compared.
    """
    ours = Counter(one.kind for one in before)
    theirs = Counter(one.kind for one in after.documents)
    if gone := ours.keys() - theirs.keys():
        for index, one in enumerate(before):
            if one.kind in gone and only in (None, index):
                yield index, ("kind",)
        return
    keyed = {one.key: one for one in after.documents}
    placed: dict[str, list[Document]] = {kind: [] for kind in ours}
    for one in reversed(after.documents):
        placed.setdefault(one.kind, []).append(one)
    for index, document in enumerate(before):
        kind = document.kind
        partner = placed[kind].pop() if ours[kind] == theirs[kind] else keyed.get(document.key)
        if only not in (None, index):
            continue
        if partner is None:
            yield index, ("kind",)
        elif (manifest := after.finish(partner).manifest) != document.manifest:
            yield from ((index, path) for path in differing(document.manifest, manifest))


def of_table(table: Defaults, make: Callable[[Defaults], Make]) -> Iterator[Variant]:
    """Every row of an edition with other values."""
    for path, value in leaves(table):
        if path[0] in ("edition", "changes"):
            continue
        for other in others(value):
            cause = Cause("default", ("defaults", *path), value)
            yield Variant(cause, make(replaced(table, path, other)))


@contextmanager
def instead(table: Defaults) -> Iterator[None]:
    """Inside the block an edition has the rows of this table."""
    kept = EDITIONS[table.edition]
    EDITIONS[table.edition] = table
    try:
        yield
    finally:
        EDITIONS[table.edition] = kept


def of_formulas(make: Make) -> Iterator[Variant]:
    """Every formula that is used with another result; uses with the same operands are one."""
    with recording() as ledger:
        make()
    done: set[int] = set()
    for number, one in enumerate(ledger):
        if number in done:
            continue
        alike = {
            index
            for index, other in enumerate(ledger)
            if other.formula == one.formula
            and other.result == one.result
            and other.operands == one.operands
        }
        done |= alike
        path = (one.formula.module, one.formula.name)
        for other in others(one.result):
            cause = Cause("formula", path, one.result, one)
            yield Variant(cause, _bent(make, frozenset(alike), other))


def _bent(make: Make, numbers: frozenset[int], result: object) -> Make:
    def bent() -> Made:
        count = iter(range(10**9))

        def watch(derivation: Derivation) -> object:
            return result if next(count) in numbers else derivation.result

        with watching(watch):
            return make()

    return bent


def of_plan(
    plan: object, within: Iterable[Path], make: Callable[[Path, object], Make], name: Path = ()
) -> Iterator[Variant]:
    """Every field of a plan below some paths with other values; `name` is put before the path of the cause."""
    for start in within:
        for path, value in leaves(at(plan, start), start, models=False):
            for other in others(value):
                yield Variant(Cause("plan", (*name, *path), value), make(path, other))


def sorts(causes: Iterable[Cause]) -> Mapping[Sort, list[Cause]]:
    """Causes by their sort, in the order of `explain`: from the line upwards."""
    order: tuple[Sort, ...] = ("plan", "formula", "input", "default")
    every = list(causes)
    return {sort: [one for one in every if one.sort == sort] for sort in order}
