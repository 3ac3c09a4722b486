"""What may happen to a Deployment, and which alert fires at which minute."""

from __future__ import annotations

from tests.signals.scenario import Scenario, Series, endpoints, in_namespace, series, steady, then

from gangform.plan.serving import ServingPlan


def status(name: str, deployment: str = "llm") -> str:
    return series(f"kube_deployment_{name}", deployment=deployment)


WANTED, PODS = status("spec_replicas"), status("status_replicas")
READY, UPDATED = status("status_replicas_ready"), status("status_replicas_updated")
DEPLOYMENT: Series = {
    **{name: steady(2) for name in (WANTED, PODS, READY, UPDATED)},
    status("spec_replicas", "llm-x"): steady(2),
    status("status_replicas_ready", "llm-x"): steady(0),
    **endpoints(["llm-5f-a", "llm-5f-b"]),
}
NO_ENDPOINTS: dict[str, str | None] = {name: None for name in DEPLOYMENT if "endpoints{" in name}
ONE_ENDPOINT = {name: None for name in NO_ENDPOINTS if "llm-5f-b" in name}
DEPLOYMENT_SCENARIOS = {
    "nothing is wrong": Scenario({}, {1: [], 90: []}),
    "one pod is not ready": Scenario(
        {READY: steady(1), **ONE_ENDPOINT}, {19: [], 20: [in_namespace("ServingGroupsNotReady", 1)]}
    ),
    "no pod is ready": Scenario(
        {READY: steady(0), **NO_ENDPOINTS},
        {
            4: [],
            5: [in_namespace("ServingNoGroupReady", 0)],
            20: [in_namespace("ServingNoGroupReady", 0), in_namespace("ServingGroupsNotReady", 0)],
        },
    ),
    "scaled to zero": Scenario(
        {**{name: steady(0) for name in (WANTED, PODS, READY, UPDATED)}, **NO_ENDPOINTS}, {90: []}
    ),
    "a surge pod never gets ready": Scenario(
        {PODS: then((2, 20), (3, 1)), UPDATED: then((2, 20), (1, 1))},
        {40: [], 54: [], 56: [in_namespace("ServingRolloutStalled", 3)]},
    ),
    "a healthy rollout takes one pod after another": Scenario(
        {
            READY: then((2, 5), (1, 40), (2, 1)),
            UPDATED: then((2, 5), (0, 20), (1, 20), (2, 1)),
            **{name: f"1+0x4 stale _x39 {steady(1)}" for name in ONE_ENDPOINT},
        },
        {minute: [] for minute in (10, 26, 44, 60, 90)},
    ),
    "a pod does not come back from its update": Scenario(
        {
            READY: then((2, 5), (1, 1)),
            UPDATED: then((2, 5), (1, 1)),
            **dict.fromkeys(ONE_ENDPOINT, "1+0x4 stale"),
        },
        {
            30: [],
            57: [
                in_namespace("ServingGroupsNotReady", 1),
                in_namespace("ServingRolloutStalled", 2),
            ],
        },
    ),
    "it is absent": Scenario(
        {name: None for name in DEPLOYMENT if '"llm"' in name} | NO_ENDPOINTS,
        {
            14: [],
            15: [in_namespace("ServingGroupsAbsent", job="kube-state-metrics", deployment="llm")],
        },
    ),
    "a ready pod is no endpoint": Scenario(
        ONE_ENDPOINT, {4: [], 5: [in_namespace("ServingLeaderEndpointsMismatch", 1)]}
    ),
    "no pod is an endpoint": Scenario(
        NO_ENDPOINTS, {5: [in_namespace("ServingLeaderEndpointsMismatch", 0)]}
    ),
}


def is_deployment(plan: ServingPlan) -> bool:
    return not plan.choice.form.can.makes_stateful_sets


def normal(plan: ServingPlan) -> Series:
    return DEPLOYMENT if is_deployment(plan) else {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    return DEPLOYMENT_SCENARIOS if is_deployment(plan) else {}
