"""Planning cases of budgets, names and quota."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cases.planning import (
    cluster,
    judged,
    model,
    node,
    planned,
    refused,
    row,
    summed,
)

from gangform.bundle import bundle
from gangform.findings import Finding, InputError, Severity
from gangform.inputs.cluster import KueueSettings
from gangform.inputs.serving import (
    Admission,
    Autoscaling,
    Parallelism,
    Patch,
    Rollout,
    Weights,
)
from gangform.plan.cluster import ClusterPlan
from gangform.plan.serving import ServingPlan
from gangform.units import BytesPerSecond

BUDGET = """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {{name: llm, namespace: m}}
spec:
  replicas: 4
  leaderWorkerTemplate: {{size: 8, workerTemplate: {{spec: {{containers: []}}}}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{name: llm, namespace: m}}
spec:
  {field}: {value}
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector: {{matchLabels: {{leaderworkerset.sigs.k8s.io/name: llm}}}}
"""


def budgeted(field: str, value: int) -> dict[str, Finding]:
    return {
        one.code.id: one
        for one in judged(BUDGET.format(field=field, value=value))
        if one.code.id.startswith("budget-")
    }


@row("r28-a")
def test_a_budget_in_pods_lets_many_groups_go() -> None:
    findings = budgeted("minAvailable", 24)
    assert list(findings) == ["budget-allows-many-groups"]
    finding = findings["budget-allows-many-groups"]
    assert finding.code.severity is Severity.DEGRADES
    assert finding.seen == {"evictions": "8", "groups": "4"}


@row("r28-b")
def test_a_budget_one_pod_below_the_set_blocks_once_a_pod_is_broken() -> None:
    findings = budgeted("minAvailable", 31)
    assert list(findings) == ["budget-blocks-when-broken"]
    assert findings["budget-blocks-when-broken"].seen == {"pods": "32", "evictions": "1"}


def test_such_a_budget_is_refused_in_our_own_output() -> None:
    operations: tuple[dict[str, Any], ...] = (
        {"op": "remove", "path": "/spec/maxUnavailable"},
        {"op": "add", "path": "/spec/minAvailable", "value": 31},
    )
    plan = planned(
        model(),
        parallelism=Parallelism(tensor=8, pipeline=8),
        groups=4,
        patches=(Patch(kind="PodDisruptionBudget", operations=operations),),
    )
    with pytest.raises(InputError, match="change `disruption`"):
        bundle(plan)


def test_a_budget_of_one_unavailable_pod_is_accepted_and_ours() -> None:
    assert budgeted("maxUnavailable", 1) == {}
    (budget,) = planned(
        model(), parallelism=Parallelism(tensor=8, pipeline=8), groups=4
    ).disruption.budgets
    assert (budget.max_unavailable, budget.min_available) == (1, None)


def named(length: int, groups: int) -> ServingPlan:
    return planned(
        model(), name="a" * length, groups=groups, parallelism=Parallelism(tensor=8, pipeline=2)
    )


@row("r30")
@pytest.mark.parametrize(("length", "groups", "bound"), [(54, 10, 50), (51, 10, 50), (50, 11, 49)])
def test_a_name_over_the_bound_of_the_highest_index_is_refused(
    length: int, groups: int, bound: int
) -> None:
    finding = refused(named(length, groups))["name-too-long"]
    assert finding.seen == {"length": str(length), "longest": str(bound)}


@pytest.mark.parametrize(("length", "groups"), [(50, 10), (49, 11)])
def test_a_name_at_the_bound_is_accepted(length: int, groups: int) -> None:
    assert refused(named(length, groups)) == {}


def scaled(quota: str) -> ClusterPlan:
    amounts = {
        "cpu": "100k",
        "memory": "100Ti",
        "ephemeral-storage": "1Pi",
        "nvidia.com/gpu": quota,
    }
    return summed(
        cluster(node(), kueue=KueueSettings(lws_framework="enabled", quota={"gpu": amounts})),
        parallelism=Parallelism(tensor=8, pipeline=2),
        groups=None,
        autoscaling=Autoscaling(min=2, max=5),
        rollout=Rollout(max_surge=0),
        admission=Admission(backend="kueue", queue="serving"),
        weights=Weights(read_bandwidth=BytesPerSecond.parse("2GiB/s")),
    )


@row("h09-p")
def test_a_quota_below_the_autoscalers_maximum_is_refused() -> None:
    findings = refused(scaled("64"))
    assert list(findings) == ["quota-too-small"]
    assert findings["quota-too-small"].seen == {"needed": "80", "quota": "64"}


def test_a_quota_for_the_autoscalers_maximum_is_accepted() -> None:
    plan = scaled("80")
    assert refused(plan) == {}
    assert plan.quota["gpu"]["nvidia.com/gpu"] == 80
