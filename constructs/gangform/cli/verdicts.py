"""The first lines of `gangform plan`: one row a serving with the verdict, one row a pool.

A column is a name and a function of the plan; whoever has a figure that decides adds a line to the tables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from gangform.cli.findings import summary
from gangform.cli.room import capacity_verdict
from gangform.cli.table import Block, Cells
from gangform.findings import counted

if TYPE_CHECKING:
    from gangform.plan.capacity import Capacity
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.placement import PoolPlan
    from gangform.plan.serving import ServingPlan


def _holds(plan: ServingPlan) -> str:
    """Requests at the declared context that one group holds at once."""
    memory = plan.lead.memory
    return f"{memory.requests} x {memory.context} tokens"


def _groups(plan: ServingPlan) -> str:
    shape, highest = plan.lead.shape, plan.serving.highest_groups
    lowest = f"{plan.serving.idle_groups} to " if plan.lead.scaling is not None else ""
    each = f"{counted(shape.size, 'pod')} x {counted(shape.gpus_per_pod, 'GPU')}"
    return f"{lowest}{highest} x {each}"


def _gpus(plan: ServingPlan) -> str:
    now = plan.serving.highest_groups * plan.lead.shape.gpus
    peak = plan.lead.rollout.peak * plan.lead.shape.gpus
    return f"{now}, {peak} in a rollout" if peak != now else f"{now}"


def _rollout(plan: ServingPlan) -> str:
    rollout = plan.lead.rollout
    return f"{rollout.floor} of {plan.serving.lowest_groups} serve, {rollout.duration}"


SERVING: Mapping[str, Callable[[ServingPlan], str]] = {
    "memory": lambda plan: plan.lead.memory.verdict,
    "form": lambda plan: plan.choice.form.kind,
    "groups": _groups,
    "GPUs": _gpus,
    "a group holds": _holds,
    "cold start": lambda plan: f"{plan.lead.startup.cold_start}",
    "rollout": _rollout,
}
"""What the row of a serving says, in order. Names and verdicts come before figures; what went wrong comes last."""


def _findings(serving: ServingPlan, plan: ClusterPlan) -> str:
    """Of the serving, those too that only show beside what else runs on the cluster."""
    own = [one for one in plan.findings if one.at.path[: len(serving.at)] == serving.at]
    return summary([*serving.findings, *own]) or "none"


def _placed(pool: PoolPlan) -> str:
    if pool.nodes is None:
        return "not checked: no inventory"
    wanted = sum(packing.wanted + packing.extra for packing in pool.packings)
    placed = sum(packing.placed for packing in pool.packings)
    return f"{placed} of {counted(wanted, 'group')}"


def _room(pool: PoolPlan, capacity: Capacity) -> str:
    """GPUs, and where they are enough: whether groups find whole places in them."""
    left = sum(one.wanted + one.extra - one.placed for one in pool.packings)
    if pool.nodes is None or not left or pool.peak > pool.nodes:
        return capacity_verdict(capacity)
    return f"{capacity_verdict(capacity)}; no whole place for {counted(left, 'group')}"


POOL: Mapping[str, Callable[[PoolPlan, Capacity], str]] = {
    "room": _room,
    "groups placed": lambda pool, _: _placed(pool),
    "nodes filled": lambda pool, _: str(pool.needed),
    "at the peak": lambda pool, _: str(pool.peak),
    "nodes": lambda pool, _: "unknown" if pool.nodes is None else str(pool.nodes),
}
"""What the row of a pool says, in order; groups are counted with surge and spare."""


def verdicts(
    plans: Iterable[tuple[ClusterPlan, Sequence[ServingPlan]]], needs: int, *, details: bool
) -> Iterator[Block]:
    """The tables of all servings and of all pools, and what else there is to read.

    Args:
        plans: The clusters, each with the servings that were asked for.
        needs: How many things have to be there first.
        details: Whether the arithmetic and the prerequisites follow.
    """
    chosen = list(plans)
    yield Block(
        title="Verdicts",
        columns=("serving", "cluster", *SERVING, "findings"),
        rows=[
            (
                one.name,
                plan.cluster.name,
                *(say(one) for say in SERVING.values()),
                _findings(one, plan),
            )
            for plan, servings in chosen
            for one in servings
        ],
    )
    yield Block(
        title="Pools",
        columns=("pool", "cluster", *POOL),
        rows=[
            (pool.pool, plan.cluster.name, *(say(pool, capacity) for say in POOL.values()))
            for plan, _ in chosen
            for pool, capacity in zip(plan.pools, plan.capacity, strict=True)
        ],
    )
    if not details:
        yield Block(title="More", rows=list(_more(needs)))


def _more(needs: int) -> Iterator[Cells]:
    yield "gangform plan SERVING", "the arithmetic of one"
    yield (
        "gangform plan -o wide",
        f"that of all, and {counted(needs, 'thing')} that must be there first",
    )
