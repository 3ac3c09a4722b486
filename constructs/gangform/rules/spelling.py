"""Fields of Kubernetes' own specs whose names are nearly right: a probe or a limit that is simply absent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.pod_fields import POD, SPECS
from gangform.apis.structure import strangers, structure
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import groups_of, templates
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

MISSPELT = declare(
    "field-misspelt",
    "A field whose name is nearly that of another: the server drops it in silence, or refuses it where it is strict",
    Severity.DEGRADES,
    "lws §13.1; Kubernetes: field validation",
)

_NEAR: Final = 0.8
"""Below this a name may be that of a later release."""


def _strange(subject: Document, documents: Documents) -> Iterator[tuple[Path, tuple[str, ...]]]:
    places: list[tuple[Path, str]] = []
    own_spec = SPECS.get((subject.key.group, subject.kind))
    if own_spec is not None:
        places.append((("spec",), own_spec))
    for group in groups_of(documents, subject):
        # A template of another document is that one's matter.
        own = [pod for pod in templates(group) if pod.document is subject]
        places += [((*pod.path, "spec"), POD) for pod in own]
    for path, text in dict(places).items():
        node = dig(subject.manifest, *path)
        if node is not None:
            yield from strangers(node, structure(text), path)


@rule(MISSPELT, kinds=dict.fromkeys((*WORKLOADS, *(kind for _, kind in SPECS))))
def field_misspelt(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """No field has nearly the name of one that the API has."""
    for path, known in _strange(subject, documents):
        from difflib import get_close_matches  # hardly ever is one strange

        name, above = str(path[-1]), path[:-1]
        near = get_close_matches(name, known, n=1, cutoff=_NEAR)
        if near:
            twice = dig(subject.manifest, *above, near[0]) is not None
            yield Fault(
                path=path,
                what=f"the API has no `{name}` here; {near[0]} is its nearest",
                fix=f"remove it: {near[0]} is written too" if twice else f"write it as {near[0]}",
                seen={"field": name},
            )
