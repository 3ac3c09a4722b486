"""What a pool must hold: what serves, and room for a failure or a rollout.

A rollout during an outage is a choice, so one room serves both and the larger counts; who wants both at once adds them.
Bursts are no choice and stand apart: they come on top (article A).
"""

from collections.abc import Sequence
from typing import NamedTuple

from gangform.admission.admission import Demand
from gangform.apis.core import HOSTNAME
from gangform.inputs.cluster import Pool
from gangform.plan.figures import formula
from gangform.plan.layout import At, Placement


class Loss(NamedTuple):
    """The domain of a level whose loss costs most."""

    level: str
    domain: At
    """`()`: any of them, where no map tells them apart."""
    groups: int
    """Groups that lie in it at least in part: all of each is lost."""
    gpus: int
    floor: int
    """GPUs that the pool then needs: to go on serving, or to roll, not both at once."""
    additive: int
    """GPUs for both at once."""


class Capacity(NamedTuple):
    """GPUs that a pool needs and has."""

    pool: str
    has: int | None
    """`None`: no inventory."""
    serving: int
    """Of all groups at the least number that autoscalers keep."""
    burst: int
    """More at the most that autoscalers ask for."""
    rollout: int
    """What the largest rollout adds: its surge groups, one at least, so that none fewer serves meanwhile."""
    losses: tuple[Loss, ...]
    """By level, the host first, then fine to coarse."""
    chosen: int
    """Which of them counts: the level that a serving spreads over, else the finest above the host, else the host."""

    @property
    def loss(self) -> Loss:
        """The failure that the room is for."""
        return self.losses[self.chosen]


@formula("serving + max(largest failure domain, one rollout)", source="article A, case 6")
def floor(serving: int, failure: int, rollout: int) -> int:
    """GPUs with room for a failure or a rollout."""
    return serving + max(failure, rollout)


@formula("serving + largest failure domain + one rollout", source="article A, case 6")
def additive(serving: int, failure: int, rollout: int) -> int:
    """GPUs with room for a rollout during an outage."""
    return serving + failure + rollout


def derive(
    name: str,
    pool: Pool,
    demands: Sequence[Demand],
    lowest: Sequence[int],
    placements: Sequence[Placement],
) -> Capacity:
    """The capacity of one pool.

    Args:
        name: Of the pool.
        pool: The pool.
        demands: What runs on it, at least one.
        lowest: Groups of each at the least.
        placements: The map, as far as there is one.
    """
    per_group = [demand.size * _gpus(demand) for demand in demands]
    serving = sum(count * gpus for count, gpus in zip(lowest, per_group, strict=True))
    most = sum(demand.groups * gpus for demand, gpus in zip(demands, per_group, strict=True))
    rollout = max(
        max(1, demand.surge) * gpus for demand, gpus in zip(demands, per_group, strict=True)
    )
    steady = {
        (demand.serving, demand.workload): (count, gpus)
        for demand, count, gpus in zip(demands, lowest, per_group, strict=True)
    }
    levels = pool.above_host if pool.domains else ()
    here = [
        one
        for one in placements
        if one.kind == "wanted" and one.group < steady[one.serving, one.workload][0]
    ]
    losses = []
    for depth in (None, *range(len(levels) if here else 0, 0, -1)):
        groups, gpus, domain = _worst(here, steady, depth)
        if not here:
            # A node that is nowhere on a map holds a part of one group at least.
            groups, gpus = 1, max(per_group)
        losses.append(
            Loss(
                level=HOSTNAME if depth is None else levels[depth - 1],
                domain=domain,
                groups=groups,
                gpus=gpus,
                floor=floor(serving, gpus, rollout),
                additive=additive(serving, gpus, rollout),
            )
        )
    spread = {demand.spread for demand in demands if demand.spread in levels}
    chosen = min(1, len(losses) - 1)
    if spread:
        chosen = max((i for i, loss in enumerate(losses) if loss.level in spread), default=chosen)
    nodes = pool.inventory
    return Capacity(
        pool=name,
        has=None if nodes is None else nodes * demands[0].hardware.gpu.count,
        serving=serving,
        burst=most - serving,
        rollout=rollout,
        losses=tuple(losses),
        chosen=chosen,
    )


def _gpus(demand: Demand) -> int:
    """GPUs a pod."""
    return demand.leader.get(demand.hardware.gpu.resource, 0)


def _worst(
    placements: Sequence[Placement],
    steady: dict[tuple[str, str], tuple[int, int]],
    depth: int | None,
) -> tuple[int, int, At]:
    """Groups and GPUs that the worst domain of a level takes with it; of a node where the level is none."""
    groups: dict[At, int] = {}
    gpus: dict[At, int] = {}
    for one in placements:
        if depth is None:
            places = dict.fromkeys((*node.at, str(node.number)) for node in one.nodes)
        else:
            places = dict.fromkeys(node.at[:depth] for node in one.nodes if len(node.at) >= depth)
        for at in places:
            groups[at] = groups.get(at, 0) + 1
            gpus[at] = gpus.get(at, 0) + steady[one.serving, one.workload][1]
    if not gpus:
        return 0, 0, ()
    worst = min(gpus, key=lambda at: (-gpus[at], at))
    return groups[worst], gpus[worst], () if depth is None else worst
