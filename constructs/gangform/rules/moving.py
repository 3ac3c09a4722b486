"""Who may move groups: drains where a group has no budget, and node autoscalers where a pod does not say no.

Both count pods, and either takes a whole group with the first pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView
from gangform.apis.node_autoscalers import NODE_AUTOSCALERS
from gangform.apis.views import Documents
from gangform.documents.document import dig
from gangform.findings import Severity, counted, declare
from gangform.rules.joins import (
    SETS,
    base_groups,
    match_labels,
    over_groups,
    own_workers,
    rollout,
    scaler_for,
    within,
)
from gangform.rules.rule import Context, Fault, rule

WITHOUT = declare(
    "groups-without-budget",
    "Beside groups with a budget each, more have none than a rollout takes down: drains take them together",
    Severity.DEGRADES,
    "lab E3; design §4 Disruption",
)
IN_PART = declare(
    "autoscaler-kept-from-part",
    "One template keeps the node autoscaler away and the other does not: the group goes with the other's node",
    Severity.DEGRADES,
    "observability §5; Cluster Autoscaler: FAQ; Karpenter: Disruption",
)

_SHOWN: Final = 8
"""Groups that a message lists."""


@rule(WITHOUT, kinds=SETS)
@over_groups
def groups_without_budget(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Where groups have budgets of their own, no more are left without than may be missing."""
    groups = base_groups(documents, group)
    if scaler_for(documents, group) is not None or group.replicas is None or group.copies > 1:
        return
    kept: set[str] = set()
    for budget in within(documents, "PodDisruptionBudget", group.namespace):
        labels = match_labels(dig(budget.manifest, "spec", "selector"))
        if labels is None:
            return  # Expressions may select any group.
        if group.leader.matches(labels):
            if lws.GROUP_INDEX not in labels:
                return  # It covers all groups, or leaders alone: other rules judge that.
            kept.add(labels[lws.GROUP_INDEX])
    free = [index for index in range(groups) if str(index) not in kept]
    allowed = max(1, rollout(group, groups)[1])
    if kept and allowed < len(free) < groups:
        listed = ", ".join(map(str, free[:_SHOWN])) + (" …" if len(free) > _SHOWN else "")
        yield Fault(
            path=(*group.at, "replicas"),
            what=f"{counted(len(free), 'group')} of {groups} ({listed}) have no budget, and a rollout takes down "
            f"{allowed} at the most: a drain of their nodes takes {len(free)} together",
            fix=f"write a budget with minAvailable: {group.size} for each of them but {allowed}",
            seen={"without": str(len(free)), "allowed": str(allowed), "groups": str(groups)},
        )


@rule(IN_PART, kinds=SETS)
@over_groups
def autoscaler_kept_from_part(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What keeps a node autoscaler away stands on every pod of a group."""
    workers = own_workers(group)
    if workers is None or group.size < 2:
        return
    for nodes in NODE_AUTOSCALERS.values():
        values = [pod.annotations.get(nodes.key, "") for pod in (group.leader, workers)]
        stays = [value == nodes.keeps for value in values]
        if stays[0] != stays[1]:
            open_, role = (workers, "workers") if stays[0] else (group.leader, "leader")
            yield Fault(
                path=(*open_.path, "metadata", "annotations"),
                what=f"{nodes.key} is {values[stays[0]] or 'not there'} on the {role}, and "
                f"{nodes.keeps} on the other pods: {nodes.title} may take a node of the {role}, and with it the group",
                fix=f'write {nodes.key}: "{nodes.keeps}" in both templates',
            )
