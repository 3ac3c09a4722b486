"""A living set, and what a stream of objects becomes."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import pytest

from gangform.adopt.fleet import Wishes, adopt
from gangform.inputs.library import shipped_library
from gangform.inputs.load import load_text
from gangform.inputs.serving import Serving

LIBRARY = shipped_library()
Object = dict[str, Any]


class Made(NamedTuple):
    """A file, and the serving in it."""

    text: str
    serving: Serving

    def says(self, words: str) -> bool:
        return any(
            words in line for line in self.text.splitlines() if line.lstrip().startswith("#")
        )


def living(**changes: Any) -> Object:
    """A LeaderWorkerSet as a cluster prints it: two pods of eight H100, by hand. Changes by `a__b` paths."""
    container: Object = {
        "name": "vllm",
        "image": "vllm/vllm-openai:v0.32.0",
        "command": ["vllm", "serve", "deepseek-ai/DeepSeek-R1"],
        "args": [
            "--tensor-parallel-size=8",
            "--pipeline-parallel-size=2",
            "--max-model-len=16384",
            "--nnodes=$(LWS_GROUP_SIZE)",
            "--node-rank=$(LWS_WORKER_INDEX)",
            "--master-addr=$(LWS_LEADER_ADDRESS)",
            "--enable-prefix-caching",
        ],
        "env": [{"name": "TEAM", "value": "search"}],
        "resources": {
            "requests": {"cpu": "64", "memory": "1000Gi", "nvidia.com/gpu": "8"},
            "limits": {"nvidia.com/gpu": "8"},
        },
        "volumeMounts": [{"name": "dshm", "mountPath": "/dev/shm"}],
    }
    spec: Object = {
        "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "team": "search"},
        "tolerations": [
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
            {"key": "team", "operator": "Exists", "effect": "NoSchedule"},
        ],
        "containers": [container],
        "volumes": [{"name": "dshm", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}],
    }
    template = {"metadata": {"labels": {"team": "search"}}, "spec": spec}
    made: Object = {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": {
            "name": "r1",
            "namespace": "llm",
            "uid": "1",
            "resourceVersion": "5",
            "managedFields": [{"manager": "kubectl"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "spec": {
            "replicas": 3,
            "rolloutStrategy": {
                "type": "RollingUpdate",
                "rollingUpdateConfiguration": {"maxSurge": 0, "maxUnavailable": 1, "partition": 0},
            },
            "leaderWorkerTemplate": {
                "size": 2,
                "restartPolicy": "RecreateGroupOnPodRestart",
                "leaderTemplate": template,
                "workerTemplate": copy.deepcopy(template),
            },
        },
        "status": {"replicas": 3},
    }
    for path, value in changes.items():
        node = made
        *parents, last = path.split("__")
        for part in parents:
            node = node[part]
        node[last] = value
    return made


def leader_spec(manifest: Object) -> Object:
    found: Object = manifest["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]
    return found


def container_of(manifest: Object) -> Object:
    found: Object = leader_spec(manifest)["containers"][0]
    return found


Adopt = Callable[..., Made]


@pytest.fixture(scope="session")
def adopted() -> Adopt:
    """What a stream becomes; it has to load."""

    def run(*manifests: Mapping[str, Any], **wishes: Any) -> Made:
        text = adopt(list(manifests), Wishes(**wishes), LIBRARY)
        loaded = load_text(text, shelves=LIBRARY)
        return Made(text, loaded.fleet.servings[0])

    return run
