"""Volcano under LWS's own provider: LWS makes one PodGroup a group, and Volcano starts its pods together or not at all.

We write no PodGroup: its name carries a revision hash that only LWS knows, and it takes neither a topology nor a
priority (`volcano §5`, `lab E8`). What the manifest gives is the scheduler in both templates, and the queue on the
set's metadata; the rest is a switch of the LWS controller.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gangform.admission import volcano_alerts
from gangform.admission.admission import Demand, Policy, Recognised, Stamp, lws_makes_groups
from gangform.admission.checks import level_faults, queue_faults
from gangform.admission.volcano_objects import (
    foundation,
    hyper_node_faults,
    queue_prerequisites,
    release_faults,
    reserved_queue_faults,
)
from gangform.apis import leaderworkerset as lws
from gangform.apis import volcano as api
from gangform.apis.alerting import Alert
from gangform.apis.forms import GroupView
from gangform.documents.document import Manifest, mapping, text
from gangform.findings import Finding, InputPath, Prerequisite, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults, Defaults

if TYPE_CHECKING:
    from gangform.admission.advice import Advice
    from gangform.apis.panels import Panel

PROVIDER_OFF = declare(
    "lws-provider-off",
    "Without LWS's provider Volcano gangs single StatefulSets: no group is held together, and nothing warns",
    Severity.BREAKS,
    "volcano §5",
)
GANG_OF_ONE = declare(
    "gang-reduced-to-leader",
    "LeaderReady reduces the gang of LWS's provider to the leader",
    Severity.DEGRADES,
    "volcano §5; lab E8",
)
TOPOLOGY_INERT = declare(
    "topology-needs-podgroup",
    "LWS's provider cannot ask Volcano for a topology",
    Severity.BREAKS,
    "volcano §5; lab E8",
)

INERT = "LWS's provider sets no topology: Volcano keeps the gang, but its pods may land in any domain of {level}"
NO_PRIORITY = (
    "LWS's provider gives its PodGroups no priority: {name} orders pods, never whole groups"
)
DYING_GROUP = (
    "A leader that is made again quickly can join its old, dying PodGroup and stay pending; deleting the pod once "
    "more helps (seen up to LWS 0.10)"
)


class Volcano:
    """Volcano, with LWS's scheduler provider on."""

    name: ClassVar[str] = "volcano"

    def policy(self, cluster: Cluster) -> Policy:
        """A surge group that does not fit holds nothing, and the rollout ends once it fits (`lab E8`)."""
        return Policy(
            queued=True,
            needs_queue=True,
            surge_finishes=True,
            surges=True,
            gangs=True,
            scales=True,
            one_workload_per_group=False,
            longest_name=None,
            lws_provider=True,
        )

    def advice(self, demands: Sequence[Demand], cluster: Cluster) -> Advice:
        """On the PodGroups that LWS makes."""
        from gangform.admission.volcano_advice import advice

        return advice(demands, own=False)

    def check(self, demand: Demand, cluster: Cluster) -> Iterator[Finding]:
        """Queue, level, the provider's switch, and what the provider cannot pass on."""
        yield from queue_faults(demand)
        yield from reserved_queue_faults(demand, cluster)
        yield from level_faults(demand, cluster)
        yield from release_faults(cluster)
        if demand.size == 1:
            return
        if lws_makes_groups(cluster) is False:
            yield Finding(
                code=PROVIDER_OFF,
                at=InputPath(("clusters", cluster.name, "lwsSchedulerProvider")),
                what="LWS's schedulerProvider is none: leaders and workers would be scheduled apart",
                fix=f"set {PROVIDER} in LWS's configuration and declare lwsSchedulerProvider: volcano, "
                "or use backend volcano-podgroup",
            )
        if demand.startup_policy == lws.LEADER_READY:
            yield Finding(
                code=GANG_OF_ONE,
                at=InputPath((*demand.at, "startupPolicy")),
                what=f"under {lws.LEADER_READY} the gang of {demand.workload} is 1 pod, its group {demand.size}",
                fix=f"write `startupPolicy: {lws.LEADER_CREATED}`",
                seen={"gang": "1", "size": str(demand.size)},
            )
        if demand.placement is not None and demand.placement.mode == "required":
            yield Finding(
                code=TOPOLOGY_INERT,
                at=InputPath((*demand.at, "topology", "mode")),
                what=f"level `{demand.placement.level}` is required, and LWS's provider has no way to say so",
                fix="use backend volcano-podgroup or Kueue, or write `mode: preferred`",
                seen={"level": demand.placement.level},
            )

    def check_sum(self, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
        """The HyperNodes of the foundation."""
        yield from hyper_node_faults(demands, cluster)

    def stamp(self, demand: Demand, cluster: Cluster) -> Stamp:
        """Scheduler and queue. A lone pod names its queue itself: Volcano makes its group (`volcano §1.4`)."""
        queue = {api.QUEUE_NAME: demand.queue} if demand.queue else {}
        return Stamp(
            owner_annotations=queue,
            pod_annotations=queue if demand.size == 1 else {},
            scheduler=api.SCHEDULER,
            remarks=(
                *(_remarks(demand) if demand.size > 1 else ()),
                *volcano_alerts.unseen(demand, cluster),
            ),
        )

    def recognise(self, group: GroupView) -> Recognised | None:
        """A set that Volcano schedules and whose pods name no PodGroup: LWS's provider makes it."""
        spec, named = group.leader.spec, group.leader.annotations
        if text(spec, "schedulerName") != api.SCHEDULER or api.GROUP_NAME in named:
            return None
        owner = mapping(group.document.manifest, *group.own, "annotations")
        return Recognised(text(owner, api.QUEUE_NAME) or named.get(api.QUEUE_NAME))

    def foundation(
        self, demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
    ) -> Sequence[Manifest]:
        """Queues and HyperNodes, as far as they are ours."""
        return foundation(demands, cluster, defaults=defaults)

    def panels(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Panel]:
        """Its queues."""
        from gangform.admission.volcano_panels import panels

        return tuple(panels(demands))

    def prerequisites(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Prerequisite]:
        """The provider's switch, Volcano itself, and open queues."""
        return (
            *_provider_prerequisite(demands, cluster),
            *queue_prerequisites(demands, cluster),
            *volcano_alerts.scraped(demands, cluster),
        )

    def alerts(
        self, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On the PodGroups that LWS makes, where the cluster shows them."""
        if lws_makes_groups(cluster) is False:
            return ()
        return tuple(volcano_alerts.alerts(demands, cluster, limits, by="leaderworkerset"))

    def queue_alerts(
        self, queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On the Queue."""
        return tuple(volcano_alerts.queue_alerts(queue, demands, cluster, limits))


PROVIDER = "gangSchedulingManagement.schedulerProvider: volcano"


def _remarks(demand: Demand) -> Iterator[str]:
    if demand.placement is not None:
        yield INERT.format(level=demand.placement.level)
    if demand.pod_priority:
        yield NO_PRIORITY.format(name=demand.pod_priority)
    yield DYING_GROUP


def _provider_prerequisite(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    if lws_makes_groups(cluster) is None and any(demand.size > 1 for demand in demands):
        yield Prerequisite(
            what=f"LWS's controller configuration sets {PROVIDER}",
            check="kubectl -n lws-system get configmap lws-manager-config -o yaml",
            without="leaders and workers are scheduled apart, as if there were no gang",
        )
