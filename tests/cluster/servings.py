"""Servings on a control plane: planned as a user's are, applied as a user would, and counted while they change.

    made = plan(plain, groups=6, size=4, rollout={"max_surge": 1})
    apply(plain, made)
    with watching(plain.api, made.pods) as seen:
        seen.until(ready_groups(6, size=4), within=60, what="all groups are ready")

A pod takes a whole node, as on the clusters of the fleet. What the plan promised stands in `made.plan`; what happened
is read off a watch by `counts`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import yaml
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.watch import Watch
from tests.matrix import MODEL

from gangform.inputs.cluster import Cluster, Fleet, Library
from gangform.inputs.serving import Serving
from gangform.plan.cluster import ClusterPlan
from gangform.plan.serving import ServingPlan
from gangform.synth import synthesise

LWS = "leaderworkerset.x-k8s.io/v1"
GROUP_INDEX = "leaderworkerset.sigs.k8s.io/group-index"
WORKER_INDEX = "leaderworkerset.sigs.k8s.io/worker-index"
REVISION = "leaderworkerset.sigs.k8s.io/template-revision-hash"
SET_NAME = "leaderworkerset.sigs.k8s.io/name"
GPU = "nvidia.com/gpu"
QUICK = {"kubelet.test/ready-delay": "400ms", "kubelet.test/delete-delay": "200ms"}
"""Less than the fake kubelet takes by itself: what is counted is counted at every event, however short."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Made:
    """One cluster's bundles."""

    cluster: ClusterPlan
    files: Mapping[str, bytes]
    """The files that `gangform synth` would write, the foundation first."""
    documents: tuple[Object, ...]
    """All of their objects, in order."""

    @property
    def plan(self) -> ServingPlan:
        """The plan of the first serving."""
        return self.cluster.servings[0]

    @property
    def pods(self) -> str:
        """The path of the pods of the first serving's namespace."""
        return f"/api/v1/namespaces/{self.plan.namespace}/pods"

    def of(self, name: str) -> ServingPlan:
        """The plan of the serving of a name."""
        return next(one for one in self.cluster.servings if one.name == name)

    def one(self, kind: str, name: str | None = None) -> Object:
        """The document of a kind (and name), the only one there is."""
        found = [
            one
            for one in self.documents
            if one["kind"] == kind and name in (None, one["metadata"]["name"])
        ]
        assert len(found) == 1, f"{kind} {name}: {len(found)} documents"
        return found[0]


def serving(*, name: str = "r1", size: int = 2, **fields: Any) -> Serving:
    """A serving of a small model, of quick pods; `size` of them make a group.

    Further fields are those of `Serving`, in snake case.
    """
    pods = fields.pop("pods", {})
    asked: dict[str, Any] = {
        "name": name,
        "namespace": "llm",
        "model": MODEL,
        "pool": "h100",
        "engine": {"name": "vllm", "version": "0.33.0"},
        "parallelism": {"tensor": 8, "pipeline": size},
        "context": 8192,
        "weights": {"source": "nodePath", "path": "/mnt/models"},
        "admission": {"backend": "none"},
        "pods": {**pods, "annotations": {**QUICK, **pods.get("annotations", {})}},
        **fields,
    }
    return Serving.model_validate(asked)


def make(cluster: Cluster, *servings: Serving) -> Made:
    """What gangform writes for servings on a cluster, planned, judged and rendered as `gangform synth` does.

    Raises:
        InputError: The plan or a rule refuses them.
    """
    done = synthesise(Fleet(version=1, clusters=(cluster,), servings=servings), Library.shipped())
    files = sorted(
        done.files, key=lambda file: (not file.path.endswith("/foundation.k8s.yaml"), file.path)
    )
    rendered = {file.path: file.content for file in files}
    documents = [one for content in rendered.values() for one in yaml.safe_load_all(content)]
    return Made(cluster=done.plans[0], files=rendered, documents=tuple(documents))


def plan(plane: ControlPlane, *, cluster: Cluster | None = None, **fields: Any) -> Made:
    """One serving on the plane's own cluster, or on a changed copy of it."""
    return make(cluster or plane.cluster, serving(**fields))


def apply(plane: ControlPlane, made: Made) -> None:
    """Apply every file as a user would; it must not be refused."""
    spaces = {one["metadata"].get("namespace", "") for one in made.documents} - {""}
    for space in sorted(spaces):
        plane.namespace(space)
    paths = [plane.site.folder / name.replace("/", "-") for name in made.files]
    for path, content in zip(paths, made.files.values(), strict=True):
        path.write_bytes(content)
    plane.kubectl.apply(*paths)


# ── what is counted ──────────────────────────────────────────────────────────────────────────────


def is_ready(pod: Object) -> bool:
    """Whether a pod's `Ready` condition is true."""
    conditions = pod.get("status", {}).get("conditions", [])
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def gpus(pod: Object) -> int:
    """GPUs that a pod requests."""
    containers = pod["spec"]["containers"]
    return sum(int(one.get("resources", {}).get("requests", {}).get(GPU, 0)) for one in containers)


def group_of(pod: Object) -> tuple[str, int]:
    """The set and the index of a pod's group."""
    labels = pod["metadata"]["labels"]
    return labels[SET_NAME], int(labels[GROUP_INDEX])


class Count(NamedTuple):
    """The pods of some sets at one moment."""

    at: float
    """Seconds since the watch began."""
    groups: int
    """Groups that have a pod."""
    ready: int
    """Groups whose every pod is ready, of one revision, not terminating."""
    mixed: int
    """Groups that hold pods of two revisions."""
    requested: int
    """GPUs of all pods."""
    bound: int
    """GPUs of pods that have a node."""


def count(pods: Iterable[Object], *, size: int, at: float = 0) -> Count:
    """Count groups and GPUs of pods that belong to sets of groups of one size."""
    every = [pod for pod in pods if GROUP_INDEX in pod["metadata"].get("labels", {})]
    groups: dict[tuple[str, int], list[Object]] = defaultdict(list)
    for pod in every:
        groups[group_of(pod)].append(pod)
    revisions = {
        key: {pod["metadata"]["labels"][REVISION] for pod in members}
        for key, members in groups.items()
    }
    whole = [
        key
        for key, members in groups.items()
        if len(members) == size
        and len(revisions[key]) == 1
        and all(is_ready(pod) and "deletionTimestamp" not in pod["metadata"] for pod in members)
    ]
    return Count(
        at=at,
        groups=len(groups),
        ready=len(whole),
        mixed=sum(len(each) > 1 for each in revisions.values()),
        requested=sum(map(gpus, every)),
        bound=sum(gpus(pod) for pod in every if pod["spec"].get("nodeName")),
    )


def counts(seen: Watch, *, size: int) -> Iterator[Count]:
    """The count after every event of a pod."""
    for event, objects in seen.replay():
        if event.place.kind == "Pod":
            pods = [thing for place, thing in objects.items() if place.kind == "Pod"]
            yield count(pods, size=size, at=event.at)


def ready_groups(
    groups: int, *, size: int, revision: Callable[[str], bool] = bool
) -> Callable[[Watch], bool]:
    """A condition: exactly so many groups exist, every one whole, and of a revision."""

    def hold(now: Watch) -> bool:
        pods = [pod for pod in now.of("Pod") if GROUP_INDEX in pod["metadata"].get("labels", {})]
        counted = count(pods, size=size)
        return counted.groups == counted.ready == groups and all(
            revision(pod["metadata"]["labels"][REVISION]) for pod in pods
        )

    return hold


def domains(
    pods: Iterable[Object], nodes: Mapping[str, str]
) -> dict[tuple[str, int], Counter[str]]:
    """For each group, how many of its pods lie in each domain, by a map of nodes to domains."""
    found: dict[tuple[str, int], Counter[str]] = defaultdict(Counter)
    for pod in pods:
        found[group_of(pod)][nodes[pod["spec"]["nodeName"]]] += 1
    return found
