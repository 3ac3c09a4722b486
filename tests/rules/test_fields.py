"""Fields that are dropped, refused, misplaced or not there yet, and versions that nobody serves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]

SET = "spec>leaderWorkerTemplate"


def test_every_field_is_one_of_the_kind(make: Make, refused: Check, accepted: Check) -> None:
    for change, at in (
        ({"metadata>lables": {"a": "b"}}, "metadata.lables ~ metadata.labels"),
        ({"spec>rolloutStrategy>maxSurge": 1}, "rolloutStrategy.maxSurge ~ rollingUpdateConfig"),
        ({f"{SET}>restartPolcy": "None"}, "restartPolcy ~ remove it: spec.leaderWorkerTemplate.r"),
        ({"spec>restartPolicy": "None"}, "spec.restartPolicy ~ spec.leaderWorkerTemplate.restart"),
        ({"W>containers": []}, "workerTemplate.containers ~ workerTemplate.spec"),
        ({"spec>selector": {}}, "spec.selector ~ remove it"),
    ):
        refused("field-unknown", at, make("set", change))
    accepted("field-unknown", make("set"))
    accepted("field-unknown", make("set", {"spec>groupIdentity": "Ordinal", "status": {"a": 1}}))
    accepted("field-unknown", make("deployment", {"spec>foo": 1}))


def test_fields_of_a_release_that_nobody_looked_at_are_left_alone(
    make: Make, refused: Check, accepted: Check
) -> None:
    new = make("cluster_queue", {"spec>somethingNew": {}})
    accepted("field-unknown", new)
    accepted("field-unknown", new, versions={"kueue": "0.21"})
    for release in ("0.19", "0.19.99"):
        refused("field-unknown", "spec.somethingNew", new, versions={"kueue": release})
    accepted("field-unknown", new, versions={"kueue": "0.20"})
    old = make("cluster_queue", {"spec>cohort": "all"})
    refused("field-unknown", "spec.cohort ~ spec.cohortName", old)
    accepted("field-unknown", {**old, "apiVersion": "kueue.x-k8s.io/v1beta1"})


def test_what_a_set_cannot_do_without_is_in_its_place(
    make: Make, refused: Check, accepted: Check
) -> None:
    high = make("set", {"spec>size": 2, f"{SET}>size": ...})
    refused("needed-field-misplaced", "spec.size ~ spec.leaderWorkerTemplate.size", high)
    accepted("field-unknown", high)
    twice = make("set", {"spec>size": 2})
    accepted("needed-field-misplaced", twice)
    refused("field-unknown", "spec.size ~ remove it", twice)
    typed = make("set", {f"{SET}>workerTemplates": {}, f"{SET}>workerTemplate": ...})
    refused("needed-field-misplaced", "workerTemplates ~ leaderWorkerTemplate.workerTemp", typed)
    accepted("needed-field-absent", typed)
    lost = make("local_queue", {"spec>clusterQueue": ..., "spec>clusterqueue": "gpu"})
    refused("needed-field-misplaced", "spec.clusterqueue ~ spec.clusterQueue", lost)


def test_a_role_holds_a_whole_spec(refused: Check, accepted: Check) -> None:
    flat = {"name": "prefill", "leaderWorkerTemplate": {"size": 2}}
    roles = {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": "pd"},
        "spec": {"roles": [flat]},
    }
    place = "spec.roles[0].leaderWorkerTemplate ~ spec.roles[0].spec.leaderWorkerTemplate"
    refused("needed-field-misplaced", place, roles)
    accepted("field-unknown", roles)
    refused("needed-field-absent", "spec.roles[0].spec", roles)


def test_what_the_api_asks_for_is_written(make: Make, refused: Check, accepted: Check) -> None:
    refused("needed-field-absent", "workerTemplate", make("set", {f"{SET}>workerTemplate": ...}))
    refused("needed-field-absent", "nodeLabel", make("topology", {"spec>levels>0": {}}))
    for name in ("set", "topology", "flavor", "cluster_queue", "local_queue", "pod_group"):
        accepted("needed-field-absent", make(name))
        accepted("field-unknown", make(name), versions={"kueue": "0.19", "volcano": "1.15"})
        accepted("needed-field-misplaced", make(name))
        accepted("field-value-refused", make(name))


def test_values_are_what_the_api_takes(make: Make, refused: Check, accepted: Check) -> None:
    for change, at in (
        ({"spec>replicas": "2"}, "spec.replicas ~ replicas: 2, without quotes"),
        ({"spec>replicas": -1}, "spec.replicas ~ 0 to 1000000"),
        ({f"{SET}>size": 0}, "size ~ of 1 to"),
        ({"spec>startupPolicy": "leaderReady"}, "startupPolicy ~ startupPolicy: LeaderReady"),
        ({"spec>rolloutStrategy>type": "Recreate"}, "type ~ RollingUpdate"),
        ({"spec>networkConfig": {"subdomainPolicy": "PerReplica"}}, "subdomainPolicy"),
        ({f"{SET}>leaderTemplate": []}, "leaderTemplate ~ an object"),
    ):
        refused("field-value-refused", at, make("set", change))
    accepted("field-value-refused", make("set", {"spec>replicas": 0, "spec>networkConfig": {}}))


def test_a_cluster_has_the_fields_that_are_written(
    make: Make, refused: Check, accepted: Check
) -> None:
    late = make("set", {"spec>groupIdentity": "Hash"})
    refused("field-pruned-by-release", "groupIdentity ~ 0.11", late, versions={"lws": "0.10"})
    accepted("field-pruned-by-release", late, versions={"lws": "1.0"})
    accepted("field-pruned-by-release", late, versions={"kueue": "0.19"})


def test_a_version_is_served(make: Make, refused: Check, accepted: Check) -> None:
    queue = make("cluster_queue")
    old = {**queue, "apiVersion": "kueue.x-k8s.io/v1beta1"}
    at = "apiVersion"
    refused(
        "api-version-unserved", f"{at} ~ kueue.x-k8s.io/v1beta2", old, versions={"kueue": "0.20"}
    )
    refused(
        "api-version-unserved", f"{at} ~ kueue.x-k8s.io/v1beta1", queue, versions={"kueue": "0.14"}
    )
    for release in ("0.15", "0.19"):
        accepted("api-version-unserved", old, queue, versions={"kueue": release})
    accepted("api-version-unserved", old, queue)
    refused(
        "api-version-unserved",
        at,
        {**make("set"), "apiVersion": "leaderworkerset.x-k8s.io/v1alpha1"},
    )
    budget = {**make("budget"), "apiVersion": "policy/v1beta1"}
    refused("api-version-unserved", f"{at} ~ policy/v1", budget, make("set"))
    accepted("api-version-unserved", budget)
    accepted(
        "api-version-unserved", make("budget"), make("set"), make("scaler"), make("deployment")
    )


def test_an_autoscaler_names_a_version_that_is_there(
    make: Make, refused: Check, accepted: Check
) -> None:
    for name in ("scaler", "keda"):
        wrong = make(name, {"spec>scaleTargetRef>apiVersion": "apps/v1"})
        refused("api-version-unserved", "spec.scaleTargetRef.apiVersion", wrong)
        accepted("api-version-unserved", make(name))
