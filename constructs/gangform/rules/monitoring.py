"""Scraping and alerting: targets that answer, and series that somebody exports."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import metrics
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    engine_of,
    is_set,
    labels_of,
    match_labels,
    own_workers,
    read_runs,
    scaler_of,
    surely,
    within,
)
from gangform.rules.rule import Context, Fault, joined, rule

HEADLESS = declare(
    "monitor-selects-workers",
    "A monitor scrapes workers that open no HTTP port: their targets are down for ever",
    Severity.DEGRADES,
    "engines §4.1; observability §1.9",
)
PORT = declare(
    "monitor-port-unknown",
    "A monitor scrapes a port by a name that nothing it selects has: it has no targets",
    Severity.BREAKS,
    "observability §1.9, §3; Prometheus operator: an endpoint names a port",
)
MISSING = declare(
    "metric-not-exported",
    "An expression asks for a series that no exporter has: it never has a value",
    Severity.BREAKS,
    "observability §1.1; engines §4",
)
UNLISTED = declare(
    "metric-not-known",
    "A series or metric by a name that neither the engine nor its routers are known to have",
    Severity.DEGRADES,
    "observability §3; engines §4",
)
BROKEN = declare(
    "expression-broken",
    "An expression whose brackets or quotes do not close: its whole file of rules is refused",
    Severity.BREAKS,
    "PromQL's grammar; observability §10",
)
CONFIGURED = declare(
    "metric-needs-configuration",
    "An expression asks for a series that stock kube-state-metrics does not make",
    Severity.STYLE,
    "observability §1.1, §1.6",
)
LABEL = declare(
    "metric-label-unknown",
    "An expression selects by a label that the series does not have: it selects nothing",
    Severity.BREAKS,
    "observability §1.1",
)


@rule(HEADLESS, kinds=("PodMonitor",))
def monitor_selects_workers(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A monitor's targets serve HTTP."""
    labels = match_labels(dig(subject.manifest, "spec", "selector"))
    spaces = [
        name
        for name in sequence(subject.manifest, "spec", "namespaceSelector", "matchNames")
        if isinstance(name, str)
    ] or [subject.key.namespace]
    if labels is None:
        return
    for space in spaces:
        keys = {pod.document.key: None for pod in documents.pods(space, labels)}
        for key in keys:
            for group in documents.groups_of(key):
                yield from _workers(subject, group, labels, documents)


def _workers(
    subject: Document, group: GroupView, labels: dict[str, str], documents: Documents
) -> Iterator[Fault]:
    workers = own_workers(group) if is_set(group) else None
    if workers is None or not surely(workers, labels):
        return
    endpoints = sequence(subject.manifest, "spec", "podMetricsEndpoints")
    for run in read_runs(documents, workers):
        if run.reading is None or run.reading.serves_http:
            continue
        declared = {text(port, "name") for port in sequence(run.container, "ports")}
        # A port by name makes targets of the containers that declare it, and of no others.
        if any(text(point, "port") in declared or not text(point, "port") for point in endpoints):
            leaders = group.selectors.leaders
            yield Fault(
                path=("spec", "selector"),
                what=f"the headless workers of {group.title}, {workers.per_group} a group, are scraped "
                "beside the leaders",
                fix="select " + ", ".join(f'{key}: "{value}"' for key, value in leaders.items()),
            )
            return


def _spaces(document: Document) -> list[str] | None:
    """Namespaces that a monitor looks in; `None` for every one."""
    selector = dig(document.manifest, "spec", "namespaceSelector")
    if dig(selector, "any") is True:
        return None
    names = [name for name in sequence(selector, "matchNames") if isinstance(name, str)]
    return names or [document.key.namespace]


def _ports(document: Document, documents: Documents, labels: dict[str, str]) -> set[str] | None:
    """Names of the ports that a monitor selects; `None` where it selects nothing that stands here."""
    found: set[str] = set()
    hit = False
    for space in _spaces(document) or ():
        if document.kind == "PodMonitor":
            for pod in documents.pods(space, labels):
                hit = True
                for run in read_runs(documents, pod):
                    found |= {text(port, "name") for port in sequence(run.container, "ports")}
        else:
            for service in within(documents, "Service", space):
                own = labels_of(dig(service.manifest, "metadata", "labels"))
                if labels.items() <= own.items():
                    hit = True
                    found |= {text(p, "name") for p in sequence(service.manifest, "spec", "ports")}
    return found if hit else None


@rule(PORT, kinds=("PodMonitor", "ServiceMonitor"))
def monitor_port_unknown(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """An endpoint names a port that something selected has."""
    labels = match_labels(dig(subject.manifest, "spec", "selector"))
    known = _ports(subject, documents, labels) if labels else None
    field = "podMetricsEndpoints" if subject.kind == "PodMonitor" else "endpoints"
    for index, point in enumerate(sequence(subject.manifest, "spec", field)):
        name = text(point, "port")
        if known is not None and name and name not in known:
            names = ", ".join(sorted(known - {""}))
            yield Fault(
                path=("spec", field, index, "port"),
                what=f"nothing selected has a port `{name}`"
                + (f"; there is {names}" if names else ""),
                fix=f"write port: {names.split(', ')[0]}"
                if names
                else "name the port where it is opened",
                seen={"port": name},
            )


def _expressions(document: Document) -> Iterator[tuple[Path, str]]:
    """The PromQL in a document: rules, and queries of a KEDA trigger."""
    for number, group in enumerate(sequence(document.manifest, "spec", "groups")):
        for index, each in enumerate(sequence(group, "rules")):
            path: Path = ("spec", "groups", number, "rules", index, "expr")
            yield path, text(each, "expr")
    for index, trigger in enumerate(sequence(document.manifest, "spec", "triggers")):
        if text(trigger, "type") == "prometheus":
            path = ("spec", "triggers", index, "metadata", "query")
            yield path, text(trigger, "metadata", "query")


def _recorded(document: Document) -> set[str]:
    """Series that the document's own rules record."""
    return {
        text(each, "record")
        for group in sequence(document.manifest, "spec", "groups")
        for each in sequence(group, "rules")
    }


@rule(MISSING, kinds=("PrometheusRule", "ScaledObject"))
def metric_not_exported(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every series in an expression exists."""
    for path, name, standing in _asked(subject):
        if standing == "missing" or (standing == "unlisted" and _of_engine(subject, documents)):
            yield Fault(
                path=path,
                what=f"no exporter has a series `{name}`",
                fix=f"ask {metrics.instead(name)}",
                seen={"metric": name},
            )


@rule(UNLISTED, kinds=("PrometheusRule", "ScaledObject", "HorizontalPodAutoscaler"))
def metric_not_known(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Series and metrics have names that somebody gives them."""
    for path, name, standing in _asked(subject):
        if standing == "unlisted" and not _of_engine(subject, documents) and not _routed(documents):
            yield Fault(
                path=path,
                what=f"vLLM has no series `{name}`",
                fix=f"ask {metrics.instead(name)}, unless another exporter has it",
                seen={"metric": name},
            )
    for index, metric in enumerate(sequence(subject.manifest, "spec", "metrics")):
        for kind in ("pods", "external", "object"):
            name = text(metric, kind, "metric", "name")
            if meant := metrics.adapted(name):
                yield Fault(
                    path=("spec", "metrics", index, kind, "metric", "name"),
                    what=f"no series of the engine is called `{name}` by an adapter",
                    fix=f"write {meant}, or whatever name the adapter's rules give",
                    seen={"metric": name},
                )


def _asked(subject: Document) -> Iterator[tuple[Path, str, metrics.Standing]]:
    """The series in the expressions of a document that none of its own rules records."""
    own = _recorded(subject)
    for path, expression in _expressions(subject):
        for name in metrics.names(expression):
            if name not in own:
                yield path, name, metrics.standing(name)


def _of_engine(subject: Document, documents: Documents) -> bool:
    """Whether an autoscaler asks for series of the very engine that it scales, and no router stands by."""
    if subject.kind != "ScaledObject" or _routed(documents):
        return False
    target = scaler_of(subject).target
    runs = (engine_of(documents, each.leader) for each in documents.groups_of(target))
    return any(run is not None and run.reading is not None for run in runs)


@joined
def _routed(documents: Documents) -> bool:
    """Whether a router stands in the documents, which exports series under the engine's prefix."""
    return any(
        "router" in text(run.container, "image")
        for group in documents.groups()
        for run in read_runs(documents, group.leader)
    )


@rule(CONFIGURED, kinds=("PrometheusRule", "ScaledObject"))
def metric_needs_configuration(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Series that need a setting of the cluster are known to need it."""
    own = _recorded(subject)
    made = metrics.CONFIGURED if context.state_metrics else frozenset()
    for path, expression in _expressions(subject):
        for name in metrics.names(expression):
            if name not in own and name not in made and metrics.standing(name) == "configured":
                yield Fault(
                    path=path,
                    what=f"`{name}` exists only where kube-state-metrics has a "
                    "CustomResourceStateMetrics configuration for it",
                    fix=f"add that configuration, or ask {metrics.instead(name)}",
                    seen={"metric": name},
                )


@rule(LABEL, kinds=("PrometheusRule", "ScaledObject"))
def metric_label_unknown(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Matchers use labels that the series has."""
    for path, expression in _expressions(subject):
        for name, label in metrics.strange_labels(expression):
            has = metrics.KUBE_STATE_METRICS[name].labels
            yield Fault(
                path=path,
                what=f"`{name}` has no label `{label}`; it has {', '.join(sorted(has))}",
                fix="match the pod name, or join kube_pod_labels",
                seen={"metric": name, "label": label},
            )


@rule(BROKEN, kinds=("PrometheusRule", "ScaledObject"))
def expression_broken(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """What an expression opens it closes."""
    for path, expression in _expressions(subject):
        if left := metrics.unclosed(expression):
            yield Fault(
                path=path,
                what=f"`{left}` has no other half",
                fix="close what is opened; `promtool check rules` says where it stops to read",
                seen={"bracket": left},
            )
