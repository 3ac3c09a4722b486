"""What a pod could not be, and is refused or said."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.hardware import HardwareShape, Rdma
from gangform.inputs.serving import Engine, Parallelism, Pods, Resources, Serving
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes, Millicores

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeHardware = Callable[..., HardwareShape]
MakeServing = Callable[..., Serving]
Codes = Callable[[Iterable[Finding]], list[str]]

RACK = "example.com/rack"
FOUR = Parallelism(tensor=4)


def side(name: str = "log", **requests: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in requests.items()}
    return {"name": name, "image": "x:1", "resources": {"requests": named}}


@pytest.mark.parametrize("field", ["labels", "annotations"])
@pytest.mark.parametrize(
    "key",
    [
        "leaderworkerset.sigs.k8s.io/name",
        "kueue.x-k8s.io/queue-name",
        "app.kubernetes.io/name",
        "app.kubernetes.io/managed-by",
        "scheduling.k8s.io/group-name",
    ],
)
def test_keys_of_controllers_and_of_the_plan_are_refused(
    make_plan: MakePlan, codes: Codes, field: str, key: str
) -> None:
    fields: dict[str, Any] = {field: {key: "x", "example.com/own": "y"}}
    plan = make_plan(pods=Pods(**fields))
    assert codes(plan.findings) == ["label-owned-by-controller"]
    assert plan.findings[0].at.path == ("servings", "llm", "pods", field, key)


@pytest.mark.parametrize(
    "name", ["HF_HOME", "LWS_LEADER_ADDRESS", "LWS_GROUP_SIZE", "LWS_WORKER_INDEX", "VLLM_HOST_IP"]
)
def test_a_variable_of_the_engine_or_the_controller_is_refused(
    make_plan: MakePlan, codes: Codes, name: str
) -> None:
    env: Any = ({"name": "OWN", "value": "1"}, {"name": name, "value": "1"})
    plan = make_plan(pods=Pods(env=env))
    assert codes(plan.findings) == ["env-owned-by-plan"]
    assert plan.findings[0].at.path == ("servings", "llm", "pods", "env", 1)


@pytest.mark.parametrize("field", ["init_containers", "sidecars"])
def test_no_other_container_is_called_like_the_engines(
    make_plan: MakePlan, codes: Codes, field: str
) -> None:
    fields: dict[str, Any] = {field: ({"name": "log"}, {"name": "engine"})}
    plan = make_plan(pods=Pods(**fields))
    assert codes(plan.findings) == ["container-name-taken"]
    alias = {"init_containers": "initContainers", "sidecars": "sidecars"}[field]
    assert plan.findings[0].at.path == ("servings", "llm", "pods", alias, 1, "name")
    fields = {field: ({"name": "log"},)}
    assert codes(make_plan(pods=Pods(**fields)).findings) == []


def test_a_selector_against_the_pool_is_refused_and_the_same_value_is_not(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    on = make_cluster(pool={"node_labels": {"pool": "a"}})
    against = make_plan(on=on, pods=Pods(node_selector={"pool": "b"}))
    assert codes(against.findings) == ["node-selector-contradicts-pool"]
    assert against.findings[0].what == "pool is `b`, but the pool has `a`"
    same = make_plan(on=on, pods=Pods(node_selector={"pool": "a", "disk": "b"}))
    assert codes(same.findings) == []


def test_shared_memory_leaves_some_memory(make_plan: MakePlan, codes: Codes) -> None:
    def plan(memory: int, shared: int) -> ServingPlan:
        own = Resources(memory=Bytes(memory), shared_memory=Bytes(shared))
        return make_plan(pods=Pods(resources=own))

    assert codes(plan(2**30, 2**30).findings) == ["shared-memory-exceeds-request"]
    assert codes(plan(2**30, 2**30 - 1).findings) == []


@pytest.mark.parametrize(
    ("own", "field", "most"),
    [
        ({"cpu": Millicores(100_001)}, "cpu", "100"),
        ({"memory": Bytes.gib(1601)}, "memory", "1600Gi"),
        ({"ephemeral_storage": Bytes.gib(3001)}, "ephemeralStorage", "3000Gi"),
    ],
)
def test_no_pod_asks_for_more_than_a_node_has(
    make_plan: MakePlan, codes: Codes, own: dict[str, Any], field: str, most: str
) -> None:
    plan = make_plan(pods=Pods(resources=Resources(**own)))
    assert codes(plan.findings) == ["request-exceeds-node"]
    assert plan.findings[0].at.path[-2:] == ("resources", field)
    assert plan.findings[0].fix == f"use at most {most}"


def test_a_whole_node_may_be_asked_for_but_no_sidecar_beyond_it(
    make_plan: MakePlan, codes: Codes
) -> None:
    whole = Resources(cpu=Millicores(100_000))
    assert codes(make_plan(pods=Pods(resources=whole)).findings) == []
    more = make_plan(pods=Pods(resources=whole, sidecars=(side(cpu="1"),)))
    assert codes(more.findings) == ["request-exceeds-node"]


def test_the_hosts_network_needs_whole_nodes(make_plan: MakePlan, codes: Codes) -> None:
    shared = make_plan(pods=Pods(host_network=True), parallelism=FOUR)
    assert codes(shared.findings) == ["host-network-ports-collide"]
    assert "would open port 8000" in shared.findings[0].what
    assert codes(make_plan(pods=Pods(host_network=True)).findings) == []


@pytest.mark.parametrize("split", [FOUR, Parallelism(tensor=8, pipeline=2)])
def test_a_level_to_spread_over_has_to_be_one_of_the_pool(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes, split: Parallelism
) -> None:
    none = make_plan(spread=RACK, parallelism=split)
    assert codes(none.findings) == ["spread-level-unknown"]
    assert none.findings[0].fix == "declare the pool's `levels`"
    other = make_plan(
        on=make_cluster(pool={"levels": ("example.com/block",)}), spread=RACK, parallelism=split
    )
    assert other.findings[0].fix == "write one of example.com/block"
    known = make_plan(on=make_cluster(pool={"levels": (RACK,)}), spread=RACK, parallelism=split)
    assert codes(known.findings) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"env": ({"name": ["a"]}, {"name": None}, {})},
        {"sidecars": ({"name": {"a": 1}, "env": 5}, {"env": "text", "envFrom": {"a": 1}})},
        {"init_containers": ({"env": [1, None, {"valueFrom": 3}], "resources": []},)},
        {"volumes": ({"secret": 1}, {})},
    ],
)
def test_pieces_of_another_type_do_not_stop_the_plan(
    make_plan: MakePlan, odd: dict[str, Any]
) -> None:
    assert make_plan(pods=Pods(**odd)).lead.pods.extension == Pods(**odd)


def test_privileges_that_the_user_asks_for_are_not_denied_by_us(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    on = make_cluster(pool={"hardware": make_hardware(rdma=Rdma(resource="rdma/ib"))})

    def asked(**context: Any) -> tuple[bool, tuple[str, ...]]:
        pods = make_plan(on=on, pods=Pods(container_security_context=context)).lead.pods
        return pods.privilege_escalation, pods.capabilities

    assert asked() == asked(runAsUser=5) == (False, ("IPC_LOCK",))
    assert asked(privileged=True) == (True, ("IPC_LOCK",))
    for spelled in ("SYS_ADMIN", "CAP_SYS_ADMIN"):
        assert asked(capabilities={"add": [spelled]}) == (True, ("IPC_LOCK", spelled))
    both = {"add": ["SYS_PTRACE", "CAP_IPC_LOCK"], "drop": ["ALL"]}
    assert asked(capabilities=both) == (False, ("IPC_LOCK", "SYS_PTRACE"))


@pytest.mark.parametrize("image", ["REGISTRY/IMAGE", "${IMAGE}", "a b", "a:", "a:v1\n"])
def test_an_image_that_no_registry_has_is_refused_at_its_input(
    make_plan: MakePlan, codes: Codes, image: str
) -> None:
    plan = make_plan(engine=Engine(version="0.33.0", image=image))
    assert codes(plan.findings) == ["engine-image-invalid"]
    assert plan.findings[0].at.path == ("servings", "llm", "engine", "image")


@pytest.mark.parametrize("image", [None, "r.example:5000/a/b:v1", "x@sha256:" + "a" * 64])
def test_an_image_of_ones_own_is_taken(
    make_plan: MakePlan, codes: Codes, image: str | None
) -> None:
    assert codes(make_plan(engine=Engine(version="0.33.0", image=image)).findings) == []


@pytest.mark.parametrize("label", ["pod-template-hash", "controller-revision-hash"])
def test_hashes_of_controllers_are_no_labels_of_the_user(
    make_plan: MakePlan, codes: Codes, label: str
) -> None:
    plan = make_plan(pods=Pods(labels={label: "a"}))
    assert codes(plan.findings) == ["label-owned-by-controller"]


def test_annotations_are_as_long_as_the_server_takes(make_plan: MakePlan, codes: Codes) -> None:
    most = {"a": "x" * (256 * 1024 - 1)}
    assert codes(make_plan(pods=Pods(annotations=most)).findings) == []
    plan = make_plan(pods=Pods(annotations={**most, "b": ""}))
    assert codes(plan.findings) == ["annotations-too-large"]
    assert plan.findings[0].at.path[-1] == "annotations"
