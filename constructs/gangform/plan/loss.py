"""What a drain or a loss takes down: groups, the share of a serving, what budgets answer, and when all is back.

A group that loses a pod serves nothing until it is whole again, so what is counted is groups. Under one budget for the
set a drain takes one whole group after another, each once the one before is back; a budget a group is refused for as
long as the group is healthy (`lab E3`). Nothing asks a budget where a node is lost.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from gangform.plan.cluster import ClusterPlan
from gangform.plan.figures import formula
from gangform.plan.homes import Held, Homes, node_name
from gangform.plan.layout import Node
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

Answer = Literal["evicted", "evicted in turn", "refused"]
"""Of the budgets to the eviction of a group's pods: at once, once the group before it is whole again, never."""


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


class Ground:
    """A cluster with its groups where they lie: what is asked of it again and again is looked up once."""

    def __init__(self, plan: ClusterPlan, held: Sequence[Held], *, on_map: bool) -> None:
        """Where groups lie, and what answers for them.

        Args:
            plan: The cluster.
            held: Where its groups lie: as assumed, or as seen.
            on_map: Whether nodes are those of the plan's map, so that it is known what else is free.
        """
        self._servings = {serving.name: _Serving(serving) for serving in plan.servings}
        for one in held:
            if one.serving in self._servings:
                self._servings[one.serving].count(one)
        self._homes = Homes(plan, held) if on_map else None
        self._on: dict[str, list[int]] = {}
        for index, one in enumerate(held):
            for node in one.nodes:
                self._on.setdefault(node, []).append(index)
        self._held = held

    def losses(self, nodes: Iterable[str]) -> tuple[Loss, ...]:
        """What each serving loses with these nodes, in the order of the servings."""
        gone = frozenset(nodes)
        touched: dict[str, list[Held]] = {}
        for index in sorted({index for node in gone for index in self._on.get(node, ())}):
            touched.setdefault(self._held[index].serving, []).append(self._held[index])
        return tuple(
            self._loss(serving, touched[name], gone)
            for name, serving in self._servings.items()
            if name in touched
        )

    def _loss(self, serving: _Serving, own: Sequence[Held], gone: frozenset[str]) -> Loss:
        numbers = serving.numbers
        order = sorted(own, key=lambda one: (numbers[one.workload], one.group))
        groups = tuple(numbers[one.workload] + one.group for one in order)
        broken, here = serving.broken, frozenset(groups)
        # While a group is broken one budget for the set lets only its own pods go (`lab E3`).
        elsewhere = bool(broken - here)
        turns = sorted(groups, key=lambda group: group not in broken)
        answers = tuple(
            serving.answer(group, turn, serves=group not in broken)
            for turn, group in enumerate(turns, elsewhere)
        )
        home = None if self._homes is None else self._homes.find(order, gone)
        serial = any(one.answer == "evicted in turn" for one in answers) or len(answers) == 1
        taken = [one for one in answers if one.answer != "refused"]
        whole = [one for one in taken if one.group not in broken]
        at_once = 1 if serial else len(whole)
        stays = home is not None and home < len(groups)
        serve = serving.of - len(broken)
        waits = serial and elsewhere
        return Loss(
            serving=serving.name,
            groups=groups,
            of=serving.of,
            broken=tuple(sorted(broken)),
            lost=remaining(serve, len(here - broken)),
            floor=remaining(serve, min(at_once, len(whole))),
            drain=answers,
            home=home,
            back=None if stays else serving.cold_start,
            drained=None
            if stays or waits or len(taken) < len(answers)
            else drained(len(taken) if serial else 1, serving.grace, serving.cold_start),
        )


class _Serving:
    """What a serving answers with."""

    def __init__(self, plan: ServingPlan) -> None:
        self.name = plan.name
        self.of = 0
        """Groups of it that lie somewhere."""
        self.broken: frozenset[int] = frozenset()
        """Those that do not serve before anything goes."""
        self.grace, self.cold_start = plan.lead.launch.grace, plan.lead.startup.cold_start
        budgets = plan.disruption.budgets
        self._whole = next((one.name for one in budgets if one.max_unavailable is not None), None)
        self._budgets = {one.name for one in budgets}
        apart = len(plan.workloads) > 1
        # What to add to a group's index: the workload's own number where each group is a workload.
        self.numbers = {one.name: index if apart else 0 for index, one in enumerate(plan.workloads)}

    def count(self, one: Held) -> None:
        """Take a group of it into account."""
        self.of += 1
        if not one.serves:
            self.broken |= {self.numbers[one.workload] + one.group}

    def answer(self, group: int, turn: int, *, serves: bool) -> Evicted:
        """What the budgets say to the eviction of a group, after so many others."""
        if self._whole is not None:
            return Evicted(group, "evicted in turn" if turn and serves else "evicted", self._whole)
        own = f"{self.name}-group-{group}"
        if own in self._budgets:
            return Evicted(group, "refused" if serves else "evicted", own)
        return Evicted(group, "evicted", "")


def losses(
    plan: ClusterPlan, held: Sequence[Held], nodes: Iterable[str], *, on_map: bool
) -> tuple[Loss, ...]:
    """What each serving loses with these nodes, in the order of the servings (`Ground`)."""
    return Ground(plan, held, on_map=on_map).losses(nodes)


# ── the table ────────────────────────────────────────────────────────────────────────────────────


class Row(NamedTuple):
    """Places whose loss costs the same."""

    names: tuple[str, ...]
    losses: tuple[Loss, ...]


def table(plan: ClusterPlan) -> Iterator[Row]:
    """Each domain and each node on the map that something lies on, coarse ones first; neighbours alike in one row."""
    ground = Ground(plan, assumed(plan), on_map=True)
    rows: list[Row] = []
    everything = places(plan)
    for name in sorted(everything, key=lambda name: (-len(everything[name]), _order(name))):
        made = ground.losses(everything[name])
        if not made:
            continue
        if rows and rows[-1].losses == made and len(everything[rows[-1].names[0]]) == 1:
            rows[-1] = Row((*rows[-1].names, name), made)
        else:
            rows.append(Row((name,), made))
    yield from rows


def _order(name: str) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, int(p), "") if p.isdigit() else (1, 0, p) for p in name.split("/"))
