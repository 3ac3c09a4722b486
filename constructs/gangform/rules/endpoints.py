"""Ports and paths that somebody asks for: the engine's container opens them and has them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import GPU
from gangform.apis.views import Documents
from gangform.documents.document import Manifest, dig, mapping, sequence, text, whole
from gangform.engines.engine import EngineReading
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    Run,
    gpus,
    labels_of,
    over_templates,
    owned,
    read_runs,
    resources_of,
    words_of,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule
from gangform.rules.starts import allowed, assumed, at_least

PATH = declare(
    "probe-path-unknown",
    "A probe asks a path that the engine does not have: it fails for ever",
    Severity.BREAKS,
    "engines §1.6",
)
NUMBER = declare(
    "probe-port-unserved",
    "A probe asks a port that the engine does not open and no container of the pod declares",
    Severity.BREAKS,
    "engines §1.6; Kubernetes: a probe asks the pod's own address",
)
PORT = declare(
    "container-port-unserved",
    "A declared port that probes or a Service use is not the one that the engine is told to open",
    Severity.BREAKS,
    "engines §1.6; observability §6",
)
BUDGET = declare(
    "startup-budget-short",
    "A startup probe that gives an engine on GPUs less than 5 minutes, and kills it again and again",
    Severity.DEGRADES,
    "design §4 Readiness; cases r18",
)

TOO_SHORT = declare(
    "startup-probe-too-short",
    "A startup probe that ends before the engine can have loaded: it is killed and loads again, for ever",
    Severity.BREAKS,
    "engines §1.5; design §4 Readiness; cases r18",
)
LOOPBACK = declare(
    "engine-on-loopback",
    "The engine listens on the loopback address, and probes and Services ask the pod's own",
    Severity.BREAKS,
    "SGLang: server arguments, host; engines §1.6",
)

SHORT: Final = 300
"""Seconds below which no large model has loaded: engines alone compile and capture graphs for minutes."""
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")


def _serving(documents: Documents, pod: PodView) -> Iterator[tuple[Run, EngineReading]]:
    """Containers that surely run an engine with an HTTP server."""
    for run in read_runs(documents, pod):
        if run.reading is not None and run.reading.serves_http and not run.init:
            yield run, run.reading


def _declared(container: Manifest) -> dict[int, str]:
    """The ports that a container declares, with their names."""
    ports = sequence(container, "ports")
    return {whole(port, "containerPort") or 0: text(port, "name") for port in ports}


def _asked(container: Manifest, probe: str) -> int | None:
    """The number of the port that an HTTP probe asks; `None` where it asks elsewhere or one cannot tell."""
    get = mapping(container, probe, "httpGet")
    if not get or text(get, "host"):
        return None
    name = text(get, "port")
    if name.isdecimal() and name.isascii() and len(name) < 6:
        return int(name)
    if name:
        return next((port for port, called in _declared(container).items() if called == name), None)
    return whole(get, "port")


def _spoken_of(container: Manifest, port: int) -> bool:
    """Whether the command line or a variable has the number: the engine may open it for another purpose."""
    words = [*sequence(container, "command"), *sequence(container, "args")]
    words += [text(variable, "value") for variable in sequence(container, "env")]
    return any(isinstance(word, str) and str(port) in word for word in words)


def _alone(pod: PodView) -> bool:
    """Whether no other process of the pod may open a port."""
    beside = [one for one in sequence(pod.spec, "initContainers") if text(one, "restartPolicy")]
    return len(sequence(pod.spec, "containers")) == 1 and not beside


@rule(PATH, kinds=WORKLOADS)
@over_templates
def probe_path_unknown(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Probes ask paths that the engine has."""
    for run, reading in _serving(documents, pod):
        for probe in _PROBES:
            path = text(run.container, probe, "httpGet", "path")
            asked = _asked(run.container, probe)
            other = pod.role == "worker" and reading.rank_zero_answers
            absent = reading.absent_paths | (reading.rank_zero_paths if other else frozenset())
            if path.rstrip("/") in absent and asked == reading.port:
                yield Fault(
                    path=(*run.path, probe, "httpGet", "path"),
                    what=f"{reading.engine} has no {path}"
                    + (" on ranks above 0" if path.rstrip("/") not in reading.absent_paths else "")
                    + f": the {probe} gets 404",
                    fix="write path: /health",
                )


@rule(NUMBER, kinds=WORKLOADS)
@over_templates
def probe_port_unserved(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Probes of an engine ask a port that is open."""
    if not _alone(pod):
        return
    for run, reading in _serving(documents, pod):
        for probe in _PROBES:
            asked = _asked(run.container, probe)
            if (
                asked is not None
                and asked not in (reading.port, *_declared(run.container))
                and not _spoken_of(run.container, asked)
            ):
                yield Fault(
                    path=(*run.path, probe, "httpGet", "port"),
                    what=f"the {probe} asks port {asked}; {reading.engine} opens {reading.port}",
                    fix=f"write port: {reading.port}",
                    seen={"asked": str(asked), "opened": str(reading.port)},
                )


@joined
def _targets(documents: Documents) -> dict[tuple[int, Path], dict[str, str]]:
    """What Services send to the pods of each template, number or name, with the Service."""
    found: dict[tuple[int, Path], dict[str, str]] = {}
    for service in documents.of("Service"):
        labels = labels_of(dig(service.manifest, "spec", "selector"))
        headless = text(service.manifest, "spec", "clusterIP") == "None"
        if not labels or owned(service) or headless:
            continue
        for pod in documents.pods(service.key.namespace, labels):
            known = found.setdefault((id(pod.document), pod.path), {})
            for port in sequence(service.manifest, "spec", "ports"):
                target = dig(port, "targetPort")
                target = dig(port, "port") if target is None else target
                known.setdefault(str(target), f"Service {service.key.name}")
    return found


@rule(PORT, kinds=WORKLOADS)
@over_templates
def container_port_unserved(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The port that others reach the engine by is the one that it opens."""
    if not _alone(pod):
        return
    users = _targets(documents).get((id(pod.document), pod.path), {})
    for run, reading in _serving(documents, pod):
        if reading.port in _declared(run.container):
            continue
        for index, port in enumerate(sequence(run.container, "ports")):
            number = whole(port, "containerPort") or 0
            user = users.get(str(number)) or users.get(text(port, "name") or "-")
            user = user or next((p for p in _PROBES if _asked(run.container, p) == number), None)
            if user is not None and number and not _spoken_of(run.container, number):
                yield Fault(
                    path=(*run.path, "ports", index, "containerPort"),
                    what=f"{user} uses port {number}; {reading.engine} opens {reading.port}",
                    fix=f"write containerPort: {reading.port}, or start the engine with this port",
                    seen={"declared": str(number), "opened": str(reading.port)},
                )


@rule(BUDGET, kinds=WORKLOADS)
@over_templates
def startup_budget_short(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A startup probe waits until a model can have loaded."""
    for run, _ in _serving(documents, pod):
        probe = mapping(run.container, "startupProbe")
        if not probe or GPU not in resources_of(run.container):
            continue
        given, (least, _) = allowed(probe), at_least(run, pod, context)
        if least <= given < min(SHORT, assumed(run, gpus(documents, pod))):
            yield Fault(
                path=(*run.path, "startupProbe", "failureThreshold"),
                what=f"the engine is killed {given} s after its start when it has not loaded",
                fix="write periodSeconds: 10 and failureThreshold: 270, or what loading takes",
                seen={"allowed": f"{given} s"},
            )


@rule(TOO_SHORT, kinds=WORKLOADS)
@over_templates
def startup_probe_too_short(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A startup probe waits as long as a start is known to take."""
    for run, reading in _serving(documents, pod):
        probe = mapping(run.container, "startupProbe")
        early = dig(probe, "tcpSocket") is not None and reading.opens_early
        if not probe or early or GPU not in resources_of(run.container):
            continue
        given, (least, why) = allowed(probe), at_least(run, pod, context)
        if given < least:
            period = whole(probe, "periodSeconds") or 10
            limit = reading.start_limit
            aim = max(least, limit[1] if limit is not None else 0)
            yield Fault(
                path=(*run.path, "startupProbe", "failureThreshold"),
                what=f"the startup probe gives {given} s; {why}",
                fix=f"write failureThreshold: {-(-aim // period)}",
                seen={"allowed": f"{given} s", "least": f"{least} s"},
            )


@rule(LOOPBACK, kinds=WORKLOADS)
@over_templates
def engine_on_loopback(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """An engine that others ask listens where they ask."""
    users = _targets(documents).get((id(pod.document), pod.path), {})
    for run, reading in _serving(documents, pod):
        if not reading.on_loopback:
            continue
        names = {name for port, name in _declared(run.container).items() if port == reading.port}
        user = next((users[key] for key in (str(reading.port), *names) if key in users), None)
        user = user or next((p for p in _PROBES if _asked(run.container, p) == reading.port), None)
        if user is not None:
            yield Fault(
                path=words_of(run),
                what=f"{reading.engine} listens on {reading.host} alone; {user} asks the pod's address",
                fix="add --host=0.0.0.0",
                seen={"host": reading.host},
            )
