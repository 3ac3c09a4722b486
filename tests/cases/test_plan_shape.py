"""Planning cases of shapes and of what an engine refuses."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from tests.cases.planning import (
    cluster,
    fp8,
    layers,
    model,
    node,
    planned,
    refusal,
    refused,
    row,
)

from gangform.bundle import bundle
from gangform.inputs.model import Attention, Experts
from gangform.inputs.serving import (
    Engine,
    Parallelism,
    Patch,
    TopologyRequest,
)
from gangform.plan.serving import ServingPlan


@row("r02-a")
@pytest.mark.parametrize("tensor", [8, 16])
def test_a_dense_layer_in_whole_blocks_is_accepted(tensor: int) -> None:
    assert 18_432 // tensor in (18 * 128, 9 * 128)
    clique = "nvidia.com/gpu.clique"
    plan = planned(
        fp8(attention=Attention(kind="mla", heads=128, latent=576), dense_width=18_432),
        on=cluster(node(), pool={"levels": (clique, "kubernetes.io/hostname")}),
        parallelism=Parallelism(tensor=tensor),
        # Over several nodes tensor ranks want one NVLink domain.
        topology=TopologyRequest(level=clique) if tensor > 8 else None,
    )
    assert refused(plan) == {}


def test_a_dense_layer_cut_inside_a_block_is_refused() -> None:
    plan = planned(
        fp8(attention=Attention(kind="mla", heads=128, latent=576), dense_width=18_432),
        parallelism=Parallelism(tensor=32),
    )
    assert set(refused(plan)) == {"fp8-block-is-cut", "tensor-spans-nodes-unplaced"}
    what = refused(plan)["fp8-block-is-cut"].what
    assert what == "dense layers: 18432 over 32 ranks is 576 = 4.5 blocks of 128"


NARROW = fp8(
    attention=Attention(kind="gqa", heads=64, kv_heads=4, head_dim=128),
    experts=Experts(routed=128, active=8, width=1536),
)


@row("r02-b")
def test_experts_cut_inside_a_block_are_refused_with_both_ways_out() -> None:
    plan = planned(NARROW)
    assert list(refused(plan)) == ["fp8-block-is-cut"]
    finding = refused(plan)["fp8-block-is-cut"]
    assert "1536 over 8 ranks is 192 = 1.5 blocks of 128" in finding.what
    assert "tensor 4" in finding.fix
    assert "parallelism.expertParallel: true" in finding.fix


def test_experts_in_whole_blocks_are_accepted() -> None:
    assert 1536 // 4 == 3 * 128
    assert refused(planned(NARROW, parallelism=Parallelism(tensor=4))) == {}


@row("r02-c")
def test_expert_parallelism_keeps_experts_whole() -> None:
    plan = planned(NARROW, parallelism=Parallelism(tensor=8, expert_parallel=True))
    assert refused(plan) == {}
    assert 128 / plan.lead.shape.expert_ranks == 16


def spread(routed: int, ranks: int, pod: int, *args: str) -> ServingPlan:
    profile = fp8(experts=Experts(routed=routed, active=8, width=2048))
    return planned(
        profile,
        on=node(pod),
        parallelism=Parallelism(data=ranks, expert_parallel=True),
        engine=Engine(version="0.33.0", args=args),
    )


@row("r02-d")
def test_experts_that_do_not_divide_over_their_ranks_are_refused() -> None:
    findings = refused(spread(160, 12, 4))
    assert list(findings) == ["experts-do-not-divide"]
    assert findings["experts-do-not-divide"].what == "160 experts over 12 ranks is 13.33 a rank"


def test_redundant_experts_make_them_divide() -> None:
    assert list(refused(spread(256, 24, 8))) == ["experts-do-not-divide"]
    redundant = '--eplb-config={"num_redundant_experts": 8}'
    plan = spread(256, 24, 8, "--enable-eplb", redundant)
    assert refused(plan) == {}
    assert (256 + 8) / plan.lead.shape.expert_ranks == 11


@row("r02-e")
def test_tensor_that_does_not_divide_the_heads_is_refused() -> None:
    plan = planned(model(architecture=layers()), parallelism=Parallelism(tensor=3))
    finding = refused(plan)["tensor-does-not-divide-heads"]
    assert finding.what == "tensor 3 does not divide 64 attention heads"


@row("h37-p")
def test_the_size_follows_from_parallelism_and_node() -> None:
    parallelism = Parallelism(tensor=4, pipeline=2)
    plan = planned(model(), on=node(4), parallelism=parallelism)
    assert refused(plan) == {}
    assert (plan.lead.shape.size, plan.lead.shape.gpus_per_pod) == (2, 4)


def test_another_size_is_refused() -> None:
    parallelism = Parallelism(tensor=4, pipeline=2)
    with pytest.raises(ValidationError, match="size"):
        planned(model(), on=node(4), parallelism=parallelism, size=3)
    three = Patch(kind="LeaderWorkerSet", merge={"spec": {"leaderWorkerTemplate": {"size": 3}}})
    plan = planned(model(), on=node(4), parallelism=parallelism, patches=(three,))
    finding = refusal(plan)["patch-over-plan"]
    assert finding.fix == "change `parallelism` of the serving instead"


@row("h26-p")
@pytest.mark.parametrize(("data", "size"), [(16, 4), (12, 3)])
def test_pods_of_a_group_hold_whole_data_ranks(data: int, size: int) -> None:
    profile = fp8(experts=Experts(routed=240, active=8, width=2048))
    parallelism = Parallelism(data=data, expert_parallel=True)
    plan = planned(profile, on=node(4), parallelism=parallelism)
    assert refused(plan) == {}
    assert (plan.lead.shape.size, plan.lead.shape.gpus_per_pod) == (size, 4)
    four = Patch(kind="LeaderWorkerSet", merge={"spec": {"leaderWorkerTemplate": {"size": 4}}})
    patched = planned(profile, on=node(4), parallelism=parallelism, patches=(four,))
    if size == 4:
        bundle(patched)
    else:
        assert "patch-over-plan" in refusal(patched)
