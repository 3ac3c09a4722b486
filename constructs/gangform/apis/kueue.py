"""Kueue: keys, releases, what a live set may not change, and its rules for topology annotations.

Sources: `kueue §1–§3, §9` (code at v0.19.2) and `lab E4, E10` (seen at 0.17.0 and 0.19.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from gangform.apis.versions import Release

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

LWS_FRAMEWORK = "leaderworkerset.x-k8s.io/leaderworkerset"
"""What the manager's configuration must list, else pods start outside every quota (`kueue §2.1`)."""

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


def wait_for_pods_ready(release: Release) -> int | None:
    """Seconds after which an admitted group that is not ready is evicted, where nothing is configured."""
    return 30 * 60 if release >= Release(0, 19) else None


def surge_finishes(surge: int, unavailable: int) -> bool:
    """Whether a rollout of a managed set ends: never with fewer groups unavailable than surged (`lab E4`)."""
    raise NotImplementedError


def annotation_faults(
    leader: Mapping[str, str] | None, workers: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """What is wrong with the topology annotations of the two templates: key, what, fix."""
    raise NotImplementedError
