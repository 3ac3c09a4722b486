"""Budgets: the rows of `lab E3`, and both variants of the row r28 of the planning cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


LWS = "leaderworkerset.sigs.k8s.io/"
LABELS = "spec>selector>matchLabels"
SIZE = "spec>leaderWorkerTemplate>size"


def of_group(make: Make, index: int = 0, **spec: Any) -> dict[str, Any]:
    """A budget of one group, in the form that `spec` says."""
    changes = {f"{LABELS}>{LWS}group-index": str(index), "metadata>name": f"r1-{index}"}
    forms: dict[str, Any] = {"spec>maxUnavailable": ...}
    return make("budget", {**changes, **forms, **{f"spec>{key}": v for key, v in spec.items()}})


def test_a_pod_has_one_budget(make: Make, refused: Check, accepted: Check) -> None:
    four = make("set", {"spec>replicas": 4})
    second = make("budget", {"metadata>name": "other", LABELS: {"app.kubernetes.io/name": "r1"}})
    refused(
        "budgets-overlap",
        "PodDisruptionBudget/other spec.selector ~ pods of LeaderWorkerSet r1 are matched by PodDisruptionBudget r1",
        four,
        make("budget"),
        second,
    )
    one = of_group(make, 1, minAvailable=2)
    refused("budgets-overlap", "PodDisruptionBudget/r1-1 spec.selector", four, make("budget"), one)
    accepted("budgets-overlap", four, one, of_group(make, 2, minAvailable=2))
    accepted("budgets-overlap", four, make("budget"))
    elsewhere = make("budget", {"metadata>namespace": "other"})
    accepted("budgets-overlap", four, make("budget"), elsewhere)


def test_a_budget_of_one_group_expects_more_pods_than_it_has(
    make: Make, refused: Check, accepted: Check
) -> None:
    four = make("set", {"spec>replicas": 4, SIZE: 4})
    for form in ({"maxUnavailable": 0}, {"maxUnavailable": 1}, {"minAvailable": "100%"}):
        at = f"spec.{next(iter(form))} ~ 4 + 4 - 1 = 7"
        refused("budget-per-group-never-met", at, four, of_group(make, **form))
    accepted("budget-per-group-never-met", four, of_group(make, minAvailable=4))
    accepted("budget-per-group-never-met", four, make("budget"))
    alone = make("set", {"spec>replicas": 1, SIZE: 4})
    accepted("budget-per-group-never-met", alone, of_group(make, maxUnavailable=1))
    refused(
        "budget-per-group-never-met", "spec.maxUnavailable", alone, of_group(make, maxUnavailable=0)
    )


def test_a_budget_of_one_group_keeps_it_whole(make: Make, refused: Check, accepted: Check) -> None:
    four = make("set", {"spec>replicas": 4, SIZE: 4})
    for least in (3, 5):
        at = "spec.minAvailable ~ minAvailable: 4"
        refused("budget-per-group-size", at, four, of_group(make, minAvailable=least))
    accepted("budget-per-group-size", four, of_group(make, minAvailable=4), make("budget"))


def test_a_budget_of_one_group_and_an_autoscaler_exclude_each_other(
    make: Make, refused: Check, accepted: Check
) -> None:
    scaled = make("set", {"spec>replicas": ...})
    one = of_group(make, minAvailable=2)
    at = "spec.selector ~ between 2 and 5"
    refused("budget-per-group-scaled", at, scaled, one, make("scaler"))
    accepted("budget-per-group-scaled", make("set"), one)
    accepted("budget-per-group-scaled", scaled, make("budget"), make("scaler"))


def test_a_budget_has_its_group(make: Make, refused: Check, accepted: Check) -> None:
    late = of_group(make, 2, minAvailable=2)
    refused("budget-of-absent-group", "spec.selector ~ 2 groups, from 0", make("set"), late)
    accepted("budget-of-absent-group", make("set"), of_group(make, 1, minAvailable=2))


def test_workers_have_a_budget_too(make: Make, refused: Check, accepted: Check) -> None:
    leaders = make("budget", {f"{LABELS}>{LWS}worker-index": "0"})
    refused("budget-of-leaders-only", "spec.selector ~ the 1 worker of", make("set"), leaders)
    accepted("budget-of-leaders-only", make("set"), make("budget"))
    accepted("budget-of-leaders-only", make("set", {SIZE: 1}), leaders)


def test_a_budget_lets_one_group_go(make: Make, refused: Check, accepted: Check) -> None:
    """r28-a and r28-b: 4 groups of 8."""
    big = make("set", {"spec>replicas": 4, SIZE: 8})

    def whole(**spec: Any) -> dict[str, Any]:
        forms = {f"spec>{key}": value for key, value in spec.items()}
        return make("budget", {"spec>maxUnavailable": ..., **forms})

    at = "PodDisruptionBudget/r1 spec.minAvailable ~ 8 evictions at once, which may take 4 groups"
    refused("budget-allows-many-groups", at, big, whole(minAvailable=24))
    refused("budget-allows-many-groups", "spec.maxUnavailable", big, whole(maxUnavailable=2))
    refused("budget-allows-many-groups", "spec.maxUnavailable", big, whole(maxUnavailable="10%"))
    refused("budget-allows-many-groups", "spec.minAvailable", big, whole(minAvailable="75%"))
    for sound in (whole(maxUnavailable=1), whole(minAvailable=31)):
        accepted("budget-allows-many-groups", big, sound)
    at = "spec.minAvailable ~ leaves 1 eviction, and"
    refused("budget-blocks-when-broken", at, big, whole(minAvailable=31))
    refused("budget-blocks-when-broken", "spec.maxUnavailable", big, whole(maxUnavailable=0))
    accepted("budget-blocks-when-broken", big, whole(maxUnavailable=1), whole(minAvailable=24))
    alone = make("set", {"spec>replicas": 1})
    accepted("budget-blocks-when-broken", alone, whole(minAvailable=2))


def test_a_broken_pod_may_go(make: Make, refused: Check, accepted: Check) -> None:
    kept = make("budget", {"spec>unhealthyPodEvictionPolicy": ...})
    refused("budget-keeps-broken-pods", "spec.unhealthyPodEvictionPolicy", make("set"), kept)
    accepted("budget-keeps-broken-pods", make("set"), make("budget"))
    accepted("budget-keeps-broken-pods", kept)


def test_a_budget_of_a_set_is_a_whole_number(make: Make, refused: Check, accepted: Check) -> None:
    at = "PodDisruptionBudget/r1 spec.maxUnavailable ~ allows 1 eviction now"
    refused("budget-in-percent", at, make("set"), make("budget", {"spec>maxUnavailable": "25%"}))
    one = make("set", {"spec>replicas": 1, "spec>leaderWorkerTemplate>size": 4})
    half = make("budget", {"spec>maxUnavailable": ..., "spec>minAvailable": "50%"})
    refused("budget-in-percent", "spec.minAvailable ~ allows 2", one, half)
    accepted("budget-in-percent", make("set"), make("budget"))
    accepted("budget-in-percent", make("set"), make("budget", {"spec>maxUnavailable": "50%"}))
    accepted(
        "budget-in-percent", make("deployment"), make("budget", {"spec>maxUnavailable": "25%"})
    )
