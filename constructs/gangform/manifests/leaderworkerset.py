"""LeaderWorkerSet: a set of groups, both templates always written."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.documents.document import Manifest, Node
from gangform.manifests.pod import claim_spec, owner_metadata, template
from gangform.plan.serving import ServingPlan, WorkloadPlan


def sets(plan: ServingPlan, workload: WorkloadPlan) -> Iterator[Manifest]:
    """The set of one workload."""
    role = workload.role
    spec: dict[str, Node] = {}
    if role.replicas is not None:
        spec["replicas"] = role.replicas
    spec["startupPolicy"] = role.startup_policy
    spec["rolloutStrategy"] = {
        "type": "RollingUpdate",
        "rollingUpdateConfiguration": {
            "maxSurge": role.rollout.max_surge,
            "maxUnavailable": role.rollout.max_unavailable,
            "partition": role.rollout.partition,
        },
    }
    group: dict[str, Node] = {
        "size": role.shape.size,
        "restartPolicy": role.restart_policy,
        "leaderTemplate": template(role, role.launch.leader),
        "workerTemplate": template(role, role.launch.worker or role.launch.leader),
    }
    claims = [volume for volume in role.pods.volumes if volume.kind == "template"]
    if claims:
        group["volumeClaimTemplates"] = [
            {"metadata": {"name": volume.name}, "spec": claim_spec(volume)} for volume in claims
        ]
    spec["leaderWorkerTemplate"] = group
    yield {
        "apiVersion": workload.form.api_version,
        "kind": workload.form.kind,
        "metadata": owner_metadata(plan, workload),
        "spec": spec,
    }
