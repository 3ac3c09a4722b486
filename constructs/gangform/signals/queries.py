"""PromQL over whole groups, from names that are fixed beforehand.

LeaderWorkerSet exports nothing about groups, but its objects are called predictably: the leader StatefulSet like the
set, a leader pod and its worker StatefulSet `<set>-<group>`, a worker `<set>-<group>-<index>`. So stock
kube-state-metrics is enough: a group is whole when its leader is Ready and its worker StatefulSet has every pod ready
that it wants (`observability §1.2`, `§1.7`).

Two habits keep the queries honest. Everything is folded with `max` first, since two uids of one pod coexist for a
scrape, and so do two instances of the exporter after its restart. And what counts falls back to 0 times the wanted
number: a count over nothing is no 0 but nothing, and an alert on it is silent in a total outage.
"""

from typing import NamedTuple, Protocol

from gangform.apis import alerting
from gangform.apis.promql import Exporter, boxed, either, equal, like, one_of, up_to
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

    def wanted_throughout(self, window: Seconds) -> str:
        """The fewest that were wanted within so long."""
        ...

    def known_before(self, window: Seconds) -> str:
        """Returns something where the workload existed so long ago."""
        ...

    def served_within(self, window: Seconds) -> str:
        """Returns something where one of them was ready within so long."""
        ...

    def stalled(self, quiet: Seconds) -> str:
        """Returns something where two revisions exist and nothing has moved for so long."""
        ...

    def moving(self, quiet: Seconds) -> str:
        """Returns something where two revisions exist and the update took a further replica within so long."""
        ...

    def unscraped(self, scrapes: Exporter) -> str:
        """Returns something where a ready replica gives no metrics to a monitor of ours."""
        ...


class GroupSets(NamedTuple):
    """One LeaderWorkerSet or several, as their StatefulSets and pods show them."""

    exporter: Exporter
    names: tuple[str, ...]
    size: int
    """Pods a group."""
    highest: int
    """The highest index of a group: `<set>-<higher>` may be another set, whose leaders are called like workers."""

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
        if self.size == 1:
            return self.leader
        return f"{either(self.names)}-{up_to(self.highest)}(-[0-9]+)?"

    def _of_sets(self, series: str, over: str = "{}") -> str:
        """One value for each leader StatefulSet; `over` is a function of it, or a time."""
        found = over.format(self.exporter.select(series, self.sets))
        return f"max by (namespace, statefulset) ({found})"

    def _leaders(self, over: str = "{}") -> str:
        matchers = equal("condition", "true"), like("pod", self.leader)
        return over.format(self.exporter.select(alerting.POD_READY, *matchers))

    @property
    def leaders(self) -> str:
        """One series for each leader that is Ready."""
        return f"max by (namespace, pod) ({self._leaders()}) == 1"

    @property
    def full(self) -> str:
        """One series for each group whose workers are all ready, called like its leader. Not for groups of one.

        Their own StatefulSet says how many there should be: while a rollout changes the size, groups have two.
        """
        mine = like("statefulset", self.leader)
        has, wants = (
            f"max by (namespace, statefulset) ({self.exporter.select(series, mine)})"
            for series in (alerting.SET_READY, alerting.SET_WANTED)
        )
        enough = f"{has}\n  >= on (namespace, statefulset)\n  {wants}"
        return f'label_replace(\n  {enough},\n  "pod", "$1", "statefulset", "(.*)"\n)'

    @property
    def wanted(self) -> str:
        """Groups wanted: follows an autoscaler, and counts surge groups, so that none of them hides a broken one."""
        return f"sum by (namespace) ({self._of_sets(alerting.SET_WANTED)})"

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

    def wanted_throughout(self, window: Seconds) -> str:
        """The fewest that were wanted; a set that is new counts from when it came."""
        least = self._of_sets(alerting.SET_WANTED, f"min_over_time({{}}[{window}])")
        return f"sum by (namespace) ({least})"

    def known_before(self, window: Seconds) -> str:
        """The sets as they were."""
        return f"max by (namespace) ({self._of_sets(alerting.SET_WANTED, f'{{}} offset {window}')})"

    def served_within(self, window: Seconds) -> str:
        """A leader was Ready."""
        return f"max by (namespace) ({self._leaders(f'max_over_time({{}}[{window}])')}) == 1"

    @property
    def _two_revisions(self) -> str:
        def revisions(series: str) -> str:
            found = self.exporter.select(series, self.sets)
            return f"max by (namespace, statefulset, revision) ({found})"

        new = revisions(alerting.SET_UPDATE_REVISION)
        old = revisions(alerting.SET_CURRENT_REVISION)
        return boxed(f"{new}\nunless on (namespace, statefulset, revision)\n{old}")

    def stalled(self, quiet: Seconds) -> str:
        """Sets with two revisions in which neither counter has moved."""
        counters = alerting.SET_UPDATED, alerting.SET_READY
        still = (
            f"({self._of_sets(series, f'changes({{}}[{quiet}])')} == 0)" for series in counters
        )
        return "\nand on (namespace, statefulset)\n".join((self._two_revisions, *still))

    def moving(self, quiet: Seconds) -> str:
        """Sets whose update took a further group. A group that is rebuilt outside an update moves the counter too."""
        moves = f"({self._of_sets(alerting.SET_UPDATED, f'changes({{}}[{quiet}])')} > 0)"
        return f"{self._two_revisions}\nand on (namespace, statefulset)\n{moves}"

    def rebuilt(self, window: Seconds, times: int, *, varies: bool) -> str:
        """Leaders made anew more than so many times: each has another uid, while restart counters begin at 0.

        Where the number of groups `varies`, each time that it fell may have cost a leader a life.
        """
        created = self.exporter.select(alerting.POD_CREATED, like("pod", self.leader))
        seen = f"max by (namespace, pod, uid) (last_over_time({created}[{window}]))"
        lives = f"count by (namespace, pod) ({seen})"
        if not varies:
            return f"{lives} > {times}"
        falls = self._of_sets(alerting.SET_WANTED, f"resets({{}}[{window}])")
        return f"{lives}\n> on (namespace) group_left ()\n({times} + sum by (namespace) ({falls}))"

    @property
    def waiting(self) -> str:
        """How many pods have no node. One that has a node is pulling or loading, and waits for no capacity."""
        mine = like("pod", self.pod)
        pending = self.exporter.select(alerting.POD_PHASE, equal("phase", "Pending"), mine)
        bound = self.exporter.select(alerting.POD_INFO, mine, 'node!=""')
        return "count by (namespace) " + boxed(
            f"max by (namespace, pod, uid) ({pending}) == 1\n"
            f"unless on (namespace, pod, uid)\nmax by (namespace, pod, uid) ({bound})"
        )

    @property
    def cordoned(self) -> str:
        """Pods by node, of nodes that take no new pods."""
        pods = self.exporter.select(alerting.POD_INFO, like("pod", self.pod), 'node!=""')
        nodes = self.exporter.everywhere(alerting.NODE_UNSCHEDULABLE)
        return "count by (namespace, node) " + boxed(
            f"max by (namespace, pod, node) ({pods})\n"
            f"* on (node) group_left ()\nmax by (node) ({nodes} == 1)"
        )

    def unscraped(self, scrapes: Exporter) -> str:
        """Ready leaders whose last scrape failed, or that are no target."""
        answered = scrapes.select(alerting.UP)
        return (
            f"({self.leaders})\nunless on (namespace, pod)\n"
            f"(max by (namespace, pod) ({answered}) == 1)"
        )


class PlainPods(NamedTuple):
    """A Deployment: each replica is one pod under a name that nobody knows beforehand, so only its status counts."""

    exporter: Exporter
    name: str

    def _status(self, series: str, over: str = "{}") -> str:
        found = self.exporter.select(series, equal("deployment", self.name))
        return f"max by (namespace) ({over.format(found)})"

    @property
    def wanted(self) -> str:
        """Replicas wanted. Surge is not counted: a broken surge pod shows as a stalled rollout."""
        return self._status(alerting.DEPLOYMENT_WANTED)

    @property
    def ready(self) -> str:
        """Replicas that are ready; the exporter itself says 0."""
        return self._status(alerting.DEPLOYMENT_READY)

    @property
    def missing(self) -> str:
        """One series where there is no such Deployment."""
        found = self.exporter.select(alerting.DEPLOYMENT_WANTED, equal("deployment", self.name))
        return f"absent({found})"

    def wanted_throughout(self, window: Seconds) -> str:
        """The fewest that were wanted; a Deployment that is new counts from when it came."""
        return self._status(alerting.DEPLOYMENT_WANTED, f"min_over_time({{}}[{window}])")

    def known_before(self, window: Seconds) -> str:
        """The Deployment as it was."""
        return self._status(alerting.DEPLOYMENT_WANTED, f"{{}} offset {window}")

    def served_within(self, window: Seconds) -> str:
        """A replica was ready."""
        return self._status(alerting.DEPLOYMENT_READY, f"max_over_time({{}}[{window}])") + " > 0"

    @property
    def _two_revisions(self) -> str:
        pods = self._status(alerting.DEPLOYMENT_PODS)
        return boxed(f"{pods}\n> on (namespace)\n{self._status(alerting.DEPLOYMENT_UPDATED)}")

    def stalled(self, quiet: Seconds) -> str:
        """Pods of an old revision, and neither counter has moved."""
        counters = alerting.DEPLOYMENT_UPDATED, alerting.DEPLOYMENT_READY
        still = (f"({self._status(series, f'changes({{}}[{quiet}])')} == 0)" for series in counters)
        return "\nand on (namespace)\n".join((self._two_revisions, *still))

    def moving(self, quiet: Seconds) -> str:
        """The update took a further pod."""
        moves = f"({self._status(alerting.DEPLOYMENT_UPDATED, f'changes({{}}[{quiet}])')} > 0)"
        return f"{self._two_revisions}\nand on (namespace)\n{moves}"

    def unscraped(self, scrapes: Exporter) -> str:
        """How many more replicas are ready than answer a scrape."""
        answered = f"max by (namespace, pod) ({scrapes.select(alerting.UP)}) == 1"
        count = boxed(f"count by (namespace) ({answered})\nor on (namespace)\n0 * {self.wanted}")
        return f"{self.ready}\n- on (namespace)\n{count}\n> 0"
