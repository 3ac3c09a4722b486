"""An autoscaler of a set, as bounds and signal: a HorizontalPodAutoscaler, or a ScaledObject with its queries."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from gangform.adopt.subject import Subject, Unread
from gangform.apis import keda
from gangform.documents.document import Document, dig, mapping, sequence, text, whole
from gangform.engines.engine import engine
from gangform.engines.exports import engine_alone
from gangform.plan.scaling import own_selector
from gangform.rules.joins import owned, scaler_of

_SUM: Final = re.compile(r"\s*sum\(\s*([\w:]+)\s*(?:\{([^{}]*)\})?\s*\)(?:\s+or\s+vector\(0\))?\s*")
_EQUAL: Final = re.compile(r'\s*(\w+)\s*=\s*"([^"\\]*)"\s*')
_BUSY: Final = re.compile(r"> bool 0$")
"""How our query for what is being answered ends; it follows from the minimum."""
_TYPES: Final = {"external": "External", "pods": "Pods"}
_WHY: Final = (
    "gangform scales by the average a group of one external metric, or of one of the leaders"
)
_WHY_QUERY: Final = (
    "gangform asks for the sum of one series of the serving, and for what a front end holds"
)


class Scaler(NamedTuple):
    """What an autoscaler says."""

    autoscaling: Mapping[str, Any]
    """Fields of `autoscaling` of a serving."""
    adapter: str
    """`metricsAdapter` of the cluster."""
    prometheus: str
    """Where Prometheus is, as a trigger says; empty where none does."""
    unread: tuple[Unread, ...]
    key: str
    """What says it."""


def scaler(subject: Subject) -> Scaler | None:
    """The first autoscaler of a set; `None` where it has none that says a maximum."""
    group, by_keda = subject.group, None
    for document in subject.beside:
        target = mapping(document.manifest, "spec", "scaleTargetRef")
        if document.key.namespace != group.namespace:
            continue
        if (text(target, "kind"), text(target, "name")) != (group.kind, group.name):
            continue
        # KEDA makes a HorizontalPodAutoscaler of a ScaledObject, which says it in its own words.
        if owned(document):
            by_keda = by_keda or _made_by_keda(document)
            continue
        found = scaler_of(document)
        spec = mapping(document.manifest, "spec")
        if document.kind == keda.KIND:
            made: dict[str, Any] = {"min": found.least, "max": max(1, found.most)}
            unread = tuple(_triggers(subject, document, made))
            return Scaler(made, "keda", _server(spec), unread, str(document.key))
        if whole(spec, "maxReplicas") is not None:
            made = {"min": max(1, found.least), "max": max(1, found.most)}
            unread = tuple(_metrics(subject, document, made))
            adapter = "prometheus-adapter" if "type" in made else "external"
            return Scaler(made, adapter, "", unread, str(document.key))
    return by_keda


def _made_by_keda(document: Document) -> Scaler | None:
    """Bounds out of what KEDA made of a ScaledObject that is not there; `None` where another made it.

    A set that an autoscaler moves must not be taken for one of a fixed number.
    """
    for owner in sequence(document.manifest, "metadata", "ownerReferences"):
        if text(owner, "kind") == keda.KIND:
            found = scaler_of(document)
            made = {"min": max(1, found.least), "max": max(1, found.most)}
            why = (
                f"in {keda.KIND} {text(owner, 'name')}, which is not here: read `{keda.PLURAL}` too"
            )
            place = f"{document.key} spec.metrics"
            return Scaler(made, "keda", "", (Unread(place, "", why),), str(document.key))
    return None


def _metrics(subject: Subject, document: Document, made: dict[str, Any]) -> Iterator[Unread]:
    """One metric by its average; every other is said."""
    for index, one in enumerate(sequence(document.manifest, "spec", "metrics")):
        word = next((each for each in _TYPES if text(one, each, "metric", "name")), "")
        name, value = text(one, word, "metric", "name"), dig(one, word, "target", "averageValue")
        if name and "target" not in made and str(value).isdecimal():
            if _TYPES[word] != "External":
                made["type"] = _TYPES[word]
            if name != engine(subject.engine).waiting_metric.replace(":", "_"):
                made["metric"] = name
            made["target"] = int(str(value))
            _selected(subject, mapping(one, word, "metric", "selector", "matchLabels"), made)
        else:
            yield Unread(f"{document.key} spec.metrics[{index}]", one, _WHY)


def _triggers(subject: Subject, document: Document, made: dict[str, Any]) -> Iterator[Unread]:
    """The sum of one series, and what a front end holds; every other question is said."""
    for index, one in enumerate(sequence(document.manifest, "spec", "triggers")):
        query = text(one, "metadata", "query")
        value = text(one, "metadata", "threshold")
        asks = text(one, "type") == keda.PROMETHEUS
        own = engine_alone(query)
        if asks and own and _BUSY.search(query):
            continue
        if asks and own and "target" not in made and value.isdecimal():
            series, labels = _summed(query)
            if series and labels.pop("namespace", "") == subject.group.namespace:
                if series != engine(subject.engine).waiting_metric:
                    made["metric"] = series
                made["target"] = int(value)
                _selected(subject, labels, made)
                continue
        if asks and query and not own and "bufferQuery" not in made:
            made["bufferQuery"] = query
        else:
            yield Unread(f"{document.key} spec.triggers[{index}]", one, _WHY_QUERY)


def _summed(query: str) -> tuple[str, dict[str, str]]:
    """The series whose sum a query is, and the labels that it asks for; no series for any other query."""
    found = _SUM.fullmatch(query)
    if found is None:
        return "", {}
    parts = [part for part in (found[2] or "").split(",") if part.strip()]
    labels = [_EQUAL.fullmatch(part) for part in parts]
    if not all(labels):
        return "", {}
    return found[1], {one[1]: one[2] for one in labels if one is not None}


def _selected(subject: Subject, chosen: Mapping[str, Any], made: dict[str, Any]) -> None:
    """Labels beside those by which we tell the serving from others."""
    own = own_selector(subject.group.selectors.pods)
    if rest := {key: value for key, value in chosen.items() if key not in own}:
        made["selector"] = rest


def _server(spec: Mapping[str, Any]) -> str:
    for one in sequence(spec, "triggers"):
        if found := text(one, "metadata", "serverAddress"):
            return found
    return ""
