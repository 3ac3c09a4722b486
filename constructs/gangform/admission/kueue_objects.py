"""The objects that Kueue needs beside workloads, made from the sum of all demands.

One pool is one ResourceFlavor, pinned to its nodes and tolerating their taints; one queue is one ClusterQueue that
covers every requested resource in one group, in one order, and whose nominal quota is what its demands add up to.
No cohort and no preemption: nobody can reclaim or preempt a serving group inside Kueue (`kueue §7`).

Names: Topology and ResourceFlavor are called like the pool, ClusterQueue and LocalQueue like the queue.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gangform.admission.admission import Demand
from gangform.apis import core
from gangform.apis import kueue as api
from gangform.documents.document import Manifest, Node
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults
from gangform.units import Resources, spell


def has_group(demand: Demand) -> bool:
    """Whether there is anything to hold together: one pod is a group by itself."""
    return demand.size > 1


def api_version(cluster: Cluster) -> str:
    """Of all objects of Kueue; what `check` refuses as too old gets the oldest that we write."""
    release = cluster.versions.releases.kueue or api.OLDEST
    return api.api_version(max(release, api.OLDEST))


def flavor_labels(demand: Demand, cluster: Cluster) -> dict[str, str]:
    """The node labels that tell the nodes of a demand's pool: GPU product first, then the pool's own."""
    gpu = demand.hardware.gpu
    pool = cluster.pools.get(demand.pool)
    return {gpu.product_label: gpu.product, **({} if pool is None else pool.node_labels)}


def foundation(
    demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
) -> list[Manifest]:
    """What the cluster's `foundation` says is ours. The order of demands changes nothing."""
    if cluster.foundation == "existing":
        return []
    version = api_version(cluster)
    made: list[Manifest] = []
    if cluster.foundation == "all":
        pools = {demand.pool: demand for demand in _sorted(demands)}
        made.extend(
            _topology(version, pool, levels) for pool in pools if (levels := _levels(cluster, pool))
        )
        made.extend(_flavor(version, demand, cluster) for demand in pools.values())
    made.extend(
        {
            "apiVersion": version,
            "kind": "WorkloadPriorityClass",
            "metadata": {"name": name},
            "value": value,
        }
        for name, value in sorted(cluster.priorities.items())
    )
    queues: dict[str, list[Demand]] = {}
    for demand in _sorted(demands):
        if demand.queue:
            queues.setdefault(demand.queue, []).append(demand)
    made.extend(_cluster_queue(version, queue, queues[queue], defaults) for queue in sorted(queues))
    made.extend(_local_queues(version, queues))
    return made


def totals(demands: Sequence[Demand]) -> dict[str, Resources]:
    """What all demands ask for at the peak, by pool, both in alphabetical order."""
    sums: dict[str, Resources] = {}
    for demand in _sorted(demands):
        sums[demand.pool] = sums.get(demand.pool, Resources({})) + demand.total
    return {
        pool: Resources({name: amounts[name] for name in sorted(amounts)})
        for pool, amounts in sums.items()
    }


def _sorted(demands: Sequence[Demand]) -> list[Demand]:
    return sorted(
        demands, key=lambda each: (each.pool, each.namespace, each.serving, each.workload)
    )


def _levels(cluster: Cluster, pool: str) -> tuple[str, ...]:
    return cluster.pools[pool].levels if pool in cluster.pools else ()


def _topology(version: str, pool: str, levels: Sequence[str]) -> Manifest:
    # Without the host as the last level, taints, selectors and free GPUs are not looked at node by node before 0.20,
    # and a rack of half-free nodes counts as free (kueue §1.7).
    whole = [*levels] if core.HOSTNAME in levels else [*levels, core.HOSTNAME]
    return {
        "apiVersion": version,
        "kind": "Topology",
        "metadata": {"name": pool},
        "spec": {"levels": [{"nodeLabel": level} for level in whole]},
    }


def _flavor(version: str, demand: Demand, cluster: Cluster) -> Manifest:
    spec: dict[str, Node] = {"nodeLabels": flavor_labels(demand, cluster)}
    if _levels(cluster, demand.pool):
        spec["topologyName"] = demand.pool
    tolerations: list[Mapping[str, Node]] = []
    for taint in demand.hardware.taints:
        match: dict[str, Node] = {"key": taint.key, "operator": "Exists"}
        if taint.value is not None:
            match = {"key": taint.key, "operator": "Equal", "value": taint.value}
        tolerations.append({**match, "effect": taint.effect})
    if tolerations:
        spec["tolerations"] = tolerations
    return {
        "apiVersion": version,
        "kind": "ResourceFlavor",
        "metadata": {"name": demand.pool},
        "spec": spec,
    }


def _cluster_queue(
    version: str, queue: str, demands: Sequence[Demand], defaults: Defaults
) -> Manifest:
    sums = totals(demands)
    covered = sorted({name for amounts in sums.values() for name in amounts})
    flavors: list[Manifest] = [
        {
            "name": pool,
            "resources": [
                {"name": name, "nominalQuota": spell(name, amounts.get(name, 0))}
                for name in covered
            ],
        }
        for pool, amounts in sums.items()
    ]
    return {
        "apiVersion": version,
        "kind": "ClusterQueue",
        "metadata": {"name": queue},
        "spec": {
            "namespaceSelector": {
                "matchExpressions": [
                    {
                        "key": core.NAMESPACE_NAME,
                        "operator": "In",
                        "values": sorted({demand.namespace for demand in demands}),
                    }
                ]
            },
            "queueingStrategy": defaults.queueing_strategy,
            "preemption": {
                "reclaimWithinCohort": defaults.preemption,
                "withinClusterQueue": defaults.preemption,
            },
            "resourceGroups": [{"coveredResources": covered, "flavors": flavors}],
        },
    }


def _local_queues(version: str, queues: Mapping[str, Sequence[Demand]]) -> Iterator[Manifest]:
    pairs = {(demand.namespace, queue) for queue, demands in queues.items() for demand in demands}
    for namespace, queue in sorted(pairs):
        yield {
            "apiVersion": version,
            "kind": "LocalQueue",
            "metadata": {"name": queue, "namespace": namespace},
            "spec": {"clusterQueue": queue},
        }
