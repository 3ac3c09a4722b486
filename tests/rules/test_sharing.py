"""Queues, flavors and cohorts as Kueue takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gangform.documents.document import Key
from gangform.units import Seconds

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]

K = "kueue.x-k8s.io/"
QUEUED = {"metadata>labels": {K + "queue-name": "serving"}}
ROW = "spec>resourceGroups>0>flavors>0>resources>0"
ROW_AT = "spec.resourceGroups[0].flavors[0].resources[0]"


def cohort(name: str, parent: str) -> dict[str, Any]:
    return {
        "apiVersion": K + "v1beta2",
        "kind": "Cohort",
        "metadata": {"name": name},
        "spec": {"parentName": parent},
    }


def test_amounts_are_taken(make: Make, refused: Check, accepted: Check) -> None:
    shared = {"spec>cohortName": "all"}
    for change, at in (
        ({f"{ROW}>nominalQuota": -1}, "nominalQuota ~ negative"),
        ({f"{ROW}>nominalQuota": "many"}, "nominalQuota ~ no quantity"),
        ({f"{ROW}>borrowingLimit": 0}, "borrowingLimit ~ without a cohort"),
        ({f"{ROW}>lendingLimit": 0}, "lendingLimit ~ without a cohort"),
        ({**shared, f"{ROW}>lendingLimit": "500"}, "lendingLimit ~ above the quota 128"),
    ):
        refused("queue-refused", f"{ROW_AT}.{at}", make("cluster_queue", change))
    limits = {**shared, f"{ROW}>lendingLimit": "0", f"{ROW}>borrowingLimit": "0"}
    accepted("queue-refused", make("cluster_queue"), make("cluster_queue", limits))


def test_policies_agree(make: Make, refused: Check, accepted: Check) -> None:
    borrows = {"borrowWithinCohort": {"policy": "LowerPriority"}}
    for change, at in (
        ({"spec>preemption": borrows}, "preemption.borrowWithinCohort.policy"),
        ({"spec>flavorFungibility": {"preference": "PreemptionOverBorrowing"}}, "preference"),
        (
            {
                "spec>admissionChecksStrategy>admissionChecks": [
                    {"name": "a", "onFlavors": ["blackwell"]}
                ]
            },
            "admissionChecks[0].onFlavors[0] ~ hopper",
        ),
    ):
        refused("queue-refused", at, make("cluster_queue", change))
    both = {"whenCanBorrow": "TryNextFlavor", "preference": "PreemptionOverBorrowing"}
    checks = [{"name": "a", "onFlavors": ["hopper"]}, {"name": "b"}]
    sound = {
        "spec>preemption": {**borrows, "reclaimWithinCohort": "Any"},
        "spec>flavorFungibility": both,
        "spec>admissionChecksStrategy>admissionChecks": checks,
    }
    accepted("queue-refused", make("cluster_queue", sound))


def test_a_flavor_is_taken(make: Make, refused: Check, accepted: Check) -> None:
    taint = {"key": "gpu", "effect": "NoSchedule"}
    for change, at in (
        ({"spec>nodeLabels": {f"a{n}": "b" for n in range(9)}}, "nodeLabels ~ at most 8"),
        ({"spec>nodeTaints": [taint, taint]}, "nodeTaints[1]"),
        ({"spec>tolerations": [{"value": "a"}]}, "tolerations[0].operator"),
        ({"spec>tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "[0].value"),
        ({"spec>tolerations": [{"key": "a", "tolerationSeconds": 3}]}, "tolerationSeconds"),
    ):
        refused("flavor-refused", at, make("flavor", change))
    accepted("flavor-refused", make("flavor"))
    sound = [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 3}]
    accepted(
        "flavor-refused", make("flavor", {"spec>nodeTaints": [taint], "spec>tolerations": sound})
    )


def test_cohorts_are_no_ring(refused: Check, accepted: Check) -> None:
    ring = [cohort("a", "b"), cohort("b", "c"), cohort("c", "a")]
    refused("cohort-cycle", "Cohort/b spec.parentName ~ b is below c is below a", *ring)
    refused("cohort-cycle", "spec.parentName", cohort("a", "a"))
    accepted("cohort-cycle", cohort("d", "a"), cohort("a", "b"), cohort("b", ""))
    accepted("cohort-cycle", cohort("a", "elsewhere"))


def test_a_queue_admits(make: Make, refused: Check, accepted: Check) -> None:
    held = make("cluster_queue", {"spec>stopPolicy": "HoldAndDrain"})
    refused("queue-stopped", "spec.stopPolicy ~ evicted", held)
    refused("queue-stopped", "spec.stopPolicy", make("local_queue", {"spec>stopPolicy": "Hold"}))
    accepted(
        "queue-stopped", make("cluster_queue", {"spec>stopPolicy": "None"}), make("local_queue")
    )


def test_a_queue_takes_its_namespaces(make: Make, refused: Check, accepted: Check) -> None:
    name, at = "kubernetes.io/metadata.name", "LocalQueue/serving spec.clusterQueue"
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "llm"}}

    def takes(selector: dict[str, Any]) -> list[dict[str, Any]]:
        return [make("cluster_queue", {"spec>namespaceSelector": selector}), make("local_queue")]

    for selector in (
        {"matchLabels": {name: "other"}},
        {"matchExpressions": [{"key": name, "operator": "In", "values": ["a", "b"]}]},
        {"matchExpressions": [{"key": name, "operator": "NotIn", "values": ["llm"]}]},
    ):
        refused("queue-excludes-namespace", at, *takes(selector))
    team = {"matchLabels": {"team": "serving"}}
    refused("queue-excludes-namespace", f"{at} ~ team serving", *takes(team), space)
    accepted("queue-excludes-namespace", *takes(team))
    fine: list[dict[str, Any]] = [
        {},
        {"matchLabels": {name: "llm"}},
        {"matchExpressions": [{"key": name, "operator": "In", "values": ["llm"]}]},
        {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]},
    ]
    for selector in fine:
        accepted("queue-excludes-namespace", *takes(selector), space)


def test_a_priority_class_exists(make: Make, refused: Check, accepted: Check) -> None:
    labels = {K + "queue-name": "serving", K + "priority-class": "high"}
    ordered = make("set", {"metadata>labels": labels})
    other = {
        "apiVersion": K + "v1beta2",
        "kind": "WorkloadPriorityClass",
        "metadata": {"name": "higher"},
        "value": 7,
    }
    at = f"metadata.labels[{K}priority-class] ~ higher"
    refused("priority-class-unresolved", at, ordered, other)
    accepted("priority-class-unresolved", ordered)
    accepted("priority-class-unresolved", ordered, {**other, "metadata": {"name": "high"}})
    unqueued = make("set", {"metadata>labels": {K + "priority-class": "high"}})
    accepted("priority-class-unresolved", unqueued, other)


def test_a_placed_pod_set_has_one_flavor(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    level = {K + "podset-required-topology": "example.com/rack", K + "podset-group-name": "g"}
    placed = make("set", {**QUEUED, "B>metadata>annotations": level})
    cpu = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "plain", "resources": [{"name": "cpu", "nominalQuota": 128}]}],
    }
    gpu = {
        "coveredResources": ["nvidia.com/gpu"],
        "flavors": [
            {"name": "hopper", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": 64}]}
        ],
    }
    apart = make("cluster_queue", {"spec>resourceGroups": [gpu, cpu]})
    at = f"annotations[{K}podset-required-topology] ~ nvidia.com/gpu and cpu"
    refused("topology-over-two-flavors", at, placed, apart, make("local_queue"))
    accepted("topology-over-two-flavors", placed, *queue)
    accepted("topology-over-two-flavors", make("set", QUEUED), apart, make("local_queue"))


def test_groups_are_ready_before_they_are_evicted(
    make: Make, refused: Check, accepted: Check
) -> None:
    queued = make("set", QUEUED)
    key = Key("leaderworkerset.x-k8s.io", "LeaderWorkerSet", "llm", "r1")
    slow, quick = {key: Seconds(3600)}, {key: Seconds(600)}
    at = f"metadata.labels[{K}queue-name] ~ 30m"
    new = {"kueue": "0.19"}
    refused("cold-start-beyond-eviction", at, queued, versions=new, cold_starts=slow)
    accepted("cold-start-beyond-eviction", queued, versions=new, cold_starts=quick)
    accepted("cold-start-beyond-eviction", queued, versions={"kueue": "0.18"}, cold_starts=slow)
    accepted("cold-start-beyond-eviction", make("set"), versions=new, cold_starts=slow)
