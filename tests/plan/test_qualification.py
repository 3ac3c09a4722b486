from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangform.bundle import bundle
from gangform.inputs.cluster import Cluster
from gangform.inputs.parallelism import Parallelism
from gangform.inputs.qualified import Qualified
from gangform.inputs.serving import Engine
from gangform.plan.qualification import QualificationPlan
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]

NOTED: dict[str, Any] = {
    "date": "2026-11-02",
    "engine": "0.33.0",
    "driver": "570.86.15",
    "nccl": "2.27.5",
    "hardware": "eight",
    "parallelism": Parallelism(tensor=8, pipeline=2),
    "context": 32_768,
    "tokens_per_second": 5400,
}


@pytest.fixture
def plan(make_plan: MakePlan, make_cluster: MakeCluster) -> Callable[..., ServingPlan]:
    def made(changes: dict[str, Any] | None = None, **asked: Any) -> ServingPlan:
        given: dict[str, Any] = {
            "on": make_cluster(pool={"driver": asked.pop("driver", "570.86.15")}),
            "engine": Engine(version="0.33.0", nccl=asked.pop("nccl", "2.27.5")),
            "qualified": Qualified(**{**NOTED, **(changes or {})}),
        }
        return make_plan(**{**given, **asked})

    return made


def found(plan: ServingPlan) -> QualificationPlan:
    assert plan.qualification is not None
    return plan.qualification


def test_what_did_not_move_holds(plan: Callable[..., ServingPlan]) -> None:
    made = plan()
    assert found(made).holds
    assert found(made).unknown == ()
    assert "not-re-measured" not in [one.code.id for one in made.findings]


def test_rates_are_those_of_a_group_and_of_all(plan: Callable[..., ServingPlan]) -> None:
    assert (found(plan()).rate, found(plan()).highest_rate) == (5400, 4 * 5400)
    silent = found(plan({"tokens_per_second": None}))
    assert (silent.rate, silent.highest_rate) == (None, None)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"engine": "0.32.0"}, "engine 0.32.0, now 0.33.0"),
        ({"driver": "550.54.14"}, "driver 550.54.14, now 570.86.15"),
        ({"nccl": "2.26.2"}, "NCCL 2.26.2, now 2.27.5"),
        ({"hardware": "other"}, "hardware other, now eight"),
        ({"context": 8192}, "context 8192, now 32768"),
        (
            {"parallelism": Parallelism(tensor=8, pipeline=4)},
            "parallelism {tensor: 8, pipeline: 4}, now {tensor: 8, pipeline: 2}",
        ),
    ],
)
def test_what_moved_is_said_with_both_values(
    plan: Callable[..., ServingPlan], changes: dict[str, Any], said: str
) -> None:
    made = plan(changes)
    assert list(map(str, found(made).differences)) == [said]
    (finding,) = [one for one in made.findings if one.code.id == "not-re-measured"]
    assert finding.what == f"measured on 2026-11-02, not re-measured: {said}"
    assert finding.at.path == ("servings", "llm", "qualified")
    assert not finding.breaks


@pytest.mark.parametrize(
    ("measured", "declared", "alike"),
    [
        ("0.33", "0.33.0", True),
        ("v0.33.0", "0.33", True),
        ("0.33.0", "0.33.1", False),
        ("0.33.0", "0.33.0-rc1", False),
        ("0.30", "0.3", False),
        ("2.27.5+cuda12.9", "2.27.5", False),
    ],
)
def test_versions_are_alike_however_long_they_are_written(
    plan: Callable[..., ServingPlan], measured: str, declared: str, alike: bool
) -> None:
    assert found(plan({"nccl": measured}, nccl=declared)).holds is alike


def test_what_was_not_noted_or_is_not_declared_is_not_compared(
    plan: Callable[..., ServingPlan], make_plan: MakePlan
) -> None:
    bare = Qualified(date="2026-11-02", engine="0.33.0")
    made = make_plan(qualified=bare, engine=Engine(version="0.33.0"))
    assert found(made).holds
    assert found(made).unknown == ()
    unsaid = plan(on=None, engine=Engine(version="0.33.0"))
    assert found(unsaid).holds
    assert found(unsaid).unknown == ("driver", "NCCL")
    assert make_plan().qualification is None


def test_no_byte_of_a_bundle_follows_from_it(
    plan: Callable[..., ServingPlan], make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    plain = make_plan(engine=Engine(version="0.33.0"))
    for changes in ({}, {"engine": "0.20.0", "driver": "1.0"}):
        assert bundle(plan(changes)).to_yaml() == bundle(plain).to_yaml()
