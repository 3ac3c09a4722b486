"""Volcano: keys, versions, rules of PodGroup, Queue and HyperNode, and names that LWS's provider makes.

Sources: `volcano §1–§3, §5` (code at v1.15.1) and `lab E8` (seen at 1.15.1 and 1.14.1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gangform.apis.keys import NAME_LIMIT
from gangform.apis.pods import amount_of
from gangform.apis.versions import Release
from gangform.documents.document import Manifest, Node, dig, mapping, sequence, text, whole
from gangform.findings import Path

NEWEST = Release(1, 15)
"""The newest release that was looked at (`volcano §1`)."""

GROUP = "scheduling.volcano.sh"
API_VERSION = f"{GROUP}/v1beta1"
"""Of PodGroup and Queue."""
TOPOLOGY_GROUP = "topology.volcano.sh"
TOPOLOGY_API_VERSION = f"{TOPOLOGY_GROUP}/v1alpha1"
"""Of HyperNode."""

SCHEDULER = "volcano"
"""The scheduler's name where nothing else is configured."""
GROUP_NAME = "scheduling.k8s.io/group-name"
"""Annotation on pods: the PodGroup they are members of, in their namespace (`volcano §1.3`)."""
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
"""Annotation: on LWS metadata under LWS's provider; on pods for Volcano's own groups (`volcano §1.4, §5`)."""
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
GROUP_MIN_RESOURCES = "scheduling.volcano.sh/group-min-resources"
"""A constant that nobody reads (`volcano §1.4`)."""
OTHER_GROUP_NAME = "scheduling.volcano.sh/group-name"
"""Defined, and no membership: only `GROUP_NAME` is (`volcano §1.3`)."""
TASK = "volcano.sh/task-spec"
"""Annotation or label on pods: the task that `minTaskMember` counts them for (`volcano §1.1`)."""
BATCH_GROUP = "batch.volcano.sh"
"""Of Volcano's Job."""
TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"
"""Read from pods for Volcano's own groups only: without effect on an LWS and its templates (`lab E8`)."""
TOPOLOGY_PLUGIN = "network-topology-aware"
"""The scheduler plugin without which a hard topology is not enforced, in silence (`volcano §1.5`, `lab E8`)."""
DEFAULT_QUEUE = "default"
ROOT_QUEUE = "root"
_SELECTORS = ("exactMatch", "regexMatch", "labelMatch")
_NOT_IN_GO = re.compile(r"(?<!\\)(\(\?(?:=|!|<=|<!))")
"""Lookarounds, where nothing escapes their bracket."""
_BROKEN = ("missing )", "unbalanced parenthesis", "unterminated character set")
"""What no dialect compiles, in the words of Python's."""


def group_name(lws: str, index: int, revision: str) -> str:
    """The PodGroup that LWS's provider makes for a group: `<set>-<index>-<revision>` (`volcano §5`, `lab E8`)."""
    return f"{lws}-{index}-{revision}"


def gang_size(size: int, *, leader_ready: bool) -> int:
    """`minMember` of that PodGroup: the whole group, or 1 under LeaderReady (`volcano §5`, `lab E8`)."""
    return 1 if leader_ready else size


def hyper_node_name(*values: str) -> str:
    """A DNS name for the domain with these label values, widest first: `row-1-rack-3`.

    Label values may hold capitals, `_` and `.`; where the name cannot show a value as it is, or would be too long,
    8 hex digits of SHA-256 over the values keep different domains apart (`volcano §2.2`).
    """
    plain = "-".join(values)
    slug = re.sub(r"[^a-z0-9]+", "-", plain.lower()).strip("-")
    # With several values a dash says nothing about where one ends: `a-b`, `c` and `a`, `b-c` are two domains.
    told_apart = slug == plain and (len(values) == 1 or not any("-" in value for value in values))
    if told_apart and len(slug) <= NAME_LIMIT:
        return slug
    from hashlib import sha256

    mark = sha256("\0".join(values).encode()).hexdigest()[:8]
    short = slug[: NAME_LIMIT - len(mark) - 1].strip("-")
    return f"{short}-{mark}" if short else f"domain-{mark}"


def pod_group_faults(manifest: Manifest) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with a PodGroup, refused or dropped in silence: path, what is wrong, what to write."""
    spec = mapping(manifest, "spec")
    yield from _topology_faults(mapping(spec, "networkTopology"), ("spec", "networkTopology"))
    for index, group in enumerate(sequence(spec, "subGroupPolicy")):
        path: Path = ("spec", "subGroupPolicy", index, "networkTopology")
        yield from _topology_faults(mapping(group, "networkTopology"), path)
    members = whole(spec, "minMember")
    if members is not None and members < 0:
        yield (
            ("spec", "minMember"),
            f"minMember {members} is negative",
            "write the size of the group",
        )
    if text(spec, "queue") == ROOT_QUEUE:
        yield ("spec", "queue"), "the root queue takes no work", "name a leaf queue"


def _topology_faults(topology: Manifest, path: Path) -> Iterator[tuple[Path, str, str]]:
    if not topology:
        return
    tier, name = dig(topology, "highestTierAllowed"), dig(topology, "highestTierName")
    if tier is not None and name is not None:
        # lab E8: refused with 400; on an update, and under ValidatingAdmissionPolicies, accepted (volcano §1.2).
        yield (
            (*path, "highestTierName"),
            "highestTierAllowed and highestTierName exclude each other",
            "keep highestTierName: it names a level as Kueue does",
        )
    if (text(topology, "mode") or "hard") == "hard" and tier is None and not name:
        yield (
            (*path, "mode"),
            "a hard topology without a tier is not enforced, in silence",
            "add highestTierName with the level's label key",
        )


def queue_faults(manifest: Manifest) -> Iterator[tuple[Path, str, str]]:
    """What the webhook refuses in a Queue by itself: path, what is wrong, what to write (`volcano §3`)."""
    spec = mapping(manifest, "spec")
    weight = whole(spec, "weight")
    if weight is not None and not 1 <= weight <= 65535:
        yield ("spec", "weight"), f"weight {weight} is not between 1 and 65535", "write 1"
    if text(spec, "parent") == text(manifest, "metadata", "name") != "":
        yield ("spec", "parent"), "a queue is not its own parent", f"write {ROOT_QUEUE}"
    guarantee = mapping(spec, "guarantee", "resource")
    deserved, capability = mapping(spec, "deserved"), mapping(spec, "capability")
    for name, value in guarantee.items():
        least, share = amount_of(value), amount_of(deserved.get(name))
        path: Path = ("spec", "guarantee", "resource", name)
        if share is None:
            yield path, f"{name} is guaranteed but not deserved", f"add it to deserved: {value}"
        elif least is not None and least > share:
            yield path, f"{name}: guarantee {value} is above deserved {deserved[name]}", "lower it"
        most = amount_of(capability.get(name))
        if least is not None and most is not None and least > most:
            yield (
                path,
                f"{name}: guarantee {value} is above capability {capability[name]}",
                "lower it",
            )
    for name, value in deserved.items():
        share, most = amount_of(value), amount_of(capability.get(name))
        if share is not None and most is not None and share > most:
            yield (
                ("spec", "deserved", name),
                f"{name}: deserved {value} is above capability {capability[name]}",
                "lower it",
            )


def queue_family_faults(
    manifest: Manifest, above: Sequence[Manifest], before: Sequence[Manifest]
) -> Iterator[tuple[Path, str, str]]:
    """What the webhook refuses in a Queue because of others: path, what is wrong, what to write (`volcano §3`).

    Where the parent sets no share of its own, releases differ, and nothing is said.

    Args:
        manifest: The queue.
        above: The queues that it lies in, the nearest first, without the root.
        before: The children of its parent that stand before it.
    """
    capability = mapping(manifest, "spec", "capability")
    for name, value in capability.items():
        limits = [mapping(one, "spec", "capability") for one in above]
        nearest = next((one[name] for one in limits if name in one), None)
        own, most = amount_of(value), amount_of(nearest)
        if own is not None and most is not None and own > most:
            yield (
                ("spec", "capability", name),
                f"{name}: capability {value} is above {nearest}, that of a queue it lies in",
                "lower it",
            )
    for path in (("guarantee", "resource"), ("deserved",)) if above else ():
        for name, value in mapping(manifest, "spec", *path).items():
            limit = mapping(above[0], "spec", *path).get(name)
            own, most = amount_of(value), amount_of(limit)
            shares = [amount_of(mapping(one, "spec", *path).get(name)) for one in before]
            if own and most is not None and own + sum(filter(None, shares)) > most:
                yield (
                    ("spec", *path, name),
                    f"{name}: {value} is more than others leave of {limit}, the {path[0]} of the parent "
                    f"{text(above[0], 'metadata', 'name')}",
                    "lower it, or raise that of the parent",
                )


def hyper_node_faults(manifest: Manifest) -> Iterator[tuple[Path, str, str]]:
    """What the CRD refuses in a HyperNode, or the scheduler ignores: path, what is wrong, what to write."""
    spec = mapping(manifest, "spec")
    tier = whole(spec, "tier")
    if tier is None or tier < 0:
        yield ("spec", "tier"), "tier is missing or negative", "write 1 for the closest domain"
    members = sequence(spec, "members")
    if not members:
        yield ("spec", "members"), "a HyperNode has at least one member", "name its nodes by label"
    for index, member in enumerate(members):
        path: Path = ("spec", "members", index, "selector")
        found = [name for name in _SELECTORS if dig(member, "selector", name) is not None]
        if len(found) != 1:
            yield path, f"a member has exactly one selector; this one has {len(found)}", "keep one"
        elif text(member, "type") == "HyperNode" and found != ["exactMatch"]:
            yield path, f"{found[0]} on a HyperNode member is not honoured", "use exactMatch"
        pattern = text(member, "selector", "regexMatch", "pattern")
        if why := _no_expression(pattern):
            yield (
                (*path, "regexMatch", "pattern"),
                f"`{pattern}` is no regular expression of Go's: {why}",
                "write one that compiles, or name the nodes by label",
            )


def _no_expression(pattern: str) -> str:
    """Why Go's RE2 does not compile a pattern, as far as that is certain; empty where it may."""
    if r"\Q" in pattern:
        return ""  # What is quoted is text.
    found = _NOT_IN_GO.search(pattern)
    if found and "[" not in pattern[: found.start()]:
        return f"it has no `{found[1]}`"
    if pattern[:1] in ("*", "+", "?"):
        return f"nothing stands before `{pattern[0]}`"
    try:
        re.compile(pattern)
    except re.error as error:
        return error.msg if error.msg.startswith(_BROKEN) else ""
    except (OverflowError, RecursionError):
        return ""
    return ""


def _waits_for(name: str, tasks: Sequence[Node]) -> set[str]:
    """The tasks that one waits for, by whatever way."""
    direct = {
        text(task, "name"): [
            one for one in sequence(task, "dependsOn", "name") if isinstance(one, str)
        ]
        for task in tasks
    }
    found: set[str] = set()
    ahead = list(direct.get(name, ()))
    while ahead:
        one = ahead.pop()
        if one not in found:
            found.add(one)
            ahead += direct.get(one, ())
    return found


def job_faults(manifest: Manifest) -> Iterator[tuple[Path, str, str]]:
    """What the webhook refuses in a Job of Volcano: path, what is wrong, what to write (`volcano §4`)."""
    spec = mapping(manifest, "spec")
    tasks = sequence(spec, "tasks")
    if not tasks:
        yield ("spec", "tasks"), "a Job has at least one task", "add the task with its template"
    total = 0
    for index, task in enumerate(tasks):
        replicas = whole(task, "replicas")
        replicas = 1 if replicas is None else replicas
        total += replicas
        least = whole(task, "minAvailable")
        if least is not None and least > replicas:
            yield (
                ("spec", "tasks", index, "minAvailable"),
                f"minAvailable {least} is above the {replicas} replicas of its task",
                f"write minAvailable: {replicas}",
            )
        parts, each = (
            whole(task, "partitionPolicy", key) for key in ("totalPartitions", "partitionSize")
        )
        if parts is not None and each is not None and parts * each != replicas:
            yield (
                ("spec", "tasks", index, "partitionPolicy"),
                f"{parts} partitions of {each} pods are {parts * each}, and its task has {replicas}",
                f"write replicas: {parts * each}",
            )
        if text(task, "name") and text(task, "name") in _waits_for(text(task, "name"), tasks):
            yield (
                ("spec", "tasks", index, "dependsOn"),
                f"`{text(task, 'name')}` waits for itself",
                "remove one of the dependencies",
            )
    if text(spec, "queue") == ROOT_QUEUE:
        yield ("spec", "queue"), "root takes no work", f"write queue: {DEFAULT_QUEUE}"
    gang = whole(spec, "minAvailable")
    if tasks and gang is not None and gang > total:
        yield (
            ("spec", "minAvailable"),
            f"minAvailable {gang} is above the {total} pods of all tasks",
            f"write minAvailable: {total}",
        )
    topology = mapping(spec, "networkTopology")
    if "highestTierAllowed" in topology and "highestTierName" in topology:
        yield (
            ("spec", "networkTopology", "highestTierName"),
            "highestTierAllowed and highestTierName exclude each other",
            "keep one",
        )
