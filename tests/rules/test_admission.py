"""Sets in a Kueue queue: the rows of `lab E4`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


LABEL = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}
QUEUE = {"kueue.x-k8s.io/queue-name": "serving"}
ROLLING = "spec>rolloutStrategy>rollingUpdateConfiguration"
POD_SET = "metadata>annotations>kueue.x-k8s.io/podset-"
RACK = "example.com/rack"
BOTH = {f"B>{POD_SET}required-topology": RACK, f"B>{POD_SET}group-name": "group"}


def test_both_templates_ask_for_one_domain(make: Make, refused: Check, accepted: Check) -> None:
    code = "topology-annotations-wrong"
    accepted("topology-annotations-wrong", make("set", {**LABEL, **BOTH}), make("set", LABEL))
    accepted("topology-annotations-wrong", make("set", {f"L>{POD_SET}required-topology": RACK}))
    split = make("set", {**LABEL, f"B>{POD_SET}required-topology": RACK})
    refused("topology-annotations-wrong", "[kueue.x-k8s.io/podset-group-name] ~ silence", split)
    alone = make("set", {**LABEL, f"L>{POD_SET}required-topology": RACK})
    refused(
        code, "leaderTemplate.metadata.annotations[kueue.x-k8s.io/podset-required-topology]", alone
    )
    number = make("set", {**LABEL, **BOTH, f"W>{POD_SET}group-name": "7"})
    refused(code, "workerTemplate.metadata.annotations[kueue.x-k8s.io/podset-group-name]", number)
    one = {"spec>leaderWorkerTemplate>leaderTemplate": ..., f"W>{POD_SET}group-name": "group"}
    refused(code, "[kueue.x-k8s.io/podset-group-name]", make("set", {**LABEL, **BOTH, **one}))


def test_a_level_is_one_of_the_topology(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    wrong = make("set", {**LABEL, **BOTH, f"W>{POD_SET}required-topology": "example.net/rack"})
    at = "workerTemplate.metadata.annotations[kueue.x-k8s.io/podset-required-topology] ~ " + RACK
    refused("level-not-in-topology", at, *queue, wrong)
    accepted("level-not-in-topology", *queue, make("set", {**LABEL, **BOTH}), make("set", LABEL))
    accepted("level-not-in-topology", *queue[1:], wrong)
    accepted("level-not-in-topology", wrong)
    flat = make("flavor", {"spec>topologyName": ...})
    around = [queue[0], flat, *queue[2:]]
    refused("level-not-in-topology", "topology]", *around, make("set", {**LABEL, **BOTH}))


def test_slices_fill_their_pod_set(make: Make, refused: Check, accepted: Check) -> None:
    """r20: with a leaderTemplate the workers are size - 1 pods, without one all of them."""

    def sliced(size: int, each: str, **more: Any) -> dict[str, Any]:
        slices = {
            f"W>{POD_SET}slice-size": each,
            f"W>{POD_SET}slice-required-topology": RACK,
        }
        return make("set", {**LABEL, **slices, "spec>leaderWorkerTemplate>size": size, **more})

    at = "workerTemplate.metadata.annotations[kueue.x-k8s.io/podset-slice-size]"
    refused("slice-does-not-divide", f"{at} ~ 3 pods", sliced(4, "2"))
    refused("slice-does-not-divide", at, sliced(5, "x"))
    accepted("slice-does-not-divide", sliced(5, "2"))
    accepted("slice-does-not-divide", sliced(9, "4"))
    accepted("slice-does-not-divide", sliced(4, "1"))
    for each in ("0", "9" * 5000):
        refused("slice-does-not-divide", f"{at} ~ slices of", sliced(4, each))
    for each in ("²", "٢"):
        refused("slice-does-not-divide", at, sliced(5, each))
    one = {"spec>leaderWorkerTemplate>leaderTemplate": ...}
    accepted("slice-does-not-divide", sliced(4, "2", **one))


def test_the_queue_label_stands_on_the_set(make: Make, refused: Check, accepted: Check) -> None:
    key = "metadata>labels>kueue.x-k8s.io/queue-name"
    by_pod = make("deployment", {f"spec>template>{key}": "serving"})
    accepted("queue-label-on-template", by_pod)
    refused(
        "queue-label-on-template", "[kueue.x-k8s.io/queue-name]", make("set", {f"L>{key}": "x"})
    )
    accepted("queue-label-on-template", make("set", LABEL))
    accepted("queue-label-on-template", make("set", {**LABEL, f"B>{key}": "serving"}))


def test_the_queue_covers_what_is_requested(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    more = make("set", {**LABEL, "W>C>resources>requests>rdma/ib": "1"})
    at = "workerTemplate.spec.containers[0].resources.requests[rdma/ib]"
    refused("request-not-covered", at, *queue, more)
    accepted("request-not-covered", *queue, make("set", LABEL))
    accepted("request-not-covered", more)


def rolling(make: Make, surge: Any, gone: Any, **more: Any) -> dict[str, Any]:
    pair = {f"{ROLLING}>maxSurge": surge, f"{ROLLING}>maxUnavailable": gone}
    return make("set", {**LABEL, **pair, **more})


def test_a_rollout_under_a_queue_ends(make: Make, refused: Check, accepted: Check) -> None:
    at = "rollingUpdateConfiguration.maxSurge ~ maxSurge: 0 and maxUnavailable: 1"
    for surge in (1, 2):
        refused("surge-under-queue", at, rolling(make, surge, 0))
    for pair in ((0, 1), (1, 1), (2, 1), (2, 2)):
        accepted("surge-under-queue", rolling(make, *pair))
    free = {"metadata>labels": ...}
    accepted("surge-under-queue", rolling(make, 1, 0, **free))
    for gone in ("25%", 0):
        refused("surge-in-percent-under-queue", "maxSurge", rolling(make, "25%", gone))
    old, new = {"kueue": "0.19.2"}, {"kueue": "0.20"}
    refused("surge-in-percent-under-queue", "maxSurge", rolling(make, "25%", 1), versions=old)
    accepted("surge-in-percent-under-queue", rolling(make, "25%", 1), versions=new)
    accepted("surge-in-percent-under-queue", rolling(make, 1, 1), rolling(make, "25%", 1, **free))


def test_a_surge_under_a_queue_dips(make: Make, refused: Check, accepted: Check) -> None:
    refused("surge-dips-under-queue", "maxSurge ~ keeps 0 of 2", rolling(make, 1, 1))
    accepted("surge-dips-under-queue", rolling(make, 0, 1))
    accepted("surge-dips-under-queue", rolling(make, 1, 1, **{"metadata>labels": ...}))


def test_one_admission_decides(make: Make, refused: Check, accepted: Check) -> None:
    volcano = {"B>spec>schedulerName": "volcano"}
    at = "leaderTemplate.spec.schedulerName"
    refused("queue-and-gang-scheduler", at, make("set", {**LABEL, **volcano}))
    group = {"B>metadata>annotations>scheduling.k8s.io/group-name": "r1"}
    at = "metadata.annotations[scheduling.k8s.io/group-name]"
    refused("queue-and-gang-scheduler", at, make("set", {**LABEL, **group}))
    accepted("queue-and-gang-scheduler", make("set", volcano), make("set", LABEL))


def test_pods_under_quota_request(make: Make, refused: Check, accepted: Check) -> None:
    nothing = make("set", {**LABEL, "W>C>resources": {}})
    refused("queue-without-requests", "workerTemplate.spec.containers[0].resources", nothing)
    accepted("queue-without-requests", make("set", LABEL), make("set", {"W>C>resources": {}}))
    for name in ("requests", "limits"):
        half = make("set", {**LABEL, "W>C>resources": {name: {"cpu": "1"}}})
        accepted("queue-without-requests", half)


def test_roles_name_their_queue(refused: Check, accepted: Check) -> None:
    def roles(label: dict[str, str]) -> dict[str, Any]:
        return {
            "apiVersion": "disaggregatedset.x-k8s.io/v1",
            "kind": "DisaggregatedSet",
            "metadata": {"name": "pd", "namespace": "llm", "labels": QUEUE},
            "spec": {"roles": [{"name": "prefill", "metadata": {"labels": label}}]},
        }

    at = "DisaggregatedSet/pd metadata.labels[kueue.x-k8s.io/queue-name] ~ prefill"
    refused("queue-label-not-read", at, roles({}))
    accepted("queue-label-not-read", roles(QUEUE))


def test_the_queue_label_stands_once(make: Make, refused: Check, accepted: Check) -> None:
    key = "kueue.x-k8s.io/queue-name"
    twice = {f"metadata>labels>{key}": "serving", f"W>metadata>labels>{key}": "serving"}
    refused("queue-label-twice", f"workerTemplate.metadata.labels[{key}]", make("set", twice))
    accepted("queue-label-twice", make("set"), make("set", {f"metadata>labels>{key}": "serving"}))
    copied = {**twice, "W>metadata>annotations>kueue.x-k8s.io/pod-group-serving": "true"}
    accepted("queue-label-twice", make("set", copied))


def test_kueue_may_count_a_resource_under_another_name(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    asks = make("set", {**LABEL, "W>C>resources>limits>example.com/cores": "2"})
    refused("request-not-covered", "limits[example.com/cores]", asks, *queue)
    renamed = make("cluster_queue")
    group = renamed["spec"]["resourceGroups"][0]
    group["coveredResources"].append("example.com/total-cores")
    group["flavors"][0]["resources"].append({"name": "example.com/total-cores", "nominalQuota": 9})
    accepted("request-not-covered", asks, renamed, make("local_queue"))
