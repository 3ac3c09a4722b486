"""What the tests of alerts ask for by name."""

from __future__ import annotations

import shutil

import pytest
from tests.signals.forms import plan_of
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
