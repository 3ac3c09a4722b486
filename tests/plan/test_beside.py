from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from gangform.inputs.cluster import Cluster, Monitoring
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.serving import Autoscaling, Parallelism, Pods, Secret, Weights
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
MakeHardware = Callable[..., HardwareShape]


def refer(word: str, name: str, **more: Any) -> dict[str, Any]:
    return {"name": "A", "valueFrom": {f"{word}KeyRef": {"name": name, "key": "k", **more}}}


def keys(plan: ServingPlan) -> list[str]:
    return [str(key) for key in plan.beside]


def test_a_plain_serving_needs_nothing_beside_it(make_plan: MakePlan) -> None:
    assert keys(make_plan()) == []


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"weights": Weights(token=Secret(name="hub"))}, "Secret/m/hub"),
        ({"weights": Weights(source="claim", claim="pvc")}, "PersistentVolumeClaim/m/pvc"),
        ({"weights": Weights(source="perPod", storage_class="nvme")}, "StorageClass/nvme"),
        ({"pods": Pods(image_pull_secrets=("pull",))}, "Secret/m/pull"),
        ({"pods": Pods(service_account_name="sa")}, "ServiceAccount/m/sa"),
        ({"pods": Pods(priority_class_name="high")}, "PriorityClass/high"),
        ({"pods": Pods(env=(refer("secret", "s"),))}, "Secret/m/s"),
        ({"pods": Pods(env=(refer("configMap", "c"),))}, "ConfigMap/m/c"),
        ({"pods": Pods(sidecars=({"env": [refer("secret", "s")]},))}, "Secret/m/s"),
        ({"pods": Pods(init_containers=({"env": [refer("secret", "s")]},))}, "Secret/m/s"),
        ({"pods": Pods(sidecars=({"envFrom": [{"secretRef": {"name": "s"}}]},))}, "Secret/m/s"),
        (
            {"pods": Pods(sidecars=({"envFrom": [{"configMapRef": {"name": "c"}}]},))},
            "ConfigMap/m/c",
        ),
        ({"pods": Pods(volumes=({"secret": {"secretName": "s"}},))}, "Secret/m/s"),
        ({"pods": Pods(volumes=({"configMap": {"name": "c"}},))}, "ConfigMap/m/c"),
        (
            {"pods": Pods(volumes=({"persistentVolumeClaim": {"claimName": "d"}},))},
            "PersistentVolumeClaim/m/d",
        ),
    ],
)
def test_what_pods_name_is_listed_with_a_command_that_shows_it(
    make_plan: MakePlan, changes: dict[str, Any], named: str
) -> None:
    plan = make_plan(**changes)
    assert keys(plan) == [named]
    kind, *space, name = named.split("/")
    (need,) = [one for one in plan.prerequisites if one.what.startswith(named)]
    where = "-n m " if space else ""
    assert need.check == f"kubectl get {kind.lower()} {where}{name}"
    assert need.without


def test_what_may_be_missing_is_not_listed(make_plan: MakePlan) -> None:
    pods = Pods(
        env=(refer("secret", "s", optional=True),),
        volumes=({"configMap": {"name": "c", "optional": True}},),
        sidecars=({"envFrom": [{"secretRef": {"name": "s", "optional": True}}]},),
    )
    assert keys(make_plan(pods=pods)) == []


def test_everything_is_listed_once_in_a_stable_order(make_plan: MakePlan) -> None:
    pods = Pods(image_pull_secrets=("b", "a", "b"), env=(refer("secret", "a"),))
    assert keys(make_plan(pods=pods)) == ["Secret/m/b", "Secret/m/a"]


def test_a_token_is_named_with_its_key_and_a_claim_with_its_content(make_plan: MakePlan) -> None:
    token = make_plan(weights=Weights(token=Secret(name="hub", key="word"))).prerequisites
    assert "Secret/m/hub with the key word" in [one.what for one in token]
    claim = make_plan(weights=Weights(source="claim", claim="pvc")).prerequisites
    what = "PersistentVolumeClaim/m/pvc that all pods can mount, with the model in it"
    assert what in [one.what for one in claim]


def test_the_namespace_comes_first_and_a_folder_is_looked_for_on_the_node(
    make_plan: MakePlan,
) -> None:
    needs = make_plan(weights=Weights(source="nodePath", path="/mnt/m")).prerequisites
    assert needs[0].check == "kubectl get namespace m"
    assert needs[1].what == "folder /mnt/m with the model on every node of pool gpu"
    assert needs[1].check.endswith("ls /host/mnt/m")


def whats(plan: ServingPlan) -> str:
    return "\n".join(one.what for one in plan.prerequisites)


def test_sets_need_their_controller_and_deployments_do_not(make_plan: MakePlan) -> None:
    assert "LeaderWorkerSet 0.10 with its webhook" in whats(make_plan())
    assert "LeaderWorkerSet" not in whats(make_plan(parallelism=Parallelism(tensor=8)))


def test_prometheus_is_needed_as_the_cluster_selects(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    assert "selects rules without labels of their own" in whats(make_plan())
    labelled = Monitoring(labels={"release": "stack", "a": "b"})
    assert "selects a=b,release=stack" in whats(make_plan(on=make_cluster(monitoring=labelled)))
    (need,) = [one for one in make_plan().prerequisites if "Prometheus operator" in one.what]
    assert "{.items[*].spec.podMonitorNamespaceSelector}" in need.check
    other = make_cluster(monitoring=Monitoring(kube_state_metrics_job="ksm"))
    assert "scrapes as job ksm" in whats(make_plan(on=other))
    off = make_cluster(monitoring=Monitoring(enabled=False))
    assert "Prometheus" not in whats(make_plan(on=off))


def test_an_adapter_is_needed_by_an_autoscaler_only(make_plan: MakePlan) -> None:
    assert "external metric" not in whats(make_plan())
    said = whats(make_plan(autoscaling=Autoscaling(min=2, max=3)))
    assert "external metric" in said
    (rule,) = yaml.safe_load(said[said.index("externalRules:") :].split("'sum")[0] + "''")[
        "externalRules"
    ]
    assert rule["name"] == {"as": "vllm_num_requests_waiting"}
    assert rule["seriesQuery"] == '{__name__="vllm:num_requests_waiting"}'
    assert "metricsQuery: 'sum(<<.Series>>{<<.LabelMatchers>>})'" in said
    own = Autoscaling(min=2, max=3, metric="queue_length")
    assert "externalRules" not in whats(make_plan(autoscaling=own))


def test_argo_cd_needs_a_health_check_to_stage_sets(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    argo = make_cluster(gitops="argocd")
    assert "health check" in whats(make_plan(on=argo, backend="volcano-podgroup"))
    assert "health check" not in whats(make_plan(on=argo))
    assert "health check" not in whats(make_plan(backend="volcano-podgroup"))


def test_nvlink_over_nodes_needs_imex(
    make_plan: MakePlan, make_cluster: MakeCluster, make_hardware: MakeHardware
) -> None:
    rack = make_cluster(pool={"hardware": make_hardware(nvlink_gpus=72)})
    assert "IMEX on every node" in whats(make_plan(on=rack, parallelism=Parallelism(tensor=16)))
    assert "IMEX" not in whats(make_plan(on=rack))
    assert "IMEX" not in whats(make_plan(parallelism=Parallelism(tensor=16)))


def test_labels_and_device_plugin_of_the_nodes_are_a_prerequisite(make_plan: MakePlan) -> None:
    for backend in ("none", "kueue", "volcano", "volcano-podgroup"):
        found = [one.what for one in make_plan(backend=backend).prerequisites]
        (nodes,) = [what for what in found if what.startswith("nodes of pool gpu")]
        assert "nvidia.com/gpu.product=NVIDIA-H100-80GB-HBM3" in nodes
        assert "offers 8 of nvidia.com/gpu" in nodes


def test_a_missing_pull_secret_shows_at_the_image(make_plan: MakePlan) -> None:
    plan = make_plan(pods=Pods(image_pull_secrets=("registry",)))
    (need,) = [one for one in plan.prerequisites if "registry" in one.what]
    assert "ImagePullBackOff" in need.without
