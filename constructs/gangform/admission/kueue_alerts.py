"""What Kueue's metrics tell of groups that wait or were evicted, and what no metric of the declared release tells.

Kueue counts by queue: how many groups wait, from 0.20 on by which cause, how long those took that were admitted, and
evictions. Which serving's group it is only the Workloads themselves say, where kube-state-metrics shows them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from gangform.admission import waiting
from gangform.admission.admission import Demand, shown
from gangform.apis import queue_metrics as api
from gangform.apis.alerting import PERCENT, ROUNDED, Alert
from gangform.apis.promql import boxed, equal, like, one_of, selector
from gangform.apis.state_metrics import WORKLOADS_CONDITION, WORKLOADS_CREATED
from gangform.findings import Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults

EVICTED = "ServingGroupEvicted"
UNADMITTED = "QueueUnadmittedByReason"
SLOW = "QueueAdmissionSlow"
THROWN_OUT = "QueueGroupsEvicted"

_MOST = Fraction(1, 2)
"""Which part of a window's admissions may be slow."""
_OWNER = "LeaderWorkerSet"
"""What Workloads name as owner whose serving can be told."""
_BY_QUEUE = "sum by (cluster_queue)"


def alerts(demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults) -> Iterator[Alert]:
    """Workloads of one serving's sets that are not admitted or were evicted."""
    exporter = shown(demands, cluster)
    if exporter is None or not demands[0].runs_groups:
        return
    names = sorted(demand.workload for demand in demands)
    who = f"{demands[0].serving} in namespace {{{{ $labels.namespace }}}}"
    own = equal("owner_kind", _OWNER), one_of("owner_name", names)
    made = exporter.select(WORKLOADS_CREATED, *own)
    let_in = exporter.select(WORKLOADS_CONDITION, *own, equal("condition", "Admitted"))
    yield waiting.not_admitted(
        f"count by (namespace, workload) ({made})\nunless on (namespace, workload)\n"
        f"(max by (namespace, workload) ({let_in}) == 1)",
        limits,
        which=f"Workload {{{{ $labels.workload }}}} of {who} has not been admitted for {limits.pending}: one group "
        "waits, gated, for quota or for a domain that holds all of it, and takes no nodes meanwhile.",
    )
    out = exporter.select(WORKLOADS_CONDITION, *own, equal("condition", "Evicted"))
    yield Alert(
        name=EVICTED,
        expr=f"max by (namespace, workload, reason) ({out}) == 1",
        severity="warning",
        summary="A group was evicted from its queue.",
        description=f"Kueue evicted workload {{{{ $labels.workload }}}} of {who} ({{{{ $labels.reason }}}}) and has "
        "not let it in again: a whole group is gone, and no disruption budget was asked.",
    )


def queue_alerts(
    queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
) -> Iterator[Alert]:
    """A ClusterQueue of ours: groups that wait, why, how long admission takes, and evictions."""
    mine = equal("cluster_queue", queue)
    release = cluster.versions.releases.kueue
    whose = waiting.whose("cluster_queue", demands)
    known = selector(api.KUEUE_PENDING, mine)
    yield waiting.pending(
        f"{_BY_QUEUE} (max by (cluster_queue, status) ({known})) > 0",
        whose,
        limits,
        why="quota is used up, or no domain holds a whole group",
    )
    if release is not None and api.KUEUE.has(api.KUEUE_UNADMITTED, release):
        lasting = like("underlying_cause", "|".join(api.LASTING_CAUSES))
        counted = selector(api.KUEUE_UNADMITTED, mine, lasting)
        keys = "cluster_queue, underlying_cause"
        yield Alert(
            name=UNADMITTED,
            expr=f"sum by ({keys}) (\n  max by ({keys}, reason) ({counted})\n) > 0",
            for_=limits.lasting,
            severity="warning",
            summary="Groups wait for what waiting does not end.",
            description=f"Groups are not admitted for {{{{ $labels.underlying_cause }}}} in {whose}, {{{{ $value }}}} "
            "now: somebody has to change the queue, the nodes or the serving.",
        )
    yield _slow(mine, whose, limits)
    yield _thrown_out(mine, whose, limits)
    yield waiting.absent(known, whose, limits, by="Kueue", metrics="Kueue's metrics")


def _slow(mine: str, whose: str, limits: AlertDefaults) -> Alert:
    """Most of those admitted waited longer: the histogram says it afterwards, and of the last hours together."""
    bound, window = limits.admission_wait, limits.admission_window
    within = like("le", api.bucket_bound(bound))

    def admitted(series: str, *matchers: str) -> str:
        return f"{_BY_QUEUE} (increase({selector(series, mine, *matchers)}[{window}]))"

    quick, every = f"{api.KUEUE_WAIT}_bucket", f"{api.KUEUE_WAIT}_count"
    late = f"{admitted(every)}\n- on (cluster_queue)\n{admitted(quick, within)}"
    return Alert(
        name=SLOW,
        expr=f"{boxed(late)}\n/ on (cluster_queue)\n{admitted(every)}\n> {float(_MOST)}",
        severity="warning",
        summary="Groups wait long until they are admitted.",
        description=f"{PERCENT} of the groups that were admitted within {window} had "
        f"waited longer than {bound} in {whose}: every rebuild and every rollout costs that much more.",
    )


def _thrown_out(mine: str, whose: str, limits: AlertDefaults) -> Alert:
    """A counter is born with its first eviction, at 1, and then nothing has increased: it is news while it is young."""
    window = limits.evictions_window
    count = selector(api.KUEUE_EVICTED, mine)
    known = selector(api.KUEUE_PENDING, mine)
    keys = "cluster_queue, reason"
    more = f"sum by ({keys}) (increase({count}[{window}])) > 0"
    # Series by series: a controller that was replaced counts anew, under labels of its own.
    young = boxed(f"{count}\nunless\n{count} offset {window}")
    # An hour ago Kueue was heard of: else everything would be young when Prometheus is.
    seen = f"max by (cluster_queue) ({known} offset {window})"
    news = f"sum by ({keys}) {young}\nand on (cluster_queue)\n{seen}"
    return Alert(
        name=THROWN_OUT,
        expr=f"{boxed(more)}\nor\n{boxed(news)}",
        severity="warning",
        summary="Groups were evicted from a queue.",
        description=f"Groups were evicted within {window} ({{{{ $labels.reason }}}}) from {whose}, "
        f"{ROUNDED} of them: each is a whole group gone, and no disruption budget was asked.",
    )


def unseen(demand: Demand, cluster: Cluster) -> Iterator[str]:
    """What nothing that the cluster exports tells."""
    yield from waiting.untold(
        demand, cluster, counted="waiting and evicted", kind="Kueue's Workloads"
    )
    release = cluster.versions.releases.kueue
    if not waiting.watched([demand], cluster) or release is None:
        return
    if not api.KUEUE.has(api.KUEUE_UNADMITTED, release):
        gate = f", unless its gate {api.UNADMITTED_GATE} is on"
        yield f"Kueue {release} has no metric that says why a group waits" + (
            gate if release >= api.UNADMITTED_EXISTS else ""
        )


def scraped(demands: Sequence[Demand], cluster: Cluster) -> Iterator[Prerequisite]:
    """Kueue's metrics have to be collected, where alerts read them."""
    if waiting.watched(demands, cluster):
        yield waiting.collected(
            "Prometheus collects the metrics of Kueue's controller",
            check="kubectl get servicemonitors,podmonitors -A",
        )
