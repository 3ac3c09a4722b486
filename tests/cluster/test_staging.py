"""Groups as sets of their own: restarted whole, updated one after another, each in its rack and under its PodGroup."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from itertools import pairwise

import pytest
import yaml
from tests.cluster import argocd
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.gangs import POD_GROUPS, racks
from tests.cluster.queues import revisions
from tests.cluster.servings import (
    REVISION,
    Made,
    apply,
    count,
    counts,
    domains,
    group_of,
    is_ready,
    make,
    ready_groups,
)
from tests.cluster.test_podgroups import RACK, SIZE, racked
from tests.cluster.watch import Watch, watching

from gangform.apis.argocd import HEALTH_CHECK
from gangform.plan.rollout import NOT_STAGED

GROUPS = 3


def turn(plane: ControlPlane, number: int, *, gitops: str = "argocd") -> Made:
    """The serving with other pods: a change of the template."""
    cluster = plane.cluster.model_copy(update={"gitops": gitops})
    pods = {"annotations": {"example.com/turn": str(number)}}
    return make(cluster, racked(groups=GROUPS, pods=pods))


@pytest.fixture(scope="module")
def plane(podgroup_plane: ControlPlane) -> Iterator[ControlPlane]:
    """A control plane on which three groups serve, one in each rack."""
    plane = podgroup_plane
    made = turn(plane, 1)
    with watching(plane.api, made.pods) as seen:
        apply(plane, made)
        seen.until(ready_groups(GROUPS, size=SIZE), within=60, what="all groups serve")
    yield plane
    plane.reset()


def places(plane: ControlPlane, pods: list[Object]) -> dict[tuple[str, int], list[str]]:
    return {group: sorted(found) for group, found in domains(pods, racks(plane, RACK)).items()}


def out_of_turn(seen: Watch, made: Made, old: set[str]) -> list[str]:
    """Where a group was touched before the one before it was whole and of the new revision."""
    order = [workload.name for workload in made.plan.workloads]
    found = []
    for event, objects in seen.replay():
        groups: dict[str, list[Object]] = {name: [] for name in order}
        for place, pod in objects.items():
            if place.kind == "Pod":
                groups[group_of(pod)[0]].append(pod)
        for before, after in pairwise(order):
            untouched = len(groups[after]) == SIZE and all(
                pod["metadata"]["labels"][REVISION] in old
                and "deletionTimestamp" not in pod["metadata"]
                for pod in groups[after]
            )
            renewed = len(groups[before]) == SIZE and all(
                pod["metadata"]["labels"][REVISION] not in old and is_ready(pod)
                for pod in groups[before]
            )
            if not untouched and not renewed:
                found.append(f"{event.at:.1f} s: {after} before {before}")
    return found


@pytest.mark.claim(
    "A lost worker restarts its whole group alone, in the same rack and under the same PodGroup",
    "admission.volcano-podgroup; lab E8",
)
def test_a_lost_worker_restarts_its_group(plane: ControlPlane, saw: Saw) -> None:
    made = turn(plane, 1)
    path = POD_GROUPS.format(namespace=made.plan.namespace)
    name = made.plan.workloads[1].name
    before = {each["metadata"]["name"]: each["metadata"]["uid"] for each in plane.api.list(path)}
    with watching(plane.api, made.pods) as seen:
        where = places(plane, seen.of("Pod"))
        uids = {pod["metadata"]["uid"] for pod in seen.of("Pod")}
        plane.api.delete(f"{made.pods}/{name}-0-1")
        seen.until(
            lambda now: count(now.of("Pod"), size=SIZE).ready < GROUPS, within=30, what="it is gone"
        )
        seen.until(ready_groups(GROUPS, size=SIZE), within=90, what="the group is back")
    renewed = [pod for pod in seen.of("Pod") if pod["metadata"]["uid"] not in uids]
    assert {group_of(pod)[0] for pod in renewed} == {name}
    assert len(renewed) == SIZE
    assert places(plane, seen.of("Pod")) == where
    assert sorted(where.values()) == [["r0"], ["r1"], ["r2"]]
    after = {each["metadata"]["name"]: each["metadata"]["uid"] for each in plane.api.list(path)}
    assert after == before
    saw(f"{len(renewed)} of {GROUPS * SIZE} pods are new, all of one group, in the rack it had")
    saw("its PodGroup is the same object")


@pytest.mark.claim(
    "Synced by Argo CD wave by wave under the printed health check, a change reaches a group once the one before it is "
    "healthy",
    "apis.argocd; plan.rollout; design §4 GitOps",
)
def test_waves_stage_a_rollout(plane: ControlPlane, saw: Saw) -> None:
    made = turn(plane, 2)
    rollout, gpus = made.plan.lead.rollout, made.plan.lead.shape.gpus
    assert any(HEALTH_CHECK in each.what for each in made.plan.prerequisites)
    with watching(plane.api, made.pods) as seen:
        old, where = revisions(seen.of("Pod")), places(plane, seen.of("Pod"))
        done = argocd.sync(plane, made.documents)
        assert ready_groups(GROUPS, size=SIZE, revision=lambda one: one not in old)(seen)
    sets = [
        [each["metadata"]["name"] for each in members if each["kind"] == "LeaderWorkerSet"]
        for _, members in argocd.waves(made.documents)
    ]
    assert [names for names in sets if names] == [[each.name] for each in made.plan.workloads]
    assert out_of_turn(seen, made, old) == []
    counted = list(counts(seen, size=SIZE))
    assert min(each.ready for each in counted) == rollout.floor
    assert max(each.bound for each in counted) == rollout.peak * gpus
    assert places(plane, seen.of("Pod")) == where
    saw(
        f"{GROUPS} sets in waves {', '.join(map(str, done[-GROUPS:]))}; none touched before its turn"
    )
    saw(f"{rollout.floor} of {GROUPS} groups serving at least, each again in its rack")


@pytest.mark.claim(
    "Without GitOps the printed procedure stages the change: apply a set, run the two commands, apply the next",
    "plan.rollout rollout-not-staged",
)
def test_the_printed_procedure_stages_a_rollout(plane: ControlPlane, saw: Saw) -> None:
    made = turn(plane, 3, gitops="none")
    (printed,) = [each for each in made.plan.findings if each.code == NOT_STAGED]
    commands = re.findall(r"`(kubectl wait [^`]*)`", printed.fix)
    assert len(commands) == 2
    sets = [each for each in made.documents if each["kind"] == "LeaderWorkerSet"]
    around = [each for each in made.documents if each["kind"] != "LeaderWorkerSet"]
    environment = {
        "PATH": f"{plane.kubectl.program.parent}:{os.environ['PATH']}",
        "KUBECONFIG": str(plane.kubectl.kubeconfig),
        "HOME": str(plane.kubectl.home),
    }
    with watching(plane.api, made.pods) as seen:
        old = revisions(seen.of("Pod"))
        plane.kubectl.apply(plane.site.write("around.yaml", yaml.safe_dump_all(around)))
        for each in sets:
            name = each["metadata"]["name"]
            plane.kubectl.apply(plane.site.write("set.yaml", yaml.safe_dump(each)))
            for command in commands:
                run = command.replace(f"lws/{sets[0]['metadata']['name']}", f"lws/{name}")
                subprocess.run(["bash", "-c", run], env=environment, check=True, timeout=150)
        assert ready_groups(GROUPS, size=SIZE, revision=lambda one: one not in old)(seen)
    assert out_of_turn(seen, made, old) == []
    least = min(each.ready for each in counts(seen, size=SIZE))
    assert least == made.plan.lead.rollout.floor
    saw(f"{len(sets)} sets applied one after another; none touched before its turn")
    saw(f"{least} of {GROUPS} groups serving at least")


@pytest.mark.claim(
    "Applied together, a change takes all groups down at once, as gangform warns",
    "plan.rollout rollout-not-staged; lab E8",
)
def test_applied_together_all_groups_go_down(plane: ControlPlane, saw: Saw) -> None:
    made = turn(plane, 4, gitops="none")
    assert NOT_STAGED in {each.code for each in made.plan.findings}
    with watching(plane.api, made.pods) as seen:
        old = revisions(seen.of("Pod"))
        apply(plane, made)
        # Whether all come back is chance: a leader bound while its old workers still count may lose their nodes.
        seen.until(
            lambda now: not revisions(now.of("Pod")) & old, within=120, what="all old pods are gone"
        )
    least = min(each.ready for each in counts(seen, size=SIZE))
    assert least == 0
    assert out_of_turn(seen, made, old) != []
    saw(f"{least} of {GROUPS} groups serving at least")
