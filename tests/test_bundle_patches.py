"""A user's patches: what they change, and what they may not."""

from __future__ import annotations

from typing import Any

import pytest
from tests.bundles import ENGINE, ONE, cluster, find, made, pods, refused, with_keda

from gangform.documents.document import Node, dig, mapping, sequence
from gangform.findings import InputPath, Path
from gangform.inputs.serving import Autoscaling, Disruption, Patch


def test_a_merged_patch_changes_one_object_and_is_remembered() -> None:
    patch = Patch(
        kind="Service", name="llm-leader", merge={"spec": {"sessionAffinity": "ClientIP"}}
    )
    built = made(patches=(patch,))
    service = find(built, "Service", "llm-leader")
    assert dig(service, "spec", "sessionAffinity") == "ClientIP"
    (changed,) = built.patched.items()
    assert str(changed[0]) == "Service/m/llm-leader"
    assert changed[1] == {("spec", "sessionAffinity"): 0}


def test_operations_are_applied_in_order_to_every_object_of_a_kind() -> None:
    add: dict[str, Any] = {"op": "add", "path": "/metadata/labels/team", "value": "a"}
    change: dict[str, Any] = {"op": "replace", "path": "/metadata/labels/team", "value": "b"}
    patches = (
        Patch(kind="PodDisruptionBudget", operations=(add,)),
        Patch(kind="PodDisruptionBudget", operations=(change,)),
    )
    built = made(disruption=Disruption(mode="perGroup"), patches=patches)
    found = [one.manifest for one in built.documents if one.kind == "PodDisruptionBudget"]
    assert [dig(one, "metadata", "labels", "team") for one in found] == ["b", "b"]
    assert all(changed == {("metadata", "labels", "team"): 1} for changed in built.patched.values())


def test_a_patch_is_applied_before_the_servers_defaults() -> None:
    scratch: dict[str, Any] = {"name": "scratch", "emptyDir": {"sizeLimit": "2048Gi"}}
    merge: dict[str, Any] = {"spec": {"template": {"spec": {"volumes": [scratch]}}}}
    built = made(parallelism=ONE, patches=(Patch(kind="Deployment", merge=merge),))
    (spec,) = pods(built)
    (volume,) = [one for one in sequence(spec, "volumes") if dig(one, "name") == "scratch"]
    assert dig(volume, "emptyDir") == {"sizeLimit": "2Ti"}


@pytest.mark.parametrize(
    ("patch", "what", "fix"),
    [
        (
            Patch(kind="Service", name="llm", merge={}),
            "the bundle has no Service/llm",
            "did you mean Service/llm-leader?",
        ),
        (
            Patch(kind="Deploymentt", merge={}),
            "the bundle has no Deploymentt",
            "did you mean Deployment?",
        ),
        (
            Patch(kind="Ingress", merge={}),
            "the bundle has no Ingress",
            "use one of Deployment, PodDisruptionBudget, PodMonitor, PrometheusRule, Service, ServiceAccount",
        ),
    ],
)
def test_a_patch_that_hits_nothing_is_refused_with_the_nearest(
    patch: Patch, what: str, fix: str
) -> None:
    (found,) = refused(patch, parallelism=ONE)
    assert (found.code.id, found.what, found.fix) == ("patch-hits-nothing", what, fix)
    assert found.at == InputPath(("servings", "llm", "patches", 0))


def test_a_patch_that_does_not_fit_names_the_object_and_the_place() -> None:
    remove: dict[str, Any] = {"op": "remove", "path": "/spec/nothing"}
    (found,) = refused(Patch(kind="Service", operations=(remove,)))
    assert found.code.id == "patch-does-not-fit"
    assert found.what.startswith("Service/m/llm-leader: spec")
    (typed,) = refused(Patch(kind="Service", merge={"spec": {"ports": "all"}}))
    assert typed.code.id == "patch-does-not-fit"


def at(path: Path, value: Any) -> dict[str, Any]:
    for part in reversed(path):
        value = {str(part): value}
    assert isinstance(value, dict)
    return value


@pytest.mark.parametrize(
    ("kind", "path", "value", "name"),
    [
        ("LeaderWorkerSet", ("metadata", "name"), "other", "name"),
        ("LeaderWorkerSet", ("metadata", "namespace"), "other", "namespace"),
        ("LeaderWorkerSet", ("apiVersion",), "x/v1", "workload"),
        ("LeaderWorkerSet", ("spec", "replicas"), 7, "groups"),
        ("LeaderWorkerSet", ("spec", "leaderWorkerTemplate", "size"), 3, "parallelism"),
        (
            "LeaderWorkerSet",
            ("spec", "rolloutStrategy", "rollingUpdateConfiguration", "maxSurge"),
            1,
            "rollout",
        ),
        ("LeaderWorkerSet", (*ENGINE, "schedulerName"), "other", "admission.backend"),
        (
            "LeaderWorkerSet",
            ("metadata", "labels", "kueue.x-k8s.io/queue-name"),
            "other",
            "admission",
        ),
        ("Service", ("spec", "selector", "app"), "other", "name"),
        ("Service", ("metadata", "labels", "app.kubernetes.io/name"), "other", "name"),
        ("PodDisruptionBudget", ("spec", "selector", "matchLabels", "a"), "b", "name"),
    ],
)
def test_a_value_that_others_depend_on_is_not_patched(
    kind: str, path: Path, value: Node, name: str
) -> None:
    (found,) = refused(Patch(kind=kind, merge=at(path, value)), backend="kueue")
    assert found.code.id == "patch-over-plan"
    assert found.fix == f"change `{name}` of the serving instead"
    assert found.seen == {"input": name}


@pytest.mark.parametrize(
    ("field", "value", "name"),
    [("queue", "other", "admission"), ("minMember", 1, "parallelism")],
)
def test_a_gang_is_not_patched(field: str, value: Any, name: str) -> None:
    patch = Patch(kind="PodGroup", name="llm-0", merge={"spec": {field: value}})
    (found,) = refused(patch, backend="volcano-podgroup")
    assert (found.code.id, found.seen) == ("patch-over-plan", {"input": name})


@pytest.mark.parametrize(
    ("container", "name"),
    [
        ({"args": ["--port=1"]}, "engine.args, parallelism or context"),
        ({"command": ["sh"]}, "engine.args, parallelism or context"),
        ({"resources": {"limits": {"nvidia.com/gpu": 4}}}, "parallelism"),
    ],
)
def test_the_engines_command_line_and_gpus_are_not_patched(
    container: dict[str, Any], name: str
) -> None:
    merge = at((*ENGINE, "containers"), [{"name": "engine", **container}])
    found = refused(Patch(kind="LeaderWorkerSet", merge=merge))
    assert {one.code.id for one in found} == {"patch-over-plan"}
    assert {one.seen["input"] for one in found} == {name}


@pytest.mark.parametrize(
    ("container", "name"),
    [
        ({"image": "other:1"}, "engine.image"),
        ({"ports": [{"name": "http", "containerPort": 9000}]}, "engine"),
        ({"startupProbe": {"failureThreshold": 3}}, "coldStart"),
        ({"startupProbe": {"httpGet": {"path": "/ready"}}}, "engine"),
        ({"readinessProbe": {"httpGet": {"path": "/ready"}}}, "engine"),
        ({"resources": {"requests": {"memory": "1Gi"}}}, "pods.resources"),
        ({"resources": {"limits": {"ephemeral-storage": "1Gi"}}}, "pods.resources"),
        (
            {"env": [{"name": "HF_HOME", "value": "/tmp"}]},
            "engine, weights, coldStart or the pool's hardware",
        ),
        ({"env": [{"name": "LWS_GROUP_SIZE", "value": "3"}]}, "parallelism"),
    ],
)
def test_what_the_engines_container_opens_asks_for_and_runs_is_not_patched(
    container: dict[str, Any], name: str
) -> None:
    merge = at((*ENGINE, "containers"), [{"name": "engine", **container}])
    found = refused(Patch(kind="LeaderWorkerSet", merge=merge))
    assert {(one.code.id, one.seen["input"]) for one in found} == {("patch-over-plan", name)}


@pytest.mark.parametrize("value", ["false", None])
def test_what_keeps_the_node_autoscaler_away_is_not_patched(value: str | None) -> None:
    """Taken from one template, it would leave the group to it."""
    worker = ("spec", "leaderWorkerTemplate", "workerTemplate", "metadata", "annotations")
    key = "karpenter.sh/do-not-disrupt"
    merge = at(worker, {key: value})
    (found,) = refused(
        Patch(kind="LeaderWorkerSet", merge=merge), on=cluster(node_autoscaler="karpenter")
    )
    assert (found.code.id, found.seen) == ("patch-over-plan", {"input": "pods.annotations"})
    # Where nobody declared one, the annotation is not ours.
    free = Patch(kind="LeaderWorkerSet", merge=at(worker, {key: "true"}))
    assert made(patches=(free,)).patched


def test_an_autoscaler_is_not_patched_into_a_vertical_one() -> None:
    merges: list[dict[str, Any]] = [
        {"kind": "VerticalPodAutoscaler"},
        {"apiVersion": "autoscaling.k8s.io/v1", "kind": "VerticalPodAutoscaler"},
    ]
    for merge in merges:
        found = refused(
            Patch(kind="HorizontalPodAutoscaler", merge=merge),
            autoscaling=Autoscaling(min=1, max=2),
        )
        assert {one.code.id for one in found} == {"patch-over-plan"}


def test_how_often_probes_ask_is_patched() -> None:
    asked: dict[str, Any] = {"periodSeconds": 7, "failureThreshold": 9, "timeoutSeconds": 4}
    engine = {"name": "engine", "readinessProbe": asked, "livenessProbe": asked}
    patch = Patch(kind="LeaderWorkerSet", merge=at((*ENGINE, "containers"), [engine]))
    built = find(made(patches=(patch,)), "LeaderWorkerSet", "llm")
    container = mapping(sequence(mapping(built, *ENGINE), "containers")[0])
    for key in ("readinessProbe", "livenessProbe"):
        probe = mapping(container, key)
        assert {name: probe[name] for name in asked} == asked


def test_volumes_of_ours_and_their_mounts_are_not_patched() -> None:
    shm: list[Any] = [{"name": "shm", "emptyDir": {"medium": ""}}]
    (found,) = refused(Patch(kind="LeaderWorkerSet", merge=at((*ENGINE, "volumes"), shm)))
    assert found.seen == {"input": "pods.resources.sharedMemory"}
    assert "leaderTemplate.spec.volumes[0].emptyDir.medium" in found.what
    gone: dict[str, Any] = {
        "op": "remove",
        "path": "/" + "/".join((*ENGINE, "containers", "0", "volumeMounts")),
    }
    every = refused(Patch(kind="LeaderWorkerSet", operations=(gone,)))
    assert {one.seen["input"] for one in every} == {"pods.resources.sharedMemory", "weights"}


def test_the_port_of_a_service_is_not_patched_and_another_is_added() -> None:
    ports: dict[str, Any] = {"spec": {"ports": [{"name": "http", "targetPort": 9000}]}}
    (found,) = refused(Patch(kind="Service", merge=ports))
    assert (found.seen, "spec.ports[0].targetPort" in found.what) == ({"input": "engine"}, True)
    first: dict[str, Any] = {
        "op": "add",
        "path": "/spec/ports/0",
        "value": {"name": "metrics", "port": 9400},
    }
    built = made(patches=(Patch(kind="Service", operations=(first,)),))
    assert len(sequence(find(built, "Service", "llm-leader"), "spec", "ports")) == 2


def test_what_a_patch_adds_beside_ours_is_free() -> None:
    """Also before ours: entries of lists are told apart by name and not by place."""
    engine: dict[str, Any] = {
        "name": "engine",
        "env": [{"name": "OWN", "value": "1"}],
        "ports": [{"name": "debug", "containerPort": 7000}],
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        "resources": {"limits": {"cpu": "100"}},
    }
    pod: dict[str, Any] = {
        "containers": [engine, {"name": "proxy", "image": "proxy:1", "env": [{"name": "A"}]}],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    }
    merge = at(ENGINE[:-1], {"metadata": {"labels": {"team": "a"}}, "spec": pod})
    containers = "/" + "/".join((*ENGINE, "containers", "0"))
    first: dict[str, Any] = {
        "op": "add",
        "path": containers,
        "value": {"name": "log", "image": "log:1"},
    }
    built = made(
        patches=(
            Patch(kind="LeaderWorkerSet", merge=merge),
            Patch(kind="LeaderWorkerSet", operations=(first,)),
        )
    )
    names = [
        dig(one, "name")
        for one in sequence(find(built, "LeaderWorkerSet"), *ENGINE[:-1], "spec", "containers")
    ]
    assert names == ["log", "engine", "proxy"]


def test_a_sidecar_does_not_shadow_the_controllers_variables() -> None:
    sidecar: dict[str, Any] = {
        "name": "proxy",
        "image": "p:1",
        "env": [{"name": "LWS_LEADER_ADDRESS", "value": "x"}],
    }
    merge = at((*ENGINE, "containers"), [sidecar])
    found = refused(Patch(kind="LeaderWorkerSet", merge=merge))
    assert {one.seen["input"] for one in found} == {"parallelism"}


def test_the_bounds_of_an_autoscaler_and_a_deployments_strategy_are_not_patched() -> None:
    bounds = Patch(kind="HorizontalPodAutoscaler", merge={"spec": {"maxReplicas": 9}})
    (found,) = refused(bounds, autoscaling=Autoscaling(min=2, max=3))
    assert found.seen == {"input": "autoscaling"}
    bounds = Patch(kind="ScaledObject", merge={"spec": {"minReplicaCount": 0}})
    (found,) = refused(bounds, autoscaling=Autoscaling(min=2, max=3), on=with_keda())
    assert found.seen == {"input": "autoscaling"}
    strategy = Patch(kind="Deployment", merge={"spec": {"strategy": {"type": "Recreate"}}})
    found, *_ = refused(strategy, parallelism=ONE)
    assert found.seen == {"input": "rollout"}


def test_what_keda_asks_beside_its_bounds_may_be_patched() -> None:
    slower = Patch(kind="ScaledObject", merge={"spec": {"pollingInterval": 60}})
    built = made(patches=(slower,), on=with_keda(), autoscaling=Autoscaling(min=2, max=3))
    spec = mapping(find(built, "ScaledObject"), "spec")
    assert spec["pollingInterval"] == 60 and spec["maxReplicaCount"] == 3


def test_the_same_value_is_no_change() -> None:
    built = made(patches=(Patch(kind="LeaderWorkerSet", merge={"spec": {"replicas": 2}}),))
    assert built.patched == {}


def test_all_patches_that_do_not_fit_are_reported_at_once() -> None:
    found = refused(
        Patch(kind="LeaderWorkerSet", merge={"spec": {"replicas": 3}}),
        Patch(kind="Service", merge={"metadata": {"labels": {"team": "a"}}}),
        Patch(kind="Nothing", merge={}),
        Patch(kind="Service", operations=({"op": "remove", "path": "/x"},)),
    )
    assert [(one.at.path[-1], one.code.id) for one in found] == [
        (0, "patch-over-plan"),
        (2, "patch-hits-nothing"),
        (3, "patch-does-not-fit"),
    ]
