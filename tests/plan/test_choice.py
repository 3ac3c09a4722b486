"""Which shape is chosen, and why every other one lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.plan.searching import (
    CLIQUE,
    MLA,
    Auto,
    gib,
    lost,
    searched,
    written,
)

from gangform.inputs.hardware import Rdma
from gangform.inputs.model import Attention, Experts
from gangform.inputs.serving import TopologyRequest
from gangform.plan.serving import ServingPlan
from gangform.units import Bytes

# ── what is chosen ───────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("model", "hardware", "chosen"),
    [
        # Small enough for one GPU; then for a part of a node; then for a node.
        ("llama-3.1-8b", "h100-8x", "{tensor: 1}"),
        ("llama-3.3-70b", "h100-8x", "{tensor: 4}"),
        ("llama-3.1-405b", "h200-8x", "{tensor: 8}"),
        # Two nodes over the pod network: stages, and tensor stays inside.
        ("llama-3.1-405b", "h100-8x", "{tensor: 8, pipeline: 2}"),
        ("deepseek-r1", "h100-8x", "{tensor: 8, pipeline: 2}"),
        # With a fabric experts may meet over nodes, which needs no stages.
        ("deepseek-r1", "aws-p5", "{tensor: 1, data: 16, expertParallel: true}"),
        # One node: every tensor rank would hold the whole latent cache.
        ("deepseek-r1", "h200-8x", "{tensor: 1, data: 8, expertParallel: true}"),
        # Four heads over eight ranks would be held twice.
        ("qwen3-235b", "h100-8x", "{tensor: 4, data: 2, expertParallel: true}"),
        # Blocks of FP8 would be cut.
        ("qwen3-coder-480b-fp8", "h100-8x", "{tensor: 8, expertParallel: true}"),
    ],
)
def test_the_shape_of_a_real_model(
    shipped: Callable[..., ServingPlan], model: str, hardware: str, chosen: str
) -> None:
    plan = shipped(model, hardware)
    assert written(plan) == chosen
    found = [one.code.id for one in plan.findings if one.breaks]
    assert found == ["parallelism-not-pinned"]
    assert plan.lead.memory.verdict == "fits"


def test_one_node_is_a_deployment(shipped: Callable[..., ServingPlan]) -> None:
    assert shipped("deepseek-r1", "h200-8x").choice.form.kind == "Deployment"
    assert shipped("deepseek-r1", "h100-8x").choice.form.kind == "LeaderWorkerSet"


def test_the_declared_load_decides_how_many_gpus(shipped: Callable[..., ServingPlan]) -> None:
    few = shipped("llama-3.1-405b", "h100-8x").lead
    assert few.shape.gpus == 16
    most = int(few.memory.requests)
    enough = shipped("llama-3.1-405b", "h100-8x", concurrency=most)
    assert enough.lead.shape == few.shape
    more = shipped("llama-3.1-405b", "h100-8x", concurrency=most + 1)
    assert more.lead.shape.gpus == 24
    assert more.lead.memory.requests > most
    small = lost(more, tensor=8, pipeline=2)
    assert small.lost == "holds too little"
    assert small.why == f"{few.memory.requests} of {most + 1} requests"


def test_sequences_are_cut_only_where_the_load_asks_for_it(
    shipped: Callable[..., ServingPlan],
) -> None:
    plain = shipped("deepseek-r1", "h100-8x")
    assert written(plain) == "{tensor: 8, pipeline: 2}"
    wanted = shipped("deepseek-r1", "h100-8x", concurrency=int(plain.lead.memory.requests * 3 / 2))
    assert written(wanted) == "{tensor: 8, pipeline: 2, decodeContext: 2}"
    # Nothing is looked at beyond the first that does.
    cuts = {one.parallelism.decode_context for one in searched(wanted).considered}
    assert cuts == {1, 2}


@pytest.mark.parametrize(
    ("prefer", "chosen"),
    [
        ("fewestGpus", "{tensor: 1, data: 8, expertParallel: true}"),
        ("tensorFirst", "{tensor: 8}"),
        ("fewestNodes", "{tensor: 1, data: 8, expertParallel: true}"),
    ],
)
def test_a_preference_decides_between_tensor_and_data(
    shipped: Callable[..., ServingPlan], prefer: str, chosen: str
) -> None:
    assert written(shipped("deepseek-r1", "h200-8x", prefer=prefer)) == chosen


def test_who_takes_whole_nodes_counts_nodes(shipped: Callable[..., ServingPlan]) -> None:
    assert written(shipped("qwen3-32b", "h100-8x")) == "{tensor: 2}"
    plan = shipped("qwen3-32b", "h100-8x", prefer="fewestNodes")
    assert written(plan) == "{tensor: 8}"
    beaten = lost(plan, tensor=2)
    assert beaten.lost == "holds fewer requests"


def test_tensor_leaves_a_node_only_inside_a_domain_that_a_group_is_kept_in(
    shipped: Callable[..., ServingPlan],
) -> None:
    loose = shipped("llama-3.1-405b", "gb200-4x")
    assert written(loose) == "{tensor: 4, pipeline: 2}"
    refused = lost(loose, tensor=8)
    assert refused.lost == "is refused"
    assert "nothing keeps a group inside one NVLink domain" in refused.why
    held = shipped("llama-3.1-405b", "gb200-4x", topology={"level": CLIQUE})
    assert written(held) == "{tensor: 8}"
    assert lost(held, tensor=4, pipeline=2).why == "pipeline 2 instead of 1"
    assert held.choice.form.kind == "LeaderWorkerSet"


def test_no_shape_of_a_common_node_cuts_a_layer_over_nodes(
    shipped: Callable[..., ServingPlan],
) -> None:
    for one in searched(shipped("llama-3.1-405b", "h100-8x", concurrency=200)).considered:
        assert one.parallelism.tensor <= 8


def test_experts_meet_over_rdma_or_nvlink_and_not_over_the_pod_network(
    auto: Auto,
) -> None:
    profile = {
        "parameters": 700 * 10**9,
        "expert_parameters": 680 * 10**9,
        "checkpoint": Bytes.gib(660),
        "weights": "fp8",
        "architecture": {
            "attention": MLA,
            "experts": Experts(routed=256, active=8, width=2048),
        },
    }
    apart = auto(model=profile)
    assert written(apart) == "{tensor: 8, pipeline: 2}"
    assert lost(apart, tensor=8, data=2, expert_parallel=True).lost == "leaves the fabric"
    # Stages do not help: data ranks are counted outermost, so they lie on both nodes.
    assert (
        lost(apart, tensor=1, data=8, pipeline=2, expert_parallel=True).lost == "leaves the fabric"
    )
    joined = auto(node={"rdma": Rdma(resource="rdma/ib")}, model=profile)
    assert "data: 8" in written(joined)
    domain = auto(node={"nvlink_gpus": 72}, model=profile, topology=TopologyRequest(level=CLIQUE))
    assert searched(domain).chosen is not None
    assert all(one.lost != "leaves the fabric" for one in searched(domain).considered)


def test_stages_inside_a_node_are_for_what_nothing_else_cuts(auto: Auto) -> None:
    # Overhead is smaller without tensor ranks, so that stages alone would hold a little more.
    plan = auto(model=gib(200 * 10**9, 400))
    assert written(plan) == "{tensor: 8}"
    idle = lost(plan, tensor=4, pipeline=2)
    assert (idle.lost, idle.why) == (
        "has more stages",
        "pipeline 2 instead of 1 on the same 8 GPUs",
    )
    heads = {"attention": Attention(kind="gqa", heads=36, kv_heads=4, head_dim=128)}
    odd = auto(model=gib(200 * 10**9, 400) | {"architecture": heads})
    assert written(odd) == "{tensor: 4, pipeline: 2}"
    assert lost(odd, tensor=8).why == "tensor 8 does not divide 36 attention heads"
    apart = auto(model=gib(200 * 10**9, 400), node={"nvlink_gpus": 1})
    assert written(apart) == "{tensor: 1, pipeline: 8}"


# ── why others lost ──────────────────────────────────────────────────────────────────────────────


def test_every_other_shape_says_why_it_lost(shipped: Callable[..., ServingPlan]) -> None:
    plan = shipped("qwen3-235b-fp8", "h100-8x")
    first, *others = searched(plan).considered
    assert first == searched(plan).chosen
    assert (first.lost, first.why) == ("", "")
    assert others
    assert all(one.lost and one.why for one in others)
    assert lost(plan, tensor=8).why == "experts: 1536 over 8 ranks is 192 = 1.5 blocks of 128"
    assert lost(plan, tensor=8, expert_parallel=True).lost == "takes more GPUs"
    assert lost(plan, tensor=8, expert_parallel=True).why == "8 instead of 4"
    assert lost(plan, tensor=1).lost == "does not fit"
    assert lost(plan, tensor=1).why.startswith("short by ")
    splits = [one.parallelism for one in searched(plan).considered]
    assert len(splits) == len(set(map(str, splits)))


def test_a_shape_that_fits_within_the_error_waits_for_better_ones(auto: Auto) -> None:
    # Of 80 GiB x 0.92 = 73.6 GiB the weights, the overhead and one request take all but less than the error.
    plan = auto(model=gib(33 * 10**9, 66), context=16_384)
    tight = lost(plan, tensor=1)
    assert tight.lost == "fits tightly"
    assert written(plan) == "{tensor: 2}"
    alone = auto(node={"gpu": {"count": 1}}, model=gib(33 * 10**9, 66), context=16_384, nodes=1)
    assert written(alone) == "{tensor: 1}"
    assert "model-fits-tightly" in [one.code.id for one in alone.findings]
    # Not even within the error are so many requests held.
    many = auto(
        node={"gpu": {"count": 1}},
        model=gib(33 * 10**9, 66),
        context=16_384,
        nodes=1,
        concurrency=50,
    )
    assert lost(many, tensor=1).lost == "holds too little"
    assert "no-shape-holds-the-load" in [one.code.id for one in many.findings]


def test_what_is_wrong_with_any_shape_is_no_reason_against_one(auto: Auto) -> None:
    plan = auto(context=200_000)
    assert written(plan) != ""
    found = {one.code.id for one in plan.findings if one.breaks}
    assert found == {"context-beyond-model", "parallelism-not-pinned"}
