"""What names what."""

from __future__ import annotations

from pathlib import Path

from gangform.documents.document import Document, Manifest
from gangform.inputs.load import load_fleet
from gangform.report.anchors import Anchors
from gangform.report.links import links
from gangform.synth import bundles_of, plan_fleet

ROOT = Path(__file__).parents[2]


def _shipped(cluster: str) -> dict[tuple[str, str], str]:
    loaded = load_fleet(ROOT / "gangform.yaml")
    plans = {plan.cluster.name: plan for plan in plan_fleet(loaded.fleet, loaded.library)}
    made, _ = bundles_of(plans[cluster])
    documents = [document for bundle in made for document in bundle.documents]
    return {(str(one.source), str(one.target)): one.field for one in links(documents)}


def test_queues_selectors_and_scale_targets_lead_to_objects() -> None:
    found = _shipped("prod-kueue")
    sets = "LeaderWorkerSet/llm/llama-405b"
    assert found[sets, "LocalQueue/llm/serving"].startswith("metadata.labels")
    assert found[sets, "WorkloadPriorityClass/serving-high"].startswith("metadata.labels")
    assert found["LocalQueue/llm/serving", "ClusterQueue/serving"] == "spec.clusterQueue"
    assert found["ResourceFlavor/h100", "Topology/h100"] == "spec.topologyName"
    assert found["Service/llm/llama-405b-leader", sets] == "spec.selector"
    assert ("PodDisruptionBudget/llm/llama-405b-group-3", sets) in found
    scaler = "HorizontalPodAutoscaler/code/qwen3-coder"
    assert found[scaler, "LeaderWorkerSet/code/qwen3-coder"] == "spec.scaleTargetRef.name"


def test_what_others_make_is_named_too() -> None:
    loaded = load_fleet(ROOT / "gangform.yaml")
    plan = plan_fleet(loaded.fleet, loaded.library)[0]
    made, _ = bundles_of(plan)
    found = links([document for bundle in made for document in bundle.documents])
    away = {str(one.target) for one in found if not one.here}
    assert {"PersistentVolumeClaim/llm/models", "Secret/llm/hub-token"} <= away


def test_pod_groups_and_queues_of_volcano() -> None:
    found = _shipped("prod-volcano-topology")
    assert (
        "LeaderWorkerSet/llm/deepseek-r1-racked-0",
        "PodGroup/llm/deepseek-r1-racked-0",
    ) in found
    assert found["PodGroup/llm/deepseek-r1-racked-0", "Queue/serving"] == "spec.queue"
    found = _shipped("prod-volcano")
    assert ("LeaderWorkerSet/llm/kimi-k2", "Queue/serving") in found


def test_a_name_that_is_no_text_leads_nowhere() -> None:
    odd: Manifest = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {"scaleTargetRef": {"kind": 7, "name": ["b"]}},
    }
    assert links([Document(manifest=odd, builder="")]) == ()


def test_anchors_are_plain_and_no_two_alike() -> None:
    anchors = Anchors()
    assert anchors.of("object", "a b", "<x>") == "object-a-b--x-"
    assert anchors.of("object", "a-b", "<x>") == "object-a-b--x--2"
    assert anchors.of("object", "a b", "<x>") == "object-a-b--x-"
