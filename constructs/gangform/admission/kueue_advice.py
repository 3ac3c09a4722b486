"""Where to look when Kueue keeps a group out or threw it out, and what not to do to it meanwhile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.admission.admission import Demand
from gangform.admission.advice import Advice, Look, namespaces, pattern
from gangform.apis import kueue as api
from gangform.inputs.cluster import Cluster

_WORKLOADS = f"workloads.{api.GROUP}"
_COLUMNS = (
    "NAME:.metadata.name",
    "QUEUE:.spec.queueName",
    'ADMITTED:.status.conditions[?(@.type=="Admitted")].status',
    'WHY:.status.conditions[?(@.type=="QuotaReserved")].message',
)
_FROZEN = (
    "Do not edit requests, ports, the number of containers, node selectors or tolerations of the running object: Kueue "
    "refuses each with `field is immutable`. Such a change needs a serving of another name."
)


def advice(demands: Sequence[Demand], cluster: Cluster) -> Advice:
    """On demands of one serving, or of one queue."""
    return Advice(
        waits="A group that Kueue has not admitted shows `SchedulingGated` pods. It waits whole and holds no GPU, and "
        "it is not always the one with the highest index.",
        groups=tuple(_groups(demands)),
        queue=tuple(_queue(demands, cluster)),
        cures=(
            "`insufficient unused quota`: give the queue more in Git, or another serving in it fewer groups.",
            "`doesn't allow to fit`: the GPUs are free, but not together; free or add a whole domain.",
            "`does not contain the requested level`, `unavailable in ClusterQueue` or no queue at all: it waits for "
            "ever; correct the level, the queue or its flavor in the inputs.",
        ),
        never=tuple(_never(demands, cluster)),
        never_queue=(
            "Do not set `stopPolicy: HoldAndDrain` to get GPUs: it deletes every group that runs in the queue, past "
            "all budgets. `Hold` keeps new ones out.",
            "Do not lower the quota to get GPUs: what runs stays, and only new groups are kept out.",
        ),
        evicts="Kueue deletes all pods of the group and asks no budget. The group waits in the queue again as the same "
        "Workload, and has to load anew.",
    )


def _groups(demands: Sequence[Demand]) -> Iterator[Look]:
    for namespace in namespaces(demands):
        here = [demand for demand in demands if demand.namespace == namespace]
        # A Workload is called after the kind that it is of, the object, and a group's index (`kueue §2.3`).
        kinds = {True: "leaderworkerset-{}-[0-9]+-", False: "pod-{}-"}
        found = [
            kinds[groups].format(
                pattern([one.workload for one in here if one.runs_groups == groups])
            )
            for groups in (True, False)
            if any(one.runs_groups == groups for one in here)
        ]
        yield Look(
            f"kubectl get {_WORKLOADS} -n {namespace} -o custom-columns='{','.join(_COLUMNS)}' "
            f"| grep -E '^(NAME |{'|'.join(found)})'",
            "one line a group: whether it is admitted, and if not, why",
        )


def _queue(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Look]:
    for namespace, queue in sorted({(one.namespace, one.queue) for one in demands if one.queue}):
        if cluster.foundation == "existing":
            yield Look(
                f"kubectl get localqueues.{api.GROUP} {queue} -n {namespace} -o jsonpath='{{.spec.clusterQueue}}'",
                "the ClusterQueue behind it; look at its quota and usage with `kubectl describe`",
            )
    if cluster.foundation != "existing":
        for queue in sorted({one.queue for one in demands if one.queue}):
            yield Look(
                f"kubectl describe clusterqueues.{api.GROUP} {queue}",
                "quota, what is used of it, and how many wait",
            )


def _never(demands: Sequence[Demand], cluster: Cluster) -> Iterator[str]:
    yield _FROZEN
    release = cluster.versions.releases.kueue
    if any(one.size > 1 for one in demands) and (
        release is None or not api.size_is_frozen(release)
    ):
        yield (
            "Do not change the size of the running groups: this release of Kueue takes it, and one group then stays "
            "gated for good."
        )
