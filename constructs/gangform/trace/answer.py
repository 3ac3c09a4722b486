"""The answer for one field of one object: what it follows, and what it is where it follows nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gangform.apis.stored import complete
from gangform.documents.document import Document, Node, dig
from gangform.findings import Path
from gangform.plan.serving import ServingPlan
from gangform.trace.causes import Cause
from gangform.trace.subject import Subject
from gangform.trace.tree import ends, without


class Answer(NamedTuple):
    """Where a value, or all that is inside of a map or list, comes from."""

    document: Document
    path: Path
    value: Node
    inside: int
    """How many single values the map or list holds; 0 for a single value."""
    causes: tuple[Cause, ...]
    """Of a map or list those of all that is inside, without the plan's fields."""
    server: bool
    """Whether the API server would write the same value where there was none."""
    patch: Path | None
    """The user's patch that made it."""


def answer(subject: Subject, index: int, path: Path) -> Answer:
    """Trace one field of a document of a bundle.

    Raises:
        LookupError: The object has no such field.
    """
    document = subject.bundle.documents[index]
    value = dig(document.manifest, *path)
    if value is None:
        raise LookupError(f"{document.key} has no such field")
    below = list(ends(value, path))
    inner = not isinstance(value, (str, int)) and bool(value)
    causes: dict[tuple[object, ...], Cause] = {}
    for one in below:
        for cause in subject.causes(index).get((index, one), ()):
            if not inner or cause.sort != "plan":
                causes.setdefault((cause.sort, cause.path, str(cause.value)), cause)
    return Answer(
        document=document,
        path=path,
        value=value,
        inside=len(below) if inner else 0,
        causes=tuple(causes.values()),
        server=not inner and _by_server(document, path, value),
        patch=_patch(subject, document, below),
    )


def _by_server(document: Document, path: Path, value: Node) -> bool:
    """Whether the value comes back when it is taken away; a text in a list is never one."""
    if not path or isinstance(path[-1], int) or path[-1] in ("apiVersion", "kind"):
        return False
    return dig(complete(without(document.manifest, path)), *path) == value


def _patch(subject: Subject, document: Document, below: Sequence[Path]) -> Path | None:
    plan = subject.bundle.plan
    changed = subject.bundle.patched.get(document.key, {})
    for path in below:
        if path in changed and isinstance(plan, ServingPlan):
            return (*plan.at, "patches", changed[path])
    return None
