"""What only the objects of controllers say, as a configured kube-state-metrics shows them."""

from __future__ import annotations

from tests.signals.scenario import (
    Scenario,
    Series,
    bound,
    in_namespace,
    phase,
    series,
    steady,
    then,
)
from tests.signals.world import World, waiting

from gangform.plan.serving import ServingPlan


def of_set(name: str, of: str = "llm", **labels: str) -> str:
    kind = {"customresource_kind": "LeaderWorkerSet", "leaderworkerset": of}
    return series(f"leaderworkerset_{name}", **kind, **labels)


def updating(of: str) -> str:
    return of_set("status_condition", of, condition="UpdateInProgress", reason="GroupsUpdating")


def normal(plan: ServingPlan) -> Series:
    """Every generation is seen and nothing is rolled out; of the neighbour neither holds."""
    if not shown(plan):
        return {}
    found: Series = {}
    for name in (*World.of(plan).sets, "llm-x"):
        found |= {
            of_set("created", name): steady(1700000000),
            of_set("metadata_generation", name): steady(3),
            of_set("status_observed_generation", name): steady(2 if name == "llm-x" else 3),
            of_set("status_ready_replicas", name): steady(2),
            updating(name): steady(1 if name == "llm-x" else 0),
        }
    return found


def shown(plan: ServingPlan) -> bool:
    return bool(plan.monitoring.states) and plan.choice.form.can.makes_stateful_sets


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    if not shown(plan):
        return {}
    world = World.of(plan)
    name, late = world.sets[-1], world.leaders[-1]
    waits = [pod for pod in world.pods if pod == late or pod.startswith(f"{late}-")]
    blocked = in_namespace("ServingRolloutBlockedOnCapacity", len(waits))
    pending = in_namespace("ServingGroupPodsPending", len(waits))
    lagging = in_namespace("ServingControllerLagging", 4, leaderworkerset=name)
    one_less = {of_set("status_ready_replicas", name): then((2, 10), (1, 1))}
    return {
        "the controller does not see a change, and then it does": Scenario(
            {
                of_set("metadata_generation", name): then((3, 10), (4, 1)),
                of_set("status_observed_generation", name): then((3, 30), (4, 1)),
            },
            {19: [], 20: [lagging], 29: [lagging], 31: []},
        ),
        "an autoscaler writes again and again, and is seen": Scenario(
            {
                of_set("metadata_generation", name): " ".join(
                    f"{3 + turn}+0x9" for turn in range(9)
                ),
                of_set("status_observed_generation", name): "3+0x10 "
                + " ".join(f"{4 + turn}+0x9" for turn in range(8)),
            },
            {minute: [] for minute in (15, 40, 70)},
        ),
        "the controller is one that does not say what it saw": Scenario(
            {of_set("status_observed_generation", each): None for each in world.sets}, {90: []}
        ),
        "two exporters are there for a while": Scenario(
            {
                key.replace("{", '{instance="new",', 1): values
                for key, values in normal.items()
                if key.startswith("leaderworkerset_")
            },
            {90: []},
        ),
        "the new group of a rollout finds no room, and then it does": Scenario(
            {
                **one_less,
                updating(name): then((0, 10), (1, 40), (0, 1)),
                **{phase(pod): then((0, 10), (1, 40), (0, 1)) for pod in waits},
                **{bound(pod, f"node-of-{pod}"): f"1+0x9 stale _x39 {steady(1)}" for pod in waits},
            },
            {24: [], 39: [], 41: [blocked, pending], 49: [blocked, pending], 51: []},
        ),
        "the groups of a rollout are placed one after another": Scenario(
            {
                updating(name): steady(1),
                of_set("status_ready_replicas", name): " ".join(
                    f"{1 + turn % 2}+0x11" for turn in range(10)
                ),
                **{phase(pod): " ".join(["1+0x2 0+0x20"] * 5) for pod in waits},
                **{bound(pod, f"node-of-{pod}"): " ".join(["_x3 1+0x20"] * 5) for pod in waits},
            },
            {minute: [] for minute in (12, 30, 47, 60, 90)},
        ),
        "pods wait, and nothing is rolled out": Scenario(
            {key: value for pod in waits for key, value in waiting(pod, f"node-of-{pod}").items()},
            {29: [], 30: [pending]},
        ),
        "a rollout is long, and no pod waits": Scenario({updating(name): steady(1)}, {90: []}),
    }
