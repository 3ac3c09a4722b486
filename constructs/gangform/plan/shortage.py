"""What finds no place in a pool, said beforehand: a controller would leave it pending without a word.

Free GPUs are not free domains. That something cannot be is said only where no way to lay the groups is left.
"""

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.findings import Finding, InputPath, Severity, counted, declare
from gangform.inputs.cluster import Cluster, Pool
from gangform.plan.laying import bound, least_nodes, needed, per_node
from gangform.plan.layout import At
from gangform.plan.placement import Packing, PoolPlan

POOL_SMALL = declare(
    "pool-too-small",
    "The groups of a pool's servings need more nodes than it has",
    Severity.BREAKS,
    "design §4 Topology",
)
NO_ROOM_TO_SURGE = declare(
    "surge-has-no-room",
    "At the peak of a rollout, or with its spare groups, a pool needs more nodes than it has",
    Severity.DEGRADES,
    "design §4 Topology; cases h10",
)
CANNOT_SURGE = declare(
    "surge-cannot-be-placed",
    "A rollout that may take no group down waits for ever for a surge group that has no place",
    Severity.BREAKS,
    "design §4 Rollout; cases h13; lab E2",
)
NO_DOMAIN = declare(
    "no-domain-for-group",
    "Every group with a required level needs a whole place in one domain of it",
    Severity.BREAKS,
    "design §4 Topology; lab E4",
)
NO_DOMAIN_FOR_EXTRA = declare(
    "no-domain-for-spare",
    "A surge or spare group with a required level needs a whole place of its own",
    Severity.DEGRADES,
    "design §4 Topology",
)
ONLY_ARRANGED = declare(
    "groups-fit-one-way",
    "Groups that fit only when laid in one way may be left pending by a scheduler that lays them as they come",
    Severity.DEGRADES,
    "design §4 Topology",
)
NOT_FOUND = declare(
    "no-way-to-lay-found",
    "Groups for which no places were found, where not every way to lay them was looked at",
    Severity.DEGRADES,
    "design §4 Topology",
)
INCOMPLETE = declare(
    "domain-path-incomplete",
    "A domain has one label value for each level above the host",
    Severity.BREAKS,
    "design §3 Cluster; volcano §2.2",
)

LISTED = 6
"""Domains that a message names."""


def check(
    plans: Sequence[PoolPlan], demands: Sequence[Demand], cluster: Cluster
) -> Iterator[Finding]:
    """What finds no place, where an inventory says so."""
    by_workload = {(demand.serving, demand.workload): demand for demand in demands}
    for plan in plans:
        pool = cluster.pools[plan.pool]
        yield from _paths(plan.pool, cluster)
        unplaced = [
            _unplaced(plan, packing, by_workload[packing.serving, packing.workload], pool)
            for packing in plan.packings
            if bound(pool, by_workload[packing.serving, packing.workload])
            and packing.placed < packing.wanted + packing.extra
        ]
        # Where domains alone say how many nodes there are, what lacks a domain is the same lack in other words.
        if pool.nodes is not None or not unplaced:
            here = [one for one in demands if one.pool == plan.pool]
            yield from _nodes(plan, here, "domains" if pool.nodes is None else "nodes", cluster)
        if plan.arranged:
            yield Finding(
                code=ONLY_ARRANGED,
                at=InputPath(("clusters", cluster.name, "pools", plan.pool, "domains")),
                what=f"the groups of pool {plan.pool} find whole places only as the plan lays them; laid one by one, "
                "the largest first, one is left over",
                fix="keep a domain more free, or let one serving use mode preferred; `gangform plan -o wide` shows "
                "the places",
            )
        yield from unplaced


def _paths(name: str, cluster: Cluster) -> Iterator[Finding]:
    """Domains whose place is not said to the end: what lies in them cannot be told apart."""
    pool = cluster.pools[name]
    wanted = pool.above_host
    for index, domain in enumerate(pool.domains or ()):
        if len(domain.at) != len(wanted):
            yield Finding(
                code=INCOMPLETE,
                at=InputPath(("clusters", cluster.name, "pools", name, "domains", index, "at")),
                what=f"a domain of pool {name} has {len(domain.at)} values for {len(wanted)} levels",
                fix=f"write one value each for {', '.join(wanted)}"
                if wanted
                else "declare the pool's `levels`, or leave `domains` out",
                seen={"values": ", ".join(domain.at), "levels": ", ".join(wanted)},
            )


def _nodes(
    plan: PoolPlan, here: Sequence[Demand], field: str, cluster: Cluster
) -> Iterator[Finding]:
    """Whether all pods find a node at all, whatever domain it lies in. `field`: the input that says how many."""
    at = InputPath(("clusters", cluster.name, "pools", plan.pool, field))
    if plan.nodes is None or plan.peak <= plan.nodes:
        return
    seen = {"needed": str(plan.needed), "peak": str(plan.peak), "nodes": str(plan.nodes)}
    wanted = [demand.groups for demand in here]
    if plan.needed > plan.nodes:
        short = plan.needed - plan.nodes
        certain = least_nodes(here, wanted) > plan.nodes
        yield Finding(
            code=POOL_SMALL if certain else NOT_FOUND,
            at=at,
            what=f"the groups of pool {plan.pool} fill {plan.needed} nodes, it has {plan.nodes}"
            + (
                ""
                if certain
                else "; perhaps pods share nodes better than one by one, the largest first"
            ),
            fix=f"take away groups worth {counted(short, 'node')}, or leave `{field}` out where "
            "nodes are added on demand",
            seen=seen,
        )
        return
    stuck = False
    for index, demand in enumerate(here):
        one_more = [count + (place == index) for place, count in enumerate(wanted)]
        if demand.surge_first and least_nodes(here, one_more) > plan.nodes:
            stuck = True
            alone, left = needed(demand.size, per_node(demand)), plan.nodes - plan.needed
            yield Finding(
                code=CANNOT_SURGE,
                at=InputPath((*demand.at, "rollout")),
                what=f"a surge group needs {counted(alone, 'node')} and pool {plan.pool} keeps {left} of {plan.nodes} "
                "free, while no group may be taken down",
                fix="set maxSurge 0 and maxUnavailable 1, or keep a whole group of nodes free",
                seen=seen,
            )
    if not stuck:
        several = len({demand.serving for demand in here if demand.beyond}) > 1
        short = plan.peak - plan.nodes
        yield Finding(
            code=NO_ROOM_TO_SURGE,
            at=at,
            what=f"with surge and spare groups pool {plan.pool} fills {plan.peak} nodes, it has {plan.nodes}",
            fix=(
                "roll one serving after another, " if several else f"add {counted(short, 'node')}, "
            )
            + "or declare fewer surge and spare groups",
            seen=seen,
        )


def free_domains(plan: PoolPlan, depth: int) -> tuple[tuple[At, int], ...]:
    """Domains of so many levels with the nodes that nothing lies on, the emptiest first."""
    free: dict[At, int] = {}
    for domain in plan.domains:
        if len(domain.at) >= depth:
            free[domain.at[:depth]] = free.get(domain.at[:depth], 0) + domain.free
    return tuple(sorted(free.items(), key=lambda pair: (-pair[1], pair[0])))


def _unplaced(plan: PoolPlan, packing: Packing, demand: Demand, pool: Pool) -> Finding:
    total = packing.wanted + packing.extra
    code, kind, fix = NO_DOMAIN_FOR_EXTRA, " with surge and spare", ""
    room = plan.rooms.get((packing.serving, packing.workload))
    if packing.placed < packing.wanted:
        code, kind, total = NO_DOMAIN if plan.certain else NOT_FOUND, "", packing.wanted
    elif demand.surge_first and room is not None and room.none:
        code, fix = CANNOT_SURGE, ", or set maxSurge 0 and maxUnavailable 1"
    upper = pool.above_host
    depth = upper.index(packing.level) + 1 if packing.level in upper else len(upper)
    domains = free_domains(plan, depth)
    nodes = sum(free for _, free in domains)
    closed = sum(domain.closed for domain in plan.domains)
    rest = "no node of theirs is free"
    if nodes:
        gpus = nodes * demand.hardware.gpu.count
        most = [f"{'/'.join(at)} {free}" for at, free in domains[:LISTED] if free]
        more = f" and {len(domains) - LISTED} more" if len(domains) > LISTED else ""
        rest = (
            f"{counted(nodes, 'node')} = {gpus} GPUs are free, and in no domain the "
            f"{needed(demand.size, per_node(demand))} of one group: {', '.join(most)}{more}"
        )
    elif closed:
        rest = f"{counted(closed, 'empty node')} of theirs lie beside a group that has its domain alone"
    if code is NOT_FOUND:
        rest += "; not every way to lay them was looked at"
    return Finding(
        code=code,
        at=InputPath((*demand.at, "topology")),
        what=f"{counted(total, 'group')} of {counted(demand.size, 'pod')}{kind}, and the domains of {packing.level} in "
        f"pool {plan.pool} hold {packing.placed} whole ones; {rest}",
        fix=f"use mode preferred, a coarser level, or fewer groups{fix}",
        seen={"groups": str(total), "placed": str(packing.placed), "freeNodes": str(nodes)},
    )
