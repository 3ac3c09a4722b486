"""Probes of pods: they ask a server that is there, and wait until it can have loaded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import GPU
from gangform.apis.views import Documents
from gangform.documents.document import (
    Document,
    Node,
    dig,
    mapping,
    sequence,
    text,
    whole,
)
from gangform.engines.shell import start
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import (
    Run,
    gpus,
    groups_of,
    over_templates,
    read_runs,
    resources_of,
    runs,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule
from gangform.rules.starts import LONGEST, allowed, assumed, known

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
READINESS = declare(
    "readiness-probe-missing",
    "A serving leader has no readiness probe: it gets requests while its engine loads",
    Severity.DEGRADES,
    "observability §6; lab summary 1",
)

TCP_EARLY = declare(
    "readiness-before-loaded",
    "A readiness probe that only opens a connection, to an engine whose port is open while it loads",
    Severity.DEGRADES,
    "engines §2.2",
)
TCP = declare(
    "readiness-by-connection",
    "A readiness probe that only opens a connection does not see an engine that died behind its port",
    Severity.STYLE,
    "engines §1.6",
)
VACUOUS = declare(
    "probe-always-succeeds",
    "A probe whose command succeeds whatever the engine does",
    Severity.DEGRADES,
    "peers §14",
)

_IDLE: Final = frozenset({"sleep", "tail"})
_LARGE: Final = 8
"""GPUs of a pod from which on its model is surely a large one."""
_PROBES: Final = ("startupProbe", "readinessProbe", "livenessProbe")
_ALWAYS: Final = frozenset({"true", ":", "echo", "printf", "sleep"})
_NO_ERROR: Final = frozenset({"exit", "exit 0"})
_SEARCHES: Final = frozenset({"grep", "egrep", "fgrep"})


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
            if port in ("http", run.reading.port, str(run.reading.port)) or (
                handler == "httpGet" and not _elsewhere(pod, port)
            ):
                yield Fault(
                    path=(*run.path, name),
                    what=f"`{text(run.container, 'name')}` is headless and opens no HTTP "
                    f"port, so its {name} never succeeds",
                    fix=f"remove the {name}: the leader's probe means the whole group",
                )


def _elsewhere(pod: PodView, port: object) -> bool:
    """Whether some container of the pod declares a port, by number or name."""
    declared = (port_ for run in runs(pod) for port_ in sequence(run.container, "ports"))
    return any(port in (dig(each, "containerPort"), text(each, "name")) for each in declared)


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
                    from difflib import get_close_matches

                    names = sorted(filter(None, ports))
                    near = get_close_matches(port, names, n=1) or (names if len(names) == 1 else [])
                    yield Fault(
                        path=(*run.path, name, handler, "port"),
                        what=f"the {name} asks port `{port}`, the container declares "
                        + (", ".join(names) or "none by name"),
                        fix=f"write port: {near[0]}, or name a port `{port}` in the container"
                        if near
                        else f"name a port `{port}` in the container, or write its number",
                    )


def _servers(subject: Document, documents: Documents) -> Iterator[tuple[GroupView, Run]]:
    """Containers of leaders that serve from GPUs: an engine that we read, or GPUs and a port."""
    for group in groups_of(documents, subject):
        for run in read_runs(documents, group.leader):
            if run.init or GPU not in resources_of(run.container):
                continue
            if run.reading is not None and not run.reading.serves_http:
                continue
            if run.reading is not None or sequence(run.container, "ports"):
                yield group, run


def _early(run: Run, probe: str) -> bool:
    """Whether a probe only opens a connection, to a port that is open before the model is loaded."""
    opens = run.reading is not None and run.reading.opens_early
    return opens and dig(run.container, probe, "tcpSocket") is not None


@rule(LIVENESS, kinds=WORKLOADS)
def liveness_before_loaded(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Liveness starts to count when the engine has loaded."""
    for group, run in _servers(subject, documents):
        probe = mapping(run.container, "livenessProbe")
        waits = "startupProbe" in run.container and not _early(run, "startupProbe")
        if not probe or waits or _early(run, "livenessProbe"):
            continue
        each = gpus(documents, group.leader)
        takes = known(group.leader, context)
        # A server that is not read may be any, with a model of any size.
        if takes is None and run.reading is None and each < _LARGE:
            continue
        loading = assumed(run, each * group.size) if takes is None else takes
        given = allowed(probe)
        if given < loading:
            at = (*run.path, "livenessProbe")
            delay = whole(probe, "initialDelaySeconds")
            yield Fault(
                path=(*at, "initialDelaySeconds") if delay else at,
                what=f"the engine is killed {given} s after its start when it has not loaded",
                fix="add a startupProbe of the same endpoint with periodSeconds: 10 and "
                f"failureThreshold: {-(-loading // 10)}"
                + (", or what loading takes" if takes is None else ""),
                seen={"allowed": f"{given} s"},
            )


@rule(START_LIMIT, kinds=WORKLOADS)
@over_templates
def start_limit_below_probe(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The engine's own limit on its start is no shorter than what the startup probe allows."""
    for run in read_runs(documents, pod):
        probe = mapping(run.container, "startupProbe")
        limit = _limit(run)
        if not probe or limit is None:
            continue
        variable, seconds, said = limit
        allowed = (whole(probe, "failureThreshold") or 3) * (whole(probe, "periodSeconds") or 10)
        if seconds < allowed:
            yield Fault(
                path=(*run.path, "env"),
                what=f"{variable} is {said}{seconds} s, the startup probe allows {allowed} s",
                fix=f"write {allowed}; where the limit does not bound a normal start this changes nothing",
                seen={"limit": f"{seconds} s", "allowed": f"{allowed} s"},
            )


def _limit(run: Run) -> tuple[str, int, str] | None:
    """The engine's limit on its start, as it is written; its default where it waits for ranks of other pods."""
    reading = run.reading
    if reading is None:
        return None
    if reading.start_limit is not None:
        return *reading.start_limit[:2], ""
    several = reading.nodes is not None or (reading.pods or 1) > 1
    return (
        (*reading.start_default, "not set, and so ") if several and reading.start_default else None
    )


@rule(STARTUP, kinds=WORKLOADS)
def startup_probe_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A serving leader has a startup probe; said once of an object."""
    for _, run in _servers(subject, documents):
        if "startupProbe" not in run.container and "livenessProbe" not in run.container:
            yield Fault(
                path=(*run.path, "startupProbe"),
                what=f"`{text(run.container, 'name')}` has no startup probe",
                fix=f"add one with periodSeconds: 10 and failureThreshold: {LONGEST // 10}, "
                "or what loading takes",
            )
            return


@rule(READINESS, kinds=WORKLOADS)
def readiness_probe_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A serving leader has a readiness probe."""
    for _, run in _servers(subject, documents):
        if "readinessProbe" not in run.container and not _silent(run):
            yield Fault(
                path=(*run.path, "readinessProbe"),
                what=f"`{text(run.container, 'name')}` has no readiness probe"
                + (
                    ": once its startup probe passed, nothing takes it out of traffic"
                    if "startupProbe" in run.container
                    else " and is Ready as soon as it runs"
                ),
                fix="add a readinessProbe of the engine's health endpoint with periodSeconds: 5",
            )


def _silent(run: Run) -> bool:
    """Whether a container surely answers nobody: it sleeps, or is a rank above 0."""
    if run.reading is not None:
        rank = run.reading.rank or ""
        return rank.isdecimal() and rank.strip("0") != ""
    begun = run.begun
    if begun is None or not begun.whole or not begun.commands:
        return False
    return all(one.program in _IDLE for one in (*begun.commands, *begun.doubtful))


def _by_connection(pod: PodView, documents: Documents) -> Iterator[Run]:
    """Containers whose engine is ready when its own port takes a connection."""
    for run in read_runs(documents, pod):
        port = dig(run.container, "readinessProbe", "tcpSocket", "port")
        if port is None or run.reading is None or not run.reading.serves_http or run.init:
            continue
        named = {
            text(each, "name"): whole(each, "containerPort")
            for each in sequence(run.container, "ports")
        }
        number = named.get(port) if isinstance(port, str) else port
        if number == run.reading.port or port == str(run.reading.port):
            yield run


@rule(TCP_EARLY, kinds=WORKLOADS)
@over_templates
def readiness_before_loaded(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A pod is ready when its model is loaded."""
    for run in _by_connection(pod, documents):
        if run.reading is not None and run.reading.opens_early and not run.reading.on_loopback:
            yield Fault(
                path=(*run.path, "readinessProbe", "tcpSocket"),
                what=f"{run.reading.engine} takes connections on port {run.reading.port} while it loads",
                fix="write httpGet with path: /health and the same port",
            )


@rule(TCP, kinds=WORKLOADS)
@over_templates
def readiness_by_connection(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A readiness probe asks the engine."""
    for run in _by_connection(pod, documents):
        if run.reading is not None and not run.reading.opens_early:
            yield Fault(
                path=(*run.path, "readinessProbe", "tcpSocket"),
                what=f"a connection to port {run.reading.port} says that {run.reading.engine} has loaded, and "
                "not that it still works",
                fix="write httpGet with path: /health and the same port",
            )


@rule(VACUOUS, kinds=WORKLOADS)
@over_templates
def probe_always_succeeds(pod: PodView, documents: Documents, context: Context) -> Iterator[Fault]:
    """A probe's command depends on something."""
    if not gpus(documents, pod):
        return
    for run in runs(pod):
        for name in _PROBES:
            path: Path = (name, "exec", "command")
            why = _vacuous(sequence(run.container, *path))
            if why:
                yield Fault(
                    path=(*run.path, *path),
                    what=f"the {name} of `{text(run.container, 'name')}` {why}",
                    fix="ask the engine's health endpoint, or remove the probe",
                )


def _vacuous(command: Sequence[Node]) -> str:
    """Why a command always succeeds; empty where it may fail."""
    begun = start({"command": command})
    if begun is None or not begun.whole or begun.doubtful:
        return ""
    if not begun.commands:
        ends = begun.script is not None and command[-1] in _NO_ERROR
        return "succeeds whatever runs" if ends else ""
    if all(one.program in _ALWAYS for one in begun.commands):
        return "succeeds whatever runs"
    last = begun.commands[-1]
    listing = [one for one in begun.commands if one.program == "ps"]
    if listing and last.program in _SEARCHES and len(begun.commands) == 2:
        pattern = last.words[-1]
        if "[" not in pattern and not any(_turns_round(word) for word in last.words[1:-1]):
            return f"finds itself: `{last.program} {pattern}` is in the list that it searches"
    return ""


def _turns_round(word: str) -> bool:
    return re.match(r"^-[a-zA-Z]*v", word) is not None
