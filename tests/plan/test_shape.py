from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.engines.engine import Shape
from gangform.findings import Finding
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.serving import Parallelism, Serving, TopologyRequest
from gangform.plan import shape

MakeServing = Callable[..., Serving]
MakeHardware = Callable[..., HardwareShape]
Codes = Callable[[Iterable[Finding]], list[str]]
AT = ("servings", "llm")


def faults(serving: Serving, hardware: HardwareShape) -> list[Finding]:
    return list(shape.check(serving, shape.derive(serving, hardware), hardware, AT))


@pytest.mark.parametrize(
    ("split", "node", "per_pod", "size"),
    [
        ({"tensor": 8, "pipeline": 2}, 8, 8, 2),
        ({"tensor": 4}, 8, 4, 1),
        ({"tensor": 8}, 8, 8, 1),
        ({"tensor": 8}, 4, 4, 2),
        ({"tensor": 4, "data": 8}, 8, 8, 4),
        ({"tensor": 2, "pipeline": 2, "data": 2, "prefill_context": 2}, 8, 8, 2),
        ({"tensor": 8, "pipeline": 2, "decode_context": 4}, 8, 8, 2),
        ({"tensor": 6, "pipeline": 2}, 8, 8, 2),
    ],
)
def test_a_replica_fills_nodes_or_a_part_of_one(
    make_serving: MakeServing,
    make_hardware: MakeHardware,
    split: dict[str, Any],
    node: int,
    per_pod: int,
    size: int,
) -> None:
    hardware = make_hardware(gpu={"count": node}, nvlink_gpus=8)
    found = shape.derive(make_serving(parallelism=Parallelism(**split)), hardware)
    assert (found.gpus_per_pod, found.size) == (per_pod, size)


def test_every_number_of_the_split_is_kept(
    make_serving: MakeServing, make_hardware: MakeHardware
) -> None:
    split = Parallelism(
        tensor=2, pipeline=3, data=5, prefill_context=7, decode_context=2, expert_parallel=True
    )
    found = shape.derive(make_serving(parallelism=split), make_hardware())
    assert found == Shape(
        tensor=2,
        pipeline=3,
        data=5,
        prefill_context=7,
        decode_context=2,
        expert_parallel=True,
        gpus_per_pod=8,
        size=27,
    )
    assert (found.world, found.gpus, found.expert_ranks) == (210, 216, 70)


@settings(deadline=None)
@given(world=st.integers(1, 4096), node=st.integers(1, 64))
def test_a_group_has_a_gpu_for_every_rank_and_no_node_too_many(world: int, node: int) -> None:
    per_pod = shape.gpus_per_pod(world, node)
    size = shape.size(world, per_pod)
    assert per_pod <= node
    assert size * per_pod >= world > (size - 1) * per_pod
    assert size == 1 or per_pod == node


def test_one_node_is_a_deployment_and_several_are_a_set(
    make_serving: MakeServing, make_hardware: MakeHardware
) -> None:
    def choice(**changes: Any) -> shape.Choice:
        serving = make_serving(**changes)
        return shape.choose(serving, shape.derive(serving, make_hardware()))

    one = choice(parallelism=Parallelism(tensor=8))
    assert one.form.kind == "Deployment"
    assert one.reason == "a replica fits one node (8 GPUs), so each is one pod"
    two = choice()
    assert two.form.kind == "LeaderWorkerSet"
    assert two.reason == "a replica spans 2 nodes of 8 GPUs"
    asked = choice(parallelism=Parallelism(tensor=8), workload="LeaderWorkerSet")
    assert asked.form.kind == "LeaderWorkerSet"
    assert asked.reason == "`workload: LeaderWorkerSet` was asked for"


@pytest.mark.parametrize(
    ("split", "fix"),
    [
        ({"tensor": 4, "pipeline": 3}, "choose a product of 8 or 16"),
        ({"tensor": 8, "pipeline": 2, "data": 3}, None),
        ({"tensor": 4, "pipeline": 5}, "choose a product of 16 or 24"),
        ({"tensor": 4}, None),
        ({"tensor": 6}, None),
    ],
)
def test_a_replica_over_nodes_fills_whole_ones(
    make_serving: MakeServing,
    make_hardware: MakeHardware,
    codes: Codes,
    split: dict[str, Any],
    fix: str | None,
) -> None:
    found = faults(make_serving(parallelism=Parallelism(**split)), make_hardware())
    assert codes(found) == ([] if fix is None else ["shape-does-not-fill-nodes"])
    assert [one.fix for one in found] == ([] if fix is None else [fix])


def test_a_part_of_a_node_is_said_with_the_sum(
    make_serving: MakeServing, make_hardware: MakeHardware
) -> None:
    (found,) = faults(make_serving(parallelism=Parallelism(tensor=4, pipeline=3)), make_hardware())
    assert found.what == (
        "tensor 4 x pipeline 3 x data 1 x prefillContext 1 = 12 GPUs is not a multiple of the 8 GPUs of a node"
    )
    assert found.seen == {"gpus": "12", "node": "8"}


def test_tensor_larger_than_the_nvlink_domain_is_refused_with_stages_instead(
    make_serving: MakeServing, make_hardware: MakeHardware, codes: Codes
) -> None:
    wide = make_serving(parallelism=Parallelism(tensor=16, pipeline=2))
    (found,) = faults(wide, make_hardware())
    assert codes([found]) == ["tensor-leaves-nvlink"]
    assert found.at.path == (*AT, "parallelism", "tensor")
    assert found.fix.startswith("use tensor 8 and pipeline 4, or set `nvlinkGpus`")
    held = wide.model_copy(update={"topology": TopologyRequest(level="example.com/clique")})
    assert faults(held, make_hardware(nvlink_gpus=72)) == []
    small = make_serving(parallelism=Parallelism(tensor=8, pipeline=2))
    assert codes(faults(small, make_hardware(nvlink_gpus=4))) == ["tensor-leaves-nvlink"]


def test_tensor_groups_that_straddle_two_nodes_are_refused(
    make_serving: MakeServing, make_hardware: MakeHardware, codes: Codes
) -> None:
    straddling = make_serving(parallelism=Parallelism(tensor=6, pipeline=4))
    (found,) = faults(straddling, make_hardware())
    assert codes([found]) == ["tensor-leaves-nvlink"]
    assert found.fix == "use tensor 4 and more pipeline stages"
    inside = make_hardware(nvlink_gpus=72)
    assert faults(straddling, inside) == []
    assert (
        faults(make_serving(parallelism=Parallelism(tensor=4, pipeline=6)), make_hardware()) == []
    )


def test_tensor_over_nodes_is_kept_in_one_nvlink_domain(
    make_serving: MakeServing, make_hardware: MakeHardware, codes: Codes
) -> None:
    rack = make_hardware(nvlink_gpus=72)
    wide = Parallelism(tensor=16)
    level = "example.com/clique"
    held = TopologyRequest(level=level)
    assert faults(make_serving(parallelism=wide, topology=held), rack) == []
    for loose in (None, TopologyRequest(level=level, mode="preferred")):
        (found,) = faults(make_serving(parallelism=wide, topology=loose), rack)
        assert codes([found]) == ["tensor-spans-nodes-unplaced"]
        assert found.at.path == (*AT, "topology")
        assert "mode: required" in found.fix
    long = Parallelism(tensor=24, pipeline=6)
    (larger,) = faults(make_serving(parallelism=long, topology=held), rack)
    assert larger.at.path == (*AT, "parallelism")
    assert larger.fix.startswith("use a product of at most 72 GPUs")
    assert faults(make_serving(parallelism=Parallelism(tensor=8, pipeline=18)), rack) == []
