"""Sets of roles: what their webhook would refuse where it runs, and what their roles share.

The webhook is off by default in the chart, so that a set that it would refuse is accepted and fails later (`lws §1`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from gangform.apis import disaggregatedset as roles
from gangform.apis import kueue
from gangform.apis import leaderworkerset as lws
from gangform.apis.forms import GroupView
from gangform.apis.metadata import is_dns_label
from gangform.apis.versions import Release
from gangform.apis.views import Documents
from gangform.documents.document import Document, dig, sequence, text, whole
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import queue_label
from gangform.rules.joins import groups_of, owned, scaler_of, templates
from gangform.rules.rule import Context, Fault, rule

REFUSED = declare(
    "roles-refused",
    "Roles that the API or its webhook refuses; without the webhook they fail later, or in silence",
    Severity.BREAKS,
    "lws §2f, §2g; lab E6, E10",
)
UNSAID = declare(
    "role-rollout-unsaid",
    "A role that does not say its surge: absent is (1, 0), half of it is filled with (0, 1)",
    Severity.STYLE,
    "lws §6; lab E6",
)
UNREAD = declare(
    "queue-label-not-read",
    "The queue label of a set of roles is not copied to the sets that it makes: they run outside quota",
    Severity.BREAKS,
    "kueue §2.7",
)
STATIC = declare(
    "scale-target-role-static",
    "An autoscaler targets the scaler of a role, which exists only where the role's scaling is External",
    Severity.BREAKS,
    "lws §6",
)
SCALER = declare(
    "role-scaler-written",
    "The scaler of a role is made by its controller: a written one is taken over or overwritten",
    Severity.DEGRADES,
    "lws §6; observability §4.5",
)
PLACED = declare(
    "placement-policy-under-queue",
    "Kueue places without the affinity that a placementPolicy adds: pods are bound to nodes they refuse",
    Severity.BREAKS,
    "kueue §2.6, §2.7",
)
SLICES = declare(
    "slices-exceed-domains",
    "More slices want a topology domain each than the cluster has: the last ones never start",
    Severity.BREAKS,
    "lws §6",
)

_KIND: Final = (roles.KIND,)
_ROLLING: Final = ("rolloutStrategy", "rollingUpdateConfiguration")
_POLICY: Final[Path] = ("spec", "placementPolicy")
_FREE: Final = ("", "None")
_SUB_ROLES: Final = Release(0, 11)
"""From here on one role is enough, and more than ten are taken (`lws §12`)."""
_EXCLUSIVE: Final = (lws.EXCLUSIVE_TOPOLOGY, lws.SUBGROUP_EXCLUSIVE_TOPOLOGY)


@rule(REFUSED, kinds=_KIND)
def roles_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Roles are told apart, run together, and leave to the controller what is its own."""
    release = context.versions.lws if context.versions is not None else None
    yield from _number(subject, release)
    groups = groups_of(documents, subject)
    yield from _zeroes(groups)
    slices = whole(subject.manifest, "spec", "slices") or 1
    for group in groups:
        held = group.part(*_ROLLING, "partition")
        if held not in (None, 0):
            yield Fault(
                path=(*group.at, *_ROLLING, "partition"),
                what=f"partition {held} on a role: roles roll together",
                fix="remove it",
            )
        mode: Path = (*group.at[:-1], "scaling", "mode")
        if slices > 1 and text(subject.manifest, *mode) == roles.EXTERNAL:
            yield Fault(
                path=mode,
                what=f"scaling {roles.EXTERNAL} with {slices} slices",
                fix=f"write slices: 1, or scaling mode {roles.STATIC}",
            )
    yield from _placement(subject, groups)


def _number(subject: Document, release: Release | None) -> Iterator[Fault]:
    written = sequence(subject.manifest, "spec", "roles")
    fits = roles.LEAST_ROLES <= len(written) <= roles.MOST_ROLES
    if release is not None and release < _SUB_ROLES and not fits:
        yield Fault(
            path=("spec", "roles"),
            what=f"{len(written)} roles; {roles.LEAST_ROLES} to {roles.MOST_ROLES} are taken",
            fix="write the roles that are to roll together; a single one is a LeaderWorkerSet",
        )
    seen: set[str] = set()
    for index, role in enumerate(written):
        name = text(role, "name")
        path: Path = ("spec", "roles", index, "name")
        if name in seen:
            yield Fault(path=path, what=f"two roles are called `{name}`", fix="rename one of them")
        elif name and not is_dns_label(name):
            yield Fault(
                path=path,
                what=f"`{name}` is no role name: a-z, 0-9 and -, at most 63 characters",
                fix=f"write {re.sub('[^a-z0-9]+', '-', name.lower()).strip('-')[:20] or 'decode'}",
            )
        seen.add(name)


def _zeroes(groups: Sequence[GroupView]) -> Iterator[Fault]:
    static = [each for each in groups if each.target == each.document.key]
    none = [each for each in static if each.replicas == 0]
    if none and len(none) < len(static):
        yield Fault(
            path=(*none[0].at, "replicas"),
            what=f"role {none[0].role} has 0 groups, and "
            f"{next(each.role for each in static if each.replicas != 0)} has some",
            fix="write 0 for every role, or for none",
        )


def _placement(subject: Document, groups: Sequence[GroupView]) -> Iterator[Fault]:
    kind = text(subject.manifest, *_POLICY, "type")
    if kind in _FREE:
        return
    if not text(subject.manifest, *_POLICY, "topology"):
        yield Fault(
            path=(*_POLICY, "topology"),
            what=f"placementPolicy {kind} without a topology",
            fix="write the node label of the domain",
        )
    for group in groups:
        places = [group.own, *((*pod.path, "metadata") for pod in templates(group))]
        for place in places:
            for key in _EXCLUSIVE:
                if dig(subject.manifest, *place, "annotations", key) is not None:
                    yield Fault(
                        path=(*place, "annotations", key),
                        what=f"{key} beside placementPolicy {kind}",
                        fix="remove one of the two",
                    )


@rule(UNSAID, kinds=_KIND)
def role_rollout_unsaid(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Each role writes both numbers of its rollout."""
    for group in groups_of(documents, subject):
        block = group.part(*_ROLLING)
        missing = [key for key in ("maxSurge", "maxUnavailable") if dig(block, key) is None]
        if missing:
            taken = "maxSurge 1 and maxUnavailable 0" if block is None else "0 and 1 are filled in"
            yield Fault(
                path=(*group.at, *_ROLLING),
                what=f"role {group.role} does not say {' and '.join(missing)}: {taken}",
                fix="write both as whole numbers",
            )


@rule(STATIC, kinds=("HorizontalPodAutoscaler", "ScaledObject"))
def scale_target_role_static(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A role that an autoscaler scales is scaled from outside."""
    target = scaler_of(subject).target
    if target.kind != roles.SCALER or documents.groups_of(target):
        return
    for group in documents.groups():
        name = f"{group.name}-{group.role}"
        if group.role and (group.namespace, name) == (target.namespace, target.name):
            yield Fault(
                path=("spec", "scaleTargetRef", "name"),
                what=f"role {group.role} of {group.name} is not scaled from outside: no {roles.SCALER} "
                f"{name} is made",
                fix=f"write scaling: {{mode: {roles.EXTERNAL}}} into the role",
            )


@rule(SCALER, kinds=(roles.SCALER,))
def role_scaler_written(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The scaler of a role is left to its controller."""
    if not owned(subject):
        yield Fault(
            path=("kind",),
            what=f"{roles.SCALER} {subject.key.name} is made by the controller of the set of roles",
            fix=f"remove it, and write scaling: {{mode: {roles.EXTERNAL}}} into the role",
        )


@rule(PLACED, kinds=_KIND)
def placement_policy_under_queue(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Kueue's placement and a placementPolicy are not on one set."""
    kind = text(subject.manifest, *_POLICY, "type")
    levels = (kueue.REQUIRED_TOPOLOGY, kueue.PREFERRED_TOPOLOGY)
    for group in groups_of(documents, subject) if kind not in _FREE else ():
        placed = [key for pod in templates(group) for key in levels if key in pod.annotations]
        if placed and queue_label(group):
            yield Fault(
                path=(*_POLICY, "type"),
                what=f"placementPolicy {kind} beside {placed[0]} of role {group.role} in the queue "
                f"{queue_label(group)}",
                fix="remove one of the two",
            )
            return


@rule(SLICES, kinds=_KIND, needs=("domains",))
def slices_exceed_domains(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every slice with a domain for itself finds one."""
    level = text(subject.manifest, *_POLICY, "topology")
    domains = (context.domains or {}).get(level)
    slices = whole(subject.manifest, "spec", "slices") or 1
    if text(subject.manifest, *_POLICY, "type") in _FREE or domains is None or slices <= domains:
        return
    yield Fault(
        path=("spec", "slices"),
        what=f"{slices} slices want a value of {level} each, and there are {domains}",
        fix=f"write slices: {domains}",
        seen={"slices": str(slices), "domains": str(domains)},
    )


@rule(UNREAD, kinds=_KIND)
def queue_label_not_read(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Each role names its queue; the object around them is read by nobody."""
    label = text(subject.manifest, "metadata", "labels", kueue.QUEUE_NAME)
    roles = [
        text(role, "name")
        for role in sequence(subject.manifest, "spec", "roles")
        if not text(role, "metadata", "labels", kueue.QUEUE_NAME)
    ]
    if label and roles:
        yield Fault(
            path=("metadata", "labels", kueue.QUEUE_NAME),
            what=f"queue `{label}` is named here, and not on the roles {', '.join(roles)}",
            fix=f"write {kueue.QUEUE_NAME}: {label} into metadata.labels of each role",
        )
