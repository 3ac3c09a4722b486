"""What must hold between the objects of one cluster, worked out again from the objects alone.

Nothing here comes from the plan, from `apis` or from the rules: label keys, bounds and sums are written a second time,
and the pods are made as the controllers make them (names, labels and hashes as seen on a live control plane). So a
number or a selector that is wrong in one place and copied to all others is still wrong here.

An invariant is a function that yields what is broken, one sentence a fault.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from gangform.apis.core import complete
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
            for one in self.of("HorizontalPodAutoscaler")
            for target in [one["spec"]["scaleTargetRef"]]
        }

    def highest(self, workload: Object) -> int:
        """Most groups that are wanted of a workload."""
        scaler = self.scaled.get((space_of(workload), workload["kind"], name_of(workload)))
        count = (
            workload["spec"].get("replicas") if scaler is None else scaler["spec"]["maxReplicas"]
        )
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


def size_of(workload: Object) -> int:
    """Pods a group."""
    spec = workload["spec"]
    return int(spec["leaderWorkerTemplate"]["size"]) if "leaderWorkerTemplate" in spec else 1


def surge_of(workload: Object) -> int:
    """Groups made beyond the wanted number."""
    return int(_rolling(workload)["maxSurge"])


def _rolling(workload: Object) -> Object:
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


# ── who selects whom ─────────────────────────────────────────────────────────────────────────────


def services_reach_exactly_the_leaders(world: World) -> Iterator[str]:
    """Pods that receive requests serve them, and every pod that serves receives some."""
    for service in world.of("Service"):
        place = space_of(service), serving_of(service)
        wanted = {pod.name for pod in world.pods_of[place] if pod.leader}
        seen = world.selected(place[0], service["spec"]["selector"])
        yield from differ(called(service), sorted(seen), sorted(wanted))
        yield from differ(
            f"{called(service)} not ready",
            service["spec"].get("publishNotReadyAddresses", False),
            False,
        )


def monitors_scrape_exactly_the_leaders(world: World) -> Iterator[str]:
    """A worker has no server, and would count as down for ever."""
    for monitor in world.of("PodMonitor"):
        place = space_of(monitor), serving_of(monitor)
        wanted = {pod.name for pod in world.pods_of[place] if pod.leader}
        selector = monitor["spec"]["selector"]["matchLabels"]
        yield from differ(
            called(monitor), sorted(world.selected(place[0], selector)), sorted(wanted)
        )
        for key in monitor["spec"].get("podTargetLabels", ()):
            if not all(key in pod.labels for pod in world.pods_of[place]):
                yield f"{called(monitor)}: no pod carries {key}"


def policies_shield_exactly_the_pods(world: World) -> Iterator[str]:
    """Groups always reach themselves, on every port; others only where something listens."""
    for policy in world.of("NetworkPolicy"):
        place = space_of(policy), serving_of(policy)
        wanted = sorted(pod.name for pod in world.pods_of[place])
        spec = policy["spec"]
        selector = spec["podSelector"]["matchLabels"]
        yield from differ(called(policy), sorted(world.selected(place[0], selector)), wanted)
        own, *others = spec["ingress"]
        inner = own["from"][0]["podSelector"]["matchLabels"]
        yield from differ(
            f"{called(policy)} peers", sorted(world.selected(place[0], inner)), wanted
        )
        if "ports" in own:
            yield f"{called(policy)}: ranks reach each other on some ports only"
        ports = ports_of(pod.engine for pod in world.pods_of[place] if pod.leader)
        for rule in others:
            for port in rule["ports"]:
                if port["port"] not in ports:
                    yield f"{called(policy)}: no leader has a port {port['port']}"


def budgets_cover_a_set_or_one_group(world: World) -> Iterator[str]:
    """Serial: one budget over all pods. Per group: an integer of the group's size, and no group twice."""
    for place, pods in world.pods_of.items():
        budgets = [
            one
            for one in world.of("PodDisruptionBudget")
            if (space_of(one), serving_of(one)) == place
        ]
        seen: Counter[str] = Counter()
        covered = []
        for budget in budgets:
            spec = budget["spec"]
            yield from differ(
                f"{called(budget)} policy", spec.get("unhealthyPodEvictionPolicy"), "AlwaysAllow"
            )
            chosen = world.selected(place[0], spec["selector"]["matchLabels"])
            seen.update(chosen)
            if "maxUnavailable" in spec:
                yield from differ(
                    called(budget), (spec["maxUnavailable"], "minAvailable" in spec), (1, False)
                )
                yield from differ(called(budget), sorted(chosen), sorted(pod.name for pod in pods))
                continue
            groups = {(pod.workload, pod.group) for pod in pods if pod.name in chosen}
            covered += sorted(groups)
            whole = {pod.name for pod in pods if (pod.workload, pod.group) in groups}
            yield from differ(f"{called(budget)} groups", len(groups), 1)
            yield from differ(f"{called(budget)} pods", sorted(chosen), sorted(whole))
            yield from differ(f"{called(budget)} minAvailable", spec["minAvailable"], len(chosen))
        for name, times in seen.items():
            if times > 1:
                yield f"{times} budgets match pod {name}: every eviction is answered with 500"
        serving = world.servings[place]
        if serving.disruption.mode == "perGroup":
            # Groups in their order; those of the surge come last and have none.
            order = sorted({(pod.workload, pod.group) for pod in pods}, key=_in_turn)
            highest = sum(map(world.highest, world.workloads_of(place)))
            wanted = [
                group
                for number, group in enumerate(order[:highest])
                if number not in serving.disruption.released
            ]
            yield from differ(f"groups with a budget in {place}", covered, wanted)
        else:
            yield from differ(f"budgets of {place}", len(budgets), 1)


def _in_turn(group: tuple[str, int]) -> tuple[int, int]:
    """Groups of one set go by their index; where each is a set of its own, by the number in its name."""
    name, index = group
    tail = re.search(r"-([0-9]+)$", name)
    return (int(tail[1]) if tail else 0, index)


def autoscalers_move_their_workload(world: World) -> Iterator[str]:
    """The target exists and leaves its number to the autoscaler; the metric's labels are on the leaders' series."""
    for scaler in world.of("HorizontalPodAutoscaler"):
        place = space_of(scaler), serving_of(scaler)
        target = scaler["spec"]["scaleTargetRef"]
        workload = world.places[target["kind"]].get((place[0], target["name"]))
        if workload is None:
            yield f"{called(scaler)}: there is no {target['kind']} {target['name']}"
            continue
        yield from differ(called(scaler), target["apiVersion"], workload["apiVersion"])
        yield from differ(called(scaler), serving_of(workload), place[1])
        if "replicas" in workload["spec"]:
            yield f"{called(workload)}: both it and its autoscaler say how many groups"
        monitors = [
            one for one in world.of("PodMonitor") if (space_of(one), serving_of(one)) == place
        ]
        carried = {
            spelled(key) for one in monitors for key in one["spec"].get("podTargetLabels", ())
        }
        pods = [pod for pod in world.pods_of[place] if pod.leader]
        on_pods = {(spelled(key), value) for pod in pods for key, value in pod.labels.items()}
        for metric in scaler["spec"]["metrics"]:
            for key, value in metric["external"]["metric"]["selector"]["matchLabels"].items():
                # An adapter puts the key into the query as it stands: one with dots or a slash does not parse.
                if (key, value) not in on_pods or key not in carried:
                    yield f"{called(scaler)}: no series of a leader carries {key}={value}"
    for workload in world.workloads:
        scaled = (space_of(workload), workload["kind"], name_of(workload)) in world.scaled
        yield from differ(
            f"{called(workload)} has replicas", "replicas" in workload["spec"], not scaled
        )


def spelled(key: str) -> str:
    """A label of a pod as Prometheus carries it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", key)


# ── what pods do ─────────────────────────────────────────────────────────────────────────────────


def ports_of(containers: Iterable[Object]) -> set[str]:
    """Names of the ports that containers open."""
    return {port["name"] for one in containers for port in one.get("ports", ())}


def ports_are_named_where_something_listens(world: World) -> Iterator[str]:
    """The Service's port stands on every serving container and on no other."""
    for service in world.of("Service"):
        place = space_of(service), serving_of(service)
        for port in service["spec"]["ports"]:
            target = port["targetPort"]
            if not isinstance(target, str):
                yield f"{called(service)}: targetPort {target} is a number"
                continue
            for pod in world.pods_of[place]:
                for container in pod.template["spec"]["containers"]:
                    serves = pod.leader and container["name"] == ENGINE
                    has = target in ports_of([container])
                    yield from differ(f"{pod.name} {container['name']} opens {target}", has, serves)
    for monitor in world.of("PodMonitor"):
        place = space_of(monitor), serving_of(monitor)
        for endpoint in monitor["spec"]["podMetricsEndpoints"]:
            for pod in world.pods_of[place]:
                if pod.leader and endpoint["port"] not in ports_of([pod.engine]):
                    yield f"{called(monitor)}: {pod.name} has no port {endpoint['port']}"


def probes_ask_only_who_listens(world: World) -> Iterator[str]:
    """Leaders have all three probes on a named port; a headless worker has none."""
    kinds = ("startupProbe", "readinessProbe", "livenessProbe")
    for pod in world.pods:
        engine = pod.engine
        asked = [kind for kind in kinds if kind in engine]
        yield from differ(f"probes of {pod.name}", asked, list(kinds) if pod.leader else [])
        for kind in asked:
            port = engine[kind]["httpGet"]["port"]
            if not isinstance(port, str) or port not in ports_of([engine]):
                yield f"{pod.name}: {kind} asks port {port}, which has no such name there"
        headless = "--headless" in flags_of(engine)
        yield from differ(f"{pod.name} is headless", headless, not pod.leader)


def ranks_fill_the_requested_gpus(world: World) -> Iterator[str]:
    """Flags of every pod of a group agree, and their product is the group's GPUs."""
    sizes = (
        "--tensor-parallel-size",
        "--pipeline-parallel-size",
        "--data-parallel-size",
        "--prefill-context-parallel-size",
    )
    for workload in world.workloads:
        size = size_of(workload)
        gpus = [requests_of(template)["nvidia.com/gpu"] for _, template in templates_of(workload)]
        yield from differ(f"GPUs a pod of {called(workload)}", len(set(gpus)), 1)
        for role, template in templates_of(workload):
            engine = template["spec"]["containers"][0]
            flags = flags_of(engine)
            ranks = 1
            for name in sizes:
                ranks *= int(flags.get(name, "1"))
            yield from differ(f"ranks of {called(workload)} {role}", ranks, size * gpus[0])
            if size > 1:
                rank = "0" if role == "leaderTemplate" else "$(LWS_WORKER_INDEX)"
                seen = (flags.get("--nnodes"), flags.get("--node-rank"), flags.get("--master-addr"))
                wanted = ("$(LWS_GROUP_SIZE)", rank, "$(LWS_LEADER_ADDRESS)")
                yield from differ(f"place of {called(workload)} {role}", seen, wanted)
            elif "--nnodes" in flags:
                yield f"{called(workload)}: --nnodes for one pod"


def templates_schedule_alike(world: World) -> Iterator[str]:
    """Leader and worker differ in what the engine's container runs and in nothing that decides where they go."""
    own = (
        "command",
        "args",
        "ports",
        "startupProbe",
        "readinessProbe",
        "livenessProbe",
        "lifecycle",
    )
    for workload in world.workloads:
        stripped = []
        for _, template in templates_of(workload):
            containers = [
                {key: value for key, value in one.items() if key not in own}
                for one in template["spec"]["containers"]
            ]
            spec = {**template["spec"], "containers": containers}
            stripped.append({"metadata": template["metadata"], "spec": spec})
        if any(one != stripped[0] for one in stripped):
            yield f"{called(workload)}: the templates differ in more than what they run"


def requests_are_limits(world: World) -> Iterator[str]:
    """GPUs and memory are not overcommitted, and /dev/shm leaves memory for the engine."""
    for workload in world.workloads:
        for role, template in templates_of(workload):
            where = f"{called(workload)} {role}"
            spec = template["spec"]
            shared = [
                quantity(volume["emptyDir"]["sizeLimit"])
                for volume in spec["volumes"]
                if volume.get("emptyDir", {}).get("medium") == "Memory"
            ]
            yield from differ(f"{where} memory volumes", len(shared), 1)
            engine = spec["containers"][0]
            requests, limits = engine["resources"]["requests"], engine["resources"]["limits"]
            if quantity(requests["memory"]) <= sum(shared):
                yield f"{where}: /dev/shm takes all of {requests['memory']}"
            for name in requests:
                if "/" in name or name in ("memory", "ephemeral-storage"):
                    yield from differ(f"{where} limit of {name}", limits.get(name), requests[name])
            if not {"cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"} <= set(requests):
                yield f"{where}: requests only {sorted(requests)}"
            mounts = [mount["mountPath"] for mount in engine["volumeMounts"]]
            if "/dev/shm" not in mounts:
                yield f"{where}: /dev/shm is not mounted"


# ── who admits ───────────────────────────────────────────────────────────────────────────────────


def quotas_hold_exactly_the_peak(world: World) -> Iterator[str]:
    """The sum of most groups and max(surge, spare) over the servings of a queue, for every resource name."""
    sums: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for place in world.pods_of:
        workload = world.workloads_of(place)[0]
        if (queue := queue_of(world, workload)) is not None:
            for name, amount in peak_of(world, place).items():
                sums[queue][name] += amount
    quotas: dict[tuple[str, str], Counter[str]] = {}
    for one in world.of("ClusterQueue"):
        total: Counter[str] = Counter()
        (group,) = one["spec"]["resourceGroups"]
        for flavor in group["flavors"]:
            names = [each["name"] for each in flavor["resources"]]
            yield from differ(
                f"{called(one)} {flavor['name']} order", names, group["coveredResources"]
            )
            for each in flavor["resources"]:
                total[each["name"]] += quantity(each["nominalQuota"])  # type: ignore[assignment]
        quotas["ClusterQueue", name_of(one)] = total
    for one in world.of("Queue"):
        capability = one["spec"]["capability"]
        quotas["Queue", name_of(one)] = Counter(
            {name: quantity(amount) for name, amount in capability.items()}
        )
    yield from differ("queues", sorted(quotas), sorted(sums))
    for queue in quotas:
        yield from differ(f"quota of {queue}", dict(quotas[queue]), dict(sums[queue]))


def queue_of(world: World, workload: Object) -> tuple[str, str] | None:
    """Kind and name of the queue that admits a workload, followed from object to object."""
    metadata, space = workload["metadata"], space_of(workload)
    if (name := metadata["labels"].get(QUEUE)) is not None:
        local = world.places["LocalQueue"][space, name]
        return ("ClusterQueue", local["spec"]["clusterQueue"])
    pod = templates_of(workload)[0][1]["metadata"].get("annotations", {})
    if GROUP_NAME in pod:
        return ("Queue", world.places["PodGroup"][space, pod[GROUP_NAME]]["spec"]["queue"])
    queues = {metadata.get("annotations", {}).get(VOLCANO_QUEUE), pod.get(VOLCANO_QUEUE)} - {None}
    assert len(queues) <= 1, f"{called(workload)} names two queues"
    return ("Queue", str(queues.pop())) if queues else None


def backend_of(workload: Object) -> str:
    """Who admits a workload, as its object says."""
    if QUEUE in workload["metadata"]["labels"]:
        return "kueue"
    template = templates_of(workload)[0][1]
    return str(template["spec"].get("schedulerName", "default-scheduler"))


def a_pool_has_one_backend(world: World) -> Iterator[str]:
    """Two would promise the same nodes twice."""
    found: defaultdict[tuple[tuple[str, str], ...], set[str]] = defaultdict(set)
    for workload in world.workloads:
        for _, template in templates_of(workload):
            nodes = tuple(sorted(template["spec"]["nodeSelector"].items()))
            found[nodes].add(backend_of(workload))
    for nodes, backends in found.items():
        if len(backends) > 1:
            yield f"{dict(nodes)} is admitted by {sorted(backends)}"


def pod_groups_hold_their_group(world: World) -> Iterator[str]:
    """A PodGroup of ours is as large as the group that joins it, and somebody joins it."""
    joined: Counter[Place] = Counter()
    for workload in world.workloads:
        names = {
            template["metadata"].get("annotations", {}).get(GROUP_NAME)
            for _, template in templates_of(workload)
        }
        yield from differ(f"PodGroups of {called(workload)}", len(names), 1)
        name = names.pop()
        if name is None:
            continue
        joined[space_of(workload), name] += 1
        group = world.places["PodGroup"].get((space_of(workload), name))
        if group is None:
            yield f"{called(workload)} joins PodGroup {name}, which is not there"
            continue
        spec = group["spec"]
        yield from differ(f"{called(group)} members", spec["minMember"], size_of(workload))
        yield from differ(f"groups that join {called(group)}", world.highest(workload), 1)
        yield from differ(f"surge into {called(group)}", surge_of(workload), 0)
        seen = {key: quantity(amount) for key, amount in spec["minResources"].items()}
        yield from differ(f"{called(group)} resources", seen, dict(group_of(workload)))
    yield from differ("PodGroups", sorted(joined), sorted(world.places["PodGroup"]))
    yield from (f"{count} workloads join {place}" for place, count in joined.items() if count > 1)


def topology_is_asked_for_whole(world: World) -> Iterator[str]:
    """Kueue: one request and one group name, alike on both templates; less is accepted and split over racks."""
    for workload in world.workloads:
        seen = []
        for _, template in templates_of(workload):
            notes = template["metadata"].get("annotations", {})
            seen.append({key: notes[key] for key in (REQUIRED, PREFERRED, JOINED) if key in notes})
        if any(one != seen[0] for one in seen):
            yield f"{called(workload)}: the templates ask for different places"
        if seen[0] and (JOINED not in seen[0] or len(seen[0]) != 2 or seen[0][JOINED].isdecimal()):
            yield f"{called(workload)}: asks for {seen[0]}"
    for group in world.of("PodGroup"):
        topology = group["spec"].get("networkTopology")
        if topology is not None and topology["mode"] == "hard":
            tier = topology["highestTierAllowed"]
            if not any(one["spec"]["tier"] == tier for one in world.of("HyperNode")):
                yield f"{called(group)}: no HyperNode has tier {tier}"


def required_levels_are_kept(world: World) -> Iterator[str]:
    """What a serving requires stands somewhere; nothing is dropped in silence."""
    for place, serving in world.servings.items():
        request = serving.topology
        if request is None or request.mode != "required":
            continue
        for workload in world.workloads_of(place):
            if size_of(workload) == 1:
                continue
            notes = templates_of(workload)[0][1]["metadata"].get("annotations", {})
            owner = workload["metadata"].get("annotations", {})
            group = world.places["PodGroup"].get((place[0], notes.get(GROUP_NAME, "")), {})
            kept = (
                notes.get(REQUIRED) == request.level
                or owner.get(f"{LWS}exclusive-topology") == request.level
                or group.get("spec", {}).get("networkTopology", {}).get("mode") == "hard"
            )
            if not kept:
                yield f"{called(workload)}: nothing keeps a group inside one {request.level}"


# ── references and names ─────────────────────────────────────────────────────────────────────────


def references_resolve(world: World) -> Iterator[str]:
    """From the queue label to the nodes, and from the pods to what they mount: everything is made or declared."""
    for workload in world.workloads:
        space, where = space_of(workload), called(workload)
        labels = workload["metadata"]["labels"]
        if QUEUE in labels:
            yield from _queue_chain(world, workload)
        if KUEUE_PRIORITY in labels and not world.has(
            "WorkloadPriorityClass", "", labels[KUEUE_PRIORITY]
        ):
            yield f"{where}: no WorkloadPriorityClass {labels[KUEUE_PRIORITY]}"
        queue = queue_of(world, workload)
        if queue is not None and not world.has(queue[0], "", queue[1]):
            yield f"{where}: no {queue[0]} {queue[1]}"
        declared = declared_by(world.servings[space, serving_of(workload)])
        for _, template in templates_of(workload):
            for kind, name in named_by(template):
                made = world.has(kind, space, name)
                yield from differ(
                    f"{where} names {kind} {name}: known", made or (kind, name) in declared, True
                )
        for claim in (
            workload["spec"].get("leaderWorkerTemplate", {}).get("volumeClaimTemplates", ())
        ):
            storage = ("StorageClass", claim["spec"].get("storageClassName"))
            if storage[1] is not None and storage not in declared:
                yield f"{where}: a claim names {storage}"


def _queue_chain(world: World, workload: Object) -> Iterator[str]:
    where, space = called(workload), space_of(workload)
    name = workload["metadata"]["labels"][QUEUE]
    local = world.places["LocalQueue"].get((space, name))
    if local is None:
        yield f"{where}: no LocalQueue {name} in {space}"
        return
    queue = world.places["ClusterQueue"].get(("", local["spec"]["clusterQueue"]))
    if queue is None:
        yield f"{called(local)}: no ClusterQueue {local['spec']['clusterQueue']}"
        return
    (namespaces,) = queue["spec"]["namespaceSelector"]["matchExpressions"]
    if space not in namespaces["values"]:
        yield f"{called(queue)} does not take namespace {space}"
    template = templates_of(workload)[0][1]
    fitting = []
    for entry in queue["spec"]["resourceGroups"][0]["flavors"]:
        flavor = world.places["ResourceFlavor"].get(("", entry["name"]))
        if flavor is None:
            yield f"{called(queue)}: no ResourceFlavor {entry['name']}"
            continue
        labels = flavor["spec"]["nodeLabels"]
        if labels.items() <= template["spec"]["nodeSelector"].items():
            fitting.append(flavor)
    yield from differ(f"flavors for {where}", len(fitting), 1)
    for flavor in fitting:
        tolerated = template["spec"].get("tolerations", [])
        for toleration in flavor["spec"].get("tolerations", ()):
            if toleration not in tolerated:
                yield f"{where} does not tolerate {toleration['key']}, its flavor does"
        notes = template["metadata"].get("annotations", {})
        level = notes.get(REQUIRED, notes.get(PREFERRED))
        if level is None:
            continue
        topology = world.places["Topology"].get(("", flavor["spec"].get("topologyName", "")))
        if topology is None:
            yield f"{called(flavor)}: no Topology, and {where} asks for {level}"
        elif level not in [each["nodeLabel"] for each in topology["spec"]["levels"]]:
            yield f"{called(topology)} has no level {level}"


def named_by(template: Object) -> Iterator[tuple[str, str]]:
    """Kind and name of everything in its namespace that a pod needs."""
    spec = template["spec"]
    yield ("ServiceAccount", spec["serviceAccountName"])
    yield from (("Secret", one["name"]) for one in spec.get("imagePullSecrets", ()))
    for volume in spec["volumes"]:
        if "persistentVolumeClaim" in volume:
            yield ("PersistentVolumeClaim", volume["persistentVolumeClaim"]["claimName"])
        if "ephemeral" in volume:
            claim = volume["ephemeral"]["volumeClaimTemplate"]["spec"]
            if "storageClassName" in claim:
                yield ("StorageClass", claim["storageClassName"])
    for container in spec["containers"]:
        for variable in container.get("env", ()):
            reference = variable.get("valueFrom", {}).get("secretKeyRef")
            if reference is not None:
                yield ("Secret", reference["name"])


def declared_by(serving: Serving) -> set[tuple[str, str]]:
    """What a serving says exists beside the bundle."""
    weights, pods = serving.weights, serving.pods
    found = {("Secret", name) for name in pods.image_pull_secrets}
    for kind, name in (
        ("Secret", weights.token.name if weights.token else None),
        ("PersistentVolumeClaim", weights.claim),
        ("StorageClass", weights.storage_class),
        ("ServiceAccount", pods.service_account_name),
    ):
        if name is not None:
            found.add((kind, name))
    return found


def names_stay_in_bounds(world: World) -> Iterator[str]:
    """At the highest index that rollout and autoscaler reach, with the longest hash that was seen."""
    for pod in world.pods:
        if len(pod.name) > 63:
            yield f"pod {pod.name} has {len(pod.name)} characters"
        for key, value in pod.labels.items():
            if len(value) > 63:
                yield f"pod {pod.name}: {key} has {len(value)} characters"
    for workload in world.workloads:
        highest = world.highest(workload) + surge_of(workload) - 1
        if QUEUE in workload["metadata"]["labels"] and workload["kind"] == "LeaderWorkerSet":
            text = f"leaderworkerset-{name_of(workload)}-{highest}-{RANDOM}"
            if len(text) > 63 and world.kueue is not None and world.kueue < (0, 18):
                yield f"{called(workload)}: Workload {text} is a label of {len(text)} characters"
    taken: Counter[tuple[str, str, str]] = Counter()
    for one in world.objects:
        taken[one["kind"], space_of(one), name_of(one)] += 1
        # LeaderWorkerSet makes a headless Service under its own name.
        if one["kind"] == "LeaderWorkerSet":
            taken["Service", space_of(one), name_of(one)] += 1
        limit = 63 if one["kind"] == "Service" else 253
        if len(name_of(one)) > limit:
            yield f"{called(one)} has {len(name_of(one))} characters"
        for key, value in one["metadata"].get("labels", {}).items():
            if len(value) > 63 or len(key.rpartition("/")[2]) > 63:
                yield f"{called(one)}: label {key}={value} is too long"
    yield from (f"{each} stands {count} times" for each, count in taken.items() if count > 1)
    pods = Counter((pod.namespace, pod.name) for pod in world.pods)
    yield from (
        f"pod {pod} would be made {count} times" for pod, count in pods.items() if count > 1
    )


def namespaces_are_right(world: World) -> Iterator[str]:
    """A cluster-scoped object has no namespace; every other has the one of its serving."""
    for one in world.objects:
        if one["kind"] in CLUSTER_SCOPED:
            yield from differ(f"{called(one)} namespace", "namespace" in one["metadata"], False)
        elif one["kind"] != "LocalQueue":
            place = space_of(one), serving_of(one)
            if place not in world.servings:
                yield f"{called(one)} is for no serving"


# ── what is written ──────────────────────────────────────────────────────────────────────────────


def nothing_is_left_to_defaults(world: World) -> Iterator[str]:
    """What decides about groups is always written: a default is another release's opinion."""
    for workload in world.workloads:
        where, spec = called(workload), workload["spec"]
        rolling = _rolling(workload)
        pair = (rolling.get("maxSurge"), rolling.get("maxUnavailable"))
        if not all(isinstance(each, int) for each in pair) or pair == (0, 0):
            yield f"{where}: maxSurge and maxUnavailable are {pair}"
        if workload["kind"] == "LeaderWorkerSet":
            group = spec["leaderWorkerTemplate"]
            for key in ("size", "restartPolicy", "leaderTemplate", "workerTemplate"):
                if key not in group:
                    yield f"{where}: {key} is missing"
            if "startupPolicy" not in spec:
                yield f"{where}: startupPolicy is missing"
            if group["restartPolicy"] not in (
                "None",
                "RecreateGroupAfterStart",
                "RecreateGroupOnPodRestart",
            ):
                yield f"{where}: restartPolicy {group['restartPolicy']}"
        for _, template in templates_of(workload):
            pod = template["spec"]
            yield from differ(f"{where} links", pod.get("enableServiceLinks"), False)
            yield from differ(f"{where} restarts", pod.get("restartPolicy", "Always"), "Always")
            grace, sleep = pod["terminationGracePeriodSeconds"], 0
            hook = pod["containers"][0].get("lifecycle")
            if hook is not None:
                sleep = int(hook["preStop"]["exec"]["command"][-1])
            if grace <= sleep:
                yield f"{where}: grace of {grace}s ends within preStop of {sleep}s"


SAYS_NONE = {"restartPolicy", "sessionAffinity", "stopPolicy"}
"""Fields in which `None` is a word of Kubernetes."""


def leaves_are_plain(world: World) -> Iterator[str]:
    """No Python value has been printed, no number is a float, and metadata holds nothing empty."""

    def walk(node: Any, path: tuple[str, ...]) -> Iterator[str]:
        if isinstance(node, Mapping):
            if not node and "metadata" in path:
                yield f"{'.'.join(path)} is an empty map"
            for key, value in node.items():
                yield from walk(value, (*path, str(key)))
        elif isinstance(node, list | tuple):
            if not node:
                yield f"{'.'.join(path)} is an empty list"
            for index, value in enumerate(node):
                yield from walk(value, (*path, str(index)))
        elif node is None or isinstance(node, float):
            yield f"{'.'.join(path)} is {node!r}"
        elif isinstance(node, str):
            if node == "None" and path[-1] not in SAYS_NONE:
                yield f"{'.'.join(path)} is the text None"
            if re.search(r"<[\w.]+ object at|\bFraction\(|\bDecimal\(|\{\w*\}", node) and not (
                "{{" in node or "expr" in path
            ):
                yield f"{'.'.join(path)} is a printed value: {node[:60]}"

    for one in world.objects:
        for fault in walk(one, ()):
            yield f"{called(one)}: {fault}"


def everything_is_owned_and_no_pod_says_so(world: World) -> Iterator[str]:
    """The label makes a file ours; on a pod template it would change with the tool."""
    for one in world.objects:
        yield from differ(called(one), one["metadata"].get("labels", {}).get(OWNER), "gangform")
        yield from differ(
            f"{called(one)} begins", list(one)[:3], ["apiVersion", "kind", "metadata"]
        )
    for workload in world.workloads:
        for role, template in templates_of(workload):
            if OWNER in template["metadata"].get("labels", {}):
                yield f"{called(workload)} {role} carries {OWNER}"


def completing_changes_nothing(world: World) -> Iterator[str]:
    """What is written is what the server stores: a second completion adds nothing."""
    for one in world.objects:
        if complete(one) != one:
            yield f"{called(one)} is not complete"


def waves_lead_to_the_workload(world: World) -> Iterator[str]:
    """Either every object says its wave or none does; nothing that a workload needs comes after it."""
    waves = {called(one): one["metadata"].get("annotations", {}).get(WAVE) for one in world.objects}
    if len({wave is None for wave in waves.values()}) > 1:
        yield "some objects have a sync wave and others none"
        return
    firsts = {
        place: min(int(waves[called(one)] or 0) for one in world.workloads_of(place))
        for place in world.pods_of
    }
    for one in world.objects:
        if one["kind"] in ("LeaderWorkerSet", "Deployment"):
            continue
        place = space_of(one), serving_of(one)
        # What belongs to no serving is for all of them.
        first = firsts.get(place, min(firsts.values()))
        if int(waves[called(one)] or 0) > first:
            yield f"{called(one)} comes after the workload of {place}"


INVARIANTS: tuple[Callable[[World], Iterator[str]], ...] = (
    services_reach_exactly_the_leaders,
    monitors_scrape_exactly_the_leaders,
    policies_shield_exactly_the_pods,
    budgets_cover_a_set_or_one_group,
    autoscalers_move_their_workload,
    ports_are_named_where_something_listens,
    probes_ask_only_who_listens,
    ranks_fill_the_requested_gpus,
    templates_schedule_alike,
    requests_are_limits,
    quotas_hold_exactly_the_peak,
    a_pool_has_one_backend,
    pod_groups_hold_their_group,
    topology_is_asked_for_whole,
    required_levels_are_kept,
    references_resolve,
    names_stay_in_bounds,
    namespaces_are_right,
    nothing_is_left_to_defaults,
    leaves_are_plain,
    everything_is_owned_and_no_pod_says_so,
    completing_changes_nothing,
    waves_lead_to_the_workload,
)
"""All of them, one subject each."""
