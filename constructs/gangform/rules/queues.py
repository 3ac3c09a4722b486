"""Objects of Kueue: queues that admit somebody, flavors that pods tolerate, amounts that hold a rollout."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from gangform.apis import kueue
from gangform.apis.forms import GroupView
from gangform.apis.keys import HOSTNAME
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, Node, dig, mapping, sequence, text
from gangform.findings import Path, Severity, declare
from gangform.rules.demand import (
    flavors,
    group_requests,
    levels,
    nominal,
    queued,
    quota,
    shown,
)
from gangform.rules.joins import base_groups, gpus, peak, templates
from gangform.rules.rule import Context, Fault, joined, rule

NOBODY = declare(
    "queue-admits-nobody",
    "A ClusterQueue without a namespaceSelector matches no namespace",
    Severity.BREAKS,
    "kueue §1.4",
)
ORDER = declare(
    "queue-flavors-disagree",
    "A flavor lists other resources than the group covers, or in another order: the queue is refused",
    Severity.BREAKS,
    "kueue §1.4",
)
TWICE = declare(
    "queue-resource-twice",
    "A resource or a flavor stands in two groups of a queue: the queue is refused",
    Severity.BREAKS,
    "kueue §1.4",
)
QUOTA = declare(
    "quota-below-peak",
    "The quota of a queue does not hold its sets at the height of a rollout: groups wait for ever",
    Severity.DEGRADES,
    "kueue §7; lab E4",
)
TAINT = declare(
    "flavor-taint-untolerated",
    "A flavor names a taint that neither it nor the pods in its queues tolerate: nothing is admitted",
    Severity.DEGRADES,
    "kueue §1.3, §1.7",
)
UNLABELLED = declare(
    "flavor-topology-without-labels",
    "A flavor with a topology needs a node label: it is refused",
    Severity.BREAKS,
    "kueue §1.3",
)
LEVELS = declare(
    "topology-levels-refused",
    "Levels of a Topology that are refused, or that no Workload can name",
    Severity.BREAKS,
    "kueue §1.2",
)
PREEMPTS = declare(
    "queue-preempts-within",
    "A queue of serving groups lets one workload preempt another of the same queue",
    Severity.DEGRADES,
    "kueue §7",
)
BORROWED = declare(
    "groups-on-borrowed-quota",
    "Groups that serve run on quota that others lend: they are evicted when it is reclaimed",
    Severity.DEGRADES,
    "kueue §7",
)

_NEVER: Final = "Never"
_HARD: Final = ("NoSchedule", "NoExecute")


@rule(NOBODY, kinds=("ClusterQueue",))
def queue_admits_nobody(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A ClusterQueue says whose workloads it takes."""
    if dig(subject.manifest, "spec", "namespaceSelector") is None:
        yield Fault(
            path=("spec", "namespaceSelector"),
            what="there is no namespaceSelector, which matches no namespace",
            fix="write namespaceSelector: {} for every namespace, or labels of the one meant",
        )


@rule(ORDER, kinds=("ClusterQueue",))
def queue_flavors_disagree(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Every flavor lists exactly the covered resources, in their order."""
    for number, group in enumerate(sequence(subject.manifest, "spec", "resourceGroups")):
        covered = [name for name in sequence(group, "coveredResources") if isinstance(name, str)]
        for index, flavor in enumerate(sequence(group, "flavors")):
            listed = [text(row, "name") for row in sequence(flavor, "resources")]
            if listed != covered:
                yield Fault(
                    path=("spec", "resourceGroups", number, "flavors", index, "resources"),
                    what=f"flavor {text(flavor, 'name')} lists {', '.join(listed) or 'nothing'}; "
                    f"covered are {', '.join(covered) or 'none'}",
                    fix=f"list {', '.join(covered)}, in this order",
                )


@rule(TWICE, kinds=("ClusterQueue",))
def queue_resource_twice(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A resource and a flavor stand in one group each."""
    seen: set[tuple[str, str]] = set()
    for number, group in enumerate(sequence(subject.manifest, "spec", "resourceGroups")):
        path: Path = ("spec", "resourceGroups", number)
        for index, name in enumerate(sequence(group, "coveredResources")):
            if isinstance(name, str) and ("resource", name) in seen:
                yield _twice((*path, "coveredResources", index), name)
            seen.add(("resource", str(name)))
        for index, flavor in enumerate(sequence(group, "flavors")):
            if ("flavor", text(flavor, "name")) in seen:
                yield _twice((*path, "flavors", index, "name"), text(flavor, "name"))
            seen.add(("flavor", text(flavor, "name")))


def _twice(path: Path, name: str) -> Fault:
    return Fault(path=path, what=f"`{name}` stands twice", fix="keep it in one resource group")


@rule(QUOTA, kinds=("ClusterQueue",))
def quota_below_peak(subject: Document, documents: Documents, context: Context) -> Iterator[Fault]:
    """The quota holds every set with its surge; an autoscaler's maximum is judged at the autoscaler."""
    waiting = queued(documents).get(subject.key, [])
    for name, (most, path) in quota(subject).items():
        asked: list[tuple[str, int, int, Fraction]] = []
        need = Fraction(0)
        for group in waiting:
            one = group_requests(documents, group).get(name, Fraction(0))
            groups = base_groups(documents, group)
            surge = (peak(group, groups) - groups) * group.copies
            groups *= group.copies
            if one and groups:
                need += one * (groups + surge)
                asked.append((group.title, groups, surge, one))
        if most is not None and need > most:
            parts = [f"{who} ({of} + {surge}) × {shown(one)}" for who, of, surge, one in asked]
            yield Fault(
                path=path,
                what=f"{', '.join(parts)} are {shown(need)} of {name}; the quota is {shown(most)}",
                fix=f"raise it to {shown(need)}, or want fewer groups",
                seen={"needed": shown(need), "quota": shown(most)},
            )


def _serving(documents: Documents, queue: Document) -> list[GroupView]:
    """The sets of a queue that hold GPUs and stay: what nobody should take away."""
    return [
        group
        for group in queued(documents).get(queue.key, [])
        if any(gpus(documents, pod) for pod in templates(group))
    ]


@rule(PREEMPTS, kinds=("ClusterQueue",))
def queue_preempts_within(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Groups that serve are not preempted inside their queue."""
    policy = text(subject.manifest, "spec", "preemption", "withinClusterQueue") or _NEVER
    groups = _serving(documents, subject)
    if policy != _NEVER and groups:
        yield Fault(
            path=("spec", "preemption", "withinClusterQueue"),
            what=f"withinClusterQueue is {policy}: groups of {groups[0].title} are stopped for "
            + ("a workload" if policy == "LowerPriority" else "a newer workload, or one")
            + " of a higher priority",
            fix=f"write withinClusterQueue: {_NEVER}, with a queue of their own for serving groups",
            seen={"policy": policy},
        )


@rule(BORROWED, kinds=("ClusterQueue",))
def groups_on_borrowed_quota(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Groups that serve stay within the nominal quota of their queue."""
    spec = mapping(subject.manifest, "spec")
    if not text(spec, "cohortName") and not text(spec, "cohort"):
        return
    groups = _serving(documents, subject)
    for name, (most, path) in quota(subject).items():
        own = nominal(subject)[name]
        need = Fraction(0)
        for group in groups:
            one = group_requests(documents, group).get(name, Fraction(0))
            need += one * base_groups(documents, group) * group.copies
        if need > own and (most is None or need <= most):
            yield Fault(
                path=path,
                what=f"{', '.join(group.title for group in groups)} take {shown(need)} of {name} while "
                f"they serve, {shown(need - own)} of it borrowed",
                fix=f"write nominalQuota: {shown(need)}",
                seen={"needed": shown(need), "nominal": shown(own)},
            )


@joined
def _users(documents: Documents) -> dict[Key, list[GroupView]]:
    """The sets that may run on a flavor."""
    found: defaultdict[Key, list[GroupView]] = defaultdict(list)
    for queue in documents.of("ClusterQueue"):
        for flavor in flavors(documents, queue):
            found[flavor.key].extend(queued(documents).get(queue.key, ()))
    return dict(found)


@rule(TAINT, kinds=("ResourceFlavor",))
def flavor_taint_untolerated(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A taint that a flavor names is tolerated by it, or by the pods that may use it.

    Silent where no such pod is known: a flavor that only some workloads tolerate is in order.
    """
    own = sequence(subject.manifest, "spec", "tolerations")
    users = [pod for group in _users(documents).get(subject.key, ()) for pod in templates(group)]
    for index, taint in enumerate(sequence(subject.manifest, "spec", "nodeTaints")):
        if text(taint, "effect") not in _HARD or any(_tolerates(each, taint) for each in own):
            continue
        without = [
            pod
            for pod in users
            if not any(_tolerates(each, taint) for each in sequence(pod.spec, "tolerations"))
        ]
        if without:
            key, effect = text(taint, "key"), text(taint, "effect")
            whom = f"; pods of {without[0].document.key.name} do not either"
            yield Fault(
                path=("spec", "nodeTaints", index),
                what=f"the flavor does not tolerate its own taint {key}:{effect}{whom}",
                fix=f"add the toleration {{key: {key}, operator: Exists, effect: {effect}}} to the "
                "flavor",
            )


def _tolerates(toleration: Node, taint: Node) -> bool:
    """Core Kubernetes' match of a toleration and a taint."""
    key, effect = text(toleration, "key"), text(toleration, "effect")
    if effect and effect != text(taint, "effect"):
        return False
    if key and key != text(taint, "key"):
        return False
    if text(toleration, "operator") == "Exists":
        return True
    return bool(key) and text(toleration, "value") == text(taint, "value")


@rule(UNLABELLED, kinds=("ResourceFlavor",))
def flavor_topology_without_labels(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A flavor with a topology selects nodes."""
    spec = mapping(subject.manifest, "spec")
    if text(spec, "topologyName") and not mapping(spec, "nodeLabels"):
        yield Fault(
            path=("spec", "nodeLabels"),
            what=f"topologyName {text(spec, 'topologyName')} without nodeLabels",
            fix="select the pool's nodes, by their GPU product for example",
        )


@rule(LEVELS, kinds=("Topology",))
def topology_levels_refused(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """Levels are unique, the host is the last, and a Workload can name each."""
    keys = levels(subject)
    for index, key in enumerate(keys):
        path: Path = ("spec", "levels", index, "nodeLabel")
        if key in keys[:index]:
            yield Fault(path=path, what=f"`{key}` stands twice", fix="remove one")
        elif key == HOSTNAME and index < len(keys) - 1:
            yield Fault(
                path=path,
                what=f"{key} is level {index + 1} of {len(keys)}; it may only be the last",
                fix="move it to the end",
            )
        elif len(key) > kueue.LEVEL_KEY_LIMIT:
            yield Fault(
                path=path,
                what=f"`{key}` has {len(key)} characters; a Workload takes {kueue.LEVEL_KEY_LIMIT}, "
                "so that none is made and the pods stay gated",
                fix="use a shorter node label",
            )
    if not 1 <= len(keys) <= kueue.LEVEL_LIMIT:
        yield Fault(
            path=("spec", "levels"),
            what=f"{len(keys)} levels; 1 to {kueue.LEVEL_LIMIT} are taken",
            fix="keep the levels that groups are placed by",
        )
