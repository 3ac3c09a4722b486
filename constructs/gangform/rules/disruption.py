"""Budgets: what the disruption controller counts is pods, and what an eviction takes is a group.

The arithmetic is that of `lws §8` and `observability §5`, seen row by row in `lab E3`: with maxUnavailable or a
percentage the controller expects the replicas of every owner of a matching pod, so R + S - 1 pods for one group of S.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, mapping, text, whole
from gangform.findings import Path, Severity, counted, declare
from gangform.rules.joins import (
    amount,
    base_groups,
    gpus,
    groups_behind,
    is_percent,
    is_set,
    match_labels,
    most_groups,
    scaler_for,
    surely,
)
from gangform.rules.rule import Context, Fault, joined, rule

OVERLAP = declare(
    "budgets-overlap",
    "Two budgets match one pod: every eviction of it is answered with an error",
    Severity.BREAKS,
    "lab E3; observability §5",
)
GROUP_FORM = declare(
    "budget-per-group-never-met",
    "A budget of one group in maxUnavailable or percent expects R + S - 1 pods and blocks for ever",
    Severity.BREAKS,
    "lab E3; lws §8",
)
GROUP_SIZE = declare(
    "budget-per-group-size",
    "A budget of one group keeps fewer or more pods than the group has",
    Severity.DEGRADES,
    "lab E3",
)
GROUP_SCALED = declare(
    "budget-per-group-scaled",
    "A budget of one group on a set that an autoscaler changes: new groups have none, absent ones alarm",
    Severity.DEGRADES,
    "observability §5",
)
GROUP_ABSENT = declare(
    "budget-of-absent-group",
    "A budget of a group that the set does not have alarms for ever",
    Severity.DEGRADES,
    "observability §2, §5; lab E3",
)
LEADERS_ONLY = declare(
    "budget-of-leaders-only",
    "A budget matches leaders alone: workers are evicted freely and take their groups along",
    Severity.DEGRADES,
    "lab E3",
)
MANY_GROUPS = declare(
    "budget-allows-many-groups",
    "A budget lets several pods go at once, which may be one of several groups each",
    Severity.DEGRADES,
    "lab E3; observability §5",
)
BLOCKS = declare(
    "budget-blocks-when-broken",
    "A budget over the whole set in pods leaves no eviction once a pod is broken or the set changes",
    Severity.DEGRADES,
    "lws §8",
)
PERCENT = declare(
    "budget-in-percent",
    "A budget over a set in percent counts pods and moves with the number of groups",
    Severity.DEGRADES,
    "design §4 Disruption; lws §8",
)
UNHEALTHY = declare(
    "budget-keeps-broken-pods",
    "Without AlwaysAllow a broken group blocks the drains that would cure it",
    Severity.DEGRADES,
    "lab E3; observability §5",
)

_PATHS: Final[dict[str, Path]] = {
    "minAvailable": ("spec", "minAvailable"),
    "maxUnavailable": ("spec", "maxUnavailable"),
}
_ALWAYS: Final = "AlwaysAllow"
_FIX: Final = (
    "write one budget for the set: maxUnavailable: 1 and unhealthyPodEvictionPolicy: AlwaysAllow"
)


class Cover(NamedTuple):
    """What a budget means for one set of groups."""

    group: GroupView
    leaders: bool
    workers: bool
    group_index: str | None
    """The one group that it selects; `None` for all of them."""


@joined
def _budgets(documents: Documents) -> dict[int, dict[str, str]]:
    """The labels of every budget that has no expressions, by document."""
    found = {}
    for document in documents.of("PodDisruptionBudget"):
        labels = match_labels(dig(document.manifest, "spec", "selector"))
        if labels is not None:
            found[id(document)] = labels
    return found


@joined
def _matched(documents: Documents) -> dict[tuple[int, Path, str], list[Document]]:
    """The budgets of each kind of pod, in the order of the documents."""
    found: dict[tuple[int, Path, str], list[Document]] = {}
    for document in documents.of("PodDisruptionBudget"):
        labels = _budgets(documents).get(id(document))
        if labels is not None:
            for pod in documents.pods(document.key.namespace, labels):
                found.setdefault(_pod_key(pod), []).append(document)
    return found


def _pod_key(pod: PodView) -> tuple[int, Path, str]:
    return id(pod.document), pod.path, pod.role


def _covers(budget: Document, documents: Documents) -> list[Cover]:
    labels = _budgets(documents).get(id(budget))
    if labels is None:
        return []
    return [
        Cover(
            group,
            group.leader.matches(labels),
            group.workers is not None and group.workers.matches(labels),
            labels.get(lws.GROUP_INDEX) if is_set(group) else None,
        )
        for group in groups_behind(documents, documents.pods(budget.key.namespace, labels))
    ]


def _form(budget: Document) -> tuple[str, int | str] | None:
    """The field of a budget and its value; `None` where it has neither."""
    for name in _PATHS:
        value = dig(budget.manifest, "spec", name)
        if isinstance(value, (int, str)) and not isinstance(value, bool):
            return name, value
    return None


@rule(OVERLAP, kinds=("PodDisruptionBudget",))
def budgets_overlap(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A pod has one budget at most."""
    mine = _budgets(documents).get(id(subject))
    if mine is None:
        return
    said: set[int] = set()
    for pod in documents.pods(subject.key.namespace, mine):
        for other in _matched(documents).get(_pod_key(pod), ()):
            if other is subject:
                break
            theirs = _budgets(documents)[id(other)]
            apart = any(
                key in theirs and theirs[key] != mine[key] for key in mine if key in pod.varying
            )
            if not apart and id(other) not in said:
                said.add(id(other))
                yield Fault(
                    path=("spec", "selector"),
                    what=f"pods of {pod.document.kind} {pod.document.key.name} are matched by "
                    f"{other.kind} {other.key.name} too",
                    fix="keep one of the two budgets",
                    seen={"other": other.key.name},
                )


@rule(GROUP_FORM, kinds=("PodDisruptionBudget",))
def budget_per_group_never_met(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A budget of one group is a whole number of pods in minAvailable."""
    form = _form(subject)
    for cover in _covers(subject, documents) if form else ():
        if cover.group_index is None or form is None:
            continue
        name, value = form
        if name == "minAvailable" and not is_percent(value):
            continue
        size, groups = cover.group.size, max(1, most_groups(documents, cover.group))
        expected = lws.budget_expects(groups, size)
        part = amount(value, expected, up=True)
        if part is None:
            continue
        desired = part if name == "minAvailable" else expected - part
        if size - desired <= 0:
            yield Fault(
                path=_PATHS[name],
                what=f"{name} {value} of {groups} + {size} - 1 = {expected} expected pods needs "
                f"{desired} healthy ones, and group {cover.group_index} has {size}: no pod can ever be "
                "evicted, broken ones included",
                fix=f"{_FIX}; or keep every group where it is with minAvailable: {size}",
                seen={"expected": str(expected), "desired": str(desired), "size": str(size)},
            )


@rule(GROUP_SIZE, kinds=("PodDisruptionBudget",))
def budget_per_group_size(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A budget of one group keeps the whole group."""
    least = whole(subject.manifest, "spec", "minAvailable")
    for cover in _covers(subject, documents):
        size = cover.group.size
        if cover.group_index is None or least is None or least == size:
            continue
        yield Fault(
            path=_PATHS["minAvailable"],
            what=f"minAvailable {least} of {size} pods "
            + (
                "lets each group lose one, in all groups at once"
                if least < size
                else "is never met, so that broken pods stay too"
            ),
            fix=f"write minAvailable: {size}",
            seen={"minAvailable": str(least), "size": str(size)},
        )


@rule(GROUP_SCALED, kinds=("PodDisruptionBudget",))
def budget_per_group_scaled(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A set that an autoscaler changes has one budget for all groups."""
    for cover in _covers(subject, documents):
        scaler = scaler_for(documents, cover.group)
        if cover.group_index is not None and scaler is not None:
            yield Fault(
                path=("spec", "selector"),
                what=f"group {cover.group_index} of {cover.group.title} comes and goes with "
                f"{scaler.document.key.name}, between {scaler.least} and {scaler.most} groups",
                fix=_FIX,
            )


@rule(GROUP_ABSENT, kinds=("PodDisruptionBudget",))
def budget_of_absent_group(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A budget of one group has its group."""
    for cover in _covers(subject, documents):
        if cover.group_index is None or scaler_for(documents, cover.group) is not None:
            continue
        groups = most_groups(documents, cover.group)
        if cover.group_index not in map(str, range(groups)):
            yield Fault(
                path=("spec", "selector"),
                what=f"{cover.group.title} has {groups} groups, from 0; the budget is for group "
                f"{cover.group_index}",
                fix="remove this budget",
                seen={"groups": str(groups), "index": cover.group_index},
            )


@rule(LEADERS_ONLY, kinds=("PodDisruptionBudget",))
def budget_of_leaders_only(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A budget of a set covers its workers."""
    for cover in _covers(subject, documents):
        group = cover.group
        labels = _budgets(documents).get(id(subject), {})
        alone = group.workers is not None and not group.workers.matches(labels)
        if is_set(group) and group.size > 1 and alone and surely(group.leader, labels):
            yield Fault(
                path=("spec", "selector"),
                what=f"no budget covers the {counted(group.size - 1, 'worker')} of each group of {group.title}",
                fix="select every pod of the set: "
                + ", ".join(f"{key}: {value}" for key, value in group.selectors.pods.items()),
            )


def _whole_sets(budget: Document, documents: Documents) -> Iterator[Cover]:
    for cover in _covers(budget, documents):
        if (
            is_set(cover.group)
            and cover.group.size > 1
            and cover.group_index is None
            and cover.workers
        ):
            yield cover


@rule(MANY_GROUPS, kinds=("PodDisruptionBudget",))
def budget_allows_many_groups(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A budget over a set lets one group go at a time."""
    form = _form(subject)
    for cover in _whole_sets(subject, documents) if form else ():
        allowed = _allowed(cover, form, most_groups(documents, cover.group)) if form else 0
        groups, size = most_groups(documents, cover.group), cover.group.size
        if allowed > 1 and groups > 1 and form:
            yield Fault(
                path=_PATHS[form[0]],
                what=f"{groups} groups of {size} are {groups * size} pods: {form[0]} {form[1]} "
                f"allows {counted(allowed, 'eviction')} at once, which may take "
                f"{min(allowed, groups)} groups",
                fix=_FIX,
                seen={"evictions": str(allowed), "groups": str(min(allowed, groups))},
            )


def _allowed(cover: Cover, form: tuple[str, int | str], groups: int) -> int:
    """Evictions that a budget over the whole set allows at once while every pod is healthy."""
    pods = groups * cover.group.size
    part = amount(form[1], pods, up=True)
    if part is None:
        return 0
    return min(pods, part) if form[0] == "maxUnavailable" else max(0, pods - part)


@rule(BLOCKS, kinds=("PodDisruptionBudget",))
def budget_blocks_when_broken(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A budget over a set follows its groups."""
    form = _form(subject)
    for cover in _whole_sets(subject, documents) if form else ():
        groups = base_groups(documents, cover.group)
        if not form or form == ("maxUnavailable", 1) or not groups:
            continue
        pods = groups * cover.group.size
        if groups == 1 and form == ("minAvailable", pods):
            continue  # The budget of one group, on a set that has one: kept where it is on purpose.
        if _allowed(cover, form, groups) <= 1 and not (
            form[0] == "maxUnavailable" and amount(form[1], pods, up=True) == 1
        ):
            left = _allowed(cover, form, groups)
            yield Fault(
                path=_PATHS[form[0]],
                what=f"{form[0]} {form[1]} of {groups} × {cover.group.size} = {pods} pods leaves "
                f"{counted(left, 'eviction')}, and 0 once a pod is broken",
                fix=_FIX,
                seen={"pods": str(pods), "evictions": str(left)},
            )


@rule(PERCENT, kinds=("PodDisruptionBudget",))
def budget_in_percent(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A budget over a set is a whole number, where no worse is said of it."""
    form = _form(subject)
    if form is None or not is_percent(form[1]):
        return
    for cover in _whole_sets(subject, documents):
        groups = most_groups(documents, cover.group)
        allowed = _allowed(cover, form, groups)
        # More in several groups is `budget-allows-many-groups`, none `budget-blocks-when-broken`.
        single = allowed == 1 and form[0] == "maxUnavailable"
        if single or (allowed > 1 and groups == 1):
            pods = groups * cover.group.size
            yield Fault(
                path=_PATHS[form[0]],
                what=f"{form[0]} {form[1]} of {groups} × {cover.group.size} = {pods} pods allows "
                f"{counted(allowed, 'eviction')} now, and another number with another number of groups",
                fix=_FIX,
                seen={"pods": str(pods), "evictions": str(allowed)},
            )


@rule(UNHEALTHY, kinds=("PodDisruptionBudget",))
def budget_keeps_broken_pods(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A broken pod of a group can be evicted."""
    policy = text(mapping(subject.manifest, "spec"), "unhealthyPodEvictionPolicy")
    if policy == _ALWAYS:
        return
    for cover in _covers(subject, documents):
        if (is_set(cover.group) and cover.group.size > 1) or gpus(documents, cover.group.leader):
            yield Fault(
                path=("spec", "unhealthyPodEvictionPolicy"),
                what=f"unhealthyPodEvictionPolicy is {policy or 'IfHealthyBudget by default'}",
                fix=f"write unhealthyPodEvictionPolicy: {_ALWAYS}",
            )
            return
