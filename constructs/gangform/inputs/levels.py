"""Which labels of a pool's nodes are levels of its topology, coarse to fine, and which nodes lie together.

A provider's own labels have a known order. How those of two providers relate (a zone and a switch, a switch and an
NVLink domain) is seen on the nodes: of two levels the coarser is the one in which each value of the other lies whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gangform.apis.keys import HOSTNAME
from gangform.apis.nodes import FABRIC, PLACES, NodeView


class Levels(NamedTuple):
    """What was seen of a pool's topology."""

    keys: tuple[str, ...]
    """Node-label keys, coarse to fine, the host last; empty where no label says how nodes lie."""
    domains: tuple[tuple[tuple[str, ...], int], ...]
    """Values of a domain, one a level above the host, and how many nodes lie in it; sorted."""
    lacking: tuple[tuple[str, tuple[str, ...]], ...]
    """Levels that some nodes have no label of, and those nodes by name. They are in no domain."""
    crossing: tuple[tuple[str, str], ...]
    """Labels that are no levels, since their domains cross those of another: the label, and the other."""
    likely: tuple[str, ...] = ()
    """The levels with labels of somebody's own that sound like one and nest; empty where there is none."""


_PLACES = frozenset(
    {"rack", "row", "block", "superblock", "leaf", "spine", "switch", "tor", "island", "hall"}
)
"""Words that an own label of a place has in its key."""


def observe(nodes: Sequence[NodeView], wanted: Sequence[str] = ()) -> Levels:
    """The topology of some nodes.

    Args:
        nodes: Those of one pool.
        wanted: The levels that somebody declared, coarse to fine: then nothing is decided here.
    """
    keys, crossing = ([*wanted], []) if wanted else _order(nodes)
    above = [key for key in keys if key != HOSTNAME]
    likely = () if wanted else _likely(nodes, above)
    if not above:
        return Levels(tuple(wanted), (), (), tuple(crossing), likely)
    count: Counter[tuple[str, ...]] = Counter()
    lacking: dict[str, list[str]] = {}
    for node in nodes:
        at = tuple(node.labels.get(key, "") for key in above)
        if all(at):
            count[at] += 1
        for key, value in zip(above, at, strict=True):
            if not value:
                lacking.setdefault(key, []).append(node.name)
    return Levels(
        keys=tuple(wanted) or (*above, HOSTNAME),
        domains=tuple(sorted(count.items())),
        lacking=tuple((key, tuple(sorted(names))) for key, names in lacking.items()),
        crossing=tuple(crossing),
        likely=likely,
    )


def _order(nodes: Sequence[NodeView]) -> tuple[list[str], list[tuple[str, str]]]:
    chain: list[tuple[str, int]] = []
    crossing: list[tuple[str, str]] = []
    for family, keys in enumerate((PLACES, *FABRIC)):
        for key in _carried(nodes, keys, several=keys is PLACES):
            place, other = _place(nodes, chain, key, family)
            if other:
                crossing.append((key, other))
            else:
                chain.insert(place, (key, family))
    return [key for key, _ in chain], crossing


def _carried(nodes: Sequence[NodeView], keys: Sequence[str], *, several: bool) -> Iterator[str]:
    """Labels that more than half of the nodes carry. `several`: only those with more than one value.

    A pool that lies in one zone gains nothing from a level of zones; that it has one switch may change tomorrow.
    """
    for key in keys:
        values = [value for node in nodes if (value := node.labels.get(key))]
        if 2 * len(values) > len(nodes) and (not several or len(set(values)) > 1):
            yield key


def _place(
    nodes: Sequence[NodeView], chain: Sequence[tuple[str, int]], key: str, family: int
) -> tuple[int, str]:
    """Where a label stands among the levels found so far; or the level that it crosses."""
    place = 0
    for index, (other, its_family) in enumerate(chain):
        pairs = {
            (node.labels[other], node.labels[key])
            for node in nodes
            if node.labels.get(other) and node.labels.get(key)
        }
        inside = its_family == family or len(pairs) == len({inner for _, inner in pairs})
        around = len(pairs) == len({outer for outer, _ in pairs})
        if inside and place == index:
            place = index + 1
        elif not around or (inside and its_family == family):
            return 0, other
    return place, ""


def _likely(nodes: Sequence[NodeView], above: Sequence[str]) -> tuple[str, ...]:
    """Levels with the labels of no provider that every node carries, several share, and that nest."""
    known = {key for keys in (PLACES, *FABRIC) for key in keys}
    chain = list(above)
    own = [
        key
        for key in sorted(nodes[0].labels)
        if key not in known
        and _PLACES & {*re.split(r"[-._/]", key.rpartition("/")[2].lower())}
        and all(node.labels.get(key) for node in nodes)
        and 1 < _values(nodes, key) < len(nodes)
    ]
    for key in own:
        if all(_nest(nodes, key, other) for other in chain):
            chain.append(key)
    if len(chain) == len(above):
        return ()
    return (*sorted(chain, key=lambda key: _values(nodes, key)), HOSTNAME)


def _values(nodes: Sequence[NodeView], *keys: str) -> int:
    """How many domains labels make together."""
    return len({tuple(node.labels.get(key, "") for key in keys) for node in nodes})


def _nest(nodes: Sequence[NodeView], one: str, other: str) -> bool:
    """Whether the domains of one label lie whole in those of the other, and are not the same."""
    sides = [_values(nodes, one), _values(nodes, other)]
    return _values(nodes, one, other) == max(sides) and sides[0] != sides[1]
