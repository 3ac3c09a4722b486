"""Volcano with PodGroups of our own: one LeaderWorkerSet of one group each, so that topology and priority are ours.

LWS's provider must be off, since it overwrites the pods' group name. Then LWS's restart of whole groups, Volcano's gang
and its hard topology go together (`lab E8`). The price: groups are objects of their own, nothing surges (a surge group
would join the same PodGroup and find no room) and no autoscaler counts them.

The tier of a hard topology goes by number where the HyperNodes are ours, since we number them; by name where they are
others', since discovery names a tier by its label key and the number is theirs (`volcano §2.1`; both: `lab E8`).
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
    tier,
)
from gangform.apis import core
from gangform.apis import leaderworkerset as lws
from gangform.apis import volcano as api
from gangform.apis.alerting import Alert
from gangform.apis.forms import GroupView
from gangform.documents.document import Manifest, Node, text
from gangform.findings import Finding, InputPath, Prerequisite, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults, Defaults

if TYPE_CHECKING:
    from gangform.admission.advice import Advice
    from gangform.apis.panels import Panel

PROVIDER_ON = declare(
    "lws-provider-on",
    "LWS's provider overwrites the group name of every pod, so that PodGroups of our own have no members",
    Severity.BREAKS,
    "volcano §5, §6; lab E8",
)
NEVER_STARTS = declare(
    "gang-waits-for-leader",
    "Under LeaderReady workers are made once the leader runs, and the gang lets no leader run without them",
    Severity.BREAKS,
    "volcano §5, §11.2",
)
NEED_DOMAINS = declare(
    "hypernodes-need-domains",
    "A required level without HyperNodes is dropped in silence, and HyperNodes are made from domain values",
    Severity.BREAKS,
    "design §3 Cluster; lab E8",
)
PLUGIN_OFF = declare(
    "topology-plugin-off",
    "A required level is dropped in silence where the scheduler's topology plugin is off",
    Severity.BREAKS,
    "volcano §1.5; lab E8",
)
NO_HOST_TIER = declare(
    "hypernodes-lack-host",
    "Hosts are the leaves of Volcano's topology and have no tier",
    Severity.BREAKS,
    "volcano §2.1",
)

APART = (
    "Groups are separate objects: a change in Git reaches all of them at once, so apply it group by group; all at once "
    "a group may hang with its leader alone, while others take the rest of its domain"
)
LOSES_PLACE = "A group that is rebuilt frees its nodes for a moment, and a group that waits for such nodes takes them"
WAVES = (
    "Groups are separate objects, each in a sync wave of its own: a change reaches a group once the one before it is "
    "healthy"
)
SOFT = "Level {level} is only preferred: Volcano may split a group over domains"
UNHEARD = "Scheduler plugin {plugin} is off, so that nothing prefers level {level}"


class VolcanoPodGroup:
    """Volcano, with LWS's scheduler provider off."""

    name: ClassVar[str] = "volcano-podgroup"

    def policy(self, cluster: Cluster) -> Policy:
        """Whole groups wait; each is an object, replaced in place."""
        return Policy(
            queued=True,
            needs_queue=True,
            surge_finishes=False,
            surges=False,
            gangs=True,
            scales=False,
            one_workload_per_group=True,
            longest_name=None,
            lws_provider=False,
        )

    def advice(self, demands: Sequence[Demand], cluster: Cluster) -> Advice:
        """On the PodGroups of ours."""
        from gangform.admission.volcano_advice import advice

        return advice(demands, own=True)

    def check(self, demand: Demand, cluster: Cluster) -> Iterator[Finding]:
        """Queue, level, the provider's switch, and whether a required level would be kept."""
        yield from queue_faults(demand)
        yield from reserved_queue_faults(demand, cluster)
        yield from level_faults(demand, cluster)
        yield from release_faults(cluster)
        if demand.runs_groups and lws_makes_groups(cluster):
            yield Finding(
                code=PROVIDER_ON,
                at=InputPath(("clusters", cluster.name, "lwsSchedulerProvider")),
                what="LWS's schedulerProvider is volcano: it overwrites the group name of every pod",
                fix="switch the provider off and declare lwsSchedulerProvider: none, or use backend volcano",
            )
        if demand.size > 1 and demand.startup_policy == lws.LEADER_READY:
            yield Finding(
                code=NEVER_STARTS,
                at=InputPath((*demand.at, "startupPolicy")),
                what=f"the gang of {demand.workload} is {demand.size} pods, and {lws.LEADER_READY} makes 1 of them",
                fix=f"write `startupPolicy: {lws.LEADER_CREATED}`",
                seen={"gang": str(demand.size)},
            )
        if demand.size > 1:
            yield from _topology_faults(demand, cluster)

    def check_sum(self, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
        """The HyperNodes of the foundation."""
        yield from hyper_node_faults(demands, cluster)

    def stamp(self, demand: Demand, cluster: Cluster) -> Stamp:
        """The group's name on every pod, and its PodGroup under the same name as the workload.

        A replica of one pod needs none: Volcano makes its group, and reads the queue from the pod (`volcano §1.4`).
        """
        if not demand.runs_groups:
            queue = {api.QUEUE_NAME: demand.queue} if demand.queue else {}
            return Stamp(
                pod_annotations=queue,
                scheduler=api.SCHEDULER,
                remarks=tuple(volcano_alerts.unseen(demand, cluster)),
            )
        return Stamp(
            pod_annotations={api.GROUP_NAME: demand.workload},
            scheduler=api.SCHEDULER,
            objects=(_pod_group(demand, cluster),),
            remarks=(*_remarks(demand, cluster), *volcano_alerts.unseen(demand, cluster)),
        )

    def recognise(self, group: GroupView) -> Recognised | None:
        """A set that Volcano schedules and whose pods name their PodGroup."""
        spec, named = group.leader.spec, group.leader.annotations
        if text(spec, "schedulerName") != api.SCHEDULER or api.GROUP_NAME not in named:
            return None
        return Recognised(named.get(api.QUEUE_NAME))

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
        """The provider's switch, open queues, the topology plugin, and HyperNodes that others make."""
        return (
            *_provider_prerequisite(demands, cluster),
            *queue_prerequisites(demands, cluster),
            *_topology_prerequisites(demands, cluster),
            *volcano_alerts.scraped(demands, cluster),
        )

    def alerts(
        self, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On PodGroups, where the cluster shows them."""
        return tuple(volcano_alerts.alerts(demands, cluster, limits, by="podgroup"))

    def queue_alerts(
        self, queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On the Queue."""
        return tuple(volcano_alerts.queue_alerts(queue, demands, cluster, limits))


def _topology_faults(demand: Demand, cluster: Cluster) -> Iterator[Finding]:
    placement = demand.placement
    if placement is None or placement.mode == "preferred":
        return
    seen = {"level": placement.level}
    if placement.level == core.HOSTNAME:
        yield Finding(
            code=NO_HOST_TIER,
            at=InputPath((*demand.at, "topology", "level")),
            what=f"level `{placement.level}` is required, and Volcano's lowest tier is above the host",
            fix="write a level above the host",
            seen=seen,
        )
    pool = cluster.pools.get(demand.pool)
    if cluster.foundation == "all" and pool is not None and not pool.domains:
        yield Finding(
            code=NEED_DOMAINS,
            at=InputPath(("clusters", cluster.name, "pools", demand.pool, "domains")),
            what=f"level `{placement.level}` is required, and pool {demand.pool} declares no domains",
            fix=f"list the domains of pool {demand.pool} with their label values, or write `foundation: queues` "
            "where HyperNodes are discovered",
            seen=seen,
        )
    plugins = cluster.volcano.plugins
    if plugins is not None and api.TOPOLOGY_PLUGIN not in plugins:
        yield Finding(
            code=PLUGIN_OFF,
            at=InputPath(("clusters", cluster.name, "volcano", "plugins")),
            what=f"level `{placement.level}` is required, and plugin {api.TOPOLOGY_PLUGIN} is not among the "
            "scheduler's",
            fix=f"add {api.TOPOLOGY_PLUGIN} to the scheduler's configuration, then declare it",
            seen={**seen, "plugins": ", ".join(plugins)},
        )


def _pod_group(demand: Demand, cluster: Cluster) -> Manifest:
    spec: dict[str, Node] = {
        "minMember": demand.size,
        "minResources": demand.group.spelled(),
    }
    if demand.queue:
        spec["queue"] = demand.queue
    if demand.pod_priority:
        spec["priorityClassName"] = demand.pod_priority
    if demand.placement is not None and demand.size > 1:
        spec["networkTopology"] = _network_topology(demand, cluster)
    return {
        "apiVersion": api.API_VERSION,
        "kind": "PodGroup",
        "metadata": {"name": demand.workload, "namespace": demand.namespace},
        "spec": spec,
    }


def _network_topology(demand: Demand, cluster: Cluster) -> Manifest:
    placement = demand.placement
    if placement is None or placement.mode == "preferred":
        return {"mode": "soft"}
    own = [demand.pool]
    number = tier(placement.level, cluster, own) if cluster.foundation == "all" else None
    if number is None:
        return {"mode": "hard", "highestTierName": placement.level}
    return {"mode": "hard", "highestTierAllowed": number}


def _remarks(demand: Demand, cluster: Cluster) -> Iterator[str]:
    yield WAVES if cluster.gitops == "argocd" else APART
    if demand.size > 1:
        yield LOSES_PLACE
    placement = demand.placement
    if placement is not None and placement.mode == "preferred" and demand.size > 1:
        plugins = cluster.volcano.plugins
        if plugins is not None and api.TOPOLOGY_PLUGIN not in plugins:
            yield UNHEARD.format(plugin=api.TOPOLOGY_PLUGIN, level=placement.level)
        else:
            yield SOFT.format(level=placement.level)


def _provider_prerequisite(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    if lws_makes_groups(cluster) is None and any(demand.runs_groups for demand in demands):
        yield Prerequisite(
            what="LWS's controller configuration names no gangSchedulingManagement.schedulerProvider",
            check="kubectl -n lws-system get configmap lws-manager-config -o yaml",
            without="LWS overwrites the pods' group name, and our PodGroups stay empty",
        )


def _topology_prerequisites(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    placed = [each for each in demands if each.placement is not None and each.size > 1]
    if placed and cluster.volcano.plugins is None:
        yield Prerequisite(
            what=f"Volcano's scheduler configuration has the plugin {api.TOPOLOGY_PLUGIN}",
            check="kubectl -n volcano-system get configmap volcano-scheduler-configmap -o yaml",
            without="levels are neither kept nor preferred, in silence",
        )
    if cluster.foundation == "all":
        for pool in sorted({each.pool for each in placed} & set(cluster.pools)):
            levels = cluster.pools[pool].above_host
            yield Prerequisite(
                what=f"Every node of pool {pool} carries the labels {', '.join(levels)}",
                check=f"kubectl get nodes -L {','.join(levels)}",
                without="a node that lacks one belongs to no HyperNode, and groups wait beside free nodes",
            )
    if cluster.foundation != "all":
        required = {
            each.placement.level
            for each in placed
            if each.placement is not None and each.placement.mode == "required"
        }
        for level in sorted(required):
            yield Prerequisite(
                what=f"HyperNodes with tierName {level} cover the nodes",
                check="kubectl get hypernodes -o custom-columns=N:.metadata.name,T:.spec.tier,NAME:.spec.tierName",
                without=f"level {level} is dropped in silence",
            )
