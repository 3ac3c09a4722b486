"""Alerts on the groups of a serving and on their autoscaler, from stock kube-state-metrics.

They count groups, since a group is what serves: a pod more or less says nothing. They have the same names for every
kind that runs a serving; what a kind cannot show is left out, and never guessed from names of pods.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gangform.apis.alerting import Alert, AlertSeverity, monitor_job
from gangform.apis.promql import Exporter
from gangform.findings import counted
from gangform.plan.monitoring import MonitoringPlan
from gangform.plan.serving import ServingPlan, WorkloadPlan
from gangform.signals import conditions
from gangform.signals.queries import GroupSets, Replicas
from gangform.signals.replicas import noun, replicas_of
from gangform.units import Seconds

FEWER = "ServingGroupsNotReady"
NOTHING = "ServingNoGroupReady"
MISSING = "ServingGroupsAbsent"
STALLED = "ServingRolloutStalled"
MISMATCH = "ServingLeaderEndpointsMismatch"
INCOMPLETE = "ServingLeaderReadyGroupIncomplete"
REBUILT = "ServingGroupRebuiltRepeatedly"
UNSCRAPED = "ServingLeaderNotScraped"
PENDING = "ServingGroupPodsPending"
CORDONED = "ServingGroupOnCordonedNode"
AT_MAXIMUM = "ServingAutoscalerAtMax"
BLIND = "ServingAutoscalerBlind"
SIGNAL_LOST = "ServingAutoscalerSignalLost"

NAMES = (
    FEWER,
    NOTHING,
    MISSING,
    STALLED,
    MISMATCH,
    INCOMPLETE,
    UNSCRAPED,
    REBUILT,
    PENDING,
    CORDONED,
    AT_MAXIMUM,
    BLIND,
    SIGNAL_LOST,
)
"""Every alert of this source."""


def alerts(plan: ServingPlan) -> Iterator[Alert]:
    """The alerts of one serving, the most important first."""
    yield from _Writer(plan=plan, replicas=replicas_of(plan)).write()


class _Writer(NamedTuple):
    """Queries of a serving put beside words and waiting times."""

    plan: ServingPlan
    replicas: Replicas

    def write(self) -> Iterator[Alert]:
        """All alerts that this serving can have."""
        yield from self._common()
        if isinstance(self.replicas, GroupSets):
            yield from self._of_groups(self.replicas)
        for workload in self.plan.workloads:
            yield from self._of_autoscaler(workload)

    def _alert(
        self,
        name: str,
        expr: str,
        severity: AlertSeverity,
        summary: str,
        description: str,
        for_: Seconds | None = None,
    ) -> Alert:
        return Alert(
            name=name,
            expr=expr,
            for_=for_,
            severity=severity,
            summary=summary,
            description=description,
        )

    @property
    def _watch(self) -> MonitoringPlan:
        return self.plan.monitoring

    @property
    def _who(self) -> str:
        return f"{self.plan.name} in namespace {{{{ $labels.namespace }}}}"

    @property
    def _groups(self) -> str:
        return f"{noun(self.plan)}s"

    @property
    def _varies(self) -> bool:
        """Whether groups come and go without a fault."""
        return self.plan.lead.scaling is not None or self.plan.lead.rollout.max_surge > 0

    @property
    def _all(self) -> str:
        """How many there are to be and what they hold: `of 3 groups of 16 GPUs`."""
        role = self.plan.lead
        each = f"{role.shape.gpus} GPUs"
        if role.scaling is not None:
            return f"of {role.scaling.lowest} to {role.scaling.highest} {self._groups} of {each}"
        return f"of {counted(self.plan.serving.lowest_groups, noun(self.plan))} of {each}"

    def _common(self) -> Iterator[Alert]:
        plan, limits, many = self.plan, self._watch.limits, self._groups
        replicas = self.replicas
        wanted = replicas.wanted
        if plan.lead.scaling is not None:
            # One group after another may be starting for longer than a start takes, and none of them is late.
            wanted = replicas.wanted_throughout(self._watch.not_ready_after)
        yield self._alert(
            NOTHING,
            conditions.nothing(replicas, self._watch.not_ready_after),
            "critical",
            f"A serving has no ready {many}.",
            f"{self._who} has {{{{ $value }}}} {self._all} ready, so every request fails.",
            limits.nothing,
        )
        yield self._alert(
            FEWER,
            conditions.fewer(replicas, self._watch.quiet_window, wanted=wanted),
            "warning",
            f"A serving has fewer ready {many} than it wants.",
            f"{self._who} has only {{{{ $value }}}} {self._all} wholly ready, fewer than wanted, for longer than the "
            f"{self._watch.not_ready_after} that a start may take, and no rollout is moving.",
            self._watch.not_ready_after,
        )
        yield self._alert(
            MISSING,
            replicas.missing,
            "critical",
            "The workload of a serving is absent.",
            f"The workload of {self._who} has not been seen for {limits.missing}: it was never applied, "
            "was deleted, or its metrics are not collected, and then no other alert can fire.",
            limits.missing,
        )
        if not plan.lead.rollout.partition:
            # A canary holds two revisions apart on purpose, and quietly.
            yield self._alert(
                STALLED,
                replicas.stalled(self._watch.quiet_window),
                "warning",
                "A rollout makes no progress.",
                f"{self._who} has {many} of two revisions, and for {self._watch.quiet_window} none of them became "
                "ready or was replaced.",
                limits.stalled,
            )
        service = plan.traffic.service
        yield self._alert(
            MISMATCH,
            conditions.mismatch(replicas, service),
            "warning",
            f"A Service has not as many endpoints as there are ready {many}.",
            f"The number of ready endpoints of Service {service} of {self._who}, {{{{ $value }}}}, is not that of "
            f"ready {many}: requests go to broken ones, or whole ones get none.",
            self._watch.mismatch_after,
        )
        scrapes = Exporter(job=monitor_job(plan.namespace, plan.name), namespace=plan.namespace)
        which = "Leader {{ $labels.pod }}" if isinstance(replicas, GroupSets) else "A pod"
        yield self._alert(
            UNSCRAPED,
            replicas.unscraped(scrapes),
            "warning",
            "A leader serves and gives Prometheus no metrics.",
            f"{which} of {self._who} is Ready, and no scrape of it by PodMonitor {plan.name} has answered for "
            f"{limits.unscraped}: alerts on its engine, routing by load and the autoscaler do not see it.",
            limits.unscraped,
        )

    def _of_groups(self, sets: GroupSets) -> Iterator[Alert]:
        limits = self._watch.limits
        if sets.size > 1:
            yield self._alert(
                INCOMPLETE,
                sets.incomplete,
                "critical",
                "A leader takes requests for a group that is not complete.",
                f"Leader {{{{ $labels.pod }}}} of {self._who} is Ready, but not all of its workers are: "
                "requests that reach it hang or fail.",
                limits.incomplete,
            )
        yield self._alert(
            REBUILT,
            sets.rebuilt(self._watch.rebuild_window, limits.rebuilds, varies=self._varies),
            "warning",
            "A group is rebuilt again and again.",
            f"Leader {{{{ $labels.pod }}}} of {self._who} was created {{{{ $value }}}} times within "
            f"{self._watch.rebuild_window}. Each time the whole group loads the model anew, and container restart "
            "counters do not show it.",
        )
        yield self._alert(
            PENDING,
            sets.waiting,
            "warning",
            "Pods of a group wait for capacity.",
            f"{{{{ $value }}}} of the pods of {self._who} had no node for {self._watch.pending_after}: they wait for "
            f"quota, for nodes, or for a place where a whole group of {sets.size} fits.",
            self._watch.pending_after,
        )
        yield self._alert(
            CORDONED,
            sets.cordoned,
            "warning",
            "A group runs on a node that takes no new pods.",
            f"Node {{{{ $labels.node }}}} is cordoned and still runs {{{{ $value }}}} of the pods of {self._who}: a "
            "drain waits for this group, or the node was forgotten.",
            limits.cordoned,
        )

    def _of_autoscaler(self, workload: WorkloadPlan) -> Iterator[Alert]:
        limits, scaling = self._watch.limits, workload.role.scaling
        if scaling is None:
            return
        if scaling.highest > scaling.lowest:
            yield self._alert(
                AT_MAXIMUM,
                conditions.at_maximum(self.replicas.exporter, scaling.autoscaler),
                "warning",
                f"An autoscaler wants as many {self._groups} as it may have.",
                f"The autoscaler of {self._who} has wanted its maximum, {{{{ $value }}}}, for "
                f"{limits.at_maximum}: more load finds no more capacity.",
                limits.at_maximum,
            )
        yield self._alert(
            BLIND,
            conditions.blind(self.replicas, scaling.autoscaler),
            "warning",
            "An autoscaler cannot read its metric.",
            f"The autoscaler of {self._who} has had no value of {scaling.metric} for {self._watch.no_signal_after}, so "
            f"the number of {self._groups} stays as it is.",
            self._watch.no_signal_after,
        )
        if scaling.keda is not None:
            # With a fallback KEDA always has a value, and the autoscaler it makes is never blind.
            rests = not scaling.lowest
            asked = scaling.keda.vital
            yield self._alert(
                SIGNAL_LOST,
                conditions.signal_lost(self.replicas, scaling.autoscaler, asked.query, rests=rests),
                "warning",
                "KEDA scales without an answer from Prometheus.",
                f"KEDA's query {asked.name} of {self._who} has had no result for {self._watch.no_signal_after}, so the "
                f"number of {self._groups} no longer follows the load"
                + (", and a request that waits brings none." if rests else "."),
                self._watch.no_signal_after,
            )
