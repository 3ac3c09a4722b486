"""What a change of what stands beside the groups does: no pod is touched, and what it says holds at once.

Groups that a Service, a budget, a policy and monitoring select, and a set for each autoscaler.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import pytest
from tests.cluster.api import Object
from tests.cluster.changes import STAYS, Trial, Tried, begun, changed, expected, put_nodes, trials
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.servings import group_of
from tests.cluster.test_kueue_effects import named
from tests.cluster.watch import Watch

from gangform.apis.effects import Outcome
from gangform.apis.keys import POLICY

SCALER = "HorizontalPodAutoscaler"
KINDS = (
    "Service",
    "PodDisruptionBudget",
    SCALER,
    "NetworkPolicy",
    "ServiceAccount",
    "PodMonitor",
    "PrometheusRule",
)
SPACE = "beside-effects"
TEMPLATES = ("leaderTemplate", "workerTemplate")


def scaling(one: Trial) -> Trial:
    """A trial of an autoscaler of its own set."""
    if one.case.kind != SCALER:
        return one
    before, after = (
        changed(side, {"spec/scaleTargetRef/name": one.name}) for side in (one.before, one.after)
    )
    return one._replace(before=before, after=after)


TRIALS = [scaling(one) for one in trials(SPACE, lambda case, _: case.kind in KINDS)]
FIRST = {"maximum": 3}
"""Groups of the set of an autoscaler, where it is not one."""
WANTED = {"minimum": 2, "maximum": 2, "higher": 1, "a label": 1}
"""Groups after the change."""


def grouped(name: str, app: str, groups: int) -> Object:
    """A set whose pods are called by an application."""
    labels = {f"spec/leaderWorkerTemplate/{side}/metadata/labels/app": app for side in TEMPLATES}
    return named(SPACE, "LeaderWorkerSet", name, {"spec/replicas": groups, **labels})


class Endpoint(NamedTuple):
    """Where a Service sends requests."""

    pod: str
    ready: bool
    port: int


@dataclass
class Scene:
    """What was there before the change, and what is there now."""

    tried: Tried
    pods: dict[str, Object]
    endpoints: dict[str, set[Endpoint]]

    def endpoints_now(self, one: Trial) -> set[Endpoint]:
        return endpoints(self.tried.plane, one.name)


def endpoints(plane: ControlPlane, service: str) -> set[Endpoint]:
    path = plane.api.path("discovery.k8s.io/v1", "EndpointSlice", namespace=SPACE)
    return {
        Endpoint(each["targetRef"]["name"], each["conditions"]["ready"], port["port"])
        for one in plane.api.list(path, labels=f"kubernetes.io/service-name={service}")
        for each in one["endpoints"] or ()
        for port in one["ports"] or ()
    }


def of(kind: str, name: str | None = None) -> list[Trial]:
    return [one for one in TRIALS if one.case.kind == kind and name in (None, one.case.name)]


@pytest.fixture(scope="module")
def scene(plain_plane: ControlPlane) -> Iterator[Scene]:
    plane = plain_plane
    put_nodes(plane)
    scaled = [grouped(one.name, "scaled", FIRST.get(one.case.name, 1)) for one in of(SCALER)]
    beside = [grouped("r1", "r1", 2), grouped("r2", "r2", 1), *scaled]
    try:
        with begun(plane, SPACE, TRIALS, beside=beside) as tried:
            unready = {"metadata": {"annotations": {"kubelet.test/unready": "true"}}}
            plane.api.merge(f"/api/v1/namespaces/{SPACE}/pods/r1-1-1", unready)
            services = {one.name for one in of("Service")}

            def found() -> dict[str, set[Endpoint]]:
                return {name: endpoints(plane, name) for name in services}

            plane.site.wait(
                "the endpoints",
                lambda: all(
                    [each.ready for each in one].count(False) == 1 for one in found().values()
                ),
            )
            pods = {pod["metadata"]["uid"]: pod for pod in tried.watch.of("Pod")}
            before = found()
            tried.change()
            yield Scene(tried, pods, before)
    finally:
        plane.reset()


@pytest.mark.claim(
    "A change of a Service, a budget, an autoscaler, a policy, an account or of monitoring touches no pod, but of "
    "groups that an autoscaler takes down",
    "apis.core_effects",
)
def test_no_pod_is_touched(scene: Scene, saw: Saw) -> None:
    (maximum,) = of(SCALER, "maximum")
    told = expected(TRIALS, Outcome.NONE, Outcome.IN_PLACE)
    assert {**scene.tried.seen(), str(maximum): STAYS} == expected(TRIALS)

    def gone(now: Watch) -> set[tuple[str, int]]:
        uids = {pod["metadata"]["uid"] for pod in now.of("Pod")}
        return {group_of(pod) for uid, pod in scene.pods.items() if uid not in uids}

    # The autoscaler looks every 15 s.
    scene.tried.watch.until(lambda now: bool(gone(now)), within=60, what="a group is taken down")
    assert gone(scene.tried.watch) == {(maximum.name, 2)}
    saw(f"pods stay: {', '.join(told)}")


@pytest.mark.claim("The API server refuses another address of a Service", "apis.core_effects")
def test_an_address_is_refused(scene: Scene, saw: Saw) -> None:
    saw(f"refused: {scene.tried.borne_out(Outcome.REFUSED)}")


@pytest.mark.claim(
    "Endpoints follow a Service at once: its selector, its port, and whether pods that are not ready count",
    "apis.core_effects",
)
def test_endpoints_follow(scene: Scene, saw: Saw) -> None:
    before, now = {}, {}
    for one in of("Service"):
        before[one.case.name] = scene.endpoints[one.name]
        now[one.case.name] = scene.endpoints_now(one)
    r1 = {
        Endpoint(f"r1-{group}{pod}", (group, pod) != (1, "-1"), 80)
        for group in (0, 1)
        for pod in ("", "-1")
    }
    assert before == dict.fromkeys(before, r1)
    assert now == {
        **before,
        "selector": {Endpoint(name, True, 80) for name in ("r2-0", "r2-0-1")},
        "port": {each._replace(port=81) for each in r1},
        "unready": {each._replace(ready=True) for each in r1},
    }
    saw("of r2 instead of r1; at port 81 instead of 80; 4 of 4 ready instead of 3; else as before")


@pytest.mark.claim("Evictions are judged by the changed budget", "apis.core_effects; lab E3")
def test_a_budget_lets_more_go(scene: Scene, saw: Saw) -> None:
    api = scene.tried.plane.api
    allowed = {
        one.case.name: api.get(
            api.path(POLICY, "PodDisruptionBudget", namespace=SPACE, name=one.name)
        )["status"]["disruptionsAllowed"]
        for one in of("PodDisruptionBudget")
    }
    assert allowed == {"bound": 1, "a label": 0}
    saw("with one pod not ready, maxUnavailable 2 lets 1 go and 1 none")


@pytest.mark.claim(
    "An autoscaler makes groups up to a raised minimum and takes them down to a lowered maximum at once",
    "apis.core_effects; lab E5",
)
def test_an_autoscaler_holds_its_new_bounds(scene: Scene, saw: Saw) -> None:
    api = scene.tried.plane.api

    def groups() -> dict[str, int]:
        return {
            one.case.name: api.read(named(SPACE, "LeaderWorkerSet", one.name))["spec"]["replicas"]
            for one in of(SCALER)
        }

    scene.tried.plane.site.wait("groups", lambda: groups() == WANTED, within=30)
    saw("1 → 2 with the minimum 2, 3 → 2 with the maximum 2, 1 with a higher maximum")
