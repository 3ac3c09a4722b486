"""The kinds that rules know, and their groups."""

from __future__ import annotations

import pytest

from gangform.apis.kinds import GROUPS, NO_NAMESPACE, in_full, lacks_namespace
from gangform.documents.document import Manifest
from gangform.rules.rule import EVERY_KIND, load


def test_every_kind_that_a_rule_starts_from_has_its_groups() -> None:
    asked = {kind for rule in load().values() for kind in rule.kinds} - set(EVERY_KIND)
    assert sorted(asked - set(GROUPS)) == []
    assert set(GROUPS) >= NO_NAMESPACE


@pytest.mark.parametrize(
    ("version", "kind", "name"),
    [
        ("v1", "Service", "Service"),
        ("serving.knative.dev/v1", "Service", "Service.serving.knative.dev"),
        ("jobs.example.com/v1", "Job", "Job.jobs.example.com"),
        ("batch/v1", "Job", "Job"),
        ("apps/v1beta1", "Deployment", "Deployment"),
        ("example.net/v1", "Anything", "Anything"),
        ("scheduling.x-k8s.io/v1alpha1", "PodGroup", "PodGroup.scheduling.x-k8s.io"),
    ],
)
def test_a_kind_of_another_group_is_another_kind(version: str, kind: str, name: str) -> None:
    assert in_full({"apiVersion": version, "kind": kind}) == name


def test_who_names_no_namespace_lacks_one_where_the_kind_has_any() -> None:
    def manifest(kind: str, **metadata: str) -> Manifest:
        return {"apiVersion": "v1", "kind": kind, "metadata": metadata}

    assert lacks_namespace(manifest("Service"))
    assert lacks_namespace(manifest("Service", namespace=""))
    assert not lacks_namespace(manifest("Service", namespace="a"))
    assert not lacks_namespace(manifest("Node"))
    assert not lacks_namespace(manifest("Anything"))
