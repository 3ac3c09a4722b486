from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.admission.admission import Demand, Placement, backend
from gangform.admission.volcano import Volcano
from gangform.admission.volcano_objects import tier
from gangform.apis import volcano as api
from gangform.findings import Severity
from gangform.inputs.cluster import Cluster, Domain, Monitoring, Pool
from gangform.inputs.defaults import defaults
from gangform.units import Resources

BLOCK, RACK, HOST = "example.com/block", "example.com/rack", "kubernetes.io/hostname"
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[..., list[str]]


def pool(*levels: str, domains: tuple[Domain, ...] | None = None) -> Pool:
    return Pool(hardware="h100-8x", levels=levels, domains=domains)


def lies(*at: str) -> Domain:
    return Domain(at=at, nodes=4)


def test_volcano_is_reached_through_the_registry() -> None:
    assert isinstance(backend("volcano"), Volcano)


def test_a_surge_waits_holding_nothing_and_finishes(make_cluster: MakeCluster) -> None:
    policy = Volcano().policy(make_cluster())
    assert (policy.queued, policy.gangs, policy.surges, policy.surge_finishes) == (True,) * 4
    assert (policy.scales, policy.one_workload_per_group) == (True, False)
    assert (policy.longest_name, policy.lws_provider) == (None, True)


@pytest.mark.parametrize(
    ("code", "demanded", "declared"),
    [
        ("queue-missing", {"queue": ""}, {}),
        ("queue-reserved", {"queue": "root"}, {"foundation": "existing"}),
        ("queue-reserved", {"queue": "default"}, {"foundation": "queues"}),
        ("topology-level-unknown", {"placement": Placement("example.com/row", "preferred")}, {}),
        ("lws-provider-off", {}, {"lws_scheduler_provider": "none"}),
        ("gang-reduced-to-leader", {"startup_policy": "LeaderReady"}, {}),
        ("topology-needs-podgroup", {"placement": Placement(RACK, "required")}, {}),
    ],
)
def test_what_the_provider_cannot_do_is_found(
    code: str,
    demanded: dict[str, Any],
    declared: dict[str, Any],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    assert codes(Volcano().check(make_demand(**demanded), make_cluster(**declared))) == [code]


@pytest.mark.parametrize(
    ("demanded", "declared"),
    [
        ({}, {"lws_scheduler_provider": "volcano"}),
        ({}, {"lws_scheduler_provider": "unknown"}),
        ({"queue": "default"}, {"foundation": "existing"}),
        ({"placement": Placement(RACK, "preferred")}, {}),
        ({"size": 1, "startup_policy": "LeaderReady"}, {"lws_scheduler_provider": "none"}),
    ],
)
def test_what_the_provider_does_is_taken(
    demanded: dict[str, Any],
    declared: dict[str, Any],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    assert codes(Volcano().check(make_demand(**demanded), make_cluster(**declared))) == []


def test_a_leader_that_must_be_ready_first_is_a_warning(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    (found,) = Volcano().check(make_demand(startup_policy="LeaderReady"), make_cluster())
    assert found.code.severity is Severity.DEGRADES
    assert found.what == "under LeaderReady the gang of r1 is 1 pod, its group 2"


def test_scheduler_on_pods_queue_on_the_owner_and_no_group_of_ours(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    stamp = Volcano().stamp(make_demand(), make_cluster())
    assert stamp.scheduler == "volcano"
    assert stamp.owner_annotations == {QUEUE_NAME: "serving"}
    assert (stamp.owner_labels, stamp.pod_annotations, stamp.objects) == ({}, {}, ())


def test_a_lone_pod_names_its_queue_itself(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    stamp = Volcano().stamp(make_demand(size=1), make_cluster())
    assert stamp.pod_annotations == {QUEUE_NAME: "serving"}
    assert stamp.remarks == ()


def test_what_is_lost_is_said(make_cluster: MakeCluster, make_demand: MakeDemand) -> None:
    demand = make_demand(placement=Placement(RACK, "preferred"), pod_priority="gold")
    remarks = Volcano().stamp(demand, make_cluster()).remarks
    assert remarks[0].endswith(f"any domain of {RACK}")
    assert "gold orders pods, never whole groups" in remarks[1]


QUEUE = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": "serving"},
    "spec": {
        "weight": 1,
        "capability": {
            "cpu": "1k",
            "ephemeral-storage": "20000Gi",
            "memory": "16000Gi",
            "nvidia.com/gpu": "80",
        },
        "reclaimable": False,
    },
}


def node(name: str, **labels: str) -> dict[str, object]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": 1,
            "tierName": RACK,
            "members": [
                {
                    "type": "Node",
                    "selector": {
                        "labelMatch": {
                            "matchLabels": {BLOCK: labels["block"], RACK: labels["rack"]}
                        }
                    },
                }
            ],
        },
    }


def above(name: str, *children: str) -> dict[str, object]:
    return {
        "apiVersion": "topology.volcano.sh/v1alpha1",
        "kind": "HyperNode",
        "metadata": {"name": name},
        "spec": {
            "tier": 2,
            "tierName": BLOCK,
            "members": [
                {"type": "HyperNode", "selector": {"exactMatch": {"name": child}}}
                for child in children
            ],
        },
    }


HYPER_NODES = [
    node("b1-r1", block="b1", rack="r1"),
    node("b1-r2", block="b1", rack="r2"),
    node("b2-r1", block="b2", rack="r1"),
    above("b1", "b1-r1", "b1-r2"),
    above("b2", "b2-r1"),
]


@pytest.mark.parametrize(
    ("foundation", "expected"),
    [("all", [QUEUE, *HYPER_NODES]), ("queues", [QUEUE]), ("existing", [])],
)
def test_the_foundation_makes_what_is_ours(
    foundation: str,
    expected: list[object],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    domains: tuple[Domain, ...],
) -> None:
    cluster = make_cluster(
        foundation=foundation, pools={"h100": pool(BLOCK, RACK, HOST, domains=domains)}
    )
    demands = [make_demand(serving="b", groups=1, extra=0), make_demand(serving="a")]
    made = Volcano().foundation(demands, cluster, defaults=defaults(1))
    assert list(made) == expected
    faults = {"Queue": api.queue_faults, "HyperNode": api.hyper_node_faults}
    assert [fault for each in made for fault in faults[str(each["kind"])](each)] == []


def test_without_domain_values_there_are_no_hyper_nodes(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    made = Volcano().foundation([make_demand()], make_cluster(), defaults=defaults(1))
    assert [each["kind"] for each in made] == ["Queue"]


def test_pools_that_share_a_domain_share_its_hyper_node(
    make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    one = pool(BLOCK, RACK, domains=(lies("b1", "r1"),))
    other = pool(BLOCK, RACK, HOST, domains=(lies("b1", "r1"), lies("b1", "r2")))
    cluster = make_cluster(pools={"h100": one, "h200": other, "unused": pool(BLOCK)})
    demands = [make_demand(), make_demand(pool="h200")]
    made = Volcano().foundation(demands, cluster, defaults=defaults(1))
    assert list(made[1:]) == [*HYPER_NODES[:2], above("b1", "b1-r1", "b1-r2")]
    assert codes(Volcano().check_sum(demands, cluster)) == []


def test_a_level_has_one_tier_over_the_pools_in_use(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(pools={"a": pool(BLOCK, RACK, HOST), "b": pool(BLOCK, HOST)})
    levels = (RACK, BLOCK, HOST, "example.com/row")
    assert [tier(level, cluster, ["a", "b"]) for level in levels] == [1, 2, None, None]
    assert [tier(level, cluster, ["b"]) for level in levels] == [None, 1, None, None]


@pytest.mark.parametrize(
    ("code", "pools"),
    [
        (
            "hypernodes-overlap",
            {
                "h100": pool(BLOCK, RACK, domains=(lies("b1", "r1"),)),
                "h200": pool(RACK, domains=(lies("r1"),)),
            },
        ),
        (
            "levels-in-two-orders",
            {
                "h100": pool(BLOCK, RACK, domains=(lies("b1", "r1"),)),
                "h200": pool(RACK, "example.com/row", BLOCK),
            },
        ),
    ],
)
def test_what_breaks_the_tree_is_refused(
    code: str,
    pools: dict[str, Pool],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    codes: Codes,
) -> None:
    demands = [make_demand(), make_demand(pool="h200")]
    assert code in codes(Volcano().check_sum(demands, make_cluster(pools=pools)))
    others = make_cluster(pools=pools, foundation="queues")
    assert codes(Volcano().check_sum(demands, others)) == []


def test_domains_that_would_get_one_name_are_refused(
    make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    pools = {
        "h100": pool(BLOCK, domains=(lies("x"),)),
        "h200": pool(RACK, domains=(lies("x"),)),
    }
    demands = [make_demand(), make_demand(pool="h200")]
    assert codes(Volcano().check_sum(demands, make_cluster(pools=pools))) == ["hypernodes-overlap"]


@pytest.mark.parametrize(
    ("declared", "size", "whats"),
    [
        (
            {},
            2,
            [
                "LWS's controller configuration",
                "Volcano 1.15 with its scheduler",
                "Volcano Queue serving",
            ],
        ),
        ({}, 1, ["Volcano 1.15 with its scheduler", "Volcano Queue serving"]),
        (
            {"lws_scheduler_provider": "volcano", "monitoring": Monitoring(enabled=False)},
            2,
            ["Volcano 1.15 with its scheduler", "Volcano Queue serving"],
        ),
    ],
)
def test_what_must_be_configured_is_a_prerequisite(
    declared: dict[str, Any],
    size: int,
    whats: list[str],
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
) -> None:
    found = Volcano().prerequisites([make_demand(size=size)], make_cluster(**declared))
    assert len(found) == len(whats)
    assert all(each.what.startswith(what) for each, what in zip(found, whats, strict=True))


def test_a_queue_is_asked_for_its_state(make_cluster: MakeCluster, make_demand: MakeDemand) -> None:
    (queue,) = [
        each
        for each in Volcano().prerequisites([make_demand()], make_cluster())
        if each.what.startswith("Volcano Queue")
    ]
    assert queue.what == "Volcano Queue serving is Open, applied before the first serving"
    assert queue.check == (
        "kubectl get queues.scheduling.volcano.sh serving -o jsonpath='{.status.state}'"
    )


CHOICES = st.tuples(
    st.sampled_from(["serving", "batch"]),
    st.sampled_from(["h100", "h200"]),
    st.integers(1, 4),
    st.dictionaries(st.sampled_from(["cpu", "memory", "nvidia.com/gpu"]), st.integers(0, 10**12)),
)


@settings(deadline=None)
@given(chosen=st.lists(CHOICES, max_size=6), data=st.data())
def test_the_order_of_demands_changes_nothing(
    chosen: list[tuple[str, str, int, dict[str, int]]],
    data: st.DataObject,
    make_cluster: MakeCluster,
    make_demand: MakeDemand,
    domains: tuple[Domain, ...],
) -> None:
    demands = [
        make_demand(
            serving=f"s{index}",
            queue=queue,
            pool=name,
            size=size,
            leader=Resources(amounts),
            worker=Resources(amounts),
        )
        for index, (queue, name, size, amounts) in enumerate(chosen)
    ]
    other = data.draw(st.permutations(demands))
    cluster = make_cluster(
        pools={"h100": pool(BLOCK, RACK, domains=domains), "h200": pool(RACK, domains=domains[:1])}
    )
    one, two = (
        Volcano().foundation(each, cluster, defaults=defaults(1)) for each in (demands, other)
    )
    assert repr(one) == repr(two)
    assert list(Volcano().check_sum(demands, cluster)) == list(Volcano().check_sum(other, cluster))
    assert Volcano().prerequisites(demands, cluster) == Volcano().prerequisites(other, cluster)
