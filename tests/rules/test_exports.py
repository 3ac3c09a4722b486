"""Series that an engine is started with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
SGLANG = ["python3", "-m", "sglang.launch_server", "--host=0.0.0.0", "--port=8000"]


def test_an_autoscaler_gets_its_series(make: Make, refused: Check, accepted: Check) -> None:
    def scaled(name: str, kind: str = "pods") -> dict[str, Any]:
        metric = {"type": kind.title(), kind: {"metric": {"name": name}}}
        return make("scaler", {"spec>metrics": [metric]})

    quiet = make("set", {"B>C>command": SGLANG, "B>C>args": ["--tp=8"]})
    at = "HorizontalPodAutoscaler/r1 spec.metrics[0].pods.metric.name ~ add --enable-metrics"
    refused("metric-switched-off", at, quiet, scaled("sglang_num_queue_reqs"))
    refused(
        "metric-switched-off",
        "spec.metrics[0].external.metric.name",
        quiet,
        scaled("sglang:num_queue_reqs", "external"),
    )
    loud = make("set", {"B>C>command": SGLANG, "B>C>args": ["--tp=8", "--enable-metrics"]})
    accepted("metric-switched-off", loud, scaled("sglang_num_queue_reqs"))
    accepted("metric-switched-off", quiet, scaled("gateway_queue"))
    silenced = make("set", {"L>C>args": ["--disable-log-stats"]})
    refused("metric-switched-off", "spec.triggers[0].metadata.query", silenced, make("keda"))
    accepted("metric-switched-off", make("set"), make("keda"), make("scaler"))


def test_a_monitor_scrapes_what_is_there(make: Make, refused: Check, accepted: Check) -> None:
    quiet = make("set", {"B>C>command": SGLANG, "B>C>args": ["--tp=8"]})
    at = "PodMonitor/r1 spec.podMetricsEndpoints[0] ~ without --enable-metrics"
    refused("monitor-of-silent-engine", at, quiet, make("monitor"))
    named = make("monitor", {"spec>podMetricsEndpoints": [{"port": "http"}]})
    refused("monitor-of-silent-engine", "spec.podMetricsEndpoints[0]", quiet, named)
    numbered = make("monitor", {"spec>podMetricsEndpoints": [{"targetPort": 8000}]})
    refused("monitor-of-silent-engine", "spec.podMetricsEndpoints[0]", quiet, numbered)
    beside = make("monitor", {"spec>podMetricsEndpoints": [{"targetPort": 9000}]})
    accepted("monitor-of-silent-engine", quiet, beside)
    other = make("monitor", {"spec>podMetricsEndpoints": [{"port": "proxy"}]})
    accepted("monitor-of-silent-engine", quiet, other)
    loud = make("set", {"B>C>command": SGLANG, "B>C>args": ["--enable-metrics"]})
    accepted("monitor-of-silent-engine", loud, make("monitor"))
    accepted("monitor-of-silent-engine", make("set"), make("monitor"))
