"""Checks of one demand that several backends share: it names a queue, and a level that its pool has."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from gangform.admission.admission import Demand
from gangform.apis.keys import HOSTNAME
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
HOST_TOO_SMALL = declare(
    "host-cannot-hold-group",
    "A group that must lie on one host needs all its pods to fit one",
    Severity.BREAKS,
    "kueue §3; lws §2d",
)
RELEASE_MISSING = declare(
    "release-missing",
    "What a backend accepts depends on its release, which the cluster does not declare",
    Severity.BREAKS,
    "design §5",
)


def release_missing(
    cluster: Cluster, software: Literal["volcano"], *, example: str
) -> Iterator[Finding]:
    """A backend's own release has to be declared: it decides what is written."""
    if getattr(cluster.versions, software) is None:
        yield Finding(
            code=RELEASE_MISSING,
            at=InputPath(("clusters", cluster.name, "versions", software)),
            what=f"cluster {cluster.name} declares no release of {software}",
            fix=f'write versions.{software}, such as `{software}: "{example}"`',
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
        yield from _host_faults(demand)
        return
    has = ", ".join(levels) if levels else "no levels"
    yield Finding(
        code=LEVEL_UNKNOWN,
        at=InputPath((*demand.at, "topology", "level")),
        what=f"level `{level}` is not among those of pool {demand.pool}: {has}",
        fix=f"write one of {has}" if levels else f"declare pools.{demand.pool}.levels",
        seen={"level": level, "levels": ", ".join(levels)},
    )


def _host_faults(demand: Demand) -> Iterator[Finding]:
    """A required host holds no group of several pods that each take a whole one."""
    placement = demand.placement
    if placement is None or placement.mode == "preferred" or placement.level != HOSTNAME:
        return
    asked = demand.leader.get(demand.hardware.gpu.resource, 0)
    fit = demand.hardware.gpu.count // asked if asked else demand.size
    if demand.size > fit:
        yield Finding(
            code=HOST_TOO_SMALL,
            at=InputPath((*demand.at, "topology", "level")),
            what=f"level `{placement.level}` is required: a host takes {fit} pods of {demand.serving}, a group is "
            f"{demand.size}",
            fix="write a level above the host, or `mode: preferred`",
            seen={"fit": str(fit), "size": str(demand.size)},
        )
