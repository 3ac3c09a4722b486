"""Ports of Services: somebody behind them listens there.

To Kubernetes a declared port is information, and an undeclared one is open too. So a number is only missed where all
that every selected pod runs was read to the end; a name, which leads by the declared ports alone, always.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from gangform.apis.forms import PodView
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, sequence, text, whole
from gangform.engines.shell import SHELLS, name_of
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import Run, labels_of, owned, read_runs
from gangform.rules.rule import Context, Fault, rule

UNSERVED = declare(
    "service-port-unserved",
    "The port that a Service is there for leads to one that no selected pod opens",
    Severity.BREAKS,
    "observability §6",
)
DEAD = declare(
    "service-port-dead",
    "A further port of a Service leads to one that no selected pod opens",
    Severity.STYLE,
    "observability §6",
)

_DIGITS: Final = 10
"""A longer number is none that means anything here."""
_OPEN_NOTHING: Final = frozenset(
    {
        *("[", "apt", "apt-get", "cat", "cd", "chmod", "chown", "cp", "curl", "date", "df", "echo"),
        *("export", "find", "git", "grep", "hf", "hostname", "huggingface-cli", "ip", "ln", "ls"),
        *("mkdir", "mount", "mv", "nvidia-smi", "pip", "pip3", "printf", "rm", "sed", "set"),
        *("sleep", "sysctl", "tar", "test", "touch", "trap", "true", "ulimit", "umask", "uname"),
        *("uv", "wget", "which"),
    }
)
"""Programs that a script runs beside its engine, and that listen nowhere."""
_RAY: Final = ("multi-node-serving.sh", "ray", "ray_init.sh")
"""Programs that start Ray."""
_OF_RAY: Final = frozenset({6379, 8080, 8265, 10001, 44217, 44227, 52365})
"""What Ray's head opens: store, exporters, dashboard, clients and agents."""


class _Opened(NamedTuple):
    """What selected pods open."""

    names: frozenset[str]
    numbers: frozenset[int]
    """Declared, or opened by what was read to be asked."""
    beside: frozenset[int]
    """Opened for something else."""
    whole: bool
    """Whether they open no other."""


def _opened(documents: Documents, pods: Sequence[PodView]) -> _Opened:
    names: set[str] = set()
    numbers: set[int] = set()
    beside: set[int] = set()
    known = True
    for pod in pods:
        for run in read_runs(documents, pod):
            for port in sequence(run.container, "ports"):
                names.add(text(port, "name"))
                number = whole(port, "containerPort")
                numbers.add(number or 0)
                known = known and number is not None
            if run.init and not text(run.container, "restartPolicy"):
                continue
            known = known and run.reading is not None and _alone(run)
            if run.reading is not None:
                beside |= run.reading.beside | (_OF_RAY if _starts_ray(run) else set())
                numbers |= {run.reading.port} if run.reading.serves_http else set()
    return _Opened(frozenset(names), frozenset(numbers - {0}), frozenset(beside), known)


def _alone(run: Run) -> bool:
    """Whether nothing but the engine of a container may listen."""
    begun = run.begun
    if begun is None:
        return False
    others = [each for each in _commands(run) if each not in (*_OPEN_NOTHING, *_RAY)]
    return begun.whole and len(others) <= 1


def _commands(run: Run) -> Iterator[str]:
    """The programs that a container runs, and the scripts that a shell among them reads."""
    begun = run.begun
    for each in (*begun.commands, *begun.doubtful) if begun is not None else ():
        script = each.words[1] if each.program in SHELLS and len(each.words) > 1 else ""
        yield name_of(script) or each.program


def _starts_ray(run: Run) -> bool:
    return any(each in _RAY for each in _commands(run))


def _spoken_of(documents: Documents, pods: Sequence[PodView], number: int) -> bool:
    """Whether a command line or a variable has the number: it may be opened for another purpose."""
    written = str(number)
    for pod in pods:
        for run in read_runs(documents, pod):
            words = [*sequence(run.container, "command"), *sequence(run.container, "args")]
            words += [text(variable, "value") for variable in sequence(run.container, "env")]
            if any(isinstance(word, str) and written in word for word in words):
                return True
    return False


def _target(port: Node) -> tuple[str, int]:
    """The name or the number of the port that a Service sends to; neither where it is not to be read."""
    target = dig(port, "targetPort")
    if target is None:
        return "", whole(port, "port") or 0
    name = text(port, "targetPort")
    if name.isdecimal() and len(name) < _DIGITS:
        return "", int(name)
    return ("" if "$" in name or "{" in name else name), whole(port, "targetPort") or 0


def _missed(subject: Document, documents: Documents) -> Iterator[tuple[int, Fault]]:
    labels = labels_of(dig(subject.manifest, "spec", "selector"))
    headless = text(subject.manifest, "spec", "clusterIP") == "None"
    if not labels or owned(subject) or headless:
        return
    pods = documents.pods(subject.key.namespace, labels)
    runs = [run for pod in pods for run in read_runs(documents, pod)]
    if not runs or any("image" not in run.container for run in runs):
        return
    opened = _opened(documents, pods)
    known = sorted(opened.numbers)
    for index, port in enumerate(sequence(subject.manifest, "spec", "ports")):
        name, number = _target(port)
        if name:
            missing = name not in opened.names
        else:
            missing = bool(number) and opened.whole and number not in (*known, *opened.beside)
            missing = missing and not _spoken_of(documents, pods, number)
        if missing:
            path: Path = ("spec", "ports", index)
            yield (
                index,
                Fault(
                    path=path if dig(port, "targetPort") is None else (*path, "targetPort"),
                    what=f"no selected pod opens port {name or number}; they open "
                    + (", ".join(map(str, known)) or "none"),
                    fix=f"write targetPort: {known[0]}"
                    if known
                    else "declare the port in the pods",
                    seen={"port": name or str(number)},
                ),
            )


@rule(UNSERVED, kinds=("Service",))
def service_port_unserved(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The first port of a Service leads to one that a selected pod opens."""
    yield from (fault for index, fault in _missed(subject, documents) if not index)


@rule(DEAD, kinds=("Service",))
def service_port_dead(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """So do the others."""
    yield from (fault for index, fault in _missed(subject, documents) if index)
