"""Checks of one demand that several backends share: it names a queue, and a level that its pool has."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.admission.admission import Demand
from gangform.findings import Finding, InputPath, Severity, declare
from gangform.inputs.cluster import Cluster

QUEUE_MISSING = declare(
    "queue-missing",
    "A backend with queues needs the name of one",
    Severity.BREAKS,
    "design §3 Serving; lab E8",
)
LEVEL_UNKNOWN = declare(
    "topology-level-unknown",
    "A serving asks for a topology level that its pool does not have",
    Severity.BREAKS,
    "kueue §1.7; lab E4",
)


def queue_faults(demand: Demand) -> Iterator[Finding]:
    """Without a queue nothing queues: Kueue ignores the set, Volcano puts it into `default`."""
    if not demand.queue:
        yield Finding(
            code=QUEUE_MISSING,
            at=InputPath((*demand.at, "admission", "queue")),
            what=f"{demand.serving} names no queue",
            fix="write admission.queue, such as `queue: serving`",
        )


def level_faults(demand: Demand, cluster: Cluster) -> Iterator[Finding]:
    """A level that the pool does not have leaves the group pending for ever, or is dropped in silence."""
    if demand.placement is None:
        return
    pool = cluster.pools.get(demand.pool)
    levels = () if pool is None else pool.levels
    level = demand.placement.level
    if level in levels:
        return
    has = ", ".join(levels) if levels else "no levels"
    yield Finding(
        code=LEVEL_UNKNOWN,
        at=InputPath((*demand.at, "topology", "level")),
        what=f"level `{level}` is not among those of pool {demand.pool}: {has}",
        fix=f"write one of {has}" if levels else f"declare pools.{demand.pool}.levels",
        seen={"level": level, "levels": ", ".join(levels)},
    )
