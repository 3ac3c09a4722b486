"""What may happen to a Deployment, and which alert fires at which minute."""

from __future__ import annotations

from tests.signals.scenario import (
    Scenario,
    Series,
    by_two_exporters,
    endpoints,
    in_another_namespace,
    in_namespace,
    series,
    steady,
    then,
    up,
)
from tests.signals.world import elsewhere

from gangform.plan.serving import ServingPlan
from gangform.signals import records


def serves(ready: int, desired: int) -> dict[str, float]:
    """What is recorded of so many ready and wanted pods; no share of nothing. Their GPUs are those of the form."""
    found: dict[str, float] = {records.READY: ready, records.DESIRED: desired}
    return {**found, records.SHARE: ready / desired} if desired else found


def recorded(name: str, namespace: str, serving: str) -> str:
    return f'{name}{{namespace="{namespace}",serving="{serving}"}}'


def status(name: str, deployment: str = "llm") -> str:
    return series(f"kube_deployment_{name}", deployment=deployment)


WANTED, PODS = status("spec_replicas"), status("status_replicas")
READY, UPDATED = status("status_replicas_ready"), status("status_replicas_updated")
DEPLOYMENT: Series = {
    **{name: steady(2) for name in (WANTED, PODS, READY, UPDATED)},
    up("llm-5f-a"): steady(1),
    up("llm-5f-b"): steady(1),
    # A neighbour with more of everything, in the middle of a rollout that stands.
    status("spec_replicas", "llm-x"): steady(9),
    status("status_replicas", "llm-x"): steady(9),
    status("status_replicas_ready", "llm-x"): steady(7),
    status("status_replicas_updated", "llm-x"): steady(3),
    **endpoints(["llm-5f-a", "llm-5f-b"]),
}
NO_ENDPOINTS: dict[str, str | None] = {name: None for name in DEPLOYMENT if "endpoints{" in name}
ONE_ENDPOINT = {name: None for name in NO_ENDPOINTS if "llm-5f-b" in name}
DEPLOYMENT_SCENARIOS = {
    "nothing is wrong": Scenario({}, {1: [], 90: []}, {5: serves(2, 2)}),
    "others are recorded too": Scenario(
        {
            recorded(name, *whose): steady(5)
            for name in (records.READY, records.DESIRED)
            for whose in (("m", "llm-x"), ("n", "llm"))
        },
        {90: []},
        {5: serves(2, 2)},
    ),
    "one pod is not ready": Scenario(
        {READY: steady(1), **ONE_ENDPOINT},
        {19: [], 20: [in_namespace("ServingGroupsNotReady", 1)]},
        {5: serves(1, 2)},
    ),
    "no pod is ready": Scenario(
        {READY: then((2, 10), (0, 1)), **dict.fromkeys(NO_ENDPOINTS, "1+0x9 stale")},
        {
            14: [],
            15: [in_namespace("ServingNoGroupReady", 0)],
            60: [in_namespace("ServingNoGroupReady", 0), in_namespace("ServingGroupsNotReady", 0)],
        },
        {5: serves(2, 2), 15: serves(0, 2)},
    ),
    "it is one, and dies soon after its first start": Scenario(
        {
            **{name: steady(1) for name in (WANTED, PODS, UPDATED)},
            READY: then((0, 5), (1, 5), (0, 1)),
            **NO_ENDPOINTS,
            **dict.fromkeys(ONE_ENDPOINT, "_x5 1+0x4 stale"),
            up("llm-5f-a"): None,
        },
        {14: [], 15: [in_namespace("ServingNoGroupReady", 0)]},
    ),
    "a pod is replaced and does not come back": Scenario(
        {
            READY: then((2, 5), (1, 1)),
            PODS: then((2, 5), (1, 2), (2, 1)),
            UPDATED: then((2, 5), (1, 2), (2, 1)),
            **dict.fromkeys(ONE_ENDPOINT, "1+0x4 stale"),
        },
        {24: [], 25: [in_namespace("ServingGroupsNotReady", 1)]},
    ),
    "a rollout in which pods get ready": Scenario(
        {
            PODS: steady(3),
            UPDATED: steady(1),
            READY: " ".join(f"{1 + turn % 2}+0x14" for turn in range(8)),
            **dict.fromkeys(ONE_ENDPOINT, " ".join(["_x15 1+0x14"] * 4)),
        },
        {45: [], 75: []},
    ),
    "slices are not exported": Scenario(
        {name: None for name in DEPLOYMENT if "endpointslice" in name}, {60: []}
    ),
    "all is wrong elsewhere": Scenario(
        in_another_namespace(
            {**DEPLOYMENT, READY: steady(0), PODS: steady(3), UPDATED: steady(1), **NO_ENDPOINTS}
        ),
        {60: []},
        {60: serves(2, 2)},
    ),
    "two exporters show one pod that is not ready": Scenario(
        {
            **by_two_exporters({**DEPLOYMENT, READY: steady(1), **ONE_ENDPOINT}),
            READY: steady(1),
            **ONE_ENDPOINT,
        },
        {19: [], 20: [in_namespace("ServingGroupsNotReady", 1)]},
        {5: serves(1, 2)},
    ),
    "two exporters show a surge pod that never gets ready": Scenario(
        {
            **by_two_exporters({**DEPLOYMENT, PODS: steady(3), UPDATED: steady(1)}),
            PODS: steady(3),
            UPDATED: steady(1),
        },
        {40: [in_namespace("ServingRolloutStalled", 3)]},
    ),
    "it starts for the first time": Scenario(
        {READY: then((0, 15), (2, 1)), **dict.fromkeys(NO_ENDPOINTS, f"_x15 {steady(1)}")},
        {minute: [] for minute in (6, 14, 19, 26, 60)},
    ),
    "it never starts": Scenario(
        {READY: steady(0), **NO_ENDPOINTS},
        {
            19: [],
            20: [in_namespace("ServingGroupsNotReady", 0)],
            24: [in_namespace("ServingGroupsNotReady", 0)],
            25: [in_namespace("ServingNoGroupReady", 0), in_namespace("ServingGroupsNotReady", 0)],
        },
    ),
    "it was at zero for a while": Scenario(
        {
            **{name: then((2, 10), (0, 15), (2, 1)) for name in (WANTED, PODS, UPDATED)},
            READY: then((2, 10), (0, 30), (2, 1)),
            **{name: f"1+0x9 stale _x29 {steady(1)}" for name in NO_ENDPOINTS},
        },
        {minute: [] for minute in (12, 20, 26, 32, 39, 60)},
    ),
    "nobody scrapes it": Scenario(
        {up("llm-5f-a"): steady(0), up("llm-5f-b"): None},
        {9: [], 10: [in_namespace("ServingLeaderNotScraped", 2)]},
    ),
    "one is not scraped any more": Scenario(
        {up("llm-5f-b"): then((1, 10), (0, 20), (1, 1))},
        {19: [], 20: [in_namespace("ServingLeaderNotScraped", 1)], 40: []},
    ),
    "scaled to zero": Scenario(
        {**{name: steady(0) for name in (WANTED, PODS, READY, UPDATED)}, **NO_ENDPOINTS},
        {90: []},
        {90: serves(0, 0)},
    ),
    "more are ready than wanted, as one goes": Scenario(
        {READY: steady(3)}, {2: []}, {2: {**serves(3, 2), records.SHARE: 1}}
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
        ONE_ENDPOINT, {5: [], 6: [in_namespace("ServingLeaderEndpointsMismatch", 1)]}
    ),
    "no pod is an endpoint": Scenario(
        NO_ENDPOINTS, {6: [in_namespace("ServingLeaderEndpointsMismatch", 0)]}
    ),
}


def is_deployment(plan: ServingPlan) -> bool:
    return not plan.choice.form.can.makes_stateful_sets


def normal(plan: ServingPlan) -> Series:
    return {**elsewhere(DEPLOYMENT), **DEPLOYMENT} if is_deployment(plan) else {}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    if not is_deployment(plan):
        return {}
    gpus = plan.lead.shape.gpus
    return {
        name: each._replace(
            records={
                minute: {**values, records.GPUS: values[records.READY] * gpus}
                for minute, values in each.records.items()
            }
        )
        for name, each in DEPLOYMENT_SCENARIOS.items()
    }
