"""What may happen to a Deployment and under an autoscaler, and the scenarios of each form."""

from __future__ import annotations

from tests.signals.group_scenarios import GROUP_SCENARIOS
from tests.signals.scaler_scenarios import BY_KEDA, KEDA_SCENARIOS, TO_ZERO, ZERO_SCENARIOS
from tests.signals.scenario import (
    Scenario,
    Series,
    World,
    endpoints,
    in_namespace,
    series,
    steady,
    then,
)

from gangform.plan.serving import ServingPlan

SCALED = ["autoscaled", "by keda", "to zero"]
FORMS = ["groups", "groups of one", "sets of one group", "deployment", *SCALED, "canary"]
OF_GROUPS = ["groups", "groups of one", "sets of one group"]


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


def scaler(name: str, of: str = "llm", **labels: str) -> str:
    return series(f"kube_horizontalpodautoscaler_{name}", horizontalpodautoscaler=of, **labels)


WISH = scaler("status_desired_replicas")
BLIND = scaler("status_condition", condition="ScalingActive", status="false")
AUTOSCALER: Series = {
    scaler("spec_max_replicas"): steady(4),
    WISH: steady(2),
    BLIND: steady(0),
    scaler("spec_max_replicas", "llm-x"): steady(4),
    scaler("status_desired_replicas", "llm-x"): steady(4),
}
AUTOSCALER_SCENARIOS = {
    "it follows the load": Scenario({}, {90: []}),
    "it wants all it may": Scenario(
        {WISH: steady(4)}, {29: [], 30: [in_namespace("ServingAutoscalerAtMax", 4)]}
    ),
    "it cannot read its metric": Scenario(
        {BLIND: then((1, 30), (0, 1))},
        {19: [], 20: [in_namespace("ServingAutoscalerBlind", 1)], 31: []},
    ),
    "it has none before its first leader answers": Scenario(
        {BLIND: then((1, 17), (0, 1))}, {minute: [] for minute in (14, 16, 20, 90)}
    ),
}


def scenarios(form: str, plan: ServingPlan) -> tuple[Series, dict[str, Scenario]]:
    """The normal state of a form, and its scenarios by name."""
    if form == "deployment":
        return DEPLOYMENT, DEPLOYMENT_SCENARIOS
    world = World.of(plan)
    if form in SCALED:
        own, cases = {
            "autoscaled": (AUTOSCALER, AUTOSCALER_SCENARIOS),
            "by keda": (BY_KEDA, KEDA_SCENARIOS),
            "to zero": (TO_ZERO, ZERO_SCENARIOS),
        }[form]
        return {**world.healthy(), **own}, cases
    return world.healthy(), {make.__name__: make(world) for make in GROUP_SCENARIOS}
