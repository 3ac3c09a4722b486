"""Labels and annotations that the API server would refuse."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


def test_keys_and_values_are_those_of_metadata(make: Make, refused: Check, accepted: Check) -> None:
    labels = "spec>template>metadata>labels"
    refused(
        "metadata-refused",
        "metadata.labels[a b]",
        make("deployment", {"metadata>labels": {"a b": "c"}}),
    )
    refused("metadata-refused", "labels.x", make("deployment", {labels: {"x": "y" * 64}}))
    refused("metadata-refused", "labels.x", make("deployment", {labels: {"x": "y\n"}}))
    refused("metadata-refused", "annotations.a", make("set", {"metadata>annotations": {"a": 1}}))
    refused(
        "metadata-refused", "nodeSelector.x", make("set", {"L>spec>nodeSelector": {"x": "y z"}})
    )
    long = {"a": "x" * 200_000, "b": "y" * 62_142}
    refused(
        "metadata-refused",
        "metadata.annotations ~ 262144",
        make("set", {"metadata>annotations": {**long, "cc": ""}}),
    )
    accepted("metadata-refused", make("set", {"metadata>annotations": long}))
    fine = {"metadata>annotations": {"example.com/note": "anything, at any length"}}
    accepted("metadata-refused", make("set"), make("set", fine), make("deployment"))


@pytest.mark.parametrize("name", ["a.b", "R1", "r_1", "-a", "a-", "a" * 64, "a b", "a\n"])
def test_a_name_is_that_of_a_host(make: Make, refused: Check, accepted: Check, name: str) -> None:
    called = {"metadata>name": name}
    refused("name-refused", "metadata.name ~ up to 63", make("service", called))
    other = make("local_queue", {"metadata>name": name * 4 if len(name) > 9 else name})
    if name == "a.b":
        accepted("name-refused", other)
    else:
        refused("name-refused", "metadata.name ~ up to 253", other)
    accepted("name-refused", make("service"), make("service", {"metadata>name": "8" + "a" * 62}))
    accepted("name-refused", make("service", {**called, "kind": "RoleBinding"}))
    accepted("name-refused", make("set", called), make("service", {**called, "kind": "Other"}))


def test_an_object_has_a_name_of_its_own(make: Make, refused: Check, accepted: Check) -> None:
    prefix: dict[str, Any] = {"metadata>name": ..., "metadata>generateName": "r1-"}
    refused("name-generated", "metadata.generateName ~ write name: r1", make("service", prefix))
    accepted("name-generated", make("service"), make("service", {"metadata>generateName": "r1-"}))
    accepted("name-generated", make("service", {**prefix, "kind": "Job"}))
    owner = [{"kind": "X", "name": "x"}]
    accepted("name-generated", make("service", {**prefix, "metadata>ownerReferences": owner}))


def test_an_object_has_a_head_that_the_server_reads(
    make: Make, refused: Check, accepted: Check
) -> None:
    refused("object-malformed", "kind ~ is `5`", make("service", {"kind": 5}))
    refused("object-malformed", "apiVersion ~ missing", make("service", {"apiVersion": ""}))
    refused("object-malformed", "metadata ~ is a list", make("service", {"metadata": []}))
    refused(
        "object-malformed",
        'metadata.name ~ write name: "17"',
        make("service", {"metadata>name": 17}),
    )
    refused(
        "object-malformed",
        "metadata.namespace ~ `true`",
        make("service", {"metadata>namespace": True}),
    )
    refused(
        "object-malformed", "metadata.name ~ has no name", make("service", {"metadata>name": ...})
    )
    refused("object-malformed", "spec ~ is `x`, not a map", make("set", {"spec": "x"}))
    accepted("object-malformed", make("set"), make("service"))
    accepted(
        "object-malformed", {"apiVersion": "example.net/v1", "kind": "Settings", "spec": "any"}
    )
    prefix = {"metadata>name": ..., "metadata>generateName": "r1-"}
    accepted("object-malformed", make("service", prefix))


def test_a_set_is_not_made_anew(make: Make, refused: Check, accepted: Check) -> None:
    key = "argocd.argoproj.io/sync-options"
    force = make("set", {"metadata>annotations": {key: "Replace=true, Force=true"}})
    refused("sync-recreates-set", f"metadata.annotations[{key}]", force)
    accepted(
        "sync-recreates-set", make("set", {"metadata>annotations": {key: "ServerSideApply=true"}})
    )
