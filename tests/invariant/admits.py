"""Invariants of who admits: quotas, pod groups and topology."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator

from tests.world import (
    GROUP_NAME,
    JOINED,
    LWS,
    PREFERRED,
    QUEUE,
    REQUIRED,
    VOLCANO_QUEUE,
    Object,
    Place,
    World,
    called,
    differ,
    group_of,
    name_of,
    peak_of,
    size_of,
    space_of,
    surge_of,
    templates_of,
)

from gangform.units import quantity


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
