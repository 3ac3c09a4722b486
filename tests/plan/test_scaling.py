from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster, Monitoring
from gangform.inputs.serving import Autoscaling, Parallelism
from gangform.plan import scaling
from gangform.plan.scaling import ScalingPlan
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Codes = Callable[[Iterable[Finding]], list[str]]


def scaled(make_plan: MakePlan, **changes: Any) -> ScalingPlan:
    bounds = {"min": 2, "max": 6, **changes.pop("bounds", {})}
    found = make_plan(autoscaling=Autoscaling(**bounds), **changes).lead.scaling
    assert found is not None
    return found


def test_a_fixed_number_of_groups_has_no_autoscaler(make_plan: MakePlan) -> None:
    role = make_plan(groups=3).lead
    assert role.scaling is None
    assert role.replicas == 3


def test_an_autoscaler_writes_the_number_itself(make_plan: MakePlan) -> None:
    plan = make_plan(autoscaling=Autoscaling(min=2, max=6))
    assert plan.lead.replicas is None
    assert plan.lead.demand.groups == 6


def test_one_group_goes_or_comes_at_a_time_and_no_faster_than_a_start(make_plan: MakePlan) -> None:
    found = scaled(make_plan, cold_start=Seconds(600))
    assert (found.lowest, found.highest, found.step, found.target) == (2, 6, 1, 8)
    assert (found.up_window, found.up_period) == (120, 900)
    assert (found.down_window, found.down_period) == (1800, 900)


def test_the_signal_is_the_engines_queue_of_these_leaders(make_plan: MakePlan) -> None:
    found = scaled(make_plan)
    assert found.metric == "vllm_num_requests_waiting"
    assert found.selector == {"leaderworkerset_sigs_k8s_io_name": "llm"}
    single = scaled(make_plan, parallelism=Parallelism(tensor=8))
    assert single.selector == {"app_kubernetes_io_name": "llm"}


def test_another_signal_may_be_asked_for(make_plan: MakePlan) -> None:
    own = {"metric": "queue", "target": 3, "selector": {"tier": "gold"}}
    found = scaled(make_plan, bounds=own)
    assert (found.metric, found.target) == ("queue", 3)
    assert found.selector == {"leaderworkerset_sigs_k8s_io_name": "llm", "tier": "gold"}


@settings(deadline=None)
@given(st.integers(0, 10**6))
def test_periods_stay_within_what_the_api_takes(worst: int) -> None:
    assert 1 <= scaling.up_period(Seconds(worst)) <= 1800
    assert 0 <= scaling.down_window(Seconds(worst)) <= 3600
    if 1 <= worst <= 1800:
        assert scaling.up_period(Seconds(worst)) == worst
        assert scaling.down_window(Seconds(worst)) == 2 * worst


def test_an_autoscaler_needs_an_adapter(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    bounds = Autoscaling(min=2, max=6)
    assert codes(make_plan(autoscaling=bounds).findings) == []
    for adapter in ("none", "unknown"):
        without = make_plan(on=make_cluster(metrics_adapter=adapter), autoscaling=bounds)
        assert codes(without.findings) == ["autoscaling-without-adapter"]
        assert f"is `{adapter}`" in without.findings[0].what
    assert codes(make_plan(on=make_cluster(metrics_adapter="none")).findings) == []


def test_metrics_of_pods_need_an_adapter_for_them(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    of_pods = Autoscaling(min=2, max=6, type="Pods")
    for adapter, found in (
        ("external", ["autoscaling-type-not-served"]),
        ("prometheus-adapter", []),
    ):
        plan = make_plan(on=make_cluster(metrics_adapter=adapter), autoscaling=of_pods)
        assert codes(plan.findings) == found
    on = make_cluster(metrics_adapter="prometheus-adapter")
    assert codes(make_plan(on=on, autoscaling=Autoscaling(min=2, max=6)).findings) == []


def test_metrics_of_pods_are_told_apart_by_their_pods(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    on = make_cluster(metrics_adapter="prometheus-adapter")
    asked = Autoscaling(min=2, max=6, type="Pods", selector={"engine": "0"})
    plan = make_plan(on=on, autoscaling=asked)
    assert plan.lead.scaling is not None
    assert (plan.lead.scaling.type, plan.lead.scaling.selector) == ("Pods", {"engine": "0"})
    need = next(one for one in plan.prerequisites if one.what.startswith("prometheus-adapter"))
    leaders = "leaderworkerset.sigs.k8s.io/name=llm,leaderworkerset.sigs.k8s.io/worker-index=0"
    assert (
        f"/apis/custom.metrics.k8s.io/v1beta1/namespaces/m/pods/*/vllm_num_requests_waiting?labelSelector={leaders}"
        "&metricLabelSelector=engine=0" in need.check
    )
    assert "rules of out/prod/prometheus-adapter.yaml" in need.what


def test_how_a_fixed_number_is_left_is_said(make_plan: MakePlan) -> None:
    plan = make_plan(autoscaling=Autoscaling(min=2, max=6))
    assert any("`gangform diff` prints the order" in one for one in plan.remarks)
    assert not any("gangform diff" in one for one in make_plan().remarks)


def test_one_group_at_the_least_is_said(make_plan: MakePlan, codes: Codes) -> None:
    found = make_plan(autoscaling=Autoscaling(min=1, max=6)).findings
    assert "autoscaling-floor-of-one" in codes(found)
    assert not any(finding.breaks for finding in found)


@pytest.mark.parametrize(
    ("changes", "refused"),
    [
        ({"backend": "volcano-podgroup"}, True),
        ({"backend": "kueue"}, False),
        ({"backend": "volcano-podgroup", "parallelism": Parallelism(tensor=8)}, False),
    ],
)
def test_no_autoscaler_adds_sets(
    make_plan: MakePlan, codes: Codes, changes: dict[str, Any], refused: bool
) -> None:
    found = make_plan(autoscaling=Autoscaling(min=2, max=6), **changes).findings
    assert ("autoscaling-not-possible" in codes(found)) == refused


def test_the_selector_of_the_plan_is_not_overridden(make_plan: MakePlan, codes: Codes) -> None:
    label = "leaderworkerset_sigs_k8s_io_name"
    plan = make_plan(autoscaling=Autoscaling(min=2, max=6, selector={label: "other"}))
    assert codes(plan.findings) == ["autoscaling-selector-owned"]
    assert plan.lead.scaling is not None
    assert plan.lead.scaling.selector == {label: "llm"}
    own = make_plan(autoscaling=Autoscaling(min=2, max=6, selector={"tier": "gold"}))
    assert codes(own.findings) == []


def test_without_monitors_nobody_labels_the_series(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    off = make_cluster(monitoring=Monitoring(enabled=False))
    (found,) = make_plan(on=off, autoscaling=Autoscaling(min=2, max=6)).findings
    assert (found.code.id, found.breaks) == ("autoscaling-not-scraped", False)
    assert "leaderworkerset_sigs_k8s_io_name=llm" in found.what
    own = make_plan(on=off, autoscaling=Autoscaling(min=2, max=6, metric="queue"))
    assert codes(own.findings) == []


def test_the_adapters_prerequisite_names_metric_and_labels(make_plan: MakePlan) -> None:
    plan = make_plan(autoscaling=Autoscaling(min=2, max=6, selector={"tier": "gold"}))
    (need,) = [one for one in plan.prerequisites if one.what.startswith("an adapter")]
    series = "tier=gold,leaderworkerset_sigs_k8s_io_name=llm"
    assert "external metric vllm_num_requests_waiting in namespace m" in need.what
    assert f"with the labels {series}; for prometheus-adapter:" in need.what
    assert f"namespaces/m/vllm_num_requests_waiting?labelSelector={series}" in need.check
