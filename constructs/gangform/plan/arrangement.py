"""Whether groups find whole places in the domains of a pool at all, in whatever order they are laid.

Laying one group after another may leave a group without a place that another order would have: four nodes and three
beside three and three in domains of seven and six. So before a pool is called too small, the ways to lay are searched:
all of them where they are few, and the answer says whether they were.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gangform.plan.layout import At

MOST_STATES = 300
"""States that are looked at before the search gives up."""
MOST_ITEMS = 120
"""Groups, and domains, beyond which nothing is searched."""


Signature = tuple[int, int, tuple["Signature", ...]]
"""What is left of a domain, what it had, and the same of what lies in it."""


class Item(NamedTuple):
    """A group that one domain has to hold."""

    nodes: int
    """What it fills, at least one."""
    depth: int
    """Levels of the domain."""
    exclusive: bool = False
    """It takes the whole domain."""


class Arrangement(NamedTuple):
    """What the search found."""

    targets: tuple[At, ...] | None
    """The domain of each item; `None`: none was found."""
    certain: bool
    """Whether there is none, where none was found."""


def arrange(domains: Sequence[tuple[At, int]], items: Sequence[Item], free: int) -> Arrangement:
    """A way to lay all items.

    Args:
        domains: The finest domains with their nodes.
        items: Groups that need a domain each.
        free: Nodes that must be left anywhere, for groups that no domain has to hold.
    """
    tree = _Tree(domains)
    if not tree.holds(items, free):
        return Arrangement(None, certain=True)
    if len(items) > MOST_ITEMS or len(tree.slack) > MOST_ITEMS:
        return Arrangement(None, certain=False)
    order = sorted(
        range(len(items)), key=lambda i: (-items[i].exclusive, -items[i].nodes, -items[i].depth, i)
    )
    search = _Search(tree, [items[i] for i in order], free)
    if not search.lay(0):
        return Arrangement(None, certain=search.states <= MOST_STATES)
    targets = dict(zip(order, search.chosen, strict=True))
    return Arrangement(tuple(targets[i] for i in range(len(items))), certain=True)


class _Tree:
    """Every domain of every level with the nodes that are left in it.

    A group of a coarse level may lie over finer domains, node by node, so all fit as long as each domain holds what
    has to lie in it and in finer ones.
    """

    def __init__(self, domains: Sequence[tuple[At, int]]) -> None:
        self.nodes: dict[At, int] = {(): 0}
        for at, nodes in domains:
            for depth in range(len(at) + 1):
                self.nodes[at[:depth]] = self.nodes.get(at[:depth], 0) + nodes
        self.slack = dict(self.nodes)
        self.inside: dict[At, list[At]] = {at: [] for at in self.nodes}
        self.level: dict[int, list[At]] = {}
        for at in sorted(self.nodes):
            self.level.setdefault(len(at), []).append(at)
            if at:
                self.inside[at[:-1]].append(at)

    def need(self, at: At, item: Item) -> int | None:
        """Nodes that an item takes of a domain; `None` where it does not fit."""
        if item.exclusive:
            whole = self.nodes[at] if self.slack[at] == self.nodes[at] >= item.nodes else None
        else:
            whole = item.nodes
        if whole is None or any(self.slack[at[:depth]] < whole for depth in range(len(at) + 1)):
            return None
        return whole

    def take(self, at: At, nodes: int) -> None:
        for depth in range(len(at) + 1):
            self.slack[at[:depth]] -= nodes

    def holds(self, items: Sequence[Item], free: int) -> bool:
        """Whether nothing speaks against it: enough nodes in all, and enough places for groups as large as each."""
        if sum(item.nodes for item in items) + free > self.slack[()]:
            return False
        for depth in dict.fromkeys(item.depth for item in items):
            own = [item for item in items if item.depth == depth]
            for least in dict.fromkeys(item.nodes for item in own):
                larger = [item for item in own if item.nodes >= least]
                alone = all(item.exclusive for item in larger)
                if len(larger) > sum(
                    min(1, self.slack[at] // least) if alone else self.slack[at] // least
                    for at in self.level.get(depth, ())
                ):
                    return False
        return True

    def signatures(self) -> dict[At, Signature]:
        """Of every domain, alike for those that may change places."""
        found: dict[At, Signature] = {}
        for at in sorted(self.nodes, key=len, reverse=True):
            inside = sorted(found[finer] for finer in self.inside[at])
            found[at] = (self.slack[at], self.nodes[at], tuple(inside))
        return found


class _Search:
    """Depth first, the largest groups first, the fullest domains first; a state that failed is not repeated."""

    def __init__(self, tree: _Tree, items: Sequence[Item], free: int) -> None:
        self.tree, self.items, self.free = tree, items, free
        self.chosen: list[At] = []
        self.states = 0
        self.failed: set[tuple[int, Signature]] = set()

    def lay(self, position: int) -> bool:
        if position == len(self.items):
            return self.tree.slack[()] >= self.free
        signatures = self.tree.signatures()
        state = (position, signatures[()])
        if state in self.failed or self.states > MOST_STATES:
            return False
        self.states += 1
        if self.tree.holds(self.items[position:], self.free):
            item = self.items[position]
            tried: set[tuple[Signature, ...]] = set()
            for at in sorted(
                self.tree.level.get(item.depth, ()), key=lambda a: (self.tree.slack[a], a)
            ):
                nodes = self.tree.need(at, item)
                alike = tuple(signatures[at[:depth]] for depth in range(1, len(at) + 1))
                if nodes is None or alike in tried:
                    continue
                tried.add(alike)
                self.tree.take(at, nodes)
                self.chosen.append(at)
                if self.lay(position + 1):
                    return True
                self.chosen.pop()
                self.tree.take(at, -nodes)
        self.failed.add(state)
        return False
