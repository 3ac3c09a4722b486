"""Sets of groups: templates that agree, restarts that take the whole group, and what the controller keeps for itself.

What is said of every pod is said by `pods`, what a rollout does by `rollouts`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import kueue
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import POD_TEMPLATE_HASH, REVISION_HASH
from gangform.apis.metadata import is_extended_resource
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, mapping, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import queue_label
from gangform.rules.joins import (
    SETS,
    annotation,
    asked,
    engine_of,
    groups_of,
    over_groups,
    over_templates,
    own_workers,
    pinned_apart,
    runs,
    templates,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

ONE_TEMPLATE = declare(
    "leader-template-missing",
    "Leader and workers share one template, so nothing can be said about the leader alone",
    Severity.STYLE,
    "design §4 Workload",
)
ASYMMETRY = declare(
    "templates-schedule-apart",
    "Leader and workers are scheduled by different wishes, so that a group may not come together",
    Severity.DEGRADES,
    "design §4 Workload; kueue §3",
)
RESTART_UNKNOWN = declare(
    "restart-policy-unknown",
    "A restart policy that the CRD does not have",
    Severity.BREAKS,
    "lws §2a, §11; lab E9",
)
RESTART_DEFAULT = declare(
    "restart-policy-default",
    "Default is stored as None: a lost worker does not take its group along, and its ranks hang",
    Severity.DEGRADES,
    "lws §4; lab E7",
)
RESTART_NONE = declare(
    "restart-policy-none",
    "With None a lost worker does not take its group along, and the other ranks hang",
    Severity.DEGRADES,
    "lws §4; lab E7",
)
LEADER_READY = declare(
    "leader-ready-remark",
    "With LeaderReady workers start after the leader is Ready; budgets have a gap, gangs count 1 pod",
    Severity.STYLE,
    "lab E3, E8",
)
LEADER_WAITS = declare(
    "leader-ready-deadlock",
    "Workers wait until the leader is Ready, and its probe waits for their ranks: no group ever starts",
    Severity.BREAKS,
    "engines §1.6; lab E3",
)
OWN_LABEL = declare(
    "template-label-of-controller",
    "A template sets a label that belongs to the controller, and wins over it",
    Severity.BREAKS,
    "lws §1; lab E9",
)
SUBGROUPS = declare(
    "subgroups-refused",
    "A subGroupPolicy that the webhook refuses or cannot read",
    Severity.BREAKS,
    "lws §2b; lab E9",
)
TOO_LARGE = declare(
    "set-too-large",
    "More pods in all than the webhook lets a set have",
    Severity.BREAKS,
    "lws §2b",
)
EXCLUSIVE = declare(
    "exclusive-topology-under-queue",
    "Kueue places without the affinity that exclusive-topology adds: pods are bound to nodes they refuse",
    Severity.BREAKS,
    "lws §2d, kueue §2.6",
)
CLAIM_FIELD = declare(
    "claim-field-dropped",
    "A field of a volumeClaimTemplate that the controller does not copy",
    Severity.DEGRADES,
    "lws §2c",
)
OVERRIDDEN = declare(
    "variable-of-controller",
    "A variable that the controller sets itself, in place of what is written",
    Severity.STYLE,
    "lws §1",
)

_BASE: Final = "leaderWorkerTemplate"
_RESTART: Final = (_BASE, "restartPolicy")
_SCHEDULING: Final = (
    "nodeSelector",
    "affinity",
    "tolerations",
    "schedulerName",
    "priorityClassName",
)
_DEFAULT: Final = "Default"
_POLICIES: Final = (lws.ON_POD_RESTART, lws.AFTER_START, lws.NEVER, _DEFAULT)
_KEPT_OF_CLAIM: Final = frozenset({"accessModes", "storageClassName", "volumeMode", "resources"})


@rule(ONE_TEMPLATE, kinds=SETS)
@over_groups
def leader_template_missing(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Both templates are written."""
    if group.size > 1 and own_workers(group) is None:
        yield Fault(
            path=(*group.at, _BASE, "leaderTemplate"),
            what="there is no leaderTemplate: the workerTemplate serves both",
            fix="write the leaderTemplate, with the leader's ports and probes",
        )


@rule(ASYMMETRY, kinds=SETS)
@over_groups
def templates_schedule_apart(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Both templates ask the scheduler for the same."""
    workers = own_workers(group)
    if workers is None or _coordinates(documents, group.leader, workers):
        return
    for field in _SCHEDULING:
        if field == "nodeSelector" and pinned_apart(group):
            continue
        leader_has, worker_has = dig(group.leader.spec, field), dig(workers.spec, field)
        if (leader_has or None) != (worker_has or None):
            yield Fault(
                path=(*workers.path, "spec", field),
                what=f"{field} is {_said(leader_has)} on the leader and {_said(worker_has)} "
                "on the workers",
                fix=f"write the same {field} into both templates",
            )


def _coordinates(documents: Documents, leader: PodView, workers: PodView) -> bool:
    """Whether a leader takes no device and its workers do: it need not go where they go."""
    takes = [
        any(amount and is_extended_resource(name) for name, amount in asked(documents, pod).items())
        for pod in (leader, workers)
    ]
    return takes == [False, True]


def _said(value: object) -> str:
    if value is None or value in ("", {}, []):
        return "absent"
    if isinstance(value, dict):
        return ", ".join(
            f"{key}={each}" if isinstance(each, str) else str(key) for key, each in value.items()
        )
    return f"`{value}`" if isinstance(value, str) else "set"


@rule(RESTART_UNKNOWN, kinds=SETS)
@over_groups
def restart_policy_unknown(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The restart policy is one of the CRD's words."""
    policy = group.word(*_RESTART)
    if policy and policy not in _POLICIES:
        yield Fault(
            path=(*group.at, *_RESTART),
            what=f"restartPolicy `{policy}` is not one of {', '.join(_POLICIES)}",
            fix=f"write {lws.AFTER_START}, or {lws.ON_POD_RESTART} before LWS 0.9",
            seen={"restartPolicy": policy},
        )


def _restart_fault(group: GroupView, word: str, why: str) -> Iterator[Fault]:
    if group.size > 1 and group.word(*_RESTART) == word:
        yield Fault(
            path=(*group.at, *_RESTART),
            what=f"restartPolicy {word}{why} leaves {group.size - 1} of {group.size} pods waiting "
            "for the one that restarted",
            fix=f"write {lws.AFTER_START}, or {lws.ON_POD_RESTART} before LWS 0.9",
        )


@rule(RESTART_DEFAULT, kinds=SETS)
@over_groups
def restart_policy_default(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A group of several pods says what a restart does."""
    yield from _restart_fault(group, _DEFAULT, f", stored as {lws.NEVER},")


@rule(RESTART_NONE, kinds=SETS)
@over_groups
def restart_policy_none(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A lost pod takes its group along."""
    yield from _restart_fault(group, lws.NEVER, "")


@rule(LEADER_READY, kinds=SETS)
@over_groups
def leader_ready_remark(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Workers start with their leader."""
    if group.word("startupPolicy") == lws.LEADER_READY and not _leader_waits(group, documents):
        yield Fault(
            path=(*group.at, "startupPolicy"),
            what=f"{lws.LEADER_READY} makes workers only after the leader is Ready",
            fix=f"write {lws.LEADER_CREATED} unless the leader is Ready without its workers",
        )


def _leader_waits(group: GroupView, documents: Documents) -> str:
    """The leader's probe that succeeds only with all ranks of a group of several pods; empty where there is none."""
    run = engine_of(documents, group.leader)
    if group.size < 2 or run is None or run.reading is None or not run.reading.all_ranks:
        return ""
    waits = {"httpGet"} if run.reading.opens_early else {"httpGet", "tcpSocket"}
    asks = (
        name
        for name in ("startupProbe", "readinessProbe")
        if waits & mapping(run.container, name).keys()
    )
    return next(asks, "")


@rule(LEADER_WAITS, kinds=SETS)
@over_groups
def leader_ready_deadlock(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A leader that waits for its workers does not have them wait for it."""
    if group.word("startupPolicy") != lws.LEADER_READY:
        return
    if probe := _leader_waits(group, documents):
        yield Fault(
            path=(*group.at, "startupPolicy"),
            what=f"{lws.LEADER_READY} makes workers after the leader is Ready, and its {probe} asks an engine that "
            f"serves once all {group.size} pods have loaded",
            fix=f"write {lws.LEADER_CREATED}",
        )


@rule(OWN_LABEL, kinds=WORKLOADS)
@over_templates
def template_label_of_controller(
    pod: PodView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Templates leave the controller's labels alone."""
    labels: Path = (*pod.path, "metadata", "labels")
    for key, value in mapping(pod.document.manifest, *labels).items():
        if (key, value, pod.document.kind) == (lws.NAME, pod.document.key.name, lws.KIND):
            continue  # It is what the controller writes.
        if key.startswith(lws.PREFIX) or key in (POD_TEMPLATE_HASH, REVISION_HASH):
            yield Fault(
                path=(*labels, key),
                what=f"the template sets {key}, which the controller sets on every pod",
                fix="remove it, or use a label of your own",
            )


@rule(SUBGROUPS, kinds=SETS)
@over_groups
def subgroups_refused(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """Subgroups divide the group."""
    path: Path = (*group.at, _BASE, "subGroupPolicy")
    policy = group.part(_BASE, "subGroupPolicy")
    size = group.size
    if policy is None:
        if annotation(group, lws.SUBGROUP_EXCLUSIVE_TOPOLOGY):
            yield Fault(
                path=(*group.own, "annotations", lws.SUBGROUP_EXCLUSIVE_TOPOLOGY),
                what="a topology for subgroups, and no subGroupPolicy",
                fix="write a subGroupPolicy with its subGroupSize, or remove the annotation",
            )
        return
    each = whole(policy, "subGroupSize")
    if each is None:
        yield Fault(
            path=(*path, "subGroupSize"),
            what="subGroupPolicy without subGroupSize makes the webhook panic: error 500",
            fix=f"write subGroupSize: {size}, or remove subGroupPolicy",
        )
    elif not 1 <= each <= size:
        yield Fault(
            path=(*path, "subGroupSize"),
            what=f"subGroupSize {each} is not between 1 and the size {size}",
            fix=f"write a divisor of {size}",
        )
    elif text(policy, "subGroupPolicyType") == "LeaderExcluded":
        if (size - 1) % each:
            yield Fault(
                path=(*path, "subGroupSize"),
                what=f"without the leader there are {size - 1} pods, which {each} does not divide",
                fix=f"write a divisor of {size - 1}",
            )
    elif size % each and (size - 1) % each:
        yield Fault(
            path=(*path, "subGroupSize"),
            what=f"subGroupSize {each} divides neither {size} nor {size - 1}",
            fix=f"write a divisor of {size}",
        )


@rule(TOO_LARGE, kinds=SETS)
@over_groups
def set_too_large(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """All groups together stay within what is counted."""
    if (group.replicas or 0) * group.size > lws.MOST_PODS:
        yield Fault(
            path=(*group.at, "replicas"),
            what=f"{group.replicas} groups of {group.size} are more than {lws.MOST_PODS} pods",
            fix=f"write {lws.MOST_PODS // group.size} or fewer",
        )


@rule(EXCLUSIVE, kinds=SETS)
@over_groups
def exclusive_topology_under_queue(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Kueue's placement and exclusive-topology are not on one set."""
    level = annotation(group, lws.EXCLUSIVE_TOPOLOGY)
    if level and queue_label(group):
        yield Fault(
            path=(*group.own, "annotations", lws.EXCLUSIVE_TOPOLOGY),
            what=f"exclusive topology over `{level}` on a set in the queue {queue_label(group)}",
            fix=f"remove it and write {kueue.REQUIRED_TOPOLOGY} and {kueue.PODSET_GROUP} on "
            "both templates",
        )


@rule(CLAIM_FIELD, kinds=SETS)
@over_groups
def claim_field_dropped(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Claim templates use only what the controller copies."""
    base: Path = (*group.at, _BASE, "volumeClaimTemplates")
    for index, claim in enumerate(sequence(group.part(_BASE, "volumeClaimTemplates"))):
        dropped = [("metadata", key) for key in ("labels", "annotations")]
        dropped = [each for each in dropped if dig(claim, *each)]
        dropped += [("spec", key) for key in mapping(claim, "spec") if key not in _KEPT_OF_CLAIM]
        for part in dropped:
            yield Fault(
                path=(*base, index, *part),
                what=f"{'.'.join(part)} of claim `{text(claim, 'metadata', 'name')}` is dropped",
                fix="remove it; say it in the StorageClass, or use a claim made beforehand",
            )


@rule(OVERRIDDEN, kinds=SETS)
def variable_of_controller(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Variables of the controller are not written by hand."""
    own = {lws.ADDRESS_VARIABLE, lws.SIZE_VARIABLE, lws.RANK_VARIABLE}
    for group in groups_of(documents, subject):
        for path, name in _variables(group):
            if name in own:
                yield Fault(
                    path=path,
                    what=f"{name} is set by the controller, first in every container",
                    fix="remove it",
                )


def _variables(group: GroupView) -> Iterator[tuple[Path, str]]:
    for pod in templates(group):
        for run in runs(pod):
            for index, variable in enumerate(sequence(run.container, "env")):
                yield (*run.path, "env", index), text(variable, "name")
