from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from gangform import bundle as module
from gangform.admission.admission import backend
from gangform.apis.views import Documents
from gangform.bundle import Bundle, bundle, foundation, judge_bundles
from gangform.documents.document import Manifest, Node, dig, mapping, sequence
from gangform.findings import (
    CODES,
    Code,
    DocumentPath,
    Finding,
    InputError,
    InputPath,
    Path,
    Severity,
)
from gangform.inputs.cluster import Cluster, Installed, Library, Pool
from gangform.inputs.hardware import Gpu, HardwareShape, Taint
from gangform.inputs.model import Measured, ModelProfile
from gangform.inputs.serving import (
    Admission,
    Autoscaling,
    Disruption,
    Engine,
    Network,
    Parallelism,
    Patch,
    Pods,
    Rollout,
    Serving,
)
from gangform.origin import REPEATS
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.rules.rule import Context, judge, load
from gangform.units import Bytes, Millicores

NODE = HardwareShape(
    name="eight",
    gpu=Gpu(product="NVIDIA-H100-80GB-HBM3", count=8, visible_memory=Bytes.gib(80)),
    cpu=Millicores(100_000),
    memory=Bytes.gib(1600),
    ephemeral_storage=Bytes.gib(3000),
    taints=(Taint(key="nvidia.com/gpu"),),
)
MODEL = ModelProfile(
    name="small",
    repository="example/small",
    weights="bf16",
    checkpoint=Bytes.gib(100),
    context_limit=131_072,
    measured=Measured(weights_per_gpu=Bytes.gib(10), kv_bytes_per_token=1024),
)
WAVE = "argocd.argoproj.io/sync-wave"
OPTIONS = "argocd.argoproj.io/sync-options"


def cluster(**changes: Any) -> Cluster:
    given: dict[str, Any] = {
        "name": "prod",
        "versions": Installed(kubernetes="1.36", lws="0.10", kueue="0.19", volcano="1.15"),
        "foundation": "all",
        "pools": {"gpu": Pool(hardware=NODE)},
        "metrics_adapter": "external",
    }
    return Cluster(**{**given, **changes})


def plan(backend: str = "none", *, on: Cluster | None = None, **changes: Any) -> ServingPlan:
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": MODEL,
        "pool": "gpu",
        "engine": Engine(version="0.33.0"),
        "parallelism": Parallelism(tensor=8, pipeline=2),
        "groups": None if "autoscaling" in changes else 2,
        "context": 32_768,
        "admission": Admission(backend=backend, queue=None if backend == "none" else "serving"),
    }
    return plan_serving(
        Serving(**{**given, **changes}),
        cluster=on or cluster(),
        library=Library(models={}, hardware={}),
    )


ONE = Parallelism(tensor=8)


def made(*args: Any, **changes: Any) -> Bundle:
    return bundle(plan(*args, **changes))


def find(built: Bundle, kind: str, name: str = "llm") -> Manifest:
    (found,) = [one for one in built.documents if one.kind == kind and one.key.name == name]
    return found.manifest


def pods(built: Bundle) -> list[Manifest]:
    """The pod specs of all workloads."""
    places: tuple[Path, ...] = (
        ("spec", "template", "spec"),
        ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec"),
        ("spec", "leaderWorkerTemplate", "workerTemplate", "spec"),
    )
    found = [mapping(one.manifest, *place) for one in built.documents for place in places]
    return [spec for spec in found if spec]


def kinds(built: Bundle) -> list[str]:
    return [document.kind for document in built.documents]


def refused(*patches: Patch, backend: str = "none", **changes: Any) -> list[Finding]:
    with pytest.raises(InputError) as caught:
        made(backend, patches=patches, **changes)
    return list(caught.value.findings)


# ── order ────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_workload_needs_comes_before_it() -> None:
    built = made(autoscaling=Autoscaling(min=2, max=3))
    assert kinds(built) == [
        "ServiceAccount",
        "Service",
        "PodDisruptionBudget",
        "PodMonitor",
        "PrometheusRule",
        "LeaderWorkerSet",
        "HorizontalPodAutoscaler",
    ]
    waves = [document.wave for document in built.documents]
    assert waves == sorted(waves) == [-1, 0, 0, 0, 0, 1, 1]


def test_each_set_of_one_group_has_a_wave_of_its_own_after_its_group() -> None:
    built = made("volcano-podgroup", groups=3)
    assert [(one.kind, one.wave) for one in built.documents if one.key.name[-1].isdigit()] == [
        ("PodGroup", 0),
        ("PodGroup", 0),
        ("PodGroup", 0),
        ("LeaderWorkerSet", 1),
        ("LeaderWorkerSet", 2),
        ("LeaderWorkerSet", 3),
    ]


def test_every_object_is_ours_and_says_who_made_it() -> None:
    built = made("volcano-podgroup", network=Network(clients=({},), scrapers=({},)))
    for document in built.documents:
        labels = mapping(document.manifest, "metadata", "labels")
        assert labels["app.kubernetes.io/managed-by"] == "gangform"
        assert document.origin == ("servings", "llm")
    builders = {document.kind: document.builder for document in built.documents}
    assert builders["LeaderWorkerSet"] == "manifests.leaderworkerset.sets"
    assert builders["PodGroup"] == "admission.volcano-podgroup.stamp"
    assert builders["NetworkPolicy"] == "manifests.access.policies"


def test_argo_cd_gets_waves_and_options_and_others_get_none() -> None:
    plain = made()
    assert all("annotations" not in mapping(one.manifest, "metadata") for one in plain.documents)
    argo = made(on=cluster(gitops="argocd"))
    found = {one.kind: mapping(one.manifest, "metadata", "annotations") for one in argo.documents}
    assert found["Service"] == {WAVE: "0"}
    assert found["LeaderWorkerSet"] == {
        OPTIONS: "SkipDryRunOnMissingResource=true,Prune=confirm,Delete=confirm",
        WAVE: "1",
    }


def test_a_patch_may_choose_another_wave() -> None:
    patch = Patch(kind="Service", merge={"metadata": {"annotations": {WAVE: "5"}}})
    built = made(on=cluster(gitops="argocd"), patches=(patch,))
    assert mapping(find(built, "Service", "llm-leader"), "metadata", "annotations")[WAVE] == "5"


def test_a_plan_that_breaks_makes_no_document() -> None:
    with pytest.raises(InputError) as caught:
        made(parallelism=Parallelism(tensor=16, pipeline=2))
    assert [one.code.id for one in caught.value.findings] == ["tensor-leaves-nvlink"]


def test_a_foundation_is_for_the_sum_and_in_waves() -> None:
    on = cluster(priorities={"high": 10}, gitops="argocd")
    built = foundation(plan_cluster(on, [plan("kueue", on=on)]))
    assert built.name == "foundation"
    assert kinds(built) == ["WorkloadPriorityClass", "ResourceFlavor", "ClusterQueue", "LocalQueue"]
    assert [document.wave for document in built.documents] == [-3, -2, -1, -1]
    assert {document.origin for document in built.documents} == {("clusters", "prod")}
    others = cluster(foundation="existing")
    assert foundation(plan_cluster(others, [plan("kueue", on=others)])).documents == ()


@pytest.mark.parametrize("owner", ["all", "queues", "existing"])
def test_a_class_of_others_is_promised_by_the_plan(owner: str) -> None:
    on = cluster(foundation=owner)
    asks = Admission(backend="kueue", queue="serving", priority_class="high")
    serving = plan("kueue", on=on, admission=asks)
    built = [foundation(plan_cluster(on, [serving])), bundle(serving)]
    found = {one.code.id for one in judge_bundles(built, on)}
    assert "priority-class-unresolved" not in found


# ── patches ──────────────────────────────────────────────────────────────────────────────────────


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


ENGINE = ("spec", "leaderWorkerTemplate", "leaderTemplate", "spec")


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
    strategy = Patch(kind="Deployment", merge={"spec": {"strategy": {"type": "Recreate"}}})
    found, *_ = refused(strategy, parallelism=ONE)
    assert found.seen == {"input": "rollout"}


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


# ── the user's fields ────────────────────────────────────────────────────────────────────────────

FIELDS = Pods(
    image_pull_secrets=("pull",),
    security_context={"fsGroup": 1000},
    container_security_context={"runAsUser": 5, "allowPrivilegeEscalation": True},
    init_containers=({"name": "first", "image": "x:1"},),
    sidecars=({"name": "log", "image": "y:1"},),
    tolerations=({"key": "team", "operator": "Exists"},),
    node_selector={"disk": "nvme"},
    affinity={"nodeAffinity": {}},
    labels={"team": "a"},
    annotations={"note": "b"},
    env=({"name": "OWN", "value": "1"},),
    volumes=({"name": "extra", "emptyDir": {}},),
    volume_mounts=({"name": "extra", "mountPath": "/extra"},),
    priority_class_name="high",
    host_network=True,
)


@pytest.mark.parametrize("split", [ONE, Parallelism(tensor=8, pipeline=2)])
def test_the_users_fields_go_into_every_template_after_ours(split: Parallelism) -> None:
    found = pods(made(parallelism=split, pods=FIELDS))
    assert len(found) == split.pipeline
    for spec in found:
        assert dig(spec, "imagePullSecrets") == [{"name": "pull"}]
        assert dig(spec, "securityContext") == {"fsGroup": 1000}
        assert dig(spec, "priorityClassName") == "high"
        assert (dig(spec, "hostNetwork"), dig(spec, "dnsPolicy")) == (
            True,
            "ClusterFirstWithHostNet",
        )
        assert dig(spec, "affinity") == {"nodeAffinity": {}}
        assert mapping(spec, "nodeSelector")["disk"] == "nvme"
        assert dig(spec, "initContainers", 0, "name") == "first"
        names = [dig(one, "name") for one in sequence(spec, "containers")]
        assert names == ["engine", "log"]
        assert [dig(one, "key") for one in sequence(spec, "tolerations")] == [
            "nvidia.com/gpu",
            "team",
        ]
        assert dig(spec, "volumes", -1, "name") == "extra"
        engine = mapping(spec, "containers", 0)
        assert dig(engine, "env", -1) == {"name": "OWN", "value": "1"}
        assert dig(engine, "volumeMounts", -1, "name") == "extra"
        assert dig(engine, "securityContext") == {"runAsUser": 5, "allowPrivilegeEscalation": True}


def test_labels_and_annotations_are_the_pods_and_not_the_objects() -> None:
    built = made(pods=FIELDS)
    template = mapping(find(built, "LeaderWorkerSet"), *ENGINE[:-1], "metadata")
    assert mapping(template, "labels")["team"] == "a"
    assert mapping(template, "annotations")["note"] == "b"
    assert "team" not in mapping(find(built, "LeaderWorkerSet"), "metadata", "labels")


def test_without_the_hosts_network_the_pods_have_the_ordinary_names() -> None:
    for spec in pods(made()):
        assert dig(spec, "dnsPolicy") is None
        assert dig(spec, "hostNetwork") is None


def test_an_account_that_exists_is_named_and_none_of_ours_is_made() -> None:
    own = made()
    assert dig(find(own, "ServiceAccount"), "automountServiceAccountToken") is False
    assert {dig(spec, "serviceAccountName") for spec in pods(own)} == {"llm"}
    theirs = made(pods=Pods(service_account_name="theirs"))
    assert "ServiceAccount" not in kinds(theirs)
    assert {dig(spec, "serviceAccountName") for spec in pods(theirs)} == {"theirs"}


# ── what rules say, at the place where the user wrote it ─────────────────────────────────────────

BAD = Code("test-rule", "A test", Severity.BREAKS, "here")
POOR = Code("test-remark", "A test", Severity.DEGRADES, "here")


def judged(
    monkeypatch: pytest.MonkeyPatch,
    path: Path,
    *,
    kind: str = "LeaderWorkerSet",
    code: Code = BAD,
    patches: Sequence[Patch] = (),
    fields: Pods = FIELDS,
) -> Finding:
    built = made(pods=fields, patches=tuple(patches))
    name = "llm-leader" if kind == "Service" else "llm"
    said = Finding(code=code, at=DocumentPath(kind, "m", name, path), what="w", fix="f")
    monkeypatch.setattr(module, "judge", lambda documents, context: [said])
    (found,) = judge_bundles([built], cluster())
    return found


@pytest.mark.parametrize("template", ["leaderTemplate", "workerTemplate"])
@pytest.mark.parametrize(
    ("inner", "place"),
    [
        (("containers", 1, "image"), ("sidecars", 0)),
        (("containers", 1), ("sidecars", 0)),
        (("initContainers", 0, "image"), ("initContainers", 0)),
        (("imagePullSecrets", 0, "name"), ("imagePullSecrets", 0)),
        (("volumes", 2, "name"), ("volumes", 0)),
        (("tolerations", 1), ("tolerations", 0)),
        (("affinity", "nodeAffinity"), ("affinity",)),
        (("securityContext", "fsGroup"), ("securityContext",)),
        (("containers", 0, "securityContext", "runAsUser"), ("containerSecurityContext",)),
        (("containers", 0, "volumeMounts", 2), ("volumeMounts", 0)),
    ],
)
def test_a_fault_in_a_field_of_the_user_is_reported_there(
    monkeypatch: pytest.MonkeyPatch, template: str, inner: Path, place: Path
) -> None:
    found = judged(monkeypatch, ("spec", "leaderWorkerTemplate", template, "spec", *inner))
    assert found.at == InputPath(("servings", "llm", "pods", *place))
    assert found.fix == "f"


def test_a_fault_in_a_variable_of_the_user_is_reported_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = len(plan().lead.launch.leader.env)
    found = judged(monkeypatch, (*ENGINE, "containers", 0, "env", own, "name"))
    assert found.at == InputPath(("servings", "llm", "pods", "env", 0))


@pytest.mark.parametrize(
    "path",
    [
        (*ENGINE, "containers", 0, "image"),
        (*ENGINE, "containers", 0, "env", 0),
        (*ENGINE, "volumes", 0),
        (*ENGINE, "tolerations", 0),
        (*ENGINE, "nodeSelector"),
        ("spec", "replicas"),
        (*ENGINE[:-1], "metadata"),
    ],
)
def test_a_fault_in_what_is_ours_is_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    found = judged(monkeypatch, path)
    assert found.at == DocumentPath("LeaderWorkerSet", "m", "llm", path)
    assert found.fix == "f; nothing in the inputs says so: a fault in gangform"
    assert judged(monkeypatch, path, code=POOR).fix == "f"


def test_what_the_plan_says_is_not_said_again_by_a_rule() -> None:
    """One group that may surge and be missing at once: the plan says what the rule would."""
    lone = plan(groups=1, rollout=Rollout(max_surge=1, max_unavailable=1))
    said = {one.code.id for one in lone.findings}
    assert "surge-does-not-happen" in said
    built = bundle(lone)
    alone = Documents(built.documents)
    assert "rollout-stops-all-groups" in {one.code.id for one in judge(alone, Context())}
    assert "rollout-stops-all-groups" not in {
        one.code.id for one in judge_bundles([built], cluster())
    }
    silent = built._replace(plan=lone._replace(findings=()))
    assert "rollout-stops-all-groups" in {one.code.id for one in judge_bundles([silent], cluster())}


def test_every_repetition_is_of_codes_that_exist() -> None:
    rules = load()
    backend("volcano")
    for code, plans in REPEATS.items():
        assert code in rules
        assert all(one in CODES and one not in rules for one in plans)


def test_a_peer_that_the_server_refuses_is_reported_where_it_was_written() -> None:
    network = Network(
        clients=({"podSelector": {}}, {"labels": {}}), scrapers=({"podSelector": {}},)
    )
    (found,) = judge_bundles([made(network=network)], cluster())
    assert found.code.id == "network-peer-refused"
    assert found.at == InputPath(("servings", "llm", "network", "clients", 1))


def test_a_security_context_that_nobody_wrote_is_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    path = (*ENGINE, "containers", 0, "securityContext")
    assert isinstance(judged(monkeypatch, path, fields=Pods()).at, DocumentPath)


@pytest.mark.parametrize(
    "path", [("spec", "sessionAffinity"), ("spec",), ("spec", "sessionAffinity", "deeper")]
)
def test_a_fault_where_a_patch_changed_something_is_reported_at_the_patch(
    monkeypatch: pytest.MonkeyPatch, path: Path
) -> None:
    patches = (
        Patch(kind="Service", merge={"metadata": {"labels": {"a": "b"}}}),
        Patch(kind="Service", merge={"spec": {"sessionAffinity": "ClientIP"}}),
    )
    found = judged(monkeypatch, path, kind="Service", patches=patches)
    assert found.at == InputPath(("servings", "llm", "patches", 1))


def test_a_fault_elsewhere_in_a_patched_object_is_not_the_patchs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patches = (Patch(kind="Service", merge={"spec": {"sessionAffinity": "ClientIP"}}),)
    found = judged(monkeypatch, ("spec", "ports"), kind="Service", patches=patches)
    assert isinstance(found.at, DocumentPath)


def test_rules_see_what_the_plan_promises_and_what_others_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[Any] = []

    def judge(documents: Any, context: Any) -> list[Finding]:
        seen.append(context)
        return []

    monkeypatch.setattr(module, "judge", judge)
    on = cluster(foundation="existing")
    whole = plan_cluster(on, [plan("kueue", on=on, pods=Pods(image_pull_secrets=("pull",)))])
    built = [bundle(whole.servings[0]), foundation(whole)]
    assert judge_bundles(built, on, complete=False) == ()
    (context,) = seen
    assert {str(key) for key in context.exists} == {
        "Secret/m/pull",
        "ResourceFlavor/gpu",
        "ClusterQueue/serving",
        "LocalQueue/m/serving",
    }
    assert (context.complete, context.provider) == (False, None)
    assert context.versions == on.versions.releases


def test_the_bytes_are_the_same_each_time() -> None:
    assert made(pods=FIELDS).to_yaml() == made(pods=FIELDS).to_yaml()
