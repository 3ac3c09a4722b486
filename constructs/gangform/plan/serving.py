"""Composes the sections into the plan of one serving on one cluster. It computes nothing itself.

Derivation is total: any well-typed input gives numbers, also absurd ones; then every section checks them, so that a
user sees everything that is wrong at once. Only a name that refers to nothing stops earlier.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from gangform.admission.admission import Demand, Policy
from gangform.apis.versions import Release
from gangform.documents.document import Key
from gangform.engines.engine import LaunchRequest
from gangform.findings import Finding, Path, Prerequisite, ordered
from gangform.inputs.cluster import Cluster, Library
from gangform.inputs.defaults import Defaults, defaults
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Serving
from gangform.plan import (
    beside,
    disruption,
    fields,
    fit,
    identity,
    monitoring,
    pods,
    qualification,
    releases,
    rollout,
    scaling,
    shape,
    spread,
    startup,
    traffic,
    unread,
    watching,
    ways,
    weights,
)
from gangform.plan.disruption import DisruptionPlan
from gangform.plan.resolve import Resolved, elsewhere, resolve
from gangform.plan.role import RolePlan as RolePlan
from gangform.plan.role import WorkloadPlan as WorkloadPlan

if TYPE_CHECKING:
    from gangform.plan.choice import Search


class ServingPlan(NamedTuple):
    """What runs for one serving on one cluster."""

    name: str
    namespace: str
    cluster: str
    gitops: str
    at: Path
    serving: Serving
    model: ModelProfile
    choice: shape.Choice
    search: Search | None
    """How `parallelism: auto` was resolved; `None` where nothing was looked for."""
    workloads: tuple[WorkloadPlan, ...]
    weights: weights.WeightsPlan
    traffic: traffic.TrafficPlan
    ways: tuple[ways.Way, ...]
    """What would make it fit; empty where it fits."""
    disruption: DisruptionPlan
    monitoring: monitoring.MonitoringPlan
    qualification: qualification.QualificationPlan | None
    beside: tuple[Key, ...]
    """Objects that the pods name and others make."""
    prerequisites: tuple[Prerequisite, ...]
    remarks: tuple[str, ...]
    """What is not promised, in words."""
    findings: tuple[Finding, ...]

    @property
    def lead(self) -> RolePlan:
        """The role of the first workload: what all groups of the serving have in common."""
        return self.workloads[0].role

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What all workloads ask of their backend."""
        return tuple(role.demand for workload in self.workloads for role in workload.roles)


def plan_serving(
    serving: Serving,
    *,
    cluster: Cluster,
    library: Library | None = None,
    edition: int = 1,
    search: bool = False,
) -> ServingPlan:
    """Derive everything for one serving on one cluster, and check it.

    Args:
        serving: What to serve.
        cluster: Where.
        library: The models and hardware shapes that names may refer to; the shipped ones by default.
        edition: The edition of our defaults.
        search: Whether to look at other shapes also where the inputs say one.

    Raises:
        InputError: A name refers to nothing. Everything else that is wrong stands in `findings`.
    """
    at: Path = ("servings", serving.name)
    table = defaults(edition)
    library = library or Library.shipped()
    found = resolve(serving, cluster=cluster, library=library, at=at)
    composer = _Composer(serving, cluster, library, table, found, at)
    if search or serving.parallelism == "auto":
        searched = composer.search()
        serving = serving.model_copy(update={"parallelism": searched.stand_in})
        composer = _Composer(serving, cluster, library, table, found, at, searched)
    return composer.compose()


class _Composer:
    """Carries what all sections of one serving look at."""

    def __init__(
        self,
        serving: Serving,
        cluster: Cluster,
        library: Library,
        table: Defaults,
        found: Resolved,
        at: Path,
        searched: Search | None = None,
    ) -> None:
        """Derive what the later sections share."""
        self.serving, self.cluster, self.table = serving, cluster, table
        self.library = library
        self.found, self.at, self.searched = found, at, searched
        self.split = split = shape.derive(serving, found.hardware)
        self.choice = shape.choose(serving, split)
        self.form = self.choice.form
        self.policy: Policy = found.admission.policy(cluster)
        self.lws = cluster.versions.releases.lws
        self.apart = self.policy.one_workload_per_group and self.form.can.runs_groups
        self.weights = weights.derive(serving, found.model, self.form, table)
        self.startup = startup.derive(serving, found.model, found.hardware, table)
        self.ask = LaunchRequest(
            at=at,
            options=serving.engine,
            release=Release.parse(serving.engine.version),
            model=found.model,
            hardware=found.hardware,
            shape=split,
            context=serving.context,
            served_name=found.model.name
            if serving.served_model_name is None
            else serving.served_model_name,
            model_reference=self.weights.reference,
            cache_home=self.weights.cache_home,
            token=self.weights.token,
            rendezvous=self.form.rendezvous() if split.size > 1 else None,
            startup_budget=self.startup.budget,
            defaults=table,
            variables=serving.pods.variables,
        )
        self.launch = found.engine.launch(self.ask)
        self.memory, self.ways = ways.derive(serving, self.ask, found.engine, library)
        self.qualified = qualification.derive(serving, split, found.hardware, found.pool)
        self.pods = pods.derive(
            serving,
            shape=split,
            hardware=found.hardware,
            pool=found.pool,
            weights=self.weights,
            groups=self.form.can.runs_groups,
            autoscaler=cluster.node_autoscaler,
            defaults=table,
        )
        self.rollout = rollout.derive(
            serving,
            policy=self.policy,
            form=self.form,
            replicas=serving.lowest_groups,
            highest=serving.highest_groups,
            teardown=self.launch.teardown,
            cold_start=self.startup.cold_start,
        )

    def search(self) -> Search:
        """Every shape that the serving could have. Only an open parallelism pays for it."""
        from gangform.plan import choice

        return choice.search(self.serving, self.ask, self.found)

    def compose(self) -> ServingPlan:
        """The plan."""
        serving = self.serving
        listed = self.table.listed_groups
        count = min(serving.highest_groups, listed) if self.apart else 1
        workloads = tuple(self._workload(index) for index in range(count))
        lead = workloads[0].role
        asked = [each.role.demand for each in workloads]
        seen = self.found, self.library
        watch = monitoring.derive(serving, self.cluster, lead, asked, *seen, self.table)
        watch = watching.derive(watch, serving, self.found.engine, self.ask, workloads)
        stamped = [role.stamp for workload in workloads for role in workload.roles]
        remarks = [text for stamp in stamped for text in stamp.remarks]
        remarks += rollout.remarks(self.form, self.split.size)
        remarks += [*weights.remarks(serving, self.found.model), *spread.remarks(lead.demand)]
        remarks += [*scaling.remarks(serving, self.startup, lead.scaling), *watch.remarks]
        named = beside.derive(serving, pods_have_account=not self.pods.owns_account)
        platform = beside.platform(serving, self.cluster, self.form, lead, staged=self.apart)
        needs = [need for stamp in stamped for need in stamp.prerequisites]
        budgets = disruption.derive(
            serving,
            identities=[workload.role.identity for workload in workloads],
            form=self.form,
            size=self.split.size,
            policy=self.policy,
            unavailable=self.rollout.max_unavailable,
            pods=self.pods,
            listed=listed,
        )
        return ServingPlan(
            name=serving.name,
            namespace=serving.namespace,
            cluster=self.cluster.name,
            gitops=self.cluster.gitops,
            at=self.at,
            serving=serving,
            model=self.found.model,
            choice=self.choice,
            search=self.searched,
            workloads=workloads,
            weights=self.weights,
            ways=self.ways,
            traffic=traffic.derive(
                lead.identity, self.launch, serving.network, spread_over_workloads=self.apart
            ),
            disruption=budgets,
            monitoring=watch,
            qualification=self.qualified,
            beside=tuple(named),
            prerequisites=tuple(
                dict.fromkeys([*beside.prerequisites(serving, named), *platform, *needs])
            ),
            remarks=tuple(dict.fromkeys(remarks)),
            findings=ordered(self._check(workloads, budgets)),
        )

    def _workload(self, index: int) -> WorkloadPlan:
        serving, form = self.serving, self.form
        name = f"{serving.name}-{index}" if self.apart else serving.name
        groups = 1 if self.apart else serving.highest_groups
        names = identity.derive(
            serving,
            name=name,
            form=form,
            policy=self.policy,
            size=self.split.size,
            groups=groups,
            surge=self.rollout.max_surge,
            account=serving.pods.service_account_name,
        )
        demand = Demand(
            at=self.at,
            serving=serving.name,
            namespace=serving.namespace,
            workload=name,
            queue=serving.admission.queue or "",
            pool=serving.pool,
            hardware=self.found.hardware,
            size=self.split.size,
            runs_groups=form.can.runs_groups,
            groups=groups,
            # A spare group is spare once, however many workloads the groups are split over.
            extra=self.rollout.extra if index == 0 else 0,
            surge=self.rollout.made if index == 0 else 0,
            idle=self.rollout.idle if index == 0 else 0,
            surge_first=bool(self.rollout.max_surge) and not self.rollout.max_unavailable,
            leader=self.pods.counted,
            worker=self.pods.counted,
            placement=shape.placement_of(serving, self.found.pool, self.split.size),
            spread=serving.spread,
            exclusive=self.policy.exclusive and form.can.runs_groups,
            priority_class=serving.admission.priority_class,
            pod_priority=serving.pods.priority_class_name,
            startup_policy=serving.startup_policy,
            worst_cold_start=self.startup.worst,
            bandwidth_declared=self.startup.declared,
        )
        scale = scaling.derive(
            serving,
            name=name,
            engine=self.found.engine,
            cluster=self.cluster,
            startup=self.startup,
            pods=names.selectors.pods,
            defaults=self.table,
        )
        role = RolePlan(
            hardware=self.found.hardware,
            shape=self.split,
            memory=self.memory,
            startup=self.startup,
            launch=self.launch,
            pods=self.pods,
            replicas=None if scale is not None else groups,
            identity=names,
            rollout=self.rollout,
            scaling=scale,
            restart_policy=fields.restart_policy(serving, self.split.size, self.lws),
            startup_policy=serving.startup_policy,
            demand=demand,
            stamp=self.found.admission.stamp(demand, self.cluster),
        )
        return WorkloadPlan(name=name, form=form, stage=index, roles=(role,))

    def _check(self, workloads: Sequence[WorkloadPlan], kept: DisruptionPlan) -> Iterator[Finding]:
        serving, split, at = self.serving, self.split, self.at
        yield from elsewhere(serving, self.cluster, at)
        if self.searched is not None:
            yield from self.searched.check(serving, self.found.hardware, at)
        if self.searched is None or self.searched.found:
            yield from shape.check(serving, split, self.found.hardware, at)
            yield from self.found.engine.check(self.ask)
            yield from fit.check(
                self.memory,
                fit=serving.fit,
                concurrency=serving.concurrency,
                shape=split,
                at=at,
                ways=self.ways,
            )
        yield from startup.check(serving, engine=self.found.engine, size=split.size, at=at)
        yield from qualification.check(self.qualified, at)
        yield from identity.check(
            max((w.role.identity for w in workloads), key=lambda i: len(i.name)), at
        )
        yield from weights.check(
            self.weights,
            serving=serving,
            model=self.found.model,
            storage=self.pods.storage,
            form=self.form,
            lws=self.lws,
            at=at,
        )
        yield from pods.check(
            self.pods,
            shape=split,
            hardware=self.found.hardware,
            pool=self.found.pool,
            launch=self.launch,
            spread=serving.spread,
            home=("clusters", self.cluster.name, "pools", serving.pool),
            at=at,
        )
        yield from rollout.check(
            self.rollout,
            serving=serving,
            policy=self.policy,
            form=self.form,
            replicas=serving.lowest_groups,
            staged=self.cluster.gitops == "argocd" if self.apart else None,
            lws=self.lws,
            at=at,
        )
        yield from fields.check(serving, form=self.form, lws=self.lws, at=at)
        yield from disruption.check(
            kept,
            serving,
            form=self.form,
            listed=self.table.listed_groups,
            apart=self.apart,
            at=at,
        )
        yield from unread.check(serving, policy=self.policy, form=self.form, size=split.size, at=at)
        yield from releases.check(serving, self.cluster, self.form)
        yield from releases.engine(serving, self.at)
        yield from watching.check(serving, self.cluster, self.found.engine, self.ask)
        yield from scaling.check(
            serving,
            policy=self.policy,
            form=self.form,
            cluster=self.cluster,
            startup=self.startup,
            pods=workloads[0].role.identity.selectors.pods,
            at=at,
        )
        # Where each group is a workload of its own, they differ in the name alone.
        for role in workloads[0].roles:
            yield from self.found.admission.check(role.demand, self.cluster)
