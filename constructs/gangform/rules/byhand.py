"""Groups that somebody made by hand out of a StatefulSet: its pods start together, and find each other by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import statefulset
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import Key, mapping, text
from gangform.findings import Path, Severity, declare
from gangform.rules.joins import engine_of, gpus, over_groups, owned
from gangform.rules.rule import Context, Fault, rule

ORDERED = declare(
    "ordered-start-deadlock",
    "Pods are made one after another, each once the last is Ready, and the first is Ready once all have joined",
    Severity.BREAKS,
    "volcano §6.1; engines §1.6",
)
ADDRESSES = declare(
    "stateful-service-not-headless",
    "The Service that gives the pods of a StatefulSet their names is not headless: no pod has an address",
    Severity.DEGRADES,
    "volcano §6.1; Kubernetes: stable network identity",
)

_KIND: Final = (statefulset.KIND,)
_ORDER: Final[Path] = ("spec", "podManagementPolicy")
_NAME: Final[Path] = ("spec", "serviceName")


@rule(ORDERED, kinds=_KIND)
@over_groups
def ordered_start_deadlock(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Ranks that wait for each other start together."""
    run = engine_of(documents, group.leader)
    if run is None or run.reading is None or not run.reading.all_ranks:
        return
    nodes, pods = run.reading.nodes or "", group.replicas or 1
    asks = {"httpGet", "tcpSocket"} & mapping(run.container, "readinessProbe").keys()
    several = nodes.isdecimal() and int(nodes[:6]) > 1
    policy = group.word("podManagementPolicy")
    if several and pods > 1 and asks and policy != statefulset.PARALLEL:
        yield Fault(
            path=_ORDER,
            what=f"pod 1 of {pods} is made once pod 0 is Ready, and its readinessProbe asks an engine that "
            f"waits for {nodes} nodes",
            fix=f"write podManagementPolicy: {statefulset.PARALLEL}",
            seen={"nodes": nodes, "pods": str(pods)},
        )


@rule(ADDRESSES, kinds=_KIND)
@over_groups
def stateful_service_not_headless(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The Service of a StatefulSet gives addresses to its pods."""
    name = group.word("serviceName")
    service = documents.get(Key("", "Service", group.namespace, name))
    if not name or service is None or owned(service) or not gpus(documents, group.leader):
        return
    if (group.replicas or 1) > 1 and text(service.manifest, "spec", "clusterIP") != "None":
        yield Fault(
            path=_NAME,
            what=f"Service {name} has an address of its own, so that {group.name}-0.{name} has none",
            fix='name a Service with clusterIP: "None"',
        )
