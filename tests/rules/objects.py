"""The objects of a small bundle that no rule minds, by the names that tests call them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Object = dict[str, Any]
LWS = "leaderworkerset.sigs.k8s.io/"
ENGINE = [
    "--tensor-parallel-size=8",
    "--pipeline-parallel-size=2",
    "--nnodes=$(LWS_GROUP_SIZE)",
    "--node-rank=$(LWS_WORKER_INDEX)",
    "--master-addr=$(LWS_LEADER_ADDRESS)",
]
AMOUNTS = {"cpu": "32", "memory": "900Gi", "ephemeral-storage": "60Gi", "nvidia.com/gpu": "8"}


def _template(*, leader: bool) -> Object:
    container: Object = {
        "name": "engine",
        "image": "vllm/vllm-openai:v0.33.0",
        "command": ["vllm", "serve", "/models/m"],
        "args": [*ENGINE, *([] if leader else ["--headless"])],
        "resources": {"requests": dict(AMOUNTS), "limits": dict(AMOUNTS)},
        "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],
    }
    if leader:
        probe = {"httpGet": {"path": "/health", "port": "http"}, "periodSeconds": 10}
        container["ports"] = [{"name": "http", "containerPort": 8000}]
        container["startupProbe"] = {**probe, "failureThreshold": 360}
        container["readinessProbe"] = probe
    return {
        "metadata": {"labels": {"app.kubernetes.io/name": "r1"}},
        "spec": {
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 120,
            "containers": [container],
            "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "32Gi"}}],
        },
    }


def _set() -> Object:
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "replicas": 2,
            "startupPolicy": "LeaderCreated",
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1},
            },
            "leaderWorkerTemplate": {
                "size": 2,
                "restartPolicy": "RecreateGroupAfterStart",
                "leaderTemplate": _template(leader=True),
                "workerTemplate": _template(leader=False),
            },
        },
    }


def _roles() -> Object:
    names = ("prefill", "decode")
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": "pd", "namespace": "llm"},
        "spec": {"roles": [{"name": name, "spec": _set()["spec"]} for name in names]},
    }


def _pool() -> Object:
    return {
        "apiVersion": "inference.networking.k8s.io/v1",
        "kind": "InferencePool",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "selector": {"matchLabels": {LWS + "name": "r1", LWS + "worker-index": "0"}},
            "targetPorts": [{"number": 8000}],
            "endpointPickerRef": {"name": "picker", "port": {"number": 9002}},
        },
    }


def _route() -> Object:
    return {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "parentRefs": [{"name": "front"}],
            "rules": [{"backendRefs": [{"name": "r1-leader", "port": 80}]}],
        },
    }


def _ingress() -> Object:
    backend = {"service": {"name": "r1-leader", "port": {"name": "http"}}}
    path = {"path": "/", "pathType": "Prefix", "backend": backend}
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {"rules": [{"http": {"paths": [path]}}]},
    }


def _domain() -> Object:
    channel = {"allocationMode": "Single", "resourceClaimTemplate": {"name": "r1-channel"}}
    return {
        "apiVersion": "resource.nvidia.com/v1beta1",
        "kind": "ComputeDomain",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {"numNodes": 2, "channel": channel},
    }


def _deployment() -> Object:
    template = _template(leader=True)
    template["metadata"]["labels"] = {"app.kubernetes.io/name": "small"}
    template["spec"]["containers"][0]["args"] = ["--tensor-parallel-size=8"]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "small", "namespace": "llm"},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app.kubernetes.io/name": "small"}},
            "template": template,
        },
    }


def _stateful() -> Object:
    template = _template(leader=True)
    template["metadata"]["labels"] = {"app.kubernetes.io/name": "hand"}
    template["spec"]["containers"][0]["args"] = ["--tensor-parallel-size=8"]
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "hand", "namespace": "llm"},
        "spec": {
            "replicas": 2,
            "serviceName": "hand",
            "selector": {"matchLabels": {"app.kubernetes.io/name": "hand"}},
            "template": template,
        },
    }


def _service() -> Object:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "r1-leader", "namespace": "llm"},
        "spec": {
            "selector": {LWS + "name": "r1", LWS + "worker-index": "0"},
            "ports": [{"name": "http", "port": 80, "targetPort": "http"}],
        },
    }


def _budget() -> Object:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": {LWS + "name": "r1"}},
        },
    }


def _scaler() -> Object:
    policy = [{"type": "Pods", "value": 1, "periodSeconds": 900}]
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "kind": "LeaderWorkerSet",
                "name": "r1",
            },
            "minReplicas": 2,
            "maxReplicas": 5,
            "metrics": [{"type": "External", "external": {"metric": {"name": "waiting"}}}],
            "behavior": {"scaleUp": {"policies": policy}, "scaleDown": {"policies": policy}},
        },
    }


def _keda() -> Object:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "scaleTargetRef": {
                "apiVersion": "leaderworkerset.x-k8s.io/v1",
                "kind": "LeaderWorkerSet",
                "name": "r1",
            },
            "minReplicaCount": 2,
            "maxReplicaCount": 5,
            "triggers": [
                {"type": "prometheus", "metadata": {"query": "sum(vllm:num_requests_waiting)"}}
            ],
        },
    }


def _kueue(kind: str, spec: Object, namespace: str = "") -> Object:
    names = {"ClusterQueue": "gpu", "LocalQueue": "serving", "ResourceFlavor": "hopper"}
    metadata = {"name": names.get(kind, "fabric")}
    if namespace:
        metadata["namespace"] = namespace
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": kind,
        "metadata": metadata,
        "spec": spec,
    }


def _topology() -> Object:
    keys = ("example.com/block", "example.com/rack", "kubernetes.io/hostname")
    return _kueue("Topology", {"levels": [{"nodeLabel": key} for key in keys]})


def _flavor() -> Object:
    spec = {"nodeLabels": {"nvidia.com/gpu.product": "H100"}, "topologyName": "fabric"}
    return _kueue("ResourceFlavor", spec)


def _cluster_queue() -> Object:
    quota = {
        "cpu": "128",
        "memory": "3600Gi",
        "ephemeral-storage": "240Gi",
        "nvidia.com/gpu": "32",
    }
    rows = [{"name": name, "nominalQuota": amount} for name, amount in quota.items()]
    group = {
        "coveredResources": list(quota),
        "flavors": [{"name": "hopper", "resources": rows}],
    }
    return _kueue("ClusterQueue", {"namespaceSelector": {}, "resourceGroups": [group]})


def _local_queue() -> Object:
    return _kueue("LocalQueue", {"clusterQueue": "gpu"}, "llm")


def _pod_group() -> Object:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "minMember": 2,
            "minResources": {"nvidia.com/gpu": "16"},
            "queue": "default",
            "networkTopology": {"mode": "hard", "highestTierName": "example.com/rack"},
        },
    }


def _monitor() -> Object:
    labels = {LWS + "name": "r1", LWS + "worker-index": "0"}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PodMonitor",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "selector": {"matchLabels": labels},
            "podMetricsEndpoints": [{"portNumber": 8000, "path": "/metrics"}],
        },
    }


def _rules() -> Object:
    rule = {"alert": "A", "expr": 'max(kube_pod_status_ready{namespace="llm"}) < 1'}
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {"groups": [{"name": "r1", "rules": [rule]}]},
    }


BUILDERS: dict[str, Callable[[], Object]] = {
    "set": _set,
    "roles": _roles,
    "domain": _domain,
    "pool": _pool,
    "route": _route,
    "ingress": _ingress,
    "deployment": _deployment,
    "stateful": _stateful,
    "service": _service,
    "budget": _budget,
    "scaler": _scaler,
    "keda": _keda,
    "topology": _topology,
    "flavor": _flavor,
    "cluster_queue": _cluster_queue,
    "local_queue": _local_queue,
    "pod_group": _pod_group,
    "monitor": _monitor,
    "rules": _rules,
}
