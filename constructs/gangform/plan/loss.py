"""What a drain or a loss takes down: groups, the share of a serving, what budgets answer, and when all is back.

A group that loses a pod serves nothing until it is whole again, so what is counted is groups. Under one budget for the
set a drain takes one whole group after another, each once the one before is back; a budget a group is refused for as
long as the group is healthy (`lab E3`). Nothing asks a budget where a node is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

from gangform.admission.admission import Demand
from gangform.plan.cluster import ClusterPlan
from gangform.plan.figures import formula
from gangform.plan.laying import portions
from gangform.plan.layout import At, Node, Portions, less
from gangform.plan.layout import places as places_for
from gangform.plan.placement import PoolPlan
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

Answer = Literal["evicted", "evicted in turn", "refused"]
"""Of the budgets to the eviction of a group's pods: at once, once the group before it is whole again, never."""


class Held(NamedTuple):
    """Where one group lies."""

    serving: str
    workload: str
    group: int
    nodes: tuple[str, ...]
    """Names of its nodes, the leader's first; empty where none of its pods found one."""
    serves: bool = True
    """Whether it is whole and ready."""


class Evicted(NamedTuple):
    """One group on the nodes that are drained."""

    group: int
    answer: Answer
    budget: str
    """The budget that answers; empty where none covers it."""


class Loss(NamedTuple):
    """What goes, of one serving."""

    serving: str
    groups: tuple[int, ...]
    """Indexes of groups that lie on it. Where each group is a workload of its own, the number of the workload."""
    of: int
    """Groups of the serving on the map."""
    broken: tuple[int, ...]
    """Groups of the serving that do not serve before anything goes, wherever they lie."""
    lost: int
    """Groups that serve while all of it is gone at once, as with a lost rack."""
    floor: int
    """Groups that keep serving during a drain."""
    drain: tuple[Evicted, ...]
    """In the order in which it takes them, broken ones first."""
    home: int | None
    """How many of the groups find a whole place elsewhere; `None`: not known."""
    back: Seconds | None
    """From the loss to all groups serving again; `None` where that never comes by itself."""
    drained: Seconds | None
    """How long a drain lasts until all groups serve again; `None` where it never ends, or waits for a broken group."""


@formula("groups that serve - those of them that go at once", source="lab E7, E3")
def remaining(serving: int, taken: int) -> int:
    """Groups that serve while some are gone."""
    return max(0, serving - taken)


@formula("grace + cold start, for each group after another", source="lab E3")
def drained(turns: int, grace: Seconds, cold_start: Seconds) -> Seconds:
    """How long it takes until the groups that a drain takes one after another serve again."""
    return Seconds(turns * (grace + cold_start))


# ── where groups lie ─────────────────────────────────────────────────────────────────────────────


def node_name(pool: str, node: Node) -> str:
    """A node of the map: its pool, its domain, its number in it: `h100/block-1/rack-2/0`."""
    return "/".join((pool, *node.at, str(node.number)))


def assumed(plan: ClusterPlan) -> tuple[Held, ...]:
    """Where the plan's map has the groups that serve."""
    return tuple(
        Held(
            one.serving, one.workload, one.group, tuple(node_name(pool.pool, n) for n in one.nodes)
        )
        for pool in plan.pools
        for one in pool.placements
        if one.kind == "wanted"
    )


def places(plan: ClusterPlan) -> dict[str, frozenset[str]]:
    """Everything on the map that can be lost as one: each node, each domain of each level, by name."""
    found: dict[str, set[str]] = {}
    for pool in plan.pools:
        for domain in pool.domains:
            for number in range(domain.nodes):
                name = node_name(pool.pool, Node(domain.at, number))
                found[name] = {name}
                for depth in range(1, len(domain.at) + 1):
                    above = "/".join((pool.pool, *domain.at[:depth]))
                    found.setdefault(above, set()).add(name)
    return {name: frozenset(nodes) for name, nodes in found.items()}


# ── what goes ────────────────────────────────────────────────────────────────────────────────────


def losses(
    plan: ClusterPlan, held: Sequence[Held], nodes: Iterable[str], *, on_map: bool
) -> tuple[Loss, ...]:
    """What each serving loses with these nodes, in the order of the servings.

    Args:
        plan: The cluster.
        held: Where its groups lie: as assumed, or as seen.
        nodes: What goes.
        on_map: Whether the nodes are those of the plan's map, so that it is known what else is free.
    """
    gone = frozenset(nodes)
    touched = [one for one in held if not gone.isdisjoint(one.nodes)]
    found = []
    for serving in plan.servings:
        own = [one for one in touched if one.serving == serving.name]
        if own:
            found.append(_loss(plan, serving, own, held, gone, on_map=on_map))
    return tuple(found)


def _loss(
    plan: ClusterPlan,
    serving: ServingPlan,
    own: Sequence[Held],
    held: Sequence[Held],
    gone: frozenset[str],
    *,
    on_map: bool,
) -> Loss:
    numbers = _numbers(serving)
    order = sorted(own, key=lambda one: (numbers[one.workload], one.group))
    groups = tuple(numbers[one.workload] + one.group for one in order)
    every = [one for one in held if one.serving == serving.name]
    broken = tuple(sorted(numbers[one.workload] + one.group for one in every if not one.serves))
    # While a group is broken one budget for the set lets only its own pods go (`lab E3`).
    turns = 1 if set(broken) - set(groups) else 0
    answers: tuple[Evicted, ...] = ()
    for group in sorted(groups, key=lambda group: group not in broken):
        answers += (_answer(serving, group, turns, serves=group not in broken),)
        turns += 1
    grace, cold = serving.lead.launch.grace, serving.lead.startup.cold_start
    home = _homes(plan, order, held, gone) if on_map else None
    serial = any(one.answer == "evicted in turn" for one in answers) or len(answers) == 1
    taken = [one for one in answers if one.answer != "refused"]
    whole = [one for one in taken if one.group not in broken]
    at_once = 1 if serial else len(whole)
    stays = home is not None and home < len(groups)
    serve = len(every) - len(broken)
    waits = serial and bool(set(broken) - set(groups))
    return Loss(
        serving=serving.name,
        groups=groups,
        of=len(every),
        broken=broken,
        lost=remaining(serve, len(set(groups) - set(broken))),
        floor=remaining(serve, min(at_once, len(whole))),
        drain=answers,
        home=home,
        back=None if stays else cold,
        drained=None
        if stays or waits or len(taken) < len(answers)
        else drained(len(taken) if serial else 1, grace, cold),
    )


def _numbers(serving: ServingPlan) -> dict[str, int]:
    """What to add to a group's index: the workload's own number where each group is a workload."""
    apart = len(serving.workloads) > 1
    return {one.name: index if apart else 0 for index, one in enumerate(serving.workloads)}


def _answer(serving: ServingPlan, group: int, turn: int, *, serves: bool) -> Evicted:
    budgets = serving.disruption.budgets
    whole = next((one for one in budgets if one.max_unavailable is not None), None)
    if whole is not None:
        return Evicted(group, "evicted in turn" if turn and serves else "evicted", whole.name)
    own = f"{serving.name}-group-{group}"
    if any(one.name == own for one in budgets):
        return Evicted(group, "refused" if serves else "evicted", own)
    return Evicted(group, "evicted", "")


# ── where they go ────────────────────────────────────────────────────────────────────────────────


def _homes(
    plan: ClusterPlan, order: Sequence[Held], held: Sequence[Held], gone: frozenset[str]
) -> int:
    """How many of the groups find a whole place, one after another, on nodes that are left and that nothing else holds.

    Surge and spare groups of the map hold nothing: they are what is kept free for this.
    """
    moved = {(one.workload, one.group) for one in order}
    demands = {demand.workload: demand for demand in plan.demands}
    pools = {pool.pool: pool for pool in plan.pools}
    room: dict[str, _Room] = {}
    found = 0
    for one in order:
        demand = demands[one.workload]
        if demand.pool not in room:
            stay = [
                other
                for other in held
                if demands[other.workload].pool == demand.pool
                and (other.workload, other.group) not in moved
            ]
            room[demand.pool] = _Room(pools[demand.pool], stay, demands, gone)
        found += room[demand.pool].take(demand, plan.cluster.pools[demand.pool].levels)
    return found


class _Room:
    """The pods that nodes of one pool still take."""

    def __init__(
        self,
        pool: PoolPlan,
        stay: Sequence[Held],
        demands: Mapping[str, Demand],
        gone: frozenset[str],
    ) -> None:
        self._at: dict[str, At] = {}
        for domain in pool.domains:
            for number in range(domain.nodes):
                name = node_name(pool.pool, Node(domain.at, number))
                if name not in gone:
                    self._at[name] = domain.at
        # What a node that something lies on has left.
        self._left: dict[str, Portions] = {}
        self._taken = {
            name: portions(demand) for name, demand in demands.items() if demand.pool == pool.pool
        }
        for one in stay:
            pods = demands[one.workload].size
            for node in one.nodes:
                here = min(pods, self._places(one.workload, node)) if len(one.nodes) > 1 else pods
                self._take(one.workload, node, here)
                pods -= here

    def _places(self, workload: str, node: str) -> int:
        """Pods of a workload that a node still takes."""
        taken = self._taken[workload]
        return places_for(taken, self._left.get(node, (Fraction(1),) * len(taken)))

    def _take(self, workload: str, node: str, pods: int) -> None:
        taken = self._taken[workload]
        before = self._left.get(node, (Fraction(1),) * len(taken))
        self._left[node] = less(before, taken, pods)

    def take(self, demand: Demand, levels: Sequence[str]) -> bool:
        """Lay one group; whether it found a whole place."""
        depth = _depth(demand, levels)
        domains: dict[At, dict[str, int]] = {}
        for node, at in self._at.items():
            domains.setdefault(at[:depth], {})[node] = max(0, self._places(demand.workload, node))
        if demand.exclusive and depth:
            held = {self._at[node][:depth] for node in self._left if node in self._at}
            domains = {at: nodes for at, nodes in domains.items() if at not in held}
        fitting = [
            (sum(nodes.values()), at)
            for at, nodes in domains.items()
            if sum(nodes.values()) >= demand.size
        ]
        if not fitting:
            return False
        left = demand.size
        # Nodes with the least room first.
        for node, free in sorted(domains[min(fitting)[1]].items(), key=lambda pair: pair[1]):
            if pods := min(left, free):
                self._take(demand.workload, node, pods)
            left -= pods
        return True


def _depth(demand: Demand, levels: Sequence[str]) -> int:
    placement = demand.placement
    if placement is None or placement.mode != "required" or placement.level not in levels:
        return 0
    return list(levels).index(placement.level) + 1


# ── the table ────────────────────────────────────────────────────────────────────────────────────


class Row(NamedTuple):
    """Places whose loss costs the same."""

    names: tuple[str, ...]
    losses: tuple[Loss, ...]


def table(plan: ClusterPlan) -> Iterator[Row]:
    """Each domain and each node on the map that something lies on, coarse ones first; neighbours alike in one row."""
    held = assumed(plan)
    rows: list[Row] = []
    everything = places(plan)
    for name in sorted(everything, key=lambda name: (-len(everything[name]), _order(name))):
        made = losses(plan, held, everything[name], on_map=True)
        if not made:
            continue
        if rows and rows[-1].losses == made and len(everything[rows[-1].names[0]]) == 1:
            rows[-1] = Row((*rows[-1].names, name), made)
        else:
            rows.append(Row((name,), made))
    yield from rows


def _order(name: str) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in name.split("/"))
