"""Whether anybody can see that a group has somewhere to be rebuilt: what of the pool's nodes kube-state-metrics tells.

It tells what a node offers and what its pods ask for, and of its labels those of an allowlist. So the nodes of a pool
are known where no other pool has nodes of as many GPUs, or where a label that tells them apart is exported; domains are
known where the label of their level is.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gangform.inputs.cluster import Cluster, Library, Pool
from gangform.inputs.hardware import Gpu
from gangform.inputs.serving import Serving
from gangform.plan.role import RolePlan


class RoomPlan(NamedTuple):
    """How free places for a group are counted."""

    resource: str
    offered: int
    """GPUs of a node."""
    taken: int
    """GPUs of a pod."""
    labels: Mapping[str, str]
    """Node labels that tell the nodes of the pool from others; empty where the number of GPUs does."""
    level: str | None
    """The level in one domain of which all pods of a group have to be; `None` where any nodes will do."""
    spare: bool
    """Whether the pool is to have room for one more group at all times."""
    unseen: tuple[str, ...] = ()
    """Node labels that nobody exports: without them nothing true can be said, and nothing is."""


def derive(serving: Serving, cluster: Cluster, lead: RolePlan, library: Library) -> RoomPlan:
    """What is known of the nodes of a serving's pool."""
    gpu, exported = lead.hardware.gpu, cluster.monitoring.node_labels
    own = cluster.pools[serving.pool]
    mine = {gpu.product_label: gpu.product, **own.node_labels}
    like = [
        labels
        for name, pool in cluster.pools.items()
        if name != serving.pool and (labels := _labels_if_like(pool, gpu, library)) is not None
    ]
    seen = {key: value for key, value in mine.items() if key in exported}
    apart = all(any(theirs.get(key) != value for key, value in seen.items()) for theirs in like)
    placed = lead.demand.placement
    level = placed.level if placed is not None and placed.mode == "required" else None
    unseen = [] if apart else [key for key in mine if key not in exported]
    if level is not None and level not in exported:
        unseen.append(level)
    return RoomPlan(
        resource=gpu.resource,
        offered=gpu.count,
        taken=lead.shape.gpus_per_pod,
        labels=seen if like else {},
        level=level,
        spare=serving.rollout.spare_groups > 0,
        unseen=tuple(unseen),
    )


def _labels_if_like(pool: Pool, gpu: Gpu, library: Library) -> dict[str, str] | None:
    """The labels of a pool whose nodes have as many of the same GPUs, as far as the exporter shows."""
    shape = library.hardware.get(pool.hardware) if isinstance(pool.hardware, str) else pool.hardware
    if shape is None:
        return dict(pool.node_labels)
    if (shape.gpu.resource, shape.gpu.count) != (gpu.resource, gpu.count):
        return None
    return {shape.gpu.product_label: shape.gpu.product, **pool.node_labels}


def remarks(plan: RoomPlan) -> Iterator[str]:
    """What no alert says."""
    if plan.unseen:
        yield (
            "no alert tells that the pool has no room to rebuild a group: kube-state-metrics is not said to export "
            f"the node labels {', '.join(plan.unseen)} (`monitoring.nodeLabels`)"
        )
