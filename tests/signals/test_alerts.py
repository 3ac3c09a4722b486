"""What the alerts of a serving say and read, without Prometheus: names, words, series, and which of them there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.signals.forms import FORMS, IN_DOMAINS
from tests.signals.rule_tests import PLACEHOLDER
from tests.signals.scenario import MakePlan

from gangform.apis import alerting, promql
from gangform.apis.alerting import Alert
from gangform.apis.metrics import KUBE_STATE_METRICS
from gangform.apis.metrics import names as series_names
from gangform.apis.state_metrics import SERIES
from gangform.engines.exports import standing
from gangform.inputs.cluster import Monitoring
from gangform.inputs.serving import Admission, Autoscaling
from gangform.manifests.monitoring import monitors, rules
from gangform.plan.serving import ServingPlan
from gangform.signals import records
from gangform.signals.alerts import NAMES, alerts
from gangform.units import Seconds

SELECTOR = re.compile(
    r"\b((?:kube|leaderworkerset|kueue|volcano)_\w+)\{((?:[^\"}]|\"(?:[^\"\\]|\\.)*\")*)\}"
)
MATCHER = re.compile(r'(\w+)(?:=|!=|=~|!~)"((?:[^"\\]|\\.)*)"')

EXPORTED = {**{name: each.labels for name, each in KUBE_STATE_METRICS.items()}, **SERIES}

COMMON = {
    "ServingNoGroupReady",
    "ServingGroupsNotReady",
    "ServingGroupsAbsent",
    "ServingRolloutStalled",
    "ServingLeaderEndpointsMismatch",
    "ServingLeaderNotScraped",
}
OF_GROUPS = {
    "ServingGroupRebuiltRepeatedly",
    "ServingGroupPodsPending",
    "ServingGroupOnCordonedNode",
    "ServingNoRoomToRebuild",
}
INCOMPLETE = {"ServingLeaderReadyGroupIncomplete"}
SHOWN = {
    "ServingControllerLagging",
    "ServingGroupNotAdmitted",
    "ServingRolloutBlockedOnCapacity",
}
AUTOSCALER = {"ServingAutoscalerAtMax", "ServingAutoscalerBlind"}
LOAD = {
    "ServingQueueDeep",
    "ServingKvCachePressure",
    "ServingPreemptions",
    "ServingRequestErrors",
}
ENGINE = LOAD | {"ServingEngineStalled"}
SLOW = {"ServingSlowFirstTokens", "ServingSlowFirstTokensForHours"}


def named(plan: ServingPlan) -> dict[str, Alert]:
    found = alerts(plan)
    assert len({alert.name for alert in found}) == len(found)
    return {alert.name: alert for alert in found}


@pytest.mark.parametrize(
    ("form", "names"),
    [
        ("groups", COMMON | OF_GROUPS | INCOMPLETE | ENGINE),
        ("groups of one", COMMON | OF_GROUPS | ENGINE),
        ("sets of one group", COMMON | OF_GROUPS | INCOMPLETE | ENGINE),
        ("deployment", COMMON | ENGINE),
        ("autoscaled", COMMON | OF_GROUPS | INCOMPLETE | AUTOSCALER | ENGINE),
        (
            "by keda",
            COMMON | OF_GROUPS | INCOMPLETE | AUTOSCALER | ENGINE | {"ServingAutoscalerSignalLost"},
        ),
        (
            "to zero",
            COMMON | OF_GROUPS | INCOMPLETE | AUTOSCALER | ENGINE | {"ServingAutoscalerSignalLost"},
        ),
        ("canary", (COMMON | OF_GROUPS | INCOMPLETE | ENGINE) - {"ServingRolloutStalled"}),
        ("an objective", COMMON | OF_GROUPS | INCOMPLETE | ENGINE | SLOW),
        ("an older engine", COMMON | LOAD),
        ("spare", COMMON | OF_GROUPS | INCOMPLETE | ENGINE),
        ("deployment with a spare", COMMON | ENGINE | {"ServingNoRoomToRebuild"}),
        ("one domain", COMMON | OF_GROUPS | INCOMPLETE | ENGINE),
        ("one domain with a spare", COMMON | OF_GROUPS | INCOMPLETE | ENGINE),
        (
            "shown, under kueue",
            COMMON | OF_GROUPS | INCOMPLETE | ENGINE | SHOWN | {"ServingGroupEvicted"},
        ),
        ("shown, under volcano", COMMON | OF_GROUPS | INCOMPLETE | ENGINE | SHOWN),
        ("shown, sets of one group", COMMON | OF_GROUPS | INCOMPLETE | ENGINE | SHOWN),
    ],
)
def test_a_form_has_the_alerts_that_it_can_show(
    form: str, names: set[str], make_plan: MakePlan
) -> None:
    assert set(named(make_plan(form))) == names
    assert names <= set(NAMES)


def test_an_autoscaler_that_cannot_move_is_not_at_its_maximum(make_plan: MakePlan) -> None:
    plan = make_plan("autoscaled", autoscaling=Autoscaling(min=3, max=3))
    assert set(named(plan)) & AUTOSCALER == {"ServingAutoscalerBlind"}


@pytest.mark.parametrize("form", FORMS)
def test_only_series_that_kube_state_metrics_exports_are_read(
    form: str, make_plan: MakePlan
) -> None:
    for alert in alerts(make_plan(form)):
        # The query of an autoscaler is its own: series of the engine, or of a front end that nobody here knows.
        expr, _, query = alert.expr.partition("unless on ()")
        if alert.name != "ServingAutoscalerSignalLost":
            expr, query = alert.expr, ""
        assert all(standing(name) == "exported" for name in series_names(query))
        selectors = SELECTOR.findall(expr)
        words = re.findall(r"\b(?:kube|vllm|leaderworkerset|kueue|volcano)_\w+(?=[{\[)])", expr)
        assert len(selectors) == len(words)
        for name, inside in selectors:
            labels = {label for label, _ in MATCHER.findall(inside)}
            told = {alerting.node_label(key) for key in IN_DOMAINS if name == alerting.NODE_LABELS}
            assert labels <= {"job", *EXPORTED[name], *told}, (alert.name, name)


@pytest.mark.parametrize("form", FORMS)
def test_every_selector_names_the_job(form: str, make_plan: MakePlan) -> None:
    plan = make_plan(form, monitoring=Monitoring(kube_state_metrics_job='own "ksm"'))
    for alert in alerts(plan):
        for name, inside in SELECTOR.findall(alert.expr):
            assert dict(MATCHER.findall(inside))["job"] == 'own \\"ksm\\"', (alert.name, name)


@pytest.mark.parametrize("form", FORMS)
def test_annotations_are_sentences(form: str, make_plan: MakePlan) -> None:
    for alert in alerts(make_plan(form)):
        assert re.fullmatch(r"(Serving)([A-Z][a-z]+)+", alert.name)
        assert "{{" not in alert.summary + alert.expr
        assert "{{" not in PLACEHOLDER.sub("", alert.description)
        assert "llm" in alert.description
        assert "$labels.namespace" in alert.description
        for text in (alert.summary, alert.description):
            assert text.endswith(".")
            assert text[0].isupper() or text.startswith(("{{ $value ", "llm"))
            assert "  " not in text


def test_waiting_times_come_from_the_plan(make_plan: MakePlan) -> None:
    plan = make_plan(cold_start=Seconds(1800), pending_alert_after=Seconds(7200))
    found = named(plan)
    assert found["ServingGroupsNotReady"].for_ == plan.monitoring.not_ready_after == 2700 + 300
    assert found["ServingGroupPodsPending"].for_ == 7200
    assert found["ServingNoGroupReady"].for_ == 300


def test_looking_back_is_no_shorter_than_starts_are_long(make_plan: MakePlan) -> None:
    """A window of 30 minutes would call every rollout of a slow model stalled, and see no third life of a group."""
    short, long = named(make_plan()), named(make_plan(cold_start=Seconds(3600)))
    assert "[30m]" in short["ServingRolloutStalled"].expr
    assert "[1h35m]" in long["ServingRolloutStalled"].expr
    assert "[1h]" in short["ServingGroupRebuiltRepeatedly"].expr
    assert "[4h30m]" in long["ServingGroupRebuiltRepeatedly"].expr


def test_a_runbook_is_called_like_its_alert(make_plan: MakePlan) -> None:
    for alert in alerts(make_plan()):
        assert alert.runbook_url == f"https://runbooks.example.com/serving/llm/{alert.name}.md"
    assert all(alert.runbook_url is None for alert in alerts(make_plan(monitoring=Monitoring())))


def test_two_servings_of_a_namespace_are_two_alerts_to_alertmanager(make_plan: MakePlan) -> None:
    """The queries keep little more than the namespace, so a label of the rule has to tell them apart."""
    one, other = alerts(make_plan()), alerts(make_plan(name="second"))
    for mine, theirs in zip(one, other, strict=True):
        assert mine.labels != theirs.labels


def test_leaders_of_another_set_are_not_matched(make_plan: MakePlan) -> None:
    for form in ("groups", "groups of one", "sets of one group"):
        expr = named(make_plan(form))["ServingGroupPodsPending"].expr
        (pattern,) = {value for label, value in MATCHER.findall(expr) if label == "pod"}
        for name in ("llm-x-0", "llm-x", "xllm-0", "llm-leader-0", "llm-0-0-0-0", "llm", "llm-7-1"):
            assert not re.fullmatch(pattern, name), (form, name)


def test_each_set_is_missed_on_its_own(make_plan: MakePlan) -> None:
    absent = named(make_plan("sets of one group"))["ServingGroupsAbsent"].expr
    assert re.findall(r'absent\(.*statefulset="([\w-]+)"\}\)', absent) == ["llm-0", "llm-1"]


@pytest.mark.parametrize("most", [0, 1, 7, 9, 10, 19, 99, 100, 305, 1000])
def test_a_pattern_of_numbers_matches_those_up_to_the_highest_and_no_other(most: int) -> None:
    pattern = re.compile(promql.up_to(most))
    assert [number for number in range(2100) if pattern.fullmatch(str(number))] == [
        *range(most + 1)
    ]
    assert not pattern.fullmatch("00")


def test_no_room_is_told_only_where_the_nodes_can_be_told(make_plan: MakePlan) -> None:
    """Two pools of as many GPUs a node, and domains: without the labels nothing true can be said."""
    blind = make_plan("one domain", monitoring=Monitoring())
    assert "ServingNoRoomToRebuild" not in named(blind)
    (said,) = (remark for remark in blind.remarks if "no room" in remark)
    assert "nvidia.com/gpu.product, example.com/rack (`monitoring.nodeLabels`)" in said
    only_level = make_plan("one domain", monitoring=Monitoring(node_labels=("example.com/rack",)))
    assert "ServingNoRoomToRebuild" not in named(only_level)
    assert not [remark for remark in make_plan("groups").remarks if "no room" in remark]


def test_a_name_is_matched_literally() -> None:
    assert promql.literal("llm-7b") == "llm-7b"
    assert promql.like("pod", promql.literal("a.b")) == r'pod=~"a\\.b"'
    assert promql.one_of("pod", ["a"]) == 'pod="a"'
    assert promql.one_of("pod", ["a", "b"]) == 'pod=~"a|b"'


def test_the_page_lists_every_alert_and_every_record() -> None:
    page = (Path(__file__).parents[2] / "docs" / "alerts.md").read_text("utf-8")
    rows = re.findall(r"^\| `([\w:]+)` \|", page, re.MULTILINE)
    assert sorted(rows) == sorted({*NAMES, *records.NAMES})


# ── the objects ──────────────────────────────────────────────────────────────────────────────────


def test_nothing_is_made_where_monitoring_is_off(make_plan: MakePlan) -> None:
    plan = make_plan(monitoring=Monitoring(enabled=False))
    assert not alerts(plan)
    assert not list(rules(plan))
    assert not list(monitors(plan))


def test_objects_carry_the_labels_that_the_cluster_selects_by(make_plan: MakePlan) -> None:
    plan = make_plan(monitoring=Monitoring(labels={"release": "stack"}))
    for manifest in (*rules(plan), *monitors(plan)):
        metadata = manifest["metadata"]
        assert isinstance(metadata, dict)
        assert (metadata["name"], metadata["namespace"]) == ("llm", "m")
        assert metadata["labels"] == {**plan.lead.identity.object_labels, "release": "stack"}


@pytest.mark.parametrize(
    ("form", "labels"),
    [
        (
            "groups",
            [
                "app.kubernetes.io/name",
                *map("leaderworkerset.sigs.k8s.io/{}".format, ("name", "group-index")),
            ],
        ),
        ("deployment", ["app.kubernetes.io/name"]),
    ],
)
def test_only_leaders_are_scraped_under_labels_that_tell_groups_apart(
    form: str, labels: list[str], make_plan: MakePlan
) -> None:
    plan = make_plan(form)
    (manifest,) = monitors(plan)
    assert manifest["spec"] == {
        "podTargetLabels": labels,
        "selector": {"matchLabels": dict(plan.traffic.leaders)},
        "podMetricsEndpoints": [{"port": plan.traffic.port_name, "path": "/metrics"}],
    }


def test_sets_of_one_group_share_one_rule_object_and_one_monitor(make_plan: MakePlan) -> None:
    plan = make_plan(
        "sets of one group", groups=5, admission=Admission(backend="volcano-podgroup", queue="q")
    )
    assert len(plan.workloads) == 5
    assert [manifest["kind"] for manifest in (*rules(plan), *monitors(plan))] == [
        "PrometheusRule",
        "PodMonitor",
    ]
