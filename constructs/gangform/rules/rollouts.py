"""Rollouts of sets, and what they reach: some group moves, not all of them stop, the highest index has a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis import kueue
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView
from gangform.apis.metadata import is_dns_label
from gangform.apis.views import Documents, form_of
from gangform.findings import Severity, declare
from gangform.rules.demand import queue_label
from gangform.rules.joins import (
    SETS,
    is_percent,
    is_set,
    most_groups,
    over_groups,
    rollout,
    rolls_in_place,
    scaler_for,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule

NO_MOVE = declare(
    "rollout-of-nothing",
    "Neither surge nor unavailable groups: the webhook refuses the set",
    Severity.BREAKS,
    "lws §2b; lab E9",
)
PERCENT = declare(
    "rollout-in-percent",
    "Percentages of groups round to 0 or 1 as the set scales; whole numbers say what happens",
    Severity.STYLE,
    "lws §3",
)
OUTAGE = declare(
    "rollout-stops-all-groups",
    "The rollout takes every group down at once: there is no surge, or none that ever happens",
    Severity.DEGRADES,
    "lws §3; lab E2",
)
REFUSED = declare(
    "rollout-refused",
    "A surge or a number of unavailable groups that the webhook refuses",
    Severity.BREAKS,
    "lws §2b; lab E9",
)
HELD = declare(
    "partition-holds-all-groups",
    "A partition at or above the number of groups: no group is ever updated",
    Severity.DEGRADES,
    "lws §3; lws#614; lab E9",
)
COLLIDE = declare(
    "set-names-collide",
    "A set is called like a group of another: both controllers want the same pods and StatefulSet",
    Severity.BREAKS,
    "lws §1; observability §1.2",
)
NAME = declare(
    "name-exceeds-bound",
    "A name too long for the labels of the highest group: its workers are never made",
    Severity.BREAKS,
    "lws §2e; lab E9, kueue §2.3",
)
_ROLLING: Final = ("rolloutStrategy", "rollingUpdateConfiguration")
_WHOLE: Final = 100


@rule(NO_MOVE, kinds=SETS)
@over_groups
def rollout_of_nothing(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Some group may surge or be missing."""
    replicas = most_groups(documents, group)
    least = 1 if group.replicas is None else group.replicas
    if least and replicas and rollout(group, least) == (0, 0):
        share = " rounded down" if is_percent(group.unavailable) else ""
        yield Fault(
            path=(*group.at, *_ROLLING, "maxUnavailable"),
            what=f"maxSurge is 0 and maxUnavailable is 0{share}, with {least} groups",
            fix="write maxUnavailable: 1",
        )


@rule(PERCENT, kinds=SETS)
@over_groups
def rollout_in_percent(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Surge and unavailability are whole numbers of groups."""
    for field, value in (("maxSurge", group.surge), ("maxUnavailable", group.unavailable)):
        if is_percent(value):
            replicas = max(1, most_groups(documents, group))
            now = rollout(group, replicas)[0 if field == "maxSurge" else 1]
            yield Fault(
                path=(*group.at, *_ROLLING, field),
                what=f"{field} {value} is {now} of {replicas} groups",
                fix=f"write {field}: {now}",
            )


@rule(OUTAGE, kinds=SETS)
@over_groups
def rollout_stops_all_groups(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A surge that is asked for happens, and without one some groups are left to serve."""
    if scaler_for(documents, group) is not None or not rolls_in_place(group):
        return
    replicas = most_groups(documents, group)
    surge, gone = rollout(group, replicas)
    peak = lws.peak_groups(replicas, surge=surge, unavailable=gone)
    if (
        replicas
        and surge
        and peak == replicas
        and not lws.serving_groups(replicas, unavailable=gone)
    ):
        yield Fault(
            path=(*group.at, *_ROLLING, "maxUnavailable"),
            what=f"with {replicas} groups, maxSurge {surge} and maxUnavailable {gone} the peak "
            f"is {peak} groups: no group surges, and 0 serve during a rollout",
            fix="write maxUnavailable: 0",
            seen={"peak": str(peak), "serving": "0"},
        )
    elif replicas > 1 and not surge and gone >= replicas:
        yield Fault(
            path=(*group.at, *_ROLLING, "maxUnavailable"),
            what=f"with {replicas} groups and maxUnavailable {gone} all of them may go at once: 0 serve during a "
            "rollout",
            fix="write maxUnavailable: 1",
            seen={"peak": str(replicas), "serving": "0"},
        )


@rule(NAME, kinds=WORKLOADS)
@over_groups
def name_exceeds_bound(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The name fits the labels of the group with the highest index."""
    form = form_of(group.kind)
    if form is None or not form.can.runs_groups:
        return
    most = most_groups(documents, group)
    highest = max(0, most + rollout(group, most)[0] - 1)
    bound, whose = form.longest_name(size=group.size, highest_index=highest), group.kind
    release = context.versions.kueue if context.versions is not None else None
    if queue_label(group) and release is not None:
        managed = kueue.longest_name(release, highest_index=highest)
        if managed is not None and managed < bound:
            bound, whose = managed, f"Kueue {release}"
    if (length := len(group.name) + group.added) > bound:
        made = f", with {group.added} around it for role {group.role}," if group.added else ""
        yield Fault(
            path=("metadata", "name"),
            what=f"the name has {len(group.name)} characters{made or ';'} {whose} bears {bound} with "
            f"groups 0 to {highest} of size {group.size}",
            fix=f"shorten it by {length - bound}: "
            f"{group.name[: max(1, bound - group.added)].rstrip('-')}",
            seen={"length": str(length), "bound": str(bound)},
        )
    elif not is_dns_label(group.name, letter_first=True):
        yield Fault(
            path=("metadata", "name"),
            what=f"`{group.name}` is not a DNS label that starts with a letter",
            fix="use a-z, 0-9 and -, with a letter first",
        )


@rule(REFUSED, kinds=SETS)
@over_groups
def rollout_refused(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Surge and unavailability are numbers of groups, or shares up to 100 %."""
    for field, value in (("maxSurge", group.surge), ("maxUnavailable", group.unavailable)):
        if value is None or isinstance(value, bool):
            continue
        share = re.fullmatch(r"([0-9]{1,6})%", value) if isinstance(value, str) else None
        why = ""
        if isinstance(value, int):
            why = f"{field} {value} is negative" if value < 0 else ""
        elif isinstance(value, str) and share is None:
            why = f"{field} `{value}` is neither a whole number nor a share in percent"
        elif share is not None and int(share[1]) > _WHOLE:
            why = f"{field} {value} is more than {_WHOLE} %"
        if why:
            yield Fault(
                path=(*group.at, *_ROLLING, field),
                what=why,
                fix=f"write {field}: {0 if field == 'maxSurge' else 1}",
            )


@rule(HELD, kinds=SETS)
@over_groups
def partition_holds_all_groups(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A canary leaves some group to the new revision."""
    held = group.part(*_ROLLING, "partition")
    groups = most_groups(documents, group)
    if isinstance(held, int) and groups and held >= groups:
        yield Fault(
            path=(*group.at, *_ROLLING, "partition"),
            what=f"partition {held} keeps the {groups} groups 0 to {groups - 1} at the old revision",
            fix=f"write partition: {groups - 1} for a canary of one group, or 0",
            seen={"partition": str(held), "groups": str(groups)},
        )


@joined
def _sets(documents: Documents) -> dict[tuple[str, str], GroupView]:
    """Sets that give their groups names after their own, by namespace and name."""
    return {
        (group.namespace, group.name): group
        for group in documents.groups()
        if is_set(group) and not group.added
    }


_INDEX: Final = re.compile("0|[1-9][0-9]{0,8}")
"""The index of a group, as the controller writes it."""


@rule(COLLIDE, kinds=SETS)
@over_groups
def set_names_collide(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """No set is called like a group of another set of its namespace."""
    stem, _, index = group.name.rpartition("-")
    other = _sets(documents).get((group.namespace, stem))
    if other is None or group.added or not _INDEX.fullmatch(index):
        return
    most = most_groups(documents, other)
    if int(index) < most + rollout(other, most)[0]:
        yield Fault(
            path=("metadata", "name"),
            what=f"group {index} of {stem} is called {group.name} too",
            fix=f"rename this set: {stem}-{'abcdefghij'[int(index[-1])]}",
        )
