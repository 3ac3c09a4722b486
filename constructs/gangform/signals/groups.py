"""Alerts on the groups of a serving and on their autoscaler, from stock kube-state-metrics.

They count groups, since a group is what serves: a pod more or less says nothing. They have the same names for every
kind that runs a serving; what a kind cannot show is left out, and never guessed from names of pods.
"""

from collections.abc import Iterator
from typing import NamedTuple

from gangform.apis.alerting import Alert, AlertSeverity
from gangform.apis.promql import Exporter
from gangform.plan.monitoring import MonitoringPlan
from gangform.plan.serving import ServingPlan, WorkloadPlan
from gangform.signals import queries
from gangform.signals.queries import GroupSets, PlainPods, Replicas
from gangform.units import Seconds

FEWER = "ServingGroupsNotReady"
NOTHING = "ServingNoGroupReady"
MISSING = "ServingGroupsAbsent"
STALLED = "ServingRolloutStalled"
MISMATCH = "ServingLeaderEndpointsMismatch"
INCOMPLETE = "ServingLeaderReadyGroupIncomplete"
REBUILT = "ServingGroupRebuiltRepeatedly"
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
    exporter = Exporter(job=plan.monitoring.job, namespace=plan.namespace)
    yield from _Writer(plan=plan, exporter=exporter).write()


class _Writer(NamedTuple):
    """Queries of a serving put beside words and waiting times."""

    plan: ServingPlan
    exporter: Exporter

    def write(self) -> Iterator[Alert]:
        """All alerts that this serving can have."""
        can = self.plan.choice.form.can
        names = tuple(workload.name for workload in self.plan.workloads)
        if can.makes_stateful_sets:
            size = self.plan.lead.shape.size
            sets = GroupSets(exporter=self.exporter, names=names, size=size)
            yield from self._common(sets)
            yield from self._of_groups(sets)
        else:
            yield from self._common(PlainPods(exporter=self.exporter, name=names[0]))
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
        return "groups" if self.plan.choice.form.can.runs_groups else "replicas"

    def _common(self, replicas: Replicas) -> Iterator[Alert]:
        plan, limits, many = self.plan, self._watch.limits, self._groups
        yield self._alert(
            NOTHING,
            queries.nothing(replicas),
            "critical",
            f"A serving has no ready {many}.",
            f"{{{{ $value }}}} of the {many} of {self._who} are ready, so every request fails.",
            limits.nothing,
        )
        yield self._alert(
            FEWER,
            queries.fewer(replicas, self._watch.quiet_window),
            "warning",
            f"A serving has fewer ready {many} than it wants.",
            f"Only {{{{ $value }}}} {many} of {self._who} are wholly ready, fewer than wanted, for longer than "
            f"the {self._watch.not_ready_after} that a start may take, and no rollout is moving.",
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
            queries.mismatch(replicas, service),
            "warning",
            f"A Service has not as many endpoints as there are ready {many}.",
            f"Service {service} of {self._who} has {{{{ $value }}}} ready endpoints, which is not the number of "
            f"ready {many}: requests go to broken ones, or whole ones get none.",
            limits.mismatch,
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
            sets.rebuilt(self._watch.rebuild_window, limits.rebuilds),
            "warning",
            "A group is rebuilt again and again.",
            f"Leader {{{{ $labels.pod }}}} of {self._who} was created {{{{ $value }}}} times within "
            f"{self._watch.rebuild_window}. Each time the whole group loads the model anew, and container restart "
            "counters do not show it.",
        )
        yield self._alert(
            PENDING,
            sets.pending,
            "warning",
            "Pods of a group wait for capacity.",
            f"{{{{ $value }}}} pods of {self._who} have been pending for {self._watch.pending_after}: they wait for "
            "quota, for nodes, or for a place where the whole group fits.",
            self._watch.pending_after,
        )
        yield self._alert(
            CORDONED,
            sets.cordoned,
            "warning",
            "A group runs on a node that takes no new pods.",
            f"Node {{{{ $labels.node }}}} is cordoned and still runs {{{{ $value }}}} pods of {self._who}: a drain "
            "waits for this group, or the node was forgotten.",
            limits.cordoned,
        )

    def _of_autoscaler(self, workload: WorkloadPlan) -> Iterator[Alert]:
        limits, scaling = self._watch.limits, workload.role.scaling
        if scaling is None:
            return
        if scaling.highest > scaling.lowest:
            yield self._alert(
                AT_MAXIMUM,
                queries.at_maximum(self.exporter, scaling.autoscaler),
                "warning",
                f"An autoscaler wants as many {self._groups} as it may have.",
                f"The autoscaler of {self._who} has wanted its maximum of {{{{ $value }}}} {self._groups} for "
                f"{limits.at_maximum}: more load finds no more capacity.",
                limits.at_maximum,
            )
        yield self._alert(
            BLIND,
            queries.blind(self.exporter, scaling.autoscaler, rests=not scaling.lowest),
            "warning",
            "An autoscaler cannot read its metric.",
            f"The autoscaler of {self._who} has had no value of {scaling.metric} for {self._watch.no_signal_after}, so "
            f"the number of {self._groups} stays as it is.",
            self._watch.no_signal_after,
        )
        if scaling.keda is not None:
            # With a fallback KEDA always has a value, and the autoscaler it makes is never blind.
            rests = not scaling.lowest
            asked = scaling.keda.triggers[-1 if rests else 0]
            yield self._alert(
                SIGNAL_LOST,
                queries.signal_lost(self.exporter, scaling.autoscaler, asked.query, rests=rests),
                "warning",
                "KEDA scales without an answer from Prometheus.",
                f"KEDA's query {asked.name} of {self._who} has had no result for {self._watch.no_signal_after}, so the "
                f"number of {self._groups} no longer follows the load"
                + (", and a request that waits brings none." if rests else "."),
                self._watch.no_signal_after,
            )
