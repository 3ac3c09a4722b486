"""What may happen to an autoscaler, ours or KEDA's, and which alert fires at which minute."""

from __future__ import annotations

from tests.signals.group_scenarios import pods_of_another
from tests.signals.scenario import Scenario, Series, in_namespace, series, steady, then, wanted
from tests.signals.world import World

from gangform.plan.scaling import ScalingPlan
from gangform.plan.serving import ServingPlan

LABEL = "leaderworkerset_sigs_k8s_io_name"
QUEUE = 'queue{gateway="llm"}'
AT_MAX, BLIND = "ServingAutoscalerAtMax", "ServingAutoscalerBlind"
LOST = "ServingAutoscalerSignalLost"


def scaler(name: str, of: str = "llm", **labels: str) -> str:
    return series(f"kube_horizontalpodautoscaler_{name}", horizontalpodautoscaler=of, **labels)


def wish(of: str) -> str:
    return scaler("status_desired_replicas", of)


def most(of: str) -> str:
    return scaler("spec_max_replicas", of)


def inactive(of: str) -> str:
    return scaler("status_condition", of, condition="ScalingActive", status="false")


def engine(of: str = "llm", rank: str = "0", namespace: str = "m") -> str:
    labels = f'{LABEL}="{of}",pod="{of}-0",engine="{rank}"'
    return f'vllm:num_requests_waiting{{namespace="{namespace}",{labels}}}'


def normal(plan: ServingPlan) -> Series:
    scaling = plan.lead.scaling
    if scaling is None:
        return {}
    name = scaling.autoscaler
    found: Series = {most(name): steady(4), wish(name): steady(2), inactive(name): steady(0)}
    # A sibling, and an autoscaler of others that is called like the serving.
    for other in {"llm-x", "keda-hpa-llm-x", "llm"} - {name}:
        found |= {most(other): steady(4), wish(other): steady(4)}
    if scaling.keda is not None:
        found |= {engine(): steady(3), engine(rank="1"): steady(0)}
        found |= {engine("llm-x"): steady(9), engine(namespace="n"): steady(9)}
    return {**found, QUEUE: steady(0)} if not scaling.lowest else found


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    scaling = plan.lead.scaling
    if scaling is None:
        return {}
    name = scaling.autoscaler
    every = {
        "it follows the load": Scenario({}, {1: [], 90: []}),
        "it wants all it may": Scenario(
            {wish(name): steady(4)}, {29: [], 30: [in_namespace(AT_MAX, 4)]}
        ),
        "it cannot read its metric": Scenario(
            {inactive(name): then((1, 30), (0, 1))},
            {19: [], 20: [in_namespace(BLIND, 1)], 31: []},
        ),
        "it has none before its first leader answers": Scenario(
            {inactive(name): then((1, 17), (0, 1))}, {minute: [] for minute in (14, 16, 20, 90)}
        ),
    }
    if scaling.keda is None:
        return every
    return {
        **every,
        **(_from_zero(plan, scaling) if not scaling.lowest else _by_keda(scaling, normal)),
    }


def _by_keda(scaling: ScalingPlan, normal: Series) -> dict[str, Scenario]:
    """KEDA keeps what is there while its query has no result, and its autoscaler sees nothing of it."""
    name, ours = scaling.autoscaler, ('namespace="m"', f'{LABEL}="llm"')
    waiting = (each for each in normal if each.startswith("vllm:num_requests_waiting{"))
    none = {each: None for each in waiting if all(label in each for label in ours)}
    lost = in_namespace(LOST, 2)
    return {
        "nobody scrapes the leaders": Scenario(
            {**none, engine(): "3+0x9 stale"}, {29: [], 30: [lost]}
        ),
        "the first leader still loads": Scenario(
            {**none, engine(): f"_x15 {steady(0)}"}, {minute: [] for minute in (10, 15, 19, 90)}
        ),
        "the series come back": Scenario(
            {**none, engine(): f"_x40 {steady(0)}"}, {19: [], 30: [lost], 41: []}
        ),
        "KEDA is not there": Scenario(
            {most(name): None, wish(name): None, inactive(name): None}, {90: []}
        ),
    }


def _from_zero(plan: ServingPlan, scaling: ScalingPlan) -> dict[str, Scenario]:
    """To zero groups and back: nothing is wrong there unless nobody counts the requests that wait."""
    world, name = World.of(plan), scaling.autoscaler
    rest: dict[str, str | None] = {
        **pods_of_another(world),
        **dict.fromkeys(map(wanted, world.sets), steady(0)),
        engine(): None,
        engine(rank="1"): None,
        wish(name): steady(0),
        inactive(name): steady(1),
    }
    forgotten = in_namespace(LOST, 4)
    return {
        "no group is there, and none is wanted": Scenario(rest, {1: [], 20: [], 90: []}),
        "nobody counts the requests that wait": Scenario(
            {**rest, QUEUE: f"_x30 {steady(0)}"}, {19: [], 20: [forgotten], 31: []}
        ),
        "the front end is restarted": Scenario(
            {**rest, QUEUE: f"0+0x19 _x10 {steady(0)}"}, {minute: [] for minute in (25, 40)}
        ),
        "nobody counts them beside groups that serve": Scenario(
            {QUEUE: None}, {19: [], 20: [forgotten]}
        ),
    }
