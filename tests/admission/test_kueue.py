"""What Kueue says of a demand, and what it puts on its objects."""

from __future__ import annotations

from typing import Any

import pytest
from tests.admission.kueue_demands import (
    QUEUE,
    RACK,
    Codes,
    MakeCluster,
    MakeDemand,
    kueue,
    pool,
    release,
)

from gangform.admission.admission import Placement, backend
from gangform.admission.kueue import Kueue
from gangform.apis.kueue import annotation_faults
from gangform.findings import brief
from gangform.units import Seconds


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
