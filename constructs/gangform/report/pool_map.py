"""The nodes of a pool and their GPUs: which group lies where, what is kept free for what, and what nothing takes.

One tile a domain of the finest level, as a rack seen from the front: a row a node, a square a GPU. Servings have a
letter, so that a node is labelled by letter and group, whatever the names. A pool of very many nodes is drawn as one
bar a domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from markupsafe import Markup

from gangform.findings import counted
from gangform.plan.homes import node_name
from gangform.plan.layout import Domain, Kind, Node
from gangform.plan.placement import PoolPlan
from gangform.plan.serving import ServingPlan
from gangform.report.drawing import Key, Numbers, box, picture, share, words

MOST_NODES = 1024
"""Nodes that are drawn one by one; of more, domains are bars."""
MOST_DOMAINS = 256
"""Domains that are drawn; the counts say the rest."""
TONES = 4
"""Colours of servings; the letter tells apart what shares one."""

_ROW, _SQUARE, _GAP, _LETTER = 18, 10, 3, 7
_TALL, _FLAT = 18, 8
"""Nodes a column: of a rack, and of a pool that has none."""

_KINDS: Mapping[Kind, tuple[str, str]] = {
    "wanted": ("", "serves"),
    "surge": (" surge", "kept for a group that a rollout makes first"),
    "spare": (" spare", "kept for a spare group"),
}
"""A class beside the tone, and what it means."""


class Slot(NamedTuple):
    """Pods of one group on one node."""

    serving: str
    workload: str
    group: int
    kind: Kind
    pods: int


class Tile(NamedTuple):
    """One domain."""

    name: str
    """`b0 / r1`; empty for a pool without domains."""
    free: str
    """`2 of 6 free`."""
    whole: bool
    """Whether nothing lies in it and nothing is kept there."""
    pictures: tuple[Markup, ...]
    """Its columns."""


class Map(NamedTuple):
    """One pool."""

    tiles: tuple[Tile, ...]
    legend: tuple[Key, ...]
    summary: str
    """How much is free, in nodes and domains."""
    more: int
    """Domains that are not drawn."""
    bars: bool
    """Whether domains are bars, of nodes too many to be drawn one by one."""


def letter(number: int) -> str:
    """`A` to `Z`, then `AA`, as columns of spreadsheets go on."""
    text = ""
    number += 1
    while number:
        number, rest = divmod(number - 1, 26)
        text = chr(ord("A") + rest) + text
    return text


def slots(domain: Domain) -> dict[int, list[Slot]]:
    """What lies on each node of a domain, by the number of the node; free nodes are not among them."""
    found: dict[int, list[Slot]] = {}
    for run in domain.runs:
        before = 0
        for part in run.parts:
            if part.at == domain.at:
                for pod in range(part.pods):
                    group = run.groups[(before + pod) // run.size]
                    here = found.setdefault((part.first + pod) // part.per_node, [])
                    if here and here[-1][:4] == (run.serving, run.workload, group, run.kind):
                        here[-1] = here[-1]._replace(pods=here[-1].pods + 1)
                    else:
                        here.append(Slot(run.serving, run.workload, group, run.kind, 1))
            before += part.pods
    return found


def pool_map(pool: PoolPlan, servings: Sequence[ServingPlan], numbers: Numbers) -> Map:
    """Draw a pool.

    Args:
        pool: What is drawn.
        servings: All servings of the cluster.
        numbers: Of the page.
    """
    here = [plan for plan in servings if plan.serving.pool == pool.pool]
    drawing = _Drawing(pool, here, numbers)
    nodes = sum(domain.nodes for domain in pool.domains)
    bars = nodes > MOST_NODES
    shown = pool.domains[:MOST_DOMAINS]
    return Map(
        tiles=tuple(drawing.bar(one) if bars else drawing.tile(one) for one in shown),
        legend=tuple(drawing.legend()) if not bars else tuple(_of_bars(pool)),
        summary=_summary(pool.domains, nodes),
        more=len(pool.domains) - len(shown),
        bars=bars,
    )


def _summary(domains: Sequence[Domain], nodes: int) -> str:
    free = sum(domain.free for domain in domains)
    text = f"{free} of {counted(nodes, 'node')} free"
    known = [domain for domain in domains if domain.at]
    if known:
        whole = sum(domain.free == domain.nodes for domain in known)
        text += f", {whole} of {counted(len(known), 'domain')} free as a whole"
    return text


def _of_bars(pool: PoolPlan) -> Iterator[Key]:
    yield Key("filled", "nodes that a group lies on")
    if any(domain.closed for domain in pool.domains):
        yield Key("closed", "empty, and kept by the group of the domain")
    yield Key("empty", "free")


class _Drawing:
    """A pool while it is drawn."""

    def __init__(self, pool: PoolPlan, servings: Sequence[ServingPlan], numbers: Numbers) -> None:
        self._pool, self._numbers, self._servings = pool, numbers, servings
        self._letters = {plan.name: letter(index) for index, plan in enumerate(servings)}
        self._tones = {plan.name: f"tone-{index % TONES}" for index, plan in enumerate(servings)}
        self._gpus = {plan.name: plan.lead.shape.gpus_per_pod for plan in servings}
        self._offsets = {
            workload.name: index if plan.workloads[1:] else 0
            for plan in servings
            for index, workload in enumerate(plan.workloads)
        }
        digits = len(str(max((plan.serving.highest_groups for plan in servings), default=1)))
        shared = any(run.per_node > run.size for run in pool.runs)
        # A letter and a number, and a dash and another where groups share a node; the same for another serving behind a
        # space, with a sign for more.
        beside = len({run.serving for run in pool.runs if run.per_node > 1}) > 1
        letters = max((len(one) for one in self._letters.values()), default=1)
        label = 1 + letters + digits + shared * (1 + digits)
        self._label_width = _LETTER * (label * (1 + beside) + 2 * beside)
        most = max((domain.nodes for domain in pool.domains), default=1)
        self._number = 6 + _LETTER * max(2, len(str(most - 1)))
        self._per_node = max((plan.lead.hardware.gpu.count for plan in servings), default=0)

    def legend(self) -> Iterator[Key]:
        """What occurs in the pool."""
        for plan in self._servings:
            yield Key(self._tones[plan.name], f"{self._letters[plan.name]}  {plan.name}")
        kinds = dict.fromkeys(run.kind for run in self._pool.runs)
        for kind, (mark, meaning) in _KINDS.items():
            if mark and kind in kinds:
                yield Key(f"plain{mark}", meaning)
        if any(domain.closed for domain in self._pool.domains):
            yield Key("closed", "empty, and kept by the group of the domain")
        if any(domain.free for domain in self._pool.domains):
            yield Key("empty", "free")

    def tile(self, domain: Domain) -> Tile:
        """A domain node by node."""
        filled = slots(domain)
        column = _TALL if domain.at else _FLAT
        return self._tile(
            domain,
            tuple(
                self._column(domain, filled, range(first, min(first + column, domain.nodes)))
                for first in range(0, domain.nodes, column)
            ),
        )

    def bar(self, domain: Domain) -> Tile:
        """A domain in shares of its nodes."""
        pieces = (("filled", domain.filled), ("closed", domain.closed), ("empty", domain.free))
        drawn: list[Markup] = []
        at = 0
        for kind, nodes in pieces:
            if nodes:
                width = share(nodes, domain.nodes)
                drawn.append(box(kind, x=share(at, domain.nodes), y=1, width=width, height=12))
            at += nodes
        return self._tile(
            domain,
            (
                picture(
                    self._numbers,
                    title=_title(self._pool.pool, domain),
                    description=f"{domain.filled} of {counted(domain.nodes, 'node')} filled, {domain.free} free",
                    height=14,
                    children=drawn,
                ),
            ),
        )

    def _tile(self, domain: Domain, pictures: tuple[Markup, ...]) -> Tile:
        return Tile(
            name=" / ".join(domain.at) or ("in no domain" if self._pool.domains[1:] else ""),
            free=f"{domain.free} of {domain.nodes} free",
            whole=domain.free == domain.nodes,
            pictures=pictures,
        )

    def _column(self, domain: Domain, filled: Mapping[int, Sequence[Slot]], nodes: range) -> Markup:
        drawn: list[Markup] = []
        said: list[str] = []
        for row, number in enumerate(nodes):
            here = filled.get(number, ())
            closed = not here and number >= domain.nodes - domain.closed
            drawn += self._node(domain, number, here, row * _ROW, closed=closed)
            said.append(f"{number}: {self._said(here, closed=closed)}")
        return picture(
            self._numbers,
            title=f"{_title(self._pool.pool, domain)}, nodes {nodes[0]} to {nodes[-1]}",
            description="; ".join(said),
            height=len(nodes) * _ROW,
            width=self._number + self._per_node * (_SQUARE + _GAP) + self._label_width,
            children=drawn,
            kind="rack",
        )

    def _node(
        self, domain: Domain, number: int, here: Sequence[Slot], top: int, *, closed: bool
    ) -> Iterator[Markup]:
        foot = top + _ROW - 5
        yield words(str(number), x=self._number - 6, y=foot, kind="number", anchor="end")
        kinds = [
            f"{self._tones[slot.serving]}{_KINDS[slot.kind][0]}"
            for slot in here
            for _ in range(slot.pods * self._gpus[slot.serving])
        ]
        rest = "closed" if closed else "empty"
        title = f"{node_name(self._pool.pool, Node(domain.at, number))}: {self._said(here, closed=closed)}"
        for square in range(self._per_node):
            yield box(
                f"gpu {kinds[square] if square < len(kinds) else rest}",
                x=self._number + square * (_SQUARE + _GAP),
                y=top + (_ROW - _SQUARE) // 2,
                width=_SQUARE,
                height=_SQUARE,
                title=title,
            )
        at = self._number + self._per_node * (_SQUARE + _GAP) + 2
        yield words(self._label(here), x=at, y=foot, kind="label")

    def _label(self, here: Sequence[Slot]) -> str:
        """`B3`; `B3–5` where several groups share the node, `B3–5 C0` where several servings do."""
        groups: dict[str, list[int]] = {}
        for slot in here:
            groups.setdefault(slot.serving, []).append(self._index(slot))
        labels = [
            f"{self._letters[serving]}{min(own)}" + (f"–{max(own)}" if max(own) > min(own) else "")
            for serving, own in groups.items()
        ]
        return " ".join(labels[:2]) + ("…" if labels[2:] else "")

    def _index(self, slot: Slot) -> int:
        """The number of a group among those of its serving; that of the workload where each is one."""
        return slot.group + self._offsets[slot.workload]

    def _said(self, here: Sequence[Slot], *, closed: bool) -> str:
        if not here:
            return "kept" if closed else "free"
        return ", ".join(
            f"{slot.serving} group {self._index(slot)}"
            + ("" if slot.kind == "wanted" else f" ({_KINDS[slot.kind][1]})")
            for slot in here
        )


def _title(pool: str, domain: Domain) -> str:
    return f"Pool {pool}, {' / '.join(domain.at)}" if domain.at else f"Pool {pool}"
