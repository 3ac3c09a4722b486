"""The sum over a cluster: quota, packing, and what its servings do to each other.

Two servings can each be right and still be wrong together: two backends on one pool, two surges for one spare group,
a set whose pods have the names of another's leaders.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from gangform.admission.admission import Demand, backend
from gangform.admission.mixture import Use, mixture_faults
from gangform.findings import Finding, InputPath, Prerequisite, Severity, declare, ordered
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults, defaults
from gangform.plan import capacity, monitoring, placement, queues, releases, shortage
from gangform.plan.serving import ServingPlan
from gangform.units import Resources

NAMES_CLASH = declare(
    "names-clash",
    "Objects that two servings make would have one name, or pods that one regular expression matches",
    Severity.BREAKS,
    "observability §1.2; lws §1",
)
POOLS_ALIKE = declare(
    "pools-not-told-apart",
    "Two pools whose labels do not contradict each other count the same nodes twice",
    Severity.BREAKS,
    "kueue §1.3; design §3 Cluster",
)
SURGES_COMPETE = declare(
    "surges-compete",
    "Surges of several servings at once deadlock where no gang scheduler holds a partial group back",
    Severity.DEGRADES,
    "lab E2",
)


class ClusterPlan(NamedTuple):
    """One cluster with everything that runs on it."""

    cluster: Cluster
    defaults: Defaults
    servings: tuple[ServingPlan, ...]
    quota: dict[str, Resources]
    """By pool, the sum over demands: what queues hold."""
    pools: tuple[placement.PoolPlan, ...]
    capacity: tuple[capacity.Capacity, ...]
    """Of the same pools, in the same order."""
    queues: tuple[queues.QueuePlan, ...]
    """Those that are ours, with what is told of them."""
    prerequisites: tuple[Prerequisite, ...]
    findings: tuple[Finding, ...]
    """Of the cluster itself; those of a serving stand in its plan."""

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What everything asks of the backends."""
        return tuple(demand for serving in self.servings for demand in serving.demands)

    def pool(self, name: str) -> placement.PoolPlan:
        """A pool that something runs on."""
        return next(one for one in self.pools if one.pool == name)

    @property
    def backends(self) -> tuple[tuple[str, tuple[Demand, ...]], ...]:
        """Demands by backend, in the order of the names."""
        return by_backend(self.servings)

    @property
    def every_finding(self) -> tuple[Finding, ...]:
        """Of the cluster and of its servings."""
        return ordered([*self.findings, *(f for s in self.servings for f in s.findings)])


def by_backend(servings: Sequence[ServingPlan]) -> tuple[tuple[str, tuple[Demand, ...]], ...]:
    """Demands by backend, in the order of the names."""
    pairs = [
        (plan.serving.admission.backend, demand) for plan in servings for demand in plan.demands
    ]
    order = sorted(pairs, key=lambda pair: (pair[0], pair[1].workload))
    return tuple(
        (name, tuple(demand for _, demand in group))
        for name, group in groupby(order, key=lambda pair: pair[0])
    )


def plan_cluster(
    cluster: Cluster, servings: Sequence[ServingPlan], *, edition: int = 1
) -> ClusterPlan:
    """Sum and check what runs on a cluster."""
    demands = tuple(demand for serving in servings for demand in serving.demands)
    quota: dict[str, Resources] = {}
    for demand in demands:
        quota[demand.pool] = quota.get(demand.pool, Resources({})) + demand.total
    pools = placement.derive(cluster, demands)
    needs: list[Prerequisite] = []
    found: list[Finding] = []
    for name, asked in by_backend(servings):
        needs += backend(name).prerequisites(asked, cluster)
        found += backend(name).check_sum(asked, cluster)
    needs += monitoring.prerequisites(cluster)
    found += mixture_faults(
        [Use(plan.serving.pool, plan.serving.admission.backend, plan.at) for plan in servings],
        cluster,
    )
    found += shortage.check(pools, demands, cluster)
    found += releases.newer(cluster)
    found += _alike(cluster, demands)
    found += _clashes(servings)
    found += _surges(cluster, servings)
    found += monitoring.check(cluster)
    return ClusterPlan(
        cluster=cluster,
        defaults=defaults(edition),
        servings=tuple(servings),
        quota=quota,
        pools=pools,
        capacity=tuple(_capacity(cluster, servings, pool) for pool in pools),
        queues=queues.derive(cluster, servings, defaults(edition)),
        prerequisites=tuple(dict.fromkeys(needs)),
        findings=ordered(found),
    )


def _capacity(
    cluster: Cluster, servings: Sequence[ServingPlan], pool: placement.PoolPlan
) -> capacity.Capacity:
    asked = [
        (demand, min(demand.groups, plan.serving.idle_groups))
        for plan in servings
        for demand in plan.demands
        if demand.pool == pool.pool
    ]
    return capacity.derive(
        pool.pool,
        cluster.pools[pool.pool],
        [demand for demand, _ in asked],
        [lowest for _, lowest in asked],
        pool.few_placements,
    )


def _alike(cluster: Cluster, demands: Sequence[Demand]) -> Iterator[Finding]:
    """Pools in use whose nodes no label tells apart."""
    labels: dict[str, dict[str, str]] = {}
    for demand in demands:
        gpu = demand.hardware.gpu
        own = cluster.pools[demand.pool].node_labels
        labels[demand.pool] = {gpu.product_label: gpu.product, **own}
    names = sorted(labels)
    for position, name in enumerate(names):
        for other in names[position + 1 :]:
            shared = set(labels[name]) & set(labels[other])
            if any(labels[name][key] != labels[other][key] for key in shared):
                continue
            yield Finding(
                code=POOLS_ALIKE,
                at=InputPath(("clusters", cluster.name, "pools", other)),
                what=f"pools {name} and {other} select nodes by "
                + " and by ".join(
                    ", ".join(f"{key}={value}" for key, value in sorted(labels[each].items()))
                    for each in (name, other)
                ),
                fix="give both a `nodeLabels` entry with one key and different values",
            )


def _names(plan: ServingPlan) -> list[str]:
    """What a serving's objects are called."""
    names = {workload.name for workload in plan.workloads}
    names |= {budget.name for budget in plan.disruption.budgets}
    return sorted(names | {plan.traffic.service, plan.name})


def _clashes(servings: Sequence[ServingPlan]) -> Iterator[Finding]:
    """A set `a-7` beside a set `a` has pods that look like leaders of `a`; a Service may be named like a set."""
    taken: dict[tuple[str, str], str] = {}
    for plan in servings:
        for name in _names(plan):
            taken.setdefault((plan.namespace, name), plan.name)
    for plan in servings:
        for name in _names(plan):
            other = taken.get((plan.namespace, name), plan.name)
            stem, _, index = name.rpartition("-")
            if other == plan.name and index.isdecimal():
                other = taken.get((plan.namespace, stem), plan.name)
            if other != plan.name:
                yield Finding(
                    code=NAMES_CLASH,
                    at=InputPath((*plan.at, "name")),
                    what=f"`{name}` in namespace {plan.namespace} is a name that serving {other} also makes "
                    "objects or pods under",
                    fix="rename one of the two, or use another namespace",
                )
                break


def _surges(cluster: Cluster, servings: Sequence[ServingPlan]) -> Iterator[Finding]:
    """Servings of a pool that surge together need room for all their surges, or one waits for the other for ever."""
    for name, pool in cluster.pools.items():
        here = [plan for plan in servings if plan.serving.pool == name]
        surging = [
            plan
            for plan in here
            if plan.lead.rollout.max_surge
            and plan.choice.form.can.runs_groups
            and not backend(plan.serving.admission.backend).policy(cluster).gangs
        ]
        if len(surging) < 2:
            continue
        need = sum(plan.lead.rollout.max_surge * plan.lead.shape.gpus for plan in surging)
        spare = sum(plan.lead.rollout.spare * plan.lead.shape.gpus for plan in here)
        if (nodes := pool.inventory) is not None:
            used = sum(plan.serving.highest_groups * plan.lead.shape.gpus for plan in here)
            # What an inventory leaves free decides, and not what somebody hoped to keep free.
            spare = max(0, nodes * here[0].lead.hardware.gpu.count - used)
        if need <= spare:
            continue
        names = ", ".join(plan.name for plan in surging)
        for plan in surging:
            yield Finding(
                code=SURGES_COMPETE,
                at=InputPath((*plan.at, "rollout")),
                what=f"{names} surge on pool {name} and need {need} GPUs together, {spare} are spare: updated "
                "at once, each holds a part of the other's group for ever",
                fix="roll them one after another, declare spare groups for each, or use a backend with gangs",
                seen={"needed": str(need), "spare": str(spare)},
            )
