"""Planning cases of rollouts and of the room they need."""

from __future__ import annotations

import pytest
from tests.cases.planning import (
    RACK,
    cluster,
    model,
    node,
    planned,
    refused,
    row,
    summed,
    warned,
)

from gangform.inputs.cluster import Domain, Installed
from gangform.inputs.serving import (
    Parallelism,
    Rollout,
    TopologyRequest,
)
from gangform.plan import rollout
from gangform.plan.cluster import ClusterPlan


def racks(count: int, surge: int, unavailable: int) -> ClusterPlan:
    """Groups of two nodes, each alone in a rack of three."""
    home = cluster(
        node(),
        pool={
            "levels": (RACK, "kubernetes.io/hostname"),
            "domains": tuple(Domain(at=(f"r{index}",), nodes=3) for index in range(count)),
        },
    )
    return summed(
        home,
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=3,
        rollout=Rollout(max_surge=surge, max_unavailable=unavailable),
        topology=TopologyRequest(level=RACK),
    )


@row("h13-p")
def test_a_surge_without_a_domain_of_its_own_is_refused() -> None:
    plan = racks(3, 1, 0)
    (packing,) = plan.pools[0].packings
    assert packing.wanted + packing.extra == 4
    assert packing.placed == 3
    assert list(refused(plan)) == ["surge-cannot-be-placed"]
    assert (
        "3 empty nodes of theirs lie beside a group" in refused(plan)["surge-cannot-be-placed"].what
    )


def test_a_surge_with_a_domain_of_its_own_is_accepted() -> None:
    plan = racks(4, 1, 0)
    (packing,) = plan.pools[0].packings
    assert packing.placed == 4
    assert refused(plan) == warned(plan) == {}


@row("h13-q")
def test_a_rollout_in_place_needs_no_further_domain() -> None:
    plan = racks(3, 0, 1)
    assert refused(plan) == warned(plan) == {}
    assert plan.servings[0].lead.rollout.floor == 2


@row("h23-p")
@pytest.mark.parametrize("unavailable", [2, 1])
def test_a_single_group_with_an_unavailable_one_does_not_surge(unavailable: int) -> None:
    plan = planned(
        model(),
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=1,
        rollout=Rollout(max_surge=1, max_unavailable=unavailable),
    )
    assert refused(plan) == {}
    assert (plan.lead.rollout.peak, plan.lead.rollout.floor) == (1, 0)
    assert "surge-does-not-happen" in warned(plan)
    assert warned(plan)["surge-does-not-happen"].fix == "set maxUnavailable 0"


def test_a_single_group_without_an_unavailable_one_surges() -> None:
    assert rollout.peak(1, 1, 0) == 2


@row("h10-p")
@pytest.mark.parametrize(("gpus", "code"), [(144, None), (128, "surge-has-no-room")])
def test_the_peak_of_a_rollout_is_held_against_the_pool(gpus: int, code: str | None) -> None:
    plan = summed(
        cluster(node(), pool={"nodes": gpus // 8}),
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=6,
        rollout=Rollout(max_surge=3, max_unavailable=2),
    )
    assert refused(plan) == {}
    assert plan.servings[0].lead.rollout.peak == 9
    assert plan.pools[0].peak * 8 == 144
    assert list(warned(plan)) == ([code] if code else [])


@row("r19")
@pytest.mark.parametrize(("lws", "warns"), [("0.6", True), ("0.7", False)])
def test_a_rollout_that_cannot_repair_is_said(lws: str, warns: bool) -> None:
    home = cluster(node(), versions=Installed(kubernetes="1.36", lws=lws))
    plan = planned(
        model(),
        on=home,
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=4,
        rollout=Rollout(max_surge=1, max_unavailable=0),
    )
    assert refused(plan) == {}
    assert ("rollout-never-repairs" in warned(plan)) is warns
    if warns:
        finding = warned(plan)["rollout-never-repairs"]
        assert finding.what.endswith("with no group ready, 1 step waits for ever")
        assert finding.fix == "delete the leaders of the broken groups, or upgrade to 0.7"
