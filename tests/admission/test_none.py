from __future__ import annotations

from collections.abc import Callable

from gangform.admission.admission import Demand, Placement, backend
from gangform.admission.none import Nobody
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import defaults

RACK = "example.com/rack"
MakeCluster = Callable[..., Cluster]
MakeDemand = Callable[..., Demand]
Codes = Callable[..., list[str]]


def test_nobody_is_reached_through_the_registry() -> None:
    assert isinstance(backend("none"), Nobody)


def test_everything_is_allowed_and_no_gang_is_promised(make_cluster: MakeCluster) -> None:
    policy = Nobody().policy(make_cluster())
    assert (policy.queued, policy.needs_queue, policy.gangs) == (False, False, False)
    assert (policy.surges, policy.surge_finishes, policy.scales) == (True, True, True)


def test_no_queue_is_needed_and_the_level_must_exist(
    make_cluster: MakeCluster, make_demand: MakeDemand, codes: Codes
) -> None:
    cluster = make_cluster()
    sound = make_demand(queue="", placement=Placement(RACK, "required"))
    wrong = make_demand(queue="", placement=Placement("example.com/row", "required"))
    assert codes(Nobody().check(sound, cluster)) == []
    assert codes(Nobody().check(wrong, cluster)) == ["topology-level-unknown"]


def test_a_required_level_is_kept_by_exclusive_topology(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    stamp = Nobody().stamp(make_demand(placement=Placement(RACK, "required")), make_cluster())
    assert stamp.owner_annotations == {"leaderworkerset.sigs.k8s.io/exclusive-topology": RACK}
    assert (stamp.owner_labels, stamp.pod_annotations, stamp.scheduler) == ({}, {}, None)
    assert stamp.remarks[-1].startswith(f"Each group takes a whole domain of {RACK}")


def test_a_preferred_level_is_only_said(make_cluster: MakeCluster, make_demand: MakeDemand) -> None:
    stamp = Nobody().stamp(make_demand(placement=Placement(RACK, "preferred")), make_cluster())
    assert stamp.owner_annotations == {}
    assert stamp.remarks[-1].endswith(f"any domain of {RACK}")


def test_what_nobody_promises_is_said_for_groups_only(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    group = Nobody().stamp(make_demand(), make_cluster()).remarks
    assert group[0].startswith("Nothing waits as one: a group that does not fit holds")
    assert "deadlock" in group[1]
    assert Nobody().stamp(make_demand(size=1), make_cluster()).remarks == ()


def test_nobody_makes_nothing_counts_nothing_and_needs_nothing(
    make_cluster: MakeCluster, make_demand: MakeDemand
) -> None:
    demands, cluster = [make_demand()], make_cluster()
    assert Nobody().foundation(demands, cluster, defaults=defaults(1)) == ()
    assert Nobody().prerequisites(demands, cluster) == ()
    assert list(Nobody().check_sum(demands, cluster)) == []
