"""Memory that containers share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Make = Callable[..., dict[str, Any]]
Check = Callable[..., None]


def test_what_ranks_share_is_memory(make: Make, refused: Check, accepted: Check) -> None:
    disk = make("set", {"W>spec>volumes": [{"name": "shm", "emptyDir": {"sizeLimit": "32Gi"}}]})
    at = "workerTemplate.spec.volumes[0].emptyDir ~ medium: Memory"
    refused("shared-memory-on-disk", at, disk)
    accepted("shared-memory-on-disk", make("set"), make("deployment"))
    host = make("set", {"B>spec>volumes": [{"name": "shm", "hostPath": {"path": "/dev/shm"}}]})
    accepted("shared-memory-on-disk", host)
    plain: dict[str, Any] = {"B>spec>volumes": [{"name": "shm", "emptyDir": {}}]}
    accepted("shared-memory-on-disk", make("set", {**plain, "B>spec>hostIPC": True}))
    one = {"nvidia.com/gpu": "1"}
    accepted("shared-memory-on-disk", make("set", {**plain, "B>C>resources": {"limits": one}}))


def test_who_fills_memory_has_a_limit(make: Make, refused: Check, accepted: Check) -> None:
    bare = make("set", {"L>C>resources>limits>memory": ...})
    at = "leaderTemplate.spec.containers[0].resources.limits ~ of 32Gi"
    refused("memory-volume-without-limit", at, bare)
    accepted("memory-volume-without-limit", make("set"), make("deployment"))
    disk = {"B>C>resources>limits>memory": ..., "B>spec>volumes": [{"name": "shm", "emptyDir": {}}]}
    accepted("memory-volume-without-limit", make("set", disk))
    whole = {"B>C>resources>limits>memory": ..., "B>spec>resources": {"limits": {"memory": "1Ti"}}}
    accepted("memory-volume-without-limit", make("set", whole))


def test_a_volume_in_memory_leaves_room(make: Make, refused: Check, accepted: Check) -> None:
    def shared(size: str | None) -> dict[str, Any]:
        bound = {} if size is None else {"sizeLimit": size}
        volume = {"name": "shm", "emptyDir": {"medium": "Memory", **bound}}
        return make("set", {"L>spec>volumes": [volume]})

    at = "leaderTemplate.spec.volumes[0].emptyDir.sizeLimit"
    refused("memory-volume-beyond-limit", at, shared("900Gi"))
    accepted("memory-volume-beyond-limit", make("set"), shared("899Gi"), shared(None))
