"""`gangform lint`: manifests that anybody wrote, judged; and how its findings are printed for people.

For machines (`-o json`) the result is a list of objects: `code`, `severity` (`breaks`, `degrades`, `style`), `level`
(the same in the words of reports: `error`, `warning`, `note`), `object` (`Kind/name`), `namespace`, `path`, `file`,
`line`, `column`, `what`, `fix`, `seen`. A key whose value is not known is left out.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gangform.cli.findings import head, indented, summary
from gangform.cli.terminal import UsageError, paint, say, tell
from gangform.findings import CODES, counted, some

if TYPE_CHECKING:
    from gangform.apis.versions import Release
    from gangform.lint.judging import Failed, Located
    from gangform.lint.report import Report


def lint(arguments: Namespace) -> int:
    """Judge manifests; 1 where something breaks."""
    from gangform.lint.given import beside
    from gangform.lint.report import lint as judge
    from gangform.lint.sources import Missing, find
    from gangform.processes import processors

    only, never = _codes(arguments.select, "--select"), _codes(arguments.ignore, "--ignore")
    try:
        given = beside(arguments.given, _versions(arguments.versions))
        found = find(arguments.sources, _stdin)
    except Missing as error:
        raise UsageError(str(error)) from None
    report = judge(found, given, processors())
    if not report.objects and not report.findings:
        named = ", ".join("the standard input" if n == "-" else n for n in arguments.sources)
        raise UsageError(f"there is no Kubernetes object in {named}")
    findings = [
        each
        for each in report.findings
        if (not only or each.finding.code.id in only) and each.finding.code.id not in never
    ]
    _print(findings, arguments.output)
    for failure in report.failed:
        _fault(failure, debug=getattr(arguments, "debug", False))
    if report.unused:
        tell(_unused(report))
    tell(_summary(findings, report))
    return 1 if any(each.finding.breaks for each in findings) else 0


def _stdin() -> bytes:
    if sys.stdin is None:
        raise UsageError("the standard input is closed, and `-` reads it")
    if sys.stdin.isatty():
        raise UsageError(
            "`-` reads standard input; pipe something in: `helm template chart | gangform lint -`"
        )
    return sys.stdin.buffer.read()


# ── what was asked ───────────────────────────────────────────────────────────────────────────────


def _versions(words: Sequence[str]) -> Mapping[str, Release]:
    """What `--versions` says.

    Raises:
        UsageError: A name or a version is wrong.
    """
    written: dict[str, str] = {}
    for word in _parts(words):
        name, equals, version = word.partition("=")
        if not equals:
            raise UsageError(f"`--versions {word}`: write NAME=VERSION, such as lws=0.10")
        written[name.strip()] = version.strip()
    if not written:
        return {}
    from gangform.inputs.given import read_versions

    try:
        return read_versions(written)
    except ValueError as error:
        raise UsageError(f"--versions: {error}") from None


def _codes(words: Sequence[str], option: str) -> frozenset[str]:
    """The codes of an option.

    Raises:
        UsageError: One does not exist.
    """
    from gangform.rules.rule import load

    wanted = _parts(words)
    if wanted:
        load()
    for word in wanted:
        if word not in CODES:
            from gangform.inputs.nearest import nearest

            near = nearest(word, CODES)
            meant = f"did you mean {near[0]}?" if near else "`gangform explain` lists all codes"
            raise UsageError(f"{option}: there is no code `{word}`; {meant}")
    return frozenset(wanted)


def _parts(words: Iterable[str]) -> list[str]:
    return [part.strip() for word in words for part in word.split(",") if part.strip()]


# ── what is printed ──────────────────────────────────────────────────────────────────────────────


def _print(findings: Sequence[Located], output: str) -> None:
    if output == "table":
        for each in findings:
            say(f"{_render(each)}\n")
    elif output == "json":
        from gangform.cli.table import structured

        say(structured([_data(each) for each in findings], "json"))
    else:
        from gangform.cli.annotations import github, sarif

        say(sarif(findings) if output == "sarif" else github(findings))


def _render(each: Located) -> str:
    finding, span = each.finding, each.span
    owner = "/".join(part for part in (each.kind, each.namespace, each.name) if part)
    about = " ".join(part for part in (owner, each.path) if part)
    return (
        f"{head(finding, sys.stdout)}: {indented(finding.what)}\n"
        f"  --> {span.file}:{span.line}:{span.column}{': ' if about else ''}{about}\n"
        f"  fix: {indented(finding.fix)}\n"
    )


def _data(each: Located) -> dict[str, Any]:
    finding, span = each.finding, each.span
    known = {
        "code": finding.code.id,
        "severity": finding.code.severity.value,
        "level": finding.code.severity.word,
        "object": f"{each.kind}/{each.name}" if each.kind else "",
        "namespace": each.namespace,
        "path": each.path,
        "file": span.file,
        "line": span.line,
        "column": span.column,
        "what": finding.what,
        "fix": finding.fix,
        "seen": {key: value for key, value in finding.seen.items() if key not in _PLACE},
    }
    return {key: value for key, value in known.items() if value not in ("", {})}


_PLACE = ("line", "column")
"""What the reader of YAML keeps of a place, which stands in the finding anyway."""


def _fault(failure: Failed, *, debug: bool) -> None:
    if debug:
        raise failure.error
    error = failure.error
    tell(
        f"{paint('warning', 'yellow', sys.stderr)}: a fault in gangform: the rule {failure.code} failed on "
        f"{failure.document.key} ({type(error).__name__}: {error}), so it is missing here; `--debug` shows where"
    )


_NAMED = 3
"""Workloads that are called by name."""


def _unused(report: Report) -> str:
    names = some(report.unused, _NAMED)
    return f"{paint('note', 'blue', sys.stderr)}: a cold start was given that nothing judged here has: {names}"


def _summary(findings: Sequence[Located], report: Report) -> str:
    counts = summary([each.finding for each in findings]) or "nothing found"
    files = f" in {counted(report.files, 'file')}" if report.files > 1 else ""
    others = f", {counted(report.others, 'other')} passed over" if report.others else ""
    return f"{counts}; {counted(report.objects, 'object')}{files} judged{others}"
