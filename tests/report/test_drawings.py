"""The pictures: what is drawn adds up to what the plan says."""

from __future__ import annotations

import re
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangform.inputs.load import load_fleet, load_text
from gangform.plan.cluster import ClusterPlan
from gangform.plan.layout import Layout, Load
from gangform.plan.memory import MemoryPlan
from gangform.plan.placement import PoolPlan
from gangform.report.drawing import Numbers, element, spelled
from gangform.report.losses import numbers
from gangform.report.memory import bars, pieces
from gangform.report.pool_map import MOST_NODES, letter, pool_map, slots
from gangform.report.timeline import drawn, timeline
from gangform.synth import plan_fleet

ROOT = Path(__file__).parents[2]

FLEET = """\
version: 1
defaults: 1
cluster:
  name: full
  versions: {{kubernetes: "1.36", lws: "0.10"}}
  foundation: existing
  pools:
    h100: {{hardware: h100-8x, nodes: {nodes}}}
servings:
  - name: r1
    namespace: llm
    model: deepseek-r1
    pool: h100
    engine: {{name: vllm, version: "0.32.0"}}
    parallelism: {{tensor: 8, pipeline: 2}}
    groups: {groups}
    context: 32768
    rollout: {{maxSurge: {surge}, maxUnavailable: {unavailable}}}
    admission: {{backend: none}}
"""


def planned(nodes: int, groups: int = 2, surge: int = 1, unavailable: int = 0) -> ClusterPlan:
    text = FLEET.format(nodes=nodes, groups=groups, surge=surge, unavailable=unavailable)
    loaded = load_text(text)
    (plan,) = plan_fleet(loaded.fleet, loaded.library)
    return plan


@pytest.fixture(scope="module")
def shipped() -> tuple[ClusterPlan, ...]:
    loaded = load_fleet(ROOT / "gangform.yaml")
    return plan_fleet(loaded.fleet, loaded.library)


def test_a_text_in_a_picture_is_no_markup() -> None:
    made = element("text", {"class": '"><script>'}, "<b>&")
    assert made == '<text class="&#34;&gt;&lt;script&gt;">&lt;b&gt;&amp;</text>'


@pytest.mark.parametrize(
    ("value", "said"),
    [(Fraction(1, 3), "33.33%"), (Fraction(0), "0.00%"), (Fraction(-1, 8), "-12.50%"), (7, "7")],
)
def test_shares_are_spelled_alike_everywhere(value: Fraction | int, said: str) -> None:
    assert spelled(value) == said


def test_the_pieces_of_a_bar_are_the_whole_gpu(shipped: tuple[ClusterPlan, ...]) -> None:
    for plan in shipped:
        for serving in plan.servings:
            memory = serving.lead.memory
            for stage in memory.stages:
                sizes = {piece.kind: int(piece.size) for piece in pieces(memory, stage)}
                assert sum(sizes.values()) == memory.visible
                assert sizes["weights"] == stage.weights
                assert sizes["cache"] + sizes["free"] == stage.available
            least = min(memory.stages, key=lambda stage: stage.tokens or 0)
            unused = {piece.kind: int(piece.size) for piece in pieces(memory, least)}["free"]
            # The stage that decides loses less than one block of tokens.
            assert unused < 1024 * max(1, least.cache_per_token)


def test_a_model_that_is_too_large_goes_beyond_the_gpu() -> None:
    text = FLEET.format(nodes=4, groups=2, surge=0, unavailable=1).replace(", pipeline: 2", "")
    loaded = load_text(text)
    (plan,) = plan_fleet(loaded.fleet, loaded.library)
    memory = plan.servings[0].lead.memory
    (bar,) = bars(memory, Numbers())
    assert bar.short == -memory.stages[0].available > 0
    assert f"{bar.short.human()} more than the engine may use" in bar.picture
    assert "cache" not in {piece.kind for piece in bar.pieces}


def fixed(gib: int) -> MemoryPlan:
    flag = f'"0.32.0", args: [--kv-cache-memory-bytes={gib}G]'
    text = FLEET.format(nodes=4, groups=2, surge=0, unavailable=1).replace('"0.32.0"', flag)
    loaded = load_text(text)
    (plan,) = plan_fleet(loaded.fleet, loaded.library)
    return plan.servings[0].lead.memory


def test_a_fixed_cache_is_drawn_with_the_overhead_that_the_plan_has() -> None:
    memory = fixed(10)
    for stage in memory.stages:
        sizes = {piece.kind: int(piece.size) for piece in pieces(memory, stage)}
        assert sum(sizes.values()) == memory.visible
        assert sizes["overhead"] == stage.overhead
        assert sizes["cache"] + sizes["free"] == stage.available == 10 * 2**30
    assert {bar.short for bar in bars(memory, Numbers())} == {0}


def test_a_fixed_cache_beyond_the_gpu_goes_beyond_it() -> None:
    memory = fixed(60)
    short = bars(memory, Numbers())[0].short
    assert short == memory.crowded > 0


def test_bars_lie_within_the_picture(shipped: tuple[ClusterPlan, ...]) -> None:
    for plan in shipped:
        for serving in plan.servings:
            for bar in bars(serving.lead.memory, Numbers()):
                ends = re.findall(r'x="([\d.]+)%" y="\d+" width="([\d.]+)%"', bar.picture)
                assert ends
                assert all(float(x) + float(width) <= 100.01 for x, width in ends)


def test_letters_go_on_behind_z() -> None:
    assert [letter(n) for n in (0, 25, 26, 51, 52, 701, 702)] == [
        "A", "Z", "AA", "AZ", "BA", "ZZ", "AAA",
    ]  # fmt: skip


@given(
    nodes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    groups=st.integers(0, 12),
    size=st.integers(1, 5),
    per_node=st.integers(1, 4),
)
def test_the_pods_on_a_map_are_those_that_were_laid(
    nodes: list[int], groups: int, size: int, per_node: int
) -> None:
    lie = Layout([((f"r{n}",), count) for n, count in enumerate(nodes)], 1)
    laid = lie.lay(
        Load(
            serving="a",
            workload="a",
            kind="wanted",
            groups=range(groups),
            size=size,
            per_node=per_node,
            depth=0,
            host=False,
            exclusive=False,
        )
    )
    pods: dict[int, int] = {}
    for domain in lie.domains():
        filled = slots(domain)
        assert len(filled) == domain.filled
        assert all(number < domain.nodes for number in filled)
        for here in filled.values():
            assert sum(slot.pods for slot in here) <= per_node
            for slot in here:
                pods[slot.group] = pods.get(slot.group, 0) + slot.pods
    assert pods == dict.fromkeys(range(laid), size)
    at = {
        (place.group, node)
        for run in lie.runs
        for place in run.placements()
        for node in place.nodes
    }
    seen = {
        (slot.group, (domain.at, number))
        for domain in lie.domains()
        for number, here in slots(domain).items()
        for slot in here
    }
    assert {(group, (node.at, node.number)) for group, node in at} == seen


def test_the_map_draws_every_gpu_of_the_pool(shipped: tuple[ClusterPlan, ...]) -> None:
    for plan in shipped:
        for pool in plan.pools:
            drawing = pool_map(pool, plan.servings, Numbers())
            squares = "".join(p for tile in drawing.tiles for p in tile.pictures)
            hardware = plan.servings[0].lead.hardware.gpu.count
            nodes = sum(domain.nodes for domain in pool.domains)
            assert squares.count('class="gpu ') == nodes * hardware
            free = sum(domain.free for domain in pool.domains)
            assert squares.count('class="gpu empty"') == free * hardware
            assert drawing.summary.startswith(f"{free} of {nodes} nodes free")


def test_surge_groups_look_other_than_those_that_serve(shipped: tuple[ClusterPlan, ...]) -> None:
    plan = next(plan for plan in shipped if plan.cluster.name == "prod-plain")
    drawing = pool_map(plan.pools[0], plan.servings, Numbers())
    squares = "".join(drawing.tiles[0].pictures)
    assert squares.count('class="gpu tone-0"') == 4 * 4 * 8
    assert squares.count('class="gpu tone-0 surge"') == 4 * 8
    assert "plain surge" in {key.kind for key in drawing.legend}


def test_a_pool_of_very_many_nodes_is_drawn_in_bars() -> None:
    plan = planned(MOST_NODES + 1)
    drawing = pool_map(plan.pools[0], plan.servings, Numbers())
    assert drawing.bars
    assert "4 of 1025 nodes filled" not in drawing.summary
    assert len("".join(drawing.tiles[0].pictures)) < 2000


def test_a_pool_without_an_inventory_has_no_map(shipped: tuple[ClusterPlan, ...]) -> None:
    empty: PoolPlan = shipped[0].pools[0]._replace(domains=(), runs=(), nodes=None)
    assert pool_map(empty, shipped[0].servings, Numbers()).tiles == ()


def test_a_rollout_is_that_of_the_simulation() -> None:
    plan = planned(6)
    time = timeline(plan.servings[0], plan)
    assert (time.granted, time.wanted, time.made) == (48, 2, 3)
    assert max(step.asked for step in time.steps) == 48
    assert {step.serving for step in time.steps} == {2}
    assert time.end == plan.servings[0].lead.rollout.duration
    assert time.steps[-1][1:] == (32, 32, 2)
    assert "3 groups made or replaced" in drawn(plan.servings[0], plan, Numbers()).words


def test_a_rollout_that_stands_still_says_why() -> None:
    plan = planned(5)
    time = timeline(plan.servings[0], plan)
    assert time.end is None
    assert [(step.bound, step.asked) for step in time.steps][-1] == (40, 48)
    made = drawn(plan.servings[0], plan, Numbers())
    assert "stands still: pods find no node. Groups that wait: 2" in made.words
    assert ">stands still<" in made.picture


def test_a_deployment_is_played_through_too(shipped: tuple[ClusterPlan, ...]) -> None:
    plan = shipped[0]
    serving = next(one for one in plan.servings if one.name == "llama-70b")
    time = timeline(serving, plan)
    assert min(step.serving for step in time.steps) == serving.lead.rollout.floor
    assert (time.made, time.steps[-1].serving, time.note) == (3, 3, "")
    assert time.end is not None
    assert time.end <= serving.lead.rollout.duration


def test_what_is_not_played_through_is_drawn_from_the_plans_figures_and_says_why() -> None:
    plan = planned(200, groups=45)
    time = timeline(plan.servings[0], plan)
    assert [step.serving for step in time.steps] == [plan.servings[0].lead.rollout.floor, 45]
    assert time.end == plan.servings[0].lead.rollout.duration
    assert time.note.endswith(
        "not every moment: 46 groups are more than the 40 that are played through"
    )


def test_a_rollout_that_moves_nothing_is_a_line() -> None:
    plan = planned(6, surge=0, unavailable=0)
    time = timeline(plan.servings[0], plan)
    assert {step[1:] for step in time.steps} == {(32, 32, 2)}
    assert "0 groups made or replaced" in drawn(plan.servings[0], plan, Numbers()).words


@pytest.mark.parametrize(
    ("groups", "said"),
    [
        ([3], "3"),
        ([0, 1, 2], "0, 1, 2"),
        ([*range(20)], "0 to 19"),
        ([7, 0, 1, 2, 3, 9], "7, 0 to 3, 9"),
        ([], ""),
    ],
)
def test_groups_that_follow_each_other_are_said_as_a_span(groups: list[int], said: str) -> None:
    assert numbers(groups) == said
