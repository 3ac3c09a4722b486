"""How a finding is printed, and how all of them are counted.

    error[tensor-does-not-divide-heads]: tensor 6 does not divide 64 attention heads
      --> gangform.yaml:14: servings[0].parallelism.tensor
      fix: use tensor 4 or 8

For machines each is an object: `code`, `severity` (`error`, `warning`, `note`), `what`, `fix`, `file`, `line`,
`column`, `path` (in the file, or in the object), `object` (`Kind/namespace/name`), `seen` (the values). A key whose
value is not known is left out.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from gangform.cli.terminal import paint, tell
from gangform.findings import (
    DocumentPath,
    Finding,
    InputError,
    Severity,
    counted,
    ordered,
    show_path,
)

if TYPE_CHECKING:
    from gangform.inputs.spans import Spans

_COLOURS = {Severity.BREAKS: "red", Severity.DEGRADES: "yellow", Severity.STYLE: "blue"}


def where(finding: Finding, spans: Spans | None) -> str:
    """The place of a finding: file and line where they are known, and the path."""
    at = finding.at
    if "file" in finding.seen:  # about a file that no input names
        return finding.seen["file"]
    if isinstance(at, DocumentPath):
        name = "/".join(part for part in (at.kind, at.namespace, at.name) if part)
        return f"{name} {show_path(at.path)}".rstrip()
    return show_path(at.path) if spans is None else spans.where(finding)


def render(finding: Finding, spans: Spans | None) -> str:
    """A finding as people read it."""
    return (
        f"{head(finding, sys.stderr)}: {indented(finding.what)}\n  --> {where(finding, spans)}\n"
        f"  fix: {indented(finding.fix)}\n"
    )


def head(finding: Finding, stream: TextIO) -> str:
    """`error[tensor-does-not-divide-heads]`, coloured where the stream shows it."""
    severity = finding.code.severity
    return paint(f"{severity.word}[{finding.code.id}]", _COLOURS[severity], stream)


def indented(text: str) -> str:
    """A text whose further lines stand below the first."""
    return text.replace("\n", "\n       ")


def placed(findings: Iterable[Finding], spans: Spans | None) -> list[Finding]:
    """In the order of their files and lines, as far as these are known; the others behind."""

    def where_it_stands(finding: Finding) -> tuple[bool, str, int, int]:
        span = None if spans is None else spans.span_of(finding)
        return (True, "", 0, 0) if span is None else (False, span.file, span.line, span.column)

    return sorted(findings, key=where_it_stands)


def show(findings: Iterable[Finding], spans: Spans | None) -> None:
    """Print findings to stderr, with an empty line after each."""
    for finding in placed(findings, spans):
        tell(f"{render(finding, spans)}\n")


def summary(findings: Sequence[Finding], after: str = "") -> str:
    """`2 errors, 1 warning; nothing was written`; empty where there is nothing to say."""
    counts = []
    for severity in Severity:
        count = sum(finding.code.severity is severity for finding in findings)
        if count:
            counts.append(counted(count, severity.word))
    return f"{', '.join(counts)}{f'; {after}' if after else ''}" if counts else ""


def refused(error: InputError, spans: Spans | None, after: str = "") -> int:
    """Print what stopped a command, and count it. Always exit code 1."""
    show(error.findings, getattr(error, "spans", spans))
    tell(summary(error.findings, after))
    return 1


def as_data(findings: Iterable[Finding], spans: Spans | None) -> list[dict[str, Any]]:
    """Findings for machines."""
    return [_data(finding, spans) for finding in placed(ordered(findings), spans)]


def _data(finding: Finding, spans: Spans | None) -> dict[str, Any]:
    at = finding.at
    known: dict[str, Any] = {
        "code": finding.code.id,
        "severity": finding.code.severity.word,
        "what": finding.what,
        "fix": finding.fix,
    }
    if isinstance(at, DocumentPath):
        known["object"] = "/".join(part for part in (at.kind, at.namespace, at.name) if part)
        known["path"] = show_path(at.path)
    else:
        span = None if spans is None else spans.span_of(finding)
        if span is not None:
            known |= {"file": span.file, "line": span.line, "column": span.column}
        known["path"] = show_path(at.path) if spans is None else spans.display(at.path)
    known["file"] = finding.seen.get("file") or known.get("file")
    known["seen"] = {key: value for key, value in finding.seen.items() if key != "file"}
    return {key: value for key, value in known.items() if value not in (None, "", {})}
