"""Faults of sets of groups: their names, rollouts, queues, gangs and domains."""

from __future__ import annotations

from typing import Any

from tests.cases.fault_kinds import Kind, noting
from tests.cases.reading import LWS, Object, World, engine, groups, labels, templates, variables

KINDS: dict[str, Kind] = {}
kind = noting(KINDS)


@kind("topology-level-unknown", "levels come from the pool that the Topology is made of")
def _level(world: World) -> bool:
    known = {level["nodeLabel"] for one in world.of("Topology") for level in one["spec"]["levels"]}
    asked = {
        value
        for template in templates(world)
        for key, value in template.get("metadata", {}).get("annotations", {}).items()
        if key.startswith("kueue.x-k8s.io/podset-") and key.endswith("-topology")
    }
    return not asked <= known


@kind("slice-size-remainder", "no slices are written")
def _slices(world: World) -> bool:
    for group in groups(world):
        apart = group.leader is not group.worker
        for template in group.templates:
            notes = template.get("metadata", {}).get("annotations", {})
            size = notes.get("kueue.x-k8s.io/podset-slice-size")
            if size and (group.size - apart) % int(size):
                return True
    return False


@kind("queue-label-wrong-object", "the queue stands on the set that Kueue knows, and on it alone")
def _queue(world: World) -> bool:
    key = "kueue.x-k8s.io/queue-name"
    served = {"LeaderWorkerSet", "Deployment"}
    return any(
        key in each["metadata"].get("labels", {}) and each["kind"] not in served
        for each in world.objects
    ) or any(key in labels(template) for template in templates(world))


@kind(
    "gang-not-formed",
    "a backend with a scheduler of its own has PodGroups, or the provider that makes them",
)
def _gang(world: World) -> bool:
    def held(template: Object) -> bool:
        notes = template.get("metadata", {}).get("annotations", {})
        return world.provider or world.has(
            "PodGroup", notes.get("scheduling.k8s.io/group-name", "")
        )

    usual = ("default-scheduler", None)
    return any(
        one["spec"].get("schedulerName") not in usual and not held(one) for one in templates(world)
    )


@kind(
    "exclusive-topology-domains", "a surge needs room in the plan's inventory before it is proposed"
)
def _domains(world: World) -> bool:
    for group in groups(world):
        level = group.owner["metadata"].get("annotations", {}).get(LWS + "exclusive-topology")
        peak = int(group.spec.get("replicas", 1)) + int(group.rolling.get("maxSurge", 0))
        if level and peak > world.domains[level]:
            return True
    return False


@kind("compute-domain-size", "no compute domains are written")
def _compute(world: World) -> bool:
    sizes = {group.size for group in groups(world)}
    return any(one["spec"]["numNodes"] not in sizes for one in world.of("ComputeDomain"))


@kind("name-too-long", "the bound at the highest index is checked in the plan")
def _long(world: World) -> bool:
    return any(
        len(group.name) > (50 if group.size > 1 else 52)
        for group in groups(world)
        if group.owner["kind"] == "LeaderWorkerSet"
    )


@kind("template-asymmetry", "both templates are built from one section of the plan")
def _asymmetry(world: World) -> bool:
    def alike(template: Object) -> list[Any]:
        spec = template["spec"]
        scheduled = ("nodeSelector", "affinity", "tolerations", "schedulerName", "volumes")
        return [*(spec.get(name) for name in scheduled), variables(engine(template))]

    return any(
        alike(group.leader) != alike(group.worker)
        for group in groups(world)
        if group.worker is not None
    )


@kind("ignored-field", "templates have labels and annotations, and no name")
def _ignored(world: World) -> bool:
    return any("name" in template.get("metadata", {}) for template in templates(world))


@kind(
    "restart-policy-default",
    "the policy is one that the server stores as written, and rebuilds groups",
)
def _restart(world: World) -> bool:
    return any(
        group.size > 1
        and group.spec["leaderWorkerTemplate"].get("restartPolicy") in ("Default", "None")
        for group in groups(world)
    )


@kind("rollout-outage", "a surge is only proposed with no group unavailable")
def _outage(world: World) -> bool:
    return any(
        group.rolling.get("maxSurge")
        and group.rolling.get("maxUnavailable", 1) >= group.spec.get("replicas", 1)
        for group in groups(world)
    )
