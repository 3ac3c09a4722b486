"""The rules in a real Prometheus' rule engine: what fires, when, with which labels and words, and what stays silent.

A scenario is the normal state of a serving and what differs from it. At each minute that it names, the whole list of
firing alerts is compared, annotations included; an alert that is not listed must not fire. Every alert of a form fires
in one of its scenarios, so a rule that never fires is noticed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.signals.form_scenarios import FORMS, OF_GROUPS, SCALED, scenarios
from tests.signals.scenario import Fires, MakePlan, Scenario, Series

from gangform.manifests.monitoring import rules
from gangform.plan.serving import ServingPlan
from gangform.signals.alerts import alerts

pytestmark = pytest.mark.go


@pytest.fixture(scope="session")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool on PATH; Debian has it in the package `prometheus`")
    return found


def rule_file(plan: ServingPlan) -> dict[str, Any]:
    """What the operator hands to Prometheus: the spec of the object."""
    (manifest,) = rules(plan)
    loaded: dict[str, Any] = yaml.safe_load(yaml.safe_dump(manifest["spec"]))
    return loaded


def filled(template: str, fires: Fires) -> str:
    """An annotation as Prometheus writes it; a label that the alert lacks is a KeyError."""
    text = template.replace("{{ $value }}", str(fires.value))
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: fires.labels[found[1]], text)


def promtool_file(
    spec: dict[str, Any], normal: Series, cases: Mapping[str, Scenario]
) -> dict[str, Any]:
    written = {rule["alert"]: rule for rule in spec["groups"][0]["rules"]}
    tests = []
    for name, scenario in cases.items():
        states = {**normal, **scenario.differs}
        checks = [
            {
                "eval_time": f"{minute}m",
                "alertname": alert,
                "exp_alerts": [
                    {
                        "exp_labels": {**rule["labels"], **fires.labels},
                        "exp_annotations": {
                            key: filled(text, fires) for key, text in rule["annotations"].items()
                        },
                    }
                    for fires in firing
                    if fires.name == alert
                ],
            }
            for minute, firing in scenario.at.items()
            for alert, rule in written.items()
        ]
        tests.append(
            {
                "name": name,
                "interval": "1m",
                "input_series": [
                    {"series": key, "values": values} for key, values in states.items() if values
                ],
                "alert_rule_test": checks,
            }
        )
    return {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}


def run(promtool: str, what: str, file: Path) -> subprocess.CompletedProcess[str]:
    command = [promtool, what, "rules", file.name]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)


def put(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_prometheus_reads_the_rules(
    form: str, make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    spec = rule_file(make_plan(form))
    done = run(promtool, "check", put(tmp_path, "rules.yaml", spec))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(spec['groups'][0]['rules'])} rules found" in done.stdout


@pytest.mark.parametrize("form", [*OF_GROUPS, "deployment", *SCALED])
def test_alerts_fire_when_they_should_and_only_then(
    form: str, make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    plan = make_plan(form)
    spec = rule_file(plan)
    put(tmp_path, "rules.yaml", spec)
    done = run(
        promtool, "test", put(tmp_path, "test.yaml", promtool_file(spec, *scenarios(form, plan)))
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", [*OF_GROUPS, "deployment"])
def test_every_alert_of_a_form_fires_in_a_scenario(form: str, make_plan: MakePlan) -> None:
    """Then a rule that never fires is noticed, whichever it is."""
    plan = make_plan(form)
    _, cases = scenarios(form, plan)
    fired = {
        fires.name for case in cases.values() for firing in case.at.values() for fires in firing
    }
    assert fired == {rule["alert"] for rule in rule_file(plan)["groups"][0]["rules"]}


@pytest.mark.parametrize("form", SCALED)
def test_the_alerts_of_an_autoscaler_fire_in_a_scenario(form: str, make_plan: MakePlan) -> None:
    plan = make_plan(form)
    added = {alert.name for alert in alerts(plan)} - {
        alert.name for alert in alerts(make_plan("groups"))
    }
    _, cases = scenarios(form, plan)
    firing = [fires for case in cases.values() for fires in case.at.values()]
    assert added == {fires.name for together in firing for fires in together}


def test_a_rule_that_never_fires_is_noticed(
    make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    plan = make_plan("deployment")
    file = put(
        tmp_path, "test.yaml", promtool_file(rule_file(plan), *scenarios("deployment", plan))
    )
    unnoticed = []
    for index in range(len(rule_file(plan)["groups"][0]["rules"])):
        spec = rule_file(plan)
        rule = spec["groups"][0]["rules"][index]
        rule["expr"] = "vector(0) > 1"
        put(tmp_path, "rules.yaml", spec)
        if run(promtool, "test", file).returncode == 0:
            unnoticed.append(rule["alert"])
    assert not unnoticed
