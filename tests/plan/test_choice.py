from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.bundle import bundle
from gangform.findings import InputError
from gangform.inputs.cluster import Cluster, Domain, Library, Pool
from gangform.inputs.hardware import HardwareShape, Rdma
from gangform.inputs.model import Architecture, Attention, Experts, Measured, ModelProfile
from gangform.inputs.parallelism import Parallelism
from gangform.inputs.serving import Fit, Serving, TopologyRequest
from gangform.plan import choice
from gangform.plan.choice import Search
from gangform.plan.preference import Candidate
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeServing = Callable[..., Serving]
MakeHardware = Callable[..., HardwareShape]
MakeModel = Callable[..., ModelProfile]

MLA = Attention(kind="mla", heads=128, latent=576)
CLIQUE = "nvidia.com/gpu.clique"


def searched(plan: ServingPlan) -> Search:
    assert plan.search is not None
    return plan.search


def written(plan: ServingPlan) -> str:
    chosen = searched(plan).chosen
    return "" if chosen is None else chosen.parallelism.written


def lost(plan: ServingPlan, **split: Any) -> Candidate:
    """The candidate that is split so."""
    (one,) = [
        each for each in searched(plan).considered if each.parallelism == Parallelism(**split)
    ]
    return one


@pytest.fixture
def shipped(make_cluster: MakeCluster) -> Callable[..., ServingPlan]:
    """A shipped model on shipped hardware."""
    library = Library.shipped()

    def plan(model: str, hardware: str, **asked: Any) -> ServingPlan:
        home = make_cluster(pool={"hardware": hardware})
        given: dict[str, Any] = {
            "name": "llm",
            "namespace": "m",
            "model": model,
            "pool": "gpu",
            "engine": {"version": "0.33.0"},
            "groups": 1,
            "context": 32_768,
            "admission": {"backend": "none"},
            "parallelism": "auto",
        }
        serving = Serving.model_validate({**given, **asked}, by_name=True)
        return plan_serving(serving, cluster=home, library=library)

    return plan


@pytest.fixture
def auto(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    make_hardware: MakeHardware,
    make_layered: MakeModel,
) -> Callable[..., ServingPlan]:
    def plan(
        node: dict[str, Any] | None = None,
        model: dict[str, Any] | None = None,
        nodes: int | None = None,
        **asked: Any,
    ) -> ServingPlan:
        home = make_cluster(pool={"hardware": make_hardware(**(node or {})), "nodes": nodes})
        profile = make_layered(**(model or {}))
        return make_plan(on=home, **{"model": profile, "parallelism": "auto", **asked})

    return plan


Auto = Callable[..., ServingPlan]


def gib(parameters: int, size: int) -> dict[str, Any]:
    """A dense model of so many GiB."""
    return {"parameters": parameters, "checkpoint": Bytes.gib(size)}


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
    assert (idle.lost, idle.why) == ("has more stages", "pipeline 2, where 1 will do")
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


# ── what is said ─────────────────────────────────────────────────────────────────────────────────


def test_auto_is_refused_until_it_is_pinned_and_the_error_says_how(auto: Auto) -> None:
    plan = auto()
    (finding,) = [one for one in plan.findings if one.breaks]
    assert finding.code.id == "parallelism-not-pinned"
    assert finding.at.path == ("servings", "llm", "parallelism")
    assert finding.what == f"`auto` is not resolved; it would be {written(plan)}"
    assert "`gangform plan --pin`" in finding.fix
    with pytest.raises(InputError):
        bundle(plan)
    pinned = auto(parallelism=searched(plan).stand_in)
    assert not [one for one in pinned.findings if one.breaks]
    assert pinned.search is None
    assert pinned.lead == plan.lead


def test_a_load_that_nothing_holds_is_refused_with_what_would(auto: Auto) -> None:
    plan = auto(nodes=2, concurrency=5000)
    (finding,) = [one for one in plan.findings if one.breaks]
    assert finding.code.id == "no-shape-holds-the-load"
    assert finding.seen["nodes"] == "2"
    most = searched(plan).considered[0].memory
    assert most is not None
    assert f"ask for a `concurrency` of {int(most.requests)}" in finding.fix
    fewer = auto(nodes=2, concurrency=int(most.requests))
    assert written(fewer) != ""


@pytest.mark.parametrize(
    ("wanted", "nodes", "most"),
    [
        (None, None, 16),
        (None, 40, 16),
        (None, 3, 3),
        (None, 0, 1),
        ({"level": "example.com/rack"}, 10, 4),
        ({"level": "example.com/block"}, 10, 6),
        ({"level": "example.com/rack", "mode": "preferred"}, 10, 10),
        ({"level": "kubernetes.io/hostname"}, 10, 1),
        ({"level": "example.com/row"}, 10, 10),
    ],
)
def test_a_group_is_no_larger_than_where_it_has_to_lie(
    make_serving: MakeServing, wanted: dict[str, Any] | None, nodes: int | None, most: int
) -> None:
    racks = ((("b0", "r0"), 4), (("b0", "r1"), 2), (("b1", "r2"), 4))
    pool = Pool(
        hardware="any",
        nodes=nodes,
        levels=("example.com/block", "example.com/rack", "kubernetes.io/hostname"),
        domains=tuple(Domain(at=at, nodes=count) for at, count in racks),
    )
    asked = None if wanted is None else TopologyRequest(**wanted)
    assert choice.most_nodes(make_serving(topology=asked), pool, 16) == most


def test_a_context_that_nothing_holds_names_the_longest(auto: Auto) -> None:
    asked: dict[str, Any] = {
        "node": {"gpu": {"count": 1, "visible_memory": Bytes.gib(40)}},
        "model": gib(16 * 10**9, 30),
        "nodes": 1,
    }
    plan = auto(**asked, context=100_000)
    (finding,) = [one for one in plan.findings if one.breaks]
    assert finding.code.id == "no-shape-holds-the-load"
    near = searched(plan).considered[0]
    assert near.memory is not None
    assert near.lost == "does not fit"
    assert f"a context of at most {near.memory.longest}" in finding.fix


@pytest.mark.parametrize(
    "changes",
    [
        {"model": {"measured": Measured(weights_per_gpu=Bytes(1), kv_bytes_per_token=1)}},
        {"model": {"parameters": None}},
        {"fit": Fit(available_kv=Bytes.gib(20))},
    ],
)
def test_figures_of_one_parallelism_say_nothing_about_others(
    auto: Auto, changes: dict[str, Any]
) -> None:
    plan = auto(**changes)
    (finding,) = [one for one in plan.findings if one.breaks]
    assert finding.code.id == "shape-not-searchable"
    assert searched(plan).considered == ()
    assert not [
        one for one in auto(**changes, parallelism=Parallelism(tensor=8)).findings if one.breaks
    ]


def test_other_shapes_are_looked_at_beside_a_declared_one(
    make_serving: MakeServing, make_cluster: MakeCluster, make_layered: MakeModel
) -> None:
    serving = make_serving(model=make_layered())
    nothing = Library(models={}, hardware={})
    plain = plan_serving(serving, cluster=make_cluster(), library=nothing)
    beside = plan_serving(serving, cluster=make_cluster(), library=nothing, search=True)
    assert plain.search is None
    assert searched(beside).declared == serving.parallelism
    assert searched(beside).chosen is not None
    assert beside.lead.launch == plain.lead.launch
    assert beside.lead.memory == plain.lead.memory
    assert beside.findings == plain.findings


# ── properties ───────────────────────────────────────────────────────────────────────────────────


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


def every_split(gpus: int, *, experts: bool) -> list[Parallelism]:
    powers = [size for size in (1, 2, 4, 8) if size <= gpus]
    return [
        Parallelism(
            tensor=tensor,
            pipeline=pipeline,
            data=data,
            decode_context=cut,
            expert_parallel=spread,
        )
        for tensor in powers
        for pipeline in powers
        for data in powers
        for cut in powers
        for spread in ((False, True) if experts else (False,))
        if tensor * pipeline * data <= gpus
        and not tensor % cut
        and (data == 1 or spread)
        and (data == 1 or experts)
    ]
