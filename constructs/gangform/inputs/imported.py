"""The file of what nodes said, `profiles/nodes/NAME.yaml`: written by an import alone, and joined to the cluster NAME.

People write the cluster; the import never touches it. What both say, the cluster's word holds, and the difference is
said. So an import can run again at any time, and a fact that somebody knows better is never lost.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gangform.documents.read import Source
from gangform.findings import Finding, InputPath, Severity, declare
from gangform.findings import Path as Keys
from gangform.inputs.files import read_file
from gangform.inputs.spans import Spans
from gangform.inputs.spelling import flow

DIFFERS = declare(
    "nodes-say-otherwise",
    "A cluster says something else about its nodes than they did when they were imported",
    Severity.STYLE,
    "design §3 Cluster: hand-written facts win",
)
NODES_WRONG = declare(
    "nodes-file-wrong",
    "A file of imported nodes that no import wrote",
    Severity.BREAKS,
    "design §3 Cluster",
)

FOLDER = "nodes"
"""Below `profiles`."""


def nodes_file(profiles: Path, cluster: str) -> Path:
    """Where the import of a cluster is kept."""
    return profiles / FOLDER / f"{cluster}.yaml"


class Imported(NamedTuple):
    """What the nodes of one cluster said."""

    source: Source
    pools: Mapping[str, Mapping[str, Any]]
    """As written; empty where the file is broken."""
    findings: tuple[Finding, ...]


def read_nodes(profiles: Path, cluster: str) -> Imported | None:
    """What was imported of a cluster; `None` where nothing was."""
    path = nodes_file(profiles, cluster)
    if not path.is_file():
        return None
    source = read_file(path)
    at = InputPath((FOLDER, cluster))
    found = [one._replace(at=InputPath((*at.path, *one.at.path))) for one in source.findings]
    pools = source.value.get("pools")
    sound = isinstance(pools, Mapping) and all(isinstance(one, Mapping) for one in pools.values())
    if not found and (not sound or len(source.value) > 1):
        what = f"{source.file} does not hold `pools` with a map each, and nothing else"
        fix = "let `gangform cluster import --write` make it anew"
        found.append(Finding(code=NODES_WRONG, at=at, what=what, fix=fix))
    return Imported(source, {} if found or not sound else pools or {}, tuple(found))


def joined(name: str, cluster: Mapping[str, Any], seen: Imported, spans: Spans) -> dict[str, Any]:
    """A cluster as written, with what its nodes said where it says nothing itself.

    Domains are of use only at the levels that they were counted at.
    """
    written = cluster.get("pools", {})
    if not isinstance(written, Mapping):
        return dict(cluster)
    pools = {**written}
    for pool, said in seen.pools.items():
        own = written.get(pool, {})
        if not isinstance(own, Mapping):
            continue
        other_levels = own.get("levels", said.get("levels")) != said.get("levels")
        taken = {
            key: value
            for key, value in said.items()
            if key not in own and not (key == "domains" and other_levels)
        }
        pools[pool] = {**own, **taken}
        for key in taken:
            spans.add_below(
                ("clusters", name, "pools", pool, key), seen.source, ("pools", pool, key)
            )
    return {**cluster, "pools": pools}


def otherwise(name: str, cluster: Mapping[str, Any], seen: Imported) -> Iterator[Finding]:
    """What a cluster says otherwise than its nodes did."""
    written = cluster.get("pools", {})
    for pool, said in seen.pools.items():
        own = written.get(pool) if isinstance(written, Mapping) else None
        if not isinstance(own, Mapping):
            continue
        for key, value in said.items():
            if key == "hardware" or own.get(key, value) == value:
                continue
            at: Keys = ("clusters", name, "pools", pool, key)
            shown = [_brief(key, one) for one in (own[key], value)]
            yield Finding(
                code=DIFFERS,
                at=InputPath(at),
                what=f"{key} of pool {pool} is {shown[0]}; its nodes said {shown[1]} when they were imported",
                fix=f"remove `{key}` to take what the nodes said, or import again if they changed",
            )


def _brief(key: str, value: Any) -> str:
    if key == "domains" and isinstance(value, list):
        return f"{len(value)} domains"
    return flow(value)
