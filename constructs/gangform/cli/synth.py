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
from gangform.cli.terminal import Progress, UsageError, paint, say, say_bytes, tell
from gangform.findings import Finding, InputError, counted, ordered, some

if TYPE_CHECKING:
    from gangform.publish.folders import Differences, Outcome, Output
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
    from gangform.publish.folders import compare, publish

    outputs = _outputs(arguments, chosen, made)
    if arguments.check:
        found = compare(outputs)
        if found[0].stale:
            from gangform.cli.price import against_folder, say_prices

            say_prices(against_folder(made, found[0]), several=len(made.plans) > 1)
        return _checked(outputs, found, made.findings)

    allowed = arguments.allow_recreate or ()

    def approve(found: Sequence[Differences]) -> None:
        manifests = found[0]
        known = any(one.kind != "missing" for one in manifests.stale) or manifests.unchanged
        if allowed or (manifests.stale and known):
            from gangform.cli.price import approve

            approve(made, manifests, allowed)

    outcomes = publish(outputs, approve=approve)
    if outcomes[0].removed and not chosen.loaded.fleet.servings:
        word = paint("warning", "yellow", sys.stderr)
        tell(f"{word}: the fleet has no serving, so the files of those that were in it are removed")
    for number, (output, outcome) in enumerate(zip(outputs, outcomes, strict=True)):
        if not number or any(outcome):
            say(_said(outcome, output.root))
    return _told(made.findings)


def _outputs(arguments: Namespace, chosen: Selection, made: Synthesis) -> list[Output]:
    """The folder of manifests, and that of what is none, where it has a place.

    Raises:
        UsageError: One of them lies in the other.
    """
    from gangform.companions import companions, wanted
    from gangform.publish.folders import Output, Scope
    from gangform.publish.ownership import COMPANIONS

    root, beside = _output_folders(arguments)
    scope = Scope(clusters=chosen.some_clusters, charts=frozenset(chosen.servings))
    outputs = [Output(root, made.files, scope=scope)]
    if beside is None:
        if what := wanted(made.plans):
            tell(
                f"{' and '.join(what)} are no manifests and are left out: "
                "`--companion-dir FOLDER` names a place for them"
            )
        return outputs
    files = companions(made.plans, chosen.servings)
    if files or beside.is_dir():
        there, here = beside.resolve(), root.resolve()
        if there.is_relative_to(here) or here.is_relative_to(there):
            raise UsageError(
                f"{beside} and {root} lie in one another, and a controller would read what is no manifest; "
                "`--companion-dir FOLDER` names another place"
            )
        outputs.append(Output(beside, files, COMPANIONS, scope))
    return outputs


def _output_folders(arguments: Namespace) -> tuple[Path, Path | None]:
    """As asked for, from here; else `dist` and `out` beside the fleet file, wherever in the repository this runs.

    Who says where manifests go has not said where anything else may.
    """
    asked: str | None = arguments.output_dir or os.environ.get("CDK8S_OUTDIR")
    beside: str | None = arguments.companion_dir
    home = fleet_file(arguments).parent
    manifests = Path(asked) if asked else home / "dist"
    if beside:
        return manifests, Path(beside)
    return manifests, None if asked else home / "out"


def _said(outcome: Outcome, root: Path) -> str:
    parts = [
        f"wrote {counted(len(outcome.written), 'file')}" if outcome.written else "",
        f"removed {len(outcome.removed)} ({some(outcome.removed, _NAMED)})"
        if outcome.removed
        else "",
        f"{len(outcome.unchanged)} unchanged" if outcome.unchanged else "",
    ]
    return f"{', '.join(part for part in parts if part) or 'no file to write'} in {root}"


def _checked(
    outputs: Sequence[Output], found: Sequence[Differences], findings: Sequence[Finding]
) -> int:
    current: list[str] = []
    stale: list[str] = []
    for number, (output, differences) in enumerate(zip(outputs, found, strict=True)):
        root = output.root
        for one in differences.stale:
            say(one.unified(root) or f"{root / one.path}: left by a run that was killed")
        kinds = [one.kind for one in differences.stale]
        counts = [
            f"{kinds.count(kind)} {kind}"
            for kind in ("changed", "missing", "leftover")
            if kind in kinds
        ]
        if counts:
            stale.append(f"{root} is stale: {', '.join(counts)}")
        elif not number or differences.unchanged:
            current.append(f"{root} is current: {counted(len(differences.unchanged), 'file')}")
    if not stale:
        say("; ".join(current))
        return _told(findings)
    stale.append(f"`gangform synth` brings {'it' if len(stale) == 1 else 'them'} up to date")
    tell("; ".join(part for part in (summary(findings), *stale) if part))
    return 1


def _told(findings: Sequence[Finding]) -> int:
    if findings:
        tell(summary(findings))
    return 0
