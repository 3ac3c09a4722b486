"""Invariants of what is written: nothing left to a default, owned, in waves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from tests.world import (
    OWNER,
    WAVE,
    World,
    called,
    differ,
    rolling_of,
    serving_of,
    space_of,
    templates_of,
)

from gangform.apis.core import complete


def nothing_is_left_to_defaults(world: World) -> Iterator[str]:
    """What decides about groups is always written: a default is another release's opinion."""
    for workload in world.workloads:
        where, spec = called(workload), workload["spec"]
        rolling = rolling_of(workload)
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
