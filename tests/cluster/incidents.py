"""What befalls servings side by side: rollouts, losses, evictions, a lack of nodes; and what scrapes saw of it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.scenarios import TURN, annotated, each, now_there
from tests.cluster.servings import Made, apply, is_ready
from tests.cluster.timeline import Check, Court, Labels, Moment, moment, waits
from tests.cluster.watch import Watch
from tests.signals.exporter import written

from gangform.apis.leaderworkerset import KIND
from gangform.inputs.serving import Serving
from gangform.plan.serving import ServingPlan

SIZE = 2
COLD_START = "10m"
"""Declared. The lab's groups start in some seconds, which are minutes here."""
JOINED = "5s"
"""From a leader's start to its readiness: longer than its workers take, as with an engine."""
UNREADY = {"metadata": {"annotations": {"kubelet.test/unready": "true"}}}
LASTS = 100
"""Minutes that the last state lasts: longer than any alert waits or looks back."""
WATCHED = (
    "/api/v1/pods",
    "/api/v1/nodes",
    "/apis/apps/v1/statefulsets",
    "/apis/apps/v1/deployments",
    "/apis/discovery.k8s.io/v1/endpointslices",
    "/apis/policy/v1/poddisruptionbudgets",
    "/apis/autoscaling/v2/horizontalpodautoscalers",
)
SPARE = 2
"""Nodes for one group more."""
SLACK = 3
"""Minutes by which one controller may be later than another."""


def group_serving(name: str, **fields: Any) -> Serving:
    size = fields.pop("size", SIZE)
    waits = [annotated("leaderTemplate", "ready-delay", JOINED)] if size != 1 else []
    return each(name, size=size, cold_start=COLD_START, patches=waits, **fields)


def servings(turn: int) -> list[Serving]:
    """Every serving, those that are rolled at a turn."""
    still = [
        group_serving(name, groups=2)
        for name in ("lost", "evicted", "outage", "cordoned", "gone", "zero")
    ]
    return [
        group_serving("rolls", groups=3, turn=turn),
        group_serving("surges", groups=2, turn=turn, rollout={"spare_groups": 1}),
        *still,
        group_serving("lone", groups=2, size=1),
        group_serving("waits", groups=2, pool="short"),
    ]


def settled(plan: ServingPlan, turn: int = 1) -> Callable[[Watch], bool]:
    """A condition: all pods that are wanted are ready, of a turn, and no others are there."""

    def hold(now: Watch) -> bool:
        pods = now.of("Pod")
        return len(pods) == plan.serving.lowest_groups * plan.lead.shape.size and all(
            is_ready(pod)
            and "deletionTimestamp" not in pod["metadata"]
            and pod["metadata"]["annotations"][TURN] == str(turn)
            for pod in pods
        )

    return hold


def hold_back(plane: ControlPlane, seen: Watch) -> None:
    """Wait until one pod of four has no node, and have the leader of its group not ready: no engine would be."""

    def waiting(now: Watch) -> list[Object]:
        pods = now.of("Pod")
        bound = [pod for pod in pods if pod["spec"].get("nodeName")]
        return [pod for pod in pods if pod not in bound] if len(bound) == 3 else []

    seen.until(lambda now: len(waiting(now)) == 1, within=60, what="one pod has no node")
    leader = waiting(seen)[0]["metadata"]["name"].removesuffix("-1")
    plane.api.merge(f"/api/v1/namespaces/waits/pods/{leader}", UNREADY)
    seen.until(
        lambda now: sum(map(is_ready, now.of("Pod"))) == 2, within=60, what="one group is ready"
    )


def change(plane: ControlPlane, made: Made, seen: Mapping[str, Watch]) -> Mapping[str, str]:
    """Do to each serving what it is here for; the node that was cordoned, and uids of pods by name."""
    pods = {plan.name: now_there(plane, plan) for plan in made.cluster.servings}

    def unready(name: str, *names: str) -> None:
        for pod in names:
            plane.api.merge(f"/api/v1/namespaces/{name}/pods/{pod}", UNREADY)

    unready("lost", "lost-1-1")
    unready("outage", *pods["outage"])
    unready("lone", min(pods["lone"]))
    apply(plane, made)
    node = pods["cordoned"]["cordoned-0"]["spec"]["nodeName"]
    plane.kubectl("cordon", node)
    gone, zero = (plane.api.path_of(made.one(KIND, name)) for name in ("gone", "zero"))
    plane.api.delete(gone)
    plane.api.scale(zero, 0)
    for _ in range(2):
        lost = now_there(plane, made.of("evicted"))["evicted-1-1"]["metadata"]["uid"]
        # The budget follows the pods by a moment.
        plane.site.wait("an eviction", lambda: plane.api.evict("evicted", "evicted-1-1") == 201)

        def again(now: Watch, lost: str = lost) -> bool:
            there = {pod["metadata"]["uid"] for pod in now.of("Pod")}
            return lost not in there and settled(made.of("evicted"))(now)

        seen["evicted"].until(again, within=120, what="an evicted group is whole again")
    for name in ("rolls", "surges"):
        seen[name].until(settled(made.of(name), turn=2), within=180, what=f"{name} is rolled")
    uids = {name: pod["metadata"]["uid"] for name, pod in pods["outage"].items()}
    return {"node": node, **uids}


class Life(NamedTuple):
    """The scrapes that saw one pod of a name."""

    first: Moment
    last: Moment


@dataclass(frozen=True)
class Happened:
    """What was done and seen, put before the rules."""

    court: Court
    rules: Mapping[str, Mapping[str, Any]]
    """By serving."""
    names: Mapping[str, str]

    def lives(self, serving: str) -> dict[str, list[Life]]:
        """The lives of each leader, in their order."""
        found: dict[str, list[Life]] = defaultdict(list)
        for name, values in self.court.seen.values.items():
            its = rf'kube_pod_created{{.*namespace="{serving}",pod="({serving}-[0-9]+)"'
            if leader := re.match(its, name):
                there = [number for number, value in enumerate(values) if value is not None]
                found[leader[1]].append(Life(moment(there[0]), moment(there[-1])))
        return {name: sorted(each) for name, each in found.items()}

    def when(self, metric: str, value: float | None, **labels: str) -> Moment:
        """When a series had a value for the first time; `None`: when it was not there."""
        name = written(metric, labels)
        assert name in self.court.seen.values, name
        return self.court.seen.first(lambda there: there.get(name) == value)

    def judge(self, serving: str, *checks: Check) -> None:
        """With the rules of a serving, and the series of all."""
        self.court.judge(self.rules[serving], *checks)

    def waits(self, serving: str, alert: Labels) -> Moment:
        """How long an alert of a serving waits."""
        return waits(self.rules[serving], alert["alertname"])

    @property
    def end(self) -> Moment:
        return self.court.seen.end
