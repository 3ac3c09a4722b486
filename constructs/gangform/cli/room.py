"""What `gangform plan` says of room: what a pool holds and needs, where groups lie, how an update goes through it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from gangform.apis.keys import HOSTNAME
from gangform.cli.table import Cells
from gangform.findings import counted
from gangform.report.stalls import STALLS

if TYPE_CHECKING:
    from gangform.plan.capacity import Capacity
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.layout import Domain, Run
    from gangform.plan.serving import ServingPlan
    from gangform.plan.timeline import Rollout


def capacity_verdict(plan: Capacity) -> str:
    """Whether a pool outlasts a failure, a rollout, or both at once."""
    loss = plan.loss
    aside = ", bursts aside" if plan.burst else ""
    if plan.has is None:
        return "not checked: no inventory"
    if plan.has < plan.serving:
        return f"short by {counted(plan.serving - plan.has, 'GPU')} for what serves" + aside
    if plan.has >= loss.additive:
        return "GPUs enough for a failure during a rollout" + aside
    if plan.has >= loss.floor:
        return "GPUs enough for a failure or a rollout, not for both at once" + aside
    return f"short by {counted(loss.floor - plan.has, 'GPU')} for a failure or a rollout"


def capacity_rows(plan: Capacity) -> Iterator[Cells]:
    """The verdict on a pool's room, and the sum."""
    loss = plan.loss
    yield "  capacity", capacity_verdict(plan)
    where = f" ({'/'.join(loss.domain)})" if loss.domain else ""
    yield (
        "",
        f"{plan.serving} GPUs serve + max({loss.gpus} in one {_domain(loss.level)}{where}, "
        f"{plan.rollout} to roll with all serving) = {loss.floor}; {loss.additive} for both"
        + (f"; bursts take {plan.burst} on top" if plan.burst else "")
        + (f"; it has {plan.has}" if plan.has is not None else ""),
    )


def _domain(level: str) -> str:
    return "node" if level == HOSTNAME else level


def map_rows(domains: tuple[Domain, ...]) -> Iterator[Cells]:
    """Each domain with what the plan assumes to lie there."""
    for domain in domains:
        name = "/".join(domain.at) or "nodes"
        closed = f", {domain.closed} kept empty for one group" if domain.closed else ""
        held = ", ".join(map(_run, domain.runs)) or "nothing"
        nodes = counted(domain.nodes, "node")
        yield f"    {name}", f"{domain.free} of {nodes} free{closed}: {held}"


def _run(run: Run) -> str:
    first, last = run.groups[0], run.groups[-1]
    groups = f"{first} to {last}" if last > first else f"{first}"
    return f"{run.workload} {groups}" + ("" if run.kind == "wanted" else f" ({run.kind})")


def update_rows(plan: ServingPlan, cluster: ClusterPlan, *, wide: bool) -> Iterator[Cells]:
    """Whether the update moves in its pool, the ways out, and its steps where they are wanted."""
    from gangform.plan.rehearsal import in_place, rehearse

    found = rehearse(plan, cluster.cluster, cluster.pool(plan.serving.pool))
    if found.ways:
        missing = counted(found.lacking, "surge group")
        has = "finds" if found.lacking == 1 else "find"
        yield "", f"stands still, with the fleet intact: {missing} {has} no whole place in the pool"
        for number, way in enumerate(found.ways, 1):
            yield "", f"way out {number}, {way.name}: {way.what}"
    elif not found.finishes:
        yield "", f"never ends under this backend; what does: {in_place(plan).what}"
    if not wide:
        return
    rollout = found.play()
    if rollout is None:
        yield "  steps", f"not played through: {found.unplayed}"
        return
    if found.sets > 1:
        turns = "each once the one before serves again" if found.staged else "all at once"
        yield "  steps", f"{found.sets} sets of one group, {turns}"
    if plan.lead.scaling is not None:
        fewest = counted(plan.serving.lowest_groups, "group")
        yield "  steps", f"played with {fewest}, the autoscaler's fewest"
    yield from _steps(rollout, plan)
    alone = found.play_alone()
    if alone is not None and (alone.mixed or alone.hollow):
        kinds = {"with two revisions": alone.mixed, "without all its workers": alone.hollow}
        answers = ", ".join(f"{counted(n, 'group')} {how}" for how, n in kinds.items() if n)
        yield (
            "  readiness",
            f"were a leader ready before its workers, there would answer: {answers}",
        )


def _steps(rollout: Rollout, plan: ServingPlan) -> Iterator[Cells]:
    gpus = plan.lead.shape.gpus_per_pod
    if rollout.made is None:
        order = ", ".join(map(str, rollout.order)) or "none"
        yield "  order", f"groups made anew: {order}"
    for moment in rollout.moments:
        torn = f", {moment.overlapping} with two revisions" if moment.overlapping else ""
        wait = moment.requested - moment.bound
        waits = f", {wait * gpus} more wait" if wait else ""
        yield (
            f"  {moment.at}",
            f"{moment.serving} of {plan.serving.lowest_groups} serve{torn}; {moment.bound * gpus} GPUs bound{waits}",
        )
    if rollout.stall is not None:
        yield "  then", f"nothing moves any more: {STALLS[rollout.stall.cause]}"


# ── for machines ─────────────────────────────────────────────────────────────────────────────────


def capacity_data(plan: Capacity) -> dict[str, Any]:
    """As `record` describes it."""
    data: dict[str, Any] = {
        "servingGpus": plan.serving,
        "burstGpus": plan.burst,
        "rolloutGpus": plan.rollout,
        "losses": [
            {
                "level": loss.level,
                "domain": list(loss.domain),
                "groups": loss.groups,
                "gpus": loss.gpus,
                "floorGpus": loss.floor,
                "additiveGpus": loss.additive,
                "chosen": place == plan.chosen,
            }
            for place, loss in enumerate(plan.losses)
        ],
    }
    return data if plan.has is None else {**data, "hasGpus": plan.has}


def map_data(domains: tuple[Domain, ...]) -> list[dict[str, Any]]:
    """As `record` describes it."""
    return [
        {
            "at": list(domain.at),
            "nodes": domain.nodes,
            "filled": domain.filled,
            "free": domain.free,
            "groups": [
                {
                    "workload": run.workload,
                    "kind": run.kind,
                    "first": run.groups[0],
                    "count": len(run.groups),
                }
                for run in domain.runs
            ],
        }
        for domain in domains
    ]


def update_data(plan: ServingPlan, cluster: ClusterPlan) -> dict[str, Any]:
    """As `record` describes it."""
    from gangform.plan.rehearsal import rehearse

    found = rehearse(plan, cluster.cluster, cluster.pool(plan.serving.pool))
    data: dict[str, Any] = {
        "playedGroups": plan.serving.lowest_groups,
        "lackingGroups": found.lacking,
        "waysOut": [
            {
                "name": way.name,
                "what": way.what,
                "gpus": way.gpus,
                "servingGroups": way.serving,
                "durationSeconds": int(way.duration),
            }
            for way in found.ways
        ],
    }
    rollout, alone = found.play(), found.play_alone()
    if rollout is None or alone is None:
        return {**data, "notPlayed": found.unplayed}
    gpus = plan.lead.shape.gpus_per_pod
    data |= {
        "ends": rollout.end is not None,
        "order": list(rollout.order),
        "leaderAlone": {"mixed": alone.mixed, "hollow": alone.hollow},
        "timeline": [
            {
                "atSeconds": int(moment.at),
                "groups": moment.groups,
                "serving": moment.serving,
                "overlapping": moment.overlapping,
                "mixed": moment.mixed,
                "boundGpus": moment.bound * gpus,
                "requestedGpus": moment.requested * gpus,
            }
            for moment in rollout.moments
        ],
    }
    if rollout.end is not None:
        data["endSeconds"] = int(rollout.end)
    if rollout.stall is not None:
        data["stall"] = {
            "cause": rollout.stall.cause,
            "groups": list(rollout.stall.groups),
            "heldGpus": rollout.stall.held * gpus,
            "shortGpus": rollout.stall.short * gpus,
        }
    return data
