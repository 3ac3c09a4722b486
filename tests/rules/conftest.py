"""A small bundle that no rule minds, changed by what a test says, and two questions about it.

`refused(code, at, …)`: the rule of that code finds something there. `accepted(code, …)`: it finds nothing. Changes
are a map of paths to values, with `>` between the keys, `...` to leave something out, and short words for what stands
deep: `B` for both templates, `L` and `W` for one of them, `C` for the engine's container.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.apis.versions import Release, Versions
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key
from gangform.findings import DocumentPath, show_path
from gangform.rules.rule import RULES, Context, load

Object = dict[str, Any]
LWS = "leaderworkerset.sigs.k8s.io/"
TEMPLATES = ["spec", "leaderWorkerTemplate"]
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


def _ways(path: str) -> list[list[str]]:
    parts = path.split(">")
    both = [["leaderTemplate"], ["workerTemplate"]]
    heads = {"B": both, "L": both[:1], "W": both[1:]}
    if parts[0] not in heads:
        return [parts]
    rest = parts[1:]
    if rest[:1] == ["C"]:
        rest = ["spec", "containers", "0", *rest[1:]]
    return [[*TEMPLATES, *head, *rest] for head in heads[parts[0]]]


def _put(node: Any, way: list[str], value: Any) -> None:
    for part in way[:-1]:
        node = node[int(part)] if isinstance(node, list) else node.setdefault(part, {})
    last = way[-1]
    if isinstance(node, list):
        node[int(last)] = copy.deepcopy(value)
    elif value is ...:
        node.pop(last, None)
    else:
        node[last] = copy.deepcopy(value)


@pytest.fixture(scope="session")
def make() -> Callable[..., Object]:
    """An object by name, with changes."""

    def made(name: str, changes: Object | None = None) -> Object:
        manifest = BUILDERS[name]()
        for path, value in (changes or {}).items():
            for way in _ways(path):
                _put(manifest, way, value)
        return manifest

    return made


@pytest.fixture(scope="session")
def queue(make: Callable[..., Object]) -> list[Object]:
    """Everything that a queue stands on."""
    return [make(name) for name in ("topology", "flavor", "cluster_queue", "local_queue")]


def _found(
    code: str,
    manifests: Iterable[Object],
    versions: dict[str, str] | None = None,
    complete: bool = False,
    exists: Iterable[tuple[str, str, str, str]] = (),
    **said: Any,
) -> list[tuple[str, str]]:
    rule = load()[code]
    documents = Documents(Document(manifest=each, builder="") for each in manifests)
    releases = {name: Release.parse(text) for name, text in (versions or {}).items()}
    context = Context(
        versions=Versions(**{"kubernetes": Release(1, 36), **releases}) if releases else None,
        exists=frozenset(Key(*key) for key in exists),
        complete=complete,
        **said,
    )
    if not rule.applies(context.offers()):
        return []
    found = []
    for document in rule.subjects(documents):
        for finding in rule(document, documents, context):
            assert isinstance(finding.at, DocumentPath)
            assert finding.what and finding.fix and not finding.what.endswith(".")
            place = f"{finding.at.kind}/{finding.at.name} {show_path(finding.at.path)}"
            found.append((place, f"{finding.what} -> {finding.fix}"))
    return found


@pytest.fixture(scope="session")
def refused() -> Callable[..., None]:
    """The rule finds something at a place: the end of it, or a part of what it says after `~`."""

    def check(code: str, at: str, *manifests: Object, **context: Any) -> None:
        place, _, words = at.partition(" ~ ")
        found = _found(code, manifests, **context)
        assert any(where.endswith(place) and words in what for where, what in found), found

    return check


@pytest.fixture(scope="session")
def accepted() -> Callable[..., None]:
    """The rule finds nothing."""

    def check(code: str, *manifests: Object, **context: Any) -> None:
        assert _found(code, manifests, **context) == []

    return check


@pytest.fixture(scope="session")
def registry() -> dict[str, Any]:
    """Every rule by its code."""
    load()
    return RULES
