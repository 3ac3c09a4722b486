"""Nodes as pools: which belong together, which GPUs they have, and what nobody can say from labels.

Nodes of a declared pool are told by its GPU product and its labels, so that an import keeps the names that people gave.
All others go by product and number of GPUs, each kind a pool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from gangform.apis.keys import INSTANCE_TYPE
from gangform.apis.nodes import GPU_COUNT, KEEPING_OUT, NodeTaint, NodeView
from gangform.inputs.cluster import Library
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.levels import Levels, observe
from gangform.inputs.spans import LoadError
from gangform.inputs.spelling import label


class Known(NamedTuple):
    """A pool that somebody declared by hand."""

    name: str
    shape: HardwareShape | None
    """`None` where none is named, or its file is wrong."""
    levels: tuple[str, ...]
    node_labels: Mapping[str, str]
    open: bool = False
    """Nothing says its hardware: the nodes that an import would call so give it theirs."""


class Observed(NamedTuple):
    """Nodes of one kind."""

    name: str
    """Of the declared pool; empty for a new one."""
    nodes: tuple[NodeView, ...]
    """Sorted by name."""
    products: tuple[tuple[str, str], ...]
    """Labels that name the GPU's product, with their values."""
    node_labels: Mapping[str, str]
    """What tells the pool from another one of the same product."""
    taints: tuple[NodeTaint, ...]
    """What most of its nodes carry; what the pool's shape tolerates where it is declared."""
    levels: Levels

    @property
    def resource(self) -> str:
        """The extended resource of the GPUs."""
        return self.nodes[0].resource

    @property
    def gpus(self) -> int:
        """GPUs a node."""
        return self.nodes[0].gpus

    @property
    def fabric(self) -> tuple[tuple[str, int], ...]:
        """Resources of the fabric that every node offers, and how many of each a pod of the whole node requests."""
        counts = [dict(node.fabric) for node in self.nodes]
        everywhere = [name for name in counts[0] if all(name in one for one in counts)]
        return tuple((name, min(one[name] for one in counts)) for name in everywhere)

    @property
    def drivers(self) -> tuple[tuple[str, int], ...]:
        """Releases of the GPU driver and how many nodes run each, most first; nodes that say none are left out."""
        count = Counter(node.driver for node in self.nodes if node.driver)
        return tuple(sorted(count.items(), key=lambda one: (-one[1], one[0])))

    def least(self, resource: str) -> int:
        """The smallest amount that one of the nodes offers, in thousandths of a core for CPU."""
        unit = 1000 if resource == "cpu" else 1
        return min(int(node.allocatable.get(resource, 0) * unit) for node in self.nodes)

    def label(self, key: str) -> str:
        """The value that every node has of a label; empty where they differ."""
        values = {node.labels.get(key, "") for node in self.nodes}
        return next(iter(values)) if len(values) == 1 else ""


class Inventory(NamedTuple):
    """Everything that a list of nodes says."""

    pools: tuple[Observed, ...]
    """Declared ones first, in their order, then new ones by product."""
    plain: tuple[str, ...]
    """Nodes without GPUs."""
    divided: tuple[str, ...]
    """Nodes whose GPUs are handed out in parts."""
    nameless: tuple[str, ...]
    """Nodes whose GPUs no label names."""
    away: tuple[str, ...]
    """Nodes that are cordoned or not ready. They are counted: they come back."""
    short: tuple[str, ...]
    """Nodes that offer fewer GPUs than they have. They are not counted: no whole-node pod fits them."""
    tainted: tuple[tuple[str, str], ...]
    """Nodes with a taint that the rest of their pool has not, and its key. They are not counted: no pod goes there."""


def inventory(views: Iterable[NodeView], declared: Sequence[Known] = ()) -> Inventory:
    """Sort nodes into pools; their order does not matter."""
    nodes = sorted(views, key=lambda node: node.name)
    gpus = [node for node in nodes if node.gpus and not node.divided]
    whole = [node for node in gpus if node.usable >= node.gpus]
    groups: dict[Any, list[NodeView]] = {}
    nameless: list[str] = []
    for node in whole:
        home = _home(node, declared)
        products = node.products or _by_type(node)
        if home is None and not products:
            nameless.append(node.name)
        else:
            groups.setdefault(home or (node.resource, products, node.gpus), []).append(node)
    tainted: list[tuple[str, str]] = []
    pools: list[Observed] = []
    for known in declared:
        if found := groups.pop(known.name, []):
            own = _usual(found)
            if known.shape is not None:
                own = tuple(NodeTaint(t.key, t.value or "", t.effect) for t in known.shape.taints)
            pools += _pool(known, found, known.node_labels, own, tainted)
    shared = [key[1] for key in groups]
    for (_, products, count), found in sorted(groups.items()):
        labelled = all(node.labels.get(GPU_COUNT) == str(count) for node in found)
        apart = {GPU_COUNT: str(count)} if shared.count(products) > 1 and labelled else {}
        pools += _pool(None, found, apart, _usual(found), tainted)
    return Inventory(
        pools=tuple(pools),
        plain=_names(node for node in nodes if not node.gpus and not node.divided),
        divided=_names(node for node in nodes if node.divided),
        nameless=tuple(nameless),
        away=_names(node for node in gpus if node.cordoned or not node.ready),
        short=_names(node for node in gpus if node.usable < node.gpus),
        tainted=tuple(sorted(tainted)),
    )


def known_pools(cluster: Mapping[str, Any], library: Library) -> tuple[Known, ...]:
    """The pools that a cluster declares, as far as they can be read: what is wrong in them is said elsewhere."""
    pools = cluster.get("pools")
    return tuple(
        Known(
            name=name,
            shape=_shape(pool.get("hardware"), library),
            levels=_texts(pool.get("levels")),
            node_labels=dict(pool["nodeLabels"])
            if isinstance(pool.get("nodeLabels"), Mapping)
            else {},
            open=pool.get("hardware") is None,
        )
        for name, pool in (pools.items() if isinstance(pools, Mapping) else ())
        if isinstance(pool, Mapping)
    )


def _shape(written: Any, library: Library) -> HardwareShape | None:
    try:
        if isinstance(written, str):
            return library.hardware[written]
        return HardwareShape.model_validate(written, by_alias=True, by_name=False)
    except (KeyError, LoadError, ValueError):
        return None


def _texts(value: Any) -> tuple[str, ...]:
    items = value if isinstance(value, list) else []
    return tuple(one for one in items if isinstance(one, str) and one)


def _home(node: NodeView, declared: Sequence[Known]) -> str | None:
    """The declared pool of a node: that of its product with the most labels that fit."""
    fits = [
        one
        for one in declared
        if one.shape is not None
        and node.labels.get(one.shape.gpu.product_label) == one.shape.gpu.product
        and (node.resource, node.gpus) == (one.shape.gpu.resource, one.shape.gpu.count)
        and _labelled(node, one)
    ]
    best = max(fits, key=lambda one: len(one.node_labels), default=None)
    if best is None and (products := node.products or _by_type(node)):
        usual = usual_name(products, node.gpus)
        fits = [one for one in declared if one.open and one.name == usual]
        best = next((one for one in fits if _labelled(node, one)), None)
    return None if best is None else best.name


def _labelled(node: NodeView, known: Known) -> bool:
    return all(node.labels.get(key) == value for key, value in known.node_labels.items())


def usual_name(products: Sequence[tuple[str, str]], gpus: int) -> str:
    """What nodes are called that nobody named: product and number of GPUs."""
    product = products[0][1]
    bare = product.partition("-")[2] if product.lower().startswith("nvidia-") else product
    return label(f"{label(bare)}-{gpus}x")


def _pool(
    known: Known | None,
    found: list[NodeView],
    labels: Mapping[str, str],
    taints: tuple[NodeTaint, ...],
    tainted: list[tuple[str, str]],
) -> Iterator[Observed]:
    """The pool, unless pods reach none of its nodes; those that they do not reach are added to `tainted`."""
    reached = []
    for node in found:
        extra = next((one.key for one in node.taints if not _tolerated(one, taints)), None)
        if extra is None:
            reached.append(node)
        else:
            tainted.append((node.name, extra))
    if reached:
        levels = observe(reached, known.levels if known else ())
        products = found[0].products or _by_type(found[0])
        yield Observed(
            known.name if known else "", tuple(reached), products, labels, taints, levels
        )


def _usual(nodes: Sequence[NodeView]) -> tuple[NodeTaint, ...]:
    """Taints that more than half of the nodes carry."""
    count = Counter(taint for node in nodes for taint in node.taints)
    return tuple(sorted(taint for taint, number in count.items() if 2 * number > len(nodes)))


def _tolerated(taint: NodeTaint, tolerated: Sequence[NodeTaint]) -> bool:
    """Whether pods that tolerate some taints bear another; a taint that only deters they bear anyway."""
    return taint.effect not in KEEPING_OUT or any(
        (one.key, one.effect) == (taint.key, taint.effect) and one.value in ("", taint.value)
        for one in tolerated
    )


def _by_type(node: NodeView) -> tuple[tuple[str, str], ...]:
    """The instance type, where nothing names the GPU."""
    value = node.labels.get(INSTANCE_TYPE)
    return ((INSTANCE_TYPE, value),) if value else ()


def _names(nodes: Iterator[NodeView]) -> tuple[str, ...]:
    return tuple(node.name for node in nodes)
