"""What a change of Kueue's objects does to the groups that run on them: what the tables of effects say is what it does.

Each object that is changed carries a group of its own, which names it by way of those that stand between them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from tests.apis.changed import Case
from tests.apis.living import LEVEL
from tests.cluster.api import Object
from tests.cluster.changes import (
    ROLLS,
    Trial,
    Tried,
    all_made,
    templates,
    trials,
)
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.servings import is_ready
from tests.cluster.test_kueue_effects import foundation, named

from gangform.apis import kueue
from gangform.apis.effects import Effect, Outcome

KINDS = (
    "Topology",
    "ResourceFlavor",
    "ClusterQueue",
    "LocalQueue",
    "Cohort",
    "WorkloadPriorityClass",
)
LATER = ("another field",)
STAY = (Outcome.NONE, Outcome.IN_PLACE)


def here(case: Case, rows: Sequence[Effect]) -> bool:
    return case.kind in KINDS and case.name not in LATER


SPACE = "foundation-effects"
TRIALS = trials(SPACE, here)


def on_it(one: Trial) -> Iterator[Object]:
    """A group that runs on the object of a trial, and what stands between."""
    kind, name = one.case.kind, one.name
    flavor = "spec/resourceGroups/0/flavors/0/name"
    if kind == "Topology":
        yield named(SPACE, "ResourceFlavor", name, {"spec/topologyName": name})
    if kind in ("Topology", "ResourceFlavor"):
        yield named(SPACE, "ClusterQueue", name, {flavor: name})
    if kind == "Cohort":
        yield named(SPACE, "ClusterQueue", name, {"spec/cohortName": name})
    if kind != "LocalQueue":
        queue = "serving" if kind == "WorkloadPriorityClass" else name
        yield named(SPACE, "LocalQueue", name, {"spec/clusterQueue": queue})
    priority = name if kind == "WorkloadPriorityClass" else "high"
    labels = {kueue.QUEUE_NAME: name, kueue.PRIORITY_CLASS: priority}
    group = named(SPACE, "LeaderWorkerSet", name, {"metadata/labels": labels, "spec/replicas": 1})
    if kind == "ResourceFlavor" and "topologyName" not in one.before["spec"]:
        for template in templates(group):
            del template["metadata"]["annotations"][LEVEL]
    yield group


@pytest.fixture(scope="module")
def tried(kueue_plane: ControlPlane) -> Iterator[Tried]:
    carriers = {one.name: one for one in TRIALS}.values()
    beside = [*foundation(SPACE), *(each for one in carriers for each in on_it(one))]
    with all_made(kueue_plane, SPACE, TRIALS, beside=beside) as tried:
        yield tried


@pytest.mark.claim(
    "A change of Kueue's objects leaves the groups that run on them, whatever it means for those to come",
    "apis.kueue_effects; kueue §1",
)
def test_groups_stay(tried: Tried, saw: Saw) -> None:
    saw(f"pods stay: {tried.borne_out(*STAY)}")


@pytest.mark.claim(
    "The API server refuses what Kueue's objects keep while they live",
    "apis.kueue_effects; kueue §1",
)
def test_what_is_kept_is_refused(tried: Tried, saw: Saw) -> None:
    saw(f"refused: {tried.borne_out(Outcome.REFUSED)}")


@pytest.mark.claim(
    "HoldAndDrain evicts every group of a ClusterQueue or LocalQueue, and none comes back",
    "apis.kueue_effects; kueue §1.4, §1.5; lab E4",
)
def test_a_drained_queue_has_no_group_left(tried: Tried, saw: Saw) -> None:
    drained = [each for each in TRIALS if each.told is Outcome.EVICTS]
    for one in drained:
        assert tried.seen()[str(one)].startswith(ROLLS)
        assert not any(pod["spec"].get("nodeName") for pod in tried.pods(one))
    saw(f"no pod is left on a node: {', '.join(map(str, drained))}")


@pytest.mark.claim(
    "Under a quota lowered below its use a group that loses a pod comes back, since its Workload stays admitted",
    "lab E4 Quota and space, Failures",
)
def test_a_group_keeps_its_quota(tried: Tried, saw: Saw) -> None:
    (one,) = [each for each in TRIALS if each.case.name == "quota 8"]
    old = tried.pods(one)
    path = f"/api/v1/namespaces/{SPACE}/pods/{old[0]['metadata']['name']}"
    tried.plane.api.delete(path)
    lost = {pod["metadata"]["uid"] for pod in old}

    def back(_: object) -> bool:
        now = tried.pods(one)
        return len(now) == len(old) and all(
            is_ready(pod) and pod["metadata"]["uid"] not in lost for pod in now
        )

    tried.watch.until(back, within=60, what="the group is back")
    saw("its leader deleted, the group runs again, in a quota of half of what it uses")
