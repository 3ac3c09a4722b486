"""What a change of Volcano's objects does to the groups that they started: nothing, until a group starts again."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.cluster.api import Object
from tests.cluster.changes import (
    Trial,
    Tried,
    begun,
    changed,
    put_nodes,
    templates,
    trials,
)
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.gangs import lasts, racks
from tests.cluster.test_kueue_effects import named

from gangform.apis import volcano

KINDS = ("PodGroup", "Queue", "HyperNode")
SPACE = "volcano-effects"
HARD = {"mode": "hard", "highestTierAllowed": 1}
TIGHTER = ("members", "capability")
"""Changes after which the group would not start as it is."""


def apart(one: Trial, rack: int) -> Trial:
    """A trial of a HyperNode of its own rack: a node has one parent."""
    if one.case.kind != "HyperNode":
        return one
    label = {"spec/members/0/selector/labelMatch/matchLabels/rack": f"r{rack}"}
    return one._replace(before=changed(one.before, label), after=changed(one.after, label))


TRIALS = [
    apart(one, rack) for rack, one in enumerate(trials(SPACE, lambda case, _: case.kind in KINDS))
]


def on_it(one: Trial) -> Iterator[Object]:
    """A group that was started by the object of a trial."""
    kind, name = one.case.kind, one.name
    if kind != "PodGroup":
        values = {"spec/queue": name} if kind == "Queue" else {"spec/networkTopology": HARD}
        yield named(SPACE, "PodGroup", name, values)
    group = named(SPACE, "LeaderWorkerSet", name, {"spec/replicas": 1})
    for template in templates(group):
        template["spec"]["schedulerName"] = "volcano"
        template["metadata"]["annotations"][volcano.GROUP_NAME] = name
    yield group


def is_open(queue: Object) -> bool:
    return bool(queue.get("status", {}).get("state") == "Open")


@pytest.fixture(scope="module")
def tried(podgroup_plane: ControlPlane) -> Iterator[Tried]:
    api = podgroup_plane.api
    put_nodes(podgroup_plane, 2 * len(TRIALS))
    queues = [one.before for one in TRIALS if one.case.kind == "Queue"]
    beside = [each for one in TRIALS for each in on_it(one)]
    try:
        # A PodGroup is refused until its queue is open.
        for queue in queues:
            api.apply(queue, manager="kubectl")
        podgroup_plane.site.wait("queues", lambda: all(map(is_open, map(api.read, queues))))
        with begun(podgroup_plane, SPACE, TRIALS, beside=beside) as tried:
            tried.change()
            yield tried
    finally:
        podgroup_plane.reset()


@pytest.mark.claim(
    "A change of a PodGroup, a Queue or a HyperNode is taken, and the groups that run stay",
    "apis.volcano_effects; volcano §1, §2, §3",
)
def test_groups_stay(tried: Tried, saw: Saw) -> None:
    saw(f"pods stay: {tried.borne_out()}")


@pytest.mark.claim(
    "A group that starts again follows what its PodGroup, Queue and HyperNodes say by then",
    "apis.volcano_effects; volcano §1, §2, §3",
)
def test_the_next_start_follows(tried: Tried, saw: Saw) -> None:
    api = tried.plane.api
    for one in TRIALS:
        api.delete(f"/api/v1/namespaces/{SPACE}/pods/{one.name}-0")

    def bound(_: object) -> tuple[tuple[str, int], ...]:
        return tuple(
            (str(one), sum(bool(pod["spec"].get("nodeName")) for pod in tried.pods(one)))
            for one in TRIALS
        )

    found = dict(lasts(tried.watch, bound, seconds=5, within=60))  # type: ignore[call-overload]
    assert found == {str(one): 0 if one.case.name in TIGHTER else 2 for one in TRIALS}
    rack = racks(tried.plane, "rack")
    (left,) = [one for one in TRIALS if str(one) == "HyperNode a label"]
    placed = {
        rack[pod["spec"]["nodeName"]]
        for one in TRIALS
        if one.case.kind == "HyperNode"
        for pod in tried.pods(one)
    }
    assert placed == {
        left.before["spec"]["members"][0]["selector"]["labelMatch"]["matchLabels"]["rack"]
    }
    saw(f"0 of 2 pods bound after a change of {', '.join(TIGHTER)}; 2 after any other")
    saw("a group that wants tier 1 goes into the rack of the one HyperNode that still has it")
