"""Expressions that are seen for groups and what they miss, beside ours, over the same series.

They are those of `docs/alerts.md`, which gives the reason for each.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.signals.forms import plan_of
from tests.signals.group_scenarios import (
    a_surge_group_does_not_hide_a_broken_one,
    a_worker_is_lost_and_its_leader_stays_ready,
    no_leader_is_ready,
)
from tests.signals.rule_tests import cases_files, input_series, put, reads, rule_file, run
from tests.signals.scenario import Scenario, series, steady, then
from tests.signals.sources import tried
from tests.signals.world import World

PAGE = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text("utf-8")
SEEN = re.findall(r"```promql\n# seen\n(.*?)```", PAGE, re.DOTALL)


def configured(ready: str | None, wanted: int = 2) -> Mapping[str, str | None]:
    """The series that the expressions name, as a kube-state-metrics that was told to could make them.

    `readyReplicas` is left out of the object at zero, and then so is its series.
    """
    return {
        series("leaderworkerset_status_ready_replicas", leaderworkerset="llm", model="m"): ready,
        series("leaderworkerset_spec_replicas", leaderworkerset="llm", model="m"): steady(wanted),
    }


WORLD = World.of(plan_of())
CASES: dict[str, Scenario] = {}
for made, ready in (
    (a_worker_is_lost_and_its_leader_stays_ready(WORLD), None),
    (no_leader_is_ready(WORLD), "2+0x9 stale"),
    # The broken group is missing and the surge group is not: two of two.
    (a_surge_group_does_not_hide_a_broken_one(WORLD), steady(2)),
):
    added = configured(ready) if ready else {}
    CASES[f"{len(CASES)}"] = made._replace(differs={**made.differs, **added})


def test_the_page_quotes_two_expressions() -> None:
    assert len(SEEN) == 2


@pytest.mark.go
def test_ours_fire_where_those_that_are_seen_do_not(promtool: str, tmp_path: Path) -> None:
    spec = rule_file(plan_of())
    seen = [{"alert": f"Seen{number}", "expr": text} for number, text in enumerate(SEEN)]
    spec["groups"].append({"name": "seen", "rules": seen})
    for scenario in CASES.values():
        fires = {each.name for firing in scenario.at.values() for each in firing}
        assert fires
        assert fires.isdisjoint(rule["alert"] for rule in seen)
    files = cases_files(spec, *tried(plan_of())._replace(cases=CASES), tmp_path, all_=True)
    done = run(promtool, "test", *(each.path for each in files))
    assert done.returncode == 0, done.said


@pytest.mark.go
def test_the_first_would_fire_if_its_series_were_there(promtool: str, tmp_path: Path) -> None:
    """So the test above is none of expressions that promtool cannot read."""
    rules = {"groups": [{"name": "seen", "rules": [{"alert": "Seen", "expr": SEEN[0]}]}]}
    put(tmp_path, "rules.yaml", rules)
    half = Scenario(configured(then((2, 10), (1, 1))), {})
    checks = [
        {"eval_time": "9m", "alertname": "Seen", "exp_alerts": []},
        {"eval_time": "11m", "alertname": "Seen", "exp_alerts": [{"exp_labels": {"model": "m"}}]},
    ]
    inputs = input_series({}, half, reads(SEEN[0]))
    test = {"interval": "1m", "input_series": inputs, "alert_rule_test": checks}
    file = {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": [test]}
    done = run(promtool, "test", put(tmp_path, "test.yaml", file))
    assert done.returncode == 0, done.said
