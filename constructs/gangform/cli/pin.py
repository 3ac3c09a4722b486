"""`gangform plan --pin`: the numbers that `parallelism: auto` is resolved to go into the user's file.

All or nothing: every serving that was meant has its numbers, and every file can be edited, before the first is written.
A file is replaced by rename, and only while it is what was read.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gangform.cli.files import write_text
from gangform.cli.terminal import tell
from gangform.documents.read import Source
from gangform.findings import Finding, InputError, InputPath, Severity, counted, declare
from gangform.findings import Path as Keys

if TYPE_CHECKING:
    from gangform.cli.selection import Selection
    from gangform.inputs.parallelism import Parallelism
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.serving import ServingPlan

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


class _Pin(NamedTuple):
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


class _Edit(NamedTuple):
    """One file before and after."""

    file: Path
    before: bytes
    after: bytes
    pins: tuple[_Pin, ...]


def pin(chosen: Selection) -> int:
    """Write what `auto` is resolved to; how many values were written.

    Raises:
        InputError: Nothing was written, and why.
    """
    from gangform.synth import plan_fleet

    loaded = chosen.loaded
    # A serving has one parallelism on all of its clusters, also on those that were not asked about.
    plans = plan_fleet(loaded.fleet, loaded.library)
    here = {cluster.name for cluster in chosen.clusters}
    wanted = [
        name
        for plan in plans
        if plan.cluster.name in here
        for name in (one.name for one in plan.servings if one.search is not None)
        if not chosen.servings or name in chosen.servings
    ]
    found: list[Finding] = []
    by_file: dict[str, tuple[Source, list[_Pin]]] = {}
    for name in dict.fromkeys(wanted):
        each = list(_each(plans, name))
        at: Keys = ("servings", name, "parallelism")
        faults = _faults(each, at)
        found += faults
        if faults or each[0].search is None:
            continue
        source, inside = loaded.spans.place(at)
        made = _Pin(at, inside, each[0].search.stand_in)
        by_file.setdefault(source.file, (source, []))[1].append(made)
    edits = [edit for source, pins in by_file.values() for edit in _edited(source, pins, found)]
    if found:
        raise InputError(found)
    stale = [_changed(edit.pins[0]) for edit in edits if edit.file.read_bytes() != edit.before]
    if stale:
        raise InputError(stale)
    for edit in edits:
        write_text(edit.file, edit.after.decode(), force=True)
        for one in edit.pins:
            span = loaded.spans.find(one.at)
            tell(f"{span}: {loaded.spans.display(one.at)}: {one.chosen.written}")
    count = sum(len(edit.pins) for edit in edits)
    tell(f"pinned {counted(count, 'serving')}" if count else "nothing to pin: no `auto` is left")
    return count


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


def _edited(source: Source, pins: list[_Pin], found: list[Finding]) -> Iterator[_Edit]:
    """The file as it will be; nothing where a finding says why not."""
    from gangform.inputs.edit import replaced
    from gangform.inputs.files import read_text

    file = Path(source.file)
    before = file.read_bytes()
    text = before.decode(errors="replace")
    now = read_text(text, source.file)
    if now.findings or now.value != source.value:
        found.append(_changed(pins[0]))
        return
    words = {one.inside: (AUTO, one.chosen.written) for one in pins}
    after = replaced(text, now, words)
    if after is not None:
        yield _Edit(file, before, after.encode(), tuple(pins))
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


def _changed(one: _Pin) -> Finding:
    return Finding(
        code=CHANGED,
        at=InputPath(one.at),
        what="the file is not what was read: somebody wrote it meanwhile",
        fix=f"run it again, or write `{one.line}` by hand",
    )
