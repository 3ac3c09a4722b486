"""The normal state of a serving in groups, its nodes and its neighbours, from what the plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from tests.signals.scenario import (
    Scenario,
    Series,
    asks,
    bound,
    cordoned,
    created,
    endpoints,
    node_ready,
    offers,
    phase,
    ready,
    revision,
    set_ready,
    steady,
    told,
    up,
    updated,
    wanted,
)

from gangform.apis.alerting import node_label
from gangform.plan.serving import ServingPlan
from gangform.signals import records


class World(NamedTuple):
    """Names as the controllers make them: two groups, whatever the plan says."""

    sets: list[str]
    size: int
    leaders: list[str]
    gpus: int
    """GPUs of a pod."""
    level: str | None
    """The label that tells domains apart, as the exporter calls it."""
    held: bool
    """Whether a canary holds two revisions apart on purpose."""
    spare: bool
    """Whether the pool is to keep room for one more group."""
    varies: bool
    """Whether groups come and go without a fault."""
    scaled: bool
    grouped: bool
    """Whether it is groups at all: a Deployment has names that nobody knows."""

    @classmethod
    def of(cls, plan: ServingPlan) -> World:
        sets = [workload.name for workload in plan.workloads]
        each = range(2 // len(sets))
        lead, room = plan.lead, plan.monitoring.room
        return cls(
            sets,
            lead.shape.size,
            [f"{name}-{index}" for name in sets for index in each],
            lead.shape.gpus_per_pod,
            None if room.level is None or room.unseen else node_label(room.level),
            held=lead.rollout.partition > 0,
            spare=room.spare,
            varies=lead.scaling is not None or lead.rollout.max_surge > 0,
            scaled=lead.scaling is not None,
            grouped=plan.choice.form.can.makes_stateful_sets,
        )

    @property
    def pods(self) -> list[str]:
        return [pod for leader in self.leaders for pod in self.group(leader)]

    def group(self, leader: str) -> list[str]:
        return [leader, *(f"{leader}-{rank}" for rank in range(1, self.size))]

    def set_of(self, leader: str) -> str:
        return leader.rpartition("-")[0]

    def groups_of(self, name: str) -> int:
        return sum(self.set_of(leader) == name for leader in self.leaders)

    def healthy(self) -> Series:
        """Two whole groups that serve and are scraped, and neighbours."""
        normal: Series = dict(endpoints(self.leaders))
        for name in self.sets:
            groups = steady(self.groups_of(name))
            normal |= {wanted(name): groups, set_ready(name): groups, updated(name): groups}
            normal |= {revision("current", name, "a"): steady(1)}
            normal |= {revision("update", name, "a"): steady(1)}
        for leader in self.leaders:
            normal |= whole(leader, self.size)
            for pod in self.group(leader):
                normal |= placed(pod, f"node-of-{pod}", self.gpus)
                normal |= self.node(f"node-of-{pod}", leader)
        return {**normal, **self._neighbours()}

    def node(self, name: str, domain: str) -> Series:
        return node(name, domain, self.level)

    def _neighbours(self) -> Series:
        """What must not be counted.

        `llm-x` is broken and waits; `llm-7`, a set of its own, waits and is on a cordoned node: its leaders are called
        like workers of ours.
        """
        found: Series = {wanted("llm-x"): steady(2), set_ready("llm-x"): steady(0)}
        # It stands in the middle of a rollout, and its first leader lives for the fourth time.
        found |= {revision("current", "llm-x", "a"): steady(1), updated("llm-x"): steady(1)}
        found |= {revision("update", "llm-x", "b"): steady(1)}
        found |= {created("llm-x-0", uid): steady(1) for uid in "1234"}
        found |= {ready("llm-x-0"): steady(1), set_ready("llm-x-0"): steady(0)}
        found |= {phase("llm-x-1"): steady(1), ready("llm-x-1"): steady(0)}
        found |= {wanted("llm-7"): steady(3), phase("llm-7-0"): steady(1)}
        found |= {bound("llm-7-1", "old"): steady(1), phase("llm-7-1"): steady(0)}
        return found

    def serves(self, ready: int, desired: int) -> dict[str, float]:
        """What is recorded of so many ready and wanted groups; no share of nothing."""
        found: dict[str, float] = {records.READY: ready, records.DESIRED: desired}
        found[records.GPUS] = ready * self.size * self.gpus
        return {**found, records.SHARE: ready / desired} if desired else found


def of_groups(
    plan: ServingPlan, makers: Iterable[Callable[[World], Scenario]]
) -> dict[str, Scenario]:
    """Scenarios of a serving whose replicas are groups, by name; none of a Deployment."""
    if not plan.choice.form.can.makes_stateful_sets:
        return {}
    world = World.of(plan)
    return {make.__name__: make(world) for make in makers}


def node(name: str, domain: str, level: str | None, *, ready: int = 1, gpus: int = 8) -> Series:
    found = {cordoned(name): steady(0), node_ready(name): steady(ready), offers(name): steady(gpus)}
    found[node_ready(name, status="false")] = steady(1 - ready)
    found[node_ready(name, "DiskPressure")] = steady(1 - ready)
    if level is not None:
        found[told(name, **{level: domain})] = steady(1)
    return found


def whole(leader: str, size: int) -> Series:
    """A group that is ready and scraped."""
    found: Series = {ready(leader): steady(1), created(leader, "1"): steady(1)}
    found |= {up(leader): steady(1)}
    if size > 1:
        found |= {wanted(leader): steady(size - 1), set_ready(leader): steady(size - 1)}
    return found


def placed(pod: str, node: str, gpus: int, uid: str = "1") -> Series:
    """A pod that runs."""
    return {
        phase(pod, "Pending", uid): steady(0),
        phase(pod, "Running", uid): steady(1),
        bound(pod, node, uid): steady(1),
        asks(pod, node, uid): steady(gpus),
    }


def waiting(pod: str, node: str) -> dict[str, str | None]:
    """The same pod without a node."""
    return {
        phase(pod): steady(1),
        phase(pod, "Running"): steady(0),
        bound(pod, node): None,
        bound(pod, ""): steady(1),
        asks(pod, node): None,
        asks(pod, ""): steady(8),
    }


MISLEADING = {
    "kube_statefulset_status_replicas_updated": "0+1x120",
    "kube_statefulset_replicas": steady(9),
    "kube_statefulset_status_replicas_ready": steady(9),
    "kube_pod_status_ready": steady(9),
    "kube_deployment_spec_replicas": steady(9),
    "kube_deployment_status_replicas": steady(9),
    "kube_deployment_status_replicas_ready": "0+1x120",
    "kube_deployment_status_replicas_updated": "0+1x120",
    "kube_node_status_allocatable": steady(8),
    "kube_pod_container_resource_requests": steady(8),
    "kube_horizontalpodautoscaler_status_desired_replicas": steady(9),
    "kube_horizontalpodautoscaler_spec_max_replicas": steady(9),
}
"""Values that would change what is found; 1 where a series only says yes or no."""


EVERYWHERE = ("kube_pod_container_resource_requests", "kube_endpointslice_info")


def elsewhere(normal: Series) -> Series:
    """The same series by another exporter, and those of another namespace, with values that mislead."""
    found: Series = {}
    for name in normal:
        values = MISLEADING.get(name.partition("{")[0], steady(1))
        other = name.replace('job="kube-state-metrics"', 'job="other"').replace("m/llm", "other")
        found[other] = values
        # What is read in every namespace counts from every namespace.
        if 'namespace="m"' in name and not name.startswith(EVERYWHERE):
            found[name.replace('namespace="m"', 'namespace="n"').replace("m/llm", "n/llm")] = values
    return found
