from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.admission.admission import Demand, Placement, backend
from gangform.admission.kueue import Kueue
from gangform.apis.kueue import annotation_faults
from gangform.findings import Severity, brief
from gangform.inputs.cluster import Cluster, Installed, KueueSettings, Pool
from gangform.inputs.defaults import defaults
from gangform.units import Resources, Seconds

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
QUEUE = "kueue.x-k8s.io/queue-name"
MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[..., list[str]]


def kueue(**fields: Any) -> dict[str, Any]:
    return {"kueue": KueueSettings(**fields)}


def release(text: str | None) -> dict[str, Any]:
    return {"versions": Installed(kubernetes="1.36", kueue=text)}


def pool(**fields: Any) -> dict[str, Any]:
    return {"pools": {"h100": Pool(hardware="h100-8x", **fields)}}


def test_kueue_is_reached_through_the_registry() -> None:
    assert isinstance(backend("kueue"), Kueue)


@pytest.mark.parametrize(
    ("installed", "longest"), [("0.17", 39), ("0.17.9", 39), ("0.18", None), (None, None)]
)
def test_a_name_is_short_up_to_0_17(
    installed: str | None, longest: int | None, make_cluster: MakeCluster
) -> None:
    policy = Kueue().policy(make_cluster(**release(installed)))
    assert policy.longest_name == longest
    assert (policy.queued, policy.gangs, policy.surges, policy.surge_finishes) == (
        True,
        True,
        True,
        False,
    )
    assert policy.lws_provider is None


SOUND = Placement(RACK, "required")


def test_a_sound_demand_has_no_findings(
    make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    cluster = make_cluster(**kueue(lws_framework="enabled"))
    assert codes(Kueue().check(make_demand(placement=SOUND), cluster)) == []


@pytest.mark.parametrize(
    ("code", "demanded", "declared"),
    [
        ("queue-missing", {"queue": ""}, {}),
        ("topology-level-unknown", {"placement": Placement("example.com/row", "required")}, {}),
        ("topology-level-unknown", {"placement": SOUND}, pool()),
        ("topology-level-too-long", {"placement": Placement("e.com/" + "x" * 58, "required")},
         pool(levels=("e.com/" + "x" * 58,))),
        ("kueue-release-missing", {}, release(None)),
        ("kueue-too-old", {}, release("0.14.8")),
        ("kueue-ignores-sets", {}, kueue(lws_framework="disabled")),
        ("kueue-ignores-sets", {"size": 1}, kueue(lws_framework="disabled")),
        ("flavor-too-large", {}, pool(node_labels={f"l{i}": "x" for i in range(8)})),
        ("cold-start-beyond-timeout", {"worst_cold_start": Seconds(1801)}, {}),
        ("cold-start-beyond-timeout", {}, kueue(wait_for_pods_ready=Seconds(1199))),
        ("cold-start-may-exceed-timeout",
         {"worst_cold_start": Seconds(1801), "bandwidth_declared": False}, {}),
    ],
)  # fmt: skip
def test_what_kueue_would_refuse_or_leave_pending_is_found(
    code: str,
    demanded: dict[str, Any],
    declared: dict[str, Any],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    assert codes(Kueue().check(make_demand(**demanded), make_cluster(**declared))) == [code]


@pytest.mark.parametrize(
    ("demanded", "declared"),
    [
        ({"placement": Placement("e.com/" + "x" * 57, "preferred")},
         pool(levels=("e.com/" + "x" * 57,))),
        ({}, release("0.15")),
        ({}, release("0.25")),
        ({}, kueue(lws_framework="unknown")),
        ({"size": 1, "runs_groups": False}, kueue(lws_framework="disabled")),
        ({}, pool(node_labels={f"l{i}": "x" for i in range(7)})),
        ({}, pool(node_labels={f"l{i}": "x" for i in range(9)}) | {"foundation": "queues"}),
        ({"worst_cold_start": Seconds(1800)}, {}),
        ({"worst_cold_start": Seconds(9999)}, release("0.18")),
        ({"worst_cold_start": Seconds(9999)}, kueue(wait_for_pods_ready="disabled")),
        ({"worst_cold_start": Seconds(9999)}, kueue(wait_for_pods_ready="unknown")),
    ],
)  # fmt: skip
def test_what_kueue_takes_is_taken(
    demanded: dict[str, Any],
    declared: dict[str, Any],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    assert codes(Kueue().check(make_demand(**demanded), make_cluster(**declared))) == []


def test_a_timeout_is_shown_with_both_times_and_its_origin(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    (found,) = Kueue().check(make_demand(worst_cold_start=Seconds(2700)), make_cluster())
    assert brief(found) == (
        "error[cold-start-beyond-timeout]: Kueue evicts a group that is not ready 30m after admission (the default of "
        "Kueue 0.19); the worst cold start of r1 is 45m\n"
        "  --> clusters.prod.kueue.waitForPodsReady\n"
        "  fix: set waitForPodsReady.timeout of Kueue to at least 45m and declare kueue.waitForPodsReady: 45m"
    )


def test_a_release_is_refused_once_for_all_demands(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = make_cluster(**release("0.14"))
    one, other = make_demand(serving="a"), make_demand(serving="b")
    assert list(Kueue().check(one, cluster)) == list(Kueue().check(other, cluster))


@pytest.mark.parametrize(
    ("mode", "key"),
    [
        ("required", "kueue.x-k8s.io/podset-required-topology"),
        ("preferred", "kueue.x-k8s.io/podset-preferred-topology"),
    ],
)
def test_queue_and_priority_on_the_owner_and_one_joined_topology_on_the_pods(
    mode: Any, key: str, make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    demand = make_demand(placement=Placement(RACK, mode), priority_class="gold")
    stamp = Kueue().stamp(demand, make_cluster(priorities={"gold": 100}))
    assert stamp.owner_labels == {QUEUE: "serving", "kueue.x-k8s.io/priority-class": "gold"}
    assert stamp.pod_annotations == {key: RACK, "kueue.x-k8s.io/podset-group-name": "group"}
    assert (stamp.pod_labels, stamp.owner_annotations) == ({}, {})
    assert (stamp.scheduler, stamp.objects, stamp.prerequisites) == (None, (), ())
    assert len(stamp.remarks) == 2


@pytest.mark.parametrize("mode", ["required", "preferred"])
def test_both_templates_pass_the_rules_of_kueue(
    mode: Any, make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    stamp = Kueue().stamp(make_demand(placement=Placement(RACK, mode)), make_cluster())
    assert list(annotation_faults(stamp.pod_annotations, stamp.pod_annotations)) == []


@pytest.mark.parametrize("changes", [{}, {"size": 1, "placement": SOUND}])
def test_nothing_to_hold_together_means_no_topology(
    changes: dict[str, Any], make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    stamp = Kueue().stamp(make_demand(**changes), make_cluster())
    assert stamp.owner_labels == {QUEUE: "serving"}
    assert stamp.pod_annotations == {}


def test_an_unknown_timeout_and_a_foreign_priority_are_prerequisites(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = make_cluster(**kueue(wait_for_pods_ready="unknown"))
    stamp = Kueue().stamp(make_demand(priority_class="gold"), cluster)
    assert [each.what for each in stamp.prerequisites] == [
        "WorkloadPriorityClass gold",
        "Kueue's waitForPodsReady is off, or its timeout is at least 20m",
    ]
    assert stamp.prerequisites[0].check == (
        "kubectl get workloadpriorityclasses.kueue.x-k8s.io gold"
    )


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


def two_pools(make_cluster: MakeCluster, foundation: str) -> Cluster:
    return make_cluster(
        foundation=foundation,
        priorities={"gold": 100},
        pools={
            "h200": Pool(hardware="h200-8x", node_labels={"half": "left"}),
            "h100": Pool(hardware="h100-8x", levels=(BLOCK, RACK)),
        },
    )


def two_demands(make_demand: MakeDemand) -> list[Demand]:
    small = Resources({"nvidia.com/gpu": 8, "rdma/ib": 1, "cpu": 1500})
    return [
        make_demand(
            serving="b", namespace="chat", pool="h200", size=1, groups=1, extra=0, leader=small
        ),
        make_demand(serving="a"),
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


ENOUGH = {"cpu": "800", "memory": "12800Gi", "ephemeral-storage": "16000Gi", "nvidia.com/gpu": "64"}


@pytest.mark.parametrize(
    ("quota", "found"),
    [
        (None, []),
        ({"h100": ENOUGH}, []),
        ({"h100": ENOUGH | {"rdma/ib": "1"}}, []),
        ({"h100": ENOUGH | {"memory": "13.7T"}}, ["clusters.prod.kueue.quota.h100.memory"]),
        ({"h100": ENOUGH | {"cpu": "799999m"}}, ["clusters.prod.kueue.quota.h100.cpu"]),
        (
            {"h100": ENOUGH | {"nvidia.com/gpu": "63"}},
            ["clusters.prod.kueue.quota.h100[nvidia.com/gpu]"],
        ),
    ],
)
def test_the_sum_of_demands_is_held_against_an_existing_quota(
    quota: dict[str, dict[str, str]] | None,
    found: list[str],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    cluster = make_cluster(foundation="existing", **kueue(quota=quota))
    findings = list(Kueue().check_sum([make_demand()], cluster))
    assert [each.code.id for each in findings] == ["quota-too-small"] * len(found)
    assert [brief(each).splitlines()[1].removeprefix("  --> ") for each in findings] == found


def test_a_short_quota_shows_the_arithmetic(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster = make_cluster(
        foundation="existing", **kueue(quota={"h100": ENOUGH | {"nvidia.com/gpu": "64"}})
    )
    demands = [make_demand(serving="b", groups=1, extra=0), make_demand(serving="a")]
    gpus = [each for each in Kueue().check_sum(demands, cluster) if "gpu" in each.what]
    assert [each.what for each in gpus] == [
        "flavor `h100` needs 80 nvidia.com/gpu, its quota is 64: a (3 + 1) groups × 16 + b (1 + 0) groups × 16"
    ]


@pytest.mark.parametrize(
    ("code", "foundation", "quota"),
    [
        (
            "quota-lacks-resource",
            "existing",
            {"h100": {k: v for k, v in ENOUGH.items() if k != "cpu"}},
        ),
        ("quota-unreadable", "existing", {"h100": ENOUGH | {"cpu": "many"}}),
        ("quota-lacks-flavor", "existing", {"gpu": ENOUGH}),
        ("quota-not-used", "all", {"h100": ENOUGH}),
        ("quota-not-used", "queues", {"h100": {}}),
    ],
)
def test_a_quota_that_cannot_be_checked_is_said(
    code: str,
    foundation: str,
    quota: dict[str, dict[str, str]],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    cluster = make_cluster(foundation=foundation, **kueue(quota=quota))
    assert codes(Kueue().check_sum([make_demand()], cluster)) == [code]


def test_only_an_assumed_bandwidth_makes_a_warning(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    late = make_demand(worst_cold_start=Seconds(1801), bandwidth_declared=False)
    (found,) = Kueue().check(late, make_cluster())
    assert found.code.severity is Severity.DEGRADES


AMOUNTS = st.dictionaries(
    st.sampled_from(["cpu", "memory", "nvidia.com/gpu", "rdma/ib"]),
    st.integers(0, 10**12),
    min_size=1,
)
CHOICES = st.tuples(
    st.sampled_from(["a", "b", "c"]),
    st.sampled_from(["llm", "chat"]),
    st.sampled_from(["serving", "batch"]),
    st.sampled_from(["h100", "h200"]),
    st.integers(1, 4),
    st.integers(0, 5),
    AMOUNTS,
)


@settings(deadline=None)
@given(chosen=st.lists(CHOICES, max_size=6), data=st.data())
def test_the_order_of_demands_changes_nothing(
    chosen: list[tuple[str, str, str, str, int, int, dict[str, int]]],
    data: st.DataObject,
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    demands = [
        make_demand(
            serving=f"{serving}{index}",
            namespace=namespace,
            queue=queue,
            pool=pool,
            size=size,
            groups=groups,
            leader=Resources(amounts),
            worker=Resources(amounts),
        )
        for index, (serving, namespace, queue, pool, size, groups, amounts) in enumerate(chosen)
    ]
    other = data.draw(st.permutations(demands))
    ours = two_pools(make_cluster, "all")
    theirs = make_cluster(
        foundation="existing", **kueue(quota={"h100": {"cpu": "1"}, "h200": {"memory": "1"}})
    )
    one, two = (Kueue().foundation(each, ours, defaults=defaults(1)) for each in (demands, other))
    assert repr(one) == repr(two)
    assert list(Kueue().check_sum(demands, theirs)) == list(Kueue().check_sum(other, theirs))
    assert Kueue().prerequisites(demands, theirs) == Kueue().prerequisites(other, theirs)
