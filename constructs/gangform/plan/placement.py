"""Whether groups have somewhere whole to land: free GPUs are not free domains.

Groups with a required level are packed into the domains of that level, the largest first; what finds no whole place
is said beforehand, since a controller would leave it pending without a word.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gangform.admission.admission import Demand
from gangform.apis.core import HOSTNAME
from gangform.findings import Finding, InputPath, Severity, counted, declare
from gangform.inputs.cluster import Cluster, Pool
from gangform.plan.figures import formula
from gangform.plan.layout import At, Domain, Kind, Layout, Load, Placement, Run

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
INCOMPLETE = declare(
    "domain-path-incomplete",
    "A domain has one label value for each level above the host",
    Severity.BREAKS,
    "design §3 Cluster; volcano §2.2",
)

LISTED = 6
"""Domains that a message names."""
KINDS: tuple[Kind, ...] = ("wanted", "surge", "spare")
MOST_PLACEMENTS = 4096
"""Groups of a pool that are looked at one by one."""


class Packing(NamedTuple):
    """How the groups of one workload lie in a pool."""

    serving: str
    workload: str
    level: str | None
    """The required level; `None` where groups may lie anywhere."""
    wanted: int
    extra: int
    placed: int
    """Groups that found a whole place, wanted ones first."""
    spread: str | None
    """The level whose domains `most_in_one` counts: the one to spread over, else the coarsest; `None` without."""
    most_in_one: int
    """Groups that one domain of it takes at worst: what its loss costs. No backend spreads groups by itself."""


class PoolPlan(NamedTuple):
    """One pool, filled."""

    pool: str
    nodes: int | None
    """`None`: no inventory, so nothing here is checked."""
    needed: int
    """Nodes that the wanted groups fill."""
    peak: int
    """Nodes with every surge and spare group too."""
    packings: tuple[Packing, ...]
    domains: tuple[Domain, ...]
    """The map: domains of the finest level with what lies in them; empty without an inventory."""
    runs: tuple[Run, ...]
    """The groups on the map, neighbours together."""

    @property
    def placements(self) -> Iterator[Placement]:
        """Every group on the map with its domain and nodes; one that found no place is not among them."""
        for run in self.runs:
            yield from run.placements()

    @property
    def few_placements(self) -> tuple[Placement, ...]:
        """The same at once; none where there are more than anybody looks at one by one."""
        many = sum(len(run.groups) for run in self.runs) > MOST_PLACEMENTS
        return () if many else tuple(self.placements)


@formula("ceil(pods / pods that fit one node)", source="design §4 Topology")
def needed(pods: int, per_node: int) -> int:
    """Nodes that pods of one kind fill."""
    return -(-pods // per_node)


@formula(
    "the least of offered / requested, over GPUs, CPU, memory, ephemeral storage and the fabric",
    source="design §4 Topology",
)
def per_node(demand: Demand) -> int:
    """Pods of a demand that one node takes; 1 where not even one fits, which the pods' own check refuses."""
    offered = demand.hardware.offered
    asked = demand.leader
    fits = [amount // asked[name] for name, amount in offered.items() if asked.get(name, 0)]
    return max(1, min(fits, default=1))


def derive(cluster: Cluster, demands: Sequence[Demand]) -> tuple[PoolPlan, ...]:
    """Every pool that something runs on."""
    plans = []
    for name, pool in cluster.pools.items():
        here = [demand for demand in demands if demand.pool == name]
        if not here:
            continue
        lie = _laid(pool, here)
        plans.append(
            PoolPlan(
                pool=name,
                nodes=pool.nodes,
                needed=sum(needed(d.groups * d.size, per_node(d)) for d in here),
                peak=sum(needed((d.groups + d.extra) * d.size, per_node(d)) for d in here),
                packings=tuple(_packing(pool, demand, lie) for demand in here),
                domains=lie.domains(),
                runs=tuple(lie.runs),
            )
        )
    return tuple(plans)


def _laid(pool: Pool, demands: Sequence[Demand], kinds: Sequence[Kind] = KINDS) -> Layout:
    """Wanted groups of all demands first, then surge, then spare; of each those bound to a level, the largest first."""
    known = [(domain.at, domain.nodes) for domain in pool.domains or ()]
    if pool.nodes is not None and (rest := pool.nodes - sum(nodes for _, nodes in known)) > 0:
        known.append(((), rest))
    lie = Layout(known, len(_above(pool)))
    order = sorted(
        demands,
        key=lambda d: (_bound(pool, d) is None, -needed(d.size, per_node(d)), d.workload),
    )
    for kind in kinds:
        for demand in order:
            lie.lay(_load(pool, demand, kind))
    return lie


def _load(pool: Pool, demand: Demand, kind: Kind) -> Load:
    """What has to be laid of a demand."""
    level, levels = _bound(pool, demand), _above(pool)
    depth = len(levels) if level == HOSTNAME else 0
    if level in levels:
        depth = levels.index(level) + 1
    rolls = demand.groups + min(demand.surge, demand.extra)
    groups = {
        "wanted": range(demand.groups),
        "surge": range(demand.groups, rolls),
        "spare": range(rolls, demand.groups + demand.extra),
    }
    return Load(
        serving=demand.serving,
        workload=demand.workload,
        kind=kind,
        groups=groups[kind],
        size=demand.size,
        per_node=per_node(demand),
        depth=depth,
        host=level == HOSTNAME,
        exclusive=demand.exclusive and level is not None,
    )


def _above(pool: Pool) -> list[str]:
    """The levels above the host."""
    return [level for level in pool.levels if level != HOSTNAME]


class Room(NamedTuple):
    """What is free for the surge groups of one workload while no other serving rolls."""

    groups: int
    """Surge groups that find a whole place."""
    pods: int
    """Pods that find a node, where no group has to be whole."""
    nodes: int
    """Nodes that one group takes."""


def surge_room(pool: Pool, demands: Sequence[Demand], demand: Demand) -> Room | None:
    """The room of a workload for its rollout; `None` without an inventory, or where not even wanted groups fit."""
    if pool.nodes is None and pool.domains is None:
        return None
    lie = _laid(pool, demands, ("wanted",))
    if sum(len(run.groups) for run in lie.runs) < sum(one.groups for one in demands):
        return None
    load = _load(pool, demand, "surge")
    pods = lie.room(load)
    return Room(lie.lay(load), pods, needed(demand.size, load.per_node))


def _bound(pool: Pool, demand: Demand) -> str | None:
    """The level whose domains have to hold its groups whole, where an inventory says what they hold."""
    required = demand.placement is not None and demand.placement.mode == "required"
    if demand.placement is None or not required or pool.domains is None:
        return None
    return demand.placement.level if demand.placement.level in pool.levels else None


def _packing(pool: Pool, demand: Demand, lie: Layout) -> Packing:
    required = demand.placement is not None and demand.placement.mode == "required"
    placed = demand.groups + demand.extra
    if _bound(pool, demand) is not None:
        own = (demand.serving, demand.workload)
        placed = sum(len(run.groups) for run in lie.runs if (run.serving, run.workload) == own)
    return Packing(
        serving=demand.serving,
        workload=demand.workload,
        level=demand.placement.level if demand.placement is not None and required else None,
        wanted=demand.groups,
        extra=demand.extra,
        placed=placed,
        spread=spread_level(pool, demand),
        most_in_one=most_in_one(pool, demand),
    )


def spread_level(pool: Pool, demand: Demand) -> str | None:
    """The level whose loss is asked about."""
    if demand.spread is not None:
        return demand.spread
    return pool.levels[0] if pool.levels else None


@formula("min(groups, floor(pods of the largest domain / group size))", source="design §4 Topology")
def most_in_one(pool: Pool, demand: Demand) -> int:
    """Groups that the largest domain of the level could take: all of them where no inventory says less."""
    level = spread_level(pool, demand)
    if not pool.domains or level not in pool.levels:
        return demand.groups
    depth = pool.levels.index(level) + 1
    sizes: dict[tuple[str, ...], int] = {}
    for domain in pool.domains:
        sizes[domain.at[:depth]] = sizes.get(domain.at[:depth], 0) + domain.nodes
    return min(demand.groups, max(sizes.values()) * per_node(demand) // demand.size)


def check(
    plans: Sequence[PoolPlan], demands: Sequence[Demand], cluster: Cluster
) -> Iterator[Finding]:
    """What finds no place, where an inventory says so."""
    by_workload = {(demand.serving, demand.workload): demand for demand in demands}
    for plan in plans:
        yield from _paths(plan.pool, cluster)
        yield from _nodes(plan, demands, cluster)
        for packing in plan.packings:
            if packing.placed < packing.wanted + packing.extra:
                demand = by_workload[packing.serving, packing.workload]
                yield _unplaced(plan, packing, demand, cluster.pools[plan.pool])


def _paths(name: str, cluster: Cluster) -> Iterator[Finding]:
    """Domains whose place is not said to the end: what lies in them cannot be told apart."""
    pool = cluster.pools[name]
    wanted = [level for level in pool.levels if level != HOSTNAME]
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


def _nodes(plan: PoolPlan, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
    here = InputPath(("clusters", cluster.name, "pools", plan.pool, "nodes"))
    seen = {"needed": str(plan.needed), "peak": str(plan.peak), "nodes": str(plan.nodes)}
    if plan.nodes is None or plan.peak <= plan.nodes:
        return
    if plan.needed > plan.nodes:
        short = plan.needed - plan.nodes
        yield Finding(
            code=POOL_SMALL,
            at=here,
            what=f"the groups of pool {plan.pool} fill {plan.needed} nodes, it has {plan.nodes}",
            fix=f"take away groups worth {counted(short, 'node')}, or leave `nodes` out where "
            "nodes are added on demand",
            seen=seen,
        )
        return
    left = plan.nodes - plan.needed
    stuck = False
    for demand in demands:
        alone = needed(demand.size, per_node(demand))
        if demand.pool == plan.pool and demand.surge_first and alone > left:
            stuck = True
            yield Finding(
                code=CANNOT_SURGE,
                at=InputPath((*demand.at, "rollout")),
                what=f"a surge group needs {alone} nodes and pool {plan.pool} keeps {left} of {plan.nodes} free, "
                "while no group may be taken down",
                fix="set maxSurge 0 and maxUnavailable 1, or keep a whole group of nodes free",
                seen=seen,
            )
    if not stuck:
        yield Finding(
            code=NO_ROOM_TO_SURGE,
            at=here,
            what=f"with surge and spare groups pool {plan.pool} fills {plan.peak} nodes, it has {plan.nodes}",
            fix="roll one serving after another, or declare fewer surge and spare groups",
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
    if packing.placed < packing.wanted:
        code, kind, total = NO_DOMAIN, "", packing.wanted
    elif demand.surge_first and packing.placed == packing.wanted:
        code, fix = CANNOT_SURGE, ", or set maxSurge 0 and maxUnavailable 1"
    above = _above(pool)
    depth = above.index(packing.level) + 1 if packing.level in above else len(above)
    domains = free_domains(plan, depth)
    nodes = sum(free for _, free in domains)
    gpus = nodes * demand.hardware.gpu.count
    rest = "no node of theirs is free"
    if nodes:
        most = [f"{'/'.join(at)} {free}" for at, free in domains[:LISTED] if free]
        more = f" and {len(domains) - LISTED} more" if len(domains) > LISTED else ""
        rest = (
            f"{counted(nodes, 'node')} = {gpus} GPUs are free, and in no domain the "
            f"{needed(demand.size, per_node(demand))} of one group: {', '.join(most)}{more}"
        )
    return Finding(
        code=code,
        at=InputPath((*demand.at, "topology")),
        what=f"{total} groups of {demand.size} pods{kind}, and the domains of {packing.level} in pool "
        f"{plan.pool} hold {packing.placed} whole ones; {rest}",
        fix=f"use mode preferred, a coarser level, or fewer groups{fix}",
        seen={"groups": str(total), "placed": str(packing.placed), "freeNodes": str(nodes)},
    )
