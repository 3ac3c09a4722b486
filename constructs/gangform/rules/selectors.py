"""Selectors match pods.

Of documents that are no complete set a selector may be meant for pods that stand elsewhere. It is missed where it
comes near to pods that stand here: all but one of its labels are theirs, or it names a set of theirs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import APP_INSTANCE, APP_PART_OF, APP_VERSION, MANAGED_BY
from gangform.apis.views import Documents, form_of
from gangform.documents.document import Document, Node, dig, mapping, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    engine_of,
    gpus,
    groups_behind,
    is_set,
    labels_of,
    match_labels,
    read_runs,
)
from gangform.rules.rule import Context, Fault, joined, rule

SELECTOR_EMPTY = declare(
    "selector-matches-nothing",
    "A selector that matches no pod: the object does nothing",
    Severity.BREAKS,
    "lws §1, observability §5",
)
_SHARED: Final = frozenset({APP_INSTANCE, APP_PART_OF, APP_VERSION, MANAGED_BY})
"""Labels that objects with nothing else in common carry."""
_LOOKED_AT: Final = 100
"""How many pods are compared."""
_NEAR: Final = 0.8
"""How much of two values is the same where one is a slip of the other."""
_OF_ENGINES: Final = frozenset({"InferencePool", "PodDisruptionBudget"})
"""Kinds whose selectors mean what serves, and not what stands beside it."""
_WHOLE: Final = frozenset({"PodDisruptionBudget", "NetworkPolicy"})
"""Kinds whose selectors mean every pod of a set; the others mean those that serve."""
_NO_PODS: Final = frozenset(
    {
        "HorizontalPodAutoscaler",
        "PodDisruptionBudget",
        "PodGroup",
        "PodMonitor",
        "PrometheusRule",
        "Service",
        "ServiceAccount",
    }
)
"""Kinds that make no pods: nobody has to look."""


@joined
def _other_pods(documents: Documents) -> frozenset[str]:
    """Namespaces with pods of a kind that we cannot read: a selector may be meant for them."""
    return frozenset(
        document.key.namespace
        for document in documents.all
        if document.kind not in _NO_PODS
        and form_of(document.kind) is None
        and _holds_pods(document.manifest)
    )


def _holds_pods(node: Node) -> bool:
    if isinstance(node, Mapping):
        return "containers" in node or any(_holds_pods(value) for value in node.values())
    if isinstance(node, Sequence) and not isinstance(node, str):
        return any(_holds_pods(value) for value in node)
    return False


def selector_of(document: Document) -> tuple[Path, dict[str, str]] | None:
    """Where the selector of a document stands and its labels; `None` where it has none or expressions decide."""
    spec = mapping(document.manifest, "spec")
    if document.kind == "Service":
        labels = labels_of(dig(spec, "selector"))
        return (("spec", "selector"), labels) if labels else None
    field = "podSelector" if document.kind == "NetworkPolicy" else "selector"
    labels_ = match_labels(dig(spec, field))
    if not labels_ and document.kind == "InferencePool" and not mapping(spec, field, "matchLabels"):
        labels = labels_of(dig(spec, field))  # Before v1 the labels stood there without a word.
        return (("spec", field), labels) if labels else None
    return (("spec", field, "matchLabels"), labels_) if labels_ else None


def _namespaces(document: Document, documents: Documents) -> list[str] | None:
    """Where a selector looks; `None` for everywhere."""
    selector = mapping(document.manifest, "spec", "namespaceSelector")
    if dig(selector, "any") is True:
        return None
    names = [name for name in sequence(selector, "matchNames") if isinstance(name, str)]
    return names or [document.key.namespace]


@rule(
    SELECTOR_EMPTY,
    kinds=("Service", "PodDisruptionBudget", "NetworkPolicy", "PodMonitor", "InferencePool"),
)
def selector_matches_nothing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A selector matches the pods that some set of the documents will have."""
    if subject.kind == "PodDisruptionBudget" and dig(subject.manifest, "spec", "selector") is None:
        yield Fault(
            path=("spec", "selector"),
            what="there is no selector, which matches no pod",
            fix="select the pods of the set that the budget is for",
        )
    found = selector_of(subject)
    spaces = _namespaces(subject, documents)
    if found is None or spaces is None:
        return
    path, labels = found
    if any(space in _other_pods(documents) for space in spaces):
        return
    if any(documents.pods(space, labels) for space in spaces):
        return
    near = next(_meant(documents, subject, spaces, labels), None)
    if near is None and not context.complete:
        return
    shown = ", ".join(f"{key}={value}" for key, value in labels.items())
    use = ""
    if near is not None:
        use = _difference(labels, near.labels) or _proper(documents, subject, near)
    yield Fault(
        path=path,
        what=f"no pod carries {shown}",
        fix=use or "select labels that the pod templates carry",
        seen={"selector": shown},
    )


@joined
def _sets(documents: Documents) -> dict[tuple[str, str], GroupView]:
    """A set of groups by the namespace and name of its object."""
    return {
        (one.namespace, one.document.key.name): one for one in documents.groups() if is_set(one)
    }


def _meant(
    documents: Documents, subject: Document, spaces: Sequence[str], labels: Mapping[str, str]
) -> Iterator[PodView]:
    """The pods that a selector was surely meant for, the nearest first."""
    special = {key: value for key, value in labels.items() if key not in _SHARED}
    sharing = {
        id(pod): pod
        for key, value in special.items()
        for space in spaces
        for pod in documents.pods(space, {key: value})[:_LOOKED_AT]
    }
    for pod in sharing.values():
        wrong = [key for key in special if not pod.matches({key: special[key]})]
        # A number is an index, which any set has.
        fixed = any(
            pod.labels.get(key) == value and not value.isdecimal() for key, value in special.items()
        )
        if len(wrong) < 2 and (fixed or all(key in pod.labels for key in wrong)):
            yield pod
    for group in groups_behind(documents, list(sharing.values())):
        if labels.items() >= group.selectors.pods.items():
            yield group.leader
    # The name of a set that stands here, under the key of another kind.
    sets = _sets(documents)
    for space in spaces:
        for key, value in special.items():
            if key.endswith("/name") and (space, value) in sets:
                yield sets[space, value].leader
    if not sharing:
        yield from _only(documents, subject, spaces, special)


def _only(
    documents: Documents, subject: Document, spaces: Sequence[str], labels: Mapping[str, str]
) -> Iterator[PodView]:
    """The pods that are left to be meant by a selector that shares no label with any."""
    pods = [pod for space in spaces for pod in documents.pods(space, {})][:_LOOKED_AT]
    serving = [pod for pod in pods if gpus(documents, pod) or engine_of(documents, pod)]
    if subject.kind in _OF_ENGINES and len({id(pod.document) for pod in serving}) == 1:
        (pod,) = serving[:1]
        short, long = sorted((subject.key.name, pod.document.key.name), key=len)
        slips = any(_alike(value, pod.labels.get(key, "")) for key, value in labels.items())
        if slips or long.startswith(short):
            yield pod
    elif subject.kind == "Service" and len(labels) == 1:
        ((key, value),) = labels.items()
        for pod in pods:
            has = pod.labels.get(key)
            if has is not None and (_alike(value, has) or _opens(documents, pod, subject)):
                yield pod


def _alike(one: str, other: str) -> bool:
    from difflib import SequenceMatcher

    return SequenceMatcher(None, one, other).ratio() >= _NEAR


def _opens(documents: Documents, pod: PodView, service: Document) -> bool:
    """Whether pods declare or open the first port that a Service sends to."""
    port = next(iter(sequence(service.manifest, "spec", "ports")), None)
    target = dig(port, "targetPort")
    target = dig(port, "port") if target is None else target
    return any(
        (run.reading is not None and target == run.reading.port)
        or any(
            target in (whole(each, "containerPort"), text(each, "name"))
            for each in sequence(run.container, "ports")
        )
        for run in read_runs(documents, pod)
    )


def _difference(labels: Mapping[str, str], has: Mapping[str, str]) -> str:
    wrong = [key for key, value in labels.items() if has.get(key) != value]
    for key in wrong:
        if key in has:
            return f"write {key}: {has[key]}, as on the pods, instead of {labels[key]}"
    return ""


def _proper(documents: Documents, subject: Document, pod: PodView) -> str:
    """The labels that select the pods meant, on the set that stands nearest."""
    group = next(iter(groups_behind(documents, [pod])), None)
    if group is None:
        return ""
    selectors = group.selectors
    wanted = selectors.pods if subject.kind in _WHOLE else selectors.leaders
    return "select " + ", ".join(f'{key}: "{value}"' for key, value in wanted.items())
