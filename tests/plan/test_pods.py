from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.hardware import HardwareShape, Rdma, Taint
from gangform.inputs.serving import Parallelism, Pods, Resources, Serving
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
