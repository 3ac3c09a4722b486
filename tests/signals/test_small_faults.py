"""Small faults in the rules of every form, one after another: each is noticed by a scenario, or changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.signals import mutation_check
from tests.signals.forms import plan_of
from tests.signals.rule_tests import Spec
from tests.signals.sources import tried

pytestmark = pytest.mark.thorough

Record = Callable[[str, object], None]
FORMS_TRIED = ("groups",)
"""Forms of which every fault is noticed or argued. `deployment` is tried with the rules themselves."""


@pytest.mark.parametrize("form", FORMS_TRIED)
def test_every_small_fault_in_a_rule_is_noticed(
    form: str, specs: dict[str, Spec], promtool: str, tmp_path: Path, record_property: Record
) -> None:
    found = mutation_check.check(promtool, specs[form], *tried(plan_of(form)), tmp_path, small=True)
    record_property("mutations of rules", found.made)
    record_property("mutations that change nothing", found.argued)
    assert not found.unnoticed
