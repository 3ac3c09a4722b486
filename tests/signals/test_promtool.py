"""The rules in a real Prometheus' rule engine: what fires, when, with which labels and words, and what stays silent.

A scenario is the normal state of a serving and what differs from it. At each minute that it names, the whole list of
firing alerts is compared, annotations included; an alert that is not listed must not fire. Every alert of a form fires
in one of its scenarios, so a rule that never fires is noticed.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.signals.forms import FORMS
from tests.signals.rule_tests import alerting, cases_file, put, rule_file, run
from tests.signals.scenario import MakePlan
from tests.signals.sources import tried

pytestmark = pytest.mark.go


def test_prometheus_reads_the_rules(make_plan: MakePlan, promtool: str, tmp_path: Path) -> None:
    specs = {form: rule_file(make_plan(form)) for form in FORMS}
    files = [put(tmp_path, f"{form}.yaml", spec) for form, spec in specs.items()]
    done = run(promtool, "check", *files)
    assert done.returncode == 0, done.stdout + done.stderr
    for spec in specs.values():
        count = sum(len(group["rules"]) for group in spec["groups"])
        assert f"{count} rules found" in done.stdout


@pytest.mark.parametrize("form", FORMS)
def test_alerts_fire_when_they_should_and_only_then(
    form: str, make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    plan = make_plan(form)
    spec = rule_file(plan)
    put(tmp_path, "rules.yaml", spec)
    done = run(promtool, "test", put(tmp_path, "test.yaml", cases_file(spec, *tried(plan))))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", FORMS)
def test_every_alert_of_a_form_fires_in_a_scenario(form: str, make_plan: MakePlan) -> None:
    """Then a rule that never fires is noticed, whichever it is."""
    plan = make_plan(form)
    cases = tried(plan).cases.values()
    fired = {fires.name for case in cases for firing in case.at.values() for fires in firing}
    assert fired == {*alerting(rule_file(plan))}
