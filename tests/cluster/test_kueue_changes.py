"""What may be changed on a living set that Kueue manages: what `apis.kueue` calls frozen is refused, the rest taken.

Changes of documents that gangform wrote, applied in a dry run as kubectl would.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.queues import (
    IN_ONE_RACK,
    altered,
    answer,
    gated,
    holds,
    queued,
    quiet,
    template,
    workloads,
)
from tests.cluster.servings import Made, apply, count, group_of, ready_groups
from tests.cluster.watch import watching

from gangform.apis import kueue as facts

Change = Callable[[Object], object]
ROLES = ("leader", "worker")
PORT = {"name": "more", "containerPort": 9999, "protocol": "TCP"}
NEEDED: Object = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [{"matchExpressions": [{"key": "more", "operator": "Exists"}]}]
        }
    }
}
PREPARE = {
    "name": "prepare",
    "image": "example.com/prepare:1",
    "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}},
}
SPREAD = {"maxSkew": 1, "topologyKey": "more", "whenUnsatisfiable": "ScheduleAnyway"}

FROZEN: Mapping[str, Change] = MappingProxyType(
    {
        "containers[].ports": lambda spec: (
            spec["containers"][0].setdefault("ports", []).append(PORT)
        ),
        "containers[].resources.requests": lambda spec: spec["containers"][0]["resources"][
            "requests"
        ].update(cpu="7"),
        "initContainers[].ports": lambda spec: spec["initContainers"][0].update(ports=[PORT]),
        "initContainers[].resources.requests": lambda spec: spec["initContainers"][0]["resources"][
            "requests"
        ].update(cpu="500m"),
        "nodeSelector": lambda spec: spec["nodeSelector"].update(more="1"),
        "affinity": lambda spec: spec.update(affinity=NEEDED),
        "tolerations": lambda spec: spec["tolerations"].append({"key": "x", "operator": "Exists"}),
        "runtimeClassName": lambda spec: spec.update(runtimeClassName="kata"),
        "priority": lambda spec: spec.update(priority=7),
        "topologySpreadConstraints": lambda spec: spec.update(topologySpreadConstraints=[SPREAD]),
        "overhead": lambda spec: spec.update(overhead={"cpu": "1"}),
        "resourceClaims": lambda spec: spec.update(
            resourceClaims=[{"name": "nic", "resourceClaimName": "nic"}]
        ),
        "resources": lambda spec: spec.update(resources={"requests": {"cpu": "150"}}),
    }
)
"""A change of each field that some release freezes, in a pod spec."""


def in_template(role: str, change: Change) -> Change:
    """The change in the pod spec of one template of a set."""
    return lambda manifest: change(template(manifest, role)["spec"])


def in_both(change: Change) -> Change:
    """The change in both templates of a set."""
    return lambda manifest: [change(template(manifest, role)) for role in ROLES]


def engine(change: Change) -> Change:
    """The change of the engine's container, in both templates."""
    return in_both(lambda each: change(each["spec"]["containers"][0]))


SHAPE: Mapping[str, Change] = MappingProxyType(
    {
        "a container more": in_both(
            lambda each: each["spec"]["containers"].append({**PREPARE, "name": "more"})
        ),
        "an init container more": in_both(
            lambda each: each["spec"]["initContainers"].append({**PREPARE, "name": "more"})
        ),
        "no leaderTemplate": lambda one: one["spec"]["leaderWorkerTemplate"].pop("leaderTemplate"),
        "another queue": lambda one: one["metadata"]["labels"].update({facts.QUEUE_NAME: "other"}),
        "no queue": lambda one: one["metadata"]["labels"].pop(facts.QUEUE_NAME),
        "another level in one template": lambda one: template(one, "leader")["metadata"][
            "annotations"
        ].update({facts.REQUIRED_TOPOLOGY: "topology.example.com/block"}),
    }
)
"""Refused beside the fields of the pod specs."""

FREE: Mapping[str, Change] = MappingProxyType(
    {
        "image": engine(lambda one: one.update(image="example.com/vllm:2")),
        "args": engine(lambda one: one["args"].append("--more")),
        "env": engine(lambda one: one["env"].append({"name": "MORE", "value": "1"})),
        "limits": engine(lambda one: one["resources"]["limits"].update(cpu="120")),
        "probe": lambda one: template(one, "leader")["spec"]["containers"][0][
            "startupProbe"
        ].update(failureThreshold=9999),
        "volume": in_both(
            lambda each: each["spec"]["volumes"].append({"name": "more", "emptyDir": {}})
        ),
        "label": in_both(lambda each: each["metadata"]["labels"].update(more="1")),
        "annotation": in_both(lambda each: each["metadata"]["annotations"].update(more="1")),
        "priorityClassName": in_both(
            lambda each: each["spec"].update(priorityClassName="system-node-critical")
        ),
        "schedulerName": in_both(lambda each: each["spec"].update(schedulerName="other")),
        "level in both templates": in_both(
            lambda each: each["metadata"]["annotations"].update(
                {facts.REQUIRED_TOPOLOGY: "topology.example.com/block"}
            )
        ),
        "rollout": lambda one: one["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"].update(
            maxUnavailable=2
        ),
        "restartPolicy": lambda one: one["spec"]["leaderWorkerTemplate"].update(
            restartPolicy="RecreateGroupOnPodRestart"
        ),
        "replicas": lambda one: one["spec"].update(replicas=3),
    }
)


def resize(manifest: Object) -> None:
    manifest["spec"]["leaderWorkerTemplate"]["size"] += 1


@pytest.fixture(scope="module")
def living(kueue_plane: ControlPlane) -> Iterator[Made]:
    """Two groups that run, for both tests: dry runs leave them as they are, and the second changes them at last."""
    made = queued(
        kueue_plane.cluster, groups=2, topology=IN_ONE_RACK, pods={"init_containers": [PREPARE]}
    )
    try:
        with watching(kueue_plane.api, made.pods) as seen:
            apply(kueue_plane, made)
            seen.until(ready_groups(2, size=2), within=90, what="both groups are ready")
        yield made
    finally:
        kueue_plane.reset()


@pytest.mark.claim(
    "On a living set Kueue refuses a change of every field that is called frozen, and takes every other",
    "apis.kueue FROZEN; kueue §2.4; lab E4",
)
def test_what_is_called_frozen_is_refused_and_nothing_else(
    living: Made, kueue_plane: ControlPlane, saw: Saw
) -> None:
    release = living.cluster.cluster.versions.releases.kueue
    assert release is not None
    frozen = {*facts.frozen(release)}
    assert {*FROZEN} == {*facts.FROZEN, facts.POD_RESOURCES}

    def said(change: Change) -> str:
        changed = altered(living, "LeaderWorkerSet", change)
        return answer(kueue_plane, changed.one("LeaderWorkerSet"))

    assert answer(kueue_plane, living.one("LeaderWorkerSet")) == ""
    refused = set()
    for path, change in FROZEN.items():
        for role in ROLES:
            text = said(in_template(role, change))
            if text:
                assert text.startswith("403 ") and f"{role}Template.spec." in text, text
                assert path.partition("[")[0] in text and "field is immutable" in text, text
                refused.add((path, role))
    assert refused == {(path, role) for path in frozen for role in ROLES}
    for name, change in SHAPE.items():
        assert said(change).startswith("403 "), name
    for name, change in FREE.items():
        assert said(change) == "", name
    saw(
        f"refused in either template: {', '.join(sorted({path for path, _ in refused}))}; refused: "
        f"{', '.join(SHAPE)}; taken: {', '.join([*FREE, *sorted({*FROZEN} - frozen)])}"
    )


@pytest.mark.claim(
    "Where a release takes another group size, one group stays gated for good",
    "apis.kueue size_is_frozen; kueue §2.4; lab E4",
)
def test_another_size_is_taken_and_one_group_stays_gated(
    living: Made, kueue_plane: ControlPlane, saw: Saw
) -> None:
    api, release = kueue_plane.api, living.cluster.cluster.versions.releases.kueue
    assert release is not None
    larger = altered(living, "LeaderWorkerSet", resize)
    taken = answer(kueue_plane, larger.one("LeaderWorkerSet")) == ""
    assert taken is not facts.size_is_frozen(release)
    with watching(api, living.pods, workloads(kueue_plane, living)) as seen:
        apply(kueue_plane, larger)
        seen.until(
            lambda now: len(gated(now.of("Pod"))) == 3, within=60, what="a group is made anew"
        )
        seen.until(quiet(8), within=90, what="nothing moves any more")
        pods, asked = seen.of("Pod"), seen.of("Workload")
    held_back = {group_of(pod) for pod in gated(pods)}
    assert len(held_back) == 1
    assert count(pods, size=2).ready == 1
    finished = [one for one in asked if holds(one, "Finished")]
    assert len(finished) == 1
    saw(
        f"size 2 → 3 taken; 1 of 2 groups ready, {len(gated(pods))} pods of the other gated, its Workload finished "
        "and none in its place"
    )
