"""How the Deployment controller steps through a rolling update, in replicas.

`reconcileNewReplicaSet` and `reconcileOldReplicaSets` of the controller and its `NewRSNewReplicas` (Kubernetes 1.36,
`pkg/controller/deployment`), for old replicas that are all available. Pods that are being deleted count in neither.
"""

from __future__ import annotations


def raised(wanted: int, *, surge: int, old: int, new: int) -> int:
    """Replicas of the new ReplicaSet: as many more as all together may be, never more than are wanted."""
    return min(wanted, new + max(0, wanted + surge - old - new))


def lowered(wanted: int, *, unavailable: int, old: int, new: int, available: int) -> int:
    """Replicas of the old ReplicaSet.

    Args:
        wanted: Replicas of the Deployment.
        unavailable: How many of them may be missing.
        old: Replicas of the old ReplicaSet now, all of them available.
        new: Replicas of the new one.
        available: Of those, how many are.
    """
    least = wanted - min(unavailable, wanted)
    if old + new - least - (new - available) <= 0:
        return old
    return old - max(0, min(old, old + available - least))
