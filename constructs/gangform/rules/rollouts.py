"""Rollouts of sets, and what they reach: some group moves, not all of them stop, the highest index has a name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from gangform.apis import kueue
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView
from gangform.apis.views import Documents, form_of
from gangform.documents.document import sequence
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import queue_label
from gangform.rules.joins import (
    SETS,
    is_percent,
    most_groups,
    over_groups,
    rollout,
    rolls_in_place,
    scaler_for,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

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
    "The surge never happens, and the rollout takes every group down at once",
    Severity.DEGRADES,
    "lws §3; lab E2",
)
NAME = declare(
    "name-exceeds-bound",
    "A name too long for the labels of the highest group: its workers are never made",
    Severity.BREAKS,
    "lws §2e; lab E9, kueue §2.3",
)
PRUNED = declare(
    "field-pruned-by-release",
    "A field or value that the declared release of LWS does not have",
    Severity.BREAKS,
    "lws §13.1",
)

_RESTART: Final = ("leaderWorkerTemplate", "restartPolicy")
_CLAIMS: Final = ("leaderWorkerTemplate", "volumeClaimTemplates")
_ROLLING: Final = ("rolloutStrategy", "rollingUpdateConfiguration")
_DNS_1035: Final = re.compile(r"^[a-z]([a-z0-9-]*[a-z0-9])?$")


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
    """A surge that is asked for happens."""
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
    elif not _DNS_1035.match(group.name):
        yield Fault(
            path=("metadata", "name"),
            what=f"`{group.name}` is not a DNS label that starts with a letter",
            fix="use a-z, 0-9 and -, with a letter first",
        )


@rule(PRUNED, kinds=SETS, needs=("versions",))
@over_groups
def field_pruned_by_release(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The declared release has every field that is written."""
    release = context.versions.lws if context.versions is not None else None
    if release is None:
        return
    used: list[tuple[str, Path]] = []
    if group.word(*_RESTART) == lws.AFTER_START:
        used.append((lws.AFTER_START, (*group.at, *_RESTART)))
    if sequence(group.part(*_CLAIMS)):
        used.append(("volumeClaimTemplates", (*group.at, *_CLAIMS)))
    if group.part(*_ROLLING, "partition"):
        used.append(("partition", (*group.at, *_ROLLING, "partition")))
    for name, path in used:
        if not lws.FIELDS.has(name, release):
            row = lws.FIELDS.rows[name]
            yield Fault(
                path=path,
                what=f"{name} exists from LWS {row.since} on; the cluster runs {release}",
                fix=f"remove it, or run LWS {row.since}",
                seen={"since": str(row.since), "runs": str(release)},
            )
