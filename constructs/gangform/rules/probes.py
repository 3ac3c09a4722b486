"""Probes of pods: they ask a server that is there, and wait until it can have loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import PodView
from gangform.apis.keys import GPU
from gangform.apis.views import Documents
from gangform.documents.document import (
    Document,
    Manifest,
    dig,
    mapping,
    sequence,
    text,
    whole,
)
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import groups_of, over_templates, read_runs, resources_of, runs
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

PROBE_UNSERVED = declare(
    "probe-without-server",
    "An HTTP probe of a process that opens no HTTP port can only fail",
    Severity.BREAKS,
    "engines §0 item 3, §1.6",
)
PROBE_PORT = declare(
    "probe-port-unnamed",
    "A probe names a port that its container does not declare: it can only fail",
    Severity.BREAKS,
    "Kubernetes: a named port is looked up in the container",
)
LIVENESS = declare(
    "liveness-before-loaded",
    "A liveness probe without a startup probe kills an engine that still loads, for ever",
    Severity.BREAKS,
    "engines §1.6; design §4 Readiness",
)
START_LIMIT = declare(
    "start-limit-below-probe",
    "The engine gives up starting before the startup probe does",
    Severity.DEGRADES,
    "engines §1.5; cases r18",
)
STARTUP = declare(
    "startup-probe-missing",
    "A serving leader has no startup probe: nothing ends a start that hangs",
    Severity.STYLE,
    "design §4 Readiness",
)
VACUOUS = declare(
    "probe-always-succeeds",
    "A probe that runs a command which cannot fail: it says nothing about the engine",
    Severity.DEGRADES,
    "peers §14",
)
READINESS = declare(
    "readiness-probe-missing",
    "A serving leader has no readiness probe: it gets requests while its engine loads",
    Severity.DEGRADES,
    "observability §6; lab summary 1",
)

LOADING: Final = 2700
"""Seconds that an engine may take where nothing says how long (`design §4 Readiness`: 45 minutes)."""
_CANNOT_FAIL: Final = frozenset({"true", "echo", ":"})
_SHELL: Final = re.compile(r"[|&;<>$`(){}\n]")
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")


@rule(PROBE_UNSERVED, kinds=WORKLOADS)
@over_templates
def probe_without_server(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A process without an HTTP port has no HTTP probe."""
    for run in read_runs(documents, pod):
        if run.reading is None or run.reading.serves_http:
            continue
        for name in _PROBES:
            handler = next(
                (h for h in ("httpGet", "tcpSocket") if dig(run.container, name, h)), None
            )
            port = dig(run.container, name, handler, "port") if handler else None
            if handler == "httpGet" or port in ("http", run.reading.port):
                yield Fault(
                    path=(*run.path, name),
                    what=f"`{text(run.container, 'name')}` is headless and opens no HTTP "
                    f"port, so its {name} never succeeds",
                    fix=f"remove the {name}: the leader's probe means the whole group",
                )


@rule(PROBE_PORT, kinds=WORKLOADS)
@over_templates
def probe_port_unnamed(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A port that a probe names is one of its container's."""
    for run in runs(pod):
        ports = {text(port, "name"): port for port in sequence(run.container, "ports")}
        for name in _PROBES:
            for handler in ("httpGet", "tcpSocket"):
                port = text(run.container, name, handler, "port")
                if port and not port.isdecimal() and port not in ports:
                    known = ", ".join(sorted(filter(None, ports)))
                    yield Fault(
                        path=(*run.path, name, handler, "port"),
                        what=f"the {name} asks port `{port}`, the container declares "
                        + (known or "none by name"),
                        fix=f"name a port `{port}` in the container, or write its number",
                    )


def _servers(subject: Document, documents: Documents) -> Iterator[tuple[Path, Manifest]]:
    """Containers of leaders that serve from GPUs: an engine that we read, or GPUs and a port."""
    for group in groups_of(documents, subject):
        for run in read_runs(documents, group.leader):
            if run.init or GPU not in resources_of(run.container):
                continue
            if run.reading is not None and not run.reading.serves_http:
                continue
            if run.reading is not None or sequence(run.container, "ports"):
                yield run.path, run.container


@rule(LIVENESS, kinds=WORKLOADS)
def liveness_before_loaded(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Liveness starts to count when the engine has loaded."""
    for path, container in _servers(subject, documents):
        probe = mapping(container, "livenessProbe")
        if not probe or "startupProbe" in container:
            continue
        delay = whole(probe, "initialDelaySeconds") or 0
        failures = whole(probe, "failureThreshold") or 3
        allowed = delay + failures * (whole(probe, "periodSeconds") or 10)
        if allowed < LOADING:
            at = (*path, "livenessProbe")
            yield Fault(
                path=(*at, "initialDelaySeconds") if delay else at,
                what=f"the engine is killed {allowed} s after its start when it has not loaded",
                fix="add a startupProbe of the same endpoint with periodSeconds: 10 and "
                f"failureThreshold: {LOADING // 10}, or what loading takes",
                seen={"allowed": f"{allowed} s"},
            )


@rule(START_LIMIT, kinds=WORKLOADS)
@over_templates
def start_limit_below_probe(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The engine's own limit on its start is no shorter than what the startup probe allows."""
    for run in read_runs(documents, pod):
        probe = mapping(run.container, "startupProbe")
        if not probe or run.reading is None or run.reading.start_limit is None:
            continue
        variable, limit = run.reading.start_limit
        allowed = (whole(probe, "failureThreshold") or 3) * (whole(probe, "periodSeconds") or 10)
        if limit < allowed:
            yield Fault(
                path=(*run.path, "env"),
                what=f"{variable} is {limit} s, the startup probe allows {allowed} s",
                fix=f"write {allowed}; where the limit does not bound a normal start this changes nothing",
                seen={"limit": f"{limit} s", "allowed": f"{allowed} s"},
            )


@rule(STARTUP, kinds=WORKLOADS)
def startup_probe_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A serving leader has a startup probe."""
    for path, container in _servers(subject, documents):
        if "startupProbe" not in container and "livenessProbe" not in container:
            yield Fault(
                path=(*path, "startupProbe"),
                what=f"`{text(container, 'name')}` has no startup probe",
                fix=f"add one with periodSeconds: 10 and failureThreshold: {LOADING // 10}, "
                "or what loading takes",
            )


@rule(READINESS, kinds=WORKLOADS)
def readiness_probe_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A serving leader has a readiness probe."""
    for path, container in _servers(subject, documents):
        if "readinessProbe" not in container:
            yield Fault(
                path=(*path, "readinessProbe"),
                what=f"`{text(container, 'name')}` has no readiness probe"
                + (
                    ": once its startup probe passed, nothing takes it out of traffic"
                    if "startupProbe" in container
                    else " and is Ready as soon as it runs"
                ),
                fix="add a readinessProbe of the engine's health endpoint with periodSeconds: 5",
            )


@rule(VACUOUS, kinds=WORKLOADS)
@over_templates
def probe_always_succeeds(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A probe can fail."""
    for run in runs(pod):
        for name in _PROBES:
            command = sequence(run.container, name, "exec", "command")
            words = [word for word in command if isinstance(word, str)]
            if words[1:2] == ["-c"] and len(words) == 3:
                words = words[2].split() if not _SHELL.search(words[2]) else []
            if words and words[0].rpartition("/")[2] in _CANNOT_FAIL:
                yield Fault(
                    path=(*run.path, name, "exec", "command"),
                    what=f"`{' '.join(words)[:60]}` cannot fail",
                    fix="ask the engine: httpGet on its health endpoint",
                )
