"""How many groups, how they roll, who admits them: from the set and from the objects beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from gangform.admission.admission import recognised
from gangform.adopt.scaler import scaler
from gangform.adopt.subject import Subject, Unread
from gangform.apis.forms import GroupView
from gangform.apis.leaderworkerset import GROUP_INDEX, LEADER_READY
from gangform.documents.document import mapping, text

_POLICIES = ("RecreateGroupAfterStart", "RecreateGroupOnPodRestart", "None")
_ROLLING = ("rolloutStrategy", "rollingUpdateConfiguration")


def policies(group: GroupView) -> tuple[dict[str, Any], list[Unread]]:
    """Fields of the set itself."""
    made: dict[str, Any] = {}
    unread: list[Unread] = []
    at = ".".join(map(str, group.at))
    word = group.word("leaderWorkerTemplate", "restartPolicy")
    if word in _POLICIES:
        made["restartPolicy"] = word
    elif word:
        unread.append(
            Unread(
                f"{at}.leaderWorkerTemplate.restartPolicy",
                word,
                "derived instead: a lost pod rebuilds its group",
            )
        )
    if group.word("startupPolicy") == LEADER_READY:
        made["startupPolicy"] = LEADER_READY
    rollout: dict[str, Any] = {}
    for key, value in (("maxSurge", group.surge), ("maxUnavailable", group.unavailable)):
        if isinstance(value, int) and not isinstance(value, bool):
            rollout[key] = value
        elif value is not None:
            where = ".".join([at, *_ROLLING, key])
            unread.append(Unread(where, value, "a whole number of groups is wanted"))
    partition = group.part(*_ROLLING, "partition")
    if isinstance(partition, int) and partition > 0 and group.replicas:
        rollout["canaryGroups"] = max(0, group.replicas - partition)
    if rollout:
        made["rollout"] = rollout
    return made, unread


def admission(subject: Subject, levels: tuple[str, ...]) -> tuple[dict[str, Any], list[Unread]]:
    """Who admits the groups, and where they have to be together. `levels`: those of the pool."""
    name, found = recognised(subject.group)
    asked: dict[str, Any] = {"backend": name}
    made: dict[str, Any] = {"admission": asked}
    unread: list[Unread] = []
    if found.queue:
        asked["queue"] = found.queue
    elif queue := _pod_group_queue(subject):
        asked["queue"] = queue
    if found.priority_class:
        asked["priorityClass"] = found.priority_class
    if found.placement is not None:
        if found.placement.level in levels:
            made["topology"] = {"level": found.placement.level, "mode": found.placement.mode}
        else:
            why = f"no level of the pool: declare `levels`, then `topology: {{mode: {found.placement.mode}}}`"
            unread.append(Unread("topology", found.placement.level, why))
    return made, unread


def _pod_group_queue(subject: Subject) -> str:
    """The queue of the PodGroup that the pods name."""
    names = set(subject.group.leader.annotations.values())
    for document in subject.beside:
        if document.kind == "PodGroup" and document.key.name in names:
            return text(document.manifest, "spec", "queue")
    return ""


def groups(subject: Subject) -> tuple[dict[str, Any], list[Unread], set[str]]:
    """How many groups, what was not read of it, and the names of the objects that said it."""
    group = subject.group
    unread: list[Unread] = []
    found = scaler(subject)
    if found is not None:
        return {"autoscaling": dict(found.autoscaling)}, [*found.unread], {found.key}
    if group.replicas == 0:
        unread.append(
            Unread(
                ".".join([*map(str, group.at), "replicas"]),
                0,
                "written as 1: a serving has a group",
            )
        )
    return {"groups": group.replicas or 1}, unread, set()


def disruption(subject: Subject) -> tuple[dict[str, Any], set[str]]:
    """What evictions are answered: budgets a group, where there are some; and the names of the budgets.

    A group without one beside others that have one is released; more than a rollout takes down were forgotten, and get
    one each.
    """
    used: set[str] = set()
    kept: set[str] = set()
    for document in subject.beside:
        chosen = mapping(document.manifest, "spec", "selector", "matchLabels")
        labels = {key: value for key, value in chosen.items() if isinstance(value, str)}
        if document.kind != "PodDisruptionBudget" or not labels:
            continue
        if document.key.namespace == subject.group.namespace and subject.group.leader.matches(
            labels
        ):
            used.add(str(document.key))
            kept |= {labels[GROUP_INDEX]} if GROUP_INDEX in labels else set()
    if not kept:
        return {}, used
    made: dict[str, Any] = {"mode": "perGroup"}
    count, down = subject.group.replicas or 0, subject.group.unavailable
    if 0 < count - len(kept) <= (down if isinstance(down, int) and down > 1 else 1):
        made["released"] = [index for index in range(count) if str(index) not in kept]
    return {"disruption": made}, used


def others(subjects: Sequence[Subject], known: Collection[str]) -> Iterator[Unread]:
    """Objects of the stream that no serving takes over. `known`: those that one does, and those that it writes too."""
    sets = {str(one.group.document.key) for one in subjects}
    told = dict.fromkeys(
        document.key for one in subjects for document in one.beside if document.kind
    )
    for key in told:
        if str(key) not in known and str(key) not in sets:
            yield Unread(str(key), "", "stays as it is")
