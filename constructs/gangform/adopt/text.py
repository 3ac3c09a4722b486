"""The file that an adoption writes: a fleet with one serving a set, and comments on all that was not taken over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gangform.adopt.derived import IN_ORDER, Difference
from gangform.adopt.subject import Unread
from gangform.documents.document import Node
from gangform.findings import Finding, brief
from gangform.inputs.spelling import entry, flow

_MANY = 60


class Adopted(NamedTuple):
    """One serving, and what is to be said of it."""

    title: str
    """The set that it comes from."""
    serving: Mapping[str, Any]
    remarks: tuple[str, ...]
    """What was chosen, and may be wrong."""
    unread: tuple[Unread, ...]
    differences: tuple[Difference, ...]
    known: frozenset[str] = frozenset()
    """Objects beside the set that the serving takes over, or writes under the same name."""
    warned: tuple[tuple[str, str], ...] = ()
    """Fields with what stands directly above them."""


def fleet_text(
    head: Sequence[str],
    adopted: Sequence[Adopted],
    beside: Sequence[Unread] = (),
    findings: Sequence[Finding] = (),
) -> str:
    """The whole file.

    Args:
        head: Lines before `servings:`.
        adopted: The servings.
        beside: Objects that no serving takes over.
        findings: What `validate` says of the file.
    """
    lines = [*head, "servings:"]
    for one in adopted:
        lines += [f"  # from {one.title}", *(f"  # {text}" for text in one.remarks)]
        first = True
        for key, value in one.serving.items():
            lines += (f"    # {text}" for field, text in one.warned if field == key)
            for line in entry(key, value, "    "):
                lines.append(f"  - {line[4:]}" if first else line)
                first = False
        lines += (f"    # {line}".rstrip() for line in _said(one))
    if beside:
        lines += ["", "# Beside, and not taken over:", *(f"#   {one.where}" for one in beside)]
    if findings:
        lines += ["", "# What `gangform validate` says of it, to be mended first:"]
        for finding in findings:
            lines += (f"#   {line}" for line in brief(finding).splitlines())
    return "\n".join(lines) + "\n"


def _said(one: Adopted) -> Iterator[str]:
    """The comments after a serving."""
    if one.unread:
        yield ""
        yield "not read:"
        for each in one.unread:
            value = f" {shown(each.value)}" if each.value != "" else ""
            yield f"  {each.where}:{value} ({each.why})"
    if one.differences:
        yield ""
        yield "what runs -> what gangform writes; `gangform diff --live` says what each does, and how to keep it:"
        for difference in one.differences:
            yield f"  {difference.path}: {_change(difference)}"


def _change(one: Difference) -> str:
    live, ours = one.live, one.ours
    if live == ours == IN_ORDER:
        return IN_ORDER
    if _words(live) and _words(ours):
        gone = [word for word in live if word not in ours]  # type: ignore[union-attr,operator]
        come = [word for word in ours if word not in live]  # type: ignore[union-attr,operator]
        if not gone and not come:
            return IN_ORDER
        live, ours = gone, come
    if live is None:
        return f"- -> {shown(ours)}"
    return f"{shown(live)} -> {'-' if ours is None else shown(ours)}"


def _words(node: Node | None) -> bool:
    return isinstance(node, (list, tuple)) and all(isinstance(word, str) for word in node)


def shown(node: Node | None) -> str:
    """A value on one line, cut where it is long."""
    text = flow(node)
    return text if len(text) <= _MANY * 2 else f"{text[: _MANY * 2]} …"
