"""The order of a bundle's documents, whose they are, and the user's own fields in them."""

from __future__ import annotations

import pytest
from tests.bundles import (
    ENGINE,
    ONE,
    OPTIONS,
    WAVE,
    cluster,
    find,
    kinds,
    made,
    plan,
    pods,
    with_keda,
)

from gangform.bundle import bundle, foundation, judge_bundles
from gangform.documents.document import dig, mapping, sequence
from gangform.findings import InputError
from gangform.inputs.serving import Admission, Autoscaling, Network, Parallelism, Patch, Pods
from gangform.plan.cluster import plan_cluster

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


def test_kedas_object_comes_with_its_workload_and_may_be_of_a_kind_that_is_not_there_yet() -> None:
    built = made(on=with_keda(gitops="argocd"), autoscaling=Autoscaling(min=2, max=4))
    annotations = mapping(find(built, "ScaledObject"), "metadata", "annotations")
    assert annotations == {OPTIONS: "SkipDryRunOnMissingResource=true", WAVE: "1"}
    assert built.documents[-1].kind == "ScaledObject"


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
    assert [(document.kind, document.wave) for document in built.documents] == [
        ("WorkloadPriorityClass", -3),
        ("ResourceFlavor", -2),
        ("ClusterQueue", -1),
        ("LocalQueue", -1),
        ("PrometheusRule", 0),
    ]
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


def test_the_bytes_are_the_same_each_time() -> None:
    assert made(pods=FIELDS).to_yaml() == made(pods=FIELDS).to_yaml()
