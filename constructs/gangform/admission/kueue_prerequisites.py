"""What Kueue needs that no manifest of ours makes: its configuration, labels of nodes, and what others own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.admission.kueue_objects import flavor_labels
from gangform.apis import kueue as api
from gangform.findings import Prerequisite
from gangform.inputs.cluster import Cluster

CONTROLLER = "kubectl -n kueue-system get deployment kueue-controller-manager"
CONFIGURATION = "kubectl -n kueue-system get configmap kueue-manager-config -o yaml"


def own_prerequisites(demand: Demand, cluster: Cluster) -> Iterator[Prerequisite]:
    """What one workload needs: its priority class, and time to start."""
    priority = demand.priority_class
    if priority and (priority not in cluster.priorities or cluster.foundation == "existing"):
        yield Prerequisite(
            what=f"WorkloadPriorityClass {priority}",
            check=f"kubectl get workloadpriorityclasses.{api.GROUP} {priority}",
            without="no Workload is made and all pods of the set stay gated, without an event before Kueue 0.20",
        )
    if cluster.kueue.wait_for_pods_ready == "unknown":
        yield Prerequisite(
            what=f"Kueue's waitForPodsReady is off, or its timeout is at least {demand.worst_cold_start}",
            check=CONFIGURATION,
            without=f"a group of {demand.serving} that starts more slowly is evicted, and loads again, for ever",
        )


def shared_prerequisites(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    """What all demands of a cluster need, once each."""
    sets = any(demand.runs_groups for demand in demands)
    if sets and cluster.kueue.lws_framework == "unknown":
        yield Prerequisite(
            what=f"Kueue's configuration lists {api.LWS_FRAMEWORK} under integrations.frameworks",
            check=CONFIGURATION,
            without="groups start at once, unmanaged and outside every quota",
        )
    if any(not demand.runs_groups for demand in demands):
        yield Prerequisite(
            what="Kueue's configuration lists deployment and pod under integrations.frameworks",
            check=CONFIGURATION,
            without="replicas of one pod start at once, outside every quota",
        )
    release = cluster.versions.releases.kueue
    mended = None if release is None else api.overlooks_domains_until(release)
    if mended and any(demand.size > 1 and demand.placement for demand in demands):
        yield Prerequisite(
            what=f"Kueue is at least {mended}",
            check=f"{CONTROLLER} -o jsonpath='{{.spec.template.spec.containers[*].image}}'",
            without="a group waits for ever, without an event, beside a domain with room for all but one of its pods",
        )
    pools = {demand.pool: demand for demand in sorted(demands, key=_by_pool)}
    for demand in pools.values():
        yield from _pool(demand, cluster)
    if cluster.foundation == "existing":
        for namespace, queue in sorted({(each.namespace, each.queue) for each in demands}):
            mine = [each for each in demands if (each.namespace, each.queue) == (namespace, queue)]
            resources = ", ".join(sorted({name for each in mine for name in each.group}))
            yield Prerequisite(
                what=f"LocalQueue {queue} in namespace {namespace}, whose ClusterQueue covers {resources}",
                check=f"kubectl -n {namespace} get localqueues.{api.GROUP} {queue} -o yaml",
                without="the groups stay gated, without an event",
            )


def _pool(demand: Demand, cluster: Cluster) -> Iterator[Prerequisite]:
    pool = demand.pool
    levels = cluster.pools[pool].levels if pool in cluster.pools else ()
    labels = [f"{key}={value}" for key, value in flavor_labels(demand, cluster).items()]
    if levels:
        yield Prerequisite(
            what=f"Every node of pool {pool} carries the labels {', '.join(levels)}",
            check=f"kubectl get nodes -l {','.join(labels)} -L {','.join(levels)}",
            without="Kueue does not count a node that lacks one, and groups wait beside free nodes",
        )
    if cluster.foundation == "all":
        return
    # A queue that we make names the flavor; in one of somebody else's it may be called anything.
    ours = cluster.foundation == "queues"
    flavor = f"ResourceFlavor {pool}" if ours else f"The queue's ResourceFlavor for pool {pool}"
    topology = f", and names a Topology with the levels {', '.join(levels)}" if levels else ""
    yield Prerequisite(
        what=f"{flavor} selects {', '.join(labels)}, tolerates the taints of the nodes{topology}",
        check=f"kubectl get resourceflavors.{api.GROUP},topologies.{api.GROUP} -o yaml",
        without="the queue stays inactive, or groups stay gated beside free nodes",
    )


def _by_pool(demand: Demand) -> tuple[str, str, str]:
    return (demand.pool, demand.serving, demand.workload)
