"""Which groups lie on which nodes: the map that packing, drains and the picture of a pool share.

An inventory counts nodes and does not name them, so a node here is the n-th of its domain. Groups go where they fit
most tightly: whole into the finest domain that holds them, never beyond the level they require, and onto nodes that
others left room on before fresh ones. Controllers may choose otherwise; this is what the plan assumes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Literal, NamedTuple

Kind = Literal["wanted", "surge", "spare"]
"""What a group is there for: to serve, for rollouts (a declared spare group included), or only to be kept free."""

At = tuple[str, ...]
"""A domain: label values, coarse to fine, the host left out; `()` is the whole pool."""

Portions = tuple[Fraction, ...]
"""Parts of a node, one a resource."""


class Node(NamedTuple):
    """One node of the map."""

    at: At
    """The domain of the finest level that it lies in; `()` where it lies in none that is declared."""
    number: int
    """Counted from 0 within that domain."""


class Placement(NamedTuple):
    """Where one group lies."""

    serving: str
    workload: str
    group: int
    """Index of the group within its workload."""
    kind: Kind
    domain: At
    """The finest domain that holds it whole; `()` where it lies over several of the coarsest."""
    nodes: tuple[Node, ...]


class Part(NamedTuple):
    """Neighbouring places for pods in one domain."""

    at: At
    first: int
    """The first place, counted over the nodes of the domain, `per_node` on each."""
    pods: int
    per_node: int
    """Pods of this kind that fit on what these nodes have left."""

    def nodes(self, start: int = 0, end: int | None = None) -> range:
        """The numbers of the nodes of the pods from `start` to before `end`, counted within this part."""
        last = self.first + (self.pods if end is None else end) - 1
        return range((self.first + start) // self.per_node, last // self.per_node + 1)


class Run(NamedTuple):
    """Groups of one workload that lie next to each other, so that a million of them is one entry."""

    serving: str
    workload: str
    kind: Kind
    groups: range
    size: int
    """Pods a group."""
    per_node: int
    """Pods of this kind that fit one empty node."""
    parts: tuple[Part, ...]

    def placements(self) -> Iterator[Placement]:
        """Each group by itself."""
        for position, group in enumerate(self.groups):
            nodes = self._nodes(position * self.size, (position + 1) * self.size)
            yield Placement(
                self.serving, self.workload, group, self.kind, _common([n.at for n in nodes]), nodes
            )

    def _nodes(self, start: int, end: int) -> tuple[Node, ...]:
        found: dict[Node, None] = {}
        before = 0
        for part in self.parts:
            first, last = max(0, start - before), min(part.pods, end - before)
            if first < last:
                found.update((Node(part.at, number), None) for number in part.nodes(first, last))
            before += part.pods
        return tuple(found)

    @property
    def filled(self) -> Iterator[tuple[At, range]]:
        """The nodes that hold at least one pod, by domain."""
        for part in self.parts:
            yield part.at, part.nodes()


class Domain(NamedTuple):
    """One domain of the finest level, filled."""

    at: At
    """`()`: nodes that lie in no declared domain, or a pool without domains."""
    nodes: int
    filled: int
    closed: int
    """Nodes that are empty and still taken: a backend keeps the whole domain for one group."""
    runs: tuple[Run, ...]
    """What lies here, also in part."""

    @property
    def free(self) -> int:
        """Nodes that anything may take."""
        return self.nodes - self.filled - self.closed


class Load(NamedTuple):
    """Groups of one workload that have to be laid."""

    serving: str
    workload: str
    kind: Kind
    groups: range
    size: int
    per_node: int
    depth: int
    """Levels of the domain that has to hold a group whole; 0: it may lie anywhere."""
    host: bool
    """One node has to hold it."""
    exclusive: bool
    """A group takes its whole domain."""
    portions: Portions = ()
    """What a pod takes of a node; empty: one of `per_node` alike parts."""
    within: At = ()
    """The domain to lie in, where somebody chose it."""

    @property
    def taken(self) -> Portions:
        """What a pod takes of a node."""
        return self.portions or (Fraction(1, self.per_node),)

    def places(self, left: Portions) -> int:
        """Pods that find room in what a node has left; whole groups of them where one node has to hold a group."""
        pods = places(self.taken, left)
        return pods // self.size * self.size if self.host else pods

    @property
    def fresh(self) -> int:
        """Pods that find room on an empty node."""
        return self.per_node // self.size * self.size if self.host else self.per_node


class _Rest(NamedTuple):
    """Neighbouring nodes that have as much left."""

    first: int
    nodes: int
    left: Portions


def places(taken: Portions, left: Portions) -> int:
    """Pods that find room in what a node has left."""
    fits = (have // want for have, want in zip(left, taken, strict=True) if want)
    return max(0, min(fits, default=0))


def less(left: Portions, taken: Portions, pods: int) -> Portions:
    """What a node has left when so many pods more lie on it."""
    return tuple(have - pods * want for have, want in zip(left, taken, strict=True))


class Layout:
    """The nodes of one pool while groups are laid on them."""

    def __init__(self, domains: Sequence[tuple[At, int]], depth: int) -> None:
        """A pool with nothing on it: its finest domains with their nodes, and the levels above the host."""
        self.depth = depth
        self.runs: list[Run] = []
        self._nodes: dict[At, int] = {}
        for at, nodes in domains:
            self._nodes[at] = self._nodes.get(at, 0) + nodes
        self._used = dict.fromkeys(self._nodes, 0)
        self._closed = dict.fromkeys(self._nodes, 0)
        self._rests: dict[At, list[_Rest]] = {}
        """What nodes that something lies on have left."""

    def copy(self) -> Layout:
        """The same nodes with the same on them, to try something."""
        other = Layout((), self.depth)
        other.runs = [*self.runs]
        other._nodes, other._used = dict(self._nodes), dict(self._used)
        other._closed = dict(self._closed)
        other._rests = {at: [*rests] for at, rests in self._rests.items()}
        return other

    def lay(self, load: Load) -> int:
        """Lay as many of the groups as find a whole place: how many did."""
        laid = 0
        while laid < len(load.groups) and (some := self._some(load, load.groups[laid:])):
            laid += some
        return laid

    def room(self, load: Load) -> int:
        """Pods of a workload that still find a node, wherever it is."""
        return sum(self._room(load, at) for at in self._nodes)

    def most(self, load: Load) -> int:
        """Groups of a workload that would find a whole place if nothing else was laid, as many as there are."""
        whole = [pods // load.size for pods in self._rooms(load, load.depth, ()).values()]
        return sum(min(1, groups) if load.exclusive else groups for groups in whole)

    def domains(self) -> tuple[Domain, ...]:
        """Every domain of the finest level with what lies in it, sorted."""
        here: dict[At, dict[Run, None]] = {at: {} for at in self._nodes}
        for run in self.runs:
            for part in run.parts:
                here[part.at][run] = None
        return tuple(
            Domain(
                at=at,
                nodes=self._nodes[at],
                filled=self._used[at] - self._closed[at],
                closed=self._closed[at],
                runs=tuple(here[at]),
            )
            for at in sorted(self._nodes)
        )

    def _some(self, load: Load, groups: range) -> int:
        """Lay groups into the tightest domain of the level, within it into the finest that still holds one."""
        within = self._tightest(load, load.depth, load.within)
        if within is None:
            return 0
        whole = within
        for depth in range(self.depth, load.depth, -1):
            finer = self._tightest(load, depth, within)
            if finer is not None:
                whole = finer
                break
        room = {at: self._room(load, at) for at in self._nodes if at[: len(whole)] == whole}
        if single := [(pods, at) for at, pods in room.items() if pods >= load.size]:
            pods, at = min(single)
            room = {at: pods}
        # Where no finer domain holds a group, it lies over several, the emptiest first.
        count = 1 if load.exclusive or len(room) > 1 else min(len(groups), pods // load.size)
        parts: list[Part] = []
        left = count * load.size
        for at in sorted(room, key=lambda at: (-room[at], at)):
            taken = min(left, room[at])
            parts += self._take(load, at, taken)
            left -= taken
        if load.exclusive:
            self._close(load, within)
        self.runs.append(
            Run(
                serving=load.serving,
                workload=load.workload,
                kind=load.kind,
                groups=groups[:count],
                size=load.size,
                per_node=load.per_node,
                parts=tuple(parts),
            )
        )
        return count

    def _close(self, load: Load, domain: At) -> None:
        for at, nodes in self._nodes.items():
            if at[: len(domain)] == domain:
                self._rests.pop(at, None)
                self._closed[at] += nodes - self._used[at]
                self._used[at] = nodes

    def _tightest(self, load: Load, depth: int, within: At) -> At | None:
        """The domain of so many levels with the least room that holds a group."""
        rooms = self._rooms(load, depth, within)
        fitting = [(room, at) for at, room in rooms.items() if room >= load.size]
        return min(fitting)[1] if fitting else None

    def _rooms(self, load: Load, depth: int, within: At) -> dict[At, int]:
        """Pods that each domain of so many levels still takes."""
        rooms: dict[At, int] = {}
        for at in self._nodes:
            if len(at) >= depth and at[: len(within)] == within:
                rooms[at[:depth]] = rooms.get(at[:depth], 0) + self._room(load, at)
        return rooms

    def _room(self, load: Load, at: At) -> int:
        """Pods of the workload that a domain of the finest level still takes."""
        rests = sum(rest.nodes * load.places(rest.left) for rest in self._rests.get(at, ()))
        return rests + (self._nodes[at] - self._used[at]) * load.fresh

    def _take(self, load: Load, at: At, pods: int) -> Iterator[Part]:
        """Nodes that have the least room left first, then fresh ones."""
        rests = self._rests.pop(at, [])
        order = sorted(
            (rest for rest in rests if load.places(rest.left)),
            key=lambda r: (load.places(r.left), r.first),
        )
        after = [rest for rest in rests if not load.places(rest.left)]
        if fresh := self._nodes[at] - self._used[at]:
            order.append(_Rest(self._used[at], fresh, (Fraction(1),) * len(load.taken)))
        for rest in order:
            new = rest.first == self._used[at]
            each = load.fresh if new else load.places(rest.left)
            here = min(pods, rest.nodes * each)
            if here:
                yield Part(at, rest.first * each, here, each)
                pods -= here
            full, some = divmod(here, each)
            filled = full + (some > 0)
            for first, nodes, held in ((0, full, each), (full, filled - full, some)):
                left = less(rest.left, load.taken, held)
                # What has nothing left of a resource takes no pod of anybody: each asks for some of each.
                if nodes and all(have > 0 for have in left):
                    after.append(_Rest(rest.first + first, nodes, left))
            if new:
                self._used[at] += filled
            elif filled < rest.nodes:
                after.append(_Rest(rest.first + filled, rest.nodes - filled, rest.left))
        if after:
            self._rests[at] = sorted(after)


def _common(paths: Sequence[At]) -> At:
    """The finest domain that holds all of them."""
    least, most = min(paths), max(paths)
    depth = 0
    while depth < min(len(least), len(most)) and least[depth] == most[depth]:
        depth += 1
    return least[:depth]
