"""The plan for machines: what `gangform plan -o json` and `-o yaml` print. Keys are added, never renamed or dropped.

`record_schema.PLAN` describes every key, and `gangform schema plan` prints it. Whole numbers are numbers;
`utilization` and `requests` are decimal texts. What does not apply is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gangform.cli.room import capacity_data, map_data, update_data
from gangform.cli.show import chosen_servings, prerequisites

if TYPE_CHECKING:
    from gangform.plan.capacity import Capacity
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.memory import MemoryPlan
    from gangform.plan.placement import PoolPlan
    from gangform.plan.serving import ServingPlan
    from gangform.plan.startup import StartupPlan

VERSION = 1


def record(plans: Iterable[ClusterPlan], wanted: frozenset[str]) -> dict[str, Any]:
    """The plans of some clusters, with the chosen servings."""
    return {"version": VERSION, "clusters": [_cluster(plan, wanted) for plan in plans]}


def _cluster(plan: ClusterPlan, wanted: frozenset[str]) -> dict[str, Any]:
    cluster = plan.cluster
    return {
        "name": cluster.name,
        "defaults": plan.defaults.edition,
        "foundation": cluster.foundation,
        "versions": cluster.versions.model_dump(by_alias=True, exclude_none=True),
        "servings": [_serving(one, plan) for one in chosen_servings(plan, wanted)],
        "quota": {pool: resources.spelled() for pool, resources in plan.quota.items()},
        "pools": [
            _pool(one, capacity) for one, capacity in zip(plan.pools, plan.capacity, strict=True)
        ],
        "prerequisites": [
            {"what": need.what, "check": need.check, "without": need.without}
            for need in prerequisites(plan, wanted)
        ],
    }


def _serving(plan: ServingPlan, cluster: ClusterPlan) -> dict[str, Any]:
    role, serving = plan.lead, plan.serving
    shape, rollout, placed, scale = role.shape, role.rollout, role.demand.placement, role.scaling
    return _known(
        {
            "name": plan.name,
            "namespace": plan.namespace,
            "model": plan.model.name,
            "pool": serving.pool,
            "form": {"kind": plan.choice.form.kind, "reason": plan.choice.reason},
            "workloads": [{"name": one.name, "stage": one.stage} for one in plan.workloads],
            "shape": {
                "tensor": shape.tensor,
                "pipeline": shape.pipeline,
                "data": shape.data,
                "prefillContext": shape.prefill_context,
                "decodeContext": shape.decode_context,
                "expertParallel": shape.expert_parallel,
                "gpusPerPod": shape.gpus_per_pod,
                "podsPerGroup": shape.size,
                "gpusPerGroup": shape.gpus,
            },
            "groups": {
                "lowest": serving.lowest_groups,
                "highest": serving.highest_groups,
                "spare": rollout.spare,
            },
            "hardware": {
                "name": role.hardware.name,
                "notVerified": list(role.hardware.unverified),
            },
            "memory": _memory(role.memory),
            "startup": _startup(role.startup),
            "rollout": {
                "maxSurge": rollout.max_surge,
                "maxUnavailable": rollout.max_unavailable,
                "partition": rollout.partition,
                "peakGroups": rollout.peak,
                "peakGpus": rollout.peak * shape.gpus,
                "floorGroups": rollout.floor,
                "durationSeconds": int(rollout.duration),
                "reason": rollout.reason,
            },
            "update": update_data(plan, cluster),
            "disruption": {
                "drain": plan.disruption.drain,
                "unstopped": plan.disruption.unstopped,
                "budgets": [
                    _known(
                        {
                            "name": budget.name,
                            "minAvailable": budget.min_available,
                            "maxUnavailable": budget.max_unavailable,
                        }
                    )
                    for budget in plan.disruption.budgets
                ],
            },
            "admission": _known(
                {
                    "backend": serving.admission.backend,
                    "queue": serving.admission.queue,
                    "placement": placed and {"level": placed.level, "mode": placed.mode},
                }
            ),
            "autoscaling": scale
            and {
                "lowest": scale.lowest,
                "highest": scale.highest,
                "metric": scale.metric,
                "target": scale.target,
            },
            "requests": role.pods.requests.spelled(),
            "remarks": list(plan.remarks),
        }
    )


def _memory(plan: MemoryPlan) -> dict[str, Any]:
    return {
        "verdict": plan.verdict,
        "measured": plan.measured,
        "source": plan.source,
        "visibleBytes": int(plan.visible),
        "utilization": str(plan.utilization),
        "shareBytes": int(plan.share),
        "overheadBytes": int(plan.overhead),
        "bandBytes": int(plan.band),
        "shortBytes": int(plan.short),
        "context": plan.context,
        "tokens": plan.tokens,
        "requests": str(plan.requests),
        "longestContext": plan.longest,
        "stages": [
            {
                "layers": stage.layers,
                "weightsBytes": int(stage.weights),
                "cacheBytesPerToken": stage.cache_per_token,
                "availableBytes": int(stage.available),
                "tokens": stage.tokens,
            }
            for stage in plan.stages
        ],
    }


def _startup(plan: StartupPlan) -> dict[str, Any]:
    return {
        "basis": plan.basis,
        "readBytes": int(plan.read),
        "bandwidthBytesPerSecond": int(plan.bandwidth),
        "loadSeconds": int(plan.load),
        "coldStartSeconds": int(plan.cold_start),
        "worstSeconds": int(plan.worst),
        "budgetSeconds": int(plan.budget),
    }


def _pool(plan: PoolPlan, capacity: Capacity) -> dict[str, Any]:
    return _known(
        {
            "pool": plan.pool,
            "nodes": plan.nodes,
            "needed": plan.needed,
            "peak": plan.peak,
            "packings": [
                _known(
                    {
                        "workload": packing.workload,
                        "level": packing.level,
                        "wanted": packing.wanted,
                        "extra": packing.extra,
                        "placed": packing.placed,
                        "mostInOne": packing.most_in_one,
                    }
                )
                for packing in plan.packings
            ],
            "capacity": capacity_data(capacity),
            "domains": map_data(plan.domains),
        }
    )


def _known(data: dict[str, Any]) -> dict[str, Any]:
    """Without what does not apply."""
    return {key: value for key, value in data.items() if value is not None}
