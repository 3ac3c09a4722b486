"""What is said of the search for a shape, and where it ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.plan.searching import (
    Auto,
    MakeCluster,
    MakeModel,
    MakeServing,
    gib,
    searched,
    written,
)

from gangform.bundle import bundle
from gangform.findings import InputError
from gangform.inputs.cluster import Domain, Library, Pool
from gangform.inputs.model import Measured
from gangform.inputs.parallelism import Parallelism
from gangform.inputs.serving import Fit, TopologyRequest
from gangform.plan import choice
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes


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
        (None, None, 10),
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


def test_a_declared_shape_is_judged_like_the_others(auto: Auto) -> None:
    model = {"parameters": 200 * 10**9, "checkpoint": Bytes.gib(400)}
    for split, behind in (
        ({"tensor": 8, "pipeline": 2}, ("takes more GPUs", "16 instead of 8")),
        ({"tensor": 8, "prefill_context": 2}, ("takes more GPUs", "16 instead of 8")),
        ({"tensor": 8}, ("", "")),
    ):
        wanted = Parallelism.model_validate(split, by_name=True)
        own = searched(auto(model=model, parallelism=wanted, search=True)).own
        assert own is not None
        assert own.parallelism == wanted
        assert (own.lost, own.why) == behind
    assert searched(auto(model=model)).own is None


def test_what_is_never_chosen_is_said_with_its_reason(
    auto: Auto, shipped: Callable[..., ServingPlan]
) -> None:
    assert [one.what for one in searched(auto()).left_out] == ["prefillContext"]
    experts = searched(shipped("deepseek-r1", "h100-8x"))
    assert [one.what for one in experts.left_out] == [
        "prefillContext",
        "data without expertParallel",
    ]
    for one in experts.considered:
        assert one.parallelism.prefill_context == 1
        assert one.parallelism.data == 1 or one.parallelism.expert_parallel


def test_an_engine_that_spans_no_nodes_is_named_where_nothing_holds_the_load(
    shipped: Callable[..., ServingPlan],
) -> None:
    plan = shipped("deepseek-r1", "h100-8x", engine={"version": "0.8.5"})
    (finding,) = [one for one in plan.findings if one.code.id == "no-shape-holds-the-load"]
    assert "are refused, such as {tensor: 1, pipeline: 16}: vLLM 0.8.5" in finding.what
    assert "`gangform plan llm -o wide` says it of every shape" in finding.fix
    reasons = {key: int(value) for key, value in finding.seen.items() if key.startswith("shapes: ")}
    assert sum(reasons.values()) == len(searched(plan).considered) == int(finding.seen["shapes"])
