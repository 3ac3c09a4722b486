"""The rules in a real Prometheus' rule engine: what fires, when, with which labels and words, and what stays silent.

A scenario is the normal state of a serving and what differs from it. At each minute that it names, the whole list of
firing alerts is compared, annotations included; an alert that is not listed must not fire. Every alert of a form fires
in one of its scenarios, so a rule that never fires is noticed. A rule that an earlier form has letter for letter is not
run again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.signals import mutation_check
from tests.signals.forms import FORMS, plan_of
from tests.signals.rule_tests import Spec, alerting, cases_files, put, rule_file, run
from tests.signals.scenario import MakePlan
from tests.signals.sources import tried

pytestmark = pytest.mark.go

Record = Callable[[str, object], None]
SMALL_FAULTS = ("deployment",)
"""Forms whose rules are tried with small faults too; every other rule as one that never and one that always fires."""
DIST = Path(__file__).parents[2] / "dist"


def read(promtool: str, specs: dict[str, Any], folder: Path) -> None:
    """Prometheus reads all of them, and finds as many rules as there are."""
    files = [put(folder, f"{number}.yaml", spec) for number, spec in enumerate(specs.values())]
    done = run(promtool, "check", *files)
    assert done.returncode == 0, done.said
    found = [line.split()[1] for line in done.said.splitlines() if "rules found" in line]
    counts = [sum(len(group["rules"]) for group in spec["groups"]) for spec in specs.values()]
    assert sorted(map(int, found)) == sorted(counts)


def test_prometheus_reads_the_rules(promtool: str, tmp_path: Path) -> None:
    read(promtool, {form: rule_file(plan_of(form)) for form in FORMS}, tmp_path)


def test_prometheus_reads_the_rules_of_the_fleet(promtool: str, tmp_path: Path) -> None:
    found = {
        f"{path}: {document['metadata']['name']}": document["spec"]
        for path in sorted(DIST.glob("*/*.k8s.yaml"))
        for document in yaml.load_all(path.read_text("utf-8"), yaml.CSafeLoader)
        if document["kind"] == "PrometheusRule"
    }
    assert len(found) > 5
    read(promtool, found, tmp_path)


@pytest.mark.parametrize("form", FORMS)
def test_alerts_fire_when_they_should_and_only_then(
    form: str, specs: dict[str, Spec], promtool: str, tmp_path: Path, record_property: Record
) -> None:
    spec = specs[form]
    files = [*cases_files(spec, *tried(plan_of(form)), tmp_path)]
    done = run(promtool, "test", *(each.path for each in files))
    assert done.returncode == 0, done.said
    record_property("assertions on rules", sum(each.assertions for each in files))


@pytest.mark.parametrize("form", FORMS)
def test_every_alert_of_a_form_fires_in_a_scenario(form: str, make_plan: MakePlan) -> None:
    """Then a rule that never fires is noticed, whichever it is; and nothing is expected that is no rule."""
    plan = make_plan(form)
    cases = tried(plan).cases.values()
    fired = {fires.name for case in cases for firing in case.at.values() for fires in firing}
    assert fired == {*alerting(rule_file(plan))}


@pytest.mark.parametrize("form", FORMS)
def test_every_fault_in_a_rule_is_noticed(
    form: str, specs: dict[str, Spec], promtool: str, tmp_path: Path, record_property: Record
) -> None:
    """Each expression as one that never fires and as one that always does; some with one fault after another.

    The others' small faults are tried by `test_small_faults.py`.
    """
    small = form in SMALL_FAULTS
    found = mutation_check.check(
        promtool, specs[form], *tried(plan_of(form)), tmp_path, small=small
    )
    record_property("mutations of rules", found.made)
    record_property("mutations that change nothing", found.argued)
    assert not found.unnoticed
