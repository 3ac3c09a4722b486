"""The documents of one cluster as controllers see them: workloads, their pods, and what those ask for."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from gangform.inputs.serving import Serving
from gangform.units import quantity

Object = Mapping[str, Any]
Labels = Mapping[str, str]
Place = tuple[str, str]
"""Namespace and name."""

LWS = "leaderworkerset.sigs.k8s.io/"
QUEUE = "kueue.x-k8s.io/queue-name"
KUEUE_PRIORITY = "kueue.x-k8s.io/priority-class"
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
PREFERRED = "kueue.x-k8s.io/podset-preferred-topology"
JOINED = "kueue.x-k8s.io/podset-group-name"
VOLCANO_QUEUE = "scheduling.volcano.sh/queue-name"
GROUP_NAME = "scheduling.k8s.io/group-name"
APP = "app.kubernetes.io/name"
OWNER = "app.kubernetes.io/managed-by"
WAVE = "argocd.argoproj.io/sync-wave"
ENGINE = "engine"
SCALERS = {
    "HorizontalPodAutoscaler": ("minReplicas", "maxReplicas"),
    "ScaledObject": ("minReplicaCount", "maxReplicaCount"),
}
"""Kinds of autoscalers, and what their bounds are called."""
CLUSTER_SCOPED = {
    "ClusterQueue",
    "HyperNode",
    "Queue",
    "ResourceFlavor",
    "Topology",
    "WorkloadPriorityClass",
}
HASH, RANDOM = "f" * 10, "x" * 5
"""A revision at its longest, and what the API server appends."""


class Pod(NamedTuple):
    """One pod as a controller will make it."""

    name: str
    namespace: str
    labels: Labels
    workload: str
    serving: str
    leader: bool
    group: int
    """Index of its group; of a Deployment's pod only its turn."""
    rank: int
    """Its index in the group."""
    template: Object

    @property
    def engine(self) -> Object:
        """The container of the engine."""
        found: Object = next(
            one for one in self.template["spec"]["containers"] if one["name"] == ENGINE
        )
        return found


class World:
    """The objects of one cluster, with what documents cannot say: declared spare groups and named objects."""

    def __init__(
        self, manifests: Iterable[Object], servings: Iterable[Serving], *, kueue: str | None
    ) -> None:
        """kueue: the release of Kueue, which decides about names; `None` where there is none."""
        self.objects = list(manifests)
        self.servings = {(one.namespace, one.name): one for one in servings}
        self.kueue = None if kueue is None else tuple(map(int, kueue.split(".")))

    def of(self, *kinds: str) -> list[Object]:
        """The objects of some kinds."""
        return [one for one in self.objects if one["kind"] in kinds]

    @cached_property
    def places(self) -> Mapping[str, Mapping[Place, Object]]:
        """By kind, namespace and name."""
        found: defaultdict[str, dict[Place, Object]] = defaultdict(dict)
        for one in self.objects:
            found[one["kind"]][space_of(one), name_of(one)] = one
        return found

    def has(self, kind: str, namespace: str, name: str) -> bool:
        """Whether there is such an object."""
        return (namespace, name) in self.places[kind]

    @cached_property
    def workloads(self) -> list[Object]:
        """What makes pods."""
        return self.of("LeaderWorkerSet", "Deployment")

    def workloads_of(self, place: Place) -> list[Object]:
        """The workloads of one serving."""
        return self._by_serving[place]

    @cached_property
    def _by_serving(self) -> Mapping[Place, list[Object]]:
        found: defaultdict[Place, list[Object]] = defaultdict(list)
        for workload in self.workloads:
            found[space_of(workload), serving_of(workload)].append(workload)
        return found

    @cached_property
    def scaled(self) -> Mapping[tuple[str, str, str], Object]:
        """Autoscalers by namespace, kind and name of what they scale."""
        return {
            (space_of(one), target["kind"], target["name"]): one
            for one in self.of(*SCALERS)
            for target in [one["spec"]["scaleTargetRef"]]
        }

    def highest(self, workload: Object) -> int:
        """Most groups that are wanted of a workload."""
        scaler = self.scaled.get((space_of(workload), workload["kind"], name_of(workload)))
        count = workload["spec"].get("replicas") if scaler is None else bounds_of(scaler)[1]
        assert isinstance(count, int), f"nobody says how many groups {name_of(workload)} has"
        return count

    @cached_property
    def pods(self) -> list[Pod]:
        """Every pod that can exist, those of the highest surge group too."""
        return [pod for workload in self.workloads for pod in self._pods(workload)]

    def _pods(self, workload: Object) -> Iterator[Pod]:
        count = self.highest(workload) + surge_of(workload)
        maker = _pods_of_set if workload["kind"] == "LeaderWorkerSet" else _pods_of_deployment
        for group in range(count):
            yield from maker(workload, group)

    @cached_property
    def pods_of(self) -> Mapping[Place, list[Pod]]:
        """Pods by serving."""
        found: defaultdict[Place, list[Pod]] = defaultdict(list)
        for pod in self.pods:
            found[pod.namespace, pod.serving].append(pod)
        return found

    @cached_property
    def _labelled(self) -> Mapping[tuple[str, str, str], frozenset[int]]:
        found: defaultdict[tuple[str, str, str], set[int]] = defaultdict(set)
        for number, pod in enumerate(self.pods):
            for key, value in pod.labels.items():
                found[pod.namespace, key, value].add(number)
        return {key: frozenset(numbers) for key, numbers in found.items()}

    def selected(self, namespace: str, selector: Labels) -> set[str]:
        """Names of the pods that a selector matches; an empty one matches the whole namespace."""
        if not selector:
            return {pod.name for pod in self.pods if pod.namespace == namespace}
        none: frozenset[int] = frozenset()
        sets = [self._labelled.get((namespace, *pair), none) for pair in selector.items()]
        return {self.pods[number].name for number in frozenset.intersection(*sets)}


def _pods_of_set(workload: Object, group: int) -> Iterator[Pod]:
    name, template = name_of(workload), workload["spec"]["leaderWorkerTemplate"]
    for index in range(template["size"]):
        leader = index == 0
        pod = f"{name}-{group}" if leader else f"{name}-{group}-{index}"
        owner = name if leader else f"{name}-{group}"
        shape = template.get("leaderTemplate") if leader else None
        shape = shape or template["workerTemplate"]
        made = {
            f"{LWS}name": name,
            f"{LWS}worker-index": f"{index}",
            f"{LWS}group-index": f"{group}",
            f"{LWS}group-key": "a" * 40,
            f"{LWS}template-revision-hash": HASH,
            "apps.kubernetes.io/pod-index": f"{index or group}",
            "controller-revision-hash": f"{owner}-{HASH}",
            "statefulset.kubernetes.io/pod-name": pod,
        }
        # A label of the template wins over the controller's.
        labels = {**made, **shape["metadata"].get("labels", {})}
        yield Pod(
            pod, space_of(workload), labels, name, serving_of(workload), leader, group, index, shape
        )


def _pods_of_deployment(workload: Object, turn: int) -> Iterator[Pod]:
    name, template = name_of(workload), workload["spec"]["template"]
    labels = {**template["metadata"].get("labels", {}), "pod-template-hash": HASH}
    pod = f"{name}-{HASH}-{turn:05d}"
    yield Pod(pod, space_of(workload), labels, name, serving_of(workload), True, turn, 0, template)


def name_of(one: Object) -> str:
    """The name of an object."""
    return str(one["metadata"]["name"])


def space_of(one: Object) -> str:
    """The namespace of an object; empty where it has none."""
    return str(one["metadata"].get("namespace", ""))


def serving_of(one: Object) -> str:
    """The serving that an object is for."""
    return str(one["metadata"].get("labels", {}).get(APP, ""))


def called(one: Object) -> str:
    """What a fault calls an object."""
    return "/".join(part for part in (one["kind"], space_of(one), name_of(one)) if part)


def bounds_of(scaler: Object) -> tuple[int, int]:
    """The fewest and the most groups that an autoscaler may want."""
    least, most = SCALERS[scaler["kind"]]
    return int(scaler["spec"][least]), int(scaler["spec"][most])


def size_of(workload: Object) -> int:
    """Pods a group."""
    spec = workload["spec"]
    return int(spec["leaderWorkerTemplate"]["size"]) if "leaderWorkerTemplate" in spec else 1


def surge_of(workload: Object) -> int:
    """Groups made beyond the wanted number."""
    return int(rolling_of(workload)["maxSurge"])


def rolling_of(workload: Object) -> Object:
    spec = workload["spec"]
    if workload["kind"] == "LeaderWorkerSet":
        rolling: Object = spec["rolloutStrategy"]["rollingUpdateConfiguration"]
    else:
        rolling = spec["strategy"]["rollingUpdate"]
    return rolling


def templates_of(workload: Object) -> list[tuple[str, Object]]:
    """The pod templates of a workload, by name."""
    spec = workload["spec"]
    if workload["kind"] == "Deployment":
        return [("template", spec["template"])]
    group = spec["leaderWorkerTemplate"]
    return [(name, group[name]) for name in ("leaderTemplate", "workerTemplate") if name in group]


def requests_of(template: Object) -> Counter[str]:
    """What one pod requests, as exact numbers: its containers together, or its start where that takes more.

    An init container that is restarted always goes on running, beside those that come after it.
    """
    spec = template["spec"]
    running: Counter[str] = Counter()
    start: Counter[str] = Counter()
    for container in spec.get("initContainers", ()):
        asked = _asked_by(container)
        start |= running + asked
        if container.get("restartPolicy") == "Always":
            running += asked
    for container in spec["containers"]:
        running += _asked_by(container)
    return running | start


def _asked_by(container: Object) -> Counter[str]:
    requests = container.get("resources", {}).get("requests", {})
    return Counter({name: quantity(str(amount)) for name, amount in requests.items()})


def group_of(workload: Object) -> Counter[str]:
    """What one whole group requests."""
    shapes = [template for _, template in templates_of(workload)]
    total: Counter[str] = Counter()
    for index in range(size_of(workload)):
        for name, amount in requests_of(shapes[0] if index == 0 else shapes[-1]).items():
            total[name] += amount
    return total


def peak_of(world: World, place: Place) -> Counter[str]:
    """What a serving requests at its height: most groups, and the larger of surge and declared spare."""
    workloads = world.workloads_of(place)
    groups = sum(map(world.highest, workloads))
    surge = max(map(surge_of, workloads))
    spare = world.servings[place].rollout.spare_groups if place in world.servings else 0
    one = group_of(workloads[0])
    return Counter({name: amount * (groups + max(surge, spare)) for name, amount in one.items()})


def flags_of(container: Object) -> dict[str, str]:
    """The flags of an engine's container."""
    found = {}
    for argument in container.get("args", ()):
        if argument.startswith("--"):
            name, _, value = argument.partition("=")
            found[name] = value
    return found


def differ(what: str, seen: object, wanted: object) -> Iterator[str]:
    """A fault where two things are not the same."""
    if seen != wanted:
        yield f"{what}: {seen!r}, and not {wanted!r}"
