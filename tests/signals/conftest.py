"""What the tests of alerts ask for by name."""

from __future__ import annotations

import shutil

import pytest
from tests.signals.forms import FORMS, plan_of
from tests.signals.rule_tests import Spec, rule_file, without
from tests.signals.scenario import MakePlan


@pytest.fixture(scope="session")
def make_plan() -> MakePlan:
    return plan_of


@pytest.fixture(scope="session")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool on PATH; Debian has it in the package `prometheus`")
    return found


@pytest.fixture(scope="session")
def specs() -> dict[str, Spec]:
    """What is new in the rules of each form."""
    known: set[str] = set()
    return {form: without(rule_file(plan_of(form)), known) for form in FORMS}
