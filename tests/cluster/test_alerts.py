"""What our alerts say of what a real control plane did: series made of its objects, our rules, Prometheus' rule engine.

kube-state-metrics and Prometheus do not run here: `tests/signals/exporter.py` imitates the one, promtool the other.
Three seconds of the lab are a minute of theirs. All servings are in one Prometheus, so that each is told from others.
"""

from __future__ import annotations

import pytest
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw, claimed
from tests.cluster.incidents import (
    LASTS,
    SIZE,
    SLACK,
    SPARE,
    WATCHED,
    Happened,
    change,
    hold_back,
    servings,
    settled,
)
from tests.cluster.scenarios import POOL, put_nodes, quiet, watching_each, with_pools
from tests.cluster.servings import apply, make
from tests.cluster.timeline import Check, Court, at, finds, firing, judged, timeline, until
from tests.cluster.watch import watching


@pytest.fixture(scope="module")
def happened(
    plain_plane: ControlPlane, promtool: str, tmp_path_factory: pytest.TempPathFactory
) -> Happened:
    plane = plain_plane
    turns = []
    for turn in (1, 2):
        nodes = sum(
            one.lowest_groups * (1 if one.name == "lone" else SIZE)
            for one in servings(turn)
            if one.pool != "short"
        )
        cluster = with_pools(plane, h100=nodes + 2 * SPARE, short=None)
        monitoring = cluster.monitoring.model_copy(update={"node_labels": (POOL,)})
        cluster = cluster.model_copy(update={"monitoring": monitoring})
        turns.append(make(cluster, *servings(turn)))
    first, second = turns
    put_nodes(plane, with_pools(plane, h100=nodes + 2 * SPARE, short=3))
    with watching_each(plane, first) as pods:
        apply(plane, first)
        hold_back(plane, pods["waits"])
        for plan in first.cluster.servings:
            if plan.name != "waits":
                pods[plan.name].until(settled(plan), within=120, what=f"{plan.name} serves")
        quiet(pods, seconds=1)
        with watching(plane.api, *WATCHED) as seen:
            names = change(plane, second, pods)
            quiet(pods, seconds=2)
    plane.reset()
    rules = {
        plan.name: judged(second.one("PrometheusRule", plan.name)["spec"])
        for plan in second.cluster.servings
    }
    scraped = timeline(seen, lasts=LASTS, allowed=[POOL])
    court = Court(promtool, tmp_path_factory.mktemp("alerts"), scraped)
    return Happened(court=court, rules=rules, names=names)


SOURCE = "signals.groups; observability §1.7, §2"
LESS = "ServingGroupsNotReady"
REBUILT = "ServingGroupRebuiltRepeatedly"


@pytest.mark.parametrize(
    "name",
    [
        claimed("rolls", "A rollout in place raises no alarm", SOURCE),
        claimed("surges", "A rollout with a surge group raises no alarm", SOURCE),
        claimed("zero", "A serving that is scaled to zero raises no alarm", SOURCE),
    ],
)
def test_what_is_well_is_silent(name: str, happened: Happened, saw: Saw) -> None:
    # A busy StatefulSet controller deletes the old pod twice at times, and the second time it is the new one.
    more = [REBUILT] if any(len(each) > 2 for each in happened.lives(name).values()) else []
    happened.judge(name, until(happened.end, *more))
    saw("no alert, but of a leader that the controllers themselves made twice, where they did")


@pytest.mark.claim(
    "A lost worker whose leader stays ready is told of by the serving's alerts, and not by phases of pods",
    SOURCE,
)
def test_a_lost_worker_is_told_of(happened: Happened, saw: Saw) -> None:
    metric = "kube_statefulset_status_replicas_ready"
    lost = happened.when(metric, 0, namespace="lost", statefulset="lost-1")
    incomplete = firing("ServingLeaderReadyGroupIncomplete", namespace="lost", pod="lost-1")
    mismatch = firing("ServingLeaderEndpointsMismatch", namespace="lost")
    less = firing(LESS, namespace="lost")
    at_once, soon, late = (happened.waits("lost", one) for one in (incomplete, mismatch, less))
    assert at_once < soon < late - SLACK
    happened.judge(
        "lost",
        at(lost + at_once - 1),
        at(lost + at_once + 1, incomplete),
        at(lost + soon + SLACK, incomplete, mismatch),
        at(lost + late - 1, incomplete, mismatch),
        at(lost + late + SLACK, incomplete, mismatch, less),
        finds('kube_pod_status_phase{namespace="lost",phase!="Running"} == 1', lost + late),
        finds(
            'kube_pod_status_ready{namespace="lost",condition="true",pod=~"lost-[0-9]+"} == 0',
            lost + late,
        ),
    )
    saw(
        f"the leader that serves for half a group after {at_once:g} minutes, then the endpoints of the Service, and "
        f"one group of two after {late:g}, with every pod Running and every leader ready throughout"
    )


@pytest.mark.claim(
    "An eviction that makes a group anew raises no alarm, and the third life of a leader in an hour does, for as long "
    "as they lie within it",
    SOURCE,
)
def test_evictions_are_told_of_when_they_repeat(happened: Happened, saw: Saw) -> None:
    lives = happened.lives("evicted")["evicted-1"]
    third = lives[2].first
    rebuilt = firing(REBUILT, namespace="evicted", pod="evicted-1")
    happened.judge(
        "evicted",
        until(third - 0.5),
        at(third, rebuilt),
        at(lives[-3].last + 59, rebuilt),
        at(lives[-3].last + 61),
        until(happened.end, REBUILT),
    )
    saw(
        "nothing up to the second life; in the third the leader, and nothing an hour after the first"
    )


@pytest.mark.claim(
    "A group for which a node is missing is told of, and what it keeps from serving", SOURCE
)
def test_a_pending_group_is_told_of(happened: Happened, saw: Saw) -> None:
    less = firing(LESS, namespace="waits")
    pending = firing("ServingGroupPodsPending", namespace="waits")
    no_room = firing("ServingNoRoomToRebuild", namespace="waits")
    soon, late = (happened.waits("waits", one) for one in (less, pending))
    happened.judge(
        "waits",
        at(soon - 1),
        at(soon + 1, less),
        at(late - 1, less),
        at(late + 1, less, pending, no_room),
        at(happened.end, less, pending, no_room),
    )
    saw(
        f"one group of two after {soon:g} minutes; after {late:g} pods that wait, and that their pool has no room, "
        "though another has nodes to spare"
    )


@pytest.mark.claim("A total outage is told of long before a group could have started again", SOURCE)
def test_a_total_outage_is_told_of(happened: Happened, saw: Saw) -> None:
    out = max(
        happened.when(
            "kube_pod_status_ready",
            0,
            namespace="outage",
            pod=leader,
            uid=happened.names[leader],
            condition="true",
        )
        for leader in ("outage-0", "outage-1")
    )
    nothing = firing("ServingNoGroupReady", namespace="outage")
    less = firing(LESS, namespace="outage")
    soon, late = (happened.waits("outage", one) for one in (nothing, less))
    happened.judge(
        "outage",
        at(out + soon - 1),
        at(out + soon + SLACK, nothing),
        at(out + late - SLACK, nothing),
        at(out + late + SLACK, nothing, less),
    )
    saw(f"no ready group after {soon:g} minutes")


@pytest.mark.claim("A set that was deleted is told of", SOURCE)
def test_a_deleted_set_is_told_of(happened: Happened, saw: Saw) -> None:
    labels = {"namespace": "gone", "statefulset": "gone"}
    gone = happened.when("kube_statefulset_replicas", None, **labels)
    absent = firing("ServingGroupsAbsent", **labels, job="kube-state-metrics")
    late = happened.waits("gone", absent)
    happened.judge("gone", at(gone + late - 1), at(gone + late + 1, absent), at(gone + 90, absent))
    saw(f"its absence after {late:g} minutes")


@pytest.mark.claim("A node that is cordoned under a group is told of, with the node", SOURCE)
def test_a_cordoned_node_is_told_of(happened: Happened, saw: Saw) -> None:
    node = happened.names["node"]
    begun = happened.when("kube_node_spec_unschedulable", 1, node=node)
    cordoned = firing("ServingGroupOnCordonedNode", namespace="cordoned", node=node)
    late = happened.waits("cordoned", cordoned)
    happened.judge("cordoned", at(begun + late - 1), at(begun + late + 1, cordoned))
    saw(f"the node after {late:g} minutes, to the serving that has a pod there and to no other")


@pytest.mark.claim("A pod of a Deployment that is not ready any more is told of", SOURCE)
def test_a_lost_pod_of_a_deployment_is_told_of(happened: Happened, saw: Saw) -> None:
    metric = "kube_deployment_status_replicas_ready"
    lost = happened.when(metric, 1, namespace="lone", deployment="lone")
    less = firing(LESS, namespace="lone")
    late = happened.waits("lone", less)
    happened.judge("lone", at(lost + late - 1), at(lost + late + 1, less))
    saw(f"one replica of two after {late:g} minutes")


@pytest.mark.claim("What is recorded counts whole groups", "signals.records; observability §1.7")
def test_records_count_groups(happened: Happened, saw: Saw) -> None:
    def record(name: str, serving: str) -> str:
        return f'namespace_serving:{name}{{serving="{serving}"}}'

    def one(expr: str, serving: str) -> Check:
        labels = {"namespace": serving, "serving": serving}
        return finds(f"sum by (namespace, serving) ({expr})", happened.end, labels)

    happened.judge("lost", one(record("groups_ready:sum", "lost"), "lost"))
    happened.judge("outage", one(f"{record('groups_ready:ratio', 'outage')} + 1", "outage"))
    happened.judge("rolls", one(record("groups_ready:ratio", "rolls"), "rolls"))
    happened.judge("zero", finds(record("groups_ready:ratio", "zero"), happened.end))
    saw(
        "one ready group where a worker was lost; none of all in an outage; all after a rollout; no share of none"
    )
