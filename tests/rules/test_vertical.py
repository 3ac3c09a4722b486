"""Vertical autoscalers: their modes on groups, on single pods, and on what a set's controller makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

SET = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "r1"}
SMALL = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "small"}
CODES = (
    "vertical-scaling-of-groups",
    "vertical-scaling-of-engines",
    "vertical-scaling-at-start",
    "vertical-target-is-child",
)


def vertical(mode: str | None = None, target: dict[str, str] = SET, **ref: str) -> dict[str, Any]:
    policy = {} if mode is None else {"updatePolicy": {"updateMode": mode}}
    return {
        "apiVersion": "autoscaling.k8s.io/v1",
        "kind": "VerticalPodAutoscaler",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {"targetRef": {**target, **ref}, **policy},
    }


def others(code: str, accepted: Check, *objects: dict[str, Any]) -> None:
    """The other three rules do not mind it."""
    for other in CODES:
        if other != code:
            accepted(other, *objects)


@pytest.mark.parametrize("mode", [None, "Auto", "Recreate", "InPlaceOrRecreate"])
def test_nobody_evicts_a_pod_of_a_group_for_its_requests(
    make: Make, refused: Check, accepted: Check, mode: str | None
) -> None:
    at = f"spec.updatePolicy.updateMode ~ updateMode {mode or 'Recreate'} evicts pods of r1"
    refused("vertical-scaling-of-groups", at, vertical(mode), make("set"))
    others("vertical-scaling-of-groups", accepted, vertical(mode), make("set"))
    single = (vertical(mode, SMALL), make("deployment"))
    refused("vertical-scaling-of-engines", "spec.updatePolicy.updateMode ~ GPU", *single)
    others("vertical-scaling-of-engines", accepted, *single)


@pytest.mark.parametrize(("mode", "whose"), [("Initial", "new pods"), ("InPlace", "pods")])
def test_requests_that_are_set_without_eviction_differ_from_those_admitted(
    make: Make, refused: Check, accepted: Check, mode: str, whose: str
) -> None:
    at = f"spec.updatePolicy.updateMode ~ gives {whose} of r1 other requests than the templates"
    refused("vertical-scaling-at-start", at, vertical(mode), make("set"))
    others("vertical-scaling-at-start", accepted, vertical(mode), make("set"))
    for code in CODES:
        accepted(code, vertical(mode, SMALL), make("deployment"))


def test_a_policy_may_take_every_container_out(make: Make, refused: Check, accepted: Check) -> None:
    def policies(*of: tuple[str, str]) -> dict[str, Any]:
        made = vertical("Recreate")
        listed = [{"containerName": name, "mode": mode} for name, mode in of]
        made["spec"]["resourcePolicy"] = {"containerPolicies": listed}
        return made

    for code in CODES:
        accepted(code, policies(("*", "Off")), make("set"))
    evicts = "spec.updatePolicy.updateMode ~ evicts"
    for left in ((("*", "Off"), ("sidecar", "Auto")), (("engine", "Off"),)):
        refused("vertical-scaling-of-groups", evicts, policies(*left), make("set"))


def test_advice_is_welcome(make: Make, refused: Check, accepted: Check) -> None:
    lone = make("set", {"spec>leaderWorkerTemplate>size": 1})
    plain = make("deployment", {"spec>template>spec>containers>0>resources": {}})
    accepted("vertical-scaling-of-groups", vertical("Off"), make("set"))
    accepted("vertical-scaling-of-engines", vertical(target=SMALL), plain)
    accepted("vertical-scaling-at-start", vertical("Initial"), lone)
    accepted("vertical-target-is-child", vertical())
    for code in CODES:
        accepted(code, vertical("Off"), make("set"))
        accepted(code, vertical("Off", SMALL), make("deployment"))
        accepted(code, vertical("Initial", SMALL), make("deployment"))
    lost = vertical("Off", name="r2")
    refused("reference-unresolved", "spec.targetRef.name ~ r1", lost, make("set"))
    accepted("reference-unresolved", vertical("Off"), make("set"))


@pytest.mark.parametrize("name", ["r1", "r1-0", "r1-12"])
@pytest.mark.parametrize("mode", [None, "Off"])
def test_what_a_set_makes_is_no_target(
    make: Make, refused: Check, accepted: Check, name: str, mode: str | None
) -> None:
    child = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name}
    at = f"spec.targetRef ~ StatefulSet {name}, which LeaderWorkerSet r1 makes"
    refused("vertical-target-is-child", at, vertical(mode, child), make("set"))
    others("vertical-target-is-child", accepted, vertical(mode, child), make("set"))
    own = {"apiVersion": "apps/v1", "kind": "StatefulSet"}
    meta = {"name": name, "namespace": "llm"}
    accepted(
        "vertical-target-is-child",
        vertical(mode, child),
        make("set"),
        {**own, "metadata": meta, "spec": {}},
    )
    made = {**meta, "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "r1-0"}]}
    dumped = {**own, "metadata": made, "spec": {}}
    refused("vertical-target-is-child", at, vertical(mode, child), make("set"), dumped)
    other = {**child, "name": f"x-{name}"}
    accepted("vertical-target-is-child", vertical(mode, other), make("set"))
