"""What decides a value of the output, for people and for machines.

For machines each answer is an object: `file`, `line` and `text` of a line, `stale` where the file is not current,
`object`, `path`, `value`, `inside` (how many values a map or list holds), `builder`, `for`, `form` (why a workload is
of its kind), `plan`, `derived` (nearest first), `inputs`, `mayBeSet`, `defaults`, `patch`, `input` (what the plan owns
is changed there and not by a patch), `fixed` (no input and no default decides), `edition`, `cost`. What is empty is
left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gangform.cli.cost import cost, cost_inside
from gangform.cli.selection import Selection
from gangform.cli.table import structured
from gangform.findings import Path, show_path
from gangform.inputs.reference import RowDoc, rows_of
from gangform.manifests.ownership import input_of
from gangform.plan.serving import ServingPlan
from gangform.trace.answer import Answer, answer
from gangform.trace.causes import Cause, Sort, sorts
from gangform.trace.subject import Subject

if TYPE_CHECKING:
    from gangform.inputs.spans import Spans

_LONG = 60
"""Characters of a value that stands in a line with others."""


def answered(chosen: Selection, subject: Subject, index: int, path: Path) -> dict[str, Any]:
    """What decides a field of a document of a file, for machines."""
    found = answer(subject, index, path)
    spans = chosen.loaded.spans
    by, form = sorts(found.causes), _form(subject, found)
    edition = chosen.loaded.fleet.defaults
    written = [one for one in by["input"] if one.value is not None]
    document = found.document
    data: dict[str, Any] = {
        "object": str(document.key),
        "path": show_path(path),
        "value": _plain(found.value),
        "inside": found.inside or None,
        "builder": document.builder,
        "for": show_path(document.origin) if document.origin else None,
        "plan": [{"field": show_path(one.path), "value": _shown(one.value)} for one in by["plan"]],
        "derived": [_derived(one) for one in reversed(by["formula"])],
        "inputs": [_input(one, chosen) for one in written],
        "mayBeSet": [show_path(one.path) for one in by["input"] if one.value is None],
        "defaults": [_default(one, edition) for one in by["default"]],
        "patch": None if found.patch is None else _place(found.patch, spans),
        "input": _owner(subject, index, path),
        "form": form,
        "fixed": None if form else _fixed(subject, found, by),
        "edition": edition,
        "cost": _cost(subject, found, index),
    }
    return {key: one for key, one in data.items() if one not in (None, "", [])}


def _fixed(subject: Subject, found: Answer, by: Mapping[Sort, Sequence[Cause]]) -> str | None:
    """What a value is that no input and no default decides."""
    if found.inside or found.patch is not None or by["input"] or by["default"]:
        return None
    if found.causes:
        return f"{_decider(subject, found)} writes it so; no input and no default changes it"
    if found.server:
        return "what the API server stores where nothing is written, spelled out so that no tool sees a difference"
    return f"{found.document.builder} writes it so; nothing in the plan changes it"


def _decider(subject: Subject, found: Answer) -> str:
    """Who put a value into the plan: the engine, the backend, or the plan itself."""
    plan = subject.bundle.plan
    sections = {part for one in found.causes for part in one.path}
    if isinstance(plan, ServingPlan) and "launch" in sections:
        return f"the engine {plan.serving.engine.name}"
    if isinstance(plan, ServingPlan) and "stamp" in sections:
        return f"the backend {plan.serving.admission.backend}"
    return "the plan"


def _form(subject: Subject, found: Answer) -> str | None:
    """Why a workload is of this kind."""
    plan = subject.bundle.plan
    if not isinstance(plan, ServingPlan) or found.document.kind != plan.choice.form.kind:
        return None
    return plan.choice.reason if found.path in (("apiVersion",), ("kind",)) else None


def _owner(subject: Subject, index: int, path: Path) -> str | None:
    """The input to change where a patch over the value would be refused."""
    plan = subject.bundle.plan
    if not isinstance(plan, ServingPlan) or not path:
        return None
    return input_of(plan, subject.bundle.documents[index].manifest, path)


def _derived(cause: Cause) -> dict[str, Any]:
    one = cause.derivation
    assert one is not None
    return {
        "by": f"{one.formula.module}.{one.formula.name}",
        "operands": {name: _shown(value) for name, value in one.operands.items()},
        "result": _shown(one.result),
        "formula": one.formula.text,
        "source": one.formula.source,
    }


def _input(cause: Cause, chosen: Selection) -> dict[str, Any]:
    spans = chosen.loaded.spans
    data: dict[str, Any] = {"path": show_path(cause.path), "value": _shown(cause.value)}
    if not spans.written(cause.path):
        return {**data, "written": False}
    return {**data, "written": True, "at": _place(cause.path, spans), **_source(cause.path, chosen)}


def _source(path: Path, chosen: Selection) -> dict[str, str]:
    """Where a figure of a profile comes from, as the profile says."""
    library = chosen.loaded.library
    shelf = {"models": library.models, "hardware": library.hardware}.get(str(path[0]))
    profile = shelf.get(str(path[1])) if shelf is not None else None
    sources: Mapping[str, str] = getattr(profile, "sources", {})
    for length in range(len(path), 2, -1):
        if (source := sources.get(show_path(path[2:length]))) is not None:
            return {"source": source}
    return {}


def _place(path: Path, spans: Spans) -> str:
    """`gangform.yaml:14 servings[0].parallelism.tensor`."""
    return f"{spans.find(path)} {spans.display(path)}".rstrip()


def _default(cause: Cause, edition: int) -> dict[str, Any]:
    row = show_path(cause.path[1:])
    rows: Iterable[RowDoc] = rows_of(edition)
    reason = next((one.reason for one in rows if one.row == row), "")
    return {"row": row, "value": _shown(cause.value), "edition": edition, "reason": reason}


def _cost(subject: Subject, found: Answer, index: int) -> list[dict[str, Any]]:
    versions = subject.cluster.versions.releases
    if found.inside:
        return cost_inside(found.document, found.path, versions)
    plan = subject.bundle.plan
    durations = {}
    if isinstance(plan, ServingPlan):
        durations = {
            document.key: plan.lead.rollout.duration
            for document in subject.bundle.documents
            if document.kind == plan.choice.form.kind
        }
    return cost(subject.bundle.documents, index, found.path, versions, durations)


def _plain(node: Any) -> Any:
    """Maps and lists of a manifest as such, whatever they are made of."""
    if isinstance(node, Mapping):
        return {key: _plain(value) for key, value in node.items()}
    if isinstance(node, Sequence) and not isinstance(node, str):
        return [_plain(value) for value in node]
    return node


def _shown(value: object) -> str:
    """A value of a plan or an input in a line."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    name = getattr(value, "name", None)
    text = name if isinstance(name, str) else getattr(value, "kind", None) or str(value)
    text = " ".join(str(text).split())
    return text if len(text) <= _LONG else f"{text[: _LONG - 1]}…"


# ── as text ──────────────────────────────────────────────────────────────────────────────────────


def rows(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    """An answer in lines, from the value up to what decides it."""
    return list(_rows(data))


def _rows(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if "stale" in data:
        yield "stale", data["stale"]
    if "object" in data:
        yield "object", data["object"]
    if data.get("path"):
        yield "path", data["path"]
    if "value" in data:
        yield "value", _spelled(data["value"])
    if "form" in data:
        yield "form", data["form"]
    if "inside" in data:
        yield "holds", f"{data['inside']} values; this is what any of them follows"
    if "builder" in data:
        origin = f", for {data['for']}" if "for" in data else ""
        yield "placed by", f"{data['builder']}{origin}"
    yield from (("plan", f"{one['field']} = {one['value']}") for one in data.get("plan", ()))
    for one in data.get("derived", ()):
        operands = ", ".join(f"{name} = {value}" for name, value in one["operands"].items())
        yield "formula", f"{one['by']}({operands}) = {one['result']}"
        yield "", f"{one['formula']} [{one['source']}]"
    if "patch" in data:
        yield "patch", data["patch"]
    for one in data.get("inputs", ()):
        source = f" [{one['source']}]" if "source" in one else ""
        if one["written"]:
            yield "input", f"{one['at']} = {one['value']}{source}"
        else:
            yield "input", f"{one['path']} = {one['value']}, which is not written"
    for one in data.get("defaults", ()):
        yield (
            "default",
            f"{one['row']} = {one['value']} (edition {one['edition']}): {one['reason']}",
        )
    if "mayBeSet" in data:
        yield "may be set", ", ".join(data["mayBeSet"])
    if "fixed" in data:
        yield "fixed", data["fixed"]
    if "input" in data:
        yield "no patch", f"the plan owns it: change {data['input']}"
    for one in data.get("cost", ()):
        when = f"if {one['when']}: " if "when" in one else ""
        known = f" [{one['evidence']}: {one['source']}]" if "source" in one else ""
        yield "a change", f"{when}{one['does']}{known}"


def _spelled(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return structured(value, "yaml").rstrip("\n")
    return str(value).lower() if isinstance(value, bool) else str(value)
