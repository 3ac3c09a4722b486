"""The protocol of an admission backend, and the small records that pass between it and the plan.

A backend builds no workload and sees no plan. It says beforehand what the plan must respect (`Policy`), checks a
`Demand`, stamps it, and makes the cluster's objects for the sum of all demands. `none` is a backend like the others.
A new one is a module and a line in `BACKENDS`; no existing function changes.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from types import MappingProxyType
from typing import ClassVar, Literal, NamedTuple, Protocol, cast

from gangform.apis.alerting import Alert
from gangform.apis.forms import GroupView
from gangform.apis.promql import Exporter
from gangform.documents.document import Manifest
from gangform.findings import Finding, Path, Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults, Defaults
from gangform.inputs.hardware import HardwareShape
from gangform.units import Resources, Seconds


class Placement(NamedTuple):
    """Where the pods of one group have to be together."""

    level: str
    mode: Literal["required", "preferred"]


class Policy(NamedTuple):
    """What the plan must respect under a backend; asked before anything is derived."""

    queued: bool
    """Pods wait until the whole group may start."""
    needs_queue: bool
    """A serving must name a queue."""
    surge_finishes: bool
    """Whether a rollout with more surge than unavailable groups ends at all (`lab E4`: not under Kueue)."""
    surges: bool
    """Whether groups beyond the wanted number can be made."""
    gangs: bool
    """A group that does not fit holds nothing."""
    scales: bool
    """Whether an autoscaler may change the number of groups."""
    one_workload_per_group: bool
    """Each group is an object of its own."""
    longest_name: int | None
    """A bound of its own on the workload's name, for a one-digit highest index; one less for each further digit."""
    exclusive: bool = False
    """A required level is given to one group alone: as many domains are needed as groups (`lws §2d`)."""
    lws_provider: bool | None = None
    """Whether LWS's own gang provider must be on, or off; `None`: it does not matter."""
    has_priority_classes: bool = False
    """Whether `admission.priorityClass` means anything to it."""
    evictions: str = ""
    """What it evicts without asking a budget, in its own words; empty where it evicts nothing."""


class Demand(NamedTuple):
    """What one workload asks of a backend."""

    at: Path
    """The serving, for findings."""
    serving: str
    namespace: str
    workload: str
    """Name of the workload object."""
    queue: str
    """Empty where none was named."""
    pool: str
    hardware: HardwareShape
    size: int
    """Pods a group."""
    groups: int
    """Most groups wanted at one time, rollouts aside."""
    extra: int
    """Groups beyond them: the larger of surge and declared spare."""
    leader: Resources
    """Requests of a leader pod."""
    worker: Resources
    """Requests of a worker pod."""
    placement: Placement | None
    priority_class: str | None
    """WorkloadPriorityClass of Kueue."""
    pod_priority: str | None
    """PriorityClass of the pods."""
    startup_policy: str
    worst_cold_start: Seconds
    bandwidth_declared: bool
    """Whether the cold start rests on a declared or measured bandwidth."""
    surge: int = 0
    """How many of `extra` a rollout makes; the others are only kept free."""
    idle: int = 0
    """How many of `extra` a quota holds and no rollout makes: surge of fewer groups than it."""
    runs_groups: bool = True
    """Whether the workload is a set of groups; otherwise each replica is one pod of an ordinary kind."""
    surge_first: bool = False
    """Whether a rollout cannot take a group down before a surge group runs, and so never ends without room for it."""
    spread: str | None = None
    """A level over whose domains groups should be spread."""
    exclusive: bool = False
    """Whether the backend keeps every other group out of a group's domain."""

    @property
    def group(self) -> Resources:
        """Requests of one whole group."""
        return self.leader + self.worker * (self.size - 1)

    @property
    def beyond(self) -> int:
        """Groups beyond those wanted that need a place: the larger of what a rollout makes and declared spare."""
        return self.extra - self.idle

    @property
    def total(self) -> Resources:
        """Requests of all groups at the peak: what a quota must hold."""
        return self.group * (self.groups + self.extra)


class Stamp(NamedTuple):
    """What a backend adds to a workload."""

    owner_labels: Mapping[str, str] = MappingProxyType({})
    """On the workload's own metadata."""
    owner_annotations: Mapping[str, str] = MappingProxyType({})
    pod_labels: Mapping[str, str] = MappingProxyType({})
    """On both pod templates, alike."""
    pod_annotations: Mapping[str, str] = MappingProxyType({})
    scheduler: str | None = None
    """`schedulerName` of both templates; `None` leaves it to the cluster's default."""
    objects: tuple[Manifest, ...] = ()
    """Objects in the serving's namespace that must be there before the workload."""
    prerequisites: tuple[Prerequisite, ...] = ()
    remarks: tuple[str, ...] = ()
    """What the backend does not promise, in words for the plan."""


class Recognised(NamedTuple):
    """How a foreign set is admitted, in the words of a serving's inputs."""

    queue: str | None = None
    priority_class: str | None = None
    placement: Placement | None = None


class Admission(Protocol):
    """Who decides whether a group may start. Stateless."""

    name: ClassVar[str]

    def policy(self, cluster: Cluster) -> Policy:
        """What the plan must respect."""
        ...

    def check(self, demand: Demand, cluster: Cluster) -> Iterator[Finding]:
        """What this backend would refuse, or leave pending for ever."""
        ...

    def check_sum(self, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
        """What is wrong with all demands of this backend together; their order does not matter."""
        ...

    def stamp(self, demand: Demand, cluster: Cluster) -> Stamp:
        """Labels, annotations, scheduler and own objects. Total: no refusal here."""
        ...

    def recognise(self, group: GroupView) -> Recognised | None:
        """How a set that somebody else wrote is admitted; `None`: not by this backend."""
        ...

    def foundation(
        self, demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
    ) -> Sequence[Manifest]:
        """Cluster objects for the sum of demands; their order does not matter."""
        ...

    def prerequisites(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Prerequisite]:
        """What the cluster must have that the foundation does not make."""
        ...

    def alerts(
        self, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On groups of one serving, all of whose demands these are, that are not let in or were thrown out.

        Empty where nothing that the cluster exports tells one serving's groups from another's.
        """
        ...

    def queue_alerts(
        self, queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On a queue that is ours, with all demands of it: written once, however many servings use it."""
        ...


def shown(demands: Sequence[Demand], cluster: Cluster) -> Exporter | None:
    """Where the objects of controllers in the namespace of these demands are seen; `None` where nobody shows them."""
    watch = cluster.monitoring
    if not watch.enabled or watch.state_metrics == "stock" or not demands:
        return None
    return Exporter(job=watch.kube_state_metrics_job, namespace=demands[0].namespace)


def lws_makes_groups(cluster: Cluster) -> bool | None:
    """Whether LWS makes a PodGroup for each of its groups by itself; `None` where nobody said (`volcano §5`)."""
    return {"volcano": True, "none": False}.get(cluster.lws_scheduler_provider)


BACKENDS: dict[str, str] = {
    "kueue": "gangform.admission.kueue:Kueue",
    "volcano": "gangform.admission.volcano:Volcano",
    "volcano-podgroup": "gangform.admission.podgroup:VolcanoPodGroup",
    "none": "gangform.admission.none:Nobody",
}
"""Backends by name, imported on use."""


def recognised(group: GroupView) -> tuple[str, Recognised]:
    """Which backend admits a set that somebody else wrote, and how: the first that knows its marks."""
    for name in BACKENDS:
        if (found := backend(name).recognise(group)) is not None:
            return name, found
    raise LookupError("the last backend takes every set")


def backend(name: str) -> Admission:
    """The backend of a name.

    Raises:
        KeyError: There is none.
    """
    module, _, attribute = BACKENDS[name].partition(":")
    return cast(Admission, getattr(import_module(module), attribute)())
