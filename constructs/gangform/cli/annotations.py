"""Findings of lint for code hosts: SARIF 2.1.0, and GitHub's workflow commands.

Paths go from the root of the Git repository, since that is where a code host looks; outside of one, from the working
folder. A fingerprint says what is wrong with which field, and no line: it survives when lines move.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from gangform.findings import Code, Severity

if TYPE_CHECKING:
    from gangform.lint.judging import Located

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_ROOT = "%SRCROOT%"
_COMMANDS = {Severity.BREAKS: "error", Severity.DEGRADES: "warning", Severity.STYLE: "notice"}


# ── SARIF ────────────────────────────────────────────────────────────────────────────────────────


def sarif(findings: Sequence[Located]) -> str:
    """One run with all findings, and the codes that occur as its rules."""
    import json

    from gangform import __version__

    codes = sorted({each.finding.code for each in findings}, key=lambda code: code.id)
    numbers = {code.id: number for number, code in enumerate(codes)}
    root = _root()
    prints = _fingerprints(findings, root)
    driver = {
        "name": "gangform",
        "semanticVersion": __version__,
        "rules": [_rule(code) for code in codes],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"uri": f"{root.as_uri()}/"}},
        "results": [
            _result(each, numbers[each.finding.code.id], print_, root)
            for each, print_ in zip(findings, prints, strict=True)
        ],
    }
    log = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, indent=2, ensure_ascii=False)


def _rule(code: Code) -> dict[str, Any]:
    help_ = f"{code.title}. `gangform explain {code.id}` says more. Source: {code.source}."
    return {
        "id": code.id,
        "shortDescription": {"text": code.title},
        "help": {"text": help_.replace("`", ""), "markdown": help_},
        "defaultConfiguration": {"level": code.severity.word},
        "properties": {"severity": code.severity.value, "source": code.source},
    }


def _result(each: Located, number: int, fingerprint: str, root: Path) -> dict[str, Any]:
    finding, span = each.finding, each.span
    location: dict[str, Any] = {
        "physicalLocation": {
            "artifactLocation": _artifact(span.file, root),
            "region": {"startLine": span.line, "startColumn": span.column},
        }
    }
    if each.kind:
        parts = (each.kind, each.namespace, each.name)
        name = " ".join(filter(None, ["/".join(filter(None, parts)), each.path]))
        location["logicalLocations"] = [{"fullyQualifiedName": name, "kind": "object"}]
    return {
        "ruleId": finding.code.id,
        "ruleIndex": number,
        "level": finding.code.severity.word,
        "message": {"text": f"{finding.what}. To repair it: {finding.fix}"},
        "locations": [location],
        "partialFingerprints": {"gangformField/v1": fingerprint},
    }


def _artifact(file: str, root: Path) -> dict[str, str]:
    if file == "-":
        return {"uri": "stdin", "uriBaseId": _ROOT}
    path = _from(file, root)
    if Path(path).is_absolute():
        return {"uri": Path(path).as_uri()}
    return {"uri": quote(path), "uriBaseId": _ROOT}


def _fingerprints(findings: Iterable[Located], root: Path) -> Iterator[str]:
    """One for each finding; of several about one field each has its number."""
    met: Counter[str] = Counter()
    for each in findings:
        place = (_from(each.span.file, root), each.kind, each.namespace, each.name, each.path)
        said = "\n".join((each.finding.code.id, *place))
        print_ = hashlib.sha256(said.encode(errors="backslashreplace")).hexdigest()[:32]
        met[print_] += 1
        yield f"{print_}:{met[print_]}"


# ── GitHub ───────────────────────────────────────────────────────────────────────────────────────


def github(findings: Iterable[Located]) -> str:
    """A workflow command a finding, which GitHub shows beside the line."""
    root = _root()
    return "".join(f"{_command(each, root)}\n" for each in findings)


def _command(each: Located, root: Path) -> str:
    finding, span = each.finding, each.span
    properties = {
        "file": _from(span.file, root),
        "line": str(span.line),
        "col": str(span.column),
        "title": finding.code.id,
    }
    said = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    message = _message(f"{finding.what}\nfix: {finding.fix}")
    return f"::{_COMMANDS[finding.code.severity]} {said}::{message}"


def _message(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


# ── paths ────────────────────────────────────────────────────────────────────────────────────────


def _root() -> Path:
    here = Path.cwd()
    return next((each for each in (here, *here.parents) if (each / ".git").exists()), here)


def _from(file: str, root: Path) -> str:
    if file == "-":
        return file
    path = Path.cwd() / file
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()
