from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plan.racks import (
    BLOCK,
    HOST,
    RACK,
    RACKED,
    Fill,
    MakeCluster,
    MakePlan,
    domains,
    filler,
)

from gangform.findings import Finding
from gangform.inputs.cluster import Domain
from gangform.inputs.serving import Parallelism, Pods, Resources, Rollout, TopologyRequest
from gangform.plan import arrangement, laying
from gangform.plan.cluster import plan_cluster
from gangform.units import Bytes, Millicores

Codes = Callable[[Iterable[Finding]], list[str]]


@pytest.fixture
def fill(make_plan: MakePlan, make_cluster: MakeCluster) -> Fill:
    return filler(make_plan, make_cluster)


@pytest.mark.parametrize(
    ("pods", "per_node", "nodes"), [(4, 1, 4), (4, 2, 2), (5, 2, 3), (0, 2, 0)]
)
def test_pods_fill_nodes_to_the_last(pods: int, per_node: int, nodes: int) -> None:
    assert laying.needed(pods, per_node) == nodes


def test_a_pool_counts_wanted_groups_and_then_surge_and_spare(fill: Fill) -> None:
    plan = fill(
        {"groups": 3, "rollout": Rollout(spare_groups=1)},
        {"groups": 5, "parallelism": Parallelism(tensor=4)},
        nodes=20,
    )
    (pool,) = plan.pools
    assert (pool.pool, pool.nodes) == ("gpu", 20)
    assert pool.needed == 3 * 2 + 3
    assert pool.peak == 4 * 2 + 3
    assert [(one.serving, one.wanted, one.extra) for one in pool.packings] == [
        ("s0", 3, 1),
        ("s1", 5, 0),
    ]


def test_a_pool_without_inventory_is_not_checked(fill: Fill, codes: Codes) -> None:
    plan = fill({"groups": 400, **RACKED})
    assert plan.pools[0].nodes is None
    assert codes(plan.findings) == []
    assert plan.pools[0].packings[0].placed == 400


def test_a_pool_nothing_runs_on_is_not_listed(fill: Fill) -> None:
    assert fill().pools == ()


def test_more_nodes_than_the_pool_has_are_refused(fill: Fill, codes: Codes) -> None:
    assert codes(fill({"groups": 4}, nodes=8).findings) == []
    (found,) = fill({"groups": 4}, nodes=7).findings
    assert found.code.id == "pool-too-small"
    assert found.at.path == ("clusters", "prod", "pools", "gpu", "nodes")
    assert found.what == "the groups of pool gpu fill 8 nodes, it has 7"


def test_a_spare_group_without_nodes_is_said(fill: Fill, codes: Codes) -> None:
    spare = {"groups": 4, "rollout": Rollout(spare_groups=1, max_surge=0)}
    assert codes(fill(spare, nodes=10).findings) == []
    (found,) = fill(spare, nodes=9).findings
    assert found.code.id == "surge-has-no-room"
    assert not found.breaks


@pytest.mark.parametrize(
    ("groups", "surge", "unavailable", "most"),
    [(1, 1, 1, 1), (2, 2, 2, 2), (2, 2, 1, 3), (1, 3, 0, 2), (2, 1, 1, 3)],
)
def test_a_surge_that_no_rollout_makes_needs_no_nodes(
    fill: Fill, codes: Codes, groups: int, surge: int, unavailable: int, most: int
) -> None:
    rollout = Rollout(max_surge=surge, max_unavailable=unavailable)
    plan = fill({"groups": groups, "rollout": rollout}, nodes=2 * most)
    assert plan.pools[0].peak == 2 * most
    assert plan.pools[0].packings[0].placed == most
    assert "surge-has-no-room" not in codes(plan.findings)
    less = fill({"groups": groups, "rollout": rollout}, nodes=2 * most - 1).findings
    assert {"surge-has-no-room", "surge-cannot-be-placed", "pool-too-small"} & set(codes(less))


def test_a_spare_group_needs_its_nodes_where_no_surge_does(fill: Fill) -> None:
    rollout = Rollout(max_surge=2, max_unavailable=1, spare_groups=1)
    (pool,) = fill({"groups": 1, "rollout": rollout}, nodes=8).pools
    assert pool.peak == 2 * 2


def test_a_surge_that_has_to_come_first_and_finds_no_nodes_is_refused(
    fill: Fill, codes: Codes
) -> None:
    surge = {"groups": 4, "rollout": Rollout(spare_groups=1)}
    assert codes(fill(surge, nodes=10).findings) == []
    (found,) = fill(surge, nodes=9).findings
    assert found.code.id == "surge-cannot-be-placed"


def test_groups_with_a_required_level_are_packed_whole(fill: Fill, codes: Codes) -> None:
    two = {"groups": 4, **RACKED}
    assert codes(fill(two, racks=(3, 3, 3, 3)).findings) == []
    (found,) = fill(two, racks=(3, 3, 3)).findings
    assert found.code.id == "no-domain-for-group"
    assert found.at.path == ("servings", "s0", "topology")
    assert found.what == (
        "4 groups of 2 pods, and the domains of example.com/rack in pool gpu hold 3 whole ones; 3 nodes = 24 GPUs are "
        "free, and in no domain the 2 of one group: b0/r0 1, b0/r1 1, b1/r2 1"
    )


def test_pods_of_two_servings_share_a_node(fill: Fill, codes: Codes) -> None:
    """Two times four GPUs are one node of eight, and three times are two."""
    half = {"groups": 1, "parallelism": Parallelism(tensor=4)}
    plan = fill(half, half, nodes=1)
    assert codes(plan.findings) == []
    assert (plan.pools[0].needed, plan.pools[0].domains[0].free) == (1, 0)
    assert codes(fill(half, half, half, nodes=1).findings) == ["pool-too-small"]


UNLIKE = (
    {**RACKED, "groups": 1, "parallelism": Parallelism(tensor=8, pipeline=4)},
    {**RACKED, "groups": 3, "parallelism": Parallelism(tensor=8, pipeline=3)},
)


def test_groups_that_fit_in_one_way_only_are_laid_so_and_it_is_said(fill: Fill) -> None:
    """Four goes into six, the tightest, and leaves two beside seven: one group of three would be left over."""
    plan = fill(*UNLIKE, racks=(7, 6))
    (found,) = plan.findings
    assert (found.code.id, found.breaks) == ("groups-fit-one-way", False)
    assert [(one.placed, one.wanted) for one in plan.pools[0].packings] == [(1, 1), (3, 3)]
    assert [(one.filled, one.free) for one in plan.pools[0].domains] == [(7, 0), (6, 0)]
    assert fill(*UNLIKE, racks=(8, 7)).findings == ()
    assert [one.code.id for one in fill(*UNLIKE, racks=(6, 6)).findings if one.breaks]


def test_where_not_every_way_was_looked_at_nothing_is_called_impossible(
    fill: Fill, codes: Codes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrangement, "MOST_STATES", 0)
    plan = fill(*UNLIKE, racks=(7, 6))
    assert codes(plan.findings) == ["no-way-to-lay-found"]
    assert not plan.findings[0].breaks
    assert plan.findings[0].what.endswith("not every way to lay them was looked at")


def test_a_surge_group_that_another_one_takes_the_place_of_is_no_dead_end(
    fill: Fill, codes: Codes
) -> None:
    """One rack is free, and each of the two may have it while the other does not roll."""
    surge = {
        **RACKED,
        "groups": 1,
        "backend": "volcano",
        "rollout": Rollout(max_surge=1, max_unavailable=0),
    }
    surge["topology"] = TopologyRequest(level=RACK)
    plan = fill(surge, surge, racks=(2, 2, 2))
    assert {room.groups for room in plan.pools[0].rooms.values()} == {1}
    assert "surge-cannot-be-placed" not in codes(plan.findings)
    assert "no-domain-for-spare" in codes(plan.findings)
    assert "surge-cannot-be-placed" in codes(fill(surge, surge, racks=(2, 2, 1)).findings)


def test_domains_alone_say_how_many_nodes_there_are(fill: Fill, codes: Codes) -> None:
    assert codes(fill({"groups": 3}, racks=(2, 4), nodes=None).findings) == []
    (found,) = fill({"groups": 4}, racks=(2, 4), nodes=None).findings
    assert (found.code.id, found.at.path[-1]) == ("pool-too-small", "domains")


def test_a_full_pool_is_not_called_fragmented(fill: Fill) -> None:
    (found,) = fill({"groups": 4, **RACKED}, racks=(2, 2, 2)).findings
    assert found.what.endswith("hold 3 whole ones; no node of theirs is free")


def test_of_many_domains_the_emptiest_are_named(fill: Fill) -> None:
    (found,) = fill({"groups": 9, **RACKED}, racks=(3,) * 8).findings
    assert found.what.endswith("b2/r5 1 and 2 more")
    assert found.seen["freeNodes"] == "8"


def test_every_group_of_a_pool_is_on_the_map(fill: Fill) -> None:
    bound = {"groups": 2, "rollout": Rollout(spare_groups=1, max_surge=0), **RACKED}
    anywhere = {"groups": 3, "parallelism": Parallelism(tensor=4)}
    (pool,) = fill(bound, anywhere, racks=(4, 4, 2)).pools
    assert [(one.serving, one.group, one.kind, one.domain) for one in pool.placements] == [
        ("s0", 0, "wanted", ("b1", "r2")),
        ("s0", 1, "wanted", ("b0", "r0")),
        ("s1", 0, "wanted", ("b0", "r0")),
        ("s1", 1, "wanted", ("b0", "r0")),
        ("s1", 2, "wanted", ("b0", "r0")),
        ("s0", 2, "spare", ("b0", "r1")),
    ]
    assert [(one.at[1], one.free) for one in pool.domains] == [("r0", 0), ("r1", 2), ("r2", 0)]


def test_a_surge_group_is_told_from_a_spare_one(fill: Fill) -> None:
    rolls = {"groups": 2, "rollout": Rollout(spare_groups=2, max_surge=1), "backend": "none"}
    (pool,) = fill(rolls, nodes=8).pools
    assert [one.kind for one in pool.placements] == ["wanted", "wanted", "surge", "spare"]
    assert [(one.at, one.nodes, one.free) for one in pool.domains] == [((), 8, 0)]


def test_a_spare_group_needs_a_whole_place_too(fill: Fill, codes: Codes) -> None:
    spare = {"groups": 2, "rollout": Rollout(spare_groups=1), **RACKED}
    assert codes(fill(spare, racks=(2, 2, 2)).findings) == []
    (found,) = fill(spare, racks=(2, 2, 1)).findings
    assert found.code.id == "no-domain-for-spare"
    assert "3 groups of 2 pods with surge and spare" in found.what


def test_larger_groups_go_first_and_wanted_ones_before_spare_ones(fill: Fill) -> None:
    small = {"groups": 1, "rollout": Rollout(spare_groups=2), **RACKED}
    large = {"groups": 2, "parallelism": Parallelism(tensor=8, pipeline=4), **RACKED}
    (pool,) = fill(small, large, racks=(4, 4, 3)).pools
    assert [one.placed for one in pool.packings] == [1, 2]
    assert [one.level for one in pool.packings] == [RACK, RACK]


def test_groups_go_into_the_fullest_domain_that_holds_them(fill: Fill, codes: Codes) -> None:
    large = {"groups": 1, "parallelism": Parallelism(tensor=8, pipeline=3), **RACKED}
    small = {"groups": 1, **RACKED}
    assert codes(fill(large, small, racks=(5, 3)).findings) == []
    four = {"groups": 1, "parallelism": Parallelism(tensor=8, pipeline=4), **RACKED}
    (pool,) = fill({**small, "groups": 2}, four, racks=(4, 2, 2)).pools
    assert [one.placed for one in pool.packings] == [2, 1]


def test_a_coarser_level_takes_nodes_of_several_racks(fill: Fill, codes: Codes) -> None:
    block = {**RACKED, "topology": TopologyRequest(level=BLOCK), "groups": 2}
    six = {**block, "parallelism": Parallelism(tensor=8, pipeline=6)}
    assert codes(fill(six, racks=(3, 3, 3, 3)).findings) == []
    assert codes(fill(six, racks=(3, 3, 3, 2)).findings) == ["no-domain-for-group"]


def test_no_host_holds_a_group_of_several_pods(fill: Fill, codes: Codes) -> None:
    host = {**RACKED, "topology": TopologyRequest(level=HOST), "groups": 1}
    assert "no-domain-for-group" in codes(fill(host, racks=(8,)).findings)
    one = {**host, "parallelism": Parallelism(tensor=8)}
    assert "no-domain-for-group" not in codes(fill(one, racks=(8,)).findings)


def test_a_backend_that_keeps_others_out_needs_a_domain_a_group(fill: Fill, codes: Codes) -> None:
    alone = {**RACKED, "backend": "none", "groups": 2}
    assert codes(fill(alone, racks=(4, 4)).findings) == []
    assert codes(fill(alone, racks=(8,)).findings) == ["no-domain-for-group"]
    assert codes(fill({**alone, "backend": "kueue"}, racks=(8,)).findings) == []


def test_a_preferred_level_refuses_nothing(fill: Fill, codes: Codes) -> None:
    soft = {"topology": TopologyRequest(level=RACK, mode="preferred"), "backend": "kueue"}
    plan = fill({"groups": 3, **soft}, racks=(1, 1, 4))
    assert codes(plan.findings) == []
    assert plan.pools[0].packings[0].level is None


@settings(deadline=None, max_examples=60)
@given(
    racks=st.lists(st.integers(1, 9), min_size=1, max_size=6),
    groups=st.lists(st.integers(1, 4), min_size=1, max_size=3),
    stages=st.lists(st.integers(2, 5), min_size=3, max_size=3),
)
def test_no_packing_places_more_than_the_racks_hold(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    racks: list[int],
    groups: list[int],
    stages: list[int],
) -> None:
    on = make_cluster(pool={"levels": (BLOCK, RACK), "domains": domains(*racks)})
    plans = [
        make_plan(
            on=on,
            name=f"s{n}",
            groups=count,
            parallelism=Parallelism(tensor=8, pipeline=stages[n]),
            **RACKED,
        )
        for n, count in enumerate(groups)
    ]
    (pool,) = plan_cluster(on, plans).pools
    placed = {one.serving: one.placed for one in pool.packings}
    assert sum(placed[f"s{n}"] * stages[n] for n in range(len(groups))) <= sum(racks)
    for n, count in enumerate(groups):
        assert placed[f"s{n}"] <= min(count, sum(nodes // stages[n] for nodes in racks))
    if len(groups) == 1:
        assert placed["s0"] == min(groups[0], sum(nodes // stages[0] for nodes in racks))


# ── what is said about the pool itself ───────────────────────────────────────────────────────────


@pytest.mark.parametrize("backend", ["kueue", "volcano", "none"])
def test_a_domain_is_said_to_the_last_level(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes, backend: str
) -> None:
    def found(*at: str) -> list[Finding]:
        pool = {"levels": (BLOCK, RACK, HOST), "domains": (Domain(at=at, nodes=8),)}
        on = make_cluster(pool=pool)
        return list(plan_cluster(on, [make_plan(on=on, backend=backend)]).findings)

    (short,) = found("b1")
    assert codes([short]) == ["domain-path-incomplete"]
    assert short.at.path == ("clusters", "prod", "pools", "gpu", "domains", 0, "at")
    assert codes(found("b1", "r1", "h1")) == ["domain-path-incomplete"]
    assert codes(found("b1", "r1")) == []


def test_a_node_takes_as_many_pods_as_all_its_resources_allow(make_plan: MakePlan) -> None:
    def fit(**own: Any) -> int:
        plan = make_plan(parallelism=Parallelism(tensor=2), pods=Pods(resources=Resources(**own)))
        return laying.per_node(plan.demands[0])

    assert fit() == 4
    assert fit(cpu=Millicores(40_000)) == 2
    assert fit(memory=Bytes.gib(600)) == 2
    assert fit(ephemeral_storage=Bytes.gib(2000)) == 1


def test_many_groups_are_packed_at_once(fill: Fill) -> None:
    plan = fill({"groups": 1_000_000, **RACKED}, racks=(2_000_000, 10))
    (packing,) = plan.pools[0].packings
    assert packing.placed == 1_000_000
