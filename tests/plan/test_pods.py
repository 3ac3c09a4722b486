from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.hardware import HardwareShape, Rdma, Taint
from gangform.inputs.serving import Engine, Parallelism, Pods, Resources, Serving
from gangform.plan.pods import Spread
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes, Millicores

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeHardware = Callable[..., HardwareShape]
MakeServing = Callable[..., Serving]
Codes = Callable[[Iterable[Finding]], list[str]]

RACK = "example.com/rack"
FOUR = Parallelism(tensor=4)


def test_a_pod_of_a_whole_node_takes_nine_tenths_of_it(make_plan: MakePlan) -> None:
    pods = make_plan().lead.pods
    assert pods.requests.spelled() == {
        "cpu": "90",
        "memory": "1440Gi",
        "ephemeral-storage": "2700Gi",
        "nvidia.com/gpu": "8",
    }
    assert pods.limits.spelled() == {
        "memory": "1440Gi",
        "ephemeral-storage": "2700Gi",
        "nvidia.com/gpu": "8",
    }
    assert pods.storage == Bytes.gib(2700)


def test_a_part_of_a_node_takes_its_share_in_whole_cores_and_gib(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    odd = make_hardware(cpu=Millicores(99_999), memory=Bytes.gib(1601))
    plan = make_plan(on=make_cluster(pool={"hardware": odd}), parallelism=Parallelism(tensor=2))
    assert plan.lead.pods.requests.spelled() == {
        "cpu": "22",
        "memory": "360Gi",
        "ephemeral-storage": "675Gi",
        "nvidia.com/gpu": "2",
    }


def test_a_pod_has_one_core_at_least(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    small = make_hardware(cpu=Millicores(500))
    assert make_plan(on=make_cluster(pool={"hardware": small})).lead.pods.requests["cpu"] == 1000


def test_declared_resources_win(make_plan: MakePlan) -> None:
    own = Resources(
        cpu=Millicores(500),
        memory=Bytes.gib(100),
        ephemeral_storage=Bytes.gib(200),
        shared_memory=Bytes.gib(9),
    )
    pods = make_plan(pods=Pods(resources=own)).lead.pods
    assert pods.requests.spelled() == {
        "cpu": "500m",
        "memory": "100Gi",
        "ephemeral-storage": "200Gi",
        "nvidia.com/gpu": "8",
    }
    assert pods.volumes[0].size == Bytes.gib(9)


@pytest.mark.parametrize(("split", "gib"), [(Parallelism(tensor=8, pipeline=2), 16), (FOUR, 8)])
def test_shared_memory_is_two_gib_a_gpu(make_plan: MakePlan, split: Parallelism, gib: int) -> None:
    shm = make_plan(parallelism=split).lead.pods.volumes[0]
    assert (shm.name, shm.kind, shm.mount, shm.size) == (
        "shm",
        "memory",
        "/dev/shm",
        Bytes.gib(gib),
    )


def test_pods_of_a_group_take_the_fabric_of_their_node(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    fabric = Rdma(resource="rdma/ib", count=8, annotations={"net": "roce"})
    on = make_cluster(pool={"hardware": make_hardware(rdma=fabric)})
    pods = make_plan(on=on).lead.pods
    assert pods.requests["rdma/ib"] == pods.limits["rdma/ib"] == 8
    assert pods.capabilities == ("IPC_LOCK",)
    assert pods.annotations == {"net": "roce"}


@pytest.mark.parametrize("workload", [None, "LeaderWorkerSet"])
@pytest.mark.parametrize("tensor", [8, 3])
def test_a_replica_of_one_pod_takes_no_fabric(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    tensor: int,
    workload: str | None,
) -> None:
    fabric = Rdma(resource="rdma/ib", count=8, annotations={"net": "roce"})
    on = make_cluster(pool={"hardware": make_hardware(rdma=fabric)})
    plan = make_plan(on=on, parallelism=Parallelism(tensor=tensor), workload=workload)
    pods = plan.lead.pods
    assert "rdma/ib" not in pods.requests
    assert (pods.capabilities, pods.annotations) == ((), {})


@pytest.mark.parametrize("field", ["sidecars", "init_containers"])
@pytest.mark.parametrize("resource", ["nvidia.com/gpu", "rdma/ib"])
def test_what_stands_beside_the_engine_counts_towards_the_node(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    codes: Codes,
    field: str,
    resource: str,
) -> None:
    on = make_cluster(pool={"hardware": make_hardware(rdma=Rdma(resource="rdma/ib", count=2))})

    def beside(amount: str) -> ServingPlan:
        # An init container runs before the engine, so only what it takes alone counts.
        wants = {"limits": {resource: amount}, "requests": {resource: amount}}
        container = {"name": "more", "image": "example.com/more:1", "resources": wants}
        given: dict[str, Any] = {field: (container,)}
        return make_plan(on=on, pods=Pods(**given))

    (found,) = [one for one in beside("9").findings if one.code.id == "request-exceeds-node"]
    assert found.at.path[-1] == {"init_containers": "initContainers"}.get(field, field)
    assert resource in found.what
    assert "request-exceeds-node" not in codes(beside("0").findings)


def test_a_pool_has_the_gpus_of_its_hardware(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    label = "nvidia.com/gpu.product"
    other = make_cluster(pool={"node_labels": {label: "NVIDIA-A100"}})
    (found,) = make_plan(on=other).findings
    assert codes([found]) == ["pool-contradicts-hardware"]
    assert found.at.path == ("clusters", "prod", "pools", "gpu", "nodeLabels", label)
    same = make_cluster(pool={"node_labels": {label: "NVIDIA-H100-80GB-HBM3"}})
    assert codes(make_plan(on=same).findings) == []


def test_without_a_fabric_or_its_resource_none_is_requested(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    assert make_plan().lead.pods.capabilities == ()
    annotated = make_hardware(rdma=Rdma(annotations={"net": "a"}))
    pods = make_plan(
        on=make_cluster(pool={"hardware": annotated}), pods=Pods(annotations={"own": "b"})
    ).lead.pods
    assert len(pods.requests) == 4
    assert pods.annotations == {"net": "a", "own": "b"}


def test_pods_are_pinned_to_the_product_and_the_labels_of_the_pool(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    on = make_cluster(pool={"node_labels": {"pool": "a"}})
    pods = make_plan(on=on, pods=Pods(node_selector={"disk": "nvme"})).lead.pods
    assert pods.node_selector == {
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
        "pool": "a",
        "disk": "nvme",
    }


def test_taints_of_the_shape_are_tolerated(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    taints = (Taint(key="nvidia.com/gpu"),)
    on = make_cluster(pool={"hardware": make_hardware(taints=taints)})
    assert make_plan(on=on).lead.pods.taints == taints


def test_a_named_account_is_not_ours(make_plan: MakePlan) -> None:
    assert make_plan().lead.pods.owns_account
    assert not make_plan(pods=Pods(service_account_name="theirs")).lead.pods.owns_account
    assert make_plan(pods=Pods(service_account_name="theirs")).lead.identity.account == "theirs"


def test_single_pods_are_spread_and_groups_are_not(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    on = make_cluster(pool={"levels": (RACK,)})
    one = make_plan(on=on, spread=RACK, parallelism=FOUR)
    assert one.lead.pods.spread == Spread(level=RACK, skew=1, otherwise="ScheduleAnyway")
    assert codes(one.findings) == []
    assert make_plan(on=on, parallelism=FOUR).lead.pods.spread is None
    assert make_plan(on=on, spread=RACK).lead.pods.spread is None


# ── what a quota counts ──────────────────────────────────────────────────────────────────────────


def side(name: str = "log", **requests: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in requests.items()}
    return {"name": name, "image": "x:1", "resources": {"requests": named}}


def test_a_quota_counts_sidecars_too(make_plan: MakePlan) -> None:
    plan = make_plan(pods=Pods(sidecars=(side(cpu="500m", memory="1Gi"), side("b", cpu="1"))))
    assert plan.lead.pods.requests["cpu"] == 90_000
    assert plan.lead.pods.counted.spelled() == {
        "cpu": "91500m",
        "memory": "1441Gi",
        "ephemeral-storage": "2700Gi",
        "nvidia.com/gpu": "8",
    }
    assert plan.lead.demand.leader == plan.lead.demand.worker == plan.lead.pods.counted


def test_an_init_container_counts_only_where_it_asks_for_more(make_plan: MakePlan) -> None:
    small = make_plan(pods=Pods(init_containers=(side(cpu="1"),)))
    assert small.lead.pods.counted == small.lead.pods.requests
    large = make_plan(pods=Pods(init_containers=(side(cpu="95", hugepages_2Mi="1Gi"),)))
    assert large.lead.pods.counted["cpu"] == 95_000
    assert large.lead.pods.counted["hugepages-2Mi"] == 2**30


def test_a_request_that_is_no_quantity_counts_nothing(make_plan: MakePlan) -> None:
    plan = make_plan(pods=Pods(sidecars=(side(cpu="many"), {"name": "b", "resources": 5})))
    assert plan.lead.pods.counted == plan.lead.pods.requests


# ── findings ─────────────────────────────────────────────────────────────────────────────────────


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
