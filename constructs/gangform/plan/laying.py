"""How the groups of a pool are laid: one by one, the largest first, and in another way where that leaves one over.

A controller lays groups as they come. So what only another way places is said, and that something has no place only
where no way is left.
"""

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from gangform.admission.admission import Demand
from gangform.apis.core import HOSTNAME
from gangform.inputs.cluster import Pool
from gangform.plan.arrangement import MOST_ITEMS, Arrangement, Item, arrange
from gangform.plan.figures import formula
from gangform.plan.layout import Kind, Layout, Load, Portions

KINDS: tuple[Kind, ...] = ("wanted", "surge", "spare")


class Room(NamedTuple):
    """What is free for the surge groups of one workload while no other serving rolls."""

    groups: int
    """Surge groups that find a whole place."""
    pods: int
    """Pods that find a node, where no group has to be whole."""
    none: bool
    """Whether no way to lay the wanted groups leaves a place for even one."""


class Laid(NamedTuple):
    """The groups of a pool."""

    layout: Layout
    rooms: dict[tuple[str, str], Room]
    """By serving and workload, for those that surge; empty without an inventory, or where wanted groups do not fit."""
    arranged: bool
    """Whether the wanted groups only find their places when laid in another way."""
    certain: bool
    """Whether wanted groups that found no place find none in any way."""


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


def portions(demand: Demand) -> Portions:
    """What a pod takes of a node, the GPUs first; never more than all of it, which the pods' own check refuses."""
    offered, asked, gpu = demand.hardware.offered, demand.leader, demand.hardware.gpu.resource
    order = sorted(offered, key=lambda name: (name != gpu, name))
    return _parts(tuple((asked.get(name, 0), offered[name]) for name in order))


@lru_cache(maxsize=512)
def _parts(pairs: tuple[tuple[int, int], ...]) -> Portions:
    """Of each pair what is asked for over what is offered; most pods of a fleet ask for the same."""
    return tuple(
        min(Fraction(1), Fraction(want, have)) if have else Fraction(0) for want, have in pairs
    )


@formula(
    "the most of: pods / pods a node, of each workload; requested / offered, of each resource; pods over half a node",
    source="design §4 Topology",
)
def least_nodes(demands: Sequence[Demand], groups: Sequence[int]) -> int:
    """Nodes below which so many groups of the demands cannot all run, however they are laid."""
    pods = [count * demand.size for demand, count in zip(demands, groups, strict=True)]
    each = [needed(count, per_node(demand)) for demand, count in zip(demands, pods, strict=True)]
    taken = [portions(demand) for demand in demands]
    whole = [
        -(-sum(count * part for count, part in zip(pods, parts, strict=True)) // 1)
        for parts in zip(*taken, strict=True)
    ]
    large = sum(
        count for count, parts in zip(pods, taken, strict=True) if max(parts) > Fraction(1, 2)
    )
    return max([*each, *(int(one) for one in whole), large], default=0)


def order(demand: Demand) -> tuple[int, Portions, str]:
    """The largest groups first, and of those as large the ones with the largest pods."""
    size = needed(demand.size, per_node(demand))
    return -size, tuple(-part for part in portions(demand)), demand.workload


def bound(pool: Pool, demand: Demand) -> str | None:
    """The level whose domains have to hold its groups whole, where an inventory says what they hold."""
    required = demand.placement is not None and demand.placement.mode == "required"
    if demand.placement is None or not required or pool.domains is None:
        return None
    return demand.placement.level if demand.placement.level in pool.levels else None


def load(pool: Pool, demand: Demand, kind: Kind) -> Load:
    """What has to be laid of a demand."""
    level, levels = bound(pool, demand), pool.above_host
    depth = len(levels) if level == HOSTNAME else 0
    if level in levels:
        depth = levels.index(level) + 1
    rolls = demand.groups + min(demand.surge, demand.beyond)
    groups = {
        "wanted": range(demand.groups),
        "surge": range(demand.groups, rolls),
        "spare": range(rolls, demand.groups + demand.beyond),
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
        portions=portions(demand),
    )


def lay(pool: Pool, demands: Sequence[Demand]) -> Laid:
    """Wanted groups of all demands first, then surge, then spare; of each those bound to a level, the largest first."""
    return _Laying(pool, demands).laid()


class _Laying:
    """One pool while it is filled."""

    def __init__(self, pool: Pool, demands: Sequence[Demand]) -> None:
        self.pool = pool
        self.known = [(domain.at, domain.nodes) for domain in pool.domains or ()]
        told = sum(nodes for _, nodes in self.known)
        if pool.nodes is not None and pool.nodes > told:
            self.known.append(((), pool.nodes - told))
        self.order = sorted(demands, key=lambda d: (bound(pool, d) is None, *order(d)))
        self.most: dict[Load, int] = {}

    def laid(self) -> Laid:
        lie, arranged, certain = self._filled(("wanted",))
        rooms: dict[tuple[str, str], Room] = {}
        if self.known and self._left(lie, ("wanted",)) == 0:
            for demand in self.order:
                if demand.surge:
                    rooms[demand.serving, demand.workload] = self._room(demand, lie)
            everything, _, _ = self._filled(KINDS, lie)
            return Laid(everything, rooms, arranged, certain)
        for kind in KINDS[1:]:
            for demand in self.order:
                lie.lay(load(self.pool, demand, kind))
        return Laid(lie, rooms, arranged, certain)

    def _filled(
        self, kinds: Sequence[Kind], begun: Layout | None = None
    ) -> tuple[Layout, bool, bool]:
        """All groups of these kinds laid, with whether that took another way, and whether no way lays those left over.

        `begun` holds those of the first kind already.
        """
        lie = Layout(self.known, len(self.pool.above_host)) if begun is None else begun.copy()
        for kind in kinds if begun is None else kinds[1:]:
            for demand in self.order:
                lie.lay(load(self.pool, demand, kind))
        if not self.known or self._left(lie, kinds) == 0:
            return lie, False, False
        found = self._search([load(self.pool, d, kind) for kind in kinds for d in self.order])
        if isinstance(found, Layout):
            return found, True, False
        return lie, False, found.certain

    def _left(self, lie: Layout, kinds: Sequence[Kind]) -> int:
        """Groups of these kinds that found no place."""
        wanted = sum(len(load(self.pool, d, kind).groups) for kind in kinds for d in self.order)
        return wanted - sum(len(run.groups) for run in lie.runs)

    def _room(self, demand: Demand, lie: Layout) -> Room:
        """What is free for the surge groups of one demand while no other rolls."""
        surge, alone = load(self.pool, demand, "surge"), lie.copy()
        pods, groups = alone.room(surge), alone.lay(surge)
        most, none = len(surge.groups), False
        wanted = [load(self.pool, one, "wanted") for one in self.order]
        # All of them, or at least one more than find a place as the wanted groups lie now.
        for more in dict.fromkeys((most, groups + 1)) if groups < most else ():
            found = self._search([*wanted, surge._replace(groups=surge.groups[:more])])
            if isinstance(found, Layout):
                return Room(more, max(pods, more * demand.size), none=False)
            none = found.certain and not groups
        return Room(groups, pods, none)

    # ── another way ──────────────────────────────────────────────────────────────────────────────

    def _search(self, loads: Sequence[Load]) -> Layout | Arrangement:
        """The groups laid in another way, or that there is none."""
        held = [one for one in loads if one.depth and not one.host]
        if self._too_many(loads):
            return Arrangement(None, certain=True)
        if not held or sum(len(one.groups) for one in held) > MOST_ITEMS:
            return Arrangement(None, certain=False)
        items = [
            Item(needed(one.size, one.per_node), one.depth, one.exclusive)
            for one in held
            for _ in one.groups
        ]
        by_name = {(d.serving, d.workload): d for d in self.order}
        rest = [one for one in loads if not one.depth or one.host]
        free = least_nodes(
            [by_name[one.serving, one.workload] for one in rest], [len(one.groups) for one in rest]
        )
        found = arrange(self.known, items, free)
        whole = all(one.fresh == 1 for one in held)
        if found.targets is None:
            return found._replace(certain=found.certain and whole)
        targets = iter(found.targets)
        chosen = [
            one._replace(groups=range(group, group + 1), within=at)
            for one in held
            for group, at in zip(one.groups, targets, strict=False)
        ]
        other = Layout(self.known, len(self.pool.above_host))
        # Fine levels first: what may lie over several domains takes what they leave.
        for one in sorted(
            chosen, key=lambda one: (KINDS.index(one.kind), -one.exclusive, -one.depth)
        ):
            other.lay(one)
        for one in rest:
            other.lay(one)
        if sum(len(run.groups) for run in other.runs) == sum(len(one.groups) for one in loads):
            return other
        return Arrangement(None, certain=False)

    def _too_many(self, loads: Sequence[Load]) -> bool:
        """Whether the groups of one workload are more than the empty pool has whole places for."""
        asked: dict[tuple[str, str], int] = {}
        for one in loads:
            key = (one.serving, one.workload)
            asked[key] = asked.get(key, 0) + len(one.groups)
            if one.depth and asked[key] > self._most(one):
                return True
        return False

    def _most(self, load: Load) -> int:
        """Groups like these that the empty pool has whole places for; asked of every workload for each that surges."""
        alike = load._replace(serving="", workload="", kind="wanted", groups=range(0))
        if alike not in self.most:
            self.most[alike] = Layout(self.known, len(self.pool.above_host)).most(alike)
        return self.most[alike]
