from __future__ import annotations

from typing import Any

import yaml

from gangform.apis.views import Documents, form_of
from gangform.documents.document import Document, Key

TEXT = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: r1, namespace: llm}
spec:
  replicas: 2
  leaderWorkerTemplate:
    size: 2
    leaderTemplate: {metadata: {labels: {app.kubernetes.io/name: r1}}, spec: {}}
    workerTemplate: {metadata: {labels: {app.kubernetes.io/name: r1}}, spec: {}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: small, namespace: llm}
spec: {template: {metadata: {labels: {app.kubernetes.io/name: small}}}}
---
apiVersion: v1
kind: Service
metadata: {name: r1-leader, namespace: llm}
"""


def documents() -> Documents:
    manifests: list[Any] = list(yaml.safe_load_all(TEXT))
    return Documents(Document(manifest=manifest, builder="") for manifest in manifests)


def matched(namespace: str, selector: dict[str, str]) -> list[tuple[str, str]]:
    return [(pod.document.key.name, pod.role) for pod in documents().pods(namespace, selector)]


LWS = "leaderworkerset.sigs.k8s.io/"


def test_documents_are_found_by_kind_and_by_key() -> None:
    index = documents()
    assert [document.key.name for document in index.of("Service", "Deployment")] == [
        "r1-leader",
        "small",
    ]
    key = Key("", "Service", "llm", "r1-leader")
    assert index.get(key) is index.all[2]
    assert index.get(key._replace(name="none")) is None
    assert index.of("Nothing") == []


def test_every_kind_with_a_form_is_read_into_groups() -> None:
    index = documents()
    assert [(group.kind, group.size) for group in index.groups()] == [
        ("LeaderWorkerSet", 2),
        ("Deployment", 1),
    ]
    key = Key("apps", "Deployment", "llm", "small")
    assert [group.name for group in index.groups_of(key)] == ["small"]
    assert form_of("Service") is None


def test_a_selector_finds_the_pods_that_controllers_will_make() -> None:
    assert matched("llm", {LWS + "name": "r1"}) == [("r1", "leader"), ("r1", "worker")]
    assert matched("llm", {LWS + "name": "r1", LWS + "worker-index": "0"}) == [("r1", "leader")]
    assert matched("llm", {LWS + "name": "r1", LWS + "worker-index": "1"}) == [("r1", "worker")]
    assert matched("llm", {LWS + "name": "r1", LWS + "group-index": "7"}) == [
        ("r1", "leader"),
        ("r1", "worker"),
    ]
    assert matched("llm", {"app.kubernetes.io/name": "small"}) == [("small", "pod")]


def test_workers_are_counted_from_one() -> None:
    """The ordinal is the group's index on leaders, so that 0 is the leader of the first group alone."""
    index = {LWS + "name": "r1", "apps.kubernetes.io/pod-index": "0"}
    assert matched("llm", index) == [("r1", "leader")]
    index["apps.kubernetes.io/pod-index"] = "1"
    assert matched("llm", index) == [("r1", "leader"), ("r1", "worker")]


def test_a_selector_finds_nothing_elsewhere_and_by_labels_that_no_pod_has() -> None:
    assert matched("other", {LWS + "name": "r1"}) == []
    assert matched("llm", {LWS + "role": "leader"}) == []
    assert matched("llm", {LWS + "name": "r1", "app.kubernetes.io/name": "small"}) == []


def test_an_empty_selector_finds_every_pod_of_the_namespace() -> None:
    assert len(matched("llm", {})) == 3
