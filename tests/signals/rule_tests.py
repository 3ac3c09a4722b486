"""Scenarios as promtool's test files, and promtool run on many of them at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from tests.signals.scenario import Fires, Scenario, Series

from gangform.manifests.monitoring import rules
from gangform.plan.serving import ServingPlan

Spec = dict[str, Any]

PLACEHOLDER = re.compile(r'\{\{ \$(value|labels\.(\w+))((?: \| \w+(?: "%\.0f")?)*) \}\}')


def rule_file(plan: ServingPlan) -> Spec:
    """What the operator hands to Prometheus: the spec of the object."""
    (manifest,) = rules(plan)
    loaded: Spec = yaml.safe_load(yaml.safe_dump(manifest["spec"]))
    return loaded


def alerting(spec: Spec) -> dict[str, dict[str, Any]]:
    """The alerting rules by name."""
    return {
        rule["alert"]: rule
        for group in spec["groups"]
        for rule in group["rules"]
        if "alert" in rule
    }


def filled(template: str, fires: Fires) -> str:
    """An annotation as Prometheus writes it; a label that the alert lacks is a KeyError."""

    def fill(found: re.Match[str]) -> str:
        if found[1] != "value":
            return fires.labels[found[2]]
        if "humanizePercentage" in found[3]:
            return f"{100 * fires.value:.4g}%"
        return f"{fires.value:.0f}" if found[3] else f"{fires.value:g}"

    return PLACEHOLDER.sub(fill, template)


def without(spec: Spec, known: set[str]) -> Spec:
    """The rules that are not known yet, letter for letter; they are known from then on. Records are all kept."""
    groups = []
    for group in spec["groups"]:
        kept = []
        for rule in group["rules"]:
            tells = f"{rule.get('alert')} {rule['expr']} {rule.get('for')}"
            if "record" in rule or tells not in known:
                kept.append(rule)
            known.add(tells)
        groups.append({**group, "rules": kept})
    return {"groups": groups}


def expected(rule: Mapping[str, Any], fires: Fires) -> dict[str, Any]:
    return {
        "exp_labels": {**rule["labels"], **fires.labels},
        "exp_annotations": {key: filled(text, fires) for key, text in rule["annotations"].items()},
    }


def checks_of(name: str, rule: Mapping[str, Any], scenario: Scenario) -> list[dict[str, Any]]:
    """What is expected of a rule under some name, at every minute of a scenario."""
    return [
        {
            "eval_time": f"{minute}m",
            "alertname": name,
            "exp_alerts": [
                expected(rule, fires) for fires in firing if fires.name == rule["alert"]
            ],
        }
        for minute, firing in scenario.at.items()
    ]


def recorded(spec: Spec, scenario: Scenario) -> list[dict[str, Any]]:
    """What the recording rules are to have written; a record that is not named has no value."""
    return [
        {
            "expr": rule["record"],
            "eval_time": f"{minute}m",
            "exp_samples": [
                {
                    "labels": f'{rule["record"]}{{namespace="m",serving="{rule["labels"]["serving"]}"}}',
                    "value": values[rule["record"]],
                }
            ]
            if rule["record"] in values
            else [],
        }
        for minute, values in scenario.records.items()
        for group in spec["groups"]
        for rule in group["rules"]
        if "record" in rule
    ]


def input_series(normal: Series, scenario: Scenario) -> list[dict[str, str]]:
    states = {**normal, **scenario.differs}
    return [{"series": key, "values": values} for key, values in states.items() if values]


def cases_file(spec: Spec, normal: Series, cases: Mapping[str, Scenario]) -> Spec:
    """Every case with every alert at every minute that it names, and every record."""
    written = alerting(spec)
    tests = []
    for name, scenario in cases.items():
        tests.append(
            {
                "name": name,
                "interval": "1m",
                "input_series": input_series(normal, scenario),
                "alert_rule_test": [
                    check
                    for alert, rule in written.items()
                    for check in checks_of(alert, rule, scenario)
                ],
                "promql_expr_test": recorded(spec, scenario),
            }
        )
    return {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}


def put(folder: Path, name: str, content: object) -> Path:
    """A file of JSON, which every reader of YAML reads, and faster."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content), "utf-8")
    return path


def run(promtool: str, what: str, *files: Path) -> subprocess.CompletedProcess[str]:
    command = [promtool, what, "rules", *map(str, files)]
    # Its tests are short: collecting garbage takes longer than what it would save.
    environment = {**os.environ, "GOGC": "800"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
