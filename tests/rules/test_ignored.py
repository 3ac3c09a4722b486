"""What nobody reads, and pods that the scheduler does not place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


def test_templates_say_what_is_read(make: Make, refused: Check, accepted: Check) -> None:
    for change, at in (
        ({"W>metadata>name": "r1-worker"}, "workerTemplate.metadata.name"),
        ({"L>metadata>namespace": "other"}, "leaderTemplate.metadata.namespace"),
        ({"L>metadata>generateName": "r1-"}, "leaderTemplate.metadata.generateName"),
        ({"L>spec>hostname": "leader"}, "leaderTemplate.spec.hostname"),
        ({"W>spec>subdomain": "r1"}, "workerTemplate.spec.subdomain"),
        ({"status": {"replicas": 2}}, "status"),
    ):
        refused("field-ignored", at, make("set", change))
    accepted("field-ignored", make("set"))
    accepted("field-ignored", make("set", {"W>metadata>creationTimestamp": None, "status": {}}))
    accepted("field-ignored", make("set", {"status": {"replicas": 2}, "metadata>uid": "1-2"}))
    named = {"spec>template>metadata>name": "small"}
    refused("field-ignored", "spec.template.metadata.name", make("deployment", named))
    accepted("field-ignored", make("deployment", {"spec>template>spec>hostname": "small"}))


def test_the_metadata_of_a_role_names_nothing(make: Make, refused: Check, accepted: Check) -> None:
    named = make("roles", {"spec>roles>1>metadata": {"name": "decode"}})
    refused("field-ignored", "spec.roles[1].metadata.name", named)
    accepted("field-ignored", make("roles", {"spec>roles>1>metadata": {"labels": {"a": "b"}}}))


def test_the_scheduler_chooses_nodes(make: Make, refused: Check, accepted: Check) -> None:
    refused(
        "pod-bound-to-node", "spec.nodeName ~ nodeSelector", make("set", {"W>spec>nodeName": "n"})
    )
    accepted("pod-bound-to-node", make("set"))


def test_a_role_leaves_its_labels_to_the_controller(
    make: Make, refused: Check, accepted: Check
) -> None:
    labels = "spec>roles>1>spec>leaderWorkerTemplate>workerTemplate>metadata>labels"
    named = make("roles", {labels: {"app": "decode"}})
    refused("field-ignored", "workerTemplate.metadata.labels.app ~ writes its own", named)
    accepted("field-ignored", make("roles", {labels: {"part": "decode"}}))
    accepted("field-ignored", make("set", {"W>metadata>labels": {"app": "decode"}}))


def test_wishes_for_placement_are_annotations(make: Make, refused: Check, accepted: Check) -> None:
    level = "leaderworkerset.sigs.k8s.io/exclusive-topology"
    at = f"LeaderWorkerSet/r1 metadata.labels[{level}] ~ move it"
    refused("annotation-as-label", at, make("set", {f"metadata>labels>{level}": "rack"}))
    both = {f"metadata>{word}>{level}": "rack" for word in ("labels", "annotations")}
    accepted("annotation-as-label", make("set", both), make("set"))
    role = f"spec>roles>1>metadata>labels>{level}"
    refused("annotation-as-label", f"labels[{level}]", make("roles", {role: "rack"}))
    for key in ("kueue.x-k8s.io/podset-required-topology", "scheduling.k8s.io/group-name"):
        at = f"workerTemplate.metadata.labels[{key}]"
        refused("annotation-as-label", at, make("set", {f"W>metadata>labels>{key}": "a"}))
        small = make("deployment", {f"spec>template>metadata>labels>{key}": "a"})
        refused("annotation-as-label", f"labels[{key}]", small)
        accepted("annotation-as-label", make("set", {f"W>metadata>annotations>{key}": "a"}))
    queue = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}
    accepted("annotation-as-label", make("set", queue))
