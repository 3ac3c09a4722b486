"""Scenarios as promtool's test files, and promtool run on many of them at once."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from tests.signals.scenario import Fires, Scenario, Series

from gangform.manifests.monitoring import rules
from gangform.plan.serving import ServingPlan

Spec = dict[str, Any]

_WORD = re.compile(r"[a-zA-Z_][\w:]*")
PLACEHOLDER = re.compile(r'\{\{ \$(value|labels\.(\w+))((?: \| \w+(?: "%\.0f")?)*) \}\}')


class Done(NamedTuple):
    """What promtool found."""

    returncode: int
    said: str


class Case(NamedTuple):
    """A scenario as a file."""

    path: Path
    assertions: int


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


def records_of(name: str, rule: Mapping[str, Any], scenario: Scenario) -> list[dict[str, Any]]:
    """What a recording rule under some name is to have written; a record that is not named has no value.

    What a scenario has of other servings stands there too, under the record's own name.
    """
    serving, record = rule["labels"]["serving"], rule["record"]
    labels = f'{name}{{namespace="m",serving="{serving}"}}'
    others = [
        {"labels": key, "value": float(values.partition("+")[0])}
        for key, values in scenario.differs.items()
        if values is not None and key.startswith(f"{name}{{")
    ]
    return [
        {
            "expr": name,
            "eval_time": f"{minute}m",
            "exp_samples": [
                *([{"labels": labels, "value": values[record]}] if record in values else []),
                *others,
            ],
        }
        for minute, values in scenario.records.items()
    ]


def recording(spec: Spec) -> dict[str, dict[str, Any]]:
    """The recording rules by name."""
    return {
        rule["record"]: rule
        for group in spec["groups"]
        for rule in group["rules"]
        if "record" in rule
    }


def reads(expr: str) -> set[str]:
    """Every word of an expression: those that are called like a series name one that it reads."""
    return {*_WORD.findall(expr)}


def input_series(normal: Series, scenario: Scenario, read: set[str]) -> list[dict[str, str]]:
    """The state of a scenario, as far as somebody reads it."""
    states = {**normal, **scenario.differs}
    return [
        {"series": key, "values": values}
        for key, values in states.items()
        if values and metric(key) in read
    ]


def metric(series: str) -> str:
    return series.partition("{")[0]


def touches(rule: Mapping[str, Any], scenario: Scenario) -> bool:
    """Whether anything that the rule reads differs from the normal state, in which nothing fires."""
    return not reads(rule["expr"]).isdisjoint(map(metric, scenario.differs))


def touched(spec: Spec, scenario: Scenario, *, all_: bool) -> Spec:
    """The rules that a scenario is about, or `all_`; records where it says what is recorded.

    What reads nothing that differs finds what it finds in the normal state, where every alert is silent: that a
    scenario expects no such alert is checked here.
    """
    groups = []
    for group in spec["groups"]:
        kept = []
        for rule in group["rules"]:
            if "record" in rule:
                told = bool(scenario.records)
            else:
                told = all_ or touches(rule, scenario)
                assert told or rule["alert"] not in {
                    fires.name for firing in scenario.at.values() for fires in firing
                }
            if told:
                kept.append(rule)
        if kept:
            groups.append({**group, "rules": kept})
    return {"groups": groups}


def cases_files(
    spec: Spec,
    normal: Series,
    cases: Mapping[str, Scenario],
    folder: Path,
    *,
    all_: bool = False,
) -> Iterator[Case]:
    """Every case with the alerts that it is about, or `all_`, at every minute that it names; and every record.

    The first case in which nothing differs has all of them.
    """
    first = next((name for name, scenario in cases.items() if not scenario.differs), None)
    assert all_ or first is not None, "no scenario is the normal state"
    for number, (name, scenario) in enumerate(cases.items()):
        rules = touched(spec, scenario, all_=all_ or name == first)
        if not rules["groups"]:
            continue
        put(folder, f"rules{number}.yaml", rules)
        read = {
            each
            for group in rules["groups"]
            for rule in group["rules"]
            for each in reads(rule["expr"])
        }
        alerts = [
            check
            for alert, rule in alerting(rules).items()
            for check in checks_of(alert, rule, scenario)
        ]
        records = [
            check
            for record, rule in recording(rules).items()
            for check in records_of(record, rule, scenario)
        ]
        test = {
            "name": name,
            "interval": "1m",
            "input_series": input_series(normal, scenario, read),
            "alert_rule_test": alerts,
            "promql_expr_test": records,
        }
        file = {
            "rule_files": [f"rules{number}.yaml"],
            "evaluation_interval": "1m",
            "tests": [test],
        }
        yield Case(put(folder, f"test{number}.yaml", file), len(alerts) + len(records))


def put(folder: Path, name: str, content: object) -> Path:
    """A file of JSON, which every reader of YAML reads, and faster."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps(content), "utf-8")
    return path


def run(promtool: str, what: str, *files: Path) -> Done:
    """What promtool says of the files: two of it share them, since one of it uses one processor."""
    with ThreadPoolExecutor() as pool:
        done = [
            *pool.map(
                lambda part: _run(promtool, what, part), filter(None, (files[::2], files[1::2]))
            )
        ]
    return Done(
        max(each.returncode for each in done),
        "\n".join(f"{each.stdout}{each.stderr}" for each in done),
    )


def _run(promtool: str, what: str, files: Sequence[Path]) -> subprocess.CompletedProcess[str]:
    command = [promtool, what, "rules", *map(str, files)]
    # Its tests are short: collecting garbage takes longer than what it would save.
    environment = {**os.environ, "GOGC": "800"}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
