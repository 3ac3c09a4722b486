"""Ports of Services: somebody behind them listens there.

To Kubernetes a declared port is information, and an undeclared one is open too. So a number is only missed where all
that every selected pod runs was read to the end; a name, which leads by the declared ports alone, always.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import labels_of, owned, read_runs
from gangform.rules.ports import opened_ports
from gangform.rules.rule import Context, Fault, rule

UNSERVED = declare(
    "service-port-unserved",
    "A port of a Service leads to one that no selected pod opens, and no other leads to an engine",
    Severity.BREAKS,
    "observability §6",
)
DEAD = declare(
    "service-port-dead",
    "A port of a Service leads to one that no selected pod opens, beside one that serves",
    Severity.STYLE,
    "observability §6",
)

_DIGITS: Final = 10
"""A longer number is none that means anything here."""


def _target(port: Node) -> tuple[str, int]:
    """The name or the number of the port that a Service sends to; neither where it is not to be read."""
    target = dig(port, "targetPort")
    if target is None:
        return "", whole(port, "port") or 0
    name = text(port, "targetPort")
    if name.isdecimal() and len(name) < _DIGITS:
        return "", int(name)
    return ("" if "$" in name or "{" in name else name), whole(port, "targetPort") or 0


def _missed(subject: Document, documents: Documents, *, dead: bool) -> Iterator[Fault]:
    """The ports that lead nowhere: `dead` where another one of the Service leads to an engine."""
    labels = labels_of(dig(subject.manifest, "spec", "selector"))
    headless = text(subject.manifest, "spec", "clusterIP") == "None"
    if not labels or owned(subject) or headless:
        return
    pods = documents.pods(subject.key.namespace, labels)
    runs = [run for pod in pods for run in read_runs(documents, pod)]
    if not runs or any("image" not in run.container for run in runs):
        return
    opened = opened_ports(documents, pods)
    known = sorted(opened.numbers)
    ports = [_target(port) for port in sequence(subject.manifest, "spec", "ports")]
    missing = [
        name not in opened.names if name else bool(number) and opened.lacks(number)
        for name, number in ports
    ]
    serves = any(
        number in opened.served or (not gone and not index)
        for index, ((_, number), gone) in enumerate(zip(ports, missing, strict=True))
    )
    if serves is not dead:
        return
    for index, (name, number) in enumerate(ports):
        if missing[index]:
            path: Path = ("spec", "ports", index)
            written = dig(subject.manifest, *path, "targetPort") is not None
            yield Fault(
                path=(*path, "targetPort") if written else path,
                what=f"no selected pod opens port {name or number}; they open "
                + (", ".join(map(str, known)) or "none"),
                fix=f"write targetPort: {known[0]}" if known else "declare the port in the pods",
                seen={"port": name or str(number)},
            )


@rule(UNSERVED, kinds=("Service",))
def service_port_unserved(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A port of a Service leads to one that a selected pod opens."""
    yield from _missed(subject, documents, dead=False)


@rule(DEAD, kinds=("Service",))
def service_port_dead(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """So does one beside a port that serves."""
    yield from _missed(subject, documents, dead=True)
