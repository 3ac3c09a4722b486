"""What may happen under KEDA: with groups that always stay, and from zero groups and back."""

from __future__ import annotations

from tests.signals.scenario import Scenario, Series, in_namespace, series, steady, then

SCALER = "keda-hpa-llm"
LABEL = "leaderworkerset_sigs_k8s_io_name"
QUEUE = 'queue{gateway="llm"}'


def scaler(name: str, of: str = SCALER, **labels: str) -> str:
    return series(f"kube_horizontalpodautoscaler_{name}", horizontalpodautoscaler=of, **labels)


def engine(of: str = "llm", rank: str = "0", namespace: str = "m") -> str:
    return (
        f'vllm:num_requests_waiting{{namespace="{namespace}",{LABEL}="{of}",pod="{of}-0",'
        f'engine="{rank}"}}'
    )


WISH, MOST = scaler("status_desired_replicas"), scaler("spec_max_replicas")
INACTIVE = scaler("status_condition", condition="ScalingActive", status="false")
BY_KEDA: Series = {
    MOST: steady(4),
    WISH: steady(2),
    INACTIVE: steady(0),
    engine(): steady(3),
    engine(rank="1"): steady(0),
    # A sibling, the same name elsewhere, and an autoscaler of others that is called like the serving.
    engine("llm-x"): steady(9),
    engine(namespace="n"): steady(9),
    scaler("spec_max_replicas", "llm"): steady(4),
    scaler("status_desired_replicas", "llm"): steady(4),
}
SILENT: dict[str, str | None] = {engine(): None, engine(rank="1"): None}
LOST = in_namespace("ServingAutoscalerSignalLost", 2)
KEDA_SCENARIOS = {
    "it follows the load": Scenario({}, {1: [], 90: []}),
    "it wants all it may": Scenario(
        {WISH: steady(4)}, {29: [], 30: [in_namespace("ServingAutoscalerAtMax", 4)]}
    ),
    "KEDA serves no metric": Scenario(
        {INACTIVE: then((1, 30), (0, 1))},
        {19: [], 20: [in_namespace("ServingAutoscalerBlind", 1)], 31: []},
    ),
    "nobody scrapes the leaders": Scenario(
        {engine(): "3+0x9 stale", engine(rank="1"): None},
        {29: [], 30: [LOST]},
    ),
    "the first leader still loads": Scenario(
        {WISH: steady(2), engine(): f"_x15 {steady(0)}", engine(rank="1"): None},
        {10: [], 15: [], 19: [], 21: [], 90: []},
    ),
    "the series come back": Scenario(
        {engine(): f"_x40 {steady(0)}", engine(rank="1"): None}, {19: [], 30: [LOST], 41: []}
    ),
    "no autoscaler is there": Scenario(
        {**SILENT, MOST: None, WISH: None, INACTIVE: None}, {90: []}
    ),
}

TO_ZERO: Series = {**BY_KEDA, WISH: steady(1), QUEUE: steady(0)}
REST: dict[str, str | None] = {**SILENT, WISH: steady(0), INACTIVE: steady(1)}
FORGOTTEN = in_namespace("ServingAutoscalerSignalLost", 4)
ZERO_SCENARIOS = {
    "one group serves": Scenario({}, {90: []}),
    "no group is there, and none is wanted": Scenario(REST, {1: [], 20: [], 90: []}),
    "a group is made again": Scenario(
        {
            **REST,
            WISH: then((0, 20), (1, 1)),
            INACTIVE: then((1, 20), (0, 1)),
            engine(): f"_x35 {steady(1)}",
        },
        {minute: [] for minute in (19, 30, 45, 90)},
    ),
    "nobody counts the requests that wait": Scenario(
        {**REST, QUEUE: None}, {19: [], 20: [FORGOTTEN]}
    ),
    "the front end is restarted": Scenario(
        {**REST, QUEUE: f"0+0x19 _x10 {steady(0)}"}, {minute: [] for minute in (25, 40)}
    ),
    "KEDA serves no metric": Scenario(
        {INACTIVE: steady(1)}, {19: [], 20: [in_namespace("ServingAutoscalerBlind", 1)]}
    ),
    "it wants all it may": Scenario(
        {WISH: steady(4)}, {29: [], 30: [in_namespace("ServingAutoscalerAtMax", 4)]}
    ),
}
