"""An index over plain documents: by kind, by key, by the labels that pods will carry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gangform.apis.apps import DeploymentForm
from gangform.apis.disaggregatedset import DisaggregatedSetForm
from gangform.apis.forms import GroupView, PodView, Reader
from gangform.apis.leaderworkerset import LeaderWorkerSetForm
from gangform.apis.statefulset import StatefulSetForm
from gangform.documents.document import Document, Key, group_of, sequence, text

FORMS: Mapping[str, Reader] = {
    form.kind: form
    for form in (DeploymentForm(), StatefulSetForm(), LeaderWorkerSetForm(), DisaggregatedSetForm())
}
"""Every kind that runs groups and that we read."""


def form_of(kind: str) -> Reader | None:
    """The form of a kind; `None` for a kind that runs no groups."""
    return FORMS.get(kind)


class Documents:
    """An index over the documents of one cluster. Built once, read by rules, diff and drain."""

    def __init__(self, documents: Iterable[Document]) -> None:
        """Index by kind, by key, and the pods of every kind that has a form by their labels."""
        self.all: tuple[Document, ...] = tuple(documents)
        self.joins: dict[object, Any] = {}
        """What was joined over all of them, by what joins; filled by rules as they ask."""
        self._by_kind: defaultdict[str, list[Document]] = defaultdict(list)
        self._by_key: dict[Key, Document] = {}
        groups: list[GroupView] = []
        for document in self.all:
            self._by_kind[document.kind].append(document)
            self._by_key.setdefault(document.key, document)
        for document in self.all:
            if (form := form_of(document.kind)) is not None and not self._made(document):
                groups.extend(form.read(document))
        self._groups = tuple(groups)
        self._groups_of: defaultdict[Key, list[GroupView]] = defaultdict(list)
        self._pods: defaultdict[str, list[PodView]] = defaultdict(list)
        self._by_label: defaultdict[tuple[str, str, str], list[int]] = defaultdict(list)
        self._by_varying: defaultdict[tuple[str, str], list[int]] = defaultdict(list)
        for group in self._groups:
            self._groups_of[group.document.key].append(group)
            if group.target != group.document.key:
                self._groups_of[group.target].append(group)
            for pod in group.pods:
                self._index(group.namespace, pod)

    def _made(self, document: Document) -> bool:
        """Whether a controller made it out of a set that stands here too, as a dump of a cluster shows it."""
        for owner in sequence(document.manifest, "metadata", "ownerReferences"):
            group = group_of(text(owner, "apiVersion"))
            kind, name = text(owner, "kind"), text(owner, "name")
            if form_of(kind) and Key(group, kind, document.key.namespace, name) in self._by_key:
                return True
        return False

    def _index(self, namespace: str, pod: PodView) -> None:
        number = len(self._pods[namespace])
        self._pods[namespace].append(pod)
        for key, value in pod.labels.items():
            if key not in pod.varying:
                self._by_label[namespace, key, value].append(number)
        for key in pod.varying:
            self._by_varying[namespace, key].append(number)

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds that occur."""
        return frozenset(self._by_kind)

    def of(self, *kinds: str) -> Sequence[Document]:
        """The documents of these kinds, kind after kind, each in the order of the documents."""
        return [document for kind in kinds for document in self._by_kind.get(kind, ())]

    def get(self, key: Key) -> Document | None:
        """The document with a key; the first where it stands twice."""
        return self._by_key.get(key)

    def groups(self) -> Sequence[GroupView]:
        """Every set of groups, in the order of the documents."""
        return self._groups

    def groups_of(self, key: Key) -> Sequence[GroupView]:
        """The sets of groups of one object, or behind what its controller makes for an autoscaler to target."""
        return self._groups_of.get(key, ())

    def maker(self, target: Key) -> Key | None:
        """The set whose controller makes a StatefulSet of this name, of leaders or of a group's workers."""
        written = self._by_key.get(target)
        if written is not None and not sequence(written.manifest, "metadata", "ownerReferences"):
            return None
        stem, _, index = target.name.rpartition("-")
        for kind, form in FORMS.items():
            if not form.can.makes_stateful_sets or kind == target.kind:
                continue
            for name in (target.name, *([stem] if index.isdecimal() else [])):
                owner = Key(group_of(form.api_version), kind, target.namespace, name)
                if owner in self._by_key:
                    return owner
        return None

    def pods(self, namespace: str, selector: Mapping[str, str]) -> Sequence[PodView]:
        """The kinds of pod that a selector will match once the controllers have run.

        A selector of many labels looks only at the pods behind its rarest one. An empty selector matches every pod
        of the namespace, as in Kubernetes.
        """
        all_pods = self._pods.get(namespace, [])
        if not selector:
            return list(all_pods)
        rows = [
            (
                self._by_label.get((namespace, key, value), []),
                self._by_varying.get((namespace, key), []),
            )
            for key, value in selector.items()
        ]
        fixed, varying = min(rows, key=lambda row: len(row[0]) + len(row[1]))
        return [all_pods[n] for n in sorted({*fixed, *varying}) if all_pods[n].matches(selector)]
