"""Kueue: keys, releases, what a live set may not change, and its rules for topology annotations.

Sources: `kueue §1–§3, §9` (code at v0.19.2) and `lab E4, E10` (seen at 0.17.0 and 0.19.2).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from gangform.apis.versions import Release
from gangform.documents.document import Node
from gangform.units import Seconds

GROUP = "kueue.x-k8s.io"
PREFIX = GROUP + "/"

QUEUE_NAME = PREFIX + "queue-name"
"""Label on the metadata of the LeaderWorkerSet: the LocalQueue. Never on templates (`kueue §2.2`)."""
PRIORITY_CLASS = PREFIX + "priority-class"
"""Label beside it: the WorkloadPriorityClass."""
REQUIRED_TOPOLOGY = PREFIX + "podset-required-topology"
PREFERRED_TOPOLOGY = PREFIX + "podset-preferred-topology"
UNCONSTRAINED_TOPOLOGY = PREFIX + "podset-unconstrained-topology"
SLICE_REQUIRED_TOPOLOGY = PREFIX + "podset-slice-required-topology"
SLICE_SIZE = PREFIX + "podset-slice-size"
PODSET_GROUP = PREFIX + "podset-group-name"
"""Annotation on both templates: leader and workers go into one domain (`kueue §3`)."""
POD_INDEX_OFFSET = PREFIX + "pod-index-offset"
STAMPED_LABELS = frozenset({QUEUE_NAME, PRIORITY_CLASS})
STAMPED_ANNOTATIONS = frozenset(
    {PREFIX + "pod-suspending-parent", PREFIX + "pod-group-serving", POD_INDEX_OFFSET}
)
"""What the webhook writes onto both templates by itself (`kueue §2.2`)."""
MANAGED_LABEL = PREFIX + "managed"
"""What it writes onto the template of a Deployment beside them (read at 0.17.0)."""

COMPONENT_INDEX = PREFIX + "component-workload-index"
"""Annotation on a Workload: the index of its group in the set (read at 0.17.0, 0.18.1 and 0.19.2; not in 0.16)."""

LWS_FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
"""What the manager's configuration must list, else pods start outside every quota (`kueue §2.1`)."""

DRAINS = "HoldAndDrain"
"""The `stopPolicy` of a queue that evicts what runs (`kueue §1.4`)."""

_LEVELS = (REQUIRED_TOPOLOGY, PREFERRED_TOPOLOGY)
_PLACEMENTS = (*_LEVELS, UNCONSTRAINED_TOPOLOGY)
_LABEL_KEY = re.compile(
    r"^([a-z0-9]([a-z0-9.-]*[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$"
)

FLAVOR_LIMIT = 8
"""Most node labels, taints and tolerations that a ResourceFlavor may hold, each (`kueue §1.3`)."""
LEVEL_LIMIT = 16
"""Most levels of a Topology (`kueue §1.2`)."""
LEVEL_KEY_LIMIT = 63
"""Longest level key: a longer one passes every admission, then no Workload is made (`kueue §1.2`)."""


def api_version(release: Release) -> str:
    """`v1beta2` from 0.15 on; 0.20 serves nothing else (`kueue §1.1`)."""
    return f"{GROUP}/{'v1beta2' if release >= Release(0, 15) else 'v1beta1'}"


def longest_name(release: Release, *, highest_index: int) -> int | None:
    """The longest name of a LeaderWorkerSet; `None` where only its own bound holds (`kueue §2.3`, `lab E10`).

    Up to 0.17 the Workload's name is a label of the pods: `leaderworkerset-<name>-<index>-<5>` ≤ 63.
    """
    return None if release >= Release(0, 18) else 40 - len(str(highest_index))


def manages_by_default(release: Release) -> bool:
    """Whether the shipped configuration lists `LWS_FRAMEWORK` (`kueue §2.1`)."""
    return release >= Release(0, 16)


def wait_for_pods_ready(release: Release) -> Seconds | None:
    """After how long an admitted group that is not ready is evicted, where nothing is configured (`kueue §9`).

    `None`: never.
    """
    return Seconds(30 * 60) if release >= Release(0, 19) else None


def surge_finishes(surge: int, unavailable: int) -> bool:
    """Whether a rollout of a managed LeaderWorkerSet ends, given quota and nodes for the surge (`lab E4`).

    With nothing unavailable the surge group is taken away again and again, and the last old group stays. (1, 0) and
    (2, 0) never finish; (0, 1), (1, 1), (2, 1) and (2, 2) do. A DisaggregatedSet surges with whole sets of its own
    and is not concerned (`kueue §2.7`).
    """
    return surge == 0 or unavailable > 0


def surge_dips(surge: int, unavailable: int) -> bool:
    """Whether a rollout that ends may keep one group less ready than R − u: seen for (1, 1) (`lab E4`, E10)."""
    return surge > 0 and unavailable > 0


def keeps_surge(replicas: int, *, present: int, updated: int) -> bool:
    """Whether surge groups of a managed LeaderWorkerSet have Workloads of their own, without which they cannot run.

    They lose them as soon as as many groups count as updated as are wanted, surge groups and those not yet ready
    included (`kueue §2.5`; seen in the log of `lab E4`).

    Args:
        replicas: Groups that are wanted.
        present: Groups that there are.
        updated: Groups whose leader and worker StatefulSet carry the new revision.
    """
    return present > replicas and updated < replicas


FROZEN: tuple[str, ...] = (
    "containers[].ports",
    "containers[].resources.requests",
    "initContainers[].ports",
    "initContainers[].resources.requests",
    "nodeSelector",
    "affinity",
    "tolerations",
    "runtimeClassName",
    "priority",
    "topologySpreadConstraints",
    "overhead",
    "resourceClaims",
)
"""Fields of both pod specs that a managed LeaderWorkerSet may not change while it lives, beside the number and the
order of containers and the presence of a leaderTemplate (`kueue §2.4`, `lab E4`). `priorityClassName` is free; the
label that names a WorkloadPriorityClass cannot be added to a set that runs (seen at 0.17.0)."""

POD_RESOURCES: str = "resources"
"""Requests of the whole pod: frozen too where `frozen` says so."""


def frozen(release: Release) -> tuple[str, ...]:
    """`FROZEN`, and what a release adds: pod-level `resources` from 0.19 (read at 0.19.2; taken at 0.17.0)."""
    return (*FROZEN, POD_RESOURCES) if release >= Release(0, 19) else FROZEN


def overlooks_domains_until(release: Release) -> Release | None:
    """The release from which a domain with room for all but one pod of a group does not block it; `None` from there on.

    Before it Kueue takes such a domain for one that fits and prefers it, fails to place the leader, and tries again for
    ever: the Workload has no condition and there is no event, while whole domains are free. Mended in 0.16.7, 0.17.2
    and 0.18 (kubernetes-sigs/kueue#10778); seen at 0.17.0 with `required` and with `preferred`.
    """
    mended = Release(0, 17, 2) if release >= Release(0, 17) else Release(0, 16, 7)
    return mended if release < mended else None


def size_is_frozen(release: Release) -> bool:
    """Whether changing the size is refused; where it is not, one group stays gated for good (`lab E4`, E10)."""
    if release.major == 0 and release.minor == 18:
        return release >= Release(0, 18, 5)
    return release >= Release(0, 19, 1)


def annotation_faults(
    leader: Mapping[str, str] | None, workers: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """What is wrong with the topology annotations of the two templates: key, what is wrong, what to write.

    Both what the webhook refuses and what it accepts in silence and then places wrongly (`kueue §3`, `lab E4`).

    Args:
        leader: The annotations of the leaderTemplate; `None` where there is none.
        workers: The annotations of the workerTemplate.
    """
    sides = [("workerTemplate", workers)]
    if leader is not None:
        sides.insert(0, ("leaderTemplate", leader))
    for name, side in sides:
        yield from _side_faults(name, side)
    if leader is None:
        if PODSET_GROUP in workers:
            yield (
                PODSET_GROUP,
                "a group name joins exactly 2 pod sets, and without a leaderTemplate there is one",
                "remove it: the single pod set already holds the leader",
            )
        return
    yield from _pair_faults(leader, workers)


def annotations_refused(leader: Mapping[str, Node] | None, workers: Mapping[str, Node]) -> bool:
    """Whether the webhook refuses the topology annotations of the two templates (`kueue §3`, `lab E4`).

    Without a group name the templates are placed each by itself, and may ask for what they like.
    """
    leader_or_workers = workers if leader is None else leader
    for side in (leader_or_workers, workers):
        name = side.get(PODSET_GROUP)
        if sum(key in side for key in _PLACEMENTS) > 1:
            return True
        if name is not None and not any(key in side for key in _LEVELS):
            return True
        if str(name).isdecimal():
            return True
    asked = [
        [side.get(key) for key in (PODSET_GROUP, *_LEVELS)] for side in (leader_or_workers, workers)
    ]
    joins = any(each[0] is not None for each in asked)
    return joins and (leader is None or asked[0] != asked[1])


def _side_faults(name: str, side: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    set_ = [key for key in _PLACEMENTS if key in side]
    if len(set_) > 1:
        yield (
            set_[1],
            f"{name} has {len(set_)} topology annotations; one is allowed",
            f"keep {set_[0]}",
        )
    for key in (*_LEVELS, SLICE_REQUIRED_TOPOLOGY):
        level = side.get(key)
        if level is None:
            continue
        if not _LABEL_KEY.match(level):
            yield key, f"`{level}` in {name} is not a label key", "name a level of the Topology"
        elif len(level) > LEVEL_KEY_LIMIT:
            yield (
                key,
                f"the level in {name} has {len(level)} characters; a Workload takes {LEVEL_KEY_LIMIT}, so that none "
                "is made and the pods stay gated",
                f"use a level key of at most {LEVEL_KEY_LIMIT} characters",
            )
    free = side.get(UNCONSTRAINED_TOPOLOGY)
    if free is not None and free.lower() not in ("true", "t", "1"):
        yield (
            UNCONSTRAINED_TOPOLOGY,
            f"`{free}` in {name} is not true: refused, or accepted and then never scheduled",
            'write "true" or remove it',
        )
    if (SLICE_SIZE in side) != (SLICE_REQUIRED_TOPOLOGY in side):
        there = SLICE_SIZE if SLICE_SIZE in side else SLICE_REQUIRED_TOPOLOGY
        yield (
            there,
            f"slice size and slice topology come together; {name} has one",
            f"remove {there}",
        )
    group = side.get(PODSET_GROUP)
    if group is None:
        return
    if group.isdecimal():
        yield PODSET_GROUP, f"`{group}` in {name} must not be a number", "use a word: `group`"
    if not any(key in side for key in _LEVELS):
        yield (
            PODSET_GROUP,
            f"{name} has a group name but neither {REQUIRED_TOPOLOGY} nor {PREFERRED_TOPOLOGY}",
            "write the topology annotation of the other template here too",
        )
    if SLICE_REQUIRED_TOPOLOGY in side:
        yield (
            PODSET_GROUP,
            f"{name} has a group name and a slice topology; they exclude each other up to 0.19.3",
            f"remove {SLICE_REQUIRED_TOPOLOGY}",
        )
    if POD_INDEX_OFFSET in side:
        yield (
            POD_INDEX_OFFSET,
            f"{name} sets a pod index offset beside a group name, refused from 0.19.5",
            "remove it: Kueue writes it where it is needed",
        )


def _pair_faults(
    leader: Mapping[str, str], workers: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    groups = leader.get(PODSET_GROUP), workers.get(PODSET_GROUP)
    both_levels = True
    for key in _LEVELS:
        ours, theirs = leader.get(key), workers.get(key)
        if ours == theirs:
            continue
        both_levels = False
        if ours is None or theirs is None:
            where, value = (
                ("workerTemplate", ours) if theirs is None else ("leaderTemplate", theirs)
            )
            yield (
                key,
                f"only one template asks for `{value}`, so that the other's pods go anywhere"
                + (
                    " and the group is split over domains in silence"
                    if groups == (None, None)
                    else ""
                ),
                f"write the same annotation into the {where}",
            )
        else:
            yield (
                key,
                f"the templates ask for different levels: `{ours}` and `{theirs}`",
                f"write `{ours}` into both",
            )
    if groups[0] != groups[1]:
        there = groups[0] if groups[0] is not None else groups[1]
        what = (
            f"the templates have different group names, `{groups[0]}` and `{groups[1]}`"
            if None not in groups
            else f"only one template has the group name `{there}`"
        )
        yield (
            PODSET_GROUP,
            f"{what}; a name joins exactly 2 pod sets",
            f"write `{there}` into both templates",
        )
    elif SLICE_REQUIRED_TOPOLOGY in {**leader, **workers}:
        return  # Slices and a group name exclude each other up to 0.19.3: placed apart on purpose.
    elif groups[0] is None and both_levels and any(key in leader for key in _LEVELS):
        yield (
            PODSET_GROUP,
            "leader and workers each get a domain of their own: the group is split in silence",
            f"write {PODSET_GROUP} with the same word into both templates",
        )


OLDEST = Release(0, 15)
"""The first release that serves `v1beta2` (`kueue §1.1`)."""

NEWEST = Release(0, 20)
"""The newest release that was looked at (`kueue §1.1`, §9)."""
