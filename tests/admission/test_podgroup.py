from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gangform.admission.admission import Demand, Placement, backend
from gangform.admission.podgroup import VolcanoPodGroup
from gangform.admission.volcano import Volcano
from gangform.apis.volcano import pod_group_faults
from gangform.inputs.cluster import Cluster, Domain, Pool, VolcanoSettings
from gangform.inputs.defaults import defaults
from gangform.units import Bytes, Millicores, Resources

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
PLUGIN = "network-topology-aware"
REQUIRED, PREFERRED = Placement(RACK, "required"), Placement(RACK, "preferred")
MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[..., list[str]]

KNOWN = {
    "h100": Pool(
        hardware="h100-8x",
        levels=(BLOCK, RACK, HOST),
        domains=(Domain(at=("b1", "r1"), nodes=4), Domain(at=("b1", "r2"), nodes=4)),
    )
}


def plugins(*names: str) -> dict[str, Any]:
    return {"volcano": VolcanoSettings(plugins=names)}


def test_pod_groups_of_our_own_are_reached_through_the_registry() -> None:
    assert isinstance(backend("volcano-podgroup"), VolcanoPodGroup)


def test_each_group_is_a_workload_that_neither_surges_nor_scales(make_cluster: MakeCluster) -> None:
    policy = VolcanoPodGroup().policy(make_cluster())
    assert (policy.one_workload_per_group, policy.gangs, policy.queued) == (True, True, True)
    assert (policy.surges, policy.surge_finishes, policy.scales) == (False, False, False)
    assert policy.lws_provider is False


@pytest.mark.parametrize(
    ("code", "demanded", "declared"),
    [
        ("queue-missing", {"queue": ""}, {}),
        ("queue-reserved", {"queue": "root"}, {}),
        ("topology-level-unknown", {"placement": Placement("example.com/row", "preferred")}, {}),
        ("lws-provider-on", {}, {"lws_scheduler_provider": "volcano"}),
        ("lws-provider-on", {"size": 1}, {"lws_scheduler_provider": "volcano"}),
        ("gang-waits-for-leader", {"startup_policy": "LeaderReady"}, {}),
        ("hypernodes-need-domains", {"placement": REQUIRED}, {}),
        ("topology-plugin-off", {"placement": REQUIRED}, {"pools": KNOWN, **plugins("gang")}),
        (
            "hypernodes-lack-host",
            {"placement": Placement(HOST, "required"), "leader": Resources({"nvidia.com/gpu": 4})},
            {"pools": KNOWN},
        ),
    ],
)
def test_what_would_not_start_or_not_be_kept_is_found(
    code: str,
    demanded: dict[str, Any],
    declared: dict[str, Any],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    found = VolcanoPodGroup().check(make_demand(**demanded), make_cluster(**declared))
    assert codes(found) == [code]


@pytest.mark.parametrize(
    ("demanded", "declared"),
    [
        ({}, {"lws_scheduler_provider": "none"}),
        ({}, {"lws_scheduler_provider": "unknown"}),
        ({"size": 1, "startup_policy": "LeaderReady"}, {}),
        ({"size": 1, "placement": REQUIRED}, {}),
        ({"size": 1, "runs_groups": False}, {"lws_scheduler_provider": "volcano"}),
        ({"placement": REQUIRED}, {"pools": KNOWN, **plugins("gang", PLUGIN)}),
        ({"placement": REQUIRED}, {"pools": KNOWN}),
        ({"placement": REQUIRED}, {"foundation": "queues"}),
        ({"placement": REQUIRED}, {"foundation": "existing"}),
        ({"placement": PREFERRED}, plugins("gang")),
        ({"placement": Placement(HOST, "preferred")}, {}),
    ],
)
def test_what_starts_and_is_kept_is_taken(
    demanded: dict[str, Any],
    declared: dict[str, Any],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    found = VolcanoPodGroup().check(make_demand(**demanded), make_cluster(**declared))
    assert codes(found) == []


def group(**spec: object) -> dict[str, object]:
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "r1-0", "namespace": "llm"},
        "spec": {
            "minMember": 3,
            "minResources": {"cpu": "84", "memory": "208Gi", "nvidia.com/gpu": "24"},
            "queue": "serving",
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("demanded", "foundation", "spec"),
    [
        ({}, "all", {}),
        ({"pod_priority": "gold"}, "all", {"priorityClassName": "gold"}),
        ({"placement": PREFERRED}, "all", {"networkTopology": {"mode": "soft"}}),
        ({"placement": REQUIRED}, "all", {"networkTopology": {"mode": "hard", "highestTierAllowed": 1}}),
        ({"placement": Placement(BLOCK, "required")}, "all",
         {"networkTopology": {"mode": "hard", "highestTierAllowed": 2}}),
        ({"placement": REQUIRED}, "queues",
         {"networkTopology": {"mode": "hard", "highestTierName": RACK}}),
        ({"placement": REQUIRED}, "existing",
         {"networkTopology": {"mode": "hard", "highestTierName": RACK}}),
    ],
)  # fmt: skip
def test_the_pod_group_is_called_like_the_workload_and_holds_the_whole_group(
    demanded: dict[str, Any],
    foundation: str,
    spec: dict[str, object],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    demand = make_demand(
        workload="r1-0",
        groups=1,
        extra=0,
        size=3,
        leader=Resources({"cpu": Millicores(4000), "memory": Bytes.gib(8), "nvidia.com/gpu": 8}),
        worker=Resources(
            {"cpu": Millicores(40_000), "memory": Bytes.gib(100), "nvidia.com/gpu": 8}
        ),
        **demanded,
    )
    stamp = VolcanoPodGroup().stamp(demand, make_cluster(foundation=foundation, pools=KNOWN))
    assert stamp.objects == (group(**spec),)
    assert list(pod_group_faults(stamp.objects[0])) == []
    assert stamp.pod_annotations == {"scheduling.k8s.io/group-name": "r1-0"}
    assert stamp.scheduler == "volcano"
    assert (stamp.owner_labels, stamp.owner_annotations) == ({}, {})


def test_a_group_of_one_pod_asks_for_no_topology(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    (made,) = (
        VolcanoPodGroup().stamp(make_demand(size=1, placement=REQUIRED), make_cluster()).objects
    )
    assert "networkTopology" not in repr(made)


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        ({}, f"Level {RACK} is only preferred"),
        (plugins("gang"), f"Scheduler plugin {PLUGIN} is off"),
    ],
)
def test_a_preferred_level_is_said(
    declared: dict[str, Any], said: str, make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    stamp = VolcanoPodGroup().stamp(make_demand(placement=PREFERRED), make_cluster(**declared))
    assert stamp.remarks[0].startswith("Groups are separate objects")
    assert "a group that waits" in stamp.remarks[1]
    assert stamp.remarks[2].startswith(said)


def test_queues_and_hyper_nodes_are_those_of_the_other_backend(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    cluster, demands = make_cluster(pools=KNOWN), [make_demand()]
    made = VolcanoPodGroup().foundation(demands, cluster, defaults=defaults(1))
    assert [each["kind"] for each in made] == ["Queue", "HyperNode", "HyperNode", "HyperNode"]
    assert made == Volcano().foundation(demands, cluster, defaults=defaults(1))


def test_the_tree_of_hyper_nodes_is_checked(
    make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    twice = Pool(hardware="h100-8x", levels=(RACK,), domains=(Domain(at=("r1",), nodes=1),))
    demands = [make_demand(), make_demand(pool="more")]
    for pools, expected in ((KNOWN, []), ({**KNOWN, "more": twice}, ["hypernodes-overlap"])):
        cluster = make_cluster(pools=pools)
        assert set(codes(VolcanoPodGroup().check_sum(demands, cluster))) == set(expected)


def test_pools_in_use_agree_on_the_tier_of_a_required_level(
    make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    flat = Pool(hardware="h100-8x", levels=("example.com/row", BLOCK))
    deep = Pool(hardware="h100-8x", levels=("example.com/row", BLOCK, RACK))
    cluster = make_cluster(pools={"flat": flat, "deep": deep})
    held = make_demand(pool="flat", placement=Placement(BLOCK, "required"))
    check = VolcanoPodGroup().check_sum
    assert codes(check([held], cluster)) == []
    both = list(check([held, make_demand(pool="deep", serving="r2")], cluster))
    assert codes(both) == ["level-has-two-tiers"]
    assert both[0].at.path == ("servings", "r1", "topology", "level")
    soft = held._replace(placement=Placement(BLOCK, "preferred"))
    assert codes(check([soft, make_demand(pool="deep")], cluster)) == []


def test_a_pool_that_nothing_runs_on_changes_no_tier(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    demand = make_demand(placement=Placement(RACK, "required"))
    deep = Pool(hardware="h100-8x", levels=(BLOCK, RACK, "example.com/shelf"))
    alone, beside = make_cluster(pools=KNOWN), make_cluster(pools={**KNOWN, "deep": deep})
    assert VolcanoPodGroup().stamp(demand, alone) == VolcanoPodGroup().stamp(demand, beside)
    one, other = (
        VolcanoPodGroup().foundation([demand], on, defaults=defaults(1)) for on in (alone, beside)
    )
    assert one == other


@pytest.mark.parametrize(
    ("demanded", "declared", "whats"),
    [
        ({}, {}, ["LWS's controller configuration names no", "Volcano 1.15 with its", "Volcano Queue serving"]),
        ({"size": 1, "runs_groups": False}, {}, ["Volcano 1.15 with its", "Volcano Queue serving"]),
        ({"placement": REQUIRED}, {"lws_scheduler_provider": "none", "foundation": "all"},
         ["Volcano 1.15 with its", "Volcano Queue serving", "Volcano's scheduler configuration",
          "Every node of pool h100 carries the labels "]),
        ({"placement": REQUIRED}, {"lws_scheduler_provider": "none", "foundation": "queues"} | plugins(PLUGIN),
         ["Volcano 1.15 with its", "Volcano Queue serving", f"HyperNodes with tierName {RACK}"]),
        ({"placement": PREFERRED}, {"lws_scheduler_provider": "none", "foundation": "existing"} | plugins(PLUGIN),
         ["Volcano 1.15 with its", "Volcano Queue serving is Open"]),
    ],
)  # fmt: skip
def test_what_others_configure_is_a_prerequisite(
    demanded: dict[str, Any],
    declared: dict[str, Any],
    whats: list[str],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    found = VolcanoPodGroup().prerequisites([make_demand(**demanded)], make_cluster(**declared))
    assert len(found) == len(whats)
    assert all(each.what.startswith(what) for each, what in zip(found, whats, strict=True))
