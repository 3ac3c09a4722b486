"""A lost pod takes its group, whole and alone: the group is made again, and the other one is not touched.

Five servings lose a pod side by side, each in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw, claimed
from tests.cluster.nodes import NOT_READY
from tests.cluster.scenarios import each, now_there, put_nodes, settle, watching_each, with_pools
from tests.cluster.servings import apply, make, ready_groups
from tests.cluster.watch import Watch

from gangform.plan.serving import ServingPlan

GROUPS, SIZE = 2, 3

Loss = Callable[[ControlPlane, ServingPlan, Object], None]


def evict(plane: ControlPlane, plan: ServingPlan, pod: Object) -> None:
    assert plane.api.evict(plan.namespace, pod["metadata"]["name"]) == 201


def restart(plane: ControlPlane, plan: ServingPlan, pod: Object) -> None:
    path = f"/api/v1/namespaces/{plan.namespace}/pods/{pod['metadata']['name']}"
    plane.api.merge(path, {"metadata": {"annotations": {"kubelet.test/restart": "true"}}})


def lose_node(plane: ControlPlane, plan: ServingPlan, pod: Object) -> None:
    labels = {"metadata": {"labels": {NOT_READY: "true"}}}
    plane.api.merge(f"/api/v1/nodes/{pod['spec']['nodeName']}", labels)


LOSSES: Mapping[str, tuple[str, Loss]] = {
    "evicted": ("0-1", evict),
    "leader": ("0", evict),
    "restarted": ("0-1", restart),
    "node": ("0-1", lose_node),
    "untied": ("0-1", evict),
}
"""By serving: the pod that it loses, and how."""


@dataclass(frozen=True)
class Lost:
    """What was seen of one serving."""

    plan: ServingPlan
    made_again: set[str]
    """Pods that are others than before."""
    added: set[str]
    """Pods that were created at any moment."""
    moved: set[str]
    """Nodes that were lost, and are not used any more."""


@pytest.fixture(scope="module")
def lost(plain_plane: ControlPlane) -> dict[str, Lost]:
    plane = plain_plane
    spare = 1
    cluster = with_pools(plane, h100=len(LOSSES) * GROUPS * SIZE + spare)
    made = make(
        cluster,
        *(
            each(
                name,
                groups=GROUPS,
                size=SIZE,
                restart_policy="None" if name == "untied" else None,
            )
            for name in LOSSES
        ),
    )
    plans = made.cluster.servings
    put_nodes(plane, cluster)
    with watching_each(plane, made) as seen:
        apply(plane, made)
        settle(seen, made)
    before = {plan.name: now_there(plane, plan) for plan in plans}
    victims = {name: before[name][f"{name}-{pod}"] for name, (pod, _) in LOSSES.items()}
    with watching_each(plane, made) as seen:
        for plan in plans:
            LOSSES[plan.name][1](plane, plan, victims[plan.name])
        for plan in plans:
            gone = victims[plan.name]["metadata"]["uid"]

            def whole(now: Watch, gone: str = gone) -> bool:
                there = {pod["metadata"]["uid"] for pod in now.of("Pod")}
                return gone not in there and ready_groups(GROUPS, size=SIZE)(now)

            seen[plan.name].until(whole, within=120, what=f"{plan.name} is whole again")
    found = {}
    for plan in plans:
        after = now_there(plane, plan)
        found[plan.name] = Lost(
            plan=plan,
            made_again={
                name
                for name, pod in after.items()
                if pod["metadata"]["uid"] != before[plan.name][name]["metadata"]["uid"]
            },
            added={one.place.name for one in seen[plan.name].events if one.type == "ADDED"},
            moved={victims[plan.name]["spec"]["nodeName"]}
            - {pod["spec"]["nodeName"] for pod in after.values()},
        )
    plane.reset()
    return found


SOURCE = "design §4 Workload; lab E7; plan.restart_policy"


@pytest.mark.parametrize(
    "name",
    [
        claimed("evicted", "An evicted worker takes its whole group, and no other", SOURCE),
        claimed("leader", "An evicted leader takes its whole group, and no other", SOURCE),
        claimed(
            "restarted",
            "A restarted container of a worker takes its whole group, and no other",
            SOURCE,
        ),
        claimed(
            "node",
            "A node that is not ready any more takes the whole group elsewhere, and no other",
            SOURCE,
        ),
        claimed("untied", "With restart policy None a lost worker comes again by itself", SOURCE),
    ],
)
def test_a_lost_pod_takes_what_the_restart_policy_says(
    lost: dict[str, Lost], name: str, saw: Saw
) -> None:
    one = lost[name]
    policy = one.plan.lead.restart_policy
    group = {f"{name}-0", *(f"{name}-0-{rank}" for rank in range(1, SIZE))}
    expected = {"RecreateGroupAfterStart": group, "None": {f"{name}-{LOSSES[name][0]}"}}
    assert one.made_again == one.added == expected[policy]
    if name == "node":
        assert len(one.moved) == 1
    saw(
        f"{policy}: {len(one.made_again)} of {SIZE} pods of the group made again; 0 of {SIZE} pods of the "
        "other group"
    )
