"""What each query of a dashboard returns, in a real Prometheus' engine, from the series that exporters write.

Groups and GPUs come from the recording rules of the servings, which are evaluated too; alerts are given as Prometheus
itself writes them. Every query of every panel returns something while nothing is wrong, but for those on alerts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.signals import boards
from tests.signals.boards import Asked, cluster_plan, exported, queries, written
from tests.signals.rule_tests import put, rule_file, run
from tests.signals.scenario import Series, created, phase, revision, set_ready, steady, updated

from gangform.plan.cluster import ClusterPlan

pytestmark = pytest.mark.go

Values = Mapping[str, float]
"""Labels as promtool writes them → value."""
Shown = Mapping[tuple[str, str], Values]
"""By panel and legend."""


def two(llm: float, solo: float | None = None, key: str = "serving", **also: str) -> Values:
    """A value of each serving."""
    rest = "".join(f', {name}="{value}"' for name, value in also.items())
    first = 'namespace="m", ' if key != "app_kubernetes_io_name" else ""
    found = {"llm": llm} if solo is None else {"llm": llm, "solo": solo}
    return {f'{{{first}{key}="{name}"{rest}}}': value for name, value in found.items()}


def named(record: str, llm: float, solo: float) -> Values:
    """A record as it is: with its name."""
    return {
        f'{record}{{namespace="m", serving="{name}"}}': value
        for name, value in (("llm", llm), ("solo", solo))
    }


def one(value: float) -> Values:
    return {"{}": value}


def leaders(value: float) -> Values:
    pods = ("llm-0", "llm-1", "solo-5f-a", "solo-5f-b")
    return {f'{{namespace="m", pod="{pod}"}}': value for pod in pods}


ENGINE = "{{app_kubernetes_io_name}}"
QUEUE = "{{cluster_queue}}"
QUANTILES: Shown = {
    (panel, f"{ENGINE} {share} %"): two(value, value, "app_kubernetes_io_name")
    for panel in ("Time to first token", "Time between tokens")
    for share, value in (("50", 1.5), ("95", 1.95), ("99", 1.99))
}
NORMAL: Shown = {
    ("Groups ready", "__auto"): one(4),
    ("Groups wanted", "__auto"): one(4),
    ("Servings without a group", "__auto"): one(0),
    ("Servings with too few groups", "__auto"): one(0),
    ("GPUs that serve", "__auto"): one(64),
    ("Alerts firing", "__auto"): one(0),
    ("Ready over wanted", "{{serving}}"): named("namespace_serving:groups_ready:ratio", 1, 1),
    ("Alerts by serving", "firing"): {},
    ("Groups", "{{serving}} ready"): named("namespace_serving:groups_ready:sum", 2, 2),
    ("Groups", "{{serving}} wanted"): named("namespace_serving:groups_desired:sum", 2, 2),
    ("Rollouts", "Revisions"): two(1, 1, "workload"),
    ("Rollouts", "Updated"): two(2, 2, "workload"),
    ("Rollouts", "Wanted"): two(2, 2, "workload"),
    ("Pending", "{{serving}} groups"): two(0),
    ("Pending", "{{serving}} pods"): two(0),
    ("Groups built anew within an hour", "{{serving}}"): two(0),
    ("GPUs that serve, by model", "small"): one(64),
    ("GPUs wanted, by model", "small"): one(64),
    ("GPUs of pool gpu, and their quota", "serve"): one(64),
    ("GPUs of pool gpu, and their quota", "wanted"): one(64),
    ("GPUs of pool gpu, and their quota", "quota"): one(64),
    ("Groups that wait, by queue", f"{QUEUE} {{{{status}}}}"): {
        '{cluster_queue="serving", status="active"}': 3,
        '{cluster_queue="serving", status="inadmissible"}': 1,
    },
    ("Groups admitted, by queue", QUEUE): {'{cluster_queue="serving"}': 4},
    ("Time to admission", f"{QUEUE} 95 %"): {'{cluster_queue="serving"}': 9.5},
    ("Groups evicted", f"{QUEUE} {{{{reason}}}}"): {
        '{cluster_queue="serving", reason="Preempted"}': 1
    },
    ("Alerts by queue", "firing"): {},
    **QUANTILES,
    ("Requests waiting, by leader", "{{pod}}"): leaders(1),
    ("Requests running, by leader", "{{pod}}"): leaders(2),
    ("KV cache in use, by leader", "{{pod}}"): leaders(0.25),
    ("Preemptions", ENGINE): two(1, 1, "app_kubernetes_io_name"),
    ("Tokens", f"{ENGINE} prompt"): two(200, 200, "app_kubernetes_io_name"),
    ("Tokens", f"{ENGINE} generated"): two(20, 20, "app_kubernetes_io_name"),
    ("Requests finished, by reason", f"{ENGINE} {{{{finished_reason}}}}"): two(
        2, 2, "app_kubernetes_io_name", finished_reason="stop"
    ),
    ("Evictions allowed", "{{poddisruptionbudget}}"): two(1, 1, "poddisruptionbudget"),
    ("Budgets", "Healthy"): two(6, 2, "poddisruptionbudget"),
    ("Budgets", "Have to be"): two(5, 1, "poddisruptionbudget"),
    ("Budgets", "Counted"): two(6, 2, "poddisruptionbudget"),
    ("Budgets", "May go"): two(1, 1, "poddisruptionbudget"),
}


class State(NamedTuple):
    """What is different, and which queries return something else for it."""

    differs: Mapping[str, str | None]
    shows: Shown


def alert(name: str, **labels: str) -> str:
    inside = {"alertname": name, "alertstate": "firing", "severity": "warning", **labels}
    matchers = ",".join(f'{key}="{value}"' for key, value in inside.items())
    return f"ALERTS{{{matchers}}}"


STATES = {
    "nothing is wrong": State({}, {}),
    "a worker is lost and its pod waits": State(
        {set_ready("llm-0"): steady(1), phase("llm-0-2"): steady(1)},
        {
            ("Groups ready", "__auto"): one(3),
            ("Servings with too few groups", "__auto"): one(1),
            ("GPUs that serve", "__auto"): one(40),
            ("Ready over wanted", "{{serving}}"): named(
                "namespace_serving:groups_ready:ratio", 0.5, 1
            ),
            ("Groups", "{{serving}} ready"): named("namespace_serving:groups_ready:sum", 1, 2),
            ("Pending", "{{serving}} groups"): two(1),
            ("Pending", "{{serving}} pods"): two(1),
            ("GPUs that serve, by model", "small"): one(40),
            ("GPUs of pool gpu, and their quota", "serve"): one(40),
        },
    ),
    "a whole group waits": State(
        {phase(pod): steady(1) for pod in ("llm-1", "llm-1-1", "llm-1-2")},
        {
            ("Pending", "{{serving}} groups"): two(1),
            ("Pending", "{{serving}} pods"): two(3),
        },
    ),
    "an update is half way": State(
        {revision("update", "llm", "b"): steady(1), revision("update", "llm", "a"): None}
        | {updated("llm"): steady(1)},
        {
            ("Rollouts", "Revisions"): two(2, 1, "workload"),
            ("Rollouts", "Updated"): two(1, 2, "workload"),
        },
    ),
    "a group was built anew twice": State(
        {created("llm-0", uid): steady(1) for uid in ("2", "3")},
        {("Groups built anew within an hour", "{{serving}}"): two(2)},
    ),
    "nothing serves": State(
        {set_ready(group): steady(0) for group in ("llm-0", "llm-1")},
        {
            ("Groups ready", "__auto"): one(2),
            ("Servings without a group", "__auto"): one(1),
            ("Servings with too few groups", "__auto"): one(1),
            ("GPUs that serve", "__auto"): one(16),
            ("Ready over wanted", "{{serving}}"): named(
                "namespace_serving:groups_ready:ratio", 0, 1
            ),
            ("Groups", "{{serving}} ready"): named("namespace_serving:groups_ready:sum", 0, 2),
            ("GPUs that serve, by model", "small"): one(16),
            ("GPUs of pool gpu, and their quota", "serve"): one(16),
        },
    ),
    "alerts fire": State(
        {
            alert("ServingGroupsNotReady", namespace="m", serving="llm"): steady(1),
            alert("ServingGroupsNotReady", namespace="m", serving="llm-x"): steady(1),
            alert("ServingGroupsNotReady", namespace="other", serving="llm"): steady(1),
            alert("QueuePending", cluster_queue="serving"): steady(1),
        },
        {
            ("Alerts firing", "__auto"): one(1),
            ("Alerts by serving", "firing"): {
                '{alertname="ServingGroupsNotReady", serving="llm", severity="warning"}': 1
            },
            ("Alerts by queue", "firing"): {
                '{alertname="QueuePending", cluster_queue="serving", severity="warning"}': 1
            },
        },
    ),
}


def evaluated(
    promtool: str,
    folder: Path,
    plan: ClusterPlan,
    states: Series,
    asked: list[Asked],
    shown: Shown,
) -> str:
    """What promtool says against the values; empty where they are returned."""
    files = []
    for serving in plan.servings:
        spec = rule_file(serving)
        groups = [group for group in spec["groups"] if group["name"].endswith(".records")]
        files.append(put(folder, f"{serving.name}.yaml", {"groups": groups}).name)
    tests: list[dict[str, Any]] = [
        {
            "expr": each.expr,
            "eval_time": "60m",
            "exp_samples": [
                {"labels": labels, "value": value}
                for labels, value in shown[each.panel, each.legend].items()
            ],
        }
        for each in asked
    ]
    inputs = [{"series": name, "values": values} for name, values in states.items() if values]
    case = {"interval": "1m", "input_series": inputs, "promql_expr_test": tests}
    content = {"rule_files": files, "evaluation_interval": "1m", "tests": [case]}
    done = run(promtool, "test", put(folder, "test.yaml", content))
    return "" if done.returncode == 0 else done.said


@pytest.mark.parametrize("state", STATES)
def test_queries_return_what_is_so(state: str, promtool: str, tmp_path: Path) -> None:
    plan = cluster_plan()
    asked = queries(written(plan))
    assert {(each.panel, each.legend) for each in asked} == {*NORMAL}
    series: Series = {**exported(plan), **STATES[state].differs}  # type: ignore[dict-item]
    shown = {**NORMAL, **STATES[state].shows}
    assert evaluated(promtool, tmp_path, plan, series, asked, shown) == ""


def test_only_what_is_chosen_is_returned(promtool: str, tmp_path: Path) -> None:
    plan = cluster_plan()
    of_none = {"Alerts by queue", "GPUs of pool gpu, and their quota"}
    kept: dict[tuple[str, str], Values] = {
        key: {labels: value for labels, value in values.items() if "solo" not in labels}
        for key, values in NORMAL.items()
    }
    kept |= {
        ("Groups ready", "__auto"): one(2),
        ("Groups wanted", "__auto"): one(2),
        ("GPUs that serve", "__auto"): one(48),
        ("GPUs that serve, by model", "small"): one(48),
        ("GPUs wanted, by model", "small"): one(48),
    }
    asked = [each for each in queries(written(plan), serving=["llm"]) if each.panel not in of_none]
    assert evaluated(promtool, tmp_path, plan, exported(plan), asked, kept) == ""


def test_another_namespace_has_nothing(promtool: str, tmp_path: Path) -> None:
    plan = cluster_plan()
    of_servings = [
        each
        for each in queries(written(plan), namespace=["other"])
        if "namespace=~" in each.expr and "vector(0)" not in each.expr
    ]
    assert len(of_servings) > 25
    nothing: Shown = {(each.panel, each.legend): {} for each in of_servings}
    assert evaluated(promtool, tmp_path, plan, exported(plan), of_servings, nothing) == ""


@pytest.mark.parametrize("backend", ["volcano", "volcano-podgroup", "none"])
def test_other_backends_have_panels_of_their_own(
    backend: str, promtool: str, tmp_path: Path
) -> None:
    apart = backend == "volcano-podgroup"
    plan = cluster_plan(backend, {"llm": "groups"} if apart else boards.SERVINGS)
    asked = [
        each
        for each in queries(written(plan))
        if each.panel.startswith(("PodGroups", "Rollouts", "Pending", "Groups built"))
    ]
    assert any(each.panel.startswith("PodGroups") for each in asked) == (backend != "none")
    shown: dict[tuple[str, str], Values] = dict(NORMAL)
    for said, value in (("Pending", 4), ("Inqueue", 1), ("Running", 2), ("Unknown", 3)):
        key = "PodGroups, by queue and state", f"{{{{queue_name}}}} {said}"
        shown[key] = {'{queue_name="serving"}': value}
    if apart:
        # Two sets of one group each, in the panels of one serving.
        for column, value in (("Revisions", 1), ("Updated", 1), ("Wanted", 1)):
            shown["Rollouts", column] = {
                f'{{namespace="m", workload="llm-{index}"}}': value for index in (0, 1)
            }
    assert evaluated(promtool, tmp_path, plan, exported(plan), asked, shown) == ""


def test_a_query_that_returns_nothing_is_noticed(promtool: str, tmp_path: Path) -> None:
    """Each is put out in turn; some state has to miss what it returned."""
    plan = cluster_plan()
    asked = queries(written(plan))
    # Nothing comes of any of them, and each can be told from the others in what promtool says.
    put_out = [each._replace(expr=f"vector(0) > {at}") for at, each in enumerate(asked, 1)]
    noticed: set[int] = set()
    for name, state in STATES.items():
        series: Series = {**exported(plan), **state.differs}  # type: ignore[dict-item]
        shown = {**NORMAL, **state.shows}
        said = evaluated(promtool, tmp_path / name, plan, series, put_out, shown)
        noticed |= {int(at) for at in re.findall(r'expr: "vector\(0\) > (\d+)"', said)}
    assert [asked[at - 1] for at in {*range(1, len(asked) + 1)} - noticed] == []
