"""Faults of what stands around a set: Services, budgets, autoscalers, monitors and references."""

from __future__ import annotations

import re

import yaml
from tests.cases.fault_kinds import Kind, noting
from tests.cases.reading import (
    BY_GROUP,
    Group,
    Object,
    World,
    aimed,
    engine,
    flag,
    gpus,
    groups,
    said,
    scalers,
    selector,
    selects,
    traffic,
)

KINDS: dict[str, Kind] = {}
kind = noting(KINDS)


@kind("readiness-missing", "every engine that serves has all three probes")
def _unready(world: World) -> bool:
    leaders = [engine(group.leader) for group in groups(world)]
    return any(gpus(one) and "readinessProbe" not in one for one in leaders)


@kind("startup-budget-too-short", "the budget is the cold start times a margin")
def _budget(world: World) -> bool:
    def allowed(group: Group) -> int:
        probe = engine(group.leader).get("startupProbe", {})
        return int(probe.get("periodSeconds", 0)) * int(probe.get("failureThreshold", 0))

    return any(allowed(group) < world.cold_start.get(group.name, 0) for group in groups(world))


@kind("hpa-cpu-on-gpu-engine", "the signal is the engine's queue")
def _cpu(world: World) -> bool:
    return any(
        metric["type"] == "Resource"
        for each, group in scalers(world)
        for metric in each["spec"].get("metrics", [])
        if gpus(engine(group.leader))
    )


@kind("replicas-owned-by-autoscaler", "replicas are left out where an autoscaler writes them")
def _owned(world: World) -> bool:
    return any("replicas" in group.spec for _, group in scalers(world))


METRICS = {"num_requests_waiting", "num_requests_running", "kv_cache_usage_perc", "num_queue_reqs"}


def _metrics(each: Object) -> list[tuple[str, str]]:
    return re.findall(r"(vllm|sglang)[:_]([a-z_]+)", yaml.safe_dump(each["spec"]))


@kind("metric-unknown", "the metric is the engine's own word for requests that wait")
def _unknown(world: World) -> bool:
    return any(name not in METRICS for each, _ in scalers(world) for _, name in _metrics(each))


@kind("metric-not-exported", "vLLM exports its series unless told not to, and nothing tells it")
def _unexported(world: World) -> bool:
    return any(
        ("sglang" in words and "--enable-metrics" not in words) or "--disable-log-stats" in words
        for each, group in scalers(world)
        if _metrics(each)
        for words in [said(engine(group.leader))]
    )


@kind("monitor-selects-workers", "the monitor selects leaders, as the Service does")
def _monitor(world: World) -> bool:
    return any(
        selects(selector(each), group, worker=True)
        for each in world.of("PodMonitor", "ServiceMonitor")
        for group in aimed(world, each)
    )


@kind("service-port-unserved", "port and targetPort come from the launch that the container has")
def _port(world: World) -> bool:
    for each in traffic(world):
        opened = {
            value
            for group in aimed(world, each)
            for one in group.leader["spec"]["containers"]
            for port in one.get("ports", [])
            for value in port.values()
        }
        opened |= {int(flag(engine(group.leader), "port") or 0) for group in aimed(world, each)}
        if any(port["targetPort"] not in opened for port in each["spec"]["ports"]):
            return True
    return False


@kind("service-name-collides", "the Service of the leaders is called after the set with a suffix")
def _collides(world: World) -> bool:
    return any(
        group.size > 1
        and group.spec.get("networkConfig", {}).get("subdomainPolicy", "Shared") == "Shared"
        and world.has("Service", group.name)
        for group in groups(world)
    )


@kind("service-selects-subset", "selectors have no label that differs from group to group")
def _subset(world: World) -> bool:
    return any(BY_GROUP & set(selector(each)) for each in traffic(world))


@kind("service-selects-workers", "selectors name the worker index of leaders")
def _workers(world: World) -> bool:
    return any(
        selects(selector(each), group, worker=True)
        for each in traffic(world)
        for group in aimed(world, each)
    )


@kind("selector-matches-nothing", "selectors and labels come from one place in the plan")
def _nothing(world: World) -> bool:
    kinds = ("Service", "PodDisruptionBudget", "PodMonitor", "InferencePool")
    return any(not aimed(world, each) for each in world.of(*kinds))


@kind(
    "pdb-allows-many-groups",
    "one budget of one pod for the set, or one of the whole size for each group",
)
def _many(world: World) -> bool:
    for each in world.of("PodDisruptionBudget"):
        for group in aimed(world, each):
            one_group = BY_GROUP & set(selector(each))
            pods = group.size * (1 if one_group else int(group.spec.get("replicas", 1)))
            least = each["spec"].get("minAvailable")
            away = each["spec"].get("maxUnavailable") if least is None else pods - least
            if away > 1:
                return True
    return False


@kind("reference-unresolved", "what is named is made beside it, or promised as a prerequisite")
def _unresolved(world: World) -> bool:
    named = [
        (ref["kind"], ref["name"])
        for each in world.of("HTTPRoute")
        for one in each["spec"]["rules"]
        for ref in one["backendRefs"]
    ]
    named += [("ClusterQueue", one["spec"]["clusterQueue"]) for one in world.of("LocalQueue")]
    named += [
        ("ResourceFlavor", flavor["name"])
        for each in world.of("ClusterQueue")
        for one in each["spec"]["resourceGroups"]
        for flavor in one["flavors"]
    ]
    named += [
        ("Topology", one["spec"]["topologyName"])
        for one in world.of("ResourceFlavor")
        if "topologyName" in one["spec"]
    ]
    for each in world.of("HorizontalPodAutoscaler", "ScaledObject"):
        target = each["spec"]["scaleTargetRef"]
        named.append((target["kind"], target["name"]))
    return not all(world.has(*pair) for pair in named)
