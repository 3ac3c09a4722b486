"""Invariants of who selects whom: services, monitors, policies, budgets and autoscalers."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from tests.invariant.pods import ports_of
from tests.world import (
    SCALERS,
    Object,
    World,
    bounds_of,
    called,
    differ,
    name_of,
    serving_of,
    space_of,
)


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
    """The target exists, has no other autoscaler and leaves its number to it; it asks for series that leaders have."""
    targets = Counter(
        (
            space_of(one),
            one["spec"]["scaleTargetRef"]["kind"],
            one["spec"]["scaleTargetRef"]["name"],
        )
        for one in world.of(*SCALERS)
    )
    yield from (
        f"{target} has {count} autoscalers" for target, count in targets.items() if count > 1
    )
    for scaler in world.of(*SCALERS):
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
        least, most = bounds_of(scaler)
        if not 0 <= least <= most or (least == 0 and scaler["kind"] == "HorizontalPodAutoscaler"):
            yield f"{called(scaler)}: from {least} to {most} groups"
        for key, value in asked_labels(scaler):
            # An adapter puts the key into the query as it stands: one with dots or a slash does not parse.
            if (key, value) not in on_pods or key not in carried:
                yield f"{called(scaler)}: no series of a leader carries {key}={value}"
        for direction in behavior_of(scaler).values():
            for policy in direction["policies"]:
                if (policy["type"], policy["value"]) != ("Pods", 1):
                    yield f"{called(scaler)}: a step of {policy['value']} {policy['type']}"
    for workload in world.workloads:
        scaled = (space_of(workload), workload["kind"], name_of(workload)) in world.scaled
        yield from differ(
            f"{called(workload)} has replicas", "replicas" in workload["spec"], not scaled
        )


def asked_labels(scaler: Object) -> Iterator[tuple[str, str]]:
    """Labels of the series that an autoscaler asks for, its namespace left out."""
    for metric in scaler["spec"].get("metrics", ()):
        of = metric[metric["type"].lower()]["metric"]
        yield from of.get("selector", {}).get("matchLabels", {}).items()
    for trigger in scaler["spec"].get("triggers", ()):
        labels = dict(re.findall(r'(\w+)="([^"]*)"', trigger["metadata"]["query"]))
        if trigger["name"] != "buffer":
            assert labels.pop("namespace") == space_of(scaler), f"{called(scaler)} asks elsewhere"
            yield from labels.items()


def behavior_of(scaler: Object) -> Object:
    """How an autoscaler moves."""
    spec = scaler["spec"]
    found: Object = (
        spec["behavior"]
        if "behavior" in spec
        else spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]
    )
    return found


def spelled(key: str) -> str:
    """A label of a pod as Prometheus carries it."""
    return re.sub(r"[^a-zA-Z0-9_]", "_", key)
