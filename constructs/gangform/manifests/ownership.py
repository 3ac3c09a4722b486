"""Which fields of our objects the plan owns, and the input that changes each.

Other objects and the engine's command line depend on these values; a patch over one of them would leave the rest of
the bundle behind, so it is refused with the name of the input. What a patch adds beside ours is free: variables,
volumes, ports, labels and containers of other names.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from gangform.apis import kueue, node_autoscalers
from gangform.apis import leaderworkerset as lws
from gangform.documents.document import Manifest, Node, dig, text
from gangform.documents.patch import touched
from gangform.findings import Path
from gangform.plan.serving import ServingPlan

_TEMPLATES = (lws.LEADER_TEMPLATE, lws.WORKER_TEMPLATE, ("spec", "template"))
_TEMPLATE = r"spec/(?:leaderWorkerTemplate/(?:leader|worker)Template|template)"
_OWNED: tuple[tuple[str, str], ...] = (
    (r"(apiVersion|kind)", "workload"),
    (r"metadata/name", "name"),
    (r"metadata/namespace", "namespace"),
    (r"spec/replicas", "groups"),
    (r"spec/(min|max)Replica(s|Count)", "autoscaling"),
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
)
_COMMAND = "engine.args, parallelism or context"
_ENGINE: tuple[tuple[str, str], ...] = (
    (r"(name|command|args)(/.*)?", _COMMAND),
    (r"image", "engine.image"),
)
"""Inside the engine's container."""
_VARIABLES = (lws.ADDRESS_VARIABLE, lws.SIZE_VARIABLE, lws.RANK_VARIABLE)
"""The controller writes them into every container; one of the same name would come after it (`lws §1`)."""
_PLACING = (
    kueue.REQUIRED_TOPOLOGY,
    kueue.PREFERRED_TOPOLOGY,
    kueue.PODSET_GROUP,
    lws.EXCLUSIVE_TOPOLOGY,
)
"""Annotations that keep a group in one domain."""


def owned_changes(
    plan: ServingPlan, before: Manifest, after: Manifest
) -> Iterator[tuple[Path, str]]:
    """What a patch changed that the plan owns: the field, and the input that it follows."""
    for keyed in touched(_keyed(before), _keyed(after)):
        if (name := owner(plan, keyed)) is not None:
            yield _place(after, before, keyed), name


def input_of(plan: ServingPlan, manifest: Manifest, path: Path) -> str | None:
    """The input that the value at a path of an object follows; `None` where the plan owns none there."""
    keyed: list[str] = []
    node: Node | None = manifest
    for part in path:
        names = _names(node) if isinstance(node, Sequence) and not isinstance(node, str) else None
        known = names is not None and isinstance(part, int) and part < len(names)
        keyed.append(names[int(part)] if names is not None and known else str(part))
        node = dig(node, part)
    named = owner(plan, tuple(keyed))
    if named is None and isinstance(node, Mapping) and node:
        # A map that is written as a whole, such as annotations where there were none.
        inside = {owner(plan, (*keyed, key)) for key in node}
        one = inside.pop()
        return None if inside else one
    return named


def owner(plan: ServingPlan, path: Path) -> str | None:
    """The input that a field of one of the bundle's objects follows; `None` where a patch is free to change it.

    Args:
        plan: The serving that the object is of.
        path: The field, with the names of list entries in place of their indexes.
    """
    spelled = "/".join(str(part) for part in path)
    for pattern, name in _OWNED:
        if re.fullmatch(pattern, spelled):
            return name
    role = plan.lead
    if _under(path, "labels", role.identity.object_labels):
        return "name"
    stamp = role.stamp
    if _under(path, "labels", [*stamp.owner_labels, *stamp.pod_labels]):
        return "admission"
    if _under(path, "annotations", [*stamp.owner_annotations, *stamp.pod_annotations]):
        return "topology" if _under(path, "annotations", _PLACING) else "admission"
    if _under(path, "annotations", node_autoscalers.annotation(role.pods.autoscaler)):
        return "pods.annotations"
    if re.fullmatch(rf"spec/ports/{re.escape(role.launch.serving_port.name)}(/.*)?", spelled):
        return "engine"
    match path:
        case ("spec", "leaderWorkerTemplate", "volumeClaimTemplates", str(claim), *_):
            return "weights" if claim in [one.name for one in role.pods.volumes] else None
    for template in _TEMPLATES:
        pod = (*template, "spec")
        if path[: len(pod)] == pod:
            return _in_pod(plan, path[len(pod) :], worker=template == lws.WORKER_TEMPLATE)
    return None


def _in_pod(plan: ServingPlan, path: Path, *, worker: bool) -> str | None:
    """The same inside a pod spec."""
    role = plan.lead
    match path:
        case ("containers" | "initContainers", _, "env", str(name), *_) if name in _VARIABLES:
            return "parallelism"
        case ("containers", role.pods.container, *rest) if rest:
            return _in_engine(plan, tuple(rest), worker=worker)
        case ("volumes", str(name), *_):
            return _volume(plan, [one.kind for one in role.pods.volumes if one.name == name])
        case ("containers", role.pods.container):
            return _COMMAND
        case _:
            return None


def _in_engine(plan: ServingPlan, path: Path, *, worker: bool) -> str | None:
    """The same inside the engine's container."""
    role = plan.lead
    process = role.launch.worker if worker and role.launch.worker else role.launch.leader
    spelled = "/".join(str(part) for part in path)
    for pattern, name in _ENGINE:
        if re.fullmatch(pattern, spelled):
            return name
    match path:
        case ("env", str(name), *_) if name in [one.name for one in process.env]:
            return "engine, weights, coldStart or the pool's hardware"
        case ("ports", str(name), *_) if name in [port.name for port in process.ports]:
            return "engine"
        case ("readinessProbe" | "livenessProbe", "periodSeconds" | "failureThreshold"):
            return None  # Nothing else depends on how often they ask, and no input says it.
        case ("startupProbe" | "readinessProbe" | "livenessProbe", "timeoutSeconds"):
            return None
        case ("startupProbe", "periodSeconds" | "failureThreshold") if process.startup:
            return "coldStart"
        case ("startupProbe", "httpGet", *_) if process.startup:
            return "engine"
        case ("startupProbe", *_) if process.startup:
            return "coldStart"
        case ("readinessProbe", *_) if process.readiness:
            return "engine"
        case ("livenessProbe", *_) if process.liveness:
            return "engine"
        case ("resources", ("requests" | "limits") as side, str(name)):
            amounts = role.pods.requests if side == "requests" else role.pods.limits
            if name == role.hardware.gpu.resource:
                return "parallelism"
            return "pods.resources" if name in amounts else None
        case ("volumeMounts", str(mount), *_):
            return _volume(plan, [one.kind for one in role.pods.volumes if one.mount == mount])
        case _:
            return None


def _volume(plan: ServingPlan, kinds: Sequence[str]) -> str | None:
    """The input that a volume of ours follows, by its kind."""
    if not kinds:
        return None
    return "pods.resources.sharedMemory" if "memory" in kinds else "weights"


def _under(path: Path, parent: str, keys: Iterable[str]) -> bool:
    pairs = itertools.pairwise(path)
    wanted = set(keys)
    return any(here == parent and key in wanted for here, key in pairs)


def _names(entries: Sequence[Node]) -> list[str] | None:
    """What entries of a list are called: mounts by their place, others by name; `None` for a list of values."""
    if not entries or not all(isinstance(entry, Mapping) for entry in entries):
        return None
    found: list[str] = []
    for index, entry in enumerate(entries):
        name = text(entry, "mountPath") or text(entry, "name") or text(entry, "metadata", "name")
        found.append(name if name and name not in found else f"#{index}")
    return found


def _keyed(node: Node) -> Node:
    """A tree whose lists of objects are maps by name, so that an entry keeps its place wherever it moves."""
    if isinstance(node, Mapping):
        return {key: _keyed(value) for key, value in node.items()}
    if isinstance(node, Sequence) and not isinstance(node, str):
        names = _names(node)
        if names is not None:
            return {name: _keyed(entry) for name, entry in zip(names, node, strict=True)}
    return node


def _place(after: Node, before: Node, keyed: Path) -> Path:
    """The path with indexes again, as far as one of the two trees has them: `after` first."""
    found: list[str | int] = []
    nodes: list[Node] = [after, before]
    for part in keyed:
        step: str | int = part
        further: list[Node] = []
        for node in reversed(nodes):
            at: str | int = part
            if isinstance(node, Sequence) and not isinstance(node, str):
                names = _names(node)
                if names is not None:
                    at = names.index(str(part)) if part in names else len(node)
                if isinstance(at, int) and at < len(node):
                    further = [node[at], *further]
                    step = at
            elif isinstance(node, Mapping) and part in node:
                further = [node[str(part)], *further]
                step = part
        found.append(step)
        nodes = further
    return tuple(found)
