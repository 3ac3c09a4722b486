"""KEDA: what it asks, what it does without an answer, and the way to zero groups and back."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from shlex import split
from typing import Any

import pytest

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Installed, Monitoring
from gangform.inputs.serving import Autoscaling
from gangform.plan import triggers
from gangform.plan.serving import ServingPlan
from gangform.plan.triggers import KedaPlan
from gangform.units import Seconds

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Codes = Callable[[Iterable[Finding]], list[str]]

QUEUE = "sum(llm_d_epp_flow_control_queue_size)"
MINE = '{namespace="m", leaderworkerset_sigs_k8s_io_name="llm"}'


def with_keda(make_cluster: MakeCluster, **changes: Any) -> Cluster:
    versions = Installed(kubernetes="1.36", lws="0.10", keda=changes.pop("keda", "2.18"))
    given = {
        "metrics_adapter": "keda",
        "versions": versions,
        "monitoring": Monitoring(prometheus="http://prometheus:9090"),
    }
    return make_cluster(**{**given, **changes})


@pytest.fixture
def scaled(make_plan: MakePlan, make_cluster: MakeCluster) -> Callable[..., ServingPlan]:
    def scaled(on: dict[str, Any] | None = None, **bounds: Any) -> ServingPlan:
        asked = Autoscaling(**{"min": 2, "max": 6, **bounds})
        cluster = with_keda(make_cluster, **(on or {}))
        return make_plan(on=cluster, autoscaling=asked, cold_start=Seconds(600))

    return scaled


def keda(plan: ServingPlan) -> KedaPlan:
    assert plan.lead.scaling is not None and plan.lead.scaling.keda is not None
    return plan.lead.scaling.keda


def test_the_signal_is_the_sum_over_the_servings_own_series(
    scaled: Callable[..., ServingPlan], codes: Codes
) -> None:
    plan = scaled()
    found = keda(plan)
    (asked,) = found.triggers
    assert asked == ("waiting", f"sum(vllm:num_requests_waiting{MINE})", 8)
    assert (found.server, found.failures, found.cooldown) == ("http://prometheus:9090", 4, None)
    assert codes(plan.findings) == []
    assert plan.lead.scaling is not None and plan.lead.scaling.autoscaler == "keda-hpa-llm"


def test_another_series_may_be_asked_for(scaled: Callable[..., ServingPlan]) -> None:
    (asked,) = keda(scaled(metric="router:queue", target=3, selector={"tier": "gold"})).triggers
    assert asked.query == (
        'sum(router:queue{namespace="m", tier="gold", leaderworkerset_sigs_k8s_io_name="llm"})'
    )
    assert asked.threshold == 3


@pytest.mark.parametrize(("least", "wanted"), [(0, 1), (1, 1), (2, 2)])
def test_without_an_answer_no_group_is_taken(least: int, wanted: int) -> None:
    assert triggers.fallback(least) == wanted


def test_nothing_waits_and_nothing_runs_before_the_last_group_goes(
    scaled: Callable[..., ServingPlan], codes: Codes
) -> None:
    plan = scaled(min=0, buffer_query=QUEUE, buffer_holds=Seconds(900))
    found = keda(plan)
    waiting, running, buffer = found.triggers
    assert waiting.query == f"sum(vllm:num_requests_waiting{MINE}) or vector(0)"
    assert running.query == f"(sum(vllm:num_requests_running{MINE}) or vector(0)) > bool 0"
    assert (running.threshold, buffer.query, buffer.threshold) == (1, QUEUE, 8)
    assert found.cooldown == 1800 and found.fallback == 1
    assert codes(plan.findings) == ["rollout-stops-serving"]
    assert plan.serving.idle_groups == 0 and plan.serving.lowest_groups == 1


def test_a_front_end_may_be_asked_beside_groups_that_stay(
    scaled: Callable[..., ServingPlan], codes: Codes
) -> None:
    plan = scaled(buffer_query=QUEUE)
    assert [one.name for one in keda(plan).triggers] == ["waiting", "buffer"]
    assert codes(plan.findings) == []


def test_how_long_a_front_end_waits_matters_at_zero_alone(
    scaled: Callable[..., ServingPlan], codes: Codes
) -> None:
    waits = Seconds(900)
    assert codes(scaled(buffer_holds=waits).findings) == ["autoscaling-buffer-time-unused"]
    assert codes(scaled(buffer_query=QUEUE, buffer_holds=waits).findings) == [
        "autoscaling-buffer-time-unused"
    ]
    held = scaled(min=0, buffer_query=QUEUE, buffer_holds=waits)
    assert "autoscaling-buffer-time-unused" not in codes(held.findings)


@pytest.mark.parametrize("adapter", ["external", "prometheus-adapter"])
def test_only_keda_goes_to_zero(
    scaled: Callable[..., ServingPlan], codes: Codes, adapter: str
) -> None:
    refused = scaled({"metrics_adapter": adapter}, min=0)
    assert "scale-to-zero-without-keda" in codes(refused.findings)
    assert "scale-to-zero-without-keda" not in codes(scaled(min=0).findings)


def test_zero_groups_need_somebody_who_holds_requests(
    scaled: Callable[..., ServingPlan], codes: Codes
) -> None:
    assert "scale-to-zero-without-buffer" in codes(scaled(min=0).findings)
    assert "scale-to-zero-without-buffer" not in codes(scaled(min=1).findings)
    held = scaled(min=0, buffer_query=QUEUE)
    assert "scale-to-zero-without-buffer" not in codes(held.findings)


@pytest.mark.parametrize(("holds", "said"), [(None, True), (899, True), (900, False)])
def test_a_cold_start_is_held_against_what_clients_wait(
    scaled: Callable[..., ServingPlan], holds: int | None, said: bool
) -> None:
    waits = None if holds is None else Seconds(holds)
    plan = scaled(min=0, buffer_query=QUEUE, buffer_holds=waits)
    found = [one for one in plan.findings if one.code.id == "scale-to-zero-outlasts-clients"]
    assert bool(found) == said
    for one in found:
        assert "10m" in one.what and "15m at the worst" in one.what and not one.breaks
        assert "bufferHolds: 15m" in one.fix
    assert any("waits 10m for a cold start, 15m at the worst" in one for one in plan.remarks)
    assert any("brings none where there is none" in one for one in plan.remarks)
    assert any("keeps the groups that are there, 2 at the least" in one for one in scaled().remarks)


def test_keda_has_to_know_where_prometheus_is(
    scaled: Callable[..., ServingPlan], codes: Codes
) -> None:
    nowhere = scaled({"monitoring": Monitoring()})
    assert codes(nowhere.findings) == ["autoscaling-without-prometheus"]
    assert codes(scaled({"metrics_adapter": "external", "monitoring": Monitoring()}).findings) == []


def test_kedas_release_has_to_be_known_and_new_enough(
    scaled: Callable[..., ServingPlan], make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    unknown = scaled({"keda": None})
    assert codes(unknown.findings) == ["keda-release-missing"]
    assert "KEDA 2.18" in [one.what for one in unknown.prerequisites]
    (old,) = scaled({"keda": "2.17.2"}).findings
    assert old.code.id == "release-too-old" and "keda 2.17.2 is older than 2.18" in old.what
    for release in ("2.18", "2.21"):
        assert codes(scaled({"keda": release}).findings) == []
    fixed = with_keda(make_cluster, keda=None, monitoring=Monitoring())
    assert codes(make_plan(on=fixed).findings) == []


def test_only_keda_asks_a_front_end(scaled: Callable[..., ServingPlan], codes: Codes) -> None:
    other = scaled({"metrics_adapter": "external"}, buffer_query=QUEUE)
    assert codes(other.findings) == ["autoscaling-buffer-unused"]


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("sum(queue", "autoscaling-buffer-broken"),
        ("sum($queue)", "autoscaling-buffer-broken"),
        ("{{ queue }}", "autoscaling-buffer-broken"),
        ("sum(schlänge)", "autoscaling-buffer-broken"),
        ("queue | sum", "autoscaling-buffer-broken"),
        ("1", "autoscaling-buffer-broken"),
        ("queue[5m]  # all", "autoscaling-buffer-broken"),
        ("-2.5e3 * (1 + NaN)", "autoscaling-buffer-broken"),
        ('"queue"', "autoscaling-buffer-broken"),
        ("vector(1)", ""),
        ("e2", ""),
        ('{"queue.ä"} offset 5m', ""),
        ('sum by (a) (rate(queue{a!~"ä|$b"}[5m:1m] @ end())) ^ 2 % 3 >= bool -1.5e3', ""),
        ("sum(queue)  # $ ä; {{ x }}", ""),
        ("sum(vllm:num_requests_waiting)", "autoscaling-buffer-of-engine"),
        ("sum(vllm:num_requests_waiting) or vector(0)", "autoscaling-buffer-of-engine"),
        ("sum(vllm:num_incoming_requests)", ""),
        ('sum(queue{name=")"})', ""),
    ],
)
def test_the_query_of_a_front_end_is_one(
    scaled: Callable[..., ServingPlan], codes: Codes, query: str, code: str
) -> None:
    found = scaled(min=0, buffer_query=query, buffer_holds=Seconds(900)).findings
    mine = [one for one in codes(found) if one.startswith("autoscaling-buffer")]
    assert mine == ([code] if code else [])


def test_an_address_is_one_word_of_the_command(scaled: Callable[..., ServingPlan]) -> None:
    plan = scaled(on={"monitoring": Monitoring(prometheus="http://p/a;b&c$(d)")})
    (asked,) = (one.check for one in plan.prerequisites if one.what.startswith("Prometheus at"))
    assert "http://p/a;b&c$(d)/api/v1/query" in split(asked)


def test_prerequisites_ask_prometheus_from_inside(scaled: Callable[..., ServingPlan]) -> None:
    plan = scaled(min=0, buffer_query='sum(queue{of="l\'m"})')
    found = {one.what.partition(" ")[0]: one for one in plan.prerequisites}
    assert "kubectl get crd scaledobjects.keda.sh" in found["KEDA"].check
    assert "-sG http://prometheus:9090/api/v1/query" in found["Prometheus"].check
    assert "vllm:num_requests_waiting" in found["Prometheus"].check
    held = next(one for one in plan.prerequisites if one.what.startswith("a front end"))
    assert re.search(r"'query=sum\(queue\{of=\"l'\\''m\"\}\)'$", held.check)
    assert not any(one.what.startswith("an adapter") for one in plan.prerequisites)
