"""The alert that a group has nowhere to be rebuilt: free GPUs are no free nodes, and free nodes no free domain.

Where the pool is to keep a spare group, it says so before a group is lost. Where no spare was promised, a full pool is
as planned, and it says so while pods of a group wait for it.
"""

from collections.abc import Iterator

from gangform.apis import alerting
from gangform.apis.alerting import Alert
from gangform.apis.promql import Exporter, boxed, equal, like
from gangform.plan.room import RoomPlan
from gangform.plan.serving import ServingPlan
from gangform.signals.queries import GroupSets
from gangform.signals.replicas import replicas_of

NO_ROOM = "ServingNoRoomToRebuild"

NAMES = (NO_ROOM,)
"""Every alert of this source."""


def alerts(plan: ServingPlan) -> Iterator[Alert]:
    """The alert, where anything true can be said."""
    watch, room, size = plan.monitoring, plan.monitoring.room, plan.lead.shape.size
    replicas = replicas_of(plan)
    # Nobody knows which pods of a Deployment wait for a node.
    if room.unseen or not (room.spare or isinstance(replicas, GroupSets)):
        return
    free = boxed(
        f"0 * ({replicas.wanted} > 0)\n+ on () group_left ()\n"
        f"{boxed(free_places(replicas.exporter, room))}"
    )
    if room.spare:
        quiet = boxed(replicas.moving(watch.quiet_window))
        expr = f"{free} < {size}\nunless on (namespace)\n{quiet}"
        means = "the spare group that the pool is to keep has no place, and a group that loses a node stays away"
        after = watch.limits.no_room
    else:
        assert isinstance(replicas, GroupSets)
        expr = (
            f"{free}\n< on (namespace)\n{replicas.waiting}"
            if room.level is None
            else f"{free} < {size}\nand on (namespace)\n{replicas.waiting}"
        )
        means = "pods of a group wait for a node until others go"
        after = watch.pending_after
    where = "its pool together" if room.level is None else f"the emptiest domain of {room.level}"
    yield Alert(
        name=NO_ROOM,
        expr=expr,
        for_=after,
        severity="warning",
        summary="A group has nowhere to be rebuilt.",
        description=f"The free nodes of {where} have room for {{{{ $value }}}} more of the pods of {plan.name} in "
        f"namespace {{{{ $labels.namespace }}}}, and a group is {size} of {room.taken} GPUs: {means}.",
    )


def free_places(exporter: Exporter, room: RoomPlan) -> str:
    """How many pods of a group free nodes could take: all together, or those of the domain that could take the most.

    Nodes that are not Ready or cordoned take none. It is 0 where there is no other node, and nothing where the exporter
    knows none at all, or no label that they are told apart by.
    """
    resource = equal("resource", alerting.resource_label(room.resource))
    offers = f"max by (node) ({exporter.everywhere(alerting.NODE_OFFERS, resource)})"
    asked = exporter.everywhere(alerting.POD_REQUESTS, resource, 'node!=""')
    alive = exporter.everywhere(alerting.POD_PHASE, like("phase", "Pending|Running"))
    taken = "sum by (node) " + boxed(
        f"max by (namespace, pod, uid, container, node) ({asked})\n"
        f"* on (namespace, pod, uid) group_left ()\n"
        f"max by (namespace, pod, uid) ({alive} == 1)"
    )
    taken = boxed(f"{taken}\nor on (node)\n0 * {offers}")
    left = f"({offers} == {room.offered})\n- on (node)\n{taken}"
    nodes = [
        f"floor({boxed(left)} / {room.taken})",
        f"and on (node)\n(max by (node) ({_ready(exporter)}) == 1)",
        f"unless on (node)\n(max by (node) ({exporter.everywhere(alerting.NODE_UNSCHEDULABLE)}) == 1)",
    ]
    if room.labels:
        told = (equal(alerting.node_label(key), value) for key, value in room.labels.items())
        nodes.append(f"and on (node)\n{exporter.everywhere(alerting.NODE_LABELS, *told)}")
    places = boxed("\n".join(nodes))
    named = [
        f'{alerting.node_label(key)}!=""' for key in (*room.labels, *filter(None, [room.level]))
    ]
    known = exporter.everywhere(
        alerting.NODE_LABELS if named else alerting.NODE_UNSCHEDULABLE, *named
    )
    known = f"0 * count({known})"
    if room.level is None:
        return f"sum {places}\nor\n{known}"
    level = alerting.node_label(room.level)
    lies = exporter.everywhere(alerting.NODE_LABELS, f'{level}!=""')
    joined = f"{places}\n* on (node) group_left ({level})\nmax by (node, {level}) ({lies})"
    return f"max(sum by ({level}) {boxed(joined)})\nor\n{known}"


def _ready(exporter: Exporter) -> str:
    matchers = equal("condition", "Ready"), equal("status", "true")
    return exporter.everywhere(alerting.NODE_CONDITION, *matchers)
