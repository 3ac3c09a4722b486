"""What sets ask for, and what the Kueue queues that they name grant."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping
from fractions import Fraction

from gangform.apis import kueue
from gangform.apis.forms import GroupView, PodView
from gangform.apis.pods import amount_of
from gangform.apis.views import Documents
from gangform.documents.document import Document, Key, dig, sequence, text
from gangform.findings import Path
from gangform.rules.joins import asked, base_groups, peak
from gangform.rules.rule import joined


def queue_label(group: GroupView) -> str:
    """The LocalQueue that the set's own metadata names; empty where none."""
    return text(group.document.manifest, *group.own, "labels", kueue.QUEUE_NAME)


def cluster_queue(documents: Documents, group: GroupView) -> Document | None:
    """The ClusterQueue behind the set's queue label, where both stand in the documents."""
    label = queue_label(group)
    if not label:
        return None
    local = documents.get(Key(kueue.GROUP, "LocalQueue", group.namespace, label))
    if local is None:
        return None
    name = text(local.manifest, "spec", "clusterQueue")
    return documents.get(Key(kueue.GROUP, "ClusterQueue", "", name))


@joined
def queued(documents: Documents) -> dict[Key, list[GroupView]]:
    """The sets that wait in a ClusterQueue of the documents."""
    found: defaultdict[Key, list[GroupView]] = defaultdict(list)
    for group in documents.groups():
        if (queue := cluster_queue(documents, group)) is not None:
            found[queue.key].append(group)
    return dict(found)


def quota(queue: Document) -> dict[str, tuple[Fraction | None, Path]]:
    """What a ClusterQueue grants of each resource over all flavors, with the place of the first amount.

    `None` where it may borrow without a bound.
    """
    found: dict[str, tuple[Fraction | None, Path]] = {}
    cohort = text(queue.manifest, "spec", "cohortName") or text(queue.manifest, "spec", "cohort")
    for number, group in enumerate(sequence(queue.manifest, "spec", "resourceGroups")):
        for index, flavor in enumerate(sequence(group, "flavors")):
            for place, row in enumerate(sequence(flavor, "resources")):
                name = text(row, "name")
                path = ("spec", "resourceGroups", number, "flavors", index, "resources", place)
                nominal = amount_of(dig(row, "nominalQuota")) or Fraction(0)
                borrows = amount_of(dig(row, "borrowingLimit")) if cohort else Fraction(0)
                before, at = found.get(name, (Fraction(0), (*path, "nominalQuota")))
                grants = None if borrows is None or before is None else before + nominal + borrows
                found[name] = (grants, at)
    return found


def nominal(queue: Document) -> dict[str, Fraction]:
    """What a ClusterQueue has of its own of each resource, over all flavors."""
    found: defaultdict[str, Fraction] = defaultdict(Fraction)
    for group in sequence(queue.manifest, "spec", "resourceGroups"):
        for flavor in sequence(group, "flavors"):
            for row in sequence(flavor, "resources"):
                found[text(row, "name")] += amount_of(dig(row, "nominalQuota")) or Fraction(0)
    return found


def flavors(documents: Documents, queue: Document) -> list[Document]:
    """The ResourceFlavors of a ClusterQueue that stand in the documents."""
    names = [
        text(flavor, "name")
        for group in sequence(queue.manifest, "spec", "resourceGroups")
        for flavor in sequence(group, "flavors")
    ]
    found = (flavor_of(documents, name) for name in names)
    return [document for document in found if document is not None]


def flavor_of(documents: Documents, name: str) -> Document | None:
    """A ResourceFlavor of the documents."""
    return documents.get(Key(kueue.GROUP, "ResourceFlavor", "", name))


def levels(topology: Document) -> list[str]:
    """The node labels of a Topology, widest first."""
    return [text(level, "nodeLabel") for level in sequence(topology.manifest, "spec", "levels")]


@joined
def _requests(documents: Documents) -> dict[tuple[int, Path], Mapping[str, Fraction]]:
    """Filled as groups are asked for."""
    return {}


def group_requests(documents: Documents, group: GroupView) -> Mapping[str, Fraction]:
    """What one group asks for: every pod of it; reckoned once a set."""
    known = _requests(documents)
    key = (id(group.document), group.leader.path)
    if key not in known:
        known[key] = _sum(documents, group)
    return known[key]


def _sum(documents: Documents, group: GroupView) -> dict[str, Fraction]:
    total: dict[str, Fraction] = {}
    for pod in group.pods:
        for name, value in asked(documents, pod).items():
            total[name] = total.get(name, 0) + value * pod.per_group
    return total


@joined
def base_demand(documents: Documents) -> dict[Key, dict[str, Fraction]]:
    """What the sets of each ClusterQueue take at the height of a rollout, autoscaled ones at their minimum."""
    total: defaultdict[Key, dict[str, Fraction]] = defaultdict(dict)
    for key, groups in queued(documents).items():
        for group in groups:
            count = peak(group, base_groups(documents, group)) * group.copies
            for name, value in group_requests(documents, group).items():
                total[key][name] = total[key].get(name, Fraction(0)) + value * count
    return total


def shown(value: Fraction) -> str:
    """An amount as people write it: bytes in GiB where they are whole mebibytes."""
    if value >= 2**30 and value % 2**20 == 0:
        return f"{float(value / 2**30):g}Gi"
    return str(value) if value.denominator == 1 else f"{float(value):g}"


def renamed(name: str, pod: PodView, covered: Collection[str], documents: Documents) -> bool:
    """Whether Kueue may count a resource under another name: it covers one of that domain which nobody requests."""
    domain = name.rpartition("/")[0]
    return bool(domain) and any(
        each.rpartition("/")[0] == domain and each not in asked(documents, pod) for each in covered
    )
