"""Which fields of our objects the plan owns, and the input that changes each.

Other objects and the engine's command line depend on these values; a patch over one of them would leave the rest of
the bundle behind, so it is refused with the name of the input.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from gangform.findings import Path
from gangform.plan.serving import ServingPlan

_TEMPLATE = r"spec/(leaderWorkerTemplate/(leader|worker)Template|template)"
_OWNED: tuple[tuple[str, str], ...] = (
    (r"(apiVersion|kind)", "workload"),
    (r"metadata/name", "name"),
    (r"metadata/namespace", "namespace"),
    (r"spec/replicas", "groups"),
    (r"spec/(min|max)Replicas", "autoscaling"),
    (r"spec/scaleTargetRef(/.*)?", "name"),
    (r"spec/(selector|podSelector)(/.*)?", "name"),
    (r"spec/leaderWorkerTemplate/size", "parallelism"),
    (r"spec/rolloutStrategy(/.*)?", "rollout"),
    (r"spec/strategy(/.*)?", "rollout"),
    (r"spec/(minAvailable|maxUnavailable|unhealthyPodEvictionPolicy)", "disruption"),
    (r"spec/(queue|priorityClassName)", "admission"),
    (r"spec/(minMember|minResources)(/.*)?", "parallelism"),
    (r"spec/networkTopology(/.*)?", "topology"),
    (rf"{_TEMPLATE}/spec/schedulerName", "admission.backend"),
    (rf"{_TEMPLATE}/spec/containers/0/startupProbe(/.*)?", "coldStart"),
    (
        rf"{_TEMPLATE}/spec/containers/0/(name|command|args)(/.*)?",
        "engine.args, parallelism or context",
    ),
)


def owner(plan: ServingPlan, path: Path) -> str | None:
    """The input that a field of one of the bundle's objects follows; `None` where a patch is free to change it."""
    spelled = "/".join(str(part) for part in path)
    for pattern, name in _OWNED:
        if re.fullmatch(pattern, spelled):
            return name
    role = plan.lead
    resource = role.hardware.gpu.resource
    if (
        re.fullmatch(rf"{_TEMPLATE}/spec/containers/0/resources/.*", spelled)
        and path[-1] == resource
    ):
        return "parallelism"
    if _under(path, "labels", role.identity.object_labels):
        return "name"
    stamp = role.stamp
    if _under(path, "labels", [*stamp.owner_labels, *stamp.pod_labels]):
        return "admission"
    if _under(path, "annotations", [*stamp.owner_annotations, *stamp.pod_annotations]):
        return "admission or topology"
    return None


def _under(path: Path, parent: str, keys: Iterable[str]) -> bool:
    pairs = itertools.pairwise(path)
    wanted = set(keys)
    return any(here == parent and key in wanted for here, key in pairs)
