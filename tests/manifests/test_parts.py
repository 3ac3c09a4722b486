"""Parts: one object or fragment for each builder and branch, as an operator will read it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.manifests.conftest import cluster

from gangform.bundle import Bundle
from gangform.documents.document import Manifest, mapping, sequence, text
from gangform.inputs.cluster import Installed, Monitoring
from gangform.inputs.serving import (
    Autoscaling,
    Disruption,
    Network,
    Parallelism,
    Pods,
    Secret,
    TopologyRequest,
    Weights,
)
from gangform.units import Seconds

Built = Callable[..., Bundle]
Spell = Callable[[Manifest], str]

ONE = Parallelism(tensor=8)
LEADER = ("spec", "leaderWorkerTemplate", "leaderTemplate")
WORKER = ("spec", "leaderWorkerTemplate", "workerTemplate")

SOURCES: dict[str, dict[str, Any]] = {
    "hub": {"weights": Weights(token=Secret(name="hub-token"))},
    "claim": {"weights": Weights(source="claim", claim="models", path="small")},
    "node_path": {"weights": Weights(source="nodePath", path="/mnt/small")},
    "per_pod": {"weights": Weights(source="perPod", storage_class="nvme")},
}


def find(built: Bundle, kind: str, name: str | None = None) -> Manifest:
    return next(
        one.manifest for one in built.documents if one.kind == kind and name in (None, one.key.name)
    )


def storage(template: Manifest) -> Manifest:
    """What of a pod depends on where the weights are."""
    spec = mapping(template, "spec")
    engine = mapping(spec, "containers", 0)
    wanted = ("HF_HOME", "HF_TOKEN", "HF_HUB_OFFLINE")
    return {
        "model": text(engine, "args", 0),
        "env": [one for one in sequence(engine, "env") if text(one, "name") in wanted],
        "volumeMounts": engine["volumeMounts"],
        "volumes": spec["volumes"],
    }


def test_a_leader_serves_and_is_probed(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert spell(mapping(find(build(), "LeaderWorkerSet"), *LEADER)) == golden


def test_a_worker_differs_in_what_it_runs_only(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert spell(mapping(find(build(), "LeaderWorkerSet"), *WORKER)) == golden


@pytest.mark.parametrize("source", SOURCES)
def test_weights_are_mounted_by_their_source(
    build: Built, spell: Spell, golden: SnapshotAssertion, source: str
) -> None:
    found = find(build(**SOURCES[source]), "LeaderWorkerSet")
    assert spell(storage(mapping(found, *LEADER))) == golden


def test_a_set_makes_a_claim_for_each_pod(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    found = mapping(find(build(**SOURCES["per_pod"]), "LeaderWorkerSet"), "spec")
    assert (
        spell(
            {"volumeClaimTemplates": mapping(found, "leaderWorkerTemplate")["volumeClaimTemplates"]}
        )
        == golden
    )


def test_a_deployments_pod_makes_its_own_claim(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    found = find(build(parallelism=ONE, **SOURCES["per_pod"]), "Deployment")
    assert spell(storage(mapping(found, "spec", "template"))) == golden


def head(found: Manifest, *without: str) -> Manifest:
    """A workload without its templates."""
    spec = dict(mapping(found, "spec"))
    group = dict(mapping(spec, "leaderWorkerTemplate"))
    for name in without:
        spec.pop(name, None)
        group.pop(name, None)
    if group:
        spec["leaderWorkerTemplate"] = group
    return {**found, "spec": spec}


TEMPLATES = ("leaderTemplate", "workerTemplate", "template")


@pytest.mark.parametrize("backend", ["kueue", "volcano", "volcano-podgroup", "none"])
def test_a_set_is_stamped_by_its_backend(
    build: Built, spell: Spell, golden: SnapshotAssertion, backend: str
) -> None:
    asked = {} if backend == "volcano" else {"topology": TopologyRequest(level="example.com/rack")}
    found = find(build(backend, **asked), "LeaderWorkerSet")
    template = mapping(found, *LEADER)
    stamped = {
        "metadata": mapping(template, "metadata"),
        "schedulerName": mapping(template, "spec").get("schedulerName", "not set"),
    }
    assert spell(head(found, *TEMPLATES)) + "---\n" + spell(stamped) == golden


def test_a_deployment_says_how_long_a_start_may_take(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert spell(head(find(build(parallelism=ONE), "Deployment"), *TEMPLATES)) == golden


def test_a_podgroup_asks_for_the_whole_group_in_one_rack(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    built = build("volcano-podgroup", topology=TopologyRequest(level="example.com/rack"))
    assert spell(find(built, "PodGroup")) == golden


def test_a_service_has_leaders_only(build: Built, spell: Spell, golden: SnapshotAssertion) -> None:
    assert spell(find(build(), "Service")) == golden


def test_a_service_has_the_leaders_of_all_sets(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert spell(find(build("volcano-podgroup"), "Service")) == golden


def test_a_serial_budget_lets_one_pod_go(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert spell(find(build(), "PodDisruptionBudget")) == golden


def test_a_budget_keeps_every_pod_of_a_group_that_is_not_released(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    built = build(groups=3, disruption=Disruption(mode="perGroup", released=(1,)))
    found = [one.manifest for one in built.documents if one.kind == "PodDisruptionBudget"]
    assert "---\n".join(map(spell, found)) == golden


def test_an_autoscaler_moves_one_group_at_a_time(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert (
        spell(find(build(autoscaling=Autoscaling(min=2, max=4)), "HorizontalPodAutoscaler"))
        == golden
    )


def test_an_autoscaler_averages_over_the_leaders(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    on = cluster(metrics_adapter="prometheus-adapter")
    asked = Autoscaling(min=2, max=4, type="Pods", target=4)
    made = find(build(on=on, autoscaling=asked), "HorizontalPodAutoscaler")
    assert spell(mapping(sequence(made, "spec", "metrics")[0])) == golden


KEDA = cluster(
    metrics_adapter="keda",
    versions=Installed(kubernetes="1.36", lws="0.10", kueue="0.19", keda="2.18"),
    monitoring=Monitoring(prometheus="http://prometheus:9090"),
    gitops="argocd",
)


def test_keda_moves_one_group_at_a_time_and_keeps_them_without_an_answer(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    built = build(on=KEDA, autoscaling=Autoscaling(min=2, max=4))
    assert spell(find(built, "ScaledObject")) == golden
    assert not [one for one in built.documents if one.kind == "HorizontalPodAutoscaler"]


def test_the_last_group_goes_when_nothing_waits_and_nothing_runs(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    asked = Autoscaling(min=0, max=4, buffer_query="sum(queue)", buffer_holds=Seconds(900))
    spec = mapping(find(build(on=KEDA, autoscaling=asked), "ScaledObject"), "spec")
    less = ("advanced", "scaleTargetRef")
    assert spell({key: one for key, one in spec.items() if key not in less}) == golden


def test_clients_and_scrapers_reach_the_serving_port_only(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    peer: dict[str, Any] = {"namespaceSelector": {"matchLabels": {"a": "b"}}}
    network = Network(clients=(peer,), scrapers=({"podSelector": {}, **peer},))
    assert spell(find(build(network=network), "NetworkPolicy")) == golden


def test_an_account_mounts_no_token(build: Built, spell: Spell, golden: SnapshotAssertion) -> None:
    assert spell(find(build(), "ServiceAccount")) == golden


def test_a_monitor_scrapes_leaders_and_tells_groups_apart(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    assert spell(find(build(), "PodMonitor")) == golden


def test_the_users_fields_stand_after_ours(
    build: Built, spell: Spell, golden: SnapshotAssertion
) -> None:
    fields = Pods(
        image_pull_secrets=("pull",),
        init_containers=({"name": "first", "image": "x:1"},),
        tolerations=({"key": "team", "operator": "Exists"},),
        labels={"team": "a"},
        host_network=True,
    )
    template = mapping(find(build(pods=fields), "LeaderWorkerSet"), *LEADER)
    spec = {
        key: value
        for key, value in mapping(template, "spec").items()
        if key not in ("containers", "volumes")
    }
    assert spell({**template, "spec": spec}) == golden


def test_the_users_security_context_wins_and_keeps_what_the_fabric_needs(build: Built) -> None:
    def made(**context: Any) -> Any:
        found = find(build(pods=Pods(container_security_context=context)), "LeaderWorkerSet")
        return mapping(found, *LEADER, "spec", "containers", 0)["securityContext"]

    assert made() == {"allowPrivilegeEscalation": False, "capabilities": {"add": ["IPC_LOCK"]}}
    assert made(privileged=True, capabilities={"add": ["SYS_PTRACE"], "drop": ["ALL"]}) == {
        "allowPrivilegeEscalation": True,
        "capabilities": {"add": ["IPC_LOCK", "SYS_PTRACE"], "drop": ["ALL"]},
        "privileged": True,
    }
    assert made(allowPrivilegeEscalation=True)["allowPrivilegeEscalation"] is True
