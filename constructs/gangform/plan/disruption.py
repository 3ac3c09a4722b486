"""What an eviction is answered, and what a drain takes down.

A budget counts pods, a replica is a group. One budget for the set with `maxUnavailable: 1` lets drains take one
whole group after another; a budget per group in an integer `minAvailable` keeps every healthy group where it is.
All other forms look right and are not: in percent or `maxUnavailable` the controller expects R + S - 1 pods of a
group of S and blocks for ever (`lab E3`).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from gangform.admission.admission import Policy
from gangform.apis.forms import Form
from gangform.apis.node_autoscalers import NODE_AUTOSCALERS
from gangform.findings import Finding, InputPath, Path, Severity, counted, declare
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.plan.identity import IdentityPlan
from gangform.plan.pods import PodsPlan

PER_GROUP_AUTOSCALED = declare(
    "budget-per-group-with-autoscaler",
    "A budget per group cannot follow an autoscaler: groups it adds have none, and an absent group alarms",
    Severity.BREAKS,
    "observability §5",
)
PER_GROUP_FORM = declare(
    "budget-needs-groups",
    "A budget per group needs pods that carry the index of their group",
    Severity.BREAKS,
    "lws §8",
)
RELEASED_UNKNOWN = declare(
    "released-group-unknown",
    "Only a group that exists can be released from its budget",
    Severity.BREAKS,
    "design §4 Disruption",
)
RELEASED_SERIAL = declare(
    "released-without-per-group",
    "Groups can be released only where each has a budget of its own",
    Severity.BREAKS,
    "design §4 Disruption",
)
RELEASED_ALL = declare(
    "released-all-groups",
    "With every group released no budget is left, and drains take all groups at once",
    Severity.BREAKS,
    "lab E3; design §4 Disruption",
)
RELEASED_BEYOND = declare(
    "released-beyond-plan",
    "Drains may take more groups together than a rollout takes down",
    Severity.BREAKS,
    "lab E3; design §4 Disruption",
)
TOO_MANY = declare(
    "groups-too-many-apart",
    "A set or a budget for each group is an object a group, which nobody looks after in such numbers",
    Severity.BREAKS,
    "design §4 Disruption",
)
LEADER_READY_HOLE = declare(
    "leader-ready-opens-budget",
    "With LeaderReady an eviction can take a second group for a moment while one is rebuilt",
    Severity.DEGRADES,
    "lab E3",
)


_UNDECLARED = "not declared: one that runs asks the budgets, as a drain does"


class Budget(NamedTuple):
    """One PodDisruptionBudget."""

    name: str
    selector: Mapping[str, str]
    min_available: int | None = None
    """An integer number of pods; or `max_unavailable`."""
    max_unavailable: int | None = None


class DisruptionPlan(NamedTuple):
    """The budgets of a serving, and what they mean."""

    budgets: tuple[Budget, ...]
    releasable: int
    """Groups that may be without a budget at once."""
    drain: str
    """What a drain will do, in one sentence."""
    autoscaler: str
    """What the node autoscaler will do, in one sentence; empty where the cluster says that it has none."""
    unstopped: str
    """What no budget stops."""


@formula("max(1, groups that a rollout may take down)", source="design §4 Disruption")
def releasable(unavailable: int) -> int:
    """Groups that may be without a budget at once: one, as a serial drain takes, or as many as an update takes."""
    return max(1, unavailable)


def derive(
    serving: Serving,
    *,
    identities: Sequence[IdentityPlan],
    form: Form,
    size: int,
    policy: Policy,
    unavailable: int,
    pods: PodsPlan,
    listed: int,
) -> DisruptionPlan:
    """The budgets of a serving whose workloads are `identities`.

    Args:
        serving: What is served.
        identities: Names and selectors of its workloads.
        form: The kind of the workloads.
        size: Pods a group.
        policy: Of the backend: what it evicts without asking a budget, and whether each group is a workload.
        unavailable: Groups that a rollout takes down.
        pods: What all pods share.
        listed: Groups at the most that get a budget each.
    """
    apart = policy.one_workload_per_group and form.can.runs_groups
    groups, lowest = serving.highest_groups, serving.lowest_groups
    released = serving.disruption.released if serving.disruption.mode == "perGroup" else ()
    if serving.disruption.mode == "perGroup":
        budgets = tuple(
            _per_group(serving, identities, index, size, apart)
            for index in range(min(groups, listed))
            if index not in released
        )
        drain = _drain_by_hand(released)
    else:
        selector = identities[0].pod_labels if apart else identities[0].selectors.pods
        whole = "group" if form.can.runs_groups else "pod"
        left = max(0, lowest - 1)
        least = " at the least" if lowest < groups else ""
        budgets = (Budget(name=serving.name, selector=selector, max_unavailable=1),)
        drain = (
            f"a drain takes one whole {whole} after another: {left} of {lowest}{least} keep serving"
            + ("" if left else ", so nothing serves until it is back")
        )
    return DisruptionPlan(
        budgets=budgets,
        releasable=releasable(unavailable),
        drain=drain,
        autoscaler=_by_nodes(pods, released),
        unstopped=_unstopped(policy.evictions, size),
    )


def _unstopped(evictions: str, size: int) -> str:
    """Everything that deletes pods without asking a budget, and what a budget always lets go (`lab E3`, `E7`)."""
    causes = [evictions] if evictions else []
    causes += ["preemption", "taints", "lost nodes", "scaling down", "rollouts"]
    causes += ["the rebuild of a group that lost a pod"] if size > 1 else []
    what = "group" if size > 1 else "pod"
    return (
        f"no budget stops {', '.join(causes)} or plain deletion; a {what} that is not ready may always be drained, "
        "also while it loads"
    )


def _by_nodes(pods: PodsPlan, released: Sequence[int]) -> str:
    """What the node autoscaler does with nodes that pods of the serving run on."""
    nodes = NODE_AUTOSCALERS.get(pods.autoscaler)
    if nodes is None:
        return "" if pods.autoscaler == "none" else _UNDECLARED
    said = pods.annotations.get(nodes.key, "")
    if said != nodes.keeps:
        return f"{nodes.title} may take nodes as the budgets allow: the pods' own annotations say {nodes.key}: {said}"
    text = f"{nodes.title} {nodes.leaves}"
    if released:
        # Within a set the template is one; between sets of one group another template would rebuild the group.
        text += ", released or not, since the annotation is part of the pod template"
    return f"{text}; {nodes.still}" if nodes.still else text


def _drain_by_hand(released: Sequence[int]) -> str:
    """What a drain does where each group has a budget, but for the released ones."""
    kept = (
        "no drain finishes while a healthy group with a budget is on the node; move one by releasing it or deleting "
        "its leader"
    )
    freed = ", ".join(str(index) for index in released)
    if not freed:
        return kept
    if len(released) == 1:
        return f"{kept}; group {freed} is released, and a drain takes it at once"
    return f"{kept}; groups {freed} are released, and drains take them at once, also all of them together"


def _per_group(
    serving: Serving,
    identities: Sequence[IdentityPlan],
    index: int,
    size: int,
    spread_over_workloads: bool,
) -> Budget:
    if spread_over_workloads:
        selector = identities[min(index, len(identities) - 1)].selectors.pods
    else:
        group = identities[0].selectors.group
        selector = identities[0].selectors.pods if group is None else group(index)
    return Budget(name=f"{serving.name}-group-{index}", selector=selector, min_available=size)


def check(
    plan: DisruptionPlan, serving: Serving, *, form: Form, listed: int, apart: bool, at: Path
) -> Iterator[Finding]:
    """Whether these budgets can do what they say.

    `listed`: groups at the most that get objects of their own; `apart`: whether each is a workload of its own.
    """
    asked, groups = serving.disruption, serving.highest_groups
    here = (*at, "disruption")
    if groups > listed and (apart or asked.mode == "perGroup"):
        yield Finding(
            code=TOO_MANY,
            at=InputPath((*at, "groups")),
            what=f"{groups} groups, each with a {'set' if apart else 'budget'} of its own; at most {listed} are made",
            fix=f"use at most {listed} groups, or "
            + ("a backend that keeps them in one set" if apart else "disruption mode serial"),
            seen={"groups": str(groups), "most": str(listed)},
        )
    if asked.mode == "serial":
        if asked.released:
            yield Finding(
                code=RELEASED_SERIAL,
                at=InputPath((*here, "released")),
                what=f"released {list(asked.released)} with mode serial, where one budget covers all groups",
                fix="leave it out, or use mode perGroup",
            )
        if serving.startup_policy == "LeaderReady" and form.can.recreates_groups:
            yield Finding(
                code=LEADER_READY_HOLE,
                at=InputPath((*at, "startupPolicy")),
                what="LeaderReady with a serial budget: between a new leader and its workers the budget "
                "allows one more eviction, for about 0.1 s",
                fix="use LeaderCreated, or disruption mode perGroup",
            )
        return
    if not form.can.has_group_label:
        yield Finding(
            code=PER_GROUP_FORM,
            at=InputPath((*here, "mode")),
            what=f"perGroup on a {form.kind}, whose pods carry no group index",
            fix="use serial",
        )
    if serving.autoscaling is not None:
        yield Finding(
            code=PER_GROUP_AUTOSCALED,
            at=InputPath((*here, "mode")),
            what=f"perGroup with {serving.autoscaling.min} to {serving.autoscaling.max} groups",
            fix="use serial, or fix the number of groups",
        )
    yield from _together(asked.released, groups, plan.releasable, (*here, "released"))
    for position, index in enumerate(asked.released):
        if index >= groups:
            yield Finding(
                code=RELEASED_UNKNOWN,
                at=InputPath((*here, "released", position)),
                what=f"group {index} is released, but the groups are 0 to {groups - 1}",
                fix=f"release an index below {groups}, or leave it out",
                seen={"released": str(index), "groups": str(groups)},
            )


def _together(released: Sequence[int], groups: int, planned: int, at: Path) -> Iterator[Finding]:
    """Whether the released groups are all there are, or more than may be missing."""
    free = [index for index in dict.fromkeys(released) if index < groups]
    listed = ", ".join(str(index) for index in free)
    if len(free) == groups and free:
        yield Finding(
            code=RELEASED_ALL,
            at=InputPath(at),
            what="the only group is released, so that no budget is left"
            if groups == 1
            else f"all {groups} groups are released, so that no budget is left",
            fix="release one group at a time, or use mode serial",
        )
    elif len(free) > planned:
        yield Finding(
            code=RELEASED_BEYOND,
            at=InputPath(at),
            what=f"groups {listed} are released: drains may take {len(free)} of {groups} groups together, and a "
            f"rollout takes down {planned} at the most",
            fix=f"release {counted(planned, 'group')}, and the next once what was released is back",
            seen={"released": str(len(free)), "planned": str(planned), "groups": str(groups)},
        )
