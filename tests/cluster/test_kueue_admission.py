"""Kueue admits group by group, each whole and into one rack; where there is none, or no quota, a group waits and holds
nothing. The plan says beforehand how many groups find a place and what the queue must hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.queues import (
    IN_ONE_RACK,
    POOL,
    RACK,
    admitted,
    altered,
    gated,
    queued,
    racked,
    refusals,
    refused,
    remarks,
    set_racks,
    unlisted,
    waiting,
    why,
    workloads,
)
from tests.cluster.servings import GPU, Made, apply, count, domains, gpus, group_of, ready_groups
from tests.cluster.watch import Watch, watching

SIZE = 3
RACKS = (4, 4, 4)
"""A group of three leaves one node free in each: as many as a fourth group needs, and no whole rack for it."""
WITH_ONE_MORE = (*RACKS, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """Four groups on racks that hold three, then with a rack more, then with a worker lost."""

    made: Made
    racks: dict[str, str]
    """The rack of each node."""
    workloads: list[Object]
    waits: list[Object]
    """The Workloads that waited while three groups were ready."""
    pods: list[Object]
    """The pods at that time."""
    after: list[Object]
    """The pods once a rack was added."""
    lost: str
    """The worker that was deleted then."""
    rebuilt: Watch


@pytest.fixture(scope="module")
def packed(kueue_plane: ControlPlane) -> Packed:
    try:
        return _packed(kueue_plane)
    finally:
        kueue_plane.reset()


def _packed(plane: ControlPlane) -> Packed:
    set_racks(plane, *RACKS)
    # Without an inventory the plan cannot know of the racks, and writes what it would otherwise refuse.
    made = queued(unlisted(plane.cluster), groups=4, size=SIZE, topology=IN_ONE_RACK)
    with watching(plane.api, made.pods, workloads(plane, made)) as seen:
        apply(plane, made)
        seen.until(
            lambda now: count(now.of("Pod"), size=SIZE).ready == 3 and waiting(now),
            within=90,
            what="three groups are ready and one waits",
        )
        pods, found, waits = seen.of("Pod"), seen.of("Workload"), waiting(seen)
        racks = set_racks(plane, *WITH_ONE_MORE)
        seen.until(ready_groups(4, size=SIZE), within=90, what="the fourth group has found a rack")
        after = seen.of("Pod")
    lost = "r1-1-2"
    with watching(plane.api, made.pods, workloads(plane, made)) as rebuilt:
        plane.api.delete(f"{made.pods}/{lost}")
        rebuilt.until(
            lambda now: not ready_groups(4, size=SIZE)(now), within=30, what="the worker goes"
        )
        rebuilt.until(ready_groups(4, size=SIZE), within=90, what="its group is whole again")
    return Packed(
        made=made,
        racks=racks,
        workloads=found,
        waits=waits,
        pods=pods,
        after=after,
        lost=lost,
        rebuilt=rebuilt,
    )


@pytest.mark.claim(
    "Kueue admits group by group, never the set as one, and each into one domain of a required level",
    "design §4 Admission, Topology; admission.kueue ONE_BY_ONE; lab E4",
)
def test_each_group_is_admitted_alone_and_into_one_rack(packed: Packed, saw: Saw) -> None:
    asked = packed.made.plan.lead.demand
    assert len(packed.workloads) == asked.groups
    for each in packed.workloads:
        sets = {one["name"]: one for one in each["spec"]["podSets"]}
        assert {name: one["count"] for name, one in sets.items()} == {
            "leader": 1,
            "worker": asked.size - 1,
        }
        assert {one["topologyRequest"]["required"] for one in sets.values()} == {RACK}
        assert len({one["topologyRequest"]["podSetGroupName"] for one in sets.values()}) == 1
    lie = domains(packed.after, packed.racks)
    assert len(lie) == asked.groups
    assert all(list(racks.values()) == [asked.size] for racks in lie.values())
    assert len({*map(str, lie.values())}) == len(WITH_ONE_MORE)
    saw(
        f"{len(packed.workloads)} groups, {len(packed.workloads)} Workloads of a leader and "
        f"{asked.size - 1} workers; {len(packed.workloads) - len(packed.waits)} admitted while "
        f"{len(packed.waits)} waited; every group in one rack"
    )


@pytest.mark.claim(
    "Free GPUs are not free domains: a group without a whole domain waits, and the plan of an inventory says which "
    "number of groups finds one",
    "design §4 Topology; plan.placement no-domain-for-group; lab E4",
)
def test_a_group_waits_where_no_rack_is_whole(
    packed: Packed, kueue_plane: ControlPlane, saw: Saw
) -> None:
    asked = packed.made.plan.lead.demand
    counted = count(packed.pods, size=SIZE)
    free = sum(RACKS) * asked.hardware.gpu.count - counted.bound
    group = asked.group[GPU]
    assert free >= group
    assert len(packed.waits) == 1
    assert "topology" in why(packed.waits[0])
    held_back = gated(packed.pods)
    assert len(held_back) == SIZE
    assert len({group_of(pod) for pod in held_back}) == 1
    assert not any(pod["spec"].get("nodeName") for pod in held_back)
    fields = {"groups": 4, "size": SIZE, "topology": IN_ONE_RACK}
    faults = refused(racked(kueue_plane.cluster, *RACKS), **fields)
    assert [(one.code.id, one.seen["placed"]) for one in faults] == [
        ("no-domain-for-group", str(counted.ready))
    ]
    more = queued(racked(kueue_plane.cluster, *WITH_ONE_MORE), **fields)
    assert more.cluster.pools[0].packings[0].placed == count(packed.after, size=SIZE).ready
    saw(
        f"{counted.ready} of {asked.groups} groups ready, 1 gated with {free} GPUs free, as many as it needs; "
        f"the plan of these racks is refused: no-domain-for-group, {counted.ready} placed; with a rack more all "
        "are placed, and all are ready"
    )


@pytest.mark.claim(
    "A lost worker rebuilds its whole group, under the Workload that it was admitted with",
    "lab E4 Failures, E7; design §4 Workload",
)
def test_a_lost_worker_rebuilds_its_group_under_the_same_workload(packed: Packed, saw: Saw) -> None:
    made = [event for event in packed.rebuilt.events if event.type == "ADDED"]
    assert {event.place.kind for event in made} == {"Pod"}
    group = {group_of(event.object) for event in made}
    assert len(group) == 1
    assert len({event.place.name for event in made}) == SIZE
    deleted = [event for event in packed.rebuilt.events if event.type == "DELETED"]
    assert {group_of(event.object) for event in deleted} == group
    before = {one["metadata"]["uid"] for one in packed.workloads}
    assert {one["metadata"]["uid"] for one in admitted(packed.rebuilt)} == before

    def nodes(pods: list[Object]) -> set[str]:
        return {pod["spec"]["nodeName"] for pod in pods if group_of(pod) in group}

    assert nodes(packed.rebuilt.of("Pod")) == nodes(packed.after)
    saw(
        f"{packed.lost} deleted: its {SIZE} pods made anew on the same nodes, no other pod touched, "
        "no Workload made or removed"
    )


@pytest.mark.claim(
    "The quota that the plan sums up is enough; with one group less exactly one group waits, gated, and holds no GPU",
    "design §4 Admission; plan.cluster quota; rule quota-below-peak; lab E4",
)
def test_the_planned_quota_is_enough_and_one_group_less_is_not(
    kueue: ControlPlane, saw: Saw
) -> None:
    made = queued(kueue.cluster, groups=3)
    asked = made.plan.lead.demand
    planned, group = made.cluster.quota[POOL][GPU], asked.group[GPU]

    def take_one_group(queue: Object) -> None:
        (resources,) = queue["spec"]["resourceGroups"]
        (flavor,) = resources["flavors"]
        (row,) = [one for one in flavor["resources"] if one["name"] == GPU]
        assert int(row["nominalQuota"]) == planned
        row["nominalQuota"] = str(planned - group)

    short = altered(made, "ClusterQueue", take_one_group)
    assert "quota-below-peak" in remarks(short) - remarks(made)
    assert not refusals(made)
    with watching(kueue.api, made.pods, workloads(kueue, made)) as seen:
        apply(kueue, short)
        seen.until(
            lambda now: count(now.of("Pod"), size=2).ready == asked.groups - 1 and waiting(now),
            within=90,
            what="all groups but one are ready",
        )
        (waits,) = waiting(seen)
        held_back = gated(seen.of("Pod"))
        assert "insufficient unused quota for nvidia.com/gpu" in why(waits)
        assert len({group_of(pod) for pod in held_back}) == 1
        assert len(held_back) == asked.size
        held = sum(gpus(pod) for pod in held_back if pod["spec"].get("nodeName"))
        assert held == 0
        bound = count(seen.of("Pod"), size=2).bound
        assert bound == planned - group
        apply(kueue, made)
        seen.until(ready_groups(asked.groups, size=2), within=90, what="all groups are ready")
    assert count(seen.of("Pod"), size=2).bound == planned
    saw(
        f"{planned} GPUs as planned: {asked.groups} of {asked.groups} groups ready; {planned - group}: "
        f"{asked.groups - 1} ready, 1 gated with {held} GPUs"
    )
