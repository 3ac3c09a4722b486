"""Nobody decides: each pod is scheduled for itself, and LWS's rebuild of groups is all that holds them together.

A required level is still kept, by LWS's exclusive topology: the leader takes a domain for its group alone, and the
workers follow it there (`lws §2d`, `lab E2`). A preferred one has nothing to express it with.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from gangform.admission.admission import Demand, Placement, Policy, Recognised, Stamp
from gangform.admission.checks import level_faults
from gangform.apis import leaderworkerset as lws
from gangform.apis.alerting import Alert
from gangform.apis.forms import GroupView
from gangform.documents.document import Manifest, mapping, text
from gangform.findings import Finding, Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults, Defaults

if TYPE_CHECKING:
    from gangform.admission.advice import Advice
    from gangform.apis.panels import Panel

HOLDS = "Nothing waits as one: a group that does not fit holds the nodes it got, idle, until the rest is free"
DEADLOCK = (
    "Two sets that surge at the same time can each hold part of the other's group and deadlock for good; roll them "
    "one after another, or keep room for all their surges"
)
EXCLUSIVE = (
    "Each group takes a whole domain of {level} for itself: no other set of this namespace with a required level "
    "enters it, and a domain too small for the workers keeps a lone leader"
)
SPREADS = "No backend prefers a level: the pods of a group may land in any domain of {level}"


class Nobody:
    """The backend that is none."""

    name: ClassVar[str] = "none"

    def policy(self, cluster: Cluster) -> Policy:
        """Everything is allowed, and nothing is promised."""
        return Policy(
            queued=False,
            needs_queue=False,
            surge_finishes=True,
            surges=True,
            gangs=False,
            scales=True,
            one_workload_per_group=False,
            longest_name=None,
            exclusive=True,
        )

    def advice(self, demands: Sequence[Demand], cluster: Cluster) -> Advice:
        """On nodes: nothing waits as one."""
        from gangform.admission.advice import Advice

        return Advice(
            waits="Nobody admits: pods are placed one by one, and a group that does not fit holds the nodes it got, "
            "idle, until the rest is free.",
            cures=("Free or add whole nodes; the event of a pending pod says what is lacking.",),
            never=(
                "Do not roll two servings of one pool at once: each may hold part of the other's group, for ever.",
            ),
        )

    def check(self, demand: Demand, cluster: Cluster) -> Iterator[Finding]:
        """The level must be one of the pool's: LWS validates no key (`lws §2b`)."""
        yield from level_faults(demand, cluster)

    def check_sum(self, demands: Sequence[Demand], cluster: Cluster) -> Iterator[Finding]:
        """Nothing is counted."""
        yield from ()

    def stamp(self, demand: Demand, cluster: Cluster) -> Stamp:
        """Exclusive topology for a required level; the rest is said in words."""
        if demand.size == 1:
            return Stamp()
        remarks = [HOLDS, DEADLOCK]
        placement = demand.placement
        if placement is None:
            return Stamp(remarks=tuple(remarks))
        if placement.mode == "preferred":
            return Stamp(remarks=(*remarks, SPREADS.format(level=placement.level)))
        return Stamp(
            owner_annotations={lws.EXCLUSIVE_TOPOLOGY: placement.level},
            remarks=(*remarks, EXCLUSIVE.format(level=placement.level)),
        )

    def recognise(self, group: GroupView) -> Recognised | None:
        """Every set that no other backend admits, with the domain that it asks for alone."""
        owner = mapping(group.document.manifest, *group.own, "annotations")
        level = text(owner, lws.EXCLUSIVE_TOPOLOGY)
        return Recognised(placement=Placement(level, "required") if level else None)

    def foundation(
        self, demands: Sequence[Demand], cluster: Cluster, *, defaults: Defaults
    ) -> Sequence[Manifest]:
        """Nothing."""
        return ()

    def panels(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Panel]:
        """There is no queue."""
        return ()

    def prerequisites(self, demands: Sequence[Demand], cluster: Cluster) -> Sequence[Prerequisite]:
        """Nothing."""
        return ()

    def alerts(
        self, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """Nothing: nobody lets groups in."""
        return ()

    def queue_alerts(
        self, queue: str, demands: Sequence[Demand], cluster: Cluster, limits: AlertDefaults
    ) -> Sequence[Alert]:
        """Nothing: there is no queue."""
        return ()
