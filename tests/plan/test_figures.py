from __future__ import annotations

from collections.abc import Callable

import pytest

from gangform.plan import rollout
from gangform.plan.figures import (
    FORMULAS,
    Derivation,
    Formula,
    formula,
    recording,
    watching,
)
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

MakePlan = Callable[..., ServingPlan]


@pytest.fixture
def double(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], int]:
    def double(count: int, times: int = 2) -> int:
        """Twice as much."""
        return count * times

    made = formula("count x times", source="here")(double)
    monkeypatch.delitem(FORMULAS, f"{double.__module__}.double")
    return made


def test_a_formula_computes_as_without_it(double: Callable[[int], int]) -> None:
    assert double(4) == 8
    assert (double.__name__, double.__doc__) == ("double", "Twice as much.")


def test_nothing_is_kept_outside_of_a_recording(double: Callable[[int], int]) -> None:
    with recording() as ledger:
        pass
    double(4)
    assert ledger == []


def test_a_recording_keeps_operands_and_result_in_order(double: Callable[[int], int]) -> None:
    with recording() as ledger:
        double(double(4))
    assert [(dict(one.operands), one.result) for one in ledger] == [
        ({"count": 4}, 8),
        ({"count": 8}, 16),
    ]
    assert ledger[0].formula.text == "count x times"
    assert ledger[0].formula.source == "here"


def test_a_recording_inside_another_is_its_own(double: Callable[[int], int]) -> None:
    with recording() as outer:
        double(1)
        with recording() as inner:
            double(2)
        double(3)
    assert [one.result for one in outer] == [2, 6]
    assert [one.result for one in inner] == [4]


def test_a_recording_ends_with_its_block_even_where_it_fails(double: Callable[[int], int]) -> None:
    with pytest.raises(RuntimeError), recording() as ledger:
        raise RuntimeError
    double(1)
    assert ledger == []


def test_every_formula_says_what_it_is_and_where_it_is_from() -> None:
    assert FORMULAS["plan.rollout.peak"] == Formula(
        name="peak",
        module="plan.rollout",
        text="R + s if R > s, else R + max(0, R - u); R + min(s, R) for a Deployment",
        source="lws §3; lab E2",
    )
    for key, entry in FORMULAS.items():
        assert key == f"{entry.module}.{entry.name}"
        assert entry.text and entry.source


def test_a_plan_leaves_its_derivation_in_the_ledger(make_plan: MakePlan) -> None:
    with recording() as ledger:
        plan = make_plan(groups=3)
    results = {
        one.formula.name: one.result for one in ledger if one.formula.module == "plan.rollout"
    }
    assert results["max_surge"] == plan.lead.rollout.max_surge == 0
    assert results["floor"] == plan.lead.rollout.floor == 2
    assert rollout.floor(3, 1) == 2


def test_a_watch_may_let_the_plan_go_on_with_another_result(make_plan: MakePlan) -> None:
    def another(derivation: Derivation) -> object:
        return Seconds(7200) if derivation.formula.name == "budget" else derivation.result

    before = make_plan()
    with watching(another):
        plan = make_plan()
    assert plan.lead.startup.budget == Seconds(7200) != before.lead.startup.budget
    assert plan.lead.startup.worst == before.lead.startup.worst
    assert make_plan().lead.startup == before.lead.startup
