"""Kueue's objects for the sum of demands, and what is asked for where others make them."""

from __future__ import annotations

import pytest
from tests.admission.kueue_demands import (
    BLOCK,
    HOST,
    RACK,
    MakeCluster,
    MakeDemand,
    kueue,
    release,
    two_demands,
    two_pools,
)

from gangform.admission.admission import Placement
from gangform.admission.kueue import Kueue
from gangform.inputs.defaults import defaults

V = "kueue.x-k8s.io/v1beta2"

CLUSTER_QUEUE = {
    "apiVersion": V,
    "kind": "ClusterQueue",
    "metadata": {"name": "serving"},
    "spec": {
        "namespaceSelector": {
            "matchExpressions": [
                {"key": "kubernetes.io/metadata.name", "operator": "In", "values": ["chat", "llm"]}
            ]
        },
        "queueingStrategy": "BestEffortFIFO",
        "preemption": {"reclaimWithinCohort": "Never", "withinClusterQueue": "Never"},
        "resourceGroups": [
            {
                "coveredResources": [
                    "cpu",
                    "ephemeral-storage",
                    "memory",
                    "nvidia.com/gpu",
                    "rdma/ib",
                ],
                "flavors": [
                    {
                        "name": "h100",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "800"},
                            {"name": "ephemeral-storage", "nominalQuota": "16000Gi"},
                            {"name": "memory", "nominalQuota": "12800Gi"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "64"},
                            {"name": "rdma/ib", "nominalQuota": "0"},
                        ],
                    },
                    {
                        "name": "h200",
                        "resources": [
                            {"name": "cpu", "nominalQuota": "1500m"},
                            {"name": "ephemeral-storage", "nominalQuota": "0"},
                            {"name": "memory", "nominalQuota": "0"},
                            {"name": "nvidia.com/gpu", "nominalQuota": "8"},
                            {"name": "rdma/ib", "nominalQuota": "1"},
                        ],
                    },
                ],
            }
        ],
    },
}

LOCAL_QUEUES = [
    {
        "apiVersion": V,
        "kind": "LocalQueue",
        "metadata": {"name": "serving", "namespace": namespace},
        "spec": {"clusterQueue": "serving"},
    }
    for namespace in ("chat", "llm")
]

CLASS = {
    "apiVersion": V,
    "kind": "WorkloadPriorityClass",
    "metadata": {"name": "gold"},
    "value": 100,
}

TOLERATIONS = [
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "team", "operator": "Equal", "value": "llm", "effect": "NoExecute"},
]

FLAVORS = [
    {
        "apiVersion": V,
        "kind": "Topology",
        "metadata": {"name": "h100"},
        "spec": {"levels": [{"nodeLabel": BLOCK}, {"nodeLabel": RACK}, {"nodeLabel": HOST}]},
    },
    {
        "apiVersion": V,
        "kind": "ResourceFlavor",
        "metadata": {"name": "h100"},
        "spec": {
            "nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
            "topologyName": "h100",
            "tolerations": TOLERATIONS,
        },
    },
    {
        "apiVersion": V,
        "kind": "ResourceFlavor",
        "metadata": {"name": "h200"},
        "spec": {
            "nodeLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "half": "left"},
            "tolerations": TOLERATIONS,
        },
    },
]


@pytest.mark.parametrize(
    ("foundation", "expected"),
    [
        ("all", [*FLAVORS, CLASS, CLUSTER_QUEUE, *LOCAL_QUEUES]),
        ("queues", [CLASS, CLUSTER_QUEUE, *LOCAL_QUEUES]),
        ("existing", []),
    ],
)
def test_the_foundation_makes_what_is_ours(
    foundation: str, expected: list[object], make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = two_pools(make_cluster, foundation)
    made = Kueue().foundation(two_demands(make_demand), cluster, defaults=defaults(1))
    assert list(made) == expected


@pytest.mark.parametrize(
    ("foundation", "whats"),
    [
        ("all", ["Kueue's configuration", "Every node"]),
        ("queues", ["Kueue's configuration", "Every node", "ResourceFlavor h100", "ResourceFlavor h200"]),
        ("existing", ["Kueue's configuration", "Every node", "The queue's ResourceFlavor for pool h100",
                      "The queue's ResourceFlavor for pool h200", "LocalQueue serving in namespace chat",
                      "LocalQueue serving in namespace llm"]),
    ],
)  # fmt: skip
def test_what_is_not_ours_is_a_prerequisite(
    foundation: str, whats: list[str], make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = two_pools(make_cluster, foundation)
    found = Kueue().prerequisites(two_demands(make_demand), cluster)
    assert found[0].what == "Kueue 0.19 with its webhooks"
    assert len(found) == 1 + len(whats)
    assert all(each.what.startswith(what) for each, what in zip(found[1:], whats, strict=True))
    assert all(each.check.startswith("kubectl ") and each.without for each in found)


def test_replicas_of_one_pod_need_other_integrations(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    demands = [make_demand(size=1, runs_groups=False)]
    (_, integrations, _) = Kueue().prerequisites(demands, make_cluster())
    assert "lists deployment and pod" in integrations.what


def test_an_enabled_integration_needs_no_check(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = make_cluster(**kueue(lws_framework="enabled"))
    assert [each.what for each in Kueue().prerequisites([make_demand()], cluster)][1:] == [
        f"Every node of pool h100 carries the labels {BLOCK}, {RACK}, {HOST}"
    ]


@pytest.mark.parametrize(
    ("installed", "size", "asked"),
    [("0.17", 2, True), ("0.17.2", 2, False), ("0.19", 2, False), ("0.17", 1, False)],
)
def test_groups_in_domains_need_a_release_that_finds_them(
    installed: str, size: int, asked: bool, make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = make_cluster(**kueue(lws_framework="enabled"), **release(installed))
    demands = [make_demand(size=size, placement=Placement(RACK, "preferred"))]
    found = [
        each
        for each in Kueue().prerequisites(demands, cluster)
        if each.what == "Kueue is at least 0.17.2"
    ]
    assert bool(found) is asked
    assert all("without an event" in each.without for each in found)
    alone = [make_demand(size=size)]
    assert not any("at least" in each.what for each in Kueue().prerequisites(alone, cluster))
