"""Deployment: a replica that fits one pod, with the same surroundings as a group."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.documents.document import Manifest, Node
from gangform.manifests.pod import owner_metadata, plain, template
from gangform.plan.serving import ServingPlan, WorkloadPlan


def deployments(plan: ServingPlan, workload: WorkloadPlan) -> Iterator[Manifest]:
    """The Deployment of one workload."""
    role = workload.role
    spec: dict[str, Node] = {}
    if role.replicas is not None:
        spec["replicas"] = role.replicas
    spec["selector"] = {"matchLabels": dict(role.identity.selectors.pods)}
    spec["strategy"] = {
        "type": "RollingUpdate",
        "rollingUpdate": {
            "maxSurge": role.rollout.max_surge,
            "maxUnavailable": role.rollout.max_unavailable,
        },
    }
    spec["progressDeadlineSeconds"] = plain(role.startup.progress_deadline)
    spec["template"] = template(role, role.launch.leader)
    yield {
        "apiVersion": workload.form.api_version,
        "kind": workload.form.kind,
        "metadata": owner_metadata(plan, workload),
        "spec": spec,
    }
