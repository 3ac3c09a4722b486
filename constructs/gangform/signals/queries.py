"""PromQL over whole groups, from names that are fixed beforehand.

LeaderWorkerSet exports nothing about groups, but its objects are called predictably: the leader StatefulSet like the
set, a leader pod and its worker StatefulSet `<set>-<group>`, a worker `<set>-<group>-<index>`. So stock
kube-state-metrics is enough: a group is whole when its leader is Ready and its worker StatefulSet has all but one of
the group's pods ready (`observability §1.2`, `§1.7`).

Two habits keep the queries honest. Everything is folded with `max` first, since two uids of one pod coexist for a
scrape, and so do two instances of the exporter after its restart. And what counts falls back to 0 times the wanted
number: a count over nothing is no 0 but nothing, and an alert on it is silent in a total outage.
"""

from typing import NamedTuple, Protocol

from gangform.apis import alerting
from gangform.apis.promql import Exporter, boxed, either, equal, like, literal, one_of
from gangform.units import Seconds


class Replicas(Protocol):
    """What can be counted of a serving, whatever kind runs it: the queries that every form has."""

    @property
    def exporter(self) -> Exporter:
        """Where the series come from."""
        ...

    @property
    def wanted(self) -> str:
        """How many whole replicas there should be, surge included where it is known."""
        ...

    @property
    def ready(self) -> str:
        """How many there are; 0 where there is none."""
        ...

    @property
    def missing(self) -> str:
        """Returns something where the workload itself does not exist."""
        ...

    def stalled(self, quiet: Seconds) -> str:
        """Returns something where two revisions exist and nothing has moved for so long."""
        ...

    def moving(self, quiet: Seconds) -> str:
        """Returns something where an update took a further replica within so long."""
        ...


class GroupSets(NamedTuple):
    """One LeaderWorkerSet or several, as their StatefulSets and pods show them."""

    exporter: Exporter
    names: tuple[str, ...]
    size: int
    """Pods a group."""

    @property
    def sets(self) -> str:
        """Matcher of the leader StatefulSets."""
        return one_of("statefulset", self.names)

    @property
    def leader(self) -> str:
        """Pattern of leader pods, and of the worker StatefulSets, which are called like them."""
        return f"{either(self.names)}-[0-9]+"

    @property
    def pod(self) -> str:
        """Pattern of all pods."""
        return self.leader if self.size == 1 else f"{self.leader}(-[0-9]+)?"

    @property
    def leaders(self) -> str:
        """One series for each leader that is Ready."""
        matchers = equal("condition", "true"), like("pod", self.leader)
        return (
            f"max by (namespace, pod) ({self.exporter.select(alerting.POD_READY, *matchers)}) == 1"
        )

    @property
    def full(self) -> str:
        """One series for each group whose workers are all ready, called like its leader. Not for groups of one."""
        ready = self.exporter.select(alerting.SET_READY, like("statefulset", self.leader))
        enough = f"max by (namespace, statefulset) ({ready}) >= {self.size - 1}"
        return f'label_replace(\n  {enough},\n  "pod", "$1", "statefulset", "(.*)"\n)'

    @property
    def wanted(self) -> str:
        """Groups wanted: follows an autoscaler, and counts surge groups, so that none of them hides a broken one."""
        replicas = self.exporter.select(alerting.SET_WANTED, self.sets)
        return f"sum by (namespace) (max by (namespace, statefulset) ({replicas}))"

    @property
    def ready(self) -> str:
        """Whole groups that are ready."""
        whole = self.leaders
        if self.size > 1:
            whole = f"({self.leaders})\nand on (namespace, pod)\n{self.full}"
        return f"count by (namespace) {boxed(whole)}\nor on (namespace)\n0 * {self.wanted}"

    @property
    def incomplete(self) -> str:
        """Leaders that are Ready although their group is not."""
        return f"({self.leaders})\nunless on (namespace, pod)\n{self.full}"

    @property
    def missing(self) -> str:
        """One series for each set without its leader StatefulSet."""
        return "\nor\n".join(
            f"absent({self.exporter.select(alerting.SET_WANTED, equal('statefulset', name))})"
            for name in self.names
        )

    def stalled(self, quiet: Seconds) -> str:
        """Sets with two revisions in which neither counter has moved."""

        def revisions(series: str) -> str:
            found = self.exporter.select(series, self.sets)
            return f"max by (namespace, statefulset, revision) ({found})"

        new = revisions(alerting.SET_UPDATE_REVISION)
        old = revisions(alerting.SET_CURRENT_REVISION)
        parts = [boxed(f"{new}\nunless on (namespace, statefulset, revision)\n{old}")]
        for series in (alerting.SET_UPDATED, alerting.SET_READY):
            moves = f"changes({self.exporter.select(series, self.sets)}[{quiet}])"
            parts.append(f"(max by (namespace, statefulset) ({moves}) == 0)")
        return "\nand on (namespace, statefulset)\n".join(parts)

    def moving(self, quiet: Seconds) -> str:
        """Sets whose update took a further group."""
        moves = f"changes({self.exporter.select(alerting.SET_UPDATED, self.sets)}[{quiet}])"
        return f"max by (namespace) ({moves}) > 0"

    def rebuilt(self, window: Seconds, times: int) -> str:
        """Leaders made anew more than so many times: each has another uid, while restart counters begin at 0."""
        created = self.exporter.select(alerting.POD_CREATED, like("pod", self.leader))
        seen = f"max by (namespace, pod, uid) (last_over_time({created}[{window}]))"
        return f"count by (namespace, pod) ({seen}) > {times}"

    @property
    def pending(self) -> str:
        """How many pods have no node or no running container, where there are any."""
        found = self.exporter.select(
            alerting.POD_PHASE, equal("phase", "Pending"), like("pod", self.pod)
        )
        return f"count by (namespace) (max by (namespace, pod) ({found}) == 1) > 0"

    @property
    def cordoned(self) -> str:
        """Pods by node, of nodes that take no new pods."""
        pods = self.exporter.select(alerting.POD_INFO, like("pod", self.pod), 'node!=""')
        nodes = self.exporter.everywhere(alerting.NODE_UNSCHEDULABLE)
        return "count by (namespace, node) " + boxed(
            f"max by (namespace, pod, node) ({pods})\n"
            f"* on (node) group_left ()\nmax by (node) ({nodes} == 1)"
        )


class PlainPods(NamedTuple):
    """A Deployment: each replica is one pod under a name that nobody knows beforehand, so only its status counts."""

    exporter: Exporter
    name: str

    def _status(self, series: str) -> str:
        return self.exporter.select(series, equal("deployment", self.name))

    @property
    def wanted(self) -> str:
        """Replicas wanted. Surge is not counted: a broken surge pod shows as a stalled rollout."""
        return f"max by (namespace) ({self._status(alerting.DEPLOYMENT_WANTED)})"

    @property
    def ready(self) -> str:
        """Replicas that are ready; the exporter itself says 0."""
        return f"max by (namespace) ({self._status(alerting.DEPLOYMENT_READY)})"

    @property
    def missing(self) -> str:
        """One series where there is no such Deployment."""
        return f"absent({self._status(alerting.DEPLOYMENT_WANTED)})"

    def stalled(self, quiet: Seconds) -> str:
        """Pods of an old revision, and neither counter has moved."""
        pods = self._status(alerting.DEPLOYMENT_PODS)
        updated = self._status(alerting.DEPLOYMENT_UPDATED)
        parts = [
            boxed(
                f"max by (namespace) ({pods})\n> on (namespace)\nmax by (namespace) ({updated})",
            )
        ]
        for series in (alerting.DEPLOYMENT_UPDATED, alerting.DEPLOYMENT_READY):
            parts.append(f"(max by (namespace) (changes({self._status(series)}[{quiet}])) == 0)")
        return "\nand on (namespace)\n".join(parts)

    def moving(self, quiet: Seconds) -> str:
        """The update took a further pod."""
        moves = f"changes({self._status(alerting.DEPLOYMENT_UPDATED)}[{quiet}])"
        return f"max by (namespace) ({moves}) > 0"


def fewer(replicas: Replicas, quiet: Seconds) -> str:
    """Less ready than wanted: how many are ready. Silent while a rollout moves, which takes one after another down."""
    short = f"{boxed(replicas.ready)}\n< on (namespace)\n{replicas.wanted}"
    return f"{boxed(short)}\nunless on (namespace)\n({replicas.moving(quiet)})"


def nothing(replicas: Replicas) -> str:
    """None ready although some are wanted."""
    return f"{boxed(replicas.ready)} == 0\nand on (namespace)\n{replicas.wanted} > 0"


def mismatch(replicas: Replicas, service: str) -> str:
    """Endpoints of the Service that are not as many as replicas are ready, where slices are exported at all."""
    exporter = replicas.exporter
    slices = like("endpointslice", f"{literal(service)}-{alerting.SLICE_SUFFIX}")
    found = exporter.select(alerting.SLICE_ENDPOINTS, slices, equal("ready", "true"))
    pods = f"count by (namespace) (count by (namespace, targetref_name) ({found}))"
    known = f"count({exporter.everywhere(alerting.SLICE)}) > 0"
    endpoints = boxed(f"{pods}\nor on (namespace)\n0 * {replicas.wanted}")
    differ = f"{endpoints}\n!= on (namespace)\n{boxed(replicas.ready)}"
    return f"{boxed(differ)}\nand on ()\n({known})"


def at_maximum(exporter: Exporter, name: str) -> str:
    """An autoscaler that wants all it may: how many."""
    scaler = equal("horizontalpodautoscaler", name)
    wish = exporter.select(alerting.SCALER_WISH, scaler)
    most = exporter.select(alerting.SCALER_MAXIMUM, scaler)
    return f"max by (namespace) ({wish})\n>= on (namespace)\nmax by (namespace) ({most})"


def blind(exporter: Exporter, name: str, *, rests: bool) -> str:
    """An autoscaler that cannot read its metric. `rests`: at zero groups it reads none, which is no fault."""
    matchers = (
        equal("horizontalpodautoscaler", name),
        equal("condition", "ScalingActive"),
        equal("status", "false"),
    )
    unread = f"max by (namespace) ({exporter.select(alerting.SCALER_CONDITION, *matchers)}) == 1"
    return f"{unread}\nand on (namespace)\n{_wishes(exporter, name)}" if rests else unread


def signal_lost(exporter: Exporter, name: str, query: str, *, rests: bool) -> str:
    """A query that an autoscaler lives on and that has no result. `rests`: it has one at zero groups too."""
    most = exporter.select(alerting.SCALER_MAXIMUM, equal("horizontalpodautoscaler", name))
    there = f"max by (namespace) ({most}) > 0" if rests else _wishes(exporter, name)
    return f"{there}\nunless on ()\n{boxed(query)}"


def _wishes(exporter: Exporter, name: str) -> str:
    """How many groups an autoscaler wants, where it wants some."""
    wish = exporter.select(alerting.SCALER_WISH, equal("horizontalpodautoscaler", name))
    return f"max by (namespace) ({wish}) > 0"
