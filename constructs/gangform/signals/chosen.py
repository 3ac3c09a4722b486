"""Stock kube-state-metrics asked for what the variables of a dashboard choose, by names that are written out.

Two matchers of one name: the first holds all names of a kind, which keeps sets of groups apart from the sets of workers
that LeaderWorkerSet makes of each group; the second is the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from gangform.apis.panels import NAMESPACE_VARIABLE, SERVING_VARIABLE
from gangform.apis.promql import either, equal, like, literal, one_of, selector, up_to
from gangform.plan.cluster import ClusterPlan

CHOSEN = f"${SERVING_VARIABLE}"
HERE = like("namespace", f"${NAMESPACE_VARIABLE}")


class Chosen(NamedTuple):
    """What is written out in queries."""

    job: str
    sets: tuple[str, ...]
    """Leader StatefulSets."""
    deployments: tuple[str, ...]
    groups: str = ""
    """Pattern of the names of groups: a set's with an index that it can have. A set whose name ends in a higher one has
    pods that are called like workers of it."""

    @classmethod
    def of(cls, plan: ClusterPlan) -> Chosen:
        """The names of everything that runs on a cluster."""
        highest: dict[str, int] = {}
        deployments: set[str] = set()
        for workload in (each for serving in plan.servings for each in serving.workloads):
            if workload.form.can.makes_stateful_sets:
                highest[workload.name] = workload.role.identity.highest_index
            else:
                deployments.add(workload.name)
        groups = [f"{literal(name)}-{up_to(highest[name])}" for name in sorted(highest)]
        job = plan.cluster.monitoring.kube_state_metrics_job
        return cls(job, tuple(sorted(highest)), tuple(sorted(deployments)), f"({'|'.join(groups)})")

    def of_sets(self, series: str) -> str:
        """Series of the leader StatefulSets of the servings chosen, which may be several for one."""
        chosen = like("statefulset", f"({CHOSEN})(-[0-9]+)?")
        return self._select(series, one_of("statefulset", self.sets), chosen)

    def of_deployments(self, series: str) -> str:
        """Series of the Deployments of the servings chosen."""
        chosen = like("deployment", CHOSEN)
        return self._select(series, one_of("deployment", self.deployments), chosen)

    def by_workload(self, sets: str, deployments: str) -> str:
        """A series of sets and its like of Deployments, as far as there are any, by the name of the workload."""
        parts = [by_workload_of(self.of_sets(sets), "statefulset")] if self.sets else []
        if self.deployments:
            parts.append(by_workload_of(self.of_deployments(deployments), "deployment"))
        return "\nor\n".join(parts)

    def of_leaders(self, series: str, *matchers: str) -> str:
        """Series of the leaders of the servings chosen."""
        return self._pods(series, f"{either(self.sets)}-[0-9]+", matchers)

    def of_pods(self, series: str, *matchers: str) -> str:
        """Series of all pods of their groups."""
        return self._pods(series, f"{self.groups}(-[0-9]+)?", matchers)

    def of_budgets(self, series: str) -> str:
        """Series of their budgets: one of a serving, or one of each of its groups."""
        budgets = like("poddisruptionbudget", f"({CHOSEN})(-group-[0-9]+)?")
        found = self._select(series, budgets)
        return f"max by (namespace, poddisruptionbudget) ({found})"

    def _pods(self, series: str, pods: str, matchers: Sequence[str]) -> str:
        chosen = like("pod", f"({CHOSEN})(-[0-9]+)+")
        return self._select(series, like("pod", pods), chosen, *matchers)

    def _select(self, series: str, *matchers: str) -> str:
        return selector(series, equal("job", self.job), HERE, *matchers)


def workload_of(expr: str, source: str) -> str:
    """The name of a set or Deployment under one label."""
    return f'label_replace({expr}, "workload", "$1", "{source}", "(.*)")'


def by_workload_of(expr: str, source: str) -> str:
    """One value for each of them."""
    return f"max by (namespace, workload) ({workload_of(expr, source)})"
