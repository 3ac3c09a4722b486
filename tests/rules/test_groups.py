"""Sets of groups, and what their rollouts reach."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]
Objects = list[dict[str, Any]]


ROLLING = "spec>rolloutStrategy>rollingUpdateConfiguration"
SET = "spec>leaderWorkerTemplate"


def test_both_templates_are_written(make: Make, refused: Check, accepted: Check) -> None:
    one = make("set", {f"{SET}>leaderTemplate": ...})
    refused("leader-template-missing", "spec.leaderWorkerTemplate.leaderTemplate", one)
    accepted("leader-template-missing", make("set"))
    accepted(
        "leader-template-missing", make("set", {f"{SET}>leaderTemplate": ..., f"{SET}>size": 1})
    )


def test_templates_schedule_alike(make: Make, refused: Check, accepted: Check) -> None:
    for field, value in (
        ("nodeSelector", {"pool": "h100"}),
        ("tolerations", [{"operator": "Exists"}]),
        ("schedulerName", "volcano"),
        ("priorityClassName", "high"),
        ("affinity", {"nodeAffinity": {}}),
    ):
        at = f"workerTemplate.spec.{field}"
        refused("templates-schedule-apart", at, make("set", {f"L>spec>{field}": value}))
        refused("templates-schedule-apart", at, make("set", {f"W>spec>{field}": value}))
        accepted("templates-schedule-apart", make("set", {f"B>spec>{field}": value}))
    for field, value, shown in (
        ("nodeSelector", {"a": "b", "c": "d"}, "a=b, c=d"),
        ("schedulerName", "volcano", "`volcano`"),
        ("tolerations", [{"operator": "Exists"}], "set"),
    ):
        at = f"workerTemplate.spec.{field} ~ {field} is {shown} on the leader and absent on the"
        refused("templates-schedule-apart", at, make("set", {f"L>spec>{field}": value}))
        empty: tuple[Any, ...] = ("", {}, [])
        for none in empty:
            at = f"workerTemplate.spec.{field} ~ {field} is absent on the leader and {shown} on the"
            ways = {f"W>spec>{field}": value, f"L>spec>{field}": none}
            refused("templates-schedule-apart", at, make("set", ways))
            accepted("templates-schedule-apart", make("set", {f"L>spec>{field}": none}))
    host = "kubernetes.io/hostname"
    pinned = {"L>spec>nodeSelector": {host: "a"}, "W>spec>nodeSelector": {host: "b"}}
    accepted("templates-schedule-apart", make("set", pinned))
    key = {"key": "google.com/tpu", "operator": "Exists"}
    coordinator = make("set", {"L>spec>tolerations": [key], "L>C>resources": {}})
    accepted("templates-schedule-apart", coordinator)


def test_a_restart_takes_the_group(make: Make, refused: Check, accepted: Check) -> None:
    for word, code in (
        ("RecreateGroupOnHostFailure", "restart-policy-unknown"),
        ("Default", "restart-policy-default"),
        ("None", "restart-policy-none"),
    ):
        wrong = make("set", {f"{SET}>restartPolicy": word})
        refused(code, "restartPolicy ~ RecreateGroupAfterStart", wrong)
    refused(
        "restart-policy-unknown", "restartPolicy", make("set", {f"{SET}>restartPolicy": "Always"})
    )
    refused(
        "restart-policy-default", "restartPolicy", make("set", {f"{SET}>restartPolicy": "Default"})
    )
    refused("restart-policy-none", "restartPolicy", make("set", {f"{SET}>restartPolicy": "None"}))
    for sound in (make("set"), make("set", {f"{SET}>restartPolicy": ...})):
        accepted("restart-policy-unknown", sound)
        accepted("restart-policy-default", sound)
        accepted("restart-policy-none", sound)
    accepted("restart-policy-none", make("set", {f"{SET}>restartPolicy": "None", f"{SET}>size": 1}))


def test_some_group_moves(make: Make, refused: Check, accepted: Check) -> None:
    still = make("set", {f"{ROLLING}>maxUnavailable": 0})
    refused("rollout-of-nothing", "maxUnavailable", still)
    share = make("set", {f"{ROLLING}>maxUnavailable": "10%"})
    refused("rollout-of-nothing", "maxUnavailable ~ rounded down", share)
    accepted("rollout-of-nothing", make("set"))
    accepted("rollout-of-nothing", make("set", {"spec>rolloutStrategy": ...}))
    accepted(
        "rollout-of-nothing", make("set", {f"{ROLLING}>maxUnavailable": 0, "spec>replicas": 0})
    )


def test_groups_are_counted_in_whole_numbers(make: Make, refused: Check, accepted: Check) -> None:
    share = make("set", {f"{ROLLING}>maxUnavailable": "50%"})
    refused("rollout-in-percent", "maxUnavailable ~ maxUnavailable: 1", share)
    accepted("rollout-in-percent", make("set"))


def test_a_surge_that_is_asked_for_happens(make: Make, refused: Check, accepted: Check) -> None:
    both = {"spec>replicas": 1, f"{ROLLING}>maxSurge": 1}
    refused("rollout-stops-all-groups", "maxUnavailable ~ peak is 1 groups", make("set", both))
    accepted("rollout-stops-all-groups", make("set", {**both, f"{ROLLING}>maxUnavailable": 0}))
    accepted("rollout-stops-all-groups", make("set", {**both, "spec>replicas": 2}))
    for gone in (3, 7, "100%"):
        at = "maxUnavailable ~ with 3 groups and maxUnavailable"
        ways = {"spec>replicas": 3, f"{ROLLING}>maxUnavailable": gone}
        refused("rollout-stops-all-groups", at, make("set", ways))
        accepted("rollout-stops-all-groups", make("set", {**ways, f"{ROLLING}>maxSurge": 1}))
        accepted("rollout-stops-all-groups", make("set", {**ways, "spec>replicas": 1}))
        accepted("rollout-stops-all-groups", make("set", {**ways, "spec>replicas": 0}))
    some = {"spec>replicas": 3, f"{ROLLING}>maxUnavailable": 2}
    accepted("rollout-stops-all-groups", make("set", some), make("set", {"spec>replicas": 1}))


def test_the_name_holds_the_highest_index(make: Make, refused: Check, accepted: Check) -> None:
    def named(length: int, **changes: Any) -> dict[str, Any]:
        more = {key.replace("_", ">"): value for key, value in changes.items()}
        return make("set", {"metadata>name": "r" * length, **more})

    accepted("name-exceeds-bound", named(50), named(49, spec_replicas=11))
    refused("name-exceeds-bound", "metadata.name ~ bears 50", named(54))
    refused("name-exceeds-bound", "metadata.name ~ bears 49", named(50, spec_replicas=11))
    surging = make(
        "set", {"metadata>name": "r" * 50, "spec>replicas": 10, f"{ROLLING}>maxSurge": 1}
    )
    refused("name-exceeds-bound", "metadata.name ~ groups 0 to 10", surging)
    scaler = make("scaler", {"spec>scaleTargetRef>name": "r" * 50, "spec>maxReplicas": 20})
    refused("name-exceeds-bound", "metadata.name", named(50), scaler)
    label = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving", "metadata>name": "r" * 40}
    old = {"kueue": "0.17"}
    refused("name-exceeds-bound", "metadata.name ~ Kueue 0.17", make("set", label), versions=old)
    accepted("name-exceeds-bound", make("set", label), versions={"kueue": "0.19"})
    refused("name-exceeds-bound", "metadata.name", make("set", {"metadata>name": "1a"}))


def test_leader_ready_is_remarked_upon(make: Make, refused: Check, accepted: Check) -> None:
    ready = make("set", {"spec>startupPolicy": "LeaderReady"})
    refused("leader-ready-deadlock", "spec.startupPolicy ~ startupProbe", ready)
    accepted("leader-ready-remark", make("set"), ready)
    accepted("leader-ready-deadlock", make("set"))
    unread = make("set", {"spec>startupPolicy": "LeaderReady", "L>C>command": ["serve"]})
    at_once = make(
        "set",
        {
            "spec>startupPolicy": "LeaderReady",
            "L>C>startupProbe": ...,
            "L>C>readinessProbe": {"exec": {"command": ["true"]}},
        },
    )
    alone = make("set", {"spec>startupPolicy": "LeaderReady", "spec>leaderWorkerTemplate>size": 1})
    for other in (unread, at_once, alone):
        refused("leader-ready-remark", "spec.startupPolicy", other)
        accepted("leader-ready-deadlock", other)


def test_templates_leave_the_controllers_labels_alone(
    make: Make, refused: Check, accepted: Check
) -> None:
    label = "leaderworkerset.sigs.k8s.io/worker-index"
    wrong = make("set", {f"W>metadata>labels>{label}": "0"})
    at = f"workerTemplate.metadata.labels[{label}]"
    refused("template-label-of-controller", at, wrong)
    accepted("template-label-of-controller", make("set"), make("deployment"))
    name = "B>metadata>labels>leaderworkerset.sigs.k8s.io/name"
    accepted("template-label-of-controller", make("set", {name: "r1"}))
    refused(
        "template-label-of-controller",
        "labels[leaderworkerset.sigs.k8s.io/name]",
        make("set", {name: "r2"}),
    )
    accepted("template-label-of-controller", make("set", {name: "r1", "metadata>namespace": ...}))
    for label in ("pod-template-hash", "controller-revision-hash"):
        own = make("deployment", {f"spec>template>metadata>labels>{label}": "a"})
        refused("template-label-of-controller", f"metadata.labels.{label}", own)


def test_subgroups_divide_the_group(make: Make, refused: Check, accepted: Check) -> None:
    def sliced(size: int, policy: dict[str, Any]) -> dict[str, Any]:
        return make("set", {f"{SET}>size": size, f"{SET}>subGroupPolicy": policy})

    refused("subgroups-refused", "subGroupSize ~ panic", sliced(4, {}))
    refused("subgroups-refused", "subGroupSize", sliced(4, {"subGroupSize": 5}))
    refused("subgroups-refused", "subGroupSize", sliced(6, {"subGroupSize": 4}))
    excluded = {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}
    refused("subgroups-refused", "subGroupSize", sliced(4, excluded))
    accepted("subgroups-refused", make("set"), sliced(4, {"subGroupSize": 2}))
    accepted("subgroups-refused", sliced(5, {"subGroupSize": 2}), sliced(5, excluded))


def test_exclusive_topology_and_a_queue_exclude_each_other(
    make: Make, refused: Check, accepted: Check
) -> None:
    key = "leaderworkerset.sigs.k8s.io/exclusive-topology"
    alone = {f"metadata>annotations>{key}": "rack"}
    queued = {"metadata>labels>kueue.x-k8s.io/queue-name": "serving"}
    at = f"metadata.annotations[{key}]"
    refused("exclusive-topology-under-queue", at, make("set", {**alone, **queued}))
    accepted("exclusive-topology-under-queue", make("set", alone), make("set", queued))


def test_claims_use_what_is_copied(make: Make, refused: Check, accepted: Check) -> None:
    def claimed(metadata: dict[str, Any], spec: dict[str, Any]) -> dict[str, Any]:
        claim = {"metadata": {"name": "models", **metadata}, "spec": spec}
        return make("set", {f"{SET}>volumeClaimTemplates": [claim]})

    at = "volumeClaimTemplates[0]"
    refused("claim-field-dropped", f"{at}.metadata.labels", claimed({"labels": {"a": "b"}}, {}))
    refused("claim-field-dropped", f"{at}.spec.dataSource", claimed({}, {"dataSource": {}}))
    kept = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast", "resources": {}}
    accepted("claim-field-dropped", claimed({}, kept))


def test_the_release_has_what_is_written(make: Make, refused: Check, accepted: Check) -> None:
    old = {"lws": "0.5"}
    refused("field-pruned-by-release", "restartPolicy ~ 0.9", make("set"), versions=old)
    held = make("set", {f"{ROLLING}>partition": 1, f"{SET}>restartPolicy": "None"})
    refused("field-pruned-by-release", "partition ~ 0.6", held, versions=old)
    accepted("field-pruned-by-release", make("set"), held, versions={"lws": "0.10"})
    accepted("field-pruned-by-release", make("set"))


def test_variables_of_the_controller_are_its_own(
    make: Make, refused: Check, accepted: Check
) -> None:
    own = make("set", {"L>C>env": [{"name": "LWS_LEADER_ADDRESS", "value": "r1-0"}]})
    refused("variable-of-controller", "containers[0].env[0]", own)
    accepted("variable-of-controller", make("set", {"L>C>env": [{"name": "A", "value": "b"}]}))


def test_a_surge_is_a_number_of_groups(make: Make, refused: Check, accepted: Check) -> None:
    for value, words in ((-1, "negative"), ("101%", "more than 100"), ("1", "neither"), ("x%", "")):
        wrong = make("set", {f"{ROLLING}>maxUnavailable": value})
        refused("rollout-refused", f"maxUnavailable ~ {words}", wrong)
    for value in (0, 50, "25%", "100%"):
        accepted("rollout-refused", make("set", {f"{ROLLING}>maxSurge": value}))


def test_a_canary_leaves_a_group_to_the_new_revision(
    make: Make, refused: Check, accepted: Check
) -> None:
    for held in (2, 9):
        at = "partition ~ partition: 1"
        refused("partition-holds-all-groups", at, make("set", {f"{ROLLING}>partition": held}))
    accepted("partition-holds-all-groups", make("set", {f"{ROLLING}>partition": 1}), make("set"))


def test_no_set_is_called_like_a_group(make: Make, refused: Check, accepted: Check) -> None:
    def called(name: str) -> dict[str, Any]:
        return make("set", {"metadata>name": name})

    refused("set-names-collide", "LeaderWorkerSet/r1-1 metadata.name", make("set"), called("r1-1"))
    for name in ("r1-2", "r1-01", "r1-a", "r2-1"):
        accepted("set-names-collide", make("set"), called(name))
    apart = make("set", {"metadata>name": "r1-1", "metadata>namespace": "other"})
    accepted("set-names-collide", make("set"), apart)


def test_subgroups_have_a_policy(make: Make, refused: Check, accepted: Check) -> None:
    key = "leaderworkerset.sigs.k8s.io/subgroup-exclusive-topology"
    asks = {"metadata>annotations": {key: "example.com/rack"}}
    refused("subgroups-refused", f"annotations[{key}]", make("set", asks))
    policy = {f"{SET}>subGroupPolicy": {"subGroupSize": 2}}
    accepted("subgroups-refused", make("set", {**asks, **policy}))


def test_a_set_has_no_more_pods_than_are_counted(
    make: Make, refused: Check, accepted: Check
) -> None:
    def sized(groups: int) -> dict[str, Any]:
        return make("set", {"spec>replicas": groups, "spec>leaderWorkerTemplate>size": 2})

    refused("set-too-large", "spec.replicas ~ write 1073741823 or fewer", sized(2**30))
    accepted("set-too-large", sized(2**30 - 1))
