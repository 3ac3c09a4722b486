"""Volcano: keys, versions, rules of PodGroup, Queue and HyperNode, and names that LWS's provider makes.

Sources: `volcano §1–§3, §5` (code at v1.15.1) and `lab E8` (seen at 1.15.1 and 1.14.1).
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.documents.document import Manifest
from gangform.findings import Path

API_VERSION = "scheduling.volcano.sh/v1beta1"
"""Of PodGroup and Queue."""
TOPOLOGY_API_VERSION = "topology.volcano.sh/v1alpha1"
"""Of HyperNode."""

SCHEDULER = "volcano"
"""The scheduler's name where nothing else is configured."""
GROUP_NAME = "scheduling.k8s.io/group-name"
"""Annotation on pods: the PodGroup they are members of, in their namespace (`volcano §1.3`)."""
QUEUE_NAME = "scheduling.volcano.sh/queue-name"
"""Annotation: on LWS metadata under LWS's provider; on pods for Volcano's own groups (`volcano §1.4, §5`)."""
GROUP_MIN_MEMBER = "scheduling.volcano.sh/group-min-member"
TOPOLOGY_MODE = "volcano.sh/network-topology-mode"
TOPOLOGY_TIER = "volcano.sh/network-topology-highest-tier"
"""Read from pods for Volcano's own groups only: without effect on an LWS and its templates (`lab E8`)."""
TOPOLOGY_PLUGIN = "network-topology-aware"
"""The scheduler plugin without which a hard topology is not enforced, in silence (`volcano §1.5`, `lab E8`)."""
DEFAULT_QUEUE = "default"
ROOT_QUEUE = "root"


def group_name(lws: str, index: int, revision: str) -> str:
    """The PodGroup that LWS's provider makes for a group: `<set>-<index>-<revision>` (`volcano §5`, `lab E8`)."""
    return f"{lws}-{index}-{revision}"


def gang_size(size: int, *, leader_ready: bool) -> int:
    """`minMember` of that PodGroup: the whole group, or 1 under LeaderReady (`volcano §5`, `lab E8`)."""
    return 1 if leader_ready else size


def hyper_node_name(*values: str) -> str:
    """A DNS name for the domain with these label values, widest first."""
    raise NotImplementedError


def pod_group_faults(manifest: Manifest) -> Iterator[tuple[Path, str, str]]:
    """What is wrong with a PodGroup, refused or dropped in silence: path, what, fix."""
    raise NotImplementedError


def queue_faults(manifest: Manifest) -> Iterator[tuple[Path, str, str]]:
    """What the webhook refuses in a Queue by itself: path, what, fix."""
    raise NotImplementedError
