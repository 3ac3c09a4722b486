"""Objects of Kueue."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


LABEL = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}
GROUP = "spec>resourceGroups>0"


def test_a_queue_admits_somebody(make: Make, refused: Check, accepted: Check) -> None:
    closed = make("cluster_queue", {"spec>namespaceSelector": ...})
    refused("queue-admits-nobody", "ClusterQueue/gpu spec.namespaceSelector", closed)
    accepted("queue-admits-nobody", make("cluster_queue"))


def test_flavors_list_what_is_covered(make: Make, refused: Check, accepted: Check) -> None:
    order = ["memory", "cpu", "ephemeral-storage", "nvidia.com/gpu"]
    swapped = make("cluster_queue", {f"{GROUP}>coveredResources": order})
    at = "spec.resourceGroups[0].flavors[0].resources ~ in this order"
    refused("queue-flavors-disagree", at, swapped)
    less = make("cluster_queue", {f"{GROUP}>coveredResources": order[1:]})
    refused("queue-flavors-disagree", "flavors[0].resources", less)
    accepted("queue-flavors-disagree", make("cluster_queue"))


def test_a_resource_has_one_group(make: Make, refused: Check, accepted: Check) -> None:
    once = make("cluster_queue")
    twice = make("cluster_queue", {"spec>resourceGroups": once["spec"]["resourceGroups"] * 2})
    refused("queue-resource-twice", "spec.resourceGroups[1].flavors[0].name ~ hopper", twice)
    refused("queue-resource-twice", "spec.resourceGroups[1].coveredResources[0] ~ cpu", twice)
    accepted("queue-resource-twice", once)


def test_the_quota_holds_a_rollout(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    at = "ClusterQueue/gpu spec.resourceGroups[0].flavors[0].resources[3].nominalQuota ~ "
    more = make("set", {**LABEL, "spec>replicas": 3})
    refused("quota-below-peak", at + "r1 (3 + 0) × 16 are 48 of nvidia.com/gpu", *queue, more)
    accepted("quota-below-peak", *queue, make("set", LABEL), make("set"))
    rolling = {"spec>rolloutStrategy>rollingUpdateConfiguration>maxSurge": 1}
    surging = make("set", {**LABEL, **rolling})
    refused("quota-below-peak", at + "(2 + 1)", *queue, surging)
    lends = {"spec>cohortName": "all"}
    borrowing = [*queue[:2], make("cluster_queue", lends), queue[3]]
    accepted("quota-below-peak", *borrowing, more)
    bound = {**lends, f"{GROUP}>flavors>0>resources>3>borrowingLimit": "8"}
    bounded = [*queue[:2], make("cluster_queue", bound), queue[3]]
    refused("quota-below-peak", at + "the quota is 40", *bounded, more)
    scaled = make("set", {**LABEL, "spec>replicas": ...})
    accepted("quota-below-peak", *queue, scaled, make("scaler"))


def test_a_flavors_taint_is_tolerated(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    tainted = make("flavor", {"spec>nodeTaints": [taint]})
    at = "ResourceFlavor/hopper spec.nodeTaints[0]"
    accepted("flavor-taint-untolerated", tainted)
    around = [queue[0], tainted, *queue[2:]]
    refused("flavor-taint-untolerated", f"{at} ~ pods of r1", *around, make("set", LABEL))
    exists = {"key": "nvidia.com/gpu", "operator": "Exists"}
    accepted(
        "flavor-taint-untolerated",
        make("flavor"),
        *around,
        make("set", {**LABEL, "B>spec>tolerations": [exists]}),
    )
    equal = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    for toleration in (exists, equal, {"operator": "Exists"}):
        own = {"spec>nodeTaints": [taint], "spec>tolerations": [toleration]}
        accepted("flavor-taint-untolerated", make("flavor", own))
    for toleration in (
        {**equal, "value": "x"},
        {**exists, "key": "x"},
        {**exists, "effect": "NoExecute"},
    ):
        own = {"spec>nodeTaints": [taint], "spec>tolerations": [toleration]}
        around = [queue[0], make("flavor", own), *queue[2:], make("set", LABEL)]
        refused("flavor-taint-untolerated", at, *around)


def test_a_flavor_with_a_topology_selects_nodes(
    make: Make, refused: Check, accepted: Check
) -> None:
    bare = make("flavor", {"spec>nodeLabels": ...})
    refused("flavor-topology-without-labels", "spec.nodeLabels", bare)
    accepted("flavor-topology-without-labels", make("flavor"))
    plain = make("flavor", {"spec>nodeLabels": ..., "spec>topologyName": ...})
    accepted("flavor-topology-without-labels", plain)


def test_levels_end_with_the_host(make: Make, refused: Check, accepted: Check) -> None:
    def levels(*keys: str) -> dict[str, Any]:
        return make("topology", {"spec>levels": [{"nodeLabel": key} for key in keys]})

    host = "kubernetes.io/hostname"
    at = "Topology/fabric spec.levels[0].nodeLabel"
    refused("topology-levels-refused", f"{at} ~ move it", levels(host, "a.com/rack"))
    refused("topology-levels-refused", "spec.levels[1].nodeLabel", levels("a.com/b", "a.com/b"))
    refused("topology-levels-refused", at, levels("a.com/" + "b" * 60))
    refused("topology-levels-refused", "spec.levels", levels())
    accepted("topology-levels-refused", make("topology"), levels(host))


def test_groups_that_serve_are_not_preempted(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    at = "ClusterQueue/gpu spec.preemption.withinClusterQueue ~ groups of r1"
    for policy in ("LowerPriority", "LowerOrNewerEqualPriority"):
        preempts = make("cluster_queue", {"spec>preemption": {"withinClusterQueue": policy}})
        around = [*queue[:2], preempts, queue[3]]
        refused("queue-preempts-within", at, *around, make("set", LABEL))
        accepted("queue-preempts-within", *around, make("set"))
        accepted("queue-preempts-within", *around, make("set", {**LABEL, "B>C>resources": {}}))
    accepted("queue-preempts-within", *queue, make("set", LABEL))


def test_groups_that_serve_run_on_quota_of_their_own(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    more = make("set", {**LABEL, "spec>replicas": 3})
    borrowing = [*queue[:2], make("cluster_queue", {"spec>cohortName": "all"}), queue[3]]
    at = f"ClusterQueue/gpu {GROUP.replace('>', '.')}".replace("Groups.0", "Groups[0]")
    at += ".flavors[0].resources[3].nominalQuota ~ r1 take 48 of nvidia.com/gpu"
    refused("groups-on-borrowed-quota", at, *borrowing, more)
    accepted("groups-on-borrowed-quota", *borrowing, make("set", LABEL))
    accepted("groups-on-borrowed-quota", *queue, more)
    lends = {"spec>cohortName": "all", f"{GROUP}>flavors>0>resources>3>borrowingLimit": "0"}
    never = [*queue[:2], make("cluster_queue", lends), queue[3]]
    accepted("groups-on-borrowed-quota", *never, make("set", LABEL))
