"""The configuration of kube-state-metrics: only declared kinds, and the very series that alerts read."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from tests.signals.forms import FORMS
from tests.signals.scenario import MakePlan
from tests.signals.test_cluster_alerts import UNDER_KUEUE, UNDER_VOLCANO, cluster_plan, specs

from gangform.apis import queue_metrics, state_metrics
from gangform.apis.metrics import CONFIGURED, standing
from gangform.apis.versions import Versions
from gangform.inputs.cluster import Installed
from gangform.inputs.defaults import AlertDefaults
from gangform.plan.cluster import ClusterPlan
from gangform.signals.alerts import alerts
from gangform.signals.state_metrics import files

SERIES = re.compile(r"\b(?:leaderworkerset|kueue_workload|volcano_podgroup)_\w+(?=\{)")


def configured(plan: ClusterPlan) -> dict[str, Any]:
    """The values of the chart."""
    ((path, text),) = files(plan)
    assert path == "kube-state-metrics.yaml"
    loaded: dict[str, Any] = yaml.safe_load(text)
    return loaded


def resources(plan: ClusterPlan) -> list[dict[str, Any]]:
    config = configured(plan)["customResourceState"]["config"]
    assert config["kind"] == "CustomResourceStateMetrics"
    found: list[dict[str, Any]] = config["spec"]["resources"]
    return found


def test_a_stock_exporter_gets_no_file() -> None:
    assert not list(files(cluster_plan()))
    assert not list(files(cluster_plan(state_metrics="configured", enabled=False)))


def test_labels_of_nodes_that_alerts_read_are_asked_for() -> None:
    plan = cluster_plan(state_metrics="configured", node_labels=("a.com/rack", "b.com/row"))
    assert configured(plan)["metricLabelsAllowlist"] == ["nodes=[a.com/rack,b.com/row]"]
    assert "metricLabelsAllowlist" not in configured(cluster_plan(state_metrics="configured"))


@pytest.mark.parametrize(
    ("versions", "kinds"),
    [
        ({"lws": "0.10"}, ["v1 LeaderWorkerSet"]),
        ({"lws": "0.10", "kueue": "0.14"}, ["v1 LeaderWorkerSet", "v1beta1 Workload"]),
        ({"lws": "0.10", "kueue": "0.19"}, ["v1 LeaderWorkerSet", "v1beta2 Workload"]),
        ({"lws": "0.10", "volcano": "1.15"}, ["v1 LeaderWorkerSet", "v1beta1 PodGroup"]),
        ({}, []),
    ],
)
def test_only_kinds_of_what_is_installed_are_watched(
    versions: dict[str, str], kinds: list[str]
) -> None:
    """A kind in two versions would be counted twice, and one without a CRD is waited for."""
    installed = Installed(kubernetes="1.36", **versions).releases
    found = [
        f"{kind.api_version.partition('/')[2]} {kind.kind}"
        for kind in state_metrics.declared(installed)
    ]
    assert found == kinds


def test_a_field_that_the_controller_does_not_fill_is_not_read(make_plan: MakePlan) -> None:
    """On an older one a comparison with it would fire for ever: nothing seen counts as generation 0."""
    old = Installed(kubernetes="1.36", lws="0.8").releases
    (sets,) = state_metrics.declared(old)
    assert "status_observed_generation" not in {metric.name for metric in sets.metrics}


def test_the_exporter_may_list_what_it_watches() -> None:
    values = configured(cluster_plan(state_metrics="configured"))
    allowed = {
        (group, resource)
        for rule in values["rbac"]["extraRules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        if rule["verbs"] == ["list", "watch"]
    }
    assert allowed == {
        ("apiextensions.k8s.io", "customresourcedefinitions"),
        ("leaderworkerset.x-k8s.io", "leaderworkersets"),
        ("kueue.x-k8s.io", "workloads"),
        ("scheduling.volcano.sh", "podgroups"),
    }
    assert values["customResourceState"]["enabled"] is True


def test_counters_that_the_api_leaves_out_at_zero_are_zero() -> None:
    """The series would be gone exactly when nothing is ready."""
    counters = {
        metric["name"]: metric["each"]["gauge"].get("nilIsZero", False)
        for resource in resources(cluster_plan(state_metrics="configured"))
        if resource["groupVersionKind"]["kind"] == "LeaderWorkerSet"
        for metric in resource["metrics"]
        if metric["name"].startswith("status_") and "condition" not in metric["name"]
    }
    assert len(counters) == 4
    assert all(counters.values())


def test_paths_lead_to_values() -> None:
    """The exporter takes a map apart by its keys; of lists it reads one value each."""
    for resource in resources(cluster_plan(state_metrics="configured")):
        for metric in resource["metrics"]:
            each = metric["each"]
            kind = each["type"]
            body = each[{"Gauge": "gauge", "StateSet": "stateSet"}[kind]]
            assert body["path"][-1] not in ("status", "spec", "metadata")
            assert (body["path"][-1] == "conditions") == ("valueFrom" in body)
            # Added and taken back again: a state set has no such field.
            assert kind == "Gauge" or "nilIsZero" not in body


def test_the_series_are_those_that_lint_knows() -> None:
    made = {
        f"{resource['metricNamePrefix']}_{metric['name']}"
        for resource in resources(cluster_plan(state_metrics="configured"))
        for metric in resource["metrics"]
    }
    assert made == CONFIGURED
    assert {standing(name) for name in made} == {"configured"}


@pytest.mark.parametrize("form", [form for form in FORMS if form.startswith("shown")])
def test_alerts_read_what_the_configuration_of_the_cluster_makes(
    form: str, make_plan: MakePlan
) -> None:
    plan = make_plan(form)
    read = {name for alert in alerts(plan) for name in SERIES.findall(alert.expr)}
    assert read
    assert read <= plan.monitoring.states


@pytest.mark.parametrize("form", [form for form in FORMS if not form.startswith("shown")])
def test_alerts_on_a_stock_exporter_read_nothing_else(form: str, make_plan: MakePlan) -> None:
    assert not any(SERIES.search(alert.expr) for alert in alerts(make_plan(form)))


def test_what_alerts_of_a_cluster_read_is_exported() -> None:
    tables = {**queue_metrics.KUEUE_LABELS, **queue_metrics.VOLCANO_LABELS}
    selector = re.compile(r"\b((?:kueue|volcano)_\w+)\{([^}]*)\}")
    for plan in (cluster_plan(UNDER_KUEUE), cluster_plan(UNDER_VOLCANO)):
        for spec in specs(plan).values():
            for rule in spec["groups"][0]["rules"]:
                found = selector.findall(rule["expr"])
                assert found
                for name, inside in found:
                    assert {*re.findall(r"(\w+)=~?\"", inside)} <= tables[name], rule["alert"]


def test_the_bound_of_slow_admission_is_one_of_the_histogram() -> None:
    """Between two bounds there is no bucket, and the alert would compare with nothing."""
    limits = AlertDefaults()
    assert limits.admission_wait in queue_metrics.WAIT_BOUNDS
    assert limits.admission_wait < limits.pending
    assert re.fullmatch(queue_metrics.bucket_bound(limits.admission_wait), "640")
    assert re.fullmatch(queue_metrics.bucket_bound(limits.admission_wait), "640.0")
    assert not re.fullmatch(queue_metrics.bucket_bound(limits.admission_wait), "6400")


def test_a_held_canary_is_no_rollout_that_waits(make_plan: MakePlan) -> None:
    from gangform.inputs.serving import Rollout

    plan = make_plan("shown, under kueue", groups=4, rollout=Rollout(canary_groups=1))
    assert "ServingRolloutBlockedOnCapacity" not in {alert.name for alert in alerts(plan)}


def test_versions_that_nobody_declared_have_no_kinds() -> None:
    assert not list(state_metrics.declared(Versions()))
