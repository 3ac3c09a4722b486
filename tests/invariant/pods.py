"""Invariants of what pods do: ports, probes, ranks, places and amounts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.world import (
    ENGINE,
    Object,
    World,
    called,
    differ,
    flags_of,
    requests_of,
    serving_of,
    size_of,
    space_of,
    templates_of,
)

from gangform.units import quantity


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


def node_autoscalers_stay_off_every_pod_or_none(world: World) -> Iterator[str]:
    """A cluster has one node autoscaler at the most, and a group is safe from it only as a whole."""
    stays = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}
    stays["karpenter.sh/do-not-disrupt"] = "true"
    found: dict[str, set[str | None]] = {key: set() for key in stays}
    for workload in world.workloads:
        for _, template in templates_of(workload):
            for key, values in found.items():
                values.add(template["metadata"].get("annotations", {}).get(key))
    for key, values in found.items():
        if len(values) > 1 or not values <= {None, stays[key]}:
            yield f"{key}: {', '.join(sorted(map(str, values)))} on the pods of one cluster"
    if all(values == {stays[key]} for key, values in found.items()):
        yield "two node autoscalers are kept away"


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
