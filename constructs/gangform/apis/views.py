"""An index over plain documents: by kind, by key, by the labels that pods will carry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from gangform.apis.apps import DeploymentForm
from gangform.apis.forms import Form, GroupView, PodView
from gangform.apis.leaderworkerset import LeaderWorkerSetForm
from gangform.documents.document import Document, Key

FORMS: Mapping[str, Form] = {
    form.kind: form for form in (DeploymentForm(), LeaderWorkerSetForm())
}
"""Every kind that runs groups and that we read."""


def form_of(kind: str) -> Form | None:
    """The form of a kind; `None` for a kind that runs no groups."""
    return FORMS.get(kind)


class Documents:
    """An index over the documents of one cluster. Built once, read by rules, diff and drain."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Index by kind and key, and read the groups of every kind that has a form."""
        self.all: tuple[Document, ...] = tuple(documents)
        self._by_kind: defaultdict[str, list[Document]] = defaultdict(list)
        self._by_key: dict[Key, Document] = {}
        for document in self.all:
            self._by_kind[document.kind].append(document)
            self._by_key.setdefault(document.key, document)
        self._groups: tuple[GroupView, ...] | None = None
        self._pods: dict[tuple[str, str, str], list[PodView]] | None = None

    def of(self, *kinds: str) -> Sequence[Document]:
        """The documents of these kinds, in their order."""
        return [document for kind in kinds for document in self._by_kind.get(kind, ())]

    def get(self, key: Key) -> Document | None:
        """The document with a key; the first where it stands twice."""
        return self._by_key.get(key)

    def groups(self) -> Sequence[GroupView]:
        """Every set of groups."""
        raise NotImplementedError

    def pods(self, namespace: str, selector: Mapping[str, str]) -> Sequence[PodView]:
        """The kinds of pod that a selector will match once the controllers have run."""
        raise NotImplementedError
