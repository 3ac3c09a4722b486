"""`gangform explain`: what a code means, what an input field is for, where a value in the output comes from."""

from __future__ import annotations

import re
from argparse import Namespace
from typing import TYPE_CHECKING, Any

from gangform.cli.codes import every_code, row, shown, told
from gangform.cli.findings import refused
from gangform.cli.selection import select
from gangform.cli.table import Block, as_markdown, as_text, structured
from gangform.cli.terminal import UsageError, say
from gangform.findings import InputError, Path, show_path

if TYPE_CHECKING:
    from gangform.bundle import Bundle
    from gangform.documents.document import Document, Node
    from gangform.plan.figures import Formula

_FILE = re.compile(r"\.ya?ml(:[0-9]+)*$")
_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")


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
    if "/" in target or arguments.path is not None:
        return _value(arguments, target, arguments.path or "")
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
            message = f"there is no code `{target}`; did you mean {' or '.join(near)}?"
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


def _value(arguments: Namespace, target: str, path: str) -> int:
    kind, _, name = target.partition("/")
    if not name:
        raise UsageError(f"`{target} {path}` is no object; write KIND/NAME, then a path in it")
    if _FILE.search(target):
        raise UsageError(
            f"`{target}` is a file; write KIND/NAME of an object in it, then a path in it"
        )
    arguments.cluster, arguments.servings = None, []
    spans = None
    try:
        from gangform.synth import synthesise

        chosen = select(arguments)
        spans = chosen.loaded.spans
        made = synthesise(chosen.loaded.fleet, chosen.loaded.library)
    except InputError as error:
        return refused(error, spans)
    found = [
        (file, document)
        for file in made.files
        for document in file.bundle.documents
        if (document.kind, document.key.name) == (kind, name)
    ]
    if not found:
        every = [f"{d.kind}/{d.key.name}" for file in made.files for d in file.bundle.documents]
        raise UsageError(f"the output has no {target}; {_near(target, every)}")
    keys = parse_path(path)
    data = [
        _trace(
            file.path,
            document,
            keys,
            _input(file.bundle, document, keys),
            chosen.loaded.fleet.defaults,
        )
        for file, document in found
    ]
    blocks = [Block(title=f"{target} {path}".strip(), rows=_rows(one, "object")) for one in data]
    _report(arguments.output, blocks, data)
    return 0


def parse_path(path: str) -> Path:
    """`spec.containers[0].image` or `metadata.labels[app.kubernetes.io/name]` as keys and indexes."""
    return tuple(
        int(index) if index else plain or bracketed
        for plain, index, bracketed in _PART.findall(path)
    )


def _input(bundle: Bundle, document: Document, path: Path) -> str:
    """The input that a value follows, as a refused patch over it would say."""
    from gangform.manifests.ownership import input_of
    from gangform.plan.serving import ServingPlan

    if not isinstance(bundle.plan, ServingPlan) or not path:
        return ""
    patches = bundle.patched.get(document.key, {})
    if path in patches:
        return show_path((*bundle.plan.at, "patches", patches[path]))
    return input_of(bundle.plan, document.manifest, path) or ""


def _trace(file: str, document: Document, path: Path, name: str, edition: int) -> dict[str, Any]:
    value = _walk(document, path)
    data: dict[str, Any] = {
        "object": str(document.key),
        "path": show_path(path),
        "value": _plain(value),
        "file": file,
        "builder": document.builder,
        "for": show_path(document.origin) if document.origin else "",
        "input": name,
        "edition": edition,
    }
    formulas = _formulas(path)
    if formulas:
        data["derived"] = [
            {"by": f"{one.module}.{one.name}", "formula": one.text, "source": one.source}
            for one in formulas
        ]
    return {key: one for key, one in data.items() if one != ""}


def _walk(document: Document, path: Path) -> Node:
    """The value at a path.

    Raises:
        UsageError: The object has no such field; the message says up to where it has.
    """
    from gangform.documents.document import dig

    node: Node = document.manifest
    for depth, part in enumerate(path):
        inside = dig(node, part)
        if inside is None:
            keys = list(node) if isinstance(node, dict) else []
            where = f"{document.kind}/{document.key.name} {show_path(path[:depth])}".rstrip()
            raise UsageError(f"{where} has no `{part}`; {_near(str(part), keys)}")
        node = inside
    return node


def _plain(node: Any) -> Any:
    """Maps and lists of the manifest as such, whatever they are made of."""
    from collections.abc import Mapping, Sequence

    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, Sequence) and not isinstance(node, str):
        return [_plain(value) for value in node]
    return node


def _formulas(path: Path) -> list[Formula]:
    """What derives a plan field called like the last key of a path."""
    from gangform.plan.figures import FORMULAS

    names = [part for part in path if isinstance(part, str)]
    if not names:
        return []
    wanted = re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", names[-1]).lower()
    return [one for one in FORMULAS.values() if one.name == wanted]


def _near(word: str, known: list[str]) -> str:
    from gangform.inputs.nearest import nearest

    near = nearest(word, known)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"it has {', '.join(known[:30])}" if known else "it has nothing inside"


# ── drawing ──────────────────────────────────────────────────────────────────────────────────────


def _rows(data: dict[str, Any], title: str) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for key, value in data.items():
        if key == "derived":
            for one in value:
                rows.append(("formula", f"{one['by']} = {one['formula']}"))
                rows.append(("source", one["source"]))
        elif isinstance(value, list) and all(isinstance(one, str) for one in value):
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
