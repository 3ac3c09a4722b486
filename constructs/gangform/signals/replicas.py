"""Which queries count the replicas of a serving: those of StatefulSets of known names, or those of a Deployment."""

from gangform.apis.promql import Exporter
from gangform.plan.serving import ServingPlan
from gangform.signals.queries import GroupSets, PlainPods


def replicas_of(plan: ServingPlan) -> GroupSets | PlainPods:
    """The queries for what runs a serving."""
    exporter = Exporter(job=plan.monitoring.job, namespace=plan.namespace)
    names = tuple(workload.name for workload in plan.workloads)
    if not plan.choice.form.can.makes_stateful_sets:
        return PlainPods(exporter=exporter, name=names[0])
    return GroupSets(
        exporter=exporter,
        names=names,
        size=plan.lead.shape.size,
        highest=plan.lead.identity.highest_index,
    )


def counted_as(plan: ServingPlan) -> str:
    """What a replica is called in words."""
    return "groups" if plan.choice.form.can.runs_groups else "replicas"
