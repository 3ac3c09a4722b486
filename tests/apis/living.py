"""Living objects of every kind that has a table of effects, and edits of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
Edit = Callable[[Object], object]

QUEUE, PRIORITY = "kueue.x-k8s.io/queue-name", "kueue.x-k8s.io/priority-class"
LEVEL = "kueue.x-k8s.io/podset-required-topology"
RACK = {"matchLabels": {"rack": "r0"}}
SCALED = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "r1"}
EXCLUSIVE = "leaderworkerset.sigs.k8s.io/exclusive-topology"


def pod() -> Object:
    return {
        "metadata": {"labels": {"app": "r1"}, "annotations": {LEVEL: "rack"}},
        "spec": {
            "initContainers": [{"name": "fetch", "image": "fetch:1"}],
            "containers": [
                {
                    "name": "engine",
                    "image": "engine:1",
                    "args": ["serve", "/models"],
                    "ports": [{"name": "http", "containerPort": 8000}],
                    "resources": {"requests": {"cpu": "8"}, "limits": {"cpu": "8"}},
                }
            ],
        },
    }


def meta(name: str, **labels: str) -> Object:
    return {"name": name, "namespace": "llm", "labels": {"team": "a", **labels}}


def base(kind: str, *, queued: bool = False) -> Object:
    """A living object."""
    labels = {QUEUE: "serving", PRIORITY: "high"} if queued else {}
    specs: dict[str, tuple[str, Object]] = {
        "LeaderWorkerSet": (
            "leaderworkerset.x-k8s.io/v1",
            {
                "replicas": 2,
                "rolloutStrategy": {
                    "rollingUpdateConfiguration": {"partition": 0, "maxUnavailable": 1}
                },
                "leaderWorkerTemplate": {
                    "size": 2,
                    "subGroupPolicy": {"subGroupSize": 2},
                    "leaderTemplate": pod(),
                    "workerTemplate": pod(),
                },
            },
        ),
        "DisaggregatedSet": (
            "disaggregatedset.x-k8s.io/v1",
            {
                "roles": [
                    {
                        "name": name,
                        "spec": {"replicas": 2, "leaderWorkerTemplate": {"workerTemplate": pod()}},
                    }
                    for name in ("prefill", "decode", "encode")
                ]
            },
        ),
        "Deployment": (
            "apps/v1",
            {"replicas": 2, "selector": {"matchLabels": {"app": "r1"}}, "template": pod()},
        ),
        "Service": (
            "v1",
            {
                "clusterIP": "None",
                "clusterIPs": ["None"],
                "selector": {"app": "r1"},
                "ports": [{"name": "http", "port": 80}],
            },
        ),
        "PodDisruptionBudget": (
            "policy/v1",
            {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "r1"}}},
        ),
        "HorizontalPodAutoscaler": (
            "autoscaling/v2",
            {"scaleTargetRef": SCALED, "minReplicas": 1, "maxReplicas": 4},
        ),
        "ScaledObject": (
            "keda.sh/v1alpha1",
            {
                "scaleTargetRef": SCALED,
                "minReplicaCount": 1,
                "maxReplicaCount": 4,
                "triggers": [{"type": "prometheus", "metadata": {"threshold": "8"}}],
            },
        ),
        "NetworkPolicy": ("networking.k8s.io/v1", {"podSelector": {}}),
        "ServiceAccount": ("v1", {}),
        "PodMonitor": ("monitoring.coreos.com/v1", {"jobLabel": "a", "selector": {}}),
        "PrometheusRule": ("monitoring.coreos.com/v1", {"groups": []}),
        "Topology": (
            "kueue.x-k8s.io/v1beta2",
            {"levels": [{"nodeLabel": "rack"}, {"nodeLabel": "kubernetes.io/hostname"}]},
        ),
        "ResourceFlavor": (
            "kueue.x-k8s.io/v1beta2",
            {"topologyName": "h100", "nodeLabels": {"gpu": "h100"}, "nodeTaints": []},
        ),
        "ClusterQueue": (
            "kueue.x-k8s.io/v1beta2",
            {
                "namespaceSelector": {},
                "resourceGroups": [
                    {
                        "coveredResources": ["cpu"],
                        "flavors": [
                            {"name": "h100", "resources": [{"name": "cpu", "nominalQuota": "32"}]}
                        ],
                    }
                ],
            },
        ),
        "LocalQueue": ("kueue.x-k8s.io/v1beta2", {"clusterQueue": "serving"}),
        "Cohort": ("kueue.x-k8s.io/v1beta2", {"parentName": "all"}),
        "WorkloadPriorityClass": ("kueue.x-k8s.io/v1beta2", {}),
        "PodGroup": ("scheduling.volcano.sh/v1beta1", {"minMember": 2}),
        "Queue": ("scheduling.volcano.sh/v1beta1", {"capability": {"cpu": "32"}, "weight": 1}),
        "HyperNode": (
            "topology.volcano.sh/v1alpha1",
            {"tier": 1, "members": [{"type": "Node", "selector": {"labelMatch": RACK}}]},
        ),
    }
    version, spec = specs[kind]
    made: Object = {"apiVersion": version, "kind": kind, "metadata": meta("r1", **labels)}
    if kind == "WorkloadPriorityClass":
        return made | {"value": 1000, "description": "for people"}
    return made | ({"spec": spec} if spec else {})


def put(path: str, value: Any) -> Edit:
    """Write a value at a path such as `spec/ports/0/port`."""

    def edit(manifest: Object) -> None:
        *way, last = path.split("/")
        here: Any = manifest
        for part in way:
            here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
        here[int(last) if isinstance(here, list) else last] = value

    return edit


def drop(path: str) -> Edit:
    def edit(manifest: Object) -> None:
        *way, last = path.split("/")
        here: Any = manifest
        for part in way:
            here = here[int(part)] if isinstance(here, list) else here[part]
        del here[int(last) if isinstance(here, list) else last]

    return edit


def label(key: str, value: str | None) -> Edit:
    def edit(manifest: Object) -> None:
        labels = manifest["metadata"]["labels"]
        labels.pop(key, None)
        if value is not None:
            labels[key] = value

    return edit


def annotation(key: str, value: str) -> Edit:
    return lambda one: one["metadata"].setdefault("annotations", {}).update({key: value})


def both(*edits: Edit) -> Edit:
    return lambda one: [edit(one) for edit in edits]
