"""Kueue: each group is one Workload that is admitted whole, with quota and, if asked, inside one topology domain.

The queue label goes on the workload's own metadata only, and the topology annotations on both templates alike, with a
group name that joins them: anything less is refused or, worse, accepted and split over domains (`lab E4`). A rollout
under Kueue ends only with a group unavailable, so that the plan is told that surges do not finish.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gangform.admission import kueue_alerts
from gangform.admission.admission import Demand, Placement, Policy, Recognised, Stamp
from gangform.admission.checks import level_faults, queue_faults
from gangform.admission.kueue_objects import flavor_labels, foundation, has_group
from gangform.admission.kueue_prerequisites import own_prerequisites, shared_prerequisites
from gangform.admission.kueue_quota import quota_faults
from gangform.apis import kueue as api
from gangform.apis.alerting import Alert
from gangform.apis.forms import GroupView
from gangform.documents.document import Manifest, mapping, text
from gangform.findings import Finding, InputPath, Path, Prerequisite, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults, Defaults
from gangform.units import Seconds

if TYPE_CHECKING:
    from gangform.admission.advice import Advice
    from gangform.apis.panels import Panel

RELEASE_MISSING = declare(
    "kueue-release-missing",
    "What Kueue accepts depends on its release, which the cluster does not declare",
    Severity.BREAKS,
    "kueue §9",
)
TOO_OLD = declare(
    "kueue-too-old",
    "No object is written for a Kueue that does not serve v1beta2",
    Severity.BREAKS,
    "kueue §1.1",
)
SETS_IGNORED = declare(
    "kueue-ignores-sets",
    "Without its LeaderWorkerSet integration Kueue lets groups start unmanaged, outside every quota",
    Severity.BREAKS,
    "kueue §2.1",
)
LEVEL_TOO_LONG = declare(
    "topology-level-too-long",
    "A level key that a Workload cannot carry passes every admission, and then no Workload is made",
    Severity.BREAKS,
    "kueue §1.2",
)
FLAVOR_TOO_LARGE = declare(
    "flavor-too-large",
    "A ResourceFlavor holds a limited number of node labels and of tolerations",
    Severity.BREAKS,
    "kueue §1.3",
)
READY_TOO_LATE = declare(
    "cold-start-beyond-timeout",
    "Kueue evicts a group that takes longer to get ready than waitForPodsReady allows, again and again",
    Severity.BREAKS,
    "kueue §5.1; design §4 Readiness",
)
READY_MAYBE_TOO_LATE = declare(
    "cold-start-may-exceed-timeout",
    "With an assumed read bandwidth the cold start may exceed Kueue's waitForPodsReady",
    Severity.DEGRADES,
    "kueue §5.1; design §4 Readiness",
)

GROUP = "group"
"""The name that joins leader and workers: scoped to one Workload, the same everywhere, never a number."""

ONE_BY_ONE = (
    "Kueue admits group by group, never the set as one: some groups serve while others wait, and which ones does not "
    "follow their index"
)
NOT_BUDGETED = (
    "Kueue evicts by deleting pods: preemption, PodsReady timeout and HoldAndDrain ask no budget"
)


class Kueue:
    """Kueue's own queues and topology."""

    name: ClassVar[str] = "kueue"

    def policy(self, cluster: Cluster) -> Policy:
        """Groups wait gated and hold nothing; a surge without an unavailable group never ends (`lab E4`)."""
        release = cluster.versions.releases.kueue
        return Policy(
            queued=True,
            needs_queue=True,
            surge_finishes=False,
            surges=True,
            gangs=True,
            scales=True,
            one_workload_per_group=False,
            longest_name=None if release is None else api.longest_name(release, highest_index=0),
            has_priority_classes=True,
            evictions="Kueue's evictions",
        )

    def advice(self, demands: Sequence[Demand], cluster: Cluster) -> Advice:
        """On Workloads and their queue."""
        from gangform.admission.kueue_advice import advice

        return advice(demands, cluster)

    def check(self, demand: Demand, cluster: Cluster) -> Iterator[Finding]:
        """Releases, queue, level, integration and the timeout that a slow start runs into."""
        yield from queue_faults(demand)
        yield from level_faults(demand, cluster)
        yield from _release_faults(cluster)
        if has_group(demand):
            yield from _level_key_faults(demand)
        if demand.runs_groups:
            yield from _framework_faults(cluster)
        yield from _flavor_faults(demand, cluster)
        yield from _ready_faults(demand, cluster)

    def check_sum(self, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
        """The sum of demands against the quota of existing queues."""
        yield from quota_faults(demands, cluster)

    def stamp(self, demand: Demand, cluster: Cluster) -> Stamp:
        """Queue and priority on the owner; one topology request, joined, on both templates of a group."""
        labels = {}
        if demand.queue:
            labels[api.QUEUE_NAME] = demand.queue
        if demand.priority_class:
            labels[api.PRIORITY_CLASS] = demand.priority_class
        annotations = {}
        if demand.placement is not None and has_group(demand):
            request = {"required": api.REQUIRED_TOPOLOGY, "preferred": api.PREFERRED_TOPOLOGY}
            annotations[request[demand.placement.mode]] = demand.placement.level
            annotations[api.PODSET_GROUP] = GROUP
        return Stamp(
            owner_labels=labels,
            pod_annotations=annotations,
            prerequisites=tuple(own_prerequisites(demand, cluster)),
            remarks=(ONE_BY_ONE, NOT_BUDGETED, *kueue_alerts.unseen(demand, cluster)),
        )

    def recognise(self, group: GroupView) -> Recognised | None:
        """A set with the label of a LocalQueue on its own metadata."""
        labels = mapping(group.document.manifest, *group.own, "labels")
        queue = text(labels, api.QUEUE_NAME)
        if not queue:
            return None
        annotations = group.leader.annotations
        required = annotations.get(api.REQUIRED_TOPOLOGY)
        preferred = annotations.get(api.PREFERRED_TOPOLOGY)
        placement = Placement(required, "required") if required else None
        if placement is None and preferred:
            placement = Placement(preferred, "preferred")
        return Recognised(queue, text(labels, api.PRIORITY_CLASS) or None, placement)

    def foundation(
        self, demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
    ) -> Sequence[Manifest]:
        """Topology, ResourceFlavor, WorkloadPriorityClass, ClusterQueue and LocalQueue, as far as they are ours."""
        return foundation(demands, cluster, defaults=defaults)

    def panels(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Panel]:
        """Its queues."""
        from gangform.admission.kueue_panels import panels

        return tuple(panels(demands, cluster))

    def prerequisites(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Prerequisite]:
        """What others own: flavors, topology, queues, Kueue's configuration, and the labels of nodes."""
        return (
            _installed(cluster),
            *shared_prerequisites(demands, cluster),
            *kueue_alerts.scraped(demands, cluster),
        )

    def alerts(
        self, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On Workloads, where the cluster shows them."""
        return tuple(kueue_alerts.alerts(demands, cluster, limits))

    def queue_alerts(
        self, queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """On the ClusterQueue."""
        return tuple(kueue_alerts.queue_alerts(queue, demands, cluster, limits))


def _installed(cluster: Cluster) -> Prerequisite:
    release = cluster.versions.kueue or api.OLDEST
    return Prerequisite(
        what=f"Kueue {release} with its webhooks",
        check=f"kubectl get crd clusterqueues.{api.GROUP} && "
        "kubectl get deploy -n kueue-system kueue-controller-manager",
        without="queues are refused, and groups start at once, outside every quota",
    )


def ready_timeout(cluster: Cluster) -> Seconds | None:
    """From admission to ready; `None` where it is off or nobody said. Absent means the release's default."""
    declared = cluster.kueue.wait_for_pods_ready
    if isinstance(declared, Seconds):
        return declared
    release = cluster.versions.releases.kueue
    if declared is not None or release is None:
        return None
    seconds = api.wait_for_pods_ready(release)
    return None if seconds is None else Seconds(seconds)


def _release_faults(cluster: Cluster) -> Iterator[Finding]:
    release = cluster.versions.releases.kueue
    at = InputPath(("clusters", cluster.name, "versions", "kueue"))
    if release is None:
        yield Finding(
            code=RELEASE_MISSING,
            at=at,
            what=f"cluster {cluster.name} declares no release of Kueue",
            fix='write versions.kueue, such as `kueue: "0.19"`',
        )
    elif release < api.OLDEST:
        yield Finding(
            code=TOO_OLD,
            at=at,
            what=f"Kueue {release} serves v1beta1 only, and gangform writes {api.api_version(api.OLDEST)}",
            fix=f"upgrade Kueue to {api.OLDEST} or later",
            seen={"kueue": str(release), "oldest": str(api.OLDEST)},
        )


def _level_key_faults(demand: Demand) -> Iterator[Finding]:
    level = "" if demand.placement is None else demand.placement.level
    if len(level) > api.LEVEL_KEY_LIMIT:
        yield Finding(
            code=LEVEL_TOO_LONG,
            at=InputPath((*demand.at, "topology", "level")),
            what=f"level `{level}` has {len(level)} characters, a Workload takes {api.LEVEL_KEY_LIMIT}",
            fix=f"label the nodes with a key of at most {api.LEVEL_KEY_LIMIT} characters, prefix included",
            seen={"length": str(len(level)), "limit": str(api.LEVEL_KEY_LIMIT)},
        )


def _framework_faults(cluster: Cluster) -> Iterator[Finding]:
    if cluster.kueue.lws_framework == "disabled":
        yield Finding(
            code=SETS_IGNORED,
            at=InputPath(("clusters", cluster.name, "kueue", "lwsFramework")),
            what=f"Kueue's integration {api.LWS_FRAMEWORK} is off: groups would start outside every quota",
            fix=f"list {api.LWS_FRAMEWORK} under integrations.frameworks of Kueue's configuration, then declare "
            "`lwsFramework: enabled`",
        )


def _flavor_faults(demand: Demand, cluster: Cluster) -> Iterator[Finding]:
    if cluster.foundation != "all":
        return
    at: Path = ("clusters", cluster.name, "pools", demand.pool)
    counts = {
        "node labels": len(flavor_labels(demand, cluster)),
        "tolerations": len(demand.hardware.taints),
    }
    for what, count in counts.items():
        if count > api.FLAVOR_LIMIT:
            yield Finding(
                code=FLAVOR_TOO_LARGE,
                at=InputPath(at),
                what=f"pool {demand.pool} needs {count} {what}, a ResourceFlavor holds {api.FLAVOR_LIMIT}",
                fix=f"describe the pool with at most {api.FLAVOR_LIMIT} {what}",
                seen={"count": str(count), "limit": str(api.FLAVOR_LIMIT)},
            )


def _ready_faults(demand: Demand, cluster: Cluster) -> Iterator[Finding]:
    timeout = ready_timeout(cluster)
    worst = demand.worst_cold_start
    if timeout is None or timeout >= worst:
        return
    default = cluster.kueue.wait_for_pods_ready is None
    origin = f" (the default of Kueue {cluster.versions.kueue})" if default else ""
    yield Finding(
        code=READY_TOO_LATE if demand.bandwidth_declared else READY_MAYBE_TOO_LATE,
        at=InputPath(("clusters", cluster.name, "kueue", "waitForPodsReady")),
        what=f"Kueue evicts a group that is not ready {timeout} after admission{origin}; the worst cold start of "
        f"{demand.serving} is {worst}"
        + ("" if demand.bandwidth_declared else ", at an assumed bandwidth"),
        fix=f"set waitForPodsReady.timeout of Kueue to at least {worst} and declare kueue.waitForPodsReady: {worst}",
        seen={"timeout": str(timeout), "worstColdStart": str(worst)},
    )
