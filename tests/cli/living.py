"""What runs in a cluster, as `kubectl get -o yaml` prints it after our output was applied."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

Object = dict[str, Any]
SET = "LeaderWorkerSet"


def running(folder: Path) -> list[Object]:
    """The output as a cluster holds it: with what the server and the controllers wrote into it."""
    objects = [
        one
        for file in sorted((folder / "dist/prod").glob("*.yaml"))
        for one in yaml.safe_load_all(file.read_text())
    ]
    for one in objects:
        one["metadata"] |= {
            "uid": "1",
            "resourceVersion": "2",
            "generation": 3,
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [{"manager": "kubectl"}],
            "finalizers": ["a/b"],
        }
        one["metadata"].setdefault("annotations", {})[
            "kubectl.kubernetes.io/last-applied-configuration"
        ] = "{}"
        one["status"] = {"replicas": 2}
        if one["kind"] == "Service":
            one["spec"] |= {"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"]}
            one["spec"] |= {"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack"}
        for template in templates([one]):
            metadata = template["metadata"]
            metadata["creationTimestamp"] = None
            metadata["labels"]["kueue.x-k8s.io/queue-name"] = "serving"
            if one["kind"] == "Deployment":
                metadata["labels"]["kueue.x-k8s.io/managed"] = "true"
            else:
                metadata.setdefault("annotations", {})["kueue.x-k8s.io/pod-group-serving"] = "true"
    return objects


def templates(objects: list[Object], kind: str | None = None) -> list[Object]:
    found = []
    for one in objects:
        if one["kind"] == SET and kind in (None, SET):
            groups = one["spec"]["leaderWorkerTemplate"]
            found += [groups["leaderTemplate"], groups["workerTemplate"]]
        elif one["kind"] == "Deployment" and kind in (None, "Deployment"):
            found.append(one["spec"]["template"])
    return found


def of(objects: list[Object], kind: str) -> Object:
    return next(one for one in objects if one["kind"] == kind)


def save(folder: Path, objects: list[Object]) -> str:
    (folder / "live.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": objects})
    )
    return "live.yaml"
