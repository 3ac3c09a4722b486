"""`gangform explain`: what a code means, what an input field is for, where a value in the output comes from."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import Any

from gangform.cli.codes import every_code, row, shown, told
from gangform.cli.findings import refused
from gangform.cli.selection import select
from gangform.cli.table import Block, as_markdown, as_text, structured
from gangform.cli.terminal import UsageError, say
from gangform.findings import InputError, either

_PLACE = re.compile(r"(.+\.ya?ml):([1-9][0-9]*)")
"""A line of a file, as compilers and editors write it."""
_FILE = re.compile(r"\.ya?ml(:[^/]*)?$")


def explain(arguments: Namespace) -> int:
    """Explain one thing, or list all codes."""
    target: str | None = arguments.target
    if target is None:
        codes = every_code()
        _report(
            arguments.output,
            Block(
                title="codes",
                columns=("code", "severity", "meaning", "source"),
                rows=[(one.id, one.severity.word, one.title, one.source) for one in codes],
            ),
            [row(one) for one in codes],
        )
        return 0
    place = _PLACE.fullmatch(target)
    if place is None and _FILE.search(target):
        raise UsageError(f"`{target}` is a file; write FILE:LINE, or KIND/NAME of an object in it")
    if place is not None or "/" in target or arguments.path is not None:
        return _value(arguments, target, place)
    known = {code.id: code for code in every_code()}
    if code := known.get(target):
        lines = Block(title=target, rows=list(shown(code).items()))
        _report(arguments.output, lines, told(code))
        return 0
    return _field(arguments, target, list(known))


# ── a field of the input ─────────────────────────────────────────────────────────────────────────


def _field(arguments: Namespace, target: str, codes: list[str]) -> int:
    from gangform.inputs.nearest import nearest
    from gangform.inputs.reference import describe

    try:
        doc = describe(target)
    except LookupError as error:
        message = str(error)
        near = nearest(target, codes) if "-" in target else []
        if near:
            message = f"there is no code `{target}`; did you mean {either(near)}?"
        if (alert := _alert(target)) is not None:
            message = f"`{alert}` is an alert: `gangform runbook SERVING {alert}` prints its page"
        raise UsageError(message) from None
    data = {
        "field": doc.path,
        "type": doc.type,
        "default": doc.default,
        "meaning": doc.doc,
        "example": doc.example,
        "fields": list(doc.fields),
    }
    data = {key: value for key, value in data.items() if value}
    blocks = [Block(title=doc.path, rows=_rows(data, "field"))]
    if doc.path == "defaults":
        blocks += _editions(data)
    _report(arguments.output, blocks, data)
    return 0


def _alert(target: str) -> str | None:
    """The alert of that name."""
    from gangform.signals.alerts import NAMES

    return next((name for name in NAMES if name.lower() == target.lower()), None)


def _editions(data: dict[str, Any]) -> list[Block]:
    """Every row of the newest edition, and the edition that it came with; into `data` too."""
    from gangform.inputs.defaults import editions
    from gangform.inputs.reference import RowDoc, rows_of

    newest = editions()[-1]
    rows = rows_of(newest)
    data["editions"] = list(editions())
    data["rows"] = [one._asdict() for one in rows]
    cells = [(one.row, one.value, str(one.edition), one.reason) for one in rows]
    return [Block(title=f"edition {newest}", columns=RowDoc._fields, rows=cells, level=2)]


# ── a value in the output ────────────────────────────────────────────────────────────────────────


def _value(arguments: Namespace, target: str, place: re.Match[str] | None) -> int:
    arguments.cluster, arguments.servings = None, []
    spans = None
    try:
        from gangform.cli.origins import rows
        from gangform.cli.traced import of_line, of_object

        chosen = select(arguments)
        spans = chosen.loaded.spans
        if place is not None:
            data = of_line(chosen, place[1], int(place[2]))
        else:
            data = of_object(chosen, target, arguments.path or "")
    except InputError as error:
        return refused(error, spans)
    title = target if place is not None else f"{target} {arguments.path or ''}".rstrip()
    blocks = [Block(title=one.get("text", title).strip(), rows=rows(one)) for one in data]
    _report(arguments.output, blocks, data)
    return 0


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────


def _rows(data: dict[str, Any], title: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key, value in data.items():
        if isinstance(value, list) and all(isinstance(one, str) for one in value):
            rows.append((key, ", ".join(value)))
        elif isinstance(value, (dict, list)):
            rows.append((key, structured(value, "yaml").rstrip("\n")))
        elif key != title:
            rows.append((key, _scalar(value)))
    return rows


def _scalar(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _report(form: str, blocks: Block | list[Block], data: Any) -> None:
    if isinstance(blocks, Block):
        blocks = [blocks]
    if form in ("json", "yaml"):
        say(structured(data, form))
    else:
        say(as_markdown(blocks) if form == "markdown" else as_text(blocks))
