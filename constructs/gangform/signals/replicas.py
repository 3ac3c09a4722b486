"""Which queries count the replicas of a serving: those of StatefulSets of known names, or those of a Deployment."""

from gangform.apis.promql import Exporter
from gangform.plan.serving import ServingPlan
from gangform.signals.queries import GroupSets, PlainPods


def replicas_of(plan: ServingPlan) -> GroupSets | PlainPods:
    """The queries for what runs a serving."""
    if plan.choice.form.can.makes_stateful_sets:
        return sets_of(plan)
    return PlainPods(exporter=_exporter(plan), name=plan.workloads[0].name)


def sets_of(plan: ServingPlan) -> GroupSets:
    """The queries for groups behind StatefulSets of known names."""
    return GroupSets(
        exporter=_exporter(plan),
        names=tuple(workload.name for workload in plan.workloads),
        size=plan.lead.shape.size,
        highest=plan.lead.identity.highest_index,
    )


def _exporter(plan: ServingPlan) -> Exporter:
    return Exporter(job=plan.monitoring.job, namespace=plan.namespace)


def noun(plan: ServingPlan) -> str:
    """What a replica is called in words, one of them."""
    return "group" if plan.choice.form.can.runs_groups else "replica"
