"""Nothing that holds the load is better than what is chosen."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.searching import (
    MLA,
    MakeCluster,
    MakeHardware,
    MakeModel,
    MakePlan,
    every_split,
    searched,
)

from gangform.inputs.hardware import Rdma
from gangform.inputs.model import Architecture, Attention, Experts
from gangform.inputs.parallelism import Parallelism
from gangform.plan import choice
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes


@settings(deadline=None)
@given(tensor=st.integers(1, 512), kv_heads=st.integers(1, 128))
def test_ranks_hold_copies_where_there_are_fewer_heads_than_ranks(
    tensor: int, kv_heads: int
) -> None:
    gqa = Attention(kind="gqa", heads=128, kv_heads=kv_heads, head_dim=128)
    found = choice.copies(gqa, tensor)
    assert found >= 1
    assert found * kv_heads <= max(tensor, kv_heads)
    assert choice.copies(MLA, tensor) == tensor


@pytest.mark.thorough
@settings(deadline=None, max_examples=25)
@given(
    experts=st.booleans(),
    mla=st.booleans(),
    rdma=st.booleans(),
    billions=st.integers(1, 450),
    wanted=st.sampled_from([1, 5, 20, 60]),
)
def test_no_shape_that_holds_the_load_is_better_than_the_chosen_one(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    make_model: MakeModel,
    experts: bool,
    mla: bool,
    rdma: bool,
    billions: int,
    wanted: int,
) -> None:
    """Every split of up to two nodes of four GPUs is planned as somebody's own, and its findings decide."""
    parameters = billions * 10**9
    model = make_model(
        checkpoint=Bytes(2 * parameters),
        parameters=parameters,
        expert_parameters=parameters * 9 // 10 if experts else 0,
        measured=None,
        architecture=Architecture(
            layers=40,
            hidden=1024,
            vocabulary=32_768,
            attention=MLA if mla else Attention(kind="gqa", heads=64, kv_heads=2, head_dim=128),
            experts=Experts(routed=64, active=4, width=2048) if experts else None,
        ),
    )
    node = make_hardware(gpu={"count": 4}, rdma=Rdma(resource="rdma/ib") if rdma else None)
    home = make_cluster(pool={"hardware": node, "nodes": 2})

    def plan(split: Any) -> ServingPlan:
        return make_plan(on=home, model=model, parallelism=split, concurrency=wanted, groups=1)

    def key(split: Parallelism) -> tuple[int | Decimal, ...] | None:
        """What the preference compares; `None` where it does not hold the load."""
        found = plan(split)
        shape, memory = found.lead.shape, found.lead.memory
        if not opened(found, split) or memory.verdict != "fits" or memory.requests < wanted:
            return None
        if shape.pipeline > max(shape.size, fewest.get(shape.gpus, 1)):
            return None
        return (shape.gpus, shape.size, shape.pipeline, shape.decode_context, -memory.requests)

    def opened(found: ServingPlan, split: Parallelism) -> bool:
        """Whether the engine and the network take it; whether it fits is another matter."""
        refused = {one.code.id for one in found.findings if one.breaks} - {"model-does-not-fit"}
        crosses = split.data > 1 and found.lead.shape.size > 1 and not rdma
        return not refused and not crosses

    fewest: dict[int, int] = {}
    for split in every_split(8, experts=experts):
        tried = plan(split)
        if opened(tried, split):
            gpus = tried.lead.shape.gpus
            fewest[gpus] = min(split.pipeline, fewest.get(gpus, split.pipeline))
    keys = [key(split) for split in every_split(8, experts=experts)]
    best = min((one for one in keys if one is not None), default=None)
    found = plan("auto")
    if best is not None:
        assert key(searched(found).stand_in) == best
    else:
        chosen = searched(found).chosen
        assert chosen is None or found.lead.memory.verdict == "tight"
