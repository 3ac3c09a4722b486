"""The cluster objects of both Volcano backends: Queues with the sum of demands, and HyperNodes from one declaration.

A HyperNode is a domain: the finest level above the host is tier 1 and selects its nodes by every label of its path, so
that a value reused under two blocks stays two domains; a coarser one names its children (`volcano §2`). A node with two
parents breaks the tree, and then every PodGroup with a topology is passed over: so pools that share a domain share its
HyperNode, and levels that cannot be told apart are refused.

A level has one tier, the largest that any pool with demands gives it: a pool that nothing runs on changes nothing. What
runs already asks for the number that its own pool gives, so that pools in use have to agree on a required level.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from gangform.admission.admission import Demand
from gangform.admission.checks import release_missing
from gangform.apis import volcano as api
from gangform.documents.document import Manifest, Node
from gangform.findings import Finding, InputPath, Prerequisite, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults
from gangform.units import Resources

RESERVED = declare(
    "queue-reserved",
    "Volcano's own queues are not ours: `root` takes no work, and `default` holds everybody else's",
    Severity.BREAKS,
    "volcano §3",
)
OVERLAP = declare(
    "hypernodes-overlap",
    "A node with two parents breaks Volcano's topology for every group of the cluster",
    Severity.BREAKS,
    "volcano §1.6, §2.2",
)
TWO_TIERS = declare(
    "level-has-two-tiers",
    "A required tier is a number, and pools that go deeper below a level number it higher",
    Severity.BREAKS,
    "volcano §1.6, §2",
)
TWO_ORDERS = declare(
    "levels-in-two-orders",
    "A level that is above another in one pool is above it in all",
    Severity.BREAKS,
    "volcano §2",
)

Domain = tuple[tuple[str, str], ...]
"""Level keys and label values, coarse to fine."""


def tier(level: str, cluster: Cluster, pools: Sequence[str]) -> int | None:
    """The tier of a level over some pools: 1 for the finest above the host; `None` where none has it."""
    # Hosts are the leaves of the tree (`volcano §2.1`).
    found = [
        len(levels) - levels.index(level)
        for pool in pools
        if pool in cluster.pools and level in (levels := cluster.pools[pool].above_host)
    ]
    return max(found, default=None)


def release_faults(cluster: Cluster) -> Iterator[Finding]:
    """What Volcano accepts depends on its release."""
    yield from release_missing(cluster, "volcano", example=str(api.NEWEST))


def reserved_queue_faults(demand: Demand, cluster: Cluster) -> Iterator[Finding]:
    """`root` takes no work; a `default` made by us would cap everybody's."""
    made = cluster.foundation != "existing"
    if demand.queue == api.ROOT_QUEUE or (demand.queue == api.DEFAULT_QUEUE and made):
        why = "takes no work" if demand.queue == api.ROOT_QUEUE else "would be capped for everybody"
        yield Finding(
            code=RESERVED,
            at=InputPath((*demand.at, "admission", "queue")),
            what=f"Volcano's queue `{demand.queue}` {why}",
            fix="name a queue of your own, such as `queue: serving`",
            seen={"queue": demand.queue},
        )


def foundation(
    demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
) -> list[Manifest]:
    """What the cluster's `foundation` says is ours. The order of demands changes nothing."""
    if cluster.foundation == "existing":
        return []
    made = list(_queues(demands, defaults))
    return made + (hyper_nodes(demands, cluster) if cluster.foundation == "all" else [])


def _queues(demands: Sequence[Demand], defaults: Defaults) -> Iterator[Manifest]:
    for queue in sorted({demand.queue for demand in demands} - {""}):
        total = Resources({})
        for demand in demands:
            if demand.queue == queue:
                total = total + demand.total
        amounts = total.spelled()
        yield {
            "apiVersion": api.API_VERSION,
            "kind": "Queue",
            "metadata": {"name": queue},
            "spec": {
                "weight": defaults.queue_weight,
                "capability": {name: amounts[name] for name in sorted(amounts)},
                "reclaimable": defaults.queue_reclaimable,
            },
        }


def hyper_nodes(demands: Sequence[Demand], cluster: Cluster) -> list[Manifest]:
    """One for each domain of the demands' pools whose domains are declared, finest tier first."""
    tree, pools = _tree(demands, cluster), _pools(demands, cluster)
    tiers = {domain: tier(domain[-1][0], cluster, pools) or 1 for domain in tree}
    order = sorted(tree, key=lambda domain: (tiers[domain], domain))
    return [_hyper_node(domain, tiers[domain], sorted(tree[domain])) for domain in order]


def hyper_node_faults(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
    """What would break the tree: levels in two orders or tiers, domains that cannot be told apart."""
    if cluster.foundation != "all":
        return
    pools = _pools(demands, cluster)
    for pool in pools:
        wanted = cluster.pools[pool].above_host
        for above, below in pairwise(wanted):
            if (tier(above, cluster, pools) or 0) <= (tier(below, cluster, pools) or 0):
                yield Finding(
                    code=TWO_ORDERS,
                    at=InputPath(("clusters", cluster.name, "pools", pool, "levels")),
                    what=f"pool {pool} has {above} above {below}, and another pool the other way round",
                    fix="write the levels of all pools in one order, coarse to fine",
                    seen={"above": above, "below": below},
                )
    yield from _tier_faults(demands, cluster, pools)
    tree = _tree(demands, cluster)
    for domain in sorted(tree):
        clash = _clash(domain, tree)
        if clash is not None:
            yield Finding(
                code=OVERLAP,
                at=InputPath(("clusters", cluster.name, "pools")),
                what=f"the domains {_path(domain)} and {_path(clash)} would hold the same nodes or the same name",
                fix="give all pools that share nodes' labels the same levels",
                seen={"one": _path(domain), "other": _path(clash)},
            )


def _tier_faults(
    demands: Sequence[Demand], cluster: Cluster, pools: Sequence[str]
) -> Iterator[Finding]:
    for demand in sorted(demands, key=lambda each: each.workload):
        placement = demand.placement
        if placement is None or placement.mode == "preferred" or demand.size == 1:
            continue
        own = tier(placement.level, cluster, [demand.pool])
        used = tier(placement.level, cluster, pools)
        if own != used:
            yield Finding(
                code=TWO_TIERS,
                at=InputPath((*demand.at, "topology", "level")),
                what=f"level `{placement.level}` is tier {own} in pool {demand.pool} and tier {used} for another "
                "pool in use, so that no group of this serving would ever find a place",
                fix=f"give the pools with `{placement.level}` the same levels below it",
                seen={"own": str(own), "used": str(used)},
            )


def queue_prerequisites(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    """That queues exist and are open: a group in a missing one waits without an event (`lab E8`)."""
    yield Prerequisite(
        what=f"Volcano {cluster.versions.volcano or ''}".rstrip()
        + " with its scheduler, controllers and webhooks",
        check=f"kubectl get crd queues.{api.GROUP} && kubectl get deploy -n volcano-system",
        without="pods stay Pending without an event: nobody serves their scheduler",
    )
    ours = cluster.foundation != "existing"
    for queue in sorted({demand.queue for demand in demands} - {""}):
        applied = ", applied before the first serving" if ours else ""
        yield Prerequisite(
            what=f"Volcano Queue {queue} is Open{applied}",
            check=f"kubectl get queues.{api.GROUP} {queue} -o jsonpath='{{.status.state}}'",
            without="groups stay pending, or stop at a lone leader, without an event",
        )


def _pools(demands: Sequence[Demand], cluster: Cluster) -> list[str]:
    return sorted({demand.pool for demand in demands} & set(cluster.pools))


def _tree(demands: Sequence[Demand], cluster: Cluster) -> Mapping[Domain, set[Domain]]:
    """Every domain with the domains right below it; none below the finest."""
    tree: dict[Domain, set[Domain]] = {}
    for pool in _pools(demands, cluster):
        keys = cluster.pools[pool].above_host
        for each in cluster.pools[pool].domains or ():
            whole: Domain = tuple(zip(keys, each.at, strict=False))
            for depth in range(1, len(whole) + 1):
                below = tree.setdefault(whole[:depth], set())
                if depth < len(whole):
                    below.add(whole[: depth + 1])
    return tree


def _clash(domain: Domain, tree: Mapping[Domain, set[Domain]]) -> Domain | None:
    """Another domain with the same name, or a finest one whose nodes are certainly among those of this finest one."""
    name = _name(domain)
    for other in sorted(tree):
        if other == domain:
            continue
        if _name(other) == name and domain < other:
            return other
        finest = not tree[domain] and not tree[other]
        if finest and set(domain) < set(other):
            return other
    return None


def _hyper_node(domain: Domain, level: int, below: Sequence[Domain]) -> Manifest:
    members: list[Mapping[str, Node]] = [
        {"type": "HyperNode", "selector": {"exactMatch": {"name": _name(child)}}} for child in below
    ]
    if not below:
        members.append({"type": "Node", "selector": {"labelMatch": {"matchLabels": dict(domain)}}})
    return {
        "apiVersion": api.TOPOLOGY_API_VERSION,
        "kind": "HyperNode",
        "metadata": {"name": _name(domain)},
        "spec": {"tier": level, "tierName": domain[-1][0], "members": members},
    }


def _name(domain: Domain) -> str:
    return api.hyper_node_name(*(value for _, value in domain))


def _path(domain: Domain) -> str:
    return "/".join(value for _, value in domain)
