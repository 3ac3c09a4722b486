"""What may happen to an autoscaler, and which alert fires at which minute."""

from __future__ import annotations

from tests.signals.scenario import Scenario, Series, in_namespace, series, steady

from gangform.plan.serving import ServingPlan


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
        {BLIND: steady(1)}, {14: [], 15: [in_namespace("ServingAutoscalerBlind", 1)]}
    ),
}


def normal(plan: ServingPlan) -> Series:
    return AUTOSCALER if plan.lead.scaling else {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    return AUTOSCALER_SCENARIOS if plan.lead.scaling else {}
