"""What `gangform plan --pin` writes: the numbers that `parallelism: auto` is resolved to, in the user's own files.

All or nothing: every serving that was meant has its numbers, and every file can be edited, before the first is written.
Nothing is written here.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gangform.documents.read import Source
from gangform.findings import Finding, InputError, InputPath, Severity, declare
from gangform.findings import Path as Keys
from gangform.inputs.edit import is_json, replaced
from gangform.inputs.files import read_text
from gangform.inputs.load import Loaded
from gangform.inputs.parallelism import Parallelism
from gangform.plan.cluster import ClusterPlan
from gangform.plan.serving import ServingPlan
from gangform.synth import plan_fleet

DIFFERS = declare(
    "pin-differs-by-cluster",
    "One serving has one parallelism, and its clusters would choose different ones",
    Severity.BREAKS,
    "design §4 Shape",
)
CHANGED = declare(
    "file-changed-meanwhile",
    "A file that somebody else wrote while it was being edited is left as it is",
    Severity.BREAKS,
    "design §4 Shape",
)
BY_HAND = declare(
    "pin-by-hand",
    "A value that is spelled so that it cannot be replaced without touching anything else",
    Severity.BREAKS,
    "design §4 Shape",
)

AUTO = "auto"


class Pin(NamedTuple):
    """One value to write."""

    at: Keys
    """As later stages name it."""
    inside: Keys
    """The same in its file."""
    chosen: Parallelism

    @property
    def line(self) -> str:
        """What stands in the file then."""
        return f"parallelism: {self.chosen.written}"


class Edit(NamedTuple):
    """One file before and after."""

    file: Path
    before: bytes
    after: bytes
    pins: tuple[Pin, ...]


def edits(
    loaded: Loaded, *, clusters: Collection[str] = (), servings: Collection[str] = ()
) -> tuple[Edit, ...]:
    """What has to be written so that no `auto` is left.

    Args:
        loaded: The fleet as it was read.
        clusters: Only servings that run on one of these; on any by default.
        servings: Only these; all by default.

    Raises:
        InputError: Something has no numbers, or cannot be written; then nothing may be.
    """
    # A serving has one parallelism on all of its clusters, also on those that nobody asked about.
    plans = plan_fleet(loaded.fleet, loaded.library)
    wanted = [
        one.name
        for plan in plans
        if not clusters or plan.cluster.name in clusters
        for one in plan.servings
        if one.search is not None and (not servings or one.name in servings)
    ]
    found: list[Finding] = []
    by_file: dict[str, tuple[Source, list[Pin]]] = {}
    for name in dict.fromkeys(wanted):
        each = list(_each(plans, name))
        at: Keys = ("servings", name, "parallelism")
        faults = _faults(each, at)
        found += faults
        if faults or each[0].search is None:
            continue
        source, inside = loaded.spans.place(at)
        made = Pin(at, inside, each[0].search.stand_in)
        by_file.setdefault(source.file, (source, []))[1].append(made)
    edited = [edit for source, pins in by_file.values() for edit in _edited(source, pins, found)]
    if found:
        raise InputError(found)
    return tuple(edited)


def check_unchanged(edits: Sequence[Edit]) -> None:
    """Whether every file still is what was read.

    Raises:
        InputError: Somebody wrote one meanwhile.
    """
    stale = [_changed(edit.pins[0]) for edit in edits if edit.file.read_bytes() != edit.before]
    if stale:
        raise InputError(stale)


def _each(plans: tuple[ClusterPlan, ...], name: str) -> Iterator[ServingPlan]:
    for plan in plans:
        yield from (one for one in plan.servings if one.name == name)


def _faults(plans: list[ServingPlan], at: Keys) -> list[Finding]:
    """Why a serving has no numbers."""
    resolved: dict[str, list[str]] = {}
    for plan in plans:
        if plan.search is None or plan.search.chosen is None:
            return [one for one in plan.findings if one.breaks and one.at == InputPath(at)]
        written = plan.search.chosen.parallelism.written
        resolved.setdefault(written, []).append(plan.cluster)
    if len(resolved) == 1:
        return []
    said = "; ".join(f"{written} on {', '.join(where)}" for written, where in resolved.items())
    return [
        Finding(
            code=DIFFERS,
            at=InputPath(at),
            what=f"`auto` would be {said}",
            fix="write one of them by hand, or one serving for each, with `clusters`",
        )
    ]


def _edited(source: Source, pins: list[Pin], found: list[Finding]) -> Iterator[Edit]:
    """The file as it will be; nothing where a finding says why not."""
    file = Path(source.file)
    before = file.read_bytes()
    text = before.decode(errors="replace")
    now = read_text(text, source.file)
    if now.findings or now.value != source.value:
        found.append(_changed(pins[0]))
        return
    words = {one.inside: (AUTO, _spelled(one, text, now)) for one in pins}
    after = replaced(text, now, words)
    if after is not None:
        yield Edit(file, before, after.encode(), tuple(pins))
        return
    for one in pins:
        if replaced(text, now, {one.inside: words[one.inside]}) is None:
            found.append(
                Finding(
                    code=BY_HAND,
                    at=InputPath(one.at),
                    what=f"`{AUTO}` is spelled so that the numbers cannot be put in its place alone",
                    fix=f"write `{one.line}` there by hand",
                )
            )


def _spelled(one: Pin, text: str, source: Source) -> str:
    """The numbers as the file writes: JSON stays JSON."""
    if is_json(text, source, one.inside):
        return json.dumps(one.chosen.parts)
    return one.chosen.written


def _changed(one: Pin) -> Finding:
    return Finding(
        code=CHANGED,
        at=InputPath(one.at),
        what="the file is not what was read: somebody wrote it meanwhile",
        fix=f"run it again, or write `{one.line}` by hand",
    )
