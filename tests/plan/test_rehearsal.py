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
Rehearse = Callable[..., Rehearsal | None]
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


@pytest.fixture
def rehearsed(make_plan: MakePlan, make_cluster: MakeCluster) -> Rehearse:
    """Six groups of four nodes, as in article A, on so many nodes or in racks of so many."""

    def run(
        *,
        nodes: int | None = None,
        racks: tuple[int, ...] = (),
        beside: int = 0,
        **asked: Any,
    ) -> Rehearsal | None:
        pool: dict[str, Any] = {"levels": (RACK, HOST), "nodes": nodes}
        if racks:
            pool["domains"] = tuple(Domain(at=(f"r{n}",), nodes=k) for n, k in enumerate(racks))
        on = make_cluster(pool=pool)
        shape = Parallelism(tensor=8, pipeline=4)
        given = {"groups": 6, "parallelism": shape, "backend": "volcano"}
        plan = make_plan(on=on, **{**given, **asked})
        others = make_plan(on=on, name="other", groups=beside or 1, parallelism=shape)
        whole = plan_cluster(on, [plan, others] if beside else [plan])
        return rehearse(plan, on, whole.pool("gpu"))

    return run


def sure(found: Rehearsal | None) -> Rehearsal:
    assert found is not None
    return found


SURGE = {"rollout": Rollout(max_surge=1, max_unavailable=0)}


def test_a_surge_group_with_a_whole_place_moves(rehearsed: Rehearse) -> None:
    found = sure(rehearsed(nodes=28, **SURGE))
    assert (found.lacking, found.ways) == (0, ())
    assert sure(rehearsed(**SURGE)).room is None
    assert sure(rehearsed(nodes=24)).ways == ()


def test_without_a_place_the_four_ways_out_are_listed_with_their_figures(
    rehearsed: Rehearse, make_plan: MakePlan
) -> None:
    found = sure(rehearsed(nodes=27, **SURGE))
    plan = make_plan(groups=6, parallelism=Parallelism(tensor=8, pipeline=4), backend="volcano")
    once = plan.lead.launch.teardown + plan.lead.startup.cold_start
    assert found.lacking == 1
    assert [(way.name, way.gpus, way.serving, int(way.duration)) for way in found.ways] == [
        ("reduce redundancy for the window", 0, 5, 6 * once),
        ("buy burst capacity", 32, 6, 6 * once + plan.lead.startup.cold_start),
        ("take a maintenance window", 0, 0, once),
        ("buy headroom", 32, 6, 6 * once + plan.lead.startup.cold_start),
    ]
    assert "4 more nodes, 32 GPUs, for good" in found.ways[3].what
    rollout = found.play()
    assert rollout is not None
    assert rollout.stall == ("room", (6,), 0, 4)
    assert rollout.bound * 8 == 192


def test_without_a_gang_the_surge_group_holds_the_nodes_that_it_got(rehearsed: Rehearse) -> None:
    rollout = sure(rehearsed(nodes=27, backend="none", **SURGE)).play()
    assert rollout is not None
    assert rollout.stall == ("room", (6,), 3, 1)
    assert (rollout.bound * 8, rollout.requested * 8, rollout.floor) == (216, 224, 6)


def test_what_another_serving_fills_is_no_room(rehearsed: Rehearse) -> None:
    assert sure(rehearsed(nodes=32, beside=1, **SURGE)).lacking == 0
    assert sure(rehearsed(nodes=32, beside=2, **SURGE)).lacking == 1


def test_free_nodes_in_many_racks_are_no_place_for_a_group(rehearsed: Rehearse) -> None:
    whole = {"topology": TopologyRequest(level=RACK), "backend": "kueue", **SURGE}
    assert sure(rehearsed(racks=(4,) * 7, **whole)).lacking == 0
    found = sure(rehearsed(racks=(5,) * 6, **whole))
    assert (found.lacking, found.room and found.room.pods) == (1, 6)


def test_where_not_even_wanted_groups_fit_nothing_is_said_of_updates(rehearsed: Rehearse) -> None:
    assert sure(rehearsed(nodes=20, **SURGE)).room is None


def test_under_kueue_what_ends_is_one_group_after_another(rehearsed: Rehearse) -> None:
    found = sure(rehearsed(nodes=40, backend="kueue", **SURGE))
    assert not found.finishes
    rollout = found.play()
    assert rollout is not None
    assert rollout.stall is not None
    assert rollout.stall.cause == "admission"
    ends = sure(rehearsed(nodes=40, backend="kueue"))
    assert ends.finishes
    played = ends.play()
    assert played is not None
    assert (played.stall, played.floor) == (None, 5)


def test_only_one_set_of_groups_is_rehearsed(rehearsed: Rehearse) -> None:
    assert rehearsed(parallelism=Parallelism(tensor=8)) is None
    assert rehearsed(backend="volcano-podgroup") is None


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
    found = sure(rehearse(plan, on, plan_cluster(on, [plan]).pool("gpu")))
    rollout = found.play()
    assert rollout is not None
    assert (rollout.stall is not None) == bool(found.lacking) == bool(found.ways)
    assert (rollout.end is None) or rollout.end == plan.lead.rollout.duration


@given(st.integers(0, 99), st.integers(0, 99))
def test_nothing_is_lacking_where_places_are_many(surge: int, places: int) -> None:
    assert rehearsal.lacking(surge, places) == max(0, surge - places)
