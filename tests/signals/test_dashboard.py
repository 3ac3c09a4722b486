"""A dashboard as Grafana reads it: its types, its places, its series, and the ConfigMap around it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from grafana_foundation_sdk.models import units
from tests.signals.boards import BACKENDS, cluster_plan, panels, queries, written
from tests.signals.grafana_types import faults

from gangform.apis import metrics, queue_metrics
from gangform.apis.versions import Release
from gangform.bundle import foundation
from gangform.engines import vllm_series
from gangform.findings import InputError
from gangform.inputs.cluster import DashboardInput, Monitoring
from gangform.inputs.load import load_text
from gangform.signals import records
from gangform.signals.alerts import alerts
from gangform.signals.dashboard import uid

BOARD = DashboardInput(namespace="monitoring")
SELECTOR = re.compile(r"([a-zA-Z_][\w:]*)\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\}")
MATCHER = re.compile(r'(\w+)(?:=|!=|=~|!~)"((?:[^"\\]|\\.)*)"')
OF_OURS = re.compile(r"\b(?:kube|kueue|volcano|namespace)_\w+:?|\bvllm:\w+|\bALERTS\b")
LABELS = {
    **{name: row.labels | {"job"} for name, row in metrics.KUBE_STATE_METRICS.items()},
    **queue_metrics.KUEUE_LABELS,
    **queue_metrics.VOLCANO_LABELS,
    **dict.fromkeys(records.NAMES, frozenset({"namespace", "serving"})),
    "ALERTS": frozenset({"alertname", "alertstate", "namespace", "serving"}),
}
"""Series that may be asked for, and the labels that they have; those of the engine aside."""


@pytest.mark.parametrize("backend", BACKENDS)
def test_grafanas_types_read_it_and_lose_nothing(backend: str) -> None:
    servings = (
        {"llm": "groups"} if backend == "volcano-podgroup" else {"llm": "groups", "a": "deployment"}
    )
    assert faults(written(cluster_plan(backend, servings))) == []


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"placement": "bottom"', '"placement": "under"'),
        ('"fillOpacity": 5', '"fillOpacitee": 5'),
        ('"w": 12', '"w": "12"'),
        ('"mode": "absolute"', '"mode": "total"'),
        ('"collapsed": true', '"collapsed": "yes"'),
        ('"editorMode": "code"', '"editorMode": "raw"'),
        ('"id": "merge"', '"ident": "merge"'),
        ('"type": "custom"', '"type": "chosen"'),
    ],
)
def test_what_the_types_do_not_know_is_found(right: str, wrong: str) -> None:
    board = written(cluster_plan())
    assert right in board
    assert faults(board.replace(right, wrong))


def test_panels_have_numbers_and_places_of_their_own() -> None:
    board: dict[str, Any] = json.loads(written(cluster_plan()))
    rows = [panel for panel in board["panels"] if panel["type"] == "row"]
    assert [(row["title"], row["collapsed"]) for row in rows] == [
        ("Now", False),
        ("Groups", False),
        ("GPUs", True),
        ("Admission", True),
        ("Engine", True),
        ("Disruption", True),
    ]
    assert not any(row["panels"] for row in rows if not row["collapsed"])
    everything = [*rows, *panels(board)]
    assert len({panel["id"] for panel in everything}) == len(everything)
    for together in (board["panels"], *(row["panels"] for row in rows)):
        places = [panel["gridPos"] for panel in together]
        assert all(place["x"] + place["w"] <= 24 for place in places)
        for one, other in combinations(places, 2):
            apart = [
                one[edge] + one[size] <= other[edge] or other[edge] + other[size] <= one[edge]
                for edge, size in (("x", "w"), ("y", "h"))
            ]
            assert any(apart), (one, other)


def test_panels_say_what_they_show_in_a_unit_that_grafana_has() -> None:
    for panel in panels(json.loads(written(cluster_plan()))):
        assert panel["description"].endswith(".") and panel["title"][0].isupper()
        assert panel["fieldConfig"]["defaults"]["unit"] in vars(units).values()
        assert panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"}
        assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"]) > 0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("release", ["0.8.5", "0.10.2", "0.32.0"])
def test_only_series_that_somebody_exports_are_asked_for(backend: str, release: str) -> None:
    plan = cluster_plan(backend, {"llm": "groups"}, engine=release)
    for _, _, expr in queries(written(plan)):
        selected = SELECTOR.findall(expr)
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', expr)
        assert len(OF_OURS.findall(re.sub(r"\(namespace, ", "(", bare))) == len(selected), expr
        for name, inside in selected:
            labels = {label for label, _ in MATCHER.findall(inside)}
            if name.startswith("vllm:"):
                stem = re.sub("_(total|bucket)$", "", name.removeprefix("vllm:"))
                assert vllm_series.SERIES.has(stem, Release.parse(release)), name
                assert labels <= {"namespace", "app_kubernetes_io_name"}
            else:
                assert labels <= LABELS[name], name


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("0.8.5", {"vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds_bucket"}),
        # Its older engine knows the former name alone.
        ("0.10.1", {"vllm:gpu_cache_usage_perc", "vllm:time_per_output_token_seconds_bucket"}),
        ("0.10.2", {"vllm:gpu_cache_usage_perc", "vllm:inter_token_latency_seconds_bucket"}),
        ("0.11.0", {"vllm:kv_cache_usage_perc", "vllm:inter_token_latency_seconds_bucket"}),
    ],
)
def test_an_engines_series_are_those_of_its_release(release: str, names: set[str]) -> None:
    board = written(cluster_plan("none", {"a": "deployment"}, engine=release))
    found = set(re.findall(r"vllm:(?:\w+_cache|time_per|inter)\w+", board))
    assert found == names


def test_nothing_is_shown_of_an_engine_whose_series_nobody_read() -> None:
    board = written(cluster_plan("none", {"a": "deployment"}, engine="0.7.3"))
    assert "vllm:" not in board
    assert '"title": "Engine"' not in board


def test_the_reason_of_waiting_is_shown_where_the_release_says_it() -> None:
    def titles(kueue: str) -> list[str]:
        versions = cluster_plan().cluster.versions.model_copy(update={"kueue": kueue})
        return [
            panel["title"] for panel in panels(json.loads(written(cluster_plan(versions=versions))))
        ]

    assert "Why groups wait" not in titles("0.19")
    assert "Why groups wait" in titles("0.20")


def test_queues_of_others_are_not_taken_for_ours() -> None:
    board = written(cluster_plan(foundation="existing"))
    assert "kueue_pending_workloads{}" in board
    assert "and their quota" not in board


def test_an_alert_in_a_table_leads_to_its_runbook() -> None:
    asked = Monitoring(dashboard=BOARD, runbook_base="https://runbooks.example.com/x/")
    plan = cluster_plan(monitoring=asked)
    board = json.loads(written(plan))
    (alert, *_) = alerts(plan.servings[0])
    found = [
        override["properties"][0]["value"][0]["url"]
        .replace("${__value.text}", alert.name)
        .replace("${__data.fields.serving}", "llm")
        for panel in panels(board)
        for override in panel["fieldConfig"]["overrides"]
    ]
    assert found == [alert.runbook_url]
    assert faults(written(plan)) == []
    assert "Runbook" not in written(cluster_plan())


# ── the ConfigMap ────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("owner", ["all", "queues", "existing"])
def test_it_is_made_whoever_owns_the_queues(owner: str) -> None:
    board = DashboardInput(namespace="grafana", labels={"dash": "yes"}, folder="LLM serving")
    plan = cluster_plan(foundation=owner, monitoring=Monitoring(dashboard=board), gitops="argocd")
    (made,) = [one for one in foundation(plan).documents if one.kind == "ConfigMap"]
    assert made.builder == "manifests.dashboard.dashboards"
    assert made.manifest["metadata"] == {
        "name": "gangform-prod",
        "namespace": "grafana",
        "labels": {"app.kubernetes.io/managed-by": "gangform", "dash": "yes"},
        "annotations": {"argocd.argoproj.io/sync-wave": "0", "grafana_folder": "LLM serving"},
    }
    assert [*made.manifest["data"]] == ["gangform-prod.json"]  # type: ignore[misc]


def test_nobody_who_does_not_ask_gets_one() -> None:
    asked = cluster_plan(monitoring=Monitoring(dashboard=BOARD))
    other = cluster_plan(monitoring=Monitoring())
    kinds = [one.kind for one in foundation(asked).documents]
    assert [one.kind for one in foundation(other).documents] == [
        k for k in kinds if k != "ConfigMap"
    ]
    nothing_runs = cluster_plan(servings={}, monitoring=Monitoring(dashboard=BOARD))
    assert not [one for one in foundation(nothing_runs).documents if one.kind == "ConfigMap"]


def test_a_dashboard_without_rules_is_said() -> None:
    off = cluster_plan(monitoring=Monitoring(enabled=False, dashboard=BOARD))
    on = cluster_plan(monitoring=Monitoring(dashboard=BOARD))
    assert "dashboard-without-rules" in [finding.code.id for finding in off.findings]
    assert "dashboard-without-rules" not in [finding.code.id for finding in on.findings]


def test_what_comes_with_alerts_is_not_dropped_in_silence() -> None:
    wishes: dict[str, Any] = {
        "runbook_base": "https://r.example.com",
        "state_metrics": "configured",
    }
    off = cluster_plan(monitoring=Monitoring(enabled=False, **wishes))
    assert [
        (one.at.path[-1], "nothing is written for it" in one.what)
        for one in off.findings
        if one.code.id == "monitoring-is-off"
    ] == [("runbookBase", True), ("stateMetrics", True)]
    for quiet in (Monitoring(**wishes), Monitoring(enabled=False)):
        found = cluster_plan(monitoring=quiet).findings
        assert "monitoring-is-off" not in [one.code.id for one in found]


def test_it_depends_on_the_inputs_and_on_nothing_else() -> None:
    forward = cluster_plan(servings={"llm": "groups", "a": "deployment"})
    backward = cluster_plan(servings={"a": "deployment", "llm": "groups"})
    assert written(forward) == written(backward)


def test_a_hundred_servings_fit_into_a_config_map() -> None:
    names = {
        f"serving-with-a-long-name-{i:03}": ("groups", "deployment")[i % 2] for i in range(100)
    }
    assert len(written(cluster_plan(servings=names))) < 1024 * 1024 // 8


def test_a_uid_is_short_and_its_own() -> None:
    assert uid("prod") == "gangform-prod"
    names = [f"{'a-long-name-of-a-cluster-' * 2}{end}" for end in ("a", "b")]
    assert len({*map(uid, names)}) == 2
    assert all(len(uid(name)) <= 40 and not uid(name).startswith("-") for name in names)


def test_nothing_of_it_is_loaded_where_none_is_asked_for() -> None:
    code = """import sys
import gangform.synth
words = "panels", "grafana", "signals.dashboard", "signals.chosen"
print(sorted(name for name in sys.modules if any(word in name for word in words)))"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("field", "code"),
    [
        ("{}", "field-missing"),
        ("{namespace: Monitoring}", "name-invalid"),
        ('{namespace: monitoring, folder: ""}', "text-not-one-line"),
        ('{namespace: monitoring, labels: {"a b": c}}', "name-invalid"),
        ("{namespace: monitoring, labels: {}}", "value-empty"),
        ("{namespace: monitoring, nameSpace: x}", "key-unknown"),
    ],
)
def test_what_is_asked_for_is_read_strictly(field: str, code: str) -> None:
    text = (Path(__file__).parents[2] / "gangform.yaml").read_text("utf-8")
    line = re.search(r"^      dashboard: .*$", text, re.M)
    assert line is not None
    load_text(text)
    with pytest.raises(InputError) as raised:
        load_text(text.replace(line[0], f"      dashboard: {field}"))
    assert [finding.code.id for finding in raised.value.findings] == [code]
