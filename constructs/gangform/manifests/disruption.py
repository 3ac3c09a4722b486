"""PodDisruptionBudgets, as many as the plan has."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis import core
from gangform.documents.document import Manifest, Node
from gangform.manifests.pod import metadata
from gangform.plan.serving import ServingPlan


def budgets(plan: ServingPlan) -> Iterator[Manifest]:
    """One budget for the set, or one a group; broken pods may always go."""
    for budget in plan.disruption.budgets:
        spec: dict[str, Node] = {"selector": {"matchLabels": dict(budget.selector)}}
        if budget.min_available is not None:
            spec["minAvailable"] = budget.min_available
        if budget.max_unavailable is not None:
            spec["maxUnavailable"] = budget.max_unavailable
        spec["unhealthyPodEvictionPolicy"] = "AlwaysAllow"
        yield {
            "apiVersion": core.POLICY,
            "kind": "PodDisruptionBudget",
            "metadata": metadata(plan.lead, plan.namespace, budget.name),
            "spec": spec,
        }
