"""Queues as Kueue takes them: amounts they refuse, cohorts in a ring, namespaces left out, queues that stop."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gangform.apis import kueue
from gangform.apis.forms import GroupView
from gangform.apis.keys import HOSTNAME, NAMESPACE_NAME
from gangform.apis.kueue_refusals import (
    cohort_of,
    flavor_refusals,
    queue_refusals,
    quota_refusals,
)
from gangform.apis.versions import Release
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, mapping, sequence, text
from gangform.findings import Severity, declare
from gangform.rules.demand import cluster_queue, levels, queue_label
from gangform.rules.joins import asked, over_groups, templates
from gangform.rules.references import lost, missing
from gangform.rules.rule import WORKLOADS, Context, Fault, rule

REFUSED = declare(
    "queue-refused",
    "A ClusterQueue or Cohort that Kueue's webhook refuses",
    Severity.BREAKS,
    "kueue §1.4, §1.5",
)
FLAVOR = declare(
    "flavor-refused",
    "Labels, taints or tolerations of a ResourceFlavor that are refused",
    Severity.BREAKS,
    "kueue §1.3",
)
CYCLE = declare(
    "cohort-cycle",
    "Cohorts that are parents of each other: every queue below them is inactive",
    Severity.BREAKS,
    "kueue §1.5",
)
STOPPED = declare(
    "queue-stopped",
    "A queue that admits nothing; with HoldAndDrain the groups that run are evicted too",
    Severity.DEGRADES,
    "kueue §1.4, §7, §11",
)
EXCLUDED = declare(
    "queue-excludes-namespace",
    "A LocalQueue lies in a namespace that its ClusterQueue does not take: nothing is admitted",
    Severity.BREAKS,
    "kueue §1.4, §1.7",
)
PRIORITY = declare(
    "priority-class-unresolved",
    "A set names a WorkloadPriorityClass that is nowhere: no Workload is made, and its pods stay gated",
    Severity.BREAKS,
    "kueue §1.5",
)
TWO_FLAVORS = declare(
    "topology-over-two-flavors",
    "A set with a topology asks for resources of two resource groups: a pod set ends with one flavor or none",
    Severity.BREAKS,
    "kueue §1.7",
)
EVICTED = declare(
    "cold-start-beyond-eviction",
    "Groups take longer to be ready than Kueue waits by default: they are evicted while they load",
    Severity.DEGRADES,
    "kueue §5.1, §11",
)

UNSEEN = declare(
    "affinity-unseen-by-queue",
    "Kueue chooses nodes without looking at required affinity between pods: they may be bound where they refuse",
    Severity.STYLE,
    "kueue §1.7, §11",
)
NO_HOST = declare(
    "topology-without-host",
    "A Topology that does not end with the host: selectors, affinity and taints of single nodes are not seen",
    Severity.STYLE,
    "kueue §1.7",
)

_HOSTS_UNTIL: Final = Release(0, 20)
"""From here on nodes are looked at whatever the last level is (`kueue §1.7`)."""
_WISHES: Final = ("podAffinity", "podAntiAffinity")
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_STOPS: Final = {
    "Hold": "nothing is admitted",
    kueue.DRAINS: "nothing is admitted, and what runs is evicted",
}
_PLACED: Final = (
    kueue.REQUIRED_TOPOLOGY,
    kueue.PREFERRED_TOPOLOGY,
    kueue.UNCONSTRAINED_TOPOLOGY,
)


@rule(REFUSED, kinds=("ClusterQueue", "Cohort"))
def queue_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """Amounts and policies that the webhook takes."""
    for path, what, fix in quota_refusals(subject.manifest):
        yield Fault(path=path, what=what, fix=fix)
    for path, what, fix in queue_refusals(subject.manifest):
        yield Fault(path=path, what=what, fix=fix)


@rule(FLAVOR, kinds=("ResourceFlavor",))
def flavor_refused(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A flavor that the webhook takes."""
    for path, what, fix in flavor_refusals(subject.manifest):
        yield Fault(path=path, what=what, fix=fix)


@rule(CYCLE, kinds=("Cohort",))
def cohort_cycle(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """No cohort is above itself."""
    way = [subject.key.name]
    above = cohort_of(subject.manifest)
    while above and above not in way:
        way.append(above)
        parent = documents.get(Key(kueue.GROUP, "Cohort", "", above))
        above = cohort_of(parent.manifest) if parent is not None else ""
    if above == subject.key.name:
        yield Fault(
            path=("spec", "parentName"),
            what=f"{' is below '.join([*way, above])}",
            fix="remove one parentName of the ring",
        )


@rule(STOPPED, kinds=("ClusterQueue", "LocalQueue"))
def queue_stopped(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """A queue admits what waits in it."""
    policy = text(subject.manifest, "spec", "stopPolicy")
    if policy in _STOPS:
        yield Fault(
            path=("spec", "stopPolicy"),
            what=f"stopPolicy {policy}: {_STOPS[policy]}",
            fix="remove it once the work on the queue is done",
        )


@rule(EXCLUDED, kinds=("LocalQueue",))
def queue_excludes_namespace(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The ClusterQueue takes the namespace of each of its LocalQueues."""
    space = subject.key.namespace
    name = text(subject.manifest, "spec", "clusterQueue")
    queue = documents.get(Key(kueue.GROUP, "ClusterQueue", "", name))
    selector = mapping(queue.manifest, "spec", "namespaceSelector") if queue else {}
    if not space or not selector:
        return
    written = documents.get(Key("", "Namespace", "", space))
    labels = mapping(written.manifest, "metadata", "labels") if written is not None else {}
    known = {**labels, NAMESPACE_NAME: space}

    def lacks(key: str) -> bool:
        return key not in known and written is not None

    why = ""
    for key, value in mapping(selector, "matchLabels").items():
        if lacks(key) or known.get(key, value) != value:
            why = f"{key} {value}"
    for each in sequence(selector, "matchExpressions"):
        key, values = text(each, "key"), sequence(each, "values")
        match text(each, "operator"):
            case "In" if lacks(key) or (key in known and known[key] not in values):
                why = f"{key} in {', '.join(map(str, values))}"
            case "NotIn" if known.get(key) in values:
                why = f"{key} not in {', '.join(map(str, values))}"
            case "Exists" if lacks(key):
                why = f"the label {key}"
            case "DoesNotExist" if key in known:
                why = f"no label {key}"
            case _:
                pass
    if why:
        yield Fault(
            path=("spec", "clusterQueue"),
            what=f"{name} takes namespaces with {why}, and this queue is in {space}",
            fix=f"let the namespaceSelector of {name} take {space}, or name another queue",
        )


@rule(PRIORITY, kinds=WORKLOADS)
@over_groups
def priority_class_unresolved(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The class that orders the groups of a set exists."""
    name = text(group.document.manifest, *group.own, "labels", kueue.PRIORITY_CLASS)
    key = Key(kueue.GROUP, "WorkloadPriorityClass", "", name)
    if queue_label(group) and missing(documents, context, key):
        yield lost(documents, key, (*group.own, "labels", kueue.PRIORITY_CLASS))


@rule(TWO_FLAVORS, kinds=WORKLOADS)
@over_groups
def topology_over_two_flavors(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What a placed pod asks for is covered by one resource group, and so by one flavor."""
    queue = cluster_queue(documents, group)
    if queue is None:
        return
    covered = [
        [name for name in sequence(each, "coveredResources") if isinstance(name, str)]
        for each in sequence(queue.manifest, "spec", "resourceGroups")
    ]
    for pod in templates(group):
        level = next((key for key in _PLACED if key in pod.annotations), None)
        wanted = {name for name, amount in asked(documents, pod).items() if amount}
        parts = [sorted(wanted & set(names)) for names in covered if wanted & set(names)]
        if level is not None and len(parts) > 1:
            yield Fault(
                path=(*pod.path, "metadata", "annotations", level),
                what=f"{queue.key.name} covers {' and '.join(', '.join(part) for part in parts)} in "
                "different resource groups",
                fix=f"cover them in one resource group of ClusterQueue {queue.key.name}",
            )


@rule(EVICTED, kinds=WORKLOADS, needs=("versions", "cold_starts"))
@over_groups
def cold_start_beyond_eviction(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A group is ready before Kueue's default of waitForPodsReady ends."""
    release = context.versions.kueue if context.versions is not None else None
    takes = (context.cold_starts or {}).get(group.document.key)
    waits = kueue.wait_for_pods_ready(release) if release is not None else None
    if queue_label(group) and takes is not None and waits is not None and takes > waits:
        yield Fault(
            path=(*group.own, "labels", kueue.QUEUE_NAME),
            what=f"groups are ready after {takes}, and Kueue {release} evicts after {waits} unless its "
            "configuration says otherwise",
            fix=f"set waitForPodsReady.timeout to {takes} or more, with a margin",
            seen={"coldStart": str(takes), "timeout": str(waits)},
        )


@rule(UNSEEN, kinds=WORKLOADS)
@over_groups
def affinity_unseen_by_queue(
    group: GroupView, documents: Documents, context: Context
) -> Iterator[Fault]:
    """What Kueue places has no wishes that it does not see."""
    for pod in templates(group) if queue_label(group) else ():
        placed = any(key in pod.annotations for key in _PLACED)
        for kind in _WISHES if placed else ():
            if sequence(pod.spec, "affinity", kind, _REQUIRED):
                yield Fault(
                    path=(*pod.path, "spec", "affinity", kind, _REQUIRED),
                    what=f"required {kind} beside a topology that Kueue chooses without it",
                    fix="remove it, and place by the topology annotation alone",
                )


@rule(NO_HOST, kinds=("Topology",))
def topology_without_host(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """The last level of a Topology is the host."""
    keys = levels(subject)
    release = context.versions.kueue if context.versions is not None else None
    if keys and keys[-1] != HOSTNAME and (release is None or release < _HOSTS_UNTIL):
        yield Fault(
            path=("spec", "levels", len(keys) - 1, "nodeLabel"),
            what=f"the last level is {keys[-1]}, so that before Kueue {_HOSTS_UNTIL} single nodes are not looked at",
            fix=f"add {HOSTNAME} as the last level",
        )
