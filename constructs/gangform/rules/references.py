"""What a document names must be there.

Where the documents are no complete set, a name is only missed when they hold objects of that kind in that namespace:
then it is the documents that make them. Secrets, claims and the like are missed in a complete set alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from gangform.apis import kueue, volcano
from gangform.apis.forms import GroupView
from gangform.apis.pods import needs
from gangform.apis.views import Documents, form_of
from gangform.documents.document import Document, Key, text
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import queue_label
from gangform.rules.joins import over_groups, templates
from gangform.rules.names import ANY_GROUP, NAMES, OFTEN_ELSEWHERE
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule

UNRESOLVED = declare(
    "reference-unresolved",
    "A name that leads to no object",
    Severity.BREAKS,
    "kueue §1.3, observability §7",
)
QUEUE_UNRESOLVED = declare(
    "queue-unresolved",
    "The queue label of a set names no LocalQueue of its namespace, so that its pods stay gated",
    Severity.BREAKS,
    "kueue §1.7, §2.2",
)
GROUP_UNRESOLVED = declare(
    "pod-group-unresolved",
    "Pods name a PodGroup that their namespace does not have: they stay pending without an event",
    Severity.BREAKS,
    "volcano §1.3",
)
POD_NEEDS = declare(
    "pod-needs-missing-object",
    "A pod names a ServiceAccount, ConfigMap, Secret or claim that is nowhere",
    Severity.BREAKS,
    "design §4 Workload",
)
CANNOT_SCALE = declare(
    "scale-target-cannot-scale",
    "An autoscaler targets a kind that has no scale subresource",
    Severity.BREAKS,
    "lab E5, E6",
)

_NO_SCALE: Final = frozenset(
    {"ConfigMap", "CronJob", "DaemonSet", "Job", "Pod", "PodGroup", "Secret", "Service"}
)
"""Core kinds and gangs, none of which has replicas behind a scale subresource."""
_NEAR: Final = 0.75
"""How much of two names is the same where one is a slip of the other."""
_LOOKED_AT, _HEAD = 100, 4
"""How many candidates for a near miss are compared, and how many first letters they share."""


@joined
def _made(documents: Documents) -> dict[tuple[str, str], list[str]]:
    """Names by kind and namespace."""
    found: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for document in documents.all:
        found[document.kind, document.key.namespace].append(document.key.name)
    return dict(found)


def missing(documents: Documents, context: Context, key: Key) -> bool:
    """Whether a name leads nowhere, as far as one can say."""
    if not key.name or key in context.exists:
        return False
    if key.group == ANY_GROUP:
        names = _made(documents).get((key.kind, key.namespace), [])
        known = [each.name for each in context.exists if each[1:3] == key[1:3]]
        return key.name not in (*names, *known) and (context.complete or bool(names))
    if documents.get(key) is not None or documents.groups_of(key):
        return False
    return context.complete or (key.kind, key.namespace) in _made(documents)


def _instead(documents: Documents, key: Key) -> str:
    names = _made(documents).get((key.kind, key.namespace), [])
    from difflib import get_close_matches

    # Comparing with all of very many would take longer than everything else.
    alike = [name for name in names if name[:_HEAD] == key.name[:_HEAD]] or names
    close = get_close_matches(key.name, alike[:_LOOKED_AT], n=1, cutoff=0.5)
    return close[0] if close else (names[0] if names else "")


def lost(documents: Documents, key: Key, path: Path) -> Fault:
    """The fault of a name that leads nowhere, with the nearest one that leads somewhere."""
    other = _instead(documents, key)
    where = f" in namespace {key.namespace}" if key.namespace else ""
    elsewhere = other and documents.get(key._replace(name=other)) is None
    if elsewhere and key.group != ANY_GROUP:
        kind = next(d for d in documents.of(key.kind) if d.key.name == other)
        fix = f"write the apiVersion of {kind.key}: {text(kind.manifest, 'apiVersion')}"
    elif other:
        fix = f"name {other}, or add the {key.kind} {key.name}"
    else:
        fix = f"add the {key.kind} {key.name}{where}"
    return Fault(
        path=path,
        what=f"no {key.kind} is called `{key.name}`{where}",
        fix=fix,
        seen={"kind": key.kind, "name": key.name, "namespace": key.namespace},
    )


def _meant(documents: Documents, key: Key) -> bool:
    """Whether a workload that is named surely is one of those here: another may stand elsewhere."""
    names = set(_made(documents).get((key.kind, key.namespace), []))
    if form_of(key.kind) is None or key.name in names or len(names) == 1:
        return True
    from difflib import get_close_matches

    return bool(get_close_matches(key.name, sorted(names)[:_LOOKED_AT], n=1, cutoff=_NEAR))


# ── names ────────────────────────────────────────────────────────────────────────────────────────


@rule(UNRESOLVED, kinds=NAMES)
def reference_unresolved(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Queues, flavors, topologies, scale targets and backends of routes exist."""
    if subject.kind in OFTEN_ELSEWHERE and not context.complete:
        return
    for path, key in NAMES[subject.kind](subject):
        if missing(documents, context, key) and (context.complete or _meant(documents, key)):
            yield lost(documents, key, path)


@rule(CANNOT_SCALE, kinds=("HorizontalPodAutoscaler", "ScaledObject"))
def scale_target_cannot_scale(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What an autoscaler targets has replicas."""
    kind = text(subject.manifest, "spec", "scaleTargetRef", "kind")
    form = form_of(kind)
    if kind in _NO_SCALE or (form is not None and not form.can.scales):
        yield Fault(
            path=("spec", "scaleTargetRef", "kind"),
            what=f"a {kind} has no scale subresource",
            fix="target the set whose replicas are meant",
            seen={"kind": kind},
        )


@rule(QUEUE_UNRESOLVED, kinds=WORKLOADS)
@over_groups
def queue_unresolved(group: GroupView, documents: Documents, context: Context) -> Iterator[Fault]:
    """The queue label names a LocalQueue of the same namespace."""
    name = queue_label(group)
    key = Key(kueue.GROUP, "LocalQueue", group.namespace, name)
    nowhere = missing(documents, context, key)
    if not nowhere and name and key not in context.exists and documents.get(key) is None:
        nowhere = any(other.key.name == name for other in documents.of("LocalQueue"))
    if nowhere:
        yield lost(documents, key, (*group.own, "labels", kueue.QUEUE_NAME))


@rule(GROUP_UNRESOLVED, kinds=WORKLOADS)
@over_groups
def pod_group_unresolved(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The PodGroup that pods name is in their namespace."""
    for pod in templates(group):
        name = pod.annotations.get(volcano.GROUP_NAME, "")
        key = Key(volcano.GROUP, "PodGroup", group.namespace, name)
        if missing(documents, context, key):
            path = (*pod.path, "metadata", "annotations", volcano.GROUP_NAME)
            yield lost(documents, key, path)


@rule(POD_NEEDS, kinds=WORKLOADS, scope="cluster")
@over_groups
def pod_needs_missing_object(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Accounts, configuration, Secrets and claims that a pod cannot start without exist."""
    for pod in templates(group):
        for path, kind, name in needs(pod.spec):
            key = Key("", kind, group.namespace, name)
            if missing(documents, context, key):
                yield lost(documents, key, (*pod.path, "spec", *path))
