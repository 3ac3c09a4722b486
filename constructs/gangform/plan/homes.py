"""Where groups go whose nodes are lost: what the other nodes of their pool still take.

The groups of a serving are alike, so a domain is known by the pods that it still takes. Everything is counted once;
a loss changes the counts of the nodes that it touches and of no others.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from fractions import Fraction
from typing import NamedTuple

from gangform.plan.cluster import ClusterPlan
from gangform.plan.laying import load
from gangform.plan.layout import At, Load, Node, Portions, less, places
from gangform.plan.placement import PoolPlan

_Workload = tuple[str, str]
"""Serving and workload."""
_Group = tuple[str, str, int]


class Held(NamedTuple):
    """Where one group lies."""

    serving: str
    workload: str
    group: int
    nodes: tuple[str, ...]
    """Names of its nodes, the leader's first; empty where none of its pods found one."""
    serves: bool = True
    """Whether it is whole and ready."""

    @property
    def of(self) -> _Workload:
        """Whose group it is."""
        return self.serving, self.workload

    @property
    def name(self) -> _Group:
        """What tells it from every other group."""
        return self.serving, self.workload, self.group


def node_name(pool: str, node: Node) -> str:
    """A node of the map: its pool, its domain, its number in it: `h100/block-1/rack-2/0`."""
    return "/".join((pool, *node.at, str(node.number)))


class Homes:
    """The nodes of a cluster's map with all groups on them."""

    def __init__(self, plan: ClusterPlan, held: Iterable[Held]) -> None:
        """Lay the groups where they are held."""
        # What a group asks of a domain, the same for all groups that are alike.
        self._asks: dict[_Workload, Load] = {}
        self._pool: dict[_Workload, str] = {}
        for demand in plan.demands:
            one = load(plan.cluster.pools[demand.pool], demand, "wanted")
            own = (demand.serving, demand.workload)
            self._asks[own] = one._replace(serving="", workload="", groups=range(0))
            self._pool[own] = demand.pool
        by_pool: dict[str, list[Held]] = {}
        for group in held:
            by_pool.setdefault(self._pool[group.of], []).append(group)
        self._pools = {
            pool.pool: _Pool(pool, by_pool.get(pool.pool, ()), self._asks) for pool in plan.pools
        }

    def find(self, moved: Sequence[Held], gone: frozenset[str]) -> int:
        """How many groups of a serving find a whole place, one after another, when nodes are gone.

        Surge and spare groups of the map hold nothing: they are what is kept free for this.
        """
        need = self._asks[moved[0].of]
        pool = self._pools[self._pool[moved[0].of]]
        room = pool.room(need, moved, gone)
        if need.exclusive:
            held = pool.held(need.depth, moved, gone)
            room = {at: pods for at, pods in room.items() if at not in held}
        for found in range(len(moved)):
            fitting = [(pods, at) for at, pods in room.items() if pods >= need.size]
            if not fitting:
                return found
            pods, at = min(fitting)
            room[at] = 0 if need.exclusive else pods - need.size
        return len(moved)


class _Pool:
    """The nodes of one pool, and what lies on each."""

    def __init__(self, pool: PoolPlan, held: Iterable[Held], asks: dict[_Workload, Load]) -> None:
        self._at: dict[str, At] = {
            node_name(pool.pool, Node(domain.at, number)): domain.at
            for domain in pool.domains
            for number in range(domain.nodes)
        }
        self._left: dict[str, Portions] = {}
        """Of a node that something lies on."""
        self._on: dict[str, list[tuple[_Group, Portions, int]]] = {}
        """By node: which groups, what each of their pods takes, and how many of them."""
        self._rooms: dict[Load, dict[At, int]] = {}
        for one in held:
            pods, each = asks[one.of].size, asks[one.of].taken
            for node in one.nodes:
                before = self._left.get(node, _whole(each))
                here = min(pods, places(each, before)) if len(one.nodes) > 1 else pods
                self._left[node] = less(before, each, here)
                self._on.setdefault(node, []).append((one.name, each, here))
                pods -= here

    def room(self, need: Load, moved: Iterable[Held], gone: frozenset[str]) -> dict[At, int]:
        """Pods that each domain takes without the nodes that are gone and the groups that move."""
        if need not in self._rooms:
            whole: dict[At, int] = {}
            for node, at in self._at.items():
                pods = need.places(self._left.get(node, _whole(need.taken)))
                whole[at[: need.depth]] = whole.get(at[: need.depth], 0) + pods
            self._rooms[need] = whole
        room = dict(self._rooms[need])
        moving = {one.name for one in moved}
        for node in self._touched(moved, gone):
            domain = self._at[node][: need.depth]
            room[domain] -= need.places(self._left.get(node, _whole(need.taken)))
            if node not in gone:
                room[domain] += need.places(self._without(node, moving, need))
        return room

    def held(self, depth: int, moved: Iterable[Held], gone: frozenset[str]) -> Collection[At]:
        """Domains in which something stays."""
        moving = {one.name for one in moved}
        touched = self._touched(moved, gone)
        return {
            self._at[node][:depth]
            for node, groups in self._on.items()
            if node in self._at
            and node not in gone
            and (node not in touched or any(group not in moving for group, _, _ in groups))
        }

    def _touched(self, moved: Iterable[Held], gone: frozenset[str]) -> frozenset[str]:
        nodes = gone.union(*(one.nodes for one in moved))
        return frozenset(node for node in nodes if node in self._at)

    def _without(self, node: str, moving: Collection[_Group], need: Load) -> Portions:
        left = self._left.get(node, _whole(need.taken))
        for group, each, pods in self._on.get(node, ()):
            if group in moving:
                left = less(left, each, -pods)
        return left


def _whole(taken: Portions) -> Portions:
    """A node that nothing lies on."""
    return (Fraction(1),) * len(taken)
