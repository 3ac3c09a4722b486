"""Services."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


LWS = "leaderworkerset.sigs.k8s.io/"
INDEX = f"spec>selector>{LWS}worker-index"


def test_requests_reach_leaders_only(make: Make, refused: Check, accepted: Check) -> None:
    wide = make("service", {INDEX: ...})
    at = "Service/r1-leader spec.selector"
    refused("service-selects-workers", f'{at} ~ {LWS}worker-index: "0"', make("set"), wide)
    accepted("service-selects-workers", make("set"), make("service"))
    accepted(
        "service-selects-workers",
        make("set"),
        make("service", {INDEX: ..., "spec>clusterIP": "None"}),
    )
    shared = make("set", {"spec>leaderWorkerTemplate>leaderTemplate": ...})
    accepted("service-selects-workers", shared, wide)
    pod_index = {"apps.kubernetes.io/pod-index": "0", LWS + "name": "r1"}
    accepted("service-selects-workers", make("set"), make("service", {"spec>selector": pod_index}))


def test_a_service_reaches_a_leader(make: Make, refused: Check, accepted: Check) -> None:
    labelled = make("set", {"W>metadata>labels>part": "worker"})
    wrong = make("service", {"spec>selector": {"part": "worker"}})
    refused("service-selects-no-leader", "spec.selector", labelled, wrong)
    accepted("service-selects-no-leader", make("set"), make("service"))


def test_a_service_reaches_every_group(make: Make, refused: Check, accepted: Check) -> None:
    for key in (LWS + "group-index", "apps.kubernetes.io/pod-index"):
        one = make("service", {f"spec>selector>{key}": "0"})
        refused("service-selects-subset", f"spec.selector ~ {key}", make("set"), one)
        accepted("service-selects-subset", make("set", {"spec>replicas": 1}), one)
        scaled = make("set", {"spec>replicas": ...})
        refused("service-selects-subset", "spec.selector ~ of 5", scaled, one, make("scaler"))
    accepted("service-selects-subset", make("set"), make("service"))


def test_the_controllers_service_keeps_its_name(
    make: Make, refused: Check, accepted: Check
) -> None:
    same = make("service", {"metadata>name": "r1"})
    refused("service-name-collides", "Service/r1 metadata.name", make("set"), same)
    accepted("service-name-collides", make("set"), make("service"))
    unique = make("set", {"spec>networkConfig": {"subdomainPolicy": "UniquePerReplica"}})
    accepted("service-name-collides", unique, same)
    first = make("service", {"metadata>name": "r1-1"})
    refused("service-name-collides", "Service/r1-1 metadata.name", unique, first)
    accepted("service-name-collides", make("set"), first)
    made = make("service", {"metadata>name": "r1", "metadata>ownerReferences": [{"kind": "X"}]})
    accepted("service-name-collides", make("set"), made)


def test_a_port_leads_somewhere(make: Make, refused: Check, accepted: Check) -> None:
    for target in (9090, "web", "9090"):
        wrong = make("service", {"spec>ports>0>targetPort": target})
        refused("service-port-unserved", "spec.ports[0].targetPort ~ 8000", make("set"), wrong)
    for target in (8000, "http"):
        right = make("service", {"spec>ports>0>targetPort": target})
        accepted("service-port-unserved", make("set"), right)
    none = make("service", {"spec>ports>0>targetPort": ...})
    refused("service-port-unserved", "spec.ports[0] ~ 80", make("set"), none)
    undeclared = make("set", {"L>C>ports": ..., "L>C>command": ["serve"], "L>C>args": []})
    accepted("service-port-unserved", undeclared, make("service", {"spec>ports>0>targetPort": 9}))


def test_a_number_is_missed_where_all_is_read(make: Make, refused: Check, accepted: Check) -> None:
    code, other = "service-port-unserved", make("service", {"spec>ports>0>targetPort": 9090})
    script = "vllm serve /models/m --tensor-parallel-size=16"

    def started(before: str) -> dict[str, Any]:
        return make("set", {"L>C>command": ["bash", "-c"], "L>C>args": [f"{before}{script}"]})

    refused(code, "spec.ports[0].targetPort", started("pip install x && exec "), other)
    accepted(code, started("/opt/dashboard & "), other)
    accepted(code, make("set", {"L>C>command": ["bash", "-c"], "L>C>args": ["/boot.sh"]}), other)
    beside = [{"name": "proxy", "image": "proxy:1"}]
    engine = make("set")["spec"]["leaderWorkerTemplate"]["leaderTemplate"]["spec"]["containers"]
    accepted(code, make("set", {"L>spec>containers": [*engine, *beside]}), other)
    accepted(code, make("set", {"L>C>env": [{"name": "P", "value": "9090"}]}), other)
    ray = make("service", {"spec>ports>0>targetPort": 8265})
    accepted(code, started("bash /x/multi-node-serving.sh leader; "), ray)
    refused(code, "targetPort", started("bash /x/multi-node-serving.sh leader; "), other)
    accepted(code, make("set"), make("service", {"spec>ports>0>targetPort": "${PORT}"}))


def test_a_further_port_that_nobody_opens_is_a_remark(
    make: Make, refused: Check, accepted: Check
) -> None:
    ports = [{"name": "http", "port": 80, "targetPort": "http"}, {"name": "m", "port": 8080}]
    two = make("service", {"spec>ports": ports})
    refused("service-port-dead", "spec.ports[1] ~ 8080", make("set"), two)
    accepted("service-port-unserved", make("set"), two)
    accepted("service-port-dead", make("set"), make("service"))


def test_leaders_that_load_are_not_published(make: Make, refused: Check, accepted: Check) -> None:
    early = make("service", {"spec>publishNotReadyAddresses": True})
    refused("service-publishes-unready", "spec.publishNotReadyAddresses", make("set"), early)
    accepted("service-publishes-unready", make("set"), make("service"))
    meeting = make("service", {"spec>publishNotReadyAddresses": True, "spec>clusterIP": "None"})
    accepted("service-publishes-unready", make("set"), meeting)


def test_clients_everywhere_reach_the_leaders(make: Make, refused: Check, accepted: Check) -> None:
    local = make("service", {"spec>internalTrafficPolicy": "Local"})
    refused("service-traffic-local", "spec.internalTrafficPolicy", make("set"), local)
    accepted("service-traffic-local", make("set"), make("service"))


def test_groups_meet_before_they_are_ready(make: Make, refused: Check, accepted: Check) -> None:
    joins = ["--nnodes=2", "--node-rank=1", "--master-addr=meet", "--headless"]
    joining = make("set", {"W>C>args": joins})
    meet = {"metadata>name": "meet", "spec>clusterIP": "None"}
    at = "Service/meet spec.publishNotReadyAddresses"
    refused("rendezvous-waits-for-readiness", at, joining, make("service", meet))
    open_ = make("service", {**meet, "spec>publishNotReadyAddresses": True})
    accepted("rendezvous-waits-for-readiness", joining, open_)
    accepted("rendezvous-waits-for-readiness", make("set"), make("service", meet))
    named = make("set", {"B>C>args": ["--served-model-name=r1-leader"]})
    accepted("rendezvous-waits-for-readiness", named, make("service"))


def test_no_service_is_called_like_an_engine(make: Make, refused: Check, accepted: Check) -> None:
    linked = make("set", {"B>spec>enableServiceLinks": ...})
    named = make("service", {"metadata>name": "vllm"})
    refused("service-links-shadow-engine", "Service/vllm metadata.name", linked, named)
    accepted("service-links-shadow-engine", make("set"), named)
    accepted("service-links-shadow-engine", linked, make("service"))
    headless = make("service", {"metadata>name": "vllm", "spec>clusterIP": "None"})
    accepted("service-links-shadow-engine", linked, headless)


def test_a_port_that_nobody_has_to_declare_is_left_alone(
    make: Make, refused: Check, accepted: Check
) -> None:
    side = {"name": "side", "port": 5700}
    both = make("service", {"spec>ports": [{"name": "http", "port": 80, "targetPort": 8000}, side]})
    accepted("service-port-unserved", make("set"), both)
    alone = make("service", {"spec>ports": [side]})
    refused("service-port-unserved", "spec.ports[0] ~ 5700", make("set"), alone)
    said = make("set", {"L>C>env": [{"name": "SIDE_PORT", "value": "5700"}]})
    accepted("service-port-unserved", said, alone)
    proxied = make("set", {"L>spec>containers": [{"name": "proxy", "image": "a/b:1"}]})
    accepted("service-port-unserved", proxied, alone)
