"""Ways to a Service or pool: ports that they have, on gateways that are there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, dig, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import groups_behind, is_set
from gangform.rules.names import ingress_backends
from gangform.rules.ports import opened_ports
from gangform.rules.references import lost, missing
from gangform.rules.rule import Context, Fault, joined, rule
from gangform.rules.selectors import selector_of

PORT = declare(
    "route-port-unknown",
    "A route or Ingress sends to a port that the Service does not have",
    Severity.BREAKS,
    "observability §7; Kubernetes: ports of a Service",
)
GATEWAY = declare(
    "route-gateway-missing",
    "A route names a gateway that is nowhere: nothing comes in by it",
    Severity.BREAKS,
    "observability §7",
)
TARGET = declare(
    "pool-port-unserved",
    "A pool sends to a port that no selected pod opens",
    Severity.BREAKS,
    "observability §7; engines §1.6",
)


HEADLESS = declare(
    "route-to-headless-service",
    "A route sends to the Service that the controller makes for addresses: it has no ports and every pod behind it",
    Severity.BREAKS,
    "lws §1; observability §6",
)
STICKY = declare(
    "service-session-affinity",
    "Clients stay with one group: whoever comes through a gateway is one client",
    Severity.STYLE,
    "observability §6",
)


def _backends(subject: Document) -> Iterator[tuple[Path, Key, int | str | None]]:
    """Services that a route or Ingress sends to: where the port stands, the Service, the port."""
    space = subject.key.namespace
    for path, backend in ingress_backends(subject):
        name = text(backend, "service", "name")
        number, called = (
            dig(backend, "service", "port", "number"),
            text(backend, "service", "port", "name"),
        )
        field = "number" if number is not None else "name"
        port = number if isinstance(number, int) else (called or None)
        yield (*path, "service", "port", field), Key("", "Service", space, name), port
    for number_, each in enumerate(sequence(subject.manifest, "spec", "rules")):
        for index, ref in enumerate(sequence(each, "backendRefs")):
            if (text(ref, "kind") or "Service") == "Service" and not text(ref, "group"):
                at: Path = ("spec", "rules", number_, "backendRefs", index, "port")
                key = Key("", "Service", text(ref, "namespace") or space, text(ref, "name"))
                yield at, key, whole(ref, "port")


@rule(PORT, kinds=("HTTPRoute", "GRPCRoute", "Ingress"))
def route_port_unknown(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A Service has the port that requests are sent to."""
    for path, key, port in _backends(subject):
        service = documents.get(key)
        if service is None or port is None:
            continue
        ports = sequence(service.manifest, "spec", "ports")
        numbers = [whole(each, "port") for each in ports]
        names = [text(each, "name") for each in ports]
        if port not in (*numbers, *names):
            known = [str(number) for number in numbers if number is not None]
            yield Fault(
                path=path,
                what=f"Service {key.name} has no port {port}; it has {', '.join(known) or 'none'}",
                fix=f"write {known[0]}" if known else f"give {key.name} the port",
                seen={"port": str(port)},
            )


@rule(GATEWAY, kinds=("HTTPRoute", "GRPCRoute"), scope="cluster")
def route_gateway_missing(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The gateway of a route exists."""
    for index, ref in enumerate(sequence(subject.manifest, "spec", "parentRefs")):
        kind = text(ref, "kind") or "Gateway"
        group = dig(ref, "group")
        key = Key(
            group if isinstance(group, str) else subject.key.group,
            kind,
            text(ref, "namespace") or subject.key.namespace,
            text(ref, "name"),
        )
        if missing(documents, context, key):
            yield lost(documents, key, ("spec", "parentRefs", index, "name"))


@rule(TARGET, kinds=("InferencePool",))
def pool_port_unserved(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The ports of a pool are ones that the selected pods open."""
    found = selector_of(subject)
    if found is None:
        return
    opened = opened_ports(documents, documents.pods(subject.key.namespace, found[1]))
    ports = sequence(subject.manifest, "spec", "targetPorts")
    path: Path = ("spec", "targetPortNumber")
    number = whole(subject.manifest, *path)
    if len(ports) == 1:  # With several, each may be an engine of its own that declares none.
        path, number = ("spec", "targetPorts", 0, "number"), whole(ports[0], "number")
    known = sorted(opened.numbers)
    if number is not None and opened.lacks(number):
        yield Fault(
            path=path,
            what=f"no selected pod opens port {number}; they open "
            + (", ".join(map(str, known)) or "none"),
            fix=f"write {known[0]}" if known else "select the pods that serve",
            seen={"port": str(number)},
        )


@rule(STICKY, kinds=("Service",))
def service_session_affinity(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Requests are spread over the groups."""
    found = selector_of(subject)
    if found is None or text(subject.manifest, "spec", "sessionAffinity") != "ClientIP":
        return
    for group in groups_behind(documents, list(documents.pods(subject.key.namespace, found[1]))):
        if is_set(group):
            yield Fault(
                path=("spec", "sessionAffinity"),
                what=f"every client behind one address is served by one group of {group.title}",
                fix="write sessionAffinity: None, and leave affinity to the router",
            )
            return


@rule(HEADLESS, kinds=("HTTPRoute", "GRPCRoute", "Ingress"))
def route_to_headless_service(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Requests go through a Service of leaders, not through the one that gives pods their addresses."""
    for path, key, _ in _backends(subject):
        if documents.get(key) is not None or key in context.exists:
            continue
        for group in _named(documents).get((key.namespace, key.name), ()):
            yield Fault(
                path=(*path[:-1], "name") if path[-1] == "port" else (*path[:-2], "name"),
                what=f"Service {key.name} is the headless one of {group.kind} {group.name}: it has no ports, and "
                "workers behind it",
                fix=f"add a Service of the leaders, such as {key.name}-leader, and name it here",
            )


@joined
def _named(documents: Documents) -> dict[tuple[str, str], list[GroupView]]:
    """Sets whose controller makes a Service of their own name."""
    found: defaultdict[tuple[str, str], list[GroupView]] = defaultdict(list)
    for group in documents.groups():
        if is_set(group) and not group.added:
            found[group.namespace, group.name].append(group)
    return dict(found)
