"""Texts that were to be filled in before somebody applies them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.kinds import GROUPS
from gangform.apis.views import Documents
from gangform.documents.document import Document
from gangform.documents.placeholders import Placeholder, candidates, placeholder
from gangform.findings import Path, Severity, declare
from gangform.rules.rule import EVERY_KIND, Context, Fault, joined, rule

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

_TEXTS_OF_OTHERS: Final = frozenset({"ConfigMap", "PrometheusRule"})
"""Kinds that hold files and templates."""
_EACH: Final = ("image", "value")


@rule(REFUSED, kinds=EVERY_KIND, blanks=True)
def placeholder_left(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Images, names, labels and numbers are filled in."""
    yield from _left(subject, documents, taken=False)


@rule(TAKEN, kinds=EVERY_KIND, blanks=True)
def placeholder_in_value(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Variables and other free texts are filled in."""
    yield from _left(subject, documents, taken=True)


@joined
def _found(documents: Documents) -> dict[int, list[tuple[Path, str, Placeholder]]]:
    """By document what is still to be filled in, and where."""
    return {
        id(document): [
            (path, value, found)
            for path, value in candidates(document.manifest)
            if (found := placeholder(path, value)) is not None
        ]
        for document in documents.all
        if document.kind in GROUPS and document.kind not in _TEXTS_OF_OTHERS
    }


def unrendered(documents: Documents, subject: Document) -> bool:
    """Whether an object is a template for `envsubst`: a name, an image or a number of it is a shell variable."""
    found = _found(documents).get(id(subject), ())
    return any(not one.taken and one.written.startswith("$") for _, _, one in found)


def _left(subject: Document, documents: Documents, *, taken: bool) -> Iterator[Fault]:
    """Containers are filled in one by one; a name that stands in several places is one thing to fill in."""
    said: set[str] = set()
    for path, value, found in _found(documents).get(id(subject), ()):
        if found.taken != taken or (path[-1] not in _EACH and value in said):
            continue
        said.add(value)
        yield Fault(
            path=path,
            what=f"`{value[:80]}` is still to be filled in",
            fix=f"write what `{found.written[:80]}` stands for, or render the file before it is applied",
            seen={"placeholder": found.written},
        )
