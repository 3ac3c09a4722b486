"""Scraping, alerts, and the table of series."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


LABELS = "spec>selector>matchLabels"
RULE = "spec>groups>0>rules>0>expr"


def test_targets_serve(make: Make, refused: Check, accepted: Check) -> None:
    wide = make("monitor", {LABELS: {"app.kubernetes.io/name": "r1"}})
    at = 'PodMonitor/r1 spec.selector ~ worker-index: "0"'
    refused("monitor-selects-workers", at, make("set"), wide)
    accepted("monitor-selects-workers", make("set"), make("monitor"))
    named = make(
        "monitor",
        {LABELS: {"app.kubernetes.io/name": "r1"}, "spec>podMetricsEndpoints": [{"port": "http"}]},
    )
    accepted("monitor-selects-workers", make("set"), named)
    port = make("set", {"W>C>ports": [{"name": "http", "containerPort": 8000}]})
    refused("monitor-selects-workers", "spec.selector", port, named)


def test_series_exist(make: Make, refused: Check, accepted: Check) -> None:
    for expression in (
        "leaderworkerset_leader_ready == 0",
        'sum(rate(vllm:num_request_waiting{model_name="m"}[5m]))',
        "sum(vllm_num_requests_running)",
        "avg(vllm_requests_running)",
    ):
        at = "PrometheusRule/r1 spec.groups[0].rules[0].expr"
        refused("metric-not-exported", at, make("rules", {RULE: expression}))
    keda = make("keda", {"spec>triggers>0>metadata>query": "sum(vllm:decode_batch_utilization)"})
    refused("metric-not-exported", "spec.triggers[0].metadata.query ~ running", keda)
    for expression in (
        "sum(vllm:num_requests_waiting) + rate(vllm:num_preemptions_total[5m])",
        "histogram_quantile(0.9, vllm:time_to_first_token_seconds_bucket)",
        'label_replace(up, "x", "vllm:nothing", "y", "z")',
        "vllm:spec_decode_num_drafts_total > 0",
        "my_own_metric > 1",
    ):
        accepted("metric-not-exported", make("rules", {RULE: expression}))
    own = [
        {"record": "vllm:made_up", "expr": "1"},
        {"alert": "A", "expr": "vllm:made_up > 0"},
    ]
    accepted("metric-not-exported", make("rules", {"spec>groups>0>rules": own}), make("keda"))


def test_what_an_expression_opens_it_closes(make: Make, refused: Check, accepted: Check) -> None:
    at = "PrometheusRule/r1 spec.groups[0].rules[0].expr"
    for expression, half in (
        ("sum(up", "("),
        ("sum(up))", ")"),
        ('sum by (pod) (up{job="a")', ")"),
        ("rate(up[5m)", ")"),
        ('up{job="a}', '"'),
        ("up{job='it\\'}", "'"),
        ("(up # )", "("),
    ):
        refused("expression-broken", f"{at} ~ `{half}`", make("rules", {RULE: expression}))
    keda = make("keda", {"spec>triggers>0>metadata>query": "sum(up"})
    refused("expression-broken", "spec.triggers[0].metadata.query", keda)
    for expression in (
        'label_replace(up{job="a)"}, "x", "$1", "y", "([a-z]+)")',
        "up{job='it\\'s {'} # (",
        "up{job=`a\\`} > 0",
        'sum by (pod) (rate(up{job=~"a|b[0-9]{2}"}[5m:1m]))',
    ):
        accepted("expression-broken", make("rules", {RULE: expression}))
    other = {"spec>triggers>0>type": "postgresql", "spec>triggers>0>metadata>query": "it's ("}
    accepted("expression-broken", make("keda", other), make("keda"))


def test_series_are_known(make: Make, refused: Check, accepted: Check) -> None:
    made_up = "sum(vllm:made_up_total)"
    refused("metric-not-known", "rules[0].expr", make("rules", {RULE: made_up}))
    accepted("metric-not-exported", make("rules", {RULE: made_up}))
    # The engine that is scaled stands here: nobody else exports it.
    keda = make("keda", {"spec>triggers>0>metadata>query": made_up})
    refused("metric-not-exported", "spec.triggers[0].metadata.query", keda, make("set"))
    accepted("metric-not-known", keda, make("set"))
    router = make("deployment", {"spec>template>spec>containers>0>image": "lmcache/router:v1"})
    accepted("metric-not-exported", keda, make("set"), router)
    accepted("metric-not-known", keda, make("set"), router)
    accepted(
        "metric-not-known",
        make("rules", {RULE: "rate(vllm:num_incoming_requests_total[1m])"}),
        make("keda"),
    )
    near = make("scaler", {"spec>metrics>0>external>metric>name": "vllm_requests_running"})
    refused("metric-not-known", "metric.name ~ write vllm_num_requests_running", near)
    for name in ("vllm_num_requests_waiting", "waiting", "sglang_num_queue_reqs"):
        accepted("metric-not-known", make("scaler", {"spec>metrics>0>external>metric>name": name}))


def test_series_that_need_a_setting_are_named(make: Make, refused: Check, accepted: Check) -> None:
    ratio = "leaderworkerset_status_ready_replicas / leaderworkerset_spec_replicas < 1"
    refused("metric-needs-configuration", "rules[0].expr", make("rules", {RULE: ratio}))
    accepted("metric-needs-configuration", make("rules"))
    waits = make("rules", {RULE: 'kueue_workload_created{owner_name="llm"} > 0'})
    refused("metric-needs-configuration", "rules[0].expr ~ kueue_pending_workloads of Kueue", waits)
    phase = make("rules", {RULE: 'volcano_podgroup_status_phase{phase="Inqueue"} == 1'})
    refused(
        "metric-needs-configuration", "rules[0].expr ~ volcano_queue_pod_group_inqueue_count", phase
    )


def test_series_that_a_configured_exporter_makes_need_no_word(
    make: Make, refused: Check, accepted: Check
) -> None:
    """Only those of the configuration that we write; another of the name may be anybody's."""
    ratio = "leaderworkerset_status_ready_replicas / leaderworkerset_spec_replicas < 1"
    accepted("metric-needs-configuration", make("rules", {RULE: ratio}), state_metrics=True)
    other = make("rules", {RULE: "leaderworkerset_restarts > 1"})
    refused("metric-needs-configuration", "rules[0].expr", other, state_metrics=True)


def test_series_have_the_labels_asked_for(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("rules", {RULE: 'kube_pod_status_phase{group!="", phase="Pending"} > 0'})
    refused("metric-label-unknown", "rules[0].expr ~ `group`", wrong)
    right = make("rules", {RULE: 'kube_pod_status_phase{phase="Pending", pod=~"group="} > 0'})
    accepted("metric-label-unknown", right, make("rules"))


def test_the_table_says_known_and_never_all() -> None:
    from gangform.apis import metrics

    assert metrics.standing("kube_pod_status_ready") == "exported"
    assert metrics.standing("kube_something_new") == "unknown"
    assert metrics.standing("vllm:e2e_request_latency_seconds_sum") == "exported"
    assert metrics.standing("vllm:kv_something") == "unknown"
    assert metrics.standing("leaderworkerset_anything") == "configured"
    assert list(metrics.names("a{b='vllm:x'} + vllm:y:rate5m + vllm:z[5m]")) == [
        "vllm:y:rate5m",
        "vllm:z",
    ]


def test_an_endpoint_names_a_port_that_is_there(
    make: Make, refused: Check, accepted: Check
) -> None:
    def point(**endpoint: Any) -> dict[str, Any]:
        return make("monitor", {"spec>podMetricsEndpoints": [endpoint]})

    at = "podMetricsEndpoints[0].port ~ http"
    refused("monitor-port-unknown", at, point(port="metrics"), make("set"))
    accepted("monitor-port-unknown", point(port="http"), point(portNumber=8000), make("set"))
    accepted("monitor-port-unknown", point(port="metrics"))


def test_an_endpoint_names_a_port_of_its_service(
    make: Make, refused: Check, accepted: Check
) -> None:
    service = make("service", {"metadata>labels": {"app": "r1"}})
    monitor = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "selector": {"matchLabels": {"app": "r1"}},
            "endpoints": [{"port": "metrics"}],
        },
    }
    refused("monitor-port-unknown", "spec.endpoints[0].port ~ http", monitor, service)
    accepted("monitor-port-unknown", monitor, make("service"))
    accepted("monitor-port-unknown", monitor)
