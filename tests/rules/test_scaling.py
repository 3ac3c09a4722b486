"""Autoscalers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


LABEL = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}


def test_the_target_is_the_set(make: Make, refused: Check, accepted: Check) -> None:
    for name in ("r1", "r1-0"):
        child = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": name}
        at = "spec.scaleTargetRef ~ kind: LeaderWorkerSet, name: r1"
        wrong = make("scaler", {"spec>scaleTargetRef": child})
        refused("scale-target-is-child", at, make("set"), wrong)
    child = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "r1"}
    at = "spec.scaleTargetRef ~ the target is Deployment r1; LeaderWorkerSet r1 makes StatefulSets"
    wrong = make("scaler", {"spec>scaleTargetRef": child})
    refused("scale-target-is-child", at, make("set"), wrong)
    accepted("scale-target-is-child", make("set"), make("scaler"), make("keda"))
    one = {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet"}
    for name in ("pd-0-1a2b3c4d-decode", "pd-12-00000000-prefill"):
        made = make("scaler", {"spec>scaleTargetRef": {**one, "name": name}})
        at = "spec.scaleTargetRef ~ target its scaler pd-"
        refused("scale-target-is-child", at, make("roles"), made)
        accepted("scale-target-is-child", make("set"), made)
    for name in ("pd-0-1a2b3c4d-encode", "pd-decode", "pd-0-1a2b3c4-decode"):
        made = make("scaler", {"spec>scaleTargetRef": {**one, "name": name}})
        accepted("scale-target-is-child", make("roles"), made)
    other = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db"}
    accepted("scale-target-is-child", make("set"), make("scaler", {"spec>scaleTargetRef": other}))


def test_gpu_groups_scale_by_what_waits(make: Make, refused: Check, accepted: Check) -> None:
    cpu = make("scaler", {"spec>metrics": [{"type": "Resource", "resource": {"name": "cpu"}}]})
    at = "HorizontalPodAutoscaler/r1 spec.metrics[0].resource.name"
    refused("scale-by-idle-signal", at, make("set"), cpu)
    keda = make("keda", {"spec>triggers": [{"type": "memory"}]})
    refused("scale-by-idle-signal", "spec.triggers[0].type", make("set"), keda)
    accepted("scale-by-idle-signal", make("set"), make("scaler"), make("keda"))
    accepted("scale-by-idle-signal", make("set", {"B>C>resources": {}}), cpu)


def test_one_group_is_added_at_a_time(make: Make, refused: Check, accepted: Check) -> None:
    fast = make("scaler", {"spec>behavior": ...})
    at = "spec.behavior.scaleUp ~ 3 groups of 16 GPUs"
    refused("scale-steps-unlimited", at, make("set"), fast)
    accepted("scale-steps-unlimited", make("set"), make("scaler"))
    unknown = make("set", {"B>C>resources": ...})
    refused(
        "scale-steps-unlimited", f"{at.partition(' ~ ')[0]} ~ 3 groups of 2 pods", unknown, fast
    )
    near = make("scaler", {"spec>behavior": ..., "spec>maxReplicas": 3})
    accepted("scale-steps-unlimited", make("set"), near)
    refused("scale-steps-of-keda-unlimited", "behavior.scaleUp", make("set"), make("keda"))
    policies = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 900}]}}
    slow = {"spec>advanced>horizontalPodAutoscalerConfig>behavior": policies}
    accepted("scale-steps-of-keda-unlimited", make("set"), make("keda", slow))


def test_replicas_have_one_owner(make: Make, refused: Check, accepted: Check) -> None:
    at = "LeaderWorkerSet/r1 spec.replicas"
    for name in ("scaler", "keda"):
        refused("replicas-owned-by-autoscaler", at, make("set"), make(name))
        accepted("replicas-owned-by-autoscaler", make("set", {"spec>replicas": ...}), make(name))
    accepted("replicas-owned-by-autoscaler", make("set"))
    plain = make("deployment", {"spec>template>spec>containers>0>resources": {}})
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "small"}
    scaler = make("scaler", {"spec>scaleTargetRef": ref})
    accepted("replicas-owned-by-autoscaler", plain, scaler)
    refused("replicas-owned-by-autoscaler", "spec.replicas", make("deployment"), scaler)


def quota(make: Make, gpus: int) -> dict[str, Any]:
    rows = "spec>resourceGroups>0>flavors>0>resources>"
    plenty = {f"{rows}{number}>nominalQuota": "100000Gi" for number in range(3)}
    return make("cluster_queue", {**plenty, f"{rows}3>nominalQuota": str(gpus)})


def test_the_maximum_fits_the_quota(
    make: Make, queue: Objects, refused: Check, accepted: Check
) -> None:
    """h09-p: 2 to 5 groups of 16 GPUs want 80 GPUs."""
    scaled = make("set", {**LABEL, "spec>replicas": ...})
    around = [each for each in queue if each["kind"] != "ClusterQueue"]
    at = "HorizontalPodAutoscaler/r1 spec.maxReplicas ~ maxReplicas: 4, or raise the quota to 80"
    refused("scale-beyond-quota", at, *around, quota(make, 64), scaled, make("scaler"))
    accepted("scale-beyond-quota", *around, quota(make, 80), scaled, make("scaler"))
    other = make("set", {**LABEL, "metadata>name": "r2", "spec>replicas": 1})
    at = "spec.maxReplicas ~ beside 16 of other sets"
    refused("scale-beyond-quota", at, *around, quota(make, 80), scaled, other, make("scaler"))
    accepted("scale-beyond-quota", *around, quota(make, 96), scaled, other, make("scaler"))
    surging = {"spec>rolloutStrategy>rollingUpdateConfiguration": {"maxSurge": 1}}
    more = make("set", {**LABEL, **surging, "spec>replicas": ...})
    at = "spec.maxReplicas ~ 5 groups and 1 in surge"
    refused("scale-beyond-quota", at, *around, quota(make, 80), more, make("scaler"))


def test_bounds_are_in_order(make: Make, refused: Check, accepted: Check) -> None:
    refused("scale-bounds-refused", "spec.maxReplicas", make("scaler", {"spec>maxReplicas": 1}))
    cpu = [{"type": "Resource", "resource": {"name": "cpu"}}]
    zero = make("scaler", {"spec>minReplicas": 0, "spec>metrics": cpu})
    refused("scale-bounds-refused", "spec.minReplicas ~ HPAScaleToZero", zero)
    accepted("scale-bounds-refused", make("scaler"), make("scaler", {"spec>minReplicas": 0}))


def test_without_a_metric_the_cpu_counts(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("scaler", {"spec>metrics": ...})
    refused("scale-by-idle-signal", "spec.metrics ~ cpu", bare, make("set"))
    accepted("scale-by-idle-signal", bare)


def test_bounds_of_keda_are_taken(make: Make, refused: Check, accepted: Check) -> None:
    low = make("keda", {"spec>maxReplicaCount": 1})
    refused("scale-bounds-refused", "spec.maxReplicaCount ~ below minReplicaCount 2", low)
    refused(
        "scale-bounds-refused", "spec.idleReplicaCount", make("keda", {"spec>idleReplicaCount": 2})
    )
    accepted("scale-bounds-refused", make("keda"), make("keda", {"spec>idleReplicaCount": 0}))
    accepted("scale-bounds-refused", make("keda", {"spec>maxReplicaCount": ...}))


def test_a_set_has_one_autoscaler(make: Make, refused: Check, accepted: Check) -> None:
    refused(
        "scale-target-twice",
        "ScaledObject/r1 spec.scaleTargetRef ~ HorizontalPodAutoscaler r1",
        make("scaler"),
        make("keda"),
    )
    other = {"spec>scaleTargetRef>name": "r2"}
    accepted("scale-target-twice", make("scaler"), make("keda", other))
    owner = {"metadata>ownerReferences": [{"kind": "ScaledObject", "name": "r1"}]}
    accepted("scale-target-twice", make("keda"), make("scaler", owner))


def test_zero_groups_are_meant(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("keda", {"spec>minReplicaCount": ...})
    refused("scale-to-zero-unsaid", "spec.minReplicaCount ~ r1", bare, make("set"))
    accepted("scale-to-zero-unsaid", make("keda", {"spec>minReplicaCount": 0}), make("set"))
    accepted("scale-to-zero-unsaid", bare)


def test_keda_has_words_of_its_own(make: Make, refused: Check, accepted: Check) -> None:
    wrong = make("keda", {"spec>minReplicaCount": ..., "spec>minReplicas": 1})
    refused("scale-bounds-misnamed", "spec.minReplicas ~ write minReplicaCount: 1", wrong)
    accepted("scale-bounds-misnamed", make("keda"), make("scaler"))


def test_something_else_brings_a_set_back(make: Make, refused: Check, accepted: Check) -> None:
    gateway = {"type": "prometheus", "metadata": {"query": "sum(gateway_requests_waiting)"}}
    own = {"type": "prometheus", "metadata": {"query": "sum(vllm:num_requests_waiting)"}}
    for least in (0, ...):
        refused(
            "scale-to-zero-never-wakes",
            "spec.minReplicaCount",
            make("keda", {"spec>minReplicaCount": least}),
        )
    refused(
        "scale-to-zero-never-wakes",
        "spec.idleReplicaCount",
        make("keda", {"spec>idleReplicaCount": 0}),
    )
    accepted(
        "scale-to-zero-never-wakes",
        make("keda"),
        make("keda", {"spec>minReplicaCount": ..., "spec>minReplicas": 1}),
    )
    accepted("scale-to-zero-never-wakes", make("keda"))
    for triggers in ([own, gateway], [gateway], []):
        accepted(
            "scale-to-zero-never-wakes",
            make("keda", {"spec>minReplicaCount": 0, "spec>triggers": triggers}),
        )
    router = {"type": "prometheus", "metadata": {"query": "vllm:num_incoming_requests_total"}}
    accepted(
        "scale-to-zero-never-wakes",
        make("keda", {"spec>minReplicaCount": 0, "spec>triggers": [router]}),
    )
    metric = {"type": "External", "external": {"metric": {"name": "vllm_num_requests_waiting"}}}
    refused(
        "scale-to-zero-never-wakes",
        "spec.minReplicas",
        make("scaler", {"spec>minReplicas": 0, "spec>metrics": [metric]}),
    )
    accepted("scale-to-zero-never-wakes", make("scaler", {"spec>metrics": [metric]}))


def test_no_data_is_no_zero(make: Make, refused: Check, accepted: Check) -> None:
    def asks(query: str, **words: str) -> dict[str, Any]:
        trigger = {"type": "prometheus", "metadata": {"query": query, **words}}
        return {"spec>triggers": [trigger], "spec>minReplicaCount": 1, "spec>maxReplicaCount": 4}

    query = "sum(vllm:num_requests_waiting)"
    for words in ({}, {"ignoreNullValues": "true"}):
        refused(
            "scale-in-without-data",
            "spec.triggers[0].metadata ~ ignoreNullValues",
            make("set"),
            make("keda", asks(query, **words)),
        )
    for sound in (
        asks(query, ignoreNullValues="false"),
        asks(f"{query} or vector(0)"),
        asks(query) | {"spec>maxReplicaCount": 1},
    ):
        accepted("scale-in-without-data", make("set"), make("keda", sound))
    # What it scales is not in sight.
    accepted("scale-in-without-data", make("keda", asks(query)))
