"""Ways from outside to the leaders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

REF = "spec>rules>0>backendRefs>0"
BACKEND = "spec>rules>0>http>paths>0>backend>service"


def test_a_service_has_the_port(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("route", {f"{REF}>port": 8000})
    refused("route-port-unknown", "backendRefs[0].port ~ write 80", wrong, make("service"))
    named = make("ingress", {f"{BACKEND}>port": {"name": "web"}})
    refused("route-port-unknown", "backend.service.port.name", named, make("service"))
    number = make("ingress", {f"{BACKEND}>port": {"number": 8000}})
    refused("route-port-unknown", "backend.service.port.number", number, make("service"))
    for sound in ("route", "ingress"):
        accepted("route-port-unknown", make(sound), make("service"))
    accepted("route-port-unknown", wrong)
    pool = {"group": "inference.networking.k8s.io", "kind": "InferencePool", "name": "r1"}
    accepted("route-port-unknown", make("route", {REF: pool}), make("service"), make("pool"))


def test_a_gateway_is_there(make: Make, refused: Check, accepted: Check) -> None:
    refused("route-gateway-missing", "parentRefs[0].name", make("route"), complete=True)
    accepted("route-gateway-missing", make("route"))
    gateway = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "Gateway",
        "metadata": {"name": "front", "namespace": "llm"},
    }
    accepted("route-gateway-missing", make("route"), gateway, complete=True)
    known = [("gateway.networking.k8s.io", "Gateway", "llm", "front")]
    accepted("route-gateway-missing", make("route"), complete=True, exists=known)


def test_a_pool_sends_to_a_port_that_is_open(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("pool", {"spec>targetPorts>0>number": 8080})
    refused("pool-port-unserved", "targetPorts[0].number ~ write 8000", wrong, make("set"))
    accepted("pool-port-unserved", make("pool"), make("set"))
    accepted("pool-port-unserved", wrong)
    ranks = make("pool", {"spec>targetPorts": [{"number": 8000}, {"number": 8001}]})
    accepted("pool-port-unserved", ranks, make("set"))


def test_a_pool_reaches_every_leader_and_no_worker(
    make: Make, refused: Check, accepted: Check
) -> None:
    lws = "leaderworkerset.sigs.k8s.io/"
    labels = "spec>selector>matchLabels"
    at = "spec.selector.matchLabels"
    wide = make("pool", {labels: {lws + "name": "r1"}})
    refused("service-selects-workers", f"InferencePool/r1 {at}", wide, make("set"))
    one = make("pool", {labels: {lws + "name": "r1", lws + "group-index": "0"}})
    refused("service-selects-subset", at, one, make("set"))
    old = make("pool", {"apiVersion": "inference.networking.x-k8s.io/v1alpha2"})
    old["spec"] = {"selector": {lws + "name": "r1"}, "targetPortNumber": 8080}
    refused("service-selects-workers", "spec.selector", old, make("set"))
    refused("pool-port-unserved", "spec.targetPortNumber", old, make("set"))
    for code in ("service-selects-workers", "service-selects-no-leader", "service-selects-subset"):
        accepted(code, make("pool"), make("set"))


def test_names_of_the_way_lead_somewhere(make: Make, refused: Check, accepted: Check) -> None:
    lost = make("ingress", {f"{BACKEND}>name": "r1"})
    refused("reference-unresolved", "backend.service.name ~ r1-leader", lost, make("service"))
    accepted("reference-unresolved", make("ingress"), make("service"), complete=True)
    picker = "spec.endpointPickerRef.name"
    refused("reference-unresolved", picker, make("pool"), complete=True)
    accepted("reference-unresolved", make("pool"), make("service"))
    objective = {
        "apiVersion": "inference.networking.x-k8s.io/v1alpha2",
        "kind": "InferenceObjective",
        "metadata": {"name": "chat", "namespace": "llm"},
        "spec": {"poolRef": {"name": "r2"}},
    }
    refused("reference-unresolved", "spec.poolRef.name ~ r1", objective, make("pool"))
    accepted(
        "reference-unresolved", {**objective, "spec": {"poolRef": {"name": "r1"}}}, make("pool")
    )
