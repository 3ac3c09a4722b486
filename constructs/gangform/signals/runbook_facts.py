"""What a runbook page says of its subject: names, selectors and numbers of the plan, as they stand in its commands.

A command is pasted at night by somebody who does not know this serving, so it is whole: the namespace, the selector
that matches these pods and no others, the container. What only the moment knows is a shell variable: `$GROUP`,
`$NODE`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gangform.admission.admission import Demand, backend
from gangform.admission.advice import Advice, pattern
from gangform.apis.keys import SERVICE_NAME
from gangform.findings import counted
from gangform.plan.cluster import ClusterPlan
from gangform.plan.monitoring import STATE_METRICS_FILE
from gangform.plan.queues import QueuePlan
from gangform.plan.role import RolePlan, WorkloadPlan
from gangform.plan.serving import ServingPlan
from gangform.signals import queues
from gangform.signals.replicas import noun
from gangform.units import Seconds

GROUP = "$GROUP"
"""Stands for the index of a group."""


def selector(labels: Mapping[str, str]) -> str:
    """As `-l` takes it."""
    return ",".join(f"{key}={value}" for key, value in labels.items())


class ServingFacts(NamedTuple):
    """Of a serving."""

    plan: ServingPlan
    cluster: ClusterPlan
    names: frozenset[str]
    """Alerts that have a page beside this one."""

    @property
    def subject(self) -> str:
        """Its name, which is that of its folder of pages."""
        return self.plan.name

    @property
    def namespace(self) -> str:
        """Where it runs."""
        return self.plan.namespace

    @property
    def role(self) -> RolePlan:
        """What all of its groups have in common."""
        return self.plan.lead

    @property
    def workloads(self) -> Sequence[WorkloadPlan]:
        """Its objects: one, or one a group."""
        return self.plan.workloads

    # ── words and numbers ────────────────────────────────────────────────────────────────────────

    @property
    def grouped(self) -> bool:
        """Whether a replica is a group with a leader, whose pods have names that are known beforehand."""
        return self.plan.choice.form.can.makes_stateful_sets

    @property
    def size(self) -> int:
        """Pods of a group."""
        return self.role.shape.size

    @property
    def one(self) -> str:
        """What a replica is called."""
        return noun(self.plan)

    @property
    def many(self) -> str:
        """The same of several."""
        return f"{self.one}s"

    @property
    def gpus(self) -> int:
        """Of a whole group."""
        return self.role.shape.gpus

    @property
    def lowest(self) -> int:
        """Groups wanted at the least."""
        scaling = self.role.scaling
        return (
            len(self.workloads) * (self.role.replicas or 0) if scaling is None else scaling.lowest
        )

    @property
    def highest(self) -> int:
        """Groups wanted at the most."""
        return self.lowest if self.role.scaling is None else self.role.scaling.highest

    @property
    def a_group(self) -> str:
        """What one group is."""
        each = (
            f"One {self.one} is {counted(self.size, 'pod')} of {self.role.shape.gpus_per_pod} GPUs"
        )
        return f"{each}: {self.gpus} GPUs." if self.size > 1 else f"{each}."

    @property
    def all_groups(self) -> str:
        """What is wanted."""
        low, high = self.lowest, self.highest
        if low != high:
            return f"The autoscaler keeps {low} to {high} {self.many}, {low * self.gpus} to {high * self.gpus} GPUs."
        verb = "is" if low == 1 else "are"
        return f"{counted(low, self.one)} {verb} wanted, {low * self.gpus} GPUs."

    @property
    def without_one(self) -> str:
        """What is left with one group missing."""
        varies = self.lowest != self.highest
        least = " at the least" if varies else ""
        if self.lowest <= 1:
            return (
                "Where it is the only one, nothing serves without it."
                if least
                else "With one missing nothing serves."
            )
        kept = self.lowest - 1
        return (
            f"With one missing {kept} of {self.lowest}{least} keep serving, "
            f"{100 * kept // self.lowest} % of the capacity."
        )

    @property
    def cold_start(self) -> Seconds:
        """Pod created to leader ready, as expected."""
        return self.role.startup.cold_start

    @property
    def worst(self) -> Seconds:
        """The longest that a start may take and still be one."""
        return self.role.startup.worst

    @property
    def drained_alone(self) -> bool:
        """Whether every group has a budget of its own, so that no drain takes one."""
        return any(budget.min_available is not None for budget in self.plan.disruption.budgets)

    @property
    def drain(self) -> str:
        """What a drain does, as a sentence."""
        text = self.plan.disruption.drain
        return f"{text[0].upper()}{text[1:]}."

    # ── names and selectors ──────────────────────────────────────────────────────────────────────

    @property
    def kind(self) -> str:
        """Of the objects that run it, as kubectl takes it."""
        return self.plan.choice.form.kind.lower()

    @property
    def pods(self) -> str:
        """Selector of all pods."""
        return selector(self.plan.traffic.pods)

    @property
    def leaders(self) -> str:
        """Selector of those that serve."""
        return selector(self.plan.traffic.leaders)

    @property
    def columns(self) -> str:
        """Labels that tell groups and pods apart."""
        group, pods = self.role.identity.selectors.group, self.plan.traffic.pods
        keys = [*(group(0) if group else ()), *self.plan.traffic.leaders]
        return ",".join(dict.fromkeys(key for key in keys if key not in pods))

    @property
    def apart(self) -> bool:
        """Whether each group is an object of its own."""
        return len(self.workloads) > 1

    @property
    def group(self) -> str:
        """Selector of the pods of `$GROUP`."""
        selectors = self.role.identity.selectors
        if self.apart:
            own = self.workloads[0].name
            return selector(
                {key: self._numbered(value, own) for key, value in selectors.pods.items()}
            )
        labels = selectors.pods if selectors.group is None else selectors.group(0)
        return selector(
            {key: value if key in selectors.pods else GROUP for key, value in labels.items()}
        )

    def _numbered(self, value: str, own: str) -> str:
        return f"{self.subject}-{GROUP}" if value == own else value

    @property
    def leader(self) -> str:
        """Name of the leader pod of `$GROUP`."""
        return f"{self.subject}-{GROUP}-0" if self.apart else f"{self.workloads[0].name}-{GROUP}"

    @property
    def objects(self) -> str:
        """Selector of the workload objects."""
        return selector(self.role.identity.object_labels)

    @property
    def found(self) -> str:
        """Pattern of the names of its objects and pods, in a list of events."""
        names = pattern([workload.name for workload in self.workloads])
        return f"/{names}(-[{'0-9' if self.grouped else 'a-z0-9'}]+)*[[:space:]]"

    @property
    def slices(self) -> str:
        """Selector of the EndpointSlices of its Service."""
        return selector({SERVICE_NAME: self.plan.traffic.service})

    @property
    def nodes(self) -> str:
        """Selector of the nodes of its pool."""
        gpu = self.role.hardware.gpu
        pool = self.cluster.cluster.pools.get(self.plan.serving.pool)
        return selector(
            {gpu.product_label: gpu.product, **({} if pool is None else pool.node_labels)}
        )

    @property
    def resource(self) -> str:
        """The resource that GPUs are, as a path of a node's status takes it."""
        return self.role.hardware.gpu.resource.replace(".", r"\.")

    @property
    def container(self) -> str:
        """Of the engine."""
        return self.role.pods.container

    @property
    def backend(self) -> str:
        """Who admits."""
        return self.plan.serving.admission.backend

    @property
    def advice(self) -> Advice:
        """What it has to say."""
        return backend(self.backend).advice(self.plan.demands, self.cluster.cluster)

    @property
    def file(self) -> str:
        """Its manifests, below the output folder."""
        return f"{self.cluster.cluster.name}/{self.subject}.k8s.yaml"


class QueueFacts(NamedTuple):
    """Of a queue."""

    plan: QueuePlan
    cluster: ClusterPlan
    names: frozenset[str]

    @property
    def subject(self) -> str:
        """The name of its folder of pages."""
        return queues.name_of(self.plan)

    @property
    def queue(self) -> str:
        """Its name."""
        return self.plan.name

    @property
    def backend(self) -> str:
        """Who admits from it."""
        return self.plan.backend

    @property
    def demands(self) -> tuple[Demand, ...]:
        """What waits in it."""
        return tuple(
            demand
            for name, asked in self.cluster.backends
            for demand in asked
            if (name, demand.queue) == (self.backend, self.queue)
        )

    @property
    def advice(self) -> Advice:
        """What its backend has to say."""
        return backend(self.backend).advice(self.demands, self.cluster.cluster)

    @property
    def users(self) -> Sequence[str]:
        """The servings that wait in it, with what a group of each asks for."""
        mine: dict[str, list[Demand]] = {}
        for demand in self.demands:
            mine.setdefault(demand.serving, []).append(demand)
        return [_user(name, mine[name]) for name in sorted(mine)]

    @property
    def file(self) -> str:
        """The manifests of the cluster, below the output folder."""
        return f"{self.cluster.cluster.name}/foundation.k8s.yaml"


class ClusterFacts(NamedTuple):
    """Of what all alerts of a cluster stand on."""

    cluster: ClusterPlan
    names: frozenset[str]

    @property
    def subject(self) -> str:
        """The name of its folder of pages."""
        return queues.STATES

    @property
    def file(self) -> str:
        """The manifests of the cluster, below the output folder."""
        return f"{self.cluster.cluster.name}/foundation.k8s.yaml"

    @property
    def configuration(self) -> str:
        """The values for kube-state-metrics, below the folder of what is no manifest."""
        return f"{self.cluster.cluster.name}/{STATE_METRICS_FILE}"


def _user(serving: str, demands: Sequence[Demand]) -> str:
    """What a serving asks of a queue at the most; where each group is a set of its own, it asks several times."""
    one = demands[0]
    groups = counted(
        sum(demand.groups for demand in demands), "group" if one.runs_groups else "replica"
    )
    gpus = one.group.get(one.hardware.gpu.resource, 0)
    each = f" in {one.size} pods" if one.size > 1 else ""
    return f"{serving}: {groups} of {gpus} GPUs{each}"


Facts = ServingFacts | QueueFacts | ClusterFacts
