"""What an import writes and says: the file of a cluster's nodes, and what people should know of it.

The file holds what the cluster is made of, not how it is this minute: a cordoned node is counted, and said beside it.
The same nodes make the same bytes, in whatever order they come.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from gangform.apis.nodes import NodeView
from gangform.apis.versions import Release
from gangform.findings import Finding, InputPath, Severity, counted, declare, ordered, some
from gangform.inputs.cluster import Library
from gangform.inputs.matching import Match, differences, match
from gangform.inputs.observed import Inventory, Known, Observed, inventory, usual_name
from gangform.inputs.spelling import entry, flow

UNPLACED = declare(
    "nodes-without-level",
    "Nodes without the label of a level: nothing that has to lie together is put there",
    Severity.DEGRADES,
    "engines §8.4; kueue §1.2",
)
CROSSING = declare(
    "levels-cross",
    "A topology label whose domains cross those of another",
    Severity.STYLE,
    "kueue §1.2: levels are a tree",
)
OWN_LABELS = declare(
    "labels-may-be-levels",
    "Labels of your own that may say how nodes lie, and that an import does not take",
    Severity.STYLE,
    "design §3 Cluster: levels",
)
NOT_COUNTED = declare(
    "nodes-not-counted",
    "Nodes with GPUs that no pool counts",
    Severity.STYLE,
    "design §3 Cluster",
)
NOT_BORNE_OUT = declare(
    "hardware-not-borne-out",
    "A hardware shape that says something else than the nodes of its pool",
    Severity.DEGRADES,
    "design §3 HardwareShape",
)
SHAPE_UNKNOWN = declare(
    "hardware-not-said",
    "Nodes whose labels do not say all that a hardware shape needs",
    Severity.STYLE,
    "design §3 HardwareShape",
)

DRIVERS = declare(
    "drivers-differ",
    "Nodes of one pool with several releases of the GPU driver",
    Severity.STYLE,
    "design §3 Serving: qualified",
)

_NAMED = 5
"""Nodes that are called by name where there are many."""


class Survey(NamedTuple):
    """The outcome of an import."""

    text: str
    """The file."""
    pools: tuple[tuple[str, int, str], ...]
    """Name, nodes and hardware of each pool."""
    seen: Inventory
    findings: tuple[Finding, ...]


def survey(
    nodes: Sequence[NodeView], *, cluster: str, declared: Sequence[Known], library: Library
) -> Survey:
    """What some nodes make of a cluster.

    Args:
        nodes: All of the cluster, in any order.
        cluster: Its name.
        declared: The pools that people wrote.
        library: The shapes that a pool may name.
    """
    seen = inventory(nodes, declared)
    lines = [
        f"# What the nodes of {cluster} said, written by `gangform cluster import`. The next import replaces this",
        "# file: facts of your own belong into the cluster, where they win.",
    ]
    found: list[Finding] = []
    told: list[tuple[str, int, str]] = []
    shapes = {known.name: known.shape for known in declared}
    body: list[str] = []
    for name, pool in _named(seen.pools, [known.name for known in declared]):
        shape = shapes.get(pool.name)
        hardware = match(pool, library, name) if shape is None else Match(shape.name)
        if shape is not None and (wrong := differences(pool, shape)):
            found.append(_not_borne_out(cluster, name, shape.name, wrong))
        if hardware.missing:
            found.append(_unknown(cluster, name, pool, hardware.missing))
        found += _topology(cluster, name, pool)
        found += _drivers(cluster, name, pool)
        written = list(_pool(name, pool, hardware, declared=shape is not None))
        body += written if not hardware.missing else [f"# {line}" for line in written]
        told.append((name, len(pool.nodes), hardware.name or "a shape of its own"))
    found += _uncounted(cluster, seen)
    empty = all(line.startswith("#") for line in body)
    text = "\n".join([*lines, "pools: {}" if empty else "pools:", *body, ""])
    return Survey(text, tuple(told), seen, ordered(found))


def cluster_of(name: str, nodes: Sequence[NodeView]) -> str:
    """The first file of a cluster for people, with what its nodes do not say; the releases are theirs to put in."""
    kubelets = [
        found[0] for node in nodes if (found := re.findall(r"[0-9]+\.[0-9]+", node.kubelet))
    ]
    newest = max(kubelets, key=Release.parse, default="1.36")
    return (
        f"# What the nodes of {name} do not say; what they say is in profiles/nodes/{name}.yaml. This file is yours.\n"
        "versions:\n"
        f'  kubernetes: "{newest}" # of the kubelets\n'
        "  # put in what runs: lws, kueue, volcano\n"
        "foundation: existing # others make queues, flavors and topology; `all` where gangform shall\n"
        "pools: {} # what stands here wins over what the nodes said\n"
    )


def _named(pools: Sequence[Observed], taken: Sequence[str]) -> Iterator[tuple[str, Observed]]:
    """Names: the declared one, else product and number of GPUs, with a number where that is taken."""
    used = set(taken)
    for pool in pools:
        name = pool.name
        if not name:
            plain = name = usual_name(pool.products, pool.gpus)
            number = 1
            while name in used:
                number += 1
                name = f"{plain}-{number}"
        used.add(name)
        yield name, pool


def _pool(name: str, pool: Observed, hardware: Match, *, declared: bool) -> Iterator[str]:
    """The lines of a pool."""
    yield f"  {name}:"
    if hardware.missing:
        yield f"    hardware: # copy a shape into profiles/hardware and name it: no label says {hardware.missing}"
    elif not declared:
        yield from entry("hardware", hardware.name or hardware.shape, "    ")
    yield f"    nodes: {len(pool.nodes)}"
    if len(pool.drivers) == 1:
        yield from entry("driver", pool.drivers[0][0], "    ")
    if pool.node_labels and not declared:
        yield from entry("nodeLabels", dict(pool.node_labels), "    ")
    levels = pool.levels
    if levels.keys:
        yield from entry("levels", list(levels.keys), "    ")
    for key, names in levels.lacking:
        yield f"    # without {key}, and so in no domain: {some(names, _NAMED)}"
    if levels.domains:
        yield "    domains:"
        for at, count in levels.domains:
            yield f"      - {flow({'at': list(at), 'nodes': count})}"


def _topology(cluster: str, name: str, pool: Observed) -> Iterator[Finding]:
    at = InputPath(("clusters", cluster, "pools", name, "levels"))
    for key, names in pool.levels.lacking:
        yield Finding(
            code=UNPLACED,
            at=at,
            what=f"{counted(len(names), 'node')} of {len(pool.nodes)} in pool {name} without the label {key}: "
            f"{some(names, _NAMED)}",
            fix=f"label {'it' if len(names) == 1 else 'them'}, or find out why nobody did: "
            f"`kubectl get nodes -L {key}`",
            seen={"nodes": ", ".join(names)},
        )
    for key, other in pool.levels.crossing:
        yield Finding(
            code=CROSSING,
            at=at,
            what=f"{key} is no level of pool {name}: its domains cross those of {other}",
            fix=f"declare the pool's `levels` if it should be one instead of {other}",
        )
    if likely := pool.levels.likely:
        own = [key for key in likely[:-1] if key not in pool.levels.keys]
        yield Finding(
            code=OWN_LABELS,
            at=at,
            what=f"{', '.join(own)} of the {len(pool.nodes)} nodes in pool {name} may say how they lie; an import "
            "takes the labels of providers alone",
            fix=f"write `levels: {flow(list(likely))}` into pool {name} of the cluster, coarse to fine, and import "
            "again",
        )


def _drivers(cluster: str, name: str, pool: Observed) -> Iterator[Finding]:
    """A measurement holds for one driver, so a pool says one or none."""
    if len(pool.drivers) > 1:
        said = ", ".join(f"{release} on {nodes}" for release, nodes in pool.drivers)
        yield Finding(
            code=DRIVERS,
            at=InputPath(("clusters", cluster, "pools", name, "driver")),
            what=f"the {len(pool.nodes)} nodes of pool {name} run several GPU drivers: {said}; `driver` is left out",
            fix="bring all to one release, or declare two pools that `nodeLabels` tell apart",
            seen={release: str(nodes) for release, nodes in pool.drivers},
        )


def _not_borne_out(cluster: str, name: str, shape: str, wrong: Sequence[str]) -> Finding:
    return Finding(
        code=NOT_BORNE_OUT,
        at=InputPath(("clusters", cluster, "pools", name, "hardware")),
        what=f"the nodes of pool {name} are not as {shape} says: {'; '.join(wrong)}",
        fix=f"remove `hardware: {shape}` to take a shape from the nodes, or correct it in profiles/hardware",
    )


def _unknown(cluster: str, name: str, pool: Observed, missing: str) -> Finding:
    label_key, product = pool.products[0]
    return Finding(
        code=SHAPE_UNKNOWN,
        at=InputPath(("clusters", cluster, "pools", name, "hardware")),
        what=f"no label of the {counted(len(pool.nodes), 'node')} with {label_key}: {product} says {missing}, so the "
        "pool is written as a comment",
        fix=f"write profiles/hardware/{name}.yaml, and `{name}: {{hardware: {name}}}` into the cluster's pools",
    )


def _uncounted(cluster: str, seen: Inventory) -> Iterator[Finding]:
    at = InputPath(("clusters", cluster, "pools"))
    tainted: dict[str, list[str]] = {}
    for name, key in seen.tainted:
        tainted.setdefault(key, []).append(name)
    kinds: list[tuple[Sequence[str], str, str]] = [
        (
            seen.divided,
            "whose GPUs are handed out in parts",
            "leave them to others: a group takes whole GPUs",
        ),
        (seen.nameless, "with GPUs that no label names", "run GPU feature discovery there"),
        (seen.short, "with fewer GPUs to offer than inside", "look at the GPUs there: one is ill"),
        *(
            (
                names,
                f"with the taint {key}, which the rest of the pool has not",
                f"add {key} to the shape's taints, if pods of ours may go there",
            )
            for key, names in tainted.items()
        ),
    ]
    for names, why, fix in kinds:
        if names:
            what = f"{counted(len(names), 'node')} {why}, not counted: {some(names, _NAMED)}"
            yield Finding(code=NOT_COUNTED, at=at, what=what, fix=fix)
