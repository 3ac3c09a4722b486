"""What Argo CD does with sync waves: a wave is applied once all objects of the one before are healthy.

Health is what the Lua says that gangform prints for `argocd-cm`, run by the Lua that Argo CD embeds (5.1). A kind
without a check counts as healthy at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

import yaml
from lupa.lua51 import LuaRuntime
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane

from gangform.apis.argocd import HEALTH_CHECK
from gangform.apis.keys import SYNC_WAVE


def health(thing: Object) -> str:
    """`Healthy`, `Progressing` or `Degraded`."""
    if thing["kind"] != "LeaderWorkerSet":
        return "Healthy"
    lua = LuaRuntime()
    check = lua.eval(f"function(obj) {HEALTH_CHECK} end")
    return str(check(lua.table_from(thing, recursive=True))["status"])


def waves(documents: Sequence[Object]) -> Iterator[tuple[int, list[Object]]]:
    """The documents of each wave, in the order of the waves; without an annotation it is wave 0."""
    ordered = sorted(documents, key=_wave)
    for wave, members in groupby(ordered, key=_wave):
        yield wave, list(members)


def sync(plane: ControlPlane, documents: Sequence[Object]) -> list[int]:
    """Apply documents as Argo CD does; the waves, in the order they were applied."""
    done = []
    for wave, members in waves(documents):
        path = plane.site.write(f"wave-{wave}.yaml", yaml.safe_dump_all(members))
        plane.kubectl.apply(path)
        plane.site.wait(
            f"wave {wave} to be healthy",
            lambda members=members: all(  # type: ignore[misc]
                health(plane.api.read(each)) == "Healthy" for each in members
            ),
            within=120,
        )
        done.append(wave)
    return done


def _wave(document: Object) -> int:
    return int(document["metadata"].get("annotations", {}).get(SYNC_WAVE, "0"))
