from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.findings import Finding, Severity
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Admission, Network, Parallelism, Pods, TopologyRequest
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Codes = Callable[[Iterable[Finding]], list[str]]

RACK = "example.com/rack"
ONE = Parallelism(tensor=8)


@pytest.mark.parametrize("mode", ["required", "preferred"])
def test_a_topology_of_one_pod_is_said_to_be_dropped(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes, mode: Any
) -> None:
    on = make_cluster(pool={"levels": (RACK,)})
    asked = TopologyRequest(level=RACK, mode=mode)
    (found,) = make_plan(on=on, backend="kueue", parallelism=ONE, topology=asked).findings
    assert codes([found]) == ["topology-without-group"]
    assert found.code.severity is Severity.STYLE
    assert codes(make_plan(on=on, backend="kueue", topology=asked).findings) == []


@pytest.mark.parametrize("backend", ["kueue", "volcano", "volcano-podgroup", "none"])
def test_a_field_that_the_backend_does_not_read_is_refused(
    make_plan: MakePlan, codes: Codes, backend: str
) -> None:
    queue = None if backend == "none" else "serving"
    plan = make_plan(admission=Admission(backend=backend, queue=queue, priority_class="high"))
    unused = [one for one in plan.findings if one.code.id == "admission-field-unused"]
    paths = [("servings", "llm", "admission", "priorityClass")]
    assert [one.at.path for one in unused] == ([] if backend == "kueue" else paths)
    plain = make_plan(admission=Admission(backend=backend, queue=queue))
    assert "admission-field-unused" not in codes(plain.findings)


def test_a_queue_that_nobody_keeps_is_refused(make_plan: MakePlan, codes: Codes) -> None:
    (found,) = make_plan(admission=Admission(backend="none", queue="serving")).findings
    assert codes([found]) == ["admission-field-unused"]
    assert found.at.path == ("servings", "llm", "admission", "queue")


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [
        ("restart_policy", "None", "restartPolicy"),
        ("restart_policy", "RecreateGroupAfterStart", "restartPolicy"),
        ("startup_policy", "LeaderReady", "startupPolicy"),
    ],
)
def test_a_policy_of_groups_needs_groups(
    make_plan: MakePlan, codes: Codes, field: str, value: str, name: str
) -> None:
    (found,) = make_plan(parallelism=ONE, **{field: value}).findings
    assert codes([found]) == ["field-needs-groups"]
    assert found.at.path == ("servings", "llm", name)
    for form in ({}, {"parallelism": ONE, "workload": "LeaderWorkerSet"}):
        assert "field-needs-groups" not in codes(make_plan(**form, **{field: value}).findings)


def test_a_network_policy_does_not_reach_the_hosts_network(
    make_plan: MakePlan, codes: Codes
) -> None:
    network, host = Network(clients=({},), scrapers=({},)), Pods(host_network=True)
    (found,) = make_plan(network=network, pods=host).findings
    assert codes([found]) == ["network-policy-not-applied"]
    assert not found.breaks
    assert codes(make_plan(network=network).findings) == []
    assert codes(make_plan(pods=host).findings) == []
