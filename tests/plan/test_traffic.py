from __future__ import annotations

from collections.abc import Callable

from gangform.inputs.serving import Network, Parallelism
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]

NAME = "leaderworkerset.sigs.k8s.io/name"
WORKER = "leaderworkerset.sigs.k8s.io/worker-index"
APP = "app.kubernetes.io/name"
OPEN = Network(clients=({"podSelector": {}},), scrapers=({"podSelector": {}},))


def test_only_leaders_of_the_set_serve(make_plan: MakePlan) -> None:
    traffic = make_plan().traffic
    assert (traffic.service, traffic.port, traffic.port_name) == ("llm-leader", 8000, "http")
    assert traffic.leaders == {NAME: "llm", WORKER: "0"}
    assert traffic.pods == {NAME: "llm"}


def test_leaders_of_several_sets_are_one_service(make_plan: MakePlan) -> None:
    traffic = make_plan(backend="volcano-podgroup").traffic
    assert traffic.leaders == {APP: "llm", WORKER: "0"}
    assert traffic.pods == {APP: "llm"}


def test_every_pod_of_a_deployment_serves_under_the_same_name_and_port(
    make_plan: MakePlan,
) -> None:
    groups, single = make_plan().traffic, make_plan(parallelism=Parallelism(tensor=8)).traffic
    assert single.leaders == single.pods == {APP: "llm"}
    assert (single.service, single.port) == (groups.service, groups.port)


def test_a_network_is_closed_on_request_only(make_plan: MakePlan) -> None:
    assert make_plan().traffic.network is None
    assert make_plan(network=OPEN).traffic.network == OPEN
