"""`gangform synth` and `gangform validate`: the same work, written or not."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from gangform.cli.findings import as_data, refused, show, summary
from gangform.cli.selection import Selection, fleet_file, select
from gangform.cli.terminal import Progress, paint, say, say_bytes, tell
from gangform.findings import Finding, InputError, counted, ordered, some

if TYPE_CHECKING:
    from gangform.publish import Differences, Outcome
    from gangform.synth import Synthesis

NOTHING = "nothing was written"
_SHORT_RUN = 20
"""Files that are made without a word about progress."""
_NAMED = 10
"""Removed files that are called by name."""


def synth(arguments: Namespace) -> int:
    """Write the manifests, print them, or say whether those on disk are current."""
    try:
        chosen = select(arguments)
    except InputError as error:
        return refused(error, None, NOTHING)
    spans = chosen.loaded.spans
    try:
        made = _synthesise(chosen)
        show(made.findings, spans)
        if arguments.stdout:
            say_bytes(b"---\n".join(file.content for file in made.files))
            return _told(made.findings)
        return _published(arguments, chosen, made)
    except InputError as error:
        return refused(error, spans, NOTHING)


def validate(arguments: Namespace) -> int:
    """Check everything that `synth` checks, and every profile beside the fleet file too."""
    found: tuple[Finding, ...] = ()
    spans = None
    made = None
    try:
        chosen = select(arguments, whole_library=True)
        spans = chosen.loaded.spans
        made = _synthesise(chosen)
        found = made.findings
    except InputError as error:
        found, spans = error.findings, getattr(error, "spans", spans)
    if arguments.output in ("json", "yaml"):
        from gangform.cli.table import structured

        data = {"valid": made is not None, "findings": as_data(found, spans)}
        say(structured(data, arguments.output))
    else:
        show(found, spans)
        if made is not None:
            objects = sum(len(file.bundle.documents) for file in made.files)
            say(
                f"{fleet_file(arguments)} is valid: {counted(len(made.files), 'file')} "
                f"with {counted(objects, 'object')} would be written"
            )
        if found:
            tell(summary(found))
    return 0 if made is not None else 1


def _synthesise(chosen: Selection) -> Synthesis:
    """Everything in memory.

    Raises:
        InputError: With all findings of the stage that failed, warnings among them.
    """
    from gangform.synth import plan_fleet, synthesise

    loaded = chosen.loaded
    progress = Progress(after=_SHORT_RUN)
    try:
        made = synthesise(
            loaded.fleet,
            loaded.library,
            clusters=chosen.clusters,
            servings=chosen.servings,
            progress=progress,
            forks=True,
        )
        return made._replace(findings=ordered([*loaded.remarks, *made.findings]))
    except InputError as error:
        # Warnings stand beside the errors: who repairs one wants to see both.
        plans = plan_fleet(loaded.fleet, loaded.library, clusters=chosen.clusters)
        said = [finding for plan in plans for finding in plan.every_finding]
        raise InputError(ordered([*error.findings, *said])) from None
    finally:
        progress.done()


def _published(arguments: Namespace, chosen: Selection, made: Synthesis) -> int:
    from gangform.publish import Scope, compare, publish

    root = _output_folder(arguments)
    scope = Scope(clusters=chosen.some_clusters, charts=frozenset(chosen.servings))
    if arguments.check:
        differences = compare(made.files, root, scope=scope)
        if differences.stale:
            from gangform.cli.price import against_folder, say_prices

            say_prices(against_folder(made, differences), several=len(made.plans) > 1)
        return _checked(differences, root, made.findings)

    allowed = arguments.allow_recreate or ()

    def approve(found: Differences) -> None:
        known = any(one.kind != "missing" for one in found.stale) or found.unchanged
        if allowed or (found.stale and known):
            from gangform.cli.price import approve

            approve(made, found, allowed)

    outcome = publish(made.files, root, scope=scope, approve=approve)
    if outcome.removed and not chosen.loaded.fleet.servings:
        word = paint("warning", "yellow", sys.stderr)
        tell(f"{word}: the fleet has no serving, so the files of those that were in it are removed")
    say(_said(outcome, root))
    return _told(made.findings)


def _output_folder(arguments: Namespace) -> Path:
    """As asked for, from here; else `dist` beside the fleet file, wherever in the repository this runs."""
    asked: str | None = arguments.output_dir or os.environ.get("CDK8S_OUTDIR")
    return Path(asked) if asked else fleet_file(arguments).parent / "dist"


def _said(outcome: Outcome, root: Path) -> str:
    parts = [
        f"wrote {counted(len(outcome.written), 'file')}" if outcome.written else "",
        f"removed {len(outcome.removed)} ({some(outcome.removed, _NAMED)})"
        if outcome.removed
        else "",
        f"{len(outcome.unchanged)} unchanged" if outcome.unchanged else "",
    ]
    return f"{', '.join(part for part in parts if part) or 'no file to write'} in {root}"


def _checked(differences: Differences, root: Path, findings: Sequence[Finding]) -> int:
    for one in differences.stale:
        say(one.unified(root) or f"{root / one.path}: left by a run that was killed")
    if not differences.stale:
        say(f"{root} is current: {counted(len(differences.unchanged), 'file')}")
        return _told(findings)
    kinds = [one.kind for one in differences.stale]
    counts = [
        f"{kinds.count(kind)} {kind}"
        for kind in ("changed", "missing", "leftover")
        if kind in kinds
    ]
    stale = f"{root} is stale: {', '.join(counts)}; `gangform synth` brings it up to date"
    tell("; ".join(part for part in (summary(findings), stale) if part))
    return 1


def _told(findings: Sequence[Finding]) -> int:
    if findings:
        tell(summary(findings))
    return 0
