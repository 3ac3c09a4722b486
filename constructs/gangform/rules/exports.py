"""Series of engines: an autoscaler or a monitor that waits for them needs an engine that exports them."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, sequence, text
from gangform.engines.engine import EngineReading
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import engine_of, match_labels, scaler_of
from gangform.rules.rule import Context, Fault, rule

SIGNAL = declare(
    "metric-switched-off",
    "An autoscaler waits for a series of an engine that is started without it: it never scales",
    Severity.BREAKS,
    "engines §4.1, §4.2; cases r22",
)
SCRAPED = declare(
    "monitor-of-silent-engine",
    "A monitor scrapes an engine that is started without metrics: its targets are down",
    Severity.DEGRADES,
    "engines §4.2",
)


def _signals(document: Document) -> Iterator[tuple[Path, str]]:
    """Texts of an autoscaler that name series: of metrics, or queries."""
    for index, metric in enumerate(sequence(document.manifest, "spec", "metrics")):
        for kind in ("pods", "external", "object"):
            name = text(metric, kind, "metric", "name")
            if name:
                yield ("spec", "metrics", index, kind, "metric", "name"), name
    for index, trigger in enumerate(sequence(document.manifest, "spec", "triggers")):
        query = text(trigger, "metadata", "query")
        if query:
            yield ("spec", "triggers", index, "metadata", "query"), query


def _leader(documents: Documents, pod: PodView) -> EngineReading | None:
    run = engine_of(documents, pod)
    return None if run is None else run.reading


@rule(SIGNAL, kinds=("HorizontalPodAutoscaler", "ScaledObject"))
def metric_switched_off(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The engine behind an autoscaler exports the series that it scales by."""
    target = scaler_of(subject).target
    for group in documents.groups():
        if group.target != target:
            continue
        reading = _leader(documents, group.leader)
        if reading is None or reading.metrics_off is None or not reading.series:
            continue
        why, cure = reading.metrics_off
        # Adapters spell the colon as an underscore.
        spelled = (reading.series, reading.series.replace(":", "_"))
        for path, name in _signals(subject):
            if any(each in name for each in spelled):
                yield Fault(
                    path=path,
                    what=f"{group.title} exports no `{reading.series}…`: {why}",
                    fix=f"{cure} on {group.title}",
                )


@rule(SCRAPED, kinds=("PodMonitor",))
def monitor_of_silent_engine(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A monitor's targets have metrics."""
    labels = match_labels(dig(subject.manifest, "spec", "selector"))
    if not labels or dig(subject.manifest, "spec", "namespaceSelector") is not None:
        return
    points = sequence(subject.manifest, "spec", "podMetricsEndpoints")
    for pod in documents.pods(subject.key.namespace, labels):
        run = engine_of(documents, pod)
        if run is None or run.reading is None or run.reading.metrics_served:
            continue
        named = {
            text(port, "name")
            for port in sequence(run.container, "ports")
            if dig(port, "containerPort") == run.reading.port
        }
        for index, point in enumerate(points):
            number = dig(point, "portNumber") or dig(point, "targetPort")
            if text(point, "port") in named - {""} or number == run.reading.port:
                why, cure = run.reading.metrics_off or ("", "")
                yield Fault(
                    path=("spec", "podMetricsEndpoints", index),
                    what=f"{pod.document.key.name} has no path of metrics: {why}",
                    fix=f"{cure} on {pod.document.key.name}",
                )
                return
