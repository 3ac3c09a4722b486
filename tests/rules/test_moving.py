"""Who may move groups: what is left without a budget, and what node autoscalers read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.rules.test_disruption import LABELS, LWS, SIZE, of_group

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

ROLLOUT = "spec>rolloutStrategy>rollingUpdateConfiguration"


def kept(make: Make, *indexes: int) -> list[dict[str, Any]]:
    return [of_group(make, index, minAvailable=4) for index in indexes]


def fleet(make: Make, groups: int, **rollout: Any) -> dict[str, Any]:
    return make("set", {"spec>replicas": groups, SIZE: 4, ROLLOUT: rollout})


def test_no_more_groups_are_without_a_budget_than_may_be_missing(
    make: Make, refused: Check, accepted: Check
) -> None:
    at = "LeaderWorkerSet/r1 spec.replicas ~ 2 groups of 4 (1, 3) have no budget, and a rollout takes down 1"
    refused("groups-without-budget", at, fleet(make, 4), *kept(make, 0, 2))
    accepted("groups-without-budget", fleet(make, 4), *kept(make, 0, 2, 3))
    accepted("groups-without-budget", fleet(make, 4), *kept(make, 0, 1, 2, 3))
    two = fleet(make, 4, maxUnavailable=2, maxSurge=0)
    accepted("groups-without-budget", two, *kept(make, 0, 2))
    refused("groups-without-budget", "spec.replicas ~ rollout takes down 2", two, *kept(make, 0))
    # A surge first takes none down, and its groups beyond the wanted ones have no budget.
    surging = fleet(make, 4, maxUnavailable=0, maxSurge=3)
    accepted("groups-without-budget", surging, *kept(make, 0, 1, 2))
    refused("groups-without-budget", "spec.replicas ~ (2, 3)", surging, *kept(make, 0, 1))
    share = fleet(make, 8, maxUnavailable="25%", maxSurge=0)
    accepted("groups-without-budget", share, *kept(make, *range(6)))
    refused("groups-without-budget", "spec.replicas ~ takes down 2", share, *kept(make, *range(5)))
    refused(
        "groups-without-budget",
        "spec.replicas ~ (1, 2, 3, 4, 5, 6, 7, 8 …)",
        fleet(make, 40),
        *kept(make, 0),
    )


def test_budgets_that_are_not_a_group_each_are_another_matter(
    make: Make, refused: Check, accepted: Check
) -> None:
    accepted("groups-without-budget", fleet(make, 4))
    accepted("groups-without-budget", fleet(make, 4), make("budget"))
    accepted("groups-without-budget", fleet(make, 4), make("budget"), *kept(make, 0))
    accepted("groups-without-budget", make("set", {"spec>replicas": ..., SIZE: 4}), *kept(make, 0))
    scaled = make("set", {"spec>replicas": 4, SIZE: 4})
    accepted("groups-without-budget", scaled, make("scaler"), *kept(make, 0))
    elsewhere = make("budget", {"metadata>namespace": "other"})
    refused(
        "groups-without-budget",
        "spec.replicas ~ (1, 2, 3)",
        fleet(make, 4),
        elsewhere,
        *kept(make, 0),
    )
    rows = [{"key": f"{LWS}group-index", "operator": "In", "values": ["1", "2"]}]
    choosy = make("budget", {"metadata>name": "more", "spec>selector>matchExpressions": rows})
    accepted("groups-without-budget", fleet(make, 4), choosy, *kept(make, 0))
    leaders = make("budget", {"metadata>name": "l", LABELS: {f"{LWS}worker-index": "0"}})
    accepted("groups-without-budget", fleet(make, 4), leaders, *kept(make, 0))


SAFE, KEEP = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"


@pytest.mark.parametrize(("key", "stays", "goes"), [(SAFE, "false", "true"), (KEEP, "true", "30m")])
def test_what_keeps_a_node_autoscaler_away_is_on_the_whole_group(
    make: Make, refused: Check, accepted: Check, key: str, stays: str, goes: str
) -> None:
    def group(leader: Any, workers: Any) -> dict[str, Any]:
        notes = ((("L", leader), ("W", workers)),)
        return make(
            "set",
            {
                f"{side}>metadata>annotations": {key: value}
                for pairs in notes
                for side, value in pairs
                if value is not None
            },
        )

    at = "workerTemplate.metadata.annotations ~ take a node of the workers"
    refused("autoscaler-kept-from-part", at, group(stays, None))
    refused("autoscaler-kept-from-part", at, group(stays, goes))
    refused(
        "autoscaler-kept-from-part",
        "leaderTemplate.metadata.annotations ~ a node of the leader",
        group(None, stays),
    )
    accepted("autoscaler-kept-from-part", group(stays, stays))
    accepted("autoscaler-kept-from-part", group(None, None))
    accepted("autoscaler-kept-from-part", group(goes, None))
    lone = make("set", {SIZE: 1, "L>metadata>annotations": {key: stays}})
    accepted("autoscaler-kept-from-part", lone)
