from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gangform.inputs.cluster import Cluster, Domain
from gangform.inputs.serving import Autoscaling, Parallelism, Rollout, TopologyRequest
from gangform.plan import capacity
from gangform.plan.capacity import Capacity
from gangform.plan.cluster import plan_cluster
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
RACK, HOST = "example.com/rack", "kubernetes.io/hostname"


def of(
    make_plan: MakePlan, make_cluster: MakeCluster, racks: tuple[int, ...], **asked: Any
) -> Capacity:
    """Six groups of four nodes with eight GPUs each, as in article A, unless asked otherwise."""
    pool: dict[str, Any] = {"levels": (RACK, HOST), "nodes": sum(racks) or None}
    if racks:
        pool["domains"] = tuple(Domain(at=(f"r{n}",), nodes=count) for n, count in enumerate(racks))
    on = make_cluster(pool=pool)
    given = {"groups": 6, "parallelism": Parallelism(tensor=8, pipeline=4), "backend": "kueue"}
    plan = make_plan(on=on, **{**given, **asked})
    (found,) = plan_cluster(on, [plan]).capacity
    return found


def test_a_failure_of_one_group_and_a_rollout_share_their_room(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    """Case 6 of article A: 224 GPUs, or 256 for both at once."""
    found = of(make_plan, make_cluster, (4,) * 8)
    assert (found.serving, found.rollout) == (192, 32)
    assert (found.loss.level, found.loss.groups, found.loss.gpus) == (RACK, 1, 32)
    assert (found.loss.floor, found.loss.additive) == (224, 256)


def test_a_rack_of_two_groups_has_paid_for_the_rollout(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    """Case 7 of article A: 256 GPUs."""
    found = of(make_plan, make_cluster, (8,) * 4)
    assert (found.loss.groups, found.loss.gpus, found.loss.floor) == (2, 64, 256)
    host = found.losses[0]
    assert (host.level, host.groups, host.gpus, host.floor) == (HOST, 1, 32, 224)


def test_a_burst_stands_apart(make_plan: MakePlan, make_cluster: MakeCluster) -> None:
    asked: dict[str, Any] = {"groups": None, "autoscaling": Autoscaling(min=2, max=5)}
    found = of(make_plan, make_cluster, (4,) * 8, **asked)
    assert (found.serving, found.burst, found.loss.floor) == (64, 96, 96)


def test_a_rollout_of_two_surge_groups_needs_room_for_both(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    rolls = Rollout(max_surge=2, max_unavailable=1)
    assert of(make_plan, make_cluster, (4,) * 8, rollout=rolls).rollout == 64


def test_without_an_inventory_a_node_takes_one_group(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    found = of(make_plan, make_cluster, ())
    assert (found.has, [loss.level for loss in found.losses]) == (None, [HOST])
    assert (found.loss.gpus, found.loss.floor) == (32, 224)


def test_the_level_of_the_spread_is_the_failure_domain(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    block = "example.com/block"
    on = make_cluster(
        pool={
            "levels": (block, RACK, HOST),
            "domains": tuple(Domain(at=(f"b{n // 2}", f"r{n}"), nodes=4) for n in range(8)),
        }
    )
    shape = Parallelism(tensor=8, pipeline=4)
    asked = {"groups": 6, "parallelism": shape, "topology": TopologyRequest(level=RACK)}
    (rack,) = plan_cluster(on, [make_plan(on=on, backend="kueue", **asked)]).capacity
    assert (rack.loss.level, rack.loss.groups) == (RACK, 1)
    (wide,) = plan_cluster(on, [make_plan(on=on, backend="kueue", spread=block, **asked)]).capacity
    assert (wide.loss.level, wide.loss.domain, wide.loss.groups) == (block, ("b0",), 2)
    assert wide.loss.floor == 256


@given(*[st.integers(0, 10_000)] * 3)
def test_both_at_once_never_needs_less(serving: int, failure: int, rollout: int) -> None:
    least = capacity.floor(serving, failure, rollout)
    assert least <= capacity.additive(serving, failure, rollout) <= 2 * least
    assert least >= serving
