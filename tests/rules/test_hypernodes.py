"""Volcano's tree, its tiers and its annotations."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

V = "scheduling.volcano.sh/"
NAME = "scheduling.k8s.io/group-name"


def node(name: str, tier: int, *members: str, kind: str = "HyperNode") -> dict[str, Any]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": tier,
            "tierName": f"example.com/tier-{tier}",
            "members": [
                {"type": kind, "selector": {"exactMatch": {"name": each}}} for each in members
            ],
        },
    }


def test_the_tree_holds(refused: Check, accepted: Check) -> None:
    racks = [node("r1", 1, "n1", "n2", kind="Node"), node("r2", 1, "n3", kind="Node")]
    accepted("hyper-node-tree-broken", *racks, node("b1", 2, "r1", "r2"))
    at = "members[0].selector.exactMatch.name"
    twice = node("b2", 2, "r2")
    refused(
        "hyper-node-tree-broken", f"HyperNode/b2 spec.{at} ~ b1", *racks, node("b1", 2, "r2"), twice
    )
    shared = node("r3", 1, "n3", kind="Node")
    refused("hyper-node-tree-broken", f"HyperNode/r3 spec.{at} ~ Node n3", *racks, shared)
    refused("hyper-node-tree-broken", f"{at} ~ tier: 2", *racks, node("b1", 1, "r1"))
    ring = [node("a", 2, "b"), node("b", 3, "a")]
    refused("hyper-node-tree-broken", f"HyperNode/a spec.{at}", *ring)


def test_a_tier_exists(make: Make, refused: Check, accepted: Check) -> None:
    group = make("pod_group")
    refused("pod-group-tier-unknown", "highestTierName ~ example.com/tier-1", group, node("r1", 1))
    named = make("pod_group", {"spec>networkTopology>highestTierName": "example.com/tier-1"})
    accepted("pod-group-tier-unknown", named, node("r1", 1))
    accepted("pod-group-tier-unknown", group)


def test_one_of_two_makes_the_pod_groups(make: Make, refused: Check, accepted: Check) -> None:
    hand = make("set", {"B>metadata>annotations": {NAME: "r1"}})
    refused("pod-group-overwritten", f"annotations[{NAME}]", hand, provider="volcano")
    accepted("pod-group-overwritten", hand, provider="none")
    accepted("pod-group-overwritten", hand)
    accepted("pod-group-overwritten", make("set"), provider="volcano")


def test_annotations_stand_where_they_are_read(make: Make, refused: Check, accepted: Check) -> None:
    member, other = V + "group-min-member", V + "group-name"
    on_set = make("set", {"metadata>annotations": {member: "2"}})
    refused("gang-annotation-inert", f"metadata.annotations[{member}] ~ no gang", on_set)
    on_pods = make("set", {"B>metadata>annotations": {other: "r1"}})
    refused("gang-annotation-inert", f"annotations[{other}] ~ write {NAME}", on_pods)
    both = make("set", {"B>metadata>annotations": {other: "r1", NAME: "r1"}})
    accepted("gang-annotation-inert", both, make("set"))
    accepted("gang-annotation-inert", make("deployment", {"metadata>annotations": {member: "2"}}))
    unread = make("deployment", {"metadata>annotations": {V + "group-min-resources": "{}"}})
    refused("gang-annotation-inert", "group-min-resources]", unread)


def test_the_queue_stands_where_it_is_read(make: Make, refused: Check, accepted: Check) -> None:
    queue, on = V + "queue-name", {"provider": "volcano"}
    at = f"annotations[{queue}]"
    on_pods = make("set", {f"B>metadata>annotations>{queue}": "q"})
    refused("gang-annotation-inert", f"leaderTemplate.metadata.{at} ~ of the set", on_pods, **on)
    accepted("gang-annotation-inert", on_pods)
    accepted("gang-annotation-inert", on_pods, provider="none")
    on_set = make("set", {f"metadata>annotations>{queue}": "q"})
    accepted("gang-annotation-inert", on_set, **on)
    pods = "spec>template>"
    waits = {f"{pods}spec>schedulerName": "volcano", f"metadata>annotations>{queue}": "q"}
    for name in ("stateful", "deployment"):
        refused("gang-annotation-inert", f"metadata.{at} ~ pod template", make(name, waits))
        for read in (queue, NAME):
            both = {**waits, f"{pods}metadata>annotations>{read}": "q"}
            accepted("gang-annotation-inert", make(name, both))
        accepted("gang-annotation-inert", make(name, {f"metadata>annotations>{queue}": "q"}))


def test_a_job_is_taken(refused: Check, accepted: Check) -> None:
    def job(**spec: Any) -> dict[str, Any]:
        tasks = [{"name": "w", "replicas": 2}]
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "j"},
            "spec": {"tasks": tasks, **spec},
        }

    refused("volcano-job-refused", "spec.tasks", job(tasks=[]))
    refused("volcano-job-refused", "spec.minAvailable ~ 2", job(minAvailable=3))
    task = {"name": "w", "replicas": 2, "minAvailable": 3}
    refused("volcano-job-refused", "spec.tasks[0].minAvailable", job(tasks=[task]))
    both = {"highestTierAllowed": 1, "highestTierName": "rack"}
    refused("volcano-job-refused", "networkTopology.highestTierName", job(networkTopology=both))
    refused("volcano-job-refused", "spec.queue", job(queue="root"))
    cut = {"totalPartitions": 3, "partitionSize": 2}
    parts = [{"name": "w", "replicas": 6, "partitionPolicy": cut}]
    accepted("volcano-job-refused", job(tasks=parts), job(queue="serving"))
    parts[0]["replicas"] = 5
    refused("volcano-job-refused", "tasks[0].partitionPolicy ~ are 6", job(tasks=parts))

    def chained(*names: str) -> list[dict[str, Any]]:
        return [{"name": name, "dependsOn": {"name": [after]}} for name, after in pairwise(names)]

    accepted("volcano-job-refused", job(tasks=[*chained("a", "b", "c"), {"name": "c"}]))
    refused("volcano-job-refused", "tasks[1].dependsOn", job(tasks=chained("a", "b", "c", "b")))
    accepted("volcano-job-refused", job(minAvailable=2), {**job(), "apiVersion": "batch/v1"})
