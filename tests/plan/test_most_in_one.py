"""How many groups one domain may take: what its loss costs at worst."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.plan.racks import (
    BLOCK,
    RACK,
    RACKED,
    Fill,
    MakeCluster,
    MakePlan,
    filler,
    only,
)

from gangform.findings import Finding
from gangform.inputs.serving import Parallelism, TopologyRequest

Codes = Callable[[Iterable[Finding]], list[str]]


@pytest.fixture
def fill(make_plan: MakePlan, make_cluster: MakeCluster) -> Fill:
    return filler(make_plan, make_cluster)


def test_the_loss_of_the_coarsest_or_of_the_named_level_is_counted(fill: Fill) -> None:
    def lost(**changes: Any) -> tuple[str | None, int]:
        plan = fill({"groups": 6, **changes}, racks=(3, 3, 4, 2))
        return plan.pools[0].packings[0].spread, plan.pools[0].packings[0].most_in_one

    assert lost() == (BLOCK, 3)
    assert lost(spread=RACK) == (RACK, 2)
    assert lost(spread=RACK, parallelism=Parallelism(tensor=4)) == (RACK, 6)
    assert lost(groups=2) == (BLOCK, 2)


def test_exclusive_topology_alone_keeps_groups_apart(make_plan: MakePlan, fill: Fill) -> None:
    def lost(spread: str, **changes: Any) -> int:
        asked = {**RACKED, "groups": 3, "spread": spread, **changes}
        return fill(asked, racks=(8, 8, 8, 8)).pools[0].packings[0].most_in_one

    assert (lost(RACK), lost(BLOCK)) == (3, 3)
    assert (lost(RACK, backend="none"), lost(BLOCK, backend="none")) == (1, 2)
    assert (
        fill({**RACKED, "groups": 3, "spread": RACK, "backend": "none"})
        .pools[0]
        .packings[0]
        .most_in_one
        == 1
    )

    def said(**changes: Any) -> str:
        plan = make_plan(**{**RACKED, "groups": 3, "spread": RACK, **changes})
        return " ".join(plan.remarks)

    assert "keeps them apart" in said(backend="none")
    assert f"no backend spreads groups over {RACK}" in said()
    assert "spread" not in said(spread=None)


def test_replicas_of_one_pod_share_the_domain_of_a_level_that_nothing_keeps(fill: Fill) -> None:
    """Without a backend a Deployment gets no exclusive topology: nothing keeps its replicas apart."""
    alone = {"parallelism": Parallelism(tensor=8), "topology": TopologyRequest(level=RACK)}
    plan = fill({**alone, "backend": "none", "groups": 3}, racks=(4, 4))
    assert not only(plan, "no-domain-for-group")
    assert plan.pools[0].packings[0].placed == 3


def test_without_an_inventory_one_domain_takes_all(fill: Fill) -> None:
    assert fill({"groups": 6}).pools[0].packings[0].most_in_one == 6
