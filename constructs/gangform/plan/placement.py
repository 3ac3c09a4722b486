"""Whether groups have somewhere whole to land: free GPUs are not free domains.

Groups with a required level are packed into the domains of that level, the largest first; where one of them finds no
whole place so, every other way to lay them is looked at too. A controller lays groups as they come, and may leave one
pending where another order would not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gangform.admission.admission import Demand
from gangform.inputs.cluster import Cluster, Pool
from gangform.plan.figures import formula
from gangform.plan.laying import Room, lay, order, per_node, portions
from gangform.plan.layout import Domain, Layout, Load, Placement, Run
from gangform.plan.spread import keeps_apart

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
    """Groups that found a whole place, wanted ones first; all of them without an inventory."""
    spread: str | None
    """The level whose domains `most_in_one` counts: the one to spread over, else the coarsest; `None` without."""
    most_in_one: int
    """Groups that one domain of it takes at worst: what its loss costs. Only an exclusive level keeps groups apart."""


class PoolPlan(NamedTuple):
    """One pool, filled."""

    pool: str
    nodes: int | None
    """`None`: no inventory, so nothing here is checked."""
    needed: int
    """Nodes that the wanted groups fill, wherever they lie."""
    peak: int
    """Nodes with every surge and spare group too."""
    arranged: bool
    """Whether the wanted groups only find their places when laid in another way than one by one, the largest first."""
    certain: bool
    """Whether wanted groups that found no place find none in any other way either."""
    packings: tuple[Packing, ...]
    domains: tuple[Domain, ...]
    """The map: domains of the finest level with what lies in them; empty without an inventory."""
    runs: tuple[Run, ...]
    """The groups on the map, neighbours together."""
    rooms: Mapping[tuple[str, str], Room]
    """By serving and workload, for those that surge; empty without an inventory, or where wanted groups do not fit."""

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


def derive(cluster: Cluster, demands: Sequence[Demand]) -> tuple[PoolPlan, ...]:
    """Every pool that something runs on."""
    plans = []
    for name, pool in cluster.pools.items():
        here = [demand for demand in demands if demand.pool == name]
        if not here:
            continue
        laid = lay(pool, here)
        plans.append(
            PoolPlan(
                pool=name,
                nodes=pool.inventory,
                needed=_anywhere(here, [one.groups for one in here]),
                peak=_anywhere(here, [one.groups + one.beyond for one in here]),
                arranged=laid.arranged,
                certain=laid.certain,
                packings=tuple(_packing(pool, demand, laid.layout) for demand in here),
                domains=laid.layout.domains(),
                runs=tuple(laid.layout.runs),
                rooms=laid.rooms,
            )
        )
    return tuple(plans)


def _anywhere(demands: Sequence[Demand], groups: Sequence[int]) -> int:
    """Nodes that so many groups fill where no domain holds them together, the largest pods first."""
    pairs = [(demand, portions(demand), n) for demand, n in zip(demands, groups, strict=True)]
    # A pod that takes all GPUs of its node shares it with none.
    whole = sum(n * demand.size for demand, taken, n in pairs if taken[0] == 1)
    shared = sorted((pair for pair in pairs if pair[1][0] != 1), key=lambda pair: order(pair[0]))
    lie = Layout([((), sum(n * demand.size for demand, _, n in shared))], 0)
    for demand, taken, number in shared:
        lie.lay(
            Load(
                serving=demand.serving,
                workload=demand.workload,
                kind="wanted",
                groups=range(number),
                size=demand.size,
                per_node=per_node(demand),
                depth=0,
                host=False,
                exclusive=False,
                portions=taken,
            )
        )
    return whole + sum(domain.filled for domain in lie.domains())


def _packing(pool: Pool, demand: Demand, lie: Layout) -> Packing:
    required = demand.placement is not None and demand.placement.mode == "required"
    placed = demand.groups + demand.beyond
    if pool.inventory is not None:
        own = (demand.serving, demand.workload)
        placed = sum(len(run.groups) for run in lie.runs if (run.serving, run.workload) == own)
    return Packing(
        serving=demand.serving,
        workload=demand.workload,
        level=demand.placement.level if demand.placement is not None and required else None,
        wanted=demand.groups,
        extra=demand.beyond,
        placed=placed,
        spread=spread_level(pool, demand),
        most_in_one=most_in_one(pool, demand),
    )


def spread_level(pool: Pool, demand: Demand) -> str | None:
    """The level whose loss is asked about."""
    if demand.spread is not None:
        return demand.spread
    return pool.levels[0] if pool.levels else None


@formula(
    "min(groups, floor(pods of the largest domain / group size)); one for each domain of an exclusive level in it",
    source="design §4 Topology; lws §2d",
)
def most_in_one(pool: Pool, demand: Demand) -> int:
    """Groups that the largest domain of the level could take: all of them where no inventory says less."""
    level, alone = spread_level(pool, demand), keeps_apart(demand)
    if alone is not None and alone == level:
        return min(1, demand.groups)
    if not pool.domains or level not in pool.levels:
        return demand.groups
    depth = pool.levels.index(level) + 1
    fit = max(pool.sizes(depth).values()) * per_node(demand) // demand.size
    if alone in pool.above_host[depth:]:
        parts = Counter(at[:depth] for at in pool.sizes(pool.levels.index(alone) + 1))
        fit = min(fit, max(parts.values()))
    return min(demand.groups, fit)
