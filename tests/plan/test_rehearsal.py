from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.inputs.cluster import Cluster, Domain
from gangform.inputs.serving import Parallelism, Rollout, TopologyRequest
from gangform.plan import rehearsal
from gangform.plan.cluster import plan_cluster
from gangform.plan.rehearsal import Rehearsal, rehearse
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Rehearse = Callable[..., Rehearsal]
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


@pytest.fixture
def rehearsed(make_plan: MakePlan, make_cluster: MakeCluster) -> Rehearse:
    """Six groups of four nodes, as in article A, on so many nodes or in racks of so many."""

    def run(
        *,
        nodes: int | None = None,
        racks: tuple[int, ...] = (),
        beside: int = 0,
        cluster: dict[str, Any] | None = None,
        **asked: Any,
    ) -> Rehearsal:
        pool: dict[str, Any] = {"levels": (RACK, HOST), "nodes": nodes}
        if racks:
            pool["domains"] = tuple(Domain(at=(f"r{n}",), nodes=k) for n, k in enumerate(racks))
        on = make_cluster(pool=pool, **(cluster or {}))
        shape = Parallelism(tensor=8, pipeline=4)
        given = {"groups": 6, "parallelism": shape, "backend": "volcano"}
        plan = make_plan(on=on, **{**given, **asked})
        others = make_plan(on=on, name="other", groups=beside or 1, parallelism=shape)
        whole = plan_cluster(on, [plan, others] if beside else [plan])
        return rehearse(plan, on, whole.pool("gpu"))

    return run


SURGE = {"rollout": Rollout(max_surge=1, max_unavailable=0)}


def test_a_surge_group_with_a_whole_place_moves(rehearsed: Rehearse) -> None:
    found = rehearsed(nodes=28, **SURGE)
    assert (found.lacking, found.ways) == (0, ())
    assert (rehearsed(**SURGE)).room is None
    assert (rehearsed(nodes=24)).ways == ()


def test_without_a_place_the_four_ways_out_are_listed_with_their_figures(
    rehearsed: Rehearse, make_plan: MakePlan
) -> None:
    found = rehearsed(nodes=27, **SURGE)
    plan = make_plan(groups=6, parallelism=Parallelism(tensor=8, pipeline=4), backend="volcano")
    once = plan.lead.launch.teardown + plan.lead.startup.cold_start
    assert found.lacking == 1
    assert [(way.name, way.gpus, way.serving, int(way.duration)) for way in found.ways] == [
        ("reduce redundancy for the window", 0, 5, 6 * once),
        ("buy burst capacity", 8, 6, 6 * once + plan.lead.startup.cold_start),
        ("take a maintenance window", 0, 0, once),
        ("buy headroom", 8, 6, 6 * once + plan.lead.startup.cold_start),
    ]
    assert "1 more node, 8 GPUs, for good" in found.ways[3].what
    rollout = found.play()
    assert rollout is not None
    assert rollout.stall == ("room", (6,), 0, 4)
    assert rollout.bound * 8 == 192


def test_without_a_gang_the_surge_group_holds_the_nodes_that_it_got(rehearsed: Rehearse) -> None:
    rollout = (rehearsed(nodes=27, backend="none", **SURGE)).play()
    assert rollout is not None
    assert rollout.stall == ("room", (6,), 3, 1)
    assert (rollout.bound * 8, rollout.requested * 8, rollout.floor) == (216, 224, 6)


def test_what_another_serving_fills_is_no_room(rehearsed: Rehearse) -> None:
    assert (rehearsed(nodes=32, beside=1, **SURGE)).lacking == 0
    assert (rehearsed(nodes=32, beside=2, **SURGE)).lacking == 1


def test_free_nodes_in_many_racks_are_no_place_for_a_group(rehearsed: Rehearse) -> None:
    whole = {"topology": TopologyRequest(level=RACK), "backend": "kueue", **SURGE}
    assert (rehearsed(racks=(4,) * 7, **whole)).lacking == 0
    found = rehearsed(racks=(5,) * 6, **whole)
    assert (found.lacking, found.room and found.room.pods) == (1, 6)
    assert "4 more nodes, 32 GPUs, for good" in found.ways[3].what


def test_where_not_even_wanted_groups_fit_nothing_is_said_of_updates(rehearsed: Rehearse) -> None:
    assert (rehearsed(nodes=20, **SURGE)).room is None


def test_under_kueue_what_ends_is_one_group_after_another(rehearsed: Rehearse) -> None:
    found = rehearsed(nodes=40, backend="kueue", **SURGE)
    assert not found.finishes
    rollout = found.play()
    assert rollout is not None
    assert rollout.stall is not None
    assert rollout.stall.cause == "admission"
    ends = rehearsed(nodes=40, backend="kueue")
    assert ends.finishes
    played = ends.play()
    assert played is not None
    assert (played.stall, played.floor) == (None, 5)


def test_a_deployment_is_played_by_the_arithmetic_of_its_own_controller(
    rehearsed: Rehearse,
) -> None:
    """With one free node two surge replicas come one after the other; a set would wait for both."""
    two = {"rollout": Rollout(max_surge=2, max_unavailable=0), "parallelism": Parallelism(tensor=8)}
    found = rehearsed(nodes=7, backend="none", **two)
    rollout = found.play()
    assert rollout is not None
    assert (rollout.peak, rollout.floor, rollout.stall, rollout.made) == (8, 6, None, 6)
    assert (found.lacking, found.ways) == (1, ())
    stuck = rehearsed(nodes=6, backend="none", **two)
    assert stuck.ways[0].name == "reduce redundancy for the window"
    played = stuck.play()
    assert played is not None
    assert played.stall == ("room", (), 0, 2)


@pytest.mark.parametrize(("gitops", "floor", "waves"), [("argocd", 5, 6), ("none", 0, 1)])
def test_sets_of_one_group_are_played_in_waves_or_all_at_once(
    rehearsed: Rehearse, gitops: str, floor: int, waves: int
) -> None:
    found = rehearsed(nodes=24, backend="volcano-podgroup", cluster={"gitops": gitops})
    rollout = found.play()
    assert rollout is not None
    assert (found.sets, rollout.peak, rollout.floor) == (6, 6, floor)
    assert rollout.order == (0, 1, 2, 3, 4, 5)
    assert rollout.end == waves * (found.world.grace + found.world.worker_grace + found.world.start)
    assert (rollout.moments[-1].serving, rollout.moments[-1].bound) == (6, 24)


def test_a_deployment_takes_no_more_places_than_its_peak(rehearsed: Rehearse) -> None:
    """A pod that ends holds its node, and without a surge place the new one waits for it."""
    found = rehearsed(backend="none", groups=2, parallelism=Parallelism(tensor=8))
    rollout = found.play()
    assert rollout is not None
    assert (rollout.bound, rollout.floor) == (2, 1)
    assert rollout.end == 2 * (found.world.grace + found.world.start)


def test_what_is_not_played_says_why(rehearsed: Rehearse) -> None:
    many = rehearsed(groups=41)
    assert many.play() is None
    assert many.unplayed == "41 groups are more than the 40 that are played through"
    waits = rehearsed(startup_policy="LeaderReady")
    assert waits.play() is None
    assert "with LeaderReady workers wait for a leader" in waits.unplayed
    assert (rehearsed()).unplayed == ""


def test_an_autoscaled_serving_is_played_with_its_fewest_groups(rehearsed: Rehearse) -> None:
    found = rehearsed(groups=None, autoscaling={"min": 2, "max": 5})
    rollout = found.play()
    assert rollout is not None
    assert (found.strategy.replicas, rollout.moments[-1].serving) == (2, 2)


@settings(deadline=None, max_examples=80)
@given(
    groups=st.integers(1, 5),
    surge=st.integers(0, 5),
    unavailable=st.integers(0, 3),
    free=st.integers(0, 14),
)
def test_an_update_stands_still_where_and_only_where_surge_groups_lack_a_place(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    groups: int,
    surge: int,
    unavailable: int,
    free: int,
) -> None:
    if not surge and not unavailable:
        return
    on = make_cluster(pool={"nodes": groups * 2 + free})
    plan = make_plan(
        on=on,
        groups=groups,
        backend="volcano",
        rollout=Rollout(max_surge=surge, max_unavailable=unavailable),
    )
    found = rehearse(plan, on, plan_cluster(on, [plan]).pool("gpu"))
    rollout = found.play()
    assert rollout is not None
    assert (rollout.stall is not None) == bool(found.lacking) == bool(found.ways)
    assert (rollout.end is None) or rollout.end == plan.lead.rollout.duration


@given(st.integers(0, 99), st.integers(0, 99))
def test_nothing_is_lacking_where_places_are_many(surge: int, places: int) -> None:
    assert rehearsal.lacking(surge, places) == max(0, surge - places)
