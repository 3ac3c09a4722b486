"""Groups that start together or not at all: how many pods of each have a node, and that nothing more happens."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Hashable, Iterable

from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.servings import GROUP_INDEX, group_of
from tests.cluster.watch import NotSeen, Watch

from gangform.apis import volcano

POD_GROUPS = f"/apis/{volcano.API_VERSION}/namespaces/{{namespace}}/podgroups"
"""The path of the PodGroups of a namespace."""


def bound(pods: Iterable[Object]) -> dict[tuple[str, int], int]:
    """For each group that has a pod, how many of its pods have a node."""
    found: Counter[tuple[str, int]] = Counter()
    for pod in pods:
        if GROUP_INDEX in pod["metadata"].get("labels", {}):
            found[group_of(pod)] += bool(pod["spec"].get("nodeName"))
    return dict(found)


def bound_pods(now: Watch) -> tuple[int, ...]:
    """How many pods of each group have a node, the smallest number first: which group waits is chance."""
    return tuple(sorted(bound(now.of("Pod")).values()))


def waits(now: Watch) -> bool:
    """Whether the scheduler has said of a PodGroup that it cannot start."""
    return any(
        condition["type"] == "Unschedulable" and condition["status"] == "True"
        for group in now.of("PodGroup")
        if group["status"].get("phase") in ("Pending", "Inqueue")
        for condition in group["status"].get("conditions", [])
    )


def lasts(
    now: Watch, fact: Callable[[Watch], Hashable], *, seconds: float = 5, within: float = 60
) -> Hashable:
    """A fact that has been the same for some seconds: what does not happen is shown by nothing happening.

    Raises:
        NotSeen: It went on changing.
    """
    deadline = time.monotonic() + within
    value, since = fact(now), time.monotonic()
    while time.monotonic() - since < seconds:
        if time.monotonic() > deadline:
            raise NotSeen(f"it still changes after {within:g} s: {value}")
        time.sleep(0.2)
        if (current := fact(now)) != value:
            value, since = current, time.monotonic()
    return value


def racks(plane: ControlPlane, level: str) -> dict[str, str]:
    """The domain of each node at a level."""
    return {
        node["metadata"]["name"]: node["metadata"]["labels"][level]
        for node in plane.api.list("/api/v1/nodes")
    }
