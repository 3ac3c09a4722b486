"""What lies beside a living set, who admits it, and on which nodes it runs."""

from __future__ import annotations

from typing import Any

import pytest
from tests.adopt.conftest import LIBRARY, Adopt, container_of, leader_spec, living

from gangform.adopt.fleet import Wishes, adopt
from gangform.findings import InputError
from gangform.inputs.cluster import Cluster

SCALER: dict[str, Any] = {
    "apiVersion": "autoscaling/v2",
    "kind": "HorizontalPodAutoscaler",
    "metadata": {"name": "r1", "namespace": "llm"},
    "spec": {
        "scaleTargetRef": {
            "apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": "LeaderWorkerSet", "name": "r1",
        },
        "minReplicas": 2,
        "maxReplicas": 5,
        "metrics": [
            {
                "type": "External",
                "external": {
                    "metric": {"name": "queue", "selector": {"matchLabels": {"a": "b"}}},
                    "target": {"type": "AverageValue", "averageValue": "7"},
                },
            }
        ],
    },
}  # fmt: skip


def budget(**labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "llm"},
        "spec": {
            "minAvailable": 2,
            "selector": {
                "matchLabels": {
                    f"leaderworkerset.sigs.k8s.io/{k.replace('_', '-')}": v
                    for k, v in labels.items()
                }
            },
        },
    }


def test_an_autoscaler_is_bounds_and_metric(adopted: Adopt) -> None:
    made = adopted(living(), SCALER)
    assert made.serving.groups is None and made.serving.autoscaling is not None
    assert made.serving.autoscaling.model_dump(exclude_unset=True) == {
        "min": 2, "max": 5, "metric": "queue", "target": 7, "selector": {"a": "b"},
    }  # fmt: skip
    assert "metricsAdapter: external" in made.text


def test_a_metric_of_leaders_is_a_type(adopted: Adopt) -> None:
    metric = {
        "type": "Pods",
        "pods": {
            "metric": {"name": "vllm_num_requests_waiting"},
            "target": {"type": "AverageValue", "averageValue": "4"},
        },
    }
    made = adopted(living(), {**SCALER, "spec": {**SCALER["spec"], "metrics": [metric]}})
    assert made.serving.autoscaling is not None
    assert made.serving.autoscaling.model_dump(exclude_unset=True) == {
        "min": 2, "max": 5, "type": "Pods", "target": 4,
    }  # fmt: skip
    assert "metricsAdapter: prometheus-adapter" in made.text


OWN = 'namespace="llm", leaderworkerset_sigs_k8s_io_name="r1"'
WAITING = f"sum(vllm:num_requests_waiting{{{OWN}}})"


def trigger(query: str, **words: str) -> dict[str, Any]:
    server = "http://prometheus:9090"
    asked = {"serverAddress": server, "query": query, "threshold": "6", **words}
    return {"type": "prometheus", "metricType": "AverageValue", "metadata": asked}


def scaled_object(*triggers: dict[str, Any], **bounds: int) -> dict[str, Any]:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": "r1", "namespace": "llm"},
        "spec": {
            "scaleTargetRef": SCALER["spec"]["scaleTargetRef"],
            **({"minReplicaCount": 2, "maxReplicaCount": 5} | bounds),
            "triggers": list(triggers),
        },
    }


def test_a_scaled_object_is_bounds_and_signal(adopted: Adopt) -> None:
    made = adopted(living(), scaled_object(trigger(WAITING)))
    assert made.serving.autoscaling is not None
    assert made.serving.autoscaling.model_dump(exclude_unset=True) == {
        "min": 2, "max": 5, "target": 6,
    }  # fmt: skip
    assert (
        "metricsAdapter: keda" in made.text and 'prometheus: "http://prometheus:9090"' in made.text
    )
    assert "not read" not in made.text


def test_kedas_own_autoscaler_is_not_read_beside_it(adopted: Adopt) -> None:
    own = [{"kind": "ScaledObject", "name": "r1", "apiVersion": "keda.sh/v1alpha1", "uid": "1"}]
    metadata = {"name": "keda-hpa-r1", "namespace": "llm", "ownerReferences": own}
    made = adopted(living(), {**SCALER, "metadata": metadata}, scaled_object(trigger(WAITING)))
    assert made.serving.autoscaling is not None and made.serving.autoscaling.target == 6


def test_without_its_scaled_object_kedas_own_autoscaler_says_the_bounds(adopted: Adopt) -> None:
    """`kubectl get hpa` shows it, and a fixed number would fight it."""
    own = [{"kind": "ScaledObject", "name": "r1", "apiVersion": "keda.sh/v1alpha1", "uid": "1"}]
    metadata = {"name": "keda-hpa-r1", "namespace": "llm", "ownerReferences": own}
    made = adopted(living(), {**SCALER, "metadata": metadata})
    assert made.serving.groups is None and made.serving.autoscaling is not None
    assert made.serving.autoscaling.model_dump(exclude_unset=True) == {"min": 2, "max": 5}
    assert "metricsAdapter: keda" in made.text and made.says("read `scaledobjects` too")
    another = [{**own[0], "kind": "Tenant", "apiVersion": "example.com/v1"}]
    other = adopted(living(), {**SCALER, "metadata": {**metadata, "ownerReferences": another}})
    assert other.serving.autoscaling is None


def test_what_a_front_end_holds_is_read_back(adopted: Adopt) -> None:
    waiting = f"{WAITING} or vector(0)"
    running = f"(sum(vllm:num_requests_running{{{OWN}}}) or vector(0)) > bool 0"
    queue = 'sum(llm_d_epp_flow_control_queue_size{namespace="llm"})'
    found = scaled_object(*map(trigger, (waiting, running, queue)), minReplicaCount=0)
    made = adopted(living(), found)
    assert made.serving.autoscaling is not None
    assert made.serving.autoscaling.model_dump(exclude_unset=True) == {
        "min": 0, "max": 5, "target": 6, "bufferQuery": queue,
    }  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        trigger("sum(vllm:num_requests_waiting)"),
        trigger(f"avg(vllm:num_requests_waiting{{{OWN}}})"),
        trigger(WAITING.replace("=", "=~", 1)),
        trigger(WAITING, threshold="0.5"),
        {"type": "cron", "metadata": {"desiredReplicas": "3"}},
    ],
)
def test_another_question_is_said(adopted: Adopt, other: dict[str, Any]) -> None:
    made = adopted(living(), scaled_object(other))
    assert made.serving.autoscaling is not None and made.serving.autoscaling.target is None
    assert made.says("ScaledObject/llm/r1 spec.triggers[0]")


def test_another_metric_is_said(adopted: Adopt) -> None:
    scaler = {**SCALER, "spec": {**SCALER["spec"], "metrics": [{"type": "Resource"}]}}
    made = adopted(living(), scaler)
    assert made.serving.autoscaling is not None and made.serving.autoscaling.metric is None
    assert made.says("HorizontalPodAutoscaler/llm/r1 spec.metrics[0]: {type: Resource}")


def test_budgets_a_group_are_the_mode(adopted: Adopt) -> None:
    assert adopted(living(), budget(name="r1")).serving.disruption.mode == "serial"
    per_group = adopted(living(), budget(name="r1", group_index="0"))
    assert per_group.serving.disruption.mode == "perGroup"
    assert not per_group.says("Beside, and not taken over")
    assert per_group.serving.disruption.released == ()
    other = adopted(living(), budget(name="other", group_index="0"))
    assert other.serving.disruption.mode == "serial" and other.says("PodDisruptionBudget/llm/b")


def test_where_pages_are_published_is_read_from_an_alert(adopted: Adopt) -> None:
    def rules(url: str) -> dict[str, Any]:
        rule = {"alert": "ServingNoGroupReady", "expr": "up", "annotations": {"runbook_url": url}}
        return {
            "apiVersion": "monitoring.coreos.com/v1",
            "kind": "PrometheusRule",
            "metadata": {"name": "r1", "namespace": "llm"},
            "spec": {"groups": [{"name": "r1.serving", "rules": [rule]}]},
        }

    ours = adopted(living(), rules("https://r.example.com/x/r1/ServingNoGroupReady.md"))
    assert 'runbookBase: "https://r.example.com/x"' in ours.text
    assert "runbookBase" not in adopted(living(), rules("https://r.example.com/Down")).text


def test_a_group_without_a_budget_beside_others_is_released(adopted: Adopt) -> None:
    first, second = (budget(name="r1", group_index=index) for index in "02")
    second["metadata"]["name"] = "c"
    assert adopted(living(), first, second).serving.disruption.released == (1,)


def test_a_queue_a_priority_and_a_level_are_the_admission(adopted: Adopt) -> None:
    manifest = living(
        metadata__labels={
            "kueue.x-k8s.io/queue-name": "q", "kueue.x-k8s.io/priority-class": "high",
        }
    )  # fmt: skip
    for name in ("leaderTemplate", "workerTemplate"):
        manifest["spec"]["leaderWorkerTemplate"][name]["metadata"]["annotations"] = {
            "kueue.x-k8s.io/podset-required-topology": "example.com/rack",
            "example.com/note": "kept",
        }
    made = adopted(manifest)
    admission = made.serving.admission
    assert (admission.backend, admission.queue, admission.priority_class) == ("kueue", "q", "high")
    assert made.serving.topology is not None
    assert (made.serving.topology.level, made.serving.topology.mode) == (
        "example.com/rack",
        "required",
    )
    assert made.serving.pods.annotations == {"example.com/note": "kept"}
    assert "levels: [example.com/rack, kubernetes.io/hostname]" in made.text


def cluster(**pools: dict[str, Any]) -> Cluster:
    return Cluster.model_validate(
        {
            "name": "west",
            "versions": {"kubernetes": "1.36"},
            "foundation": "existing",
            "pools": pools,
        },
        by_alias=True,
        by_name=False,
    )


def test_a_described_cluster_gives_the_pool(adopted: Adopt) -> None:
    described = cluster(a={"hardware": "h200-8x"}, b={"hardware": "h100-8x"})
    with pytest.raises(InputError, match="there is no cluster `west`"):
        adopted(living(), cluster="west", described=described)
    # Of one pool alone it is certain; of two the selector decides, or the user.

    text = adopt([living()], Wishes("west", described), LIBRARY)
    assert "cluster: west\n" in text and "pool: b\n" in text
    manifest = living()
    del leader_spec(manifest)["nodeSelector"]
    with pytest.raises(InputError, match="adopt-nodes-unknown"):
        adopt([manifest], Wishes("west", described), LIBRARY)
    text = adopt([manifest], Wishes("west", described, hardware="a"), LIBRARY)
    assert "pool: a\n" in text


def test_of_shapes_of_one_product_the_requested_fabric_decides(adopted: Adopt) -> None:
    manifest = living()
    container_of(manifest)["resources"]["requests"]["rdma/ib"] = "1"
    assert "hardware: coreweave-h100" in adopted(manifest).text
    assert "hardware: h100-8x" in adopted(living()).text


def test_nodes_that_nothing_names_have_to_be_named(adopted: Adopt) -> None:
    manifest = living()
    leader_spec(manifest)["nodeSelector"] = {}
    with pytest.raises(InputError) as caught:
        adopted(manifest)
    (finding,) = caught.value.findings
    assert finding.code.id == "adopt-nodes-unknown" and "h100-8x" in finding.fix
    assert "gb200-4x" not in finding.fix
    assert adopted(manifest, hardware="gke-a4").serving.pool == "gke-a4"
    with pytest.raises(InputError, match="there is no hardware shape `h1000`"):
        adopted(manifest, hardware="h1000")


def test_what_no_serving_can_describe_is_refused(adopted: Adopt) -> None:
    with pytest.raises(InputError, match="adopt-nothing"):
        adopted(SCALER)
    with pytest.raises(InputError, match="no set is called r2"):
        adopted(living(), name="r2")
    manifest = living()
    container_of(manifest)["command"] = ["python3", "-m", "sglang.launch_server", "--tp=8"]
    with pytest.raises(InputError, match="adopt-other-engine"):
        adopted(manifest)


def test_sets_of_a_stream_are_servings_of_one_fleet(adopted: Adopt) -> None:
    made = adopted(living(), living(metadata__name="r2"))
    assert made.text.count("- name: ") == 2
    assert not made.says("Beside, and not taken over")
    assert adopted(living(), living(metadata__name="r2"), name="r2").serving.name == "r2"
