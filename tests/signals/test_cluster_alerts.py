"""The alerts of a cluster: on its queues, once for each, and on the configuration that other alerts stand on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.signals.forms import FORMS, HARDWARE, MODEL, NOBODY, RUNBOOKS
from tests.signals.queue_scenarios import (
    KUEUE,
    KUEUE_SCENARIOS,
    SHOWN,
    SHOWN_SCENARIOS,
    VOLCANO,
    VOLCANO_SCENARIOS,
)
from tests.signals.rule_tests import PLACEHOLDER, Spec, alerting, cases_file, put, run
from tests.signals.scenario import Scenario, Series

from gangform.bundle import foundation
from gangform.inputs.cluster import Cluster, Installed, Library, Monitoring, Pool
from gangform.inputs.serving import Engine, Serving
from gangform.manifests.monitoring import cluster_rules
from gangform.plan.cluster import ClusterPlan, plan_cluster
from gangform.plan.serving import plan_serving
from gangform.signals.alerts import NAMES
from gangform.units import Seconds

UNDER_KUEUE, UNDER_VOLCANO = FORMS["shown, under kueue"], FORMS["shown, under volcano"]
LIBRARY = Library(models={"small": MODEL}, hardware={"eight": HARDWARE})


def cluster_plan(
    *servings: dict[str, Any], kueue: str = "0.20", foundation: Any = "all", **monitoring: Any
) -> ClusterPlan:
    """The plan of a cluster with these servings; `monitoring` is the cluster's."""
    cluster = Cluster(
        name="prod",
        versions=Installed(kubernetes="1.36", lws="0.10", kueue=kueue, volcano="1.15"),
        foundation=foundation,
        pools={"gpu": Pool(hardware="eight")},
        monitoring=Monitoring(**{"runbook_base": RUNBOOKS, **monitoring}),
    )
    plans = []
    for one in servings or (UNDER_KUEUE,):
        given: dict[str, Any] = {
            "name": "llm",
            "namespace": "m",
            "model": "small",
            "pool": "gpu",
            "engine": Engine(version="0.32.0"),
            "context": 8192,
            "admission": NOBODY,
            "cold_start": Seconds(600),
            **{key: value for key, value in one.items() if key != "state_metrics"},
        }
        plans.append(plan_serving(Serving(**given), cluster=cluster, library=LIBRARY))
    return plan_cluster(cluster, plans)


def specs(plan: ClusterPlan) -> dict[str, Spec]:
    """The spec of each object of rules by its name, as the operator hands it to Prometheus."""
    found: dict[str, Spec] = {}
    for manifest in cluster_rules(plan):
        loaded = yaml.safe_load(yaml.safe_dump(manifest))
        found[f"{loaded['metadata']['namespace']}/{loaded['metadata']['name']}"] = loaded["spec"]
    return found


def names(plan: ClusterPlan) -> dict[str, list[str]]:
    return {name: [*alerting(spec)] for name, spec in specs(plan).items()}


OF_KUEUE = ["QueuePending", "QueueAdmissionSlow", "QueueGroupsEvicted", "QueueAbsent"]


@pytest.mark.parametrize(("kueue", "said"), [("0.17", False), ("0.19", False), ("0.20", True)])
def test_reasons_are_told_where_the_release_has_them(kueue: str, said: bool) -> None:
    """The gate of the metric is off in 0.19, whatever texts say: an alert on it would be silent for ever."""
    (found,) = names(cluster_plan(kueue=kueue)).values()
    extra = ["QueueUnadmittedByReason"] if said else []
    assert found == [OF_KUEUE[0], *extra, *OF_KUEUE[1:]]


def test_a_queue_is_told_of_once() -> None:
    plan = cluster_plan(
        UNDER_KUEUE,
        {**UNDER_KUEUE, "name": "second", "namespace": "a", "pending_alert_after": Seconds(7200)},
        {**UNDER_KUEUE, "name": "third", "admission": {"backend": "kueue", "queue": "other"}},
    )
    found = specs(plan)
    assert [*found] == ["m/kueue.other", "a/kueue.serving"]
    rule = alerting(found["a/kueue.serving"])["QueuePending"]
    # A queue does not tell whose groups wait: the most patient of its servings counts.
    assert rule["for"] == "2h"
    assert "llm, second" in rule["annotations"]["description"]
    assert rule["annotations"]["runbook_url"] == f"{RUNBOOKS}kueue.serving/QueuePending.md"
    assert alerting(found["m/kueue.other"])["QueuePending"]["for"] == "30m"


def test_of_many_servings_only_the_first_are_named() -> None:
    """A line of a hundred names is read by nobody, and a new serving would change it in every alert."""
    many = [{**UNDER_KUEUE, "name": f"s{number}"} for number in range(9)]
    (spec,) = specs(cluster_plan(*many)).values()
    said = [rule["annotations"]["description"] for rule in alerting(spec).values()]
    assert all("(s0, s1, s2, s3, s4, s5 and 3 more)" in text for text in said)


@pytest.mark.parametrize(
    ("foundation", "expected"),
    [("all", ["m/kueue.serving"]), ("queues", ["m/kueue.serving"]), ("existing", [])],
)
def test_queues_of_others_are_others_to_watch(foundation: str, expected: list[str]) -> None:
    plan = cluster_plan(foundation=foundation)
    assert [*specs(plan)] == expected
    remarks = plan.servings[0].remarks
    assert any("others', and so are alerts" in each for each in remarks) == (not expected)


def test_nothing_is_written_where_monitoring_is_off_or_nobody_admits() -> None:
    assert not specs(cluster_plan(enabled=False, state_metrics="configured"))
    assert not specs(cluster_plan(FORMS["groups"]))


def test_rules_of_a_cluster_carry_the_labels_that_it_selects_by() -> None:
    documents = foundation(cluster_plan(labels={"release": "stack"})).documents
    (rules,) = (one for one in documents if one.kind == "PrometheusRule")
    metadata = rules.manifest["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["labels"] == {"app.kubernetes.io/managed-by": "gangform", "release": "stack"}


@pytest.mark.parametrize("foundation", ["all", "existing"])
def test_a_configured_exporter_is_watched_whoever_owns_the_queues(foundation: str) -> None:
    found = names(cluster_plan(foundation=foundation, state_metrics="configured"))
    assert found["m/kube-state-metrics.objects"] == ["StateMetricsMissing"]
    assert "m/kube-state-metrics.objects" not in names(cluster_plan(foundation=foundation))


def test_only_kinds_that_an_alert_reads_have_to_be_shown() -> None:
    def asked(*servings: dict[str, Any]) -> str:
        (spec,) = (
            spec
            for name, spec in specs(cluster_plan(*servings, state_metrics="configured")).items()
            if name.endswith("objects")
        )
        expr = alerting(spec)["StateMetricsMissing"]["expr"]
        assert isinstance(expr, str)
        return expr

    assert 'customresource_kind="Workload"' in asked(UNDER_KUEUE)
    assert "PodGroup" not in asked(UNDER_KUEUE)
    assert 'customresource_kind="PodGroup"' in asked(UNDER_VOLCANO)
    plain = asked(FORMS["groups"])
    assert "Workload" not in plain.replace("LeaderWorkerSet", "")
    single = cluster_plan(FORMS["deployment"], state_metrics="configured")
    assert not specs(single)


def test_what_is_not_told_is_said() -> None:
    def remarks(**asked: Any) -> str:
        return " ".join(cluster_plan(**asked).servings[0].remarks)

    assert "Kueue 0.17 has no metric that says why a group waits" in remarks(kueue="0.17")
    assert "unless its gate UnadmittedWorkloadsObservability is on" in remarks(kueue="0.19")
    assert "says why" not in remarks(kueue="0.20")
    assert "which group of which serving" in remarks()
    assert "which group of which serving" not in remarks(state_metrics="configured")
    assert "metric" not in remarks(enabled=False)
    gangs = " ".join(cluster_plan(UNDER_VOLCANO).servings[0].remarks)
    assert "Volcano has no metric that says why a group waits" in gangs


def test_what_has_to_be_set_for_it_is_said_with_its_check() -> None:
    def needed(**asked: Any) -> list[str]:
        return [need.what for need in cluster_plan(**asked).prerequisites]

    (one,) = (what for what in needed(state_metrics="configured") if "kube-state-metrics" in what)
    assert "out/prod/kube-state-metrics.yaml" in one
    assert "LeaderWorkerSets, Workloads, PodGroups" in one
    assert not any("kube-state-metrics" in what for what in needed())
    assert "Prometheus collects the metrics of Kueue's controller" in needed()
    assert "Prometheus collects the metrics of Kueue's controller" not in needed(enabled=False)
    assert "Prometheus collects the metrics of Kueue's controller" not in needed(
        foundation="existing"
    )
    gangs = [need.what for need in cluster_plan(UNDER_VOLCANO).prerequisites]
    assert any("controller manager runs with --enable-metrics" in what for what in gangs)


def test_annotations_are_sentences() -> None:
    plans = [cluster_plan(state_metrics="configured"), cluster_plan(UNDER_VOLCANO)]
    for rule in (
        rule for plan in plans for spec in specs(plan).values() for rule in alerting(spec).values()
    ):
        assert rule["alert"] in NAMES
        summary, description = (rule["annotations"][key] for key in ("summary", "description"))
        assert "{{" not in summary + rule["expr"] + PLACEHOLDER.sub("", description)
        for text in (summary, description):
            assert text.endswith(".")
            assert "  " not in text


# ── in Prometheus ────────────────────────────────────────────────────────────────────────────────

CASES: dict[str, tuple[ClusterPlan, str, Series, dict[str, Scenario]]] = {
    "kueue": (cluster_plan(), "m/kueue.serving", KUEUE, KUEUE_SCENARIOS),
    "volcano": (cluster_plan(UNDER_VOLCANO), "m/volcano.serving", VOLCANO, VOLCANO_SCENARIOS),
    "shown": (
        cluster_plan(state_metrics="configured"),
        "m/kube-state-metrics.objects",
        SHOWN,
        SHOWN_SCENARIOS,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_every_alert_of_a_cluster_fires_in_a_scenario(case: str) -> None:
    plan, name, _, scenarios = CASES[case]
    fired = {
        fires.name
        for scenario in scenarios.values()
        for firing in scenario.at.values()
        for fires in firing
    }
    assert fired == {*alerting(specs(plan)[name])}


@pytest.mark.go
@pytest.mark.parametrize("case", CASES)
def test_alerts_of_a_cluster_fire_when_they_should_and_only_then(
    case: str, promtool: str, tmp_path: Path
) -> None:
    plan, name, normal, scenarios = CASES[case]
    spec = specs(plan)[name]
    rules = put(tmp_path, "rules.yaml", spec)
    done = run(promtool, "check", rules)
    assert done.returncode == 0, done.stdout + done.stderr
    tests = put(tmp_path, "test.yaml", cases_file(spec, normal, scenarios))
    done = run(promtool, "test", tests)
    assert done.returncode == 0, done.stdout + done.stderr
    # And a rule that never fires is noticed, whichever it is.
    for rule in alerting(spec).values():
        kept, rule["expr"] = rule["expr"], "vector(0) > 1"
        put(tmp_path, "rules.yaml", spec)
        assert run(promtool, "test", tests).returncode != 0, rule["alert"]
        rule["expr"] = kept
