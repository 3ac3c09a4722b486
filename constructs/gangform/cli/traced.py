"""`gangform explain FILE:LINE` and `gangform explain KIND/NAME PATH`: from a line of the output to who decides it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path as File
from typing import Any

from gangform.cli.origins import answered
from gangform.cli.selection import Selection
from gangform.cli.terminal import UsageError
from gangform.documents.document import Node, dig
from gangform.findings import Path, either, show_path
from gangform.inputs.serving import FOUNDATION
from gangform.synth import SUFFIX
from gangform.trace.lines import lines
from gangform.trace.subject import Subject

_STALE = "the file is not current: `gangform synth` would write {}"
_PART = re.compile(r"\.?([^.\[\]]+)|\[(\d+)\]|\[([^\]]+)\]")


def of_line(chosen: Selection, file: str, number: int) -> list[dict[str, Any]]:
    """The answer for a line of a file of the output.

    Raises:
        UsageError: No such file or line, or a file that the fleet does not make.
        InputError: Something breaks in the plan.
    """
    text = File(file).read_text(encoding="utf-8") if File(file).is_file() else None
    if text is None:
        raise UsageError(f"there is no file {file}")
    subject, made = _subject_of(chosen, file)
    count = len(text.splitlines())
    line = lines(text, file).get(number)
    if line is None:
        raise UsageError(f"{file} has {count} lines" if number > count else f"{file}: no manifest")
    here: dict[str, Any] = {"file": made, "line": number, "text": text.splitlines()[number - 1]}
    keys = [document.key for document in subject.bundle.documents]
    if line.key not in keys:
        return [{**here, "object": str(line.key), "stale": _STALE.format("no such object")}]
    index = keys.index(line.key)
    if line.path is None:
        after = f", the next is {keys[index + 1]}" if index + 1 < len(keys) else ""
        return [{**here, "fixed": f"the line between two objects: here ends {line.key}{after}"}]
    manifest = subject.bundle.documents[index].manifest
    value = dig(manifest, *line.path)
    if value is None:
        stale = _STALE.format(f"{line.key} without {show_path(line.path)}")
        return [{**here, "object": str(line.key), "path": show_path(line.path), "stale": stale}]
    data = {**here, **answered(chosen, subject, index, line.path)}
    if "inside" in data:
        del data["value"]  # It stands on the lines that follow.
    if value != dig(line.manifest, *line.path):
        data["stale"] = _STALE.format(f"{show_path(line.path)} as below")
    return [data]


def of_object(chosen: Selection, target: str, path: str) -> list[dict[str, Any]]:
    """The answers for a field of every object of that kind and name; `KIND/NAMESPACE/NAME` is one.

    Raises:
        UsageError: There is no such object, or it has no such field.
        InputError: Something breaks in a plan.
    """
    if not target.partition("/")[2]:
        raise UsageError(f"`{target} {path}` is no object; write KIND/NAME, then a path in it")
    keys = parse_path(path)
    found: list[dict[str, Any]] = []
    every: list[str] = []
    for subject, made in subjects(chosen):
        for index, document in enumerate(subject.bundle.documents):
            every.append(f"{document.kind}/{document.key.name}")
            if target in (f"{document.kind}/{document.key.name}", str(document.key)):
                here = _resolved(document.manifest, keys, target)
                found.append({"file": made, **answered(chosen, subject, index, here)})
    if not found:
        raise UsageError(f"the output has no {target}; {_near(target, every)}")
    return found


def parse_path(path: str) -> Path:
    """`spec.containers[0].image` or `metadata.labels[app.kubernetes.io/name]` as keys and indexes."""
    return tuple(
        int(index) if index else plain or bracketed
        for plain, index, bracketed in _PART.findall(path)
    )


def _resolved(manifest: Node, path: Path, target: str) -> Path:
    """The path by keys and indexes; an entry of a list may be called by its name, as findings and prices do.

    Raises:
        UsageError: The object has no such field; the message says up to where it has.
    """
    node: Node | None = manifest
    found: list[str | int] = []
    for part in path:
        names = _names(node)
        key = names.index(part) if part in names else part
        inside = dig(node, key)
        if inside is None:
            known = list(node) if isinstance(node, Mapping) else names
            where = f"{target} {show_path(tuple(found))}".rstrip()
            raise UsageError(f"{where} has no `{part}`; {_near(str(part), known)}")
        found.append(key)
        node = inside
    return tuple(found)


def _names(node: Node | None) -> list[str]:
    """What the entries of a list are called; empty where they have no names."""
    if isinstance(node, (Mapping, str)) or not isinstance(node, Sequence):
        return []
    names = [one.get("name") if isinstance(one, Mapping) else None for one in node]
    return [str(name) for name in names] if all(isinstance(n, str) for n in names) else []


def _near(word: str, known: Sequence[str]) -> str:
    from gangform.inputs.nearest import nearest

    near = nearest(word, known)
    if near:
        return f"did you mean {either(near)}?"
    return f"it has {', '.join(known[:30])}" if known else "it has nothing inside"


# ── which file ───────────────────────────────────────────────────────────────────────────────────


def subjects(chosen: Selection) -> Iterator[tuple[Subject, str]]:
    """Every file that the fleet makes, under examination, with its path below the output folder."""
    fleet, library = chosen.loaded.fleet, chosen.loaded.library
    for cluster in fleet.clusters:
        names = [serving.name for serving in fleet.servings_of(cluster)]
        for name in (*names, FOUNDATION):
            yield Subject(fleet, library, cluster, name), f"{cluster.name}/{name}{SUFFIX}"


def _subject_of(chosen: Selection, file: str) -> tuple[Subject, str]:
    path = File(file).absolute().as_posix()
    every = list(subjects(chosen))
    for subject, made in every:
        if path.endswith(f"/{made}"):
            return subject, made
    known = [made for _, made in every]
    raise UsageError(
        f"{file} is not in the output; {_near('/'.join(File(file).parts[-2:]), known)}"
    )
