"""Vertical autoscalers: they change requests pod by pod, and a group is admitted and scheduled as one.

Only a mode that advises leaves groups alone. `Initial` sets requests where pods are made, `InPlace` also those of
running ones, and evicts nobody (AEP-8818). The other modes evict: through the budget, and with the pod its whole
group goes. `InPlaceOrRecreate` does where a node has no room, and `Auto` is the old word for `Recreate`, the default.
A policy for all containers may take every mode back. The target has to be the topmost object that scales: one that a
set's controller makes is answered with the condition ConfigUnsupported, and nothing happens.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis.forms import GroupView
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, group_of, mapping, sequence, text
from gangform.findings import Severity, counted, declare
from gangform.rules.joins import gpus, is_set
from gangform.rules.rule import Context, Fault, rule

GROUPS = declare(
    "vertical-scaling-of-groups",
    "A vertical autoscaler evicts pods of groups to change their requests, and each takes its group along",
    Severity.BREAKS,
    "lws §4; design §4 Disruption; VerticalPodAutoscaler: updateMode",
)
ENGINES = declare(
    "vertical-scaling-of-engines",
    "A vertical autoscaler evicts an engine on GPUs to change its requests, which costs a cold start",
    Severity.DEGRADES,
    "VerticalPodAutoscaler: updateMode",
)
INITIAL = declare(
    "vertical-scaling-at-start",
    "A vertical autoscaler gives pods of a group other requests than the group was admitted with",
    Severity.DEGRADES,
    "kueue §3, §7; VerticalPodAutoscaler: updateMode",
)
CHILD = declare(
    "vertical-target-is-child",
    "A vertical autoscaler targets an object that a set's controller makes, and does nothing",
    Severity.BREAKS,
    "VerticalPodAutoscaler: condition ConfigUnsupported",
)

_KIND: Final = "VerticalPodAutoscaler"
_MODE: Final = ("spec", "updatePolicy", "updateMode")
_SPARES: Final = {"Initial": "new pods", "InPlace": "pods"}
"""Modes that evict nobody, and whose requests they change."""
_FIX: Final = 'write updateMode: "Off", and take its advice by hand'


def _mode(subject: Document) -> str:
    """What it does with requests: `Off` also where that is said of every container."""
    said = {
        text(policy, "containerName"): text(policy, "mode")
        for policy in sequence(subject.manifest, "spec", "resourcePolicy", "containerPolicies")
    }
    if "*" in said and set(said.values()) == {"Off"}:
        return "Off"
    return text(subject.manifest, *_MODE) or "Recreate"


def _evicts(mode: str) -> bool:
    return mode != "Off" and mode not in _SPARES


def _target(subject: Document) -> Key:
    ref = mapping(subject.manifest, "spec", "targetRef")
    return Key(
        group_of(text(ref, "apiVersion")),
        text(ref, "kind"),
        subject.key.namespace,
        text(ref, "name"),
    )


def _groups(subject: Document, documents: Documents) -> Iterator[GroupView]:
    """The sets behind an autoscaler whose replicas are several pods."""
    for group in documents.groups_of(_target(subject)):
        if is_set(group) and group.size > 1:
            yield group


@rule(GROUPS, kinds=(_KIND,))
def vertical_scaling_of_groups(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Nobody evicts pods of a group to give them other requests."""
    mode = _mode(subject)
    for group in _groups(subject, documents) if _evicts(mode) else ():
        yield Fault(
            path=_MODE,
            what=f"updateMode {mode} evicts pods of {group.title} for new requests, and each takes a group of "
            f"{group.size} along",
            fix=_FIX,
            seen={"mode": mode, "size": str(group.size)},
        )


@rule(ENGINES, kinds=(_KIND,))
def vertical_scaling_of_engines(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Nobody evicts an engine to give it other requests."""
    mode = _mode(subject)
    for group in documents.groups_of(_target(subject)):
        held = gpus(documents, group.leader)
        if _evicts(mode) and group.size == 1 and held:
            yield Fault(
                path=_MODE,
                what=f"updateMode {mode} evicts pods of {group.title} for new requests, each with "
                f"{counted(held, 'GPU')} and a cold start to come",
                fix=_FIX,
                seen={"mode": mode, "gpus": str(held)},
            )


@rule(INITIAL, kinds=(_KIND,))
def vertical_scaling_at_start(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The pods of a group request what their templates say."""
    mode = _mode(subject)
    for group in _groups(subject, documents) if mode in _SPARES else ():
        yield Fault(
            path=_MODE,
            what=f"updateMode {mode} gives {_SPARES[mode]} of {group.title} other requests than the templates that its "
            f"group of {group.size} is admitted and counted by",
            fix=_FIX,
        )


@rule(CHILD, kinds=(_KIND,))
def vertical_target_is_child(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The target is the set itself."""
    target = _target(subject)
    owner = documents.maker(target)
    if owner is not None:
        yield Fault(
            path=("spec", "targetRef"),
            what=f"the target is {target.kind} {target.name}, which {owner.kind} {owner.name} makes",
            fix=f'target {owner.kind} {owner.name}, with updateMode: "Off"',
        )
