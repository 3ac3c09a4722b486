"""The control planes themselves: they come up, run groups, are reset between tests and leave nothing behind."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cluster import processes
from tests.cluster.api import ApiError, Object
from tests.cluster.control_plane import FLAVOURS, ControlPlane
from tests.cluster.nodes import ready
from tests.cluster.servings import is_ready
from tests.cluster.sources import MEMORY
from tests.cluster.watch import NotSeen, Watch, watching

LWS = "leaderworkerset.x-k8s.io/v1"
PODS = "/api/v1/namespaces/groups/pods"


@pytest.fixture(params=FLAVOURS, ids=lambda flavour: flavour.name)
def plane(request: pytest.FixtureRequest) -> ControlPlane:
    running: ControlPlane = request.getfixturevalue(request.param.name)
    return running


def set_of_groups(*, groups: int = 2, size: int = 2, steered: Object | None = None) -> Object:
    """A set whose every pod takes a whole node of the fleet's."""
    resources = {"cpu": "1", "memory": "1Gi", "nvidia.com/gpu": "8"}
    template: Object = {
        "metadata": {"annotations": steered or {}},
        "spec": {
            "containers": [
                {
                    "name": "engine",
                    "image": "example.com/engine:1",
                    "resources": {"requests": resources, "limits": resources},
                }
            ],
            "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists"}],
        },
    }
    return {
        "apiVersion": LWS,
        "kind": "LeaderWorkerSet",
        "metadata": {"name": "r1", "namespace": "groups"},
        "spec": {
            "replicas": groups,
            "leaderWorkerTemplate": {
                "size": size,
                "restartPolicy": "RecreateGroupAfterStart",
                "leaderTemplate": template,
                "workerTemplate": template,
            },
        },
    }


def all_ready(count: int) -> Callable[[Watch], bool]:
    return lambda now: [is_ready(pod) for pod in now.of("Pod")] == count * [True]


def settle(plane: ControlPlane, *, groups: int = 2, steered: Object | None = None) -> None:
    """Two pods a group, all ready."""
    plane.namespace("groups")
    with watching(plane.api, PODS) as seen:
        plane.api.apply(set_of_groups(groups=groups, steered=steered))
        seen.until(all_ready(2 * groups), within=60, what="all pods are ready")


# ── start and stop ───────────────────────────────────────────────────────────────────────────────


ABANDONING = """
import os, sys
from pathlib import Path
from tests.cluster.processes import Processes
made = Processes(Path(sys.argv[1]))
made.start("patient", ["sleep", "600"])
made.start("stubborn", ["sh", "-c", "trap '' TERM; while :; do sleep 1; done"])
print(made.keeper, *made.numbers().values(), flush=True)
sys.stdin.read()
"""


def test_who_dies_without_stopping_leaves_nothing(tmp_path: Path) -> None:
    left: list[tuple[list[int], Path]] = []
    for order in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        folder = tmp_path / order.name
        with subprocess.Popen(
            [sys.executable, "-c", ABANDONING, str(folder)],
            cwd=Path(__file__).parent.parent.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as owner:
            assert owner.stdout is not None
            numbers = [int(number) for number in owner.stdout.readline().split()]
            assert all(map(processes.started, numbers))
            owner.send_signal(order)
        left.append((numbers, folder))
    deadline = time.monotonic() + 30
    for numbers, folder in left:
        while any(map(processes.started, numbers)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not any(map(processes.started, numbers))
        assert not folder.exists()


def test_a_number_that_was_given_away_again_is_left_alone(tmp_path: Path) -> None:
    bystander = subprocess.Popen(["sleep", "600"])
    try:
        records = tmp_path / "processes"
        records.mkdir()
        (records / "etcd").write_text(f"{bystander.pid} 1")
        subprocess.run([sys.executable, processes.__file__, str(tmp_path)], input=b"", check=True)
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


# ── what runs on it ──────────────────────────────────────────────────────────────────────────────


def test_nodes_are_those_of_the_fleet(plane: ControlPlane) -> None:
    found = plane.api.list("/api/v1/nodes")
    assert len(found) == sum(pool.nodes or 0 for pool in plane.cluster.pools.values())
    assert all(map(ready, found))
    levels = {level for pool in plane.cluster.pools.values() for level in pool.levels}
    assert all(levels <= set(node["metadata"]["labels"]) for node in found)
    assert sum(plane.memory().values()) < MEMORY
    assert {node["status"]["allocatable"]["nvidia.com/gpu"] for node in found} == {"8"}


def test_two_groups_settle_and_all_is_as_before_after_a_reset(plain: ControlPlane) -> None:
    plane = plain
    settle(plane)
    plane.api.apply(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "of-a-test"},
            "value": 1,
        }
    )
    plane.set_nodes(plane.own_nodes[1:])
    plane.reset()
    assert plane.api.find("/api/v1/namespaces/groups") is None
    assert plane.api.find("/apis/scheduling.k8s.io/v1/priorityclasses/of-a-test") is None
    assert len(plane.api.list("/api/v1/nodes")) == len(plane.own_nodes)
    assert sum(plane.memory().values()) < MEMORY


# ── the client ───────────────────────────────────────────────────────────────────────────────────


def test_an_unknown_field_is_refused_and_a_second_apply_changes_nothing(
    plain: ControlPlane,
) -> None:
    plain.namespace("groups")
    manifest = set_of_groups()
    with pytest.raises(ApiError, match="field not declared in schema") as caught:
        plain.api.apply({**manifest, "spec": {**manifest["spec"], "maxGroupRestarts": 1}})
    assert caught.value.status in (400, 500)
    first, second = plain.api.apply(manifest), plain.api.apply(manifest)
    assert (first.created, second.created, second.warnings) == (True, False, ())
    assert first.object["metadata"]["generation"] == second.object["metadata"]["generation"]


def test_a_watch_says_what_did_not_come(plain: ControlPlane) -> None:
    with (
        watching(plain.api, "/api/v1/pods") as seen,
        pytest.raises(NotSeen, match="a pod: not within"),
    ):
        seen.until(lambda now: now.of("Pod"), within=0.2, what="a pod")


def test_every_event_can_be_replayed(plain: ControlPlane) -> None:
    plain.namespace("groups")
    with watching(plain.api, PODS) as seen:
        plain.api.apply(set_of_groups())
        seen.until(all_ready(4), within=60, what="all pods are ready")
    counts = [len(objects) for _, objects in seen.replay()]
    assert (counts[0], max(counts), counts[-1]) == (1, 4, 4)


# ── the fake kubelet ─────────────────────────────────────────────────────────────────────────────
# Restarted containers and nodes that are not ready: `test_restarts.py`.


def annotate(plane: ControlPlane, pod: str, key: str, value: str | None) -> None:
    patch = {"metadata": {"annotations": {f"kubelet.test/{key}": value}}}
    plane.api.merge(f"{PODS}/{pod}", patch)


def test_readiness_and_deletion_are_delayed_as_annotated(plain: ControlPlane) -> None:
    steered = {"kubelet.test/ready-delay": "4s", "kubelet.test/delete-delay": "3s"}
    plain.namespace("groups")
    with watching(plain.api, PODS) as seen:
        plain.api.apply(set_of_groups(groups=1, steered=steered))
        took = seen.until(all_ready(2), within=60, what="both pods are ready")
        plain.api.delete(f"{PODS}/r1-0-1")
        at = seen.until(lambda now: not now.of("Pod"), within=60, what="the group is gone") - took
    assert took >= 4
    assert at >= 3


def test_a_pod_loses_readiness_and_has_it_again(plain: ControlPlane) -> None:
    settle(plain)
    with watching(plain.api, PODS) as seen:
        annotate(plain, "r1-0-1", "unready", "true")
        seen.until(lambda now: not all_ready(4)(now), within=30, what="a pod is not ready")
        annotate(plain, "r1-0-1", "unready", None)
        seen.until(all_ready(4), within=30, what="it is ready again")
    assert {event.type for event in seen.events} == {"MODIFIED"}
