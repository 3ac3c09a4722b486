"""The sum of demands against the quota of ClusterQueues that somebody else owns.

A group is admitted when its whole demand fits; so what does not fit stays gated, and nobody can say which group it will
be (`lab E4`). The declared quota goes by flavor, and a flavor is called like its pool.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gangform.admission.admission import Demand
from gangform.admission.kueue_objects import totals
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.units import UnitError, quantity, spell

SHORT = declare(
    "quota-too-small",
    "All groups at the peak, with surge or spare, fit the nominal quota of their flavor",
    Severity.BREAKS,
    "kueue §7; lab E4",
)
UNCOVERED = declare(
    "quota-lacks-resource",
    "A requested resource without a quota makes every group inadmissible",
    Severity.BREAKS,
    "kueue §7; lab E4",
)
UNREADABLE = declare(
    "quota-unreadable",
    "A quota is a Kubernetes quantity",
    Severity.BREAKS,
    "kueue §1.4",
)
NO_FLAVOR = declare(
    "quota-lacks-flavor",
    "The declared quota does not name the flavor of a pool, so that its sum is not checked",
    Severity.DEGRADES,
    "kueue §1.4",
)
UNUSED = declare(
    "quota-not-used",
    "A quota is declared for queues that the foundation makes itself, from the sum of demands",
    Severity.STYLE,
    "design §3 Cluster",
)


def quota_faults(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
    """Where the sum of demands does not fit the declared quota, with the arithmetic."""
    quota = cluster.kueue.quota
    if quota is None:
        return
    base: Path = ("clusters", cluster.name, "kueue", "quota")
    if cluster.foundation != "existing":
        yield Finding(
            code=UNUSED,
            at=InputPath(base),
            what=f"foundation `{cluster.foundation}` writes the quota itself; the declared one is not looked at",
            fix="remove kueue.quota, or write `foundation: existing`",
        )
        return
    for pool, needs in totals(demands).items():
        if pool not in quota:
            yield Finding(
                code=NO_FLAVOR,
                at=InputPath(base),
                what=f"no quota for flavor `{pool}`: the sum of pool {pool} is not checked",
                fix=f"add kueue.quota.{pool}, or call the pool like its flavor",
            )
            continue
        for resource, need in needs.items():
            yield from _resource_faults(
                (*base, pool),
                resource,
                need,
                quota[pool],
                [each for each in demands if each.pool == pool],
            )


def _resource_faults(
    at: Path, resource: str, need: int, declared: Mapping[str, str], demands: Sequence[Demand]
) -> Iterator[Finding]:
    flavor = at[-1]
    text = declared.get(resource)
    if text is None:
        if need:
            yield Finding(
                code=UNCOVERED,
                at=InputPath(at),
                what=f"flavor `{flavor}` has no quota for {resource}, of which {spell(resource, need)} is requested",
                fix=f"have {resource} covered by the ClusterQueue and declare its quota",
                seen={"resource": resource, "needed": spell(resource, need)},
            )
        return
    try:
        value = quantity(text)
    except UnitError as error:
        yield Finding(
            code=UNREADABLE,
            at=InputPath((*at, resource)),
            what=str(error),
            fix=f'write it as Kubernetes does, such as "{spell(resource, need)}"',
        )
        return
    # The demand as Kubernetes reads it, so that both sides have one unit.
    needed = spell(resource, need)
    if quantity(needed) > value:
        yield Finding(
            code=SHORT,
            at=InputPath((*at, resource)),
            what=f"flavor `{flavor}` needs {needed} {resource}, its quota is {text}: {_sum(resource, demands)}",
            fix=f"raise the quota to {needed}, or take groups away",
            seen={"needed": needed, "quota": text},
        )


def _sum(resource: str, demands: Sequence[Demand]) -> str:
    ordered = sorted(demands, key=lambda each: (each.namespace, each.serving, each.workload))
    return " + ".join(
        f"{each.workload} ({each.groups} + {each.extra}) groups × {spell(resource, each.group.get(resource, 0))}"
        for each in ordered
        if each.group.get(resource, 0)
    )
