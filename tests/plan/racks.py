"""Pools of racks in blocks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Domain
from gangform.inputs.serving import TopologyRequest
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Fill = Callable[..., ClusterPlan]

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
RACKED = {"topology": TopologyRequest(level=RACK), "backend": "kueue"}


def domains(*sizes: int, per_block: int = 2) -> tuple[Domain, ...]:
    return tuple(
        Domain(at=(f"b{index // per_block}", f"r{index}"), nodes=nodes)
        for index, nodes in enumerate(sizes)
    )


def only(plan: ClusterPlan, *ids: str) -> list[Finding]:
    return [finding for finding in plan.findings if finding.code.id in ids]


def filler(make_plan: MakePlan, make_cluster: MakeCluster) -> Fill:
    """A pool of racks of so many nodes, filled with servings."""

    def plan(
        *servings: dict[str, Any], racks: tuple[int, ...] | None = None, nodes: int | None = None
    ) -> ClusterPlan:
        pool: dict[str, Any] = {"levels": (BLOCK, RACK, HOST), "nodes": nodes}
        if racks is not None:
            pool["domains"] = domains(*racks)
        on = make_cluster(pool=pool)
        made = [make_plan(on=on, **{"name": f"s{n}", **one}) for n, one in enumerate(servings)]
        return plan_cluster(on, made)

    return plan
