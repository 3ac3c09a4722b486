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
