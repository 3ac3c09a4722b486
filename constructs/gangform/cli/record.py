"""The plan for machines: what `gangform plan -o json` and `-o yaml` print. Keys are added, never renamed or dropped.

`record_schema.PLAN` describes every key, and `gangform schema plan` prints it. Whole numbers are numbers;
`utilization` and `requests` are decimal texts. What does not apply is left out.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from gangform.apis import keda
from gangform.cli import cold_start, shapes
from gangform.cli.room import capacity_data, map_data, update_data
from gangform.cli.show import chosen_servings, prerequisites

if TYPE_CHECKING:
    from gangform.plan.capacity import Capacity
    from gangform.plan.cluster import ClusterPlan
    from gangform.plan.memory import MemoryPlan
    from gangform.plan.placement import PoolPlan
    from gangform.plan.qualification import QualificationPlan
    from gangform.plan.serving import ServingPlan
    from gangform.plan.ways import Way

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
            "search": plan.search and _known(shapes.record(plan.search)),
            "groups": {
                "lowest": serving.idle_groups,
                "highest": serving.highest_groups,
                "spare": rollout.spare,
            },
            "hardware": {
                "name": role.hardware.name,
                "notVerified": list(role.hardware.unverified),
            },
            "memory": _memory(role.memory, plan.ways),
            "startup": cold_start.record(role.startup),
            "qualified": _qualified(plan.qualification),
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
                "nodeAutoscaler": plan.disruption.autoscaler,
                "unstopped": plan.disruption.unstopped,
                "releasable": plan.disruption.releasable,
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
                "kind": "HorizontalPodAutoscaler" if scale.keda is None else keda.KIND,
                "type": scale.type,
                "metric": scale.metric,
                "target": scale.target,
            },
            "requests": role.pods.requests.spelled(),
            "remarks": list(plan.remarks),
        }
    )


def _memory(plan: MemoryPlan, ways: Iterable[Way]) -> dict[str, Any]:
    return _known(
        {
            "verdict": plan.verdict,
            "measured": plan.measured,
            "fixedBy": plan.pinned_by or None,
            "source": plan.source,
            "visibleBytes": int(plan.visible),
            "utilization": str(plan.utilization),
            "shareBytes": int(plan.share),
            "heapBytes": int(plan.heap),
            "overheadBytes": int(plan.overhead),
            "overheadParts": [
                {"name": part.name, "bytes": int(part.size), "source": part.source}
                for part in plan.parts
            ],
            "bandBytes": int(plan.band),
            "shortBytes": int(plan.short),
            "context": plan.context,
            "tokens": plan.tokens,
            "requests": str(plan.requests),
            "requestsAtMost": str(plan.requests_most),
            "longestContext": plan.longest,
            "stages": [
                _known(
                    {
                        "layers": stage.layers,
                        "weightsBytes": int(stage.weights),
                        "weights": None
                        if stage.held is None
                        else {
                            f"{name}Bytes": int(size) for name, size in stage.held._asdict().items()
                        },
                        "overheadBytes": int(stage.overhead),
                        "cacheBytesPerToken": stage.cache_per_token,
                        "cacheFixedBytes": int(stage.cache_fixed),
                        "cachePagedBytes": int(stage.cache_paged),
                        "availableBytes": int(stage.available),
                        "tokens": stage.tokens,
                    }
                )
                for stage in plan.stages
            ],
            "waysOut": [
                {
                    "kind": way.kind,
                    "change": way.change,
                    "gpus": way.gpus,
                    "verdict": way.memory.verdict,
                    "weightsBytes": int(way.memory.worst.weights),
                    "availableBytes": int(way.memory.worst.available),
                    "requests": str(way.memory.requests),
                }
                for way in ways
            ],
        }
    )


def _qualified(plan: QualificationPlan | None) -> dict[str, Any] | None:
    return plan and _known(
        {
            "date": plan.date,
            "holds": plan.holds,
            "differences": [one._asdict() for one in plan.differences],
            "notCompared": list(plan.unknown),
            "tokensPerSecond": plan.rate,
            "highestTokensPerSecond": plan.highest_rate,
        }
    )


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
