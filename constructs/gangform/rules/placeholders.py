"""Texts that were to be filled in before somebody applies them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.kinds import GROUPS
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node
from gangform.documents.placeholders import placeholder
from gangform.findings import Path, Severity, declare
from gangform.rules.rule import EVERY_KIND, Context, Fault, rule

REFUSED = declare(
    "placeholder-left",
    "A placeholder stands where the API or the registry takes no such text: it was to be filled in",
    Severity.BREAKS,
    "apimachinery: validation of names and labels; OCI distribution; cases h18",
)
TAKEN = declare(
    "placeholder-in-value",
    "A placeholder is taken as it stands: the process gets the words that were to be replaced",
    Severity.DEGRADES,
    "cases h01",
)

_TEXTS_OF_OTHERS: Final = frozenset({"ConfigMap", "Secret", "PrometheusRule"})
"""Kinds that hold files and templates."""
_EACH: Final = ("image", "value")


@rule(REFUSED, kinds=EVERY_KIND, blanks=True)
def placeholder_left(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Images, names, labels and numbers are filled in."""
    yield from _left(subject, taken=False)


@rule(TAKEN, kinds=EVERY_KIND, blanks=True)
def placeholder_in_value(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Variables and other free texts are filled in."""
    yield from _left(subject, taken=True)


def _left(subject: Document, *, taken: bool) -> Iterator[Fault]:
    """Containers are filled in one by one; a name that stands in several places is one thing to fill in."""
    if subject.kind not in GROUPS or subject.kind in _TEXTS_OF_OTHERS:
        return
    said: set[str] = set()
    for path, value in _texts(subject.manifest, ()):
        found = placeholder(path, value)
        if found is None or found.taken != taken or (path[-1] not in _EACH and value in said):
            continue
        said.add(value)
        yield Fault(
            path=path,
            what=f"`{value[:80]}` is still to be filled in",
            fix=f"write what `{found.written[:80]}` stands for, or render the file before it is applied",
            seen={"placeholder": found.written},
        )


def _texts(node: Node, path: Path) -> Iterator[tuple[Path, str]]:
    if isinstance(node, str):
        yield path, node
    elif isinstance(node, (dict, list, tuple)):
        for key, value in node.items() if isinstance(node, dict) else enumerate(node):
            if isinstance(value, (str, dict, list, tuple)):
                yield from _texts(value, (*path, key))
