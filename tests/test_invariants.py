"""The invariants see what they are there to see."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests import matrix
from tests.invariants import INVARIANTS
from tests.matrix import LIBRARY, NETWORK, PLAIN
from tests.world import LWS, WAVE, World

from gangform.bundle import bundle, foundation
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import plan_serving

SET = "spec.leaderWorkerTemplate"
POD = f"{SET}.leaderTemplate.spec.containers.0"


@pytest.mark.parametrize(
    ("invariant", "kind", "path", "value"),
    [
        ("services_reach_exactly_the_leaders", "Service", "spec.selector", {f"{LWS}name": "a"}),
        ("monitors_scrape_exactly_the_leaders", "PodMonitor", "spec.selector.matchLabels", {}),
        (
            "policies_shield_exactly_the_pods",
            "NetworkPolicy",
            "spec.podSelector.matchLabels",
            {f"{LWS}worker-index": "0"},
        ),
        ("budgets_cover_a_set_or_one_group", "PodDisruptionBudget", "spec.maxUnavailable", 2),
        (
            "budgets_cover_a_set_or_one_group",
            "PodDisruptionBudget",
            "spec.selector.matchLabels",
            {f"{LWS}name": "a", f"{LWS}group-index": "0"},
        ),
        (
            "ports_are_named_where_something_listens",
            "Service",
            "spec.ports.0.targetPort",
            "rendezvous-too",
        ),
        ("probes_ask_only_who_listens", "LeaderWorkerSet", f"{POD}.readinessProbe", None),
        ("ranks_fill_the_requested_gpus", "LeaderWorkerSet", f"{SET}.size", 3),
        (
            "ranks_fill_the_requested_gpus",
            "LeaderWorkerSet",
            f"{POD}.resources.requests",
            {"nvidia.com/gpu": "4"},
        ),
        (
            "templates_schedule_alike",
            "LeaderWorkerSet",
            f"{SET}.workerTemplate.spec.nodeSelector",
            {"a": "b"},
        ),
        (
            "node_autoscalers_stay_off_every_pod_or_none",
            "LeaderWorkerSet",
            f"{SET}.workerTemplate.metadata",
            {},
        ),
        (
            "node_autoscalers_stay_off_every_pod_or_none",
            "LeaderWorkerSet",
            f"{SET}.leaderTemplate.metadata.annotations",
            {"karpenter.sh/do-not-disrupt": "30m"},
        ),
        ("requests_are_limits", "LeaderWorkerSet", f"{POD}.resources.limits", {}),
        ("quotas_hold_exactly_the_peak", "LeaderWorkerSet", "spec.replicas", 4),
        ("topology_is_asked_for_whole", "LeaderWorkerSet", f"{SET}.workerTemplate.metadata", {}),
        ("required_levels_are_kept", "LeaderWorkerSet", f"{SET}.leaderTemplate.metadata", {}),
        ("references_resolve", "LocalQueue", "metadata.name", "other"),
        ("references_resolve", "ResourceFlavor", "spec.topologyName", "other"),
        ("references_resolve", "ServiceAccount", "metadata.name", "other"),
        ("names_stay_in_bounds", "LeaderWorkerSet", "metadata.name", "a" * 51),
        ("namespaces_are_right", "ClusterQueue", "metadata.namespace", "llm"),
        ("nothing_is_left_to_defaults", "LeaderWorkerSet", f"{SET}.restartPolicy", None),
        ("leaves_are_plain", "Service", "metadata.annotations", {}),
        ("leaves_are_plain", "Service", "spec.type", "None"),
        ("everything_is_owned_and_no_pod_says_so", "Service", "metadata.labels", {}),
        ("completing_changes_nothing", "Service", "spec.ports.0.protocol", None),
        ("waves_lead_to_the_workload", "Service", "metadata.annotations", {WAVE: "9"}),
    ],
)
def test_a_fault_is_noticed(invariant: str, kind: str, path: str, value: Any) -> None:
    """One value changed in one object of a bundle that is right; `None` takes it away."""
    combination = PLAIN._replace(topology="required", gitops="argocd")
    cluster = matrix.cluster("kueue", "argocd")
    given = matrix.serving(combination, "a").model_copy(update={"network": NETWORK})
    plan = plan_serving(given, cluster=cluster, library=LIBRARY)
    bundles = [bundle(plan), foundation(plan_cluster(cluster, [plan]))]
    manifests = [
        copy.deepcopy(dict(document.manifest)) for made in bundles for document in made.documents
    ]
    check = next(each for each in INVARIANTS if each.__name__ == invariant)
    assert list(check(World(manifests, [given], kueue="0.19"))) == []
    node: Any = next(one for one in manifests if one["kind"] == kind)
    *way, last = (int(part) if part.isdecimal() else part for part in path.split("."))
    for part in way:
        node = node[part]
    if value is None:
        del node[last]
    else:
        node[last] = value
    noticed: list[str] | str
    try:
        noticed = list(check(World(manifests, [given], kueue="0.19")))
    except (AssertionError, KeyError) as error:
        noticed = repr(error)
    assert noticed
