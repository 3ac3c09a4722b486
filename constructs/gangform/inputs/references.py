"""Names in servings and pools: whether something is called so.

Asked of what was written and not of models, so that a wrong name and a wrong value elsewhere are said at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from gangform.findings import Finding, InputError, InputPath, Severity, declare, either
from gangform.findings import Path as Keys
from gangform.inputs.cluster import Cluster, Fleet, Library
from gangform.inputs.pieces import REFERENCE_UNKNOWN, Piece, named_pieces
from gangform.inputs.serving import Serving
from gangform.inputs.spans import LoadError

NOWHERE = declare(
    "serving-without-cluster", "A serving that runs on no cluster", Severity.BREAKS, "design §3"
)


_MODELS = "`gangform profiles` lists the models"
_HARDWARE = "`gangform profiles` lists the hardware"


class _Named(Protocol):
    @property
    def name(self) -> str: ...


Item = TypeVar("Item", bound=_Named)


def check_references(
    clusters: Sequence[Piece], servings: Sequence[Piece], library: Library, *, complete: bool
) -> Iterator[Finding]:
    """Every name that nothing is called, and everything wrong in the profiles that are named.

    complete: whether every cluster has a name; else nothing is said about names of clusters.
    """
    yield from _profiles(clusters, servings, library)
    known = list(named_pieces(list(clusters)))
    for serving in servings:
        wanted = serving.value.get("clusters")
        if isinstance(wanted, list) and complete:
            yield from _clusters(serving, wanted, known)
        homes = [one for one in clusters if not isinstance(wanted, list) or one.key in wanted]
        yield from _pool(serving, homes)


def _profiles(
    clusters: Sequence[Piece], servings: Sequence[Piece], library: Library
) -> Iterator[Finding]:
    read: set[Keys] = set()
    for serving in servings:
        model = serving.value.get("model")
        if isinstance(model, str):
            at: Keys = (*serving.path, "model")
            yield from _profile(model, library.models, at, "model", _MODELS, read)
    for cluster in clusters:
        for name, pool in _pools(cluster).items():
            hardware = pool.get("hardware") if isinstance(pool, Mapping) else None
            if isinstance(hardware, str):
                at = (*cluster.path, "pools", name, "hardware")
                yield from _profile(hardware, library.hardware, at, "hardware", _HARDWARE, read)


def _profile(
    name: str, shelf: Mapping[str, object], at: Keys, kind: str, listed: str, read: set[Keys]
) -> Iterator[Finding]:
    if name not in shelf:
        yield unknown(at, f"there is no {kind} profile `{name}`", name, shelf, listed)
    elif (kind, name) not in read:
        read.add((kind, name))
        try:
            shelf[name]
        except LoadError as error:
            yield from error.findings


def _clusters(serving: Piece, wanted: list[Any], known: Sequence[str]) -> Iterator[Finding]:
    if not wanted:
        yield Finding(
            code=NOWHERE,
            at=InputPath((*serving.path, "clusters")),
            what="`clusters` is empty, so the serving runs nowhere",
            fix="name a cluster, or remove the line to run on every cluster of the fleet",
        )
    for index, name in enumerate(wanted):
        if isinstance(name, str) and name not in known:
            at: Keys = (*serving.path, "clusters", index)
            yield unknown(
                at,
                f"the fleet has no cluster `{name}`",
                name,
                known,
                _listed("its clusters are", known),
            )


def _pool(serving: Piece, homes: Sequence[Piece]) -> Iterator[Finding]:
    pool = serving.value.get("pool")
    for cluster in homes:
        known = list(_pools(cluster))
        if isinstance(pool, str) and known and pool not in known:
            what = f"the cluster `{cluster.key}` has no pool `{pool}`"
            at: Keys = (*serving.path, "pool")
            yield unknown(at, what, pool, known, _listed("its pools are", known))


def _pools(cluster: Piece) -> Mapping[str, Any]:
    pools = cluster.value.get("pools")
    return pools if isinstance(pools, Mapping) else {}


def _listed(words: str, known: Sequence[str]) -> str:
    return f"{words} {', '.join(known)}" if known else ""


def unknown(at: Keys, what: str, name: str, known: Iterable[str], hint: str) -> Finding:
    """The finding on a name that nothing is called, with the nearest ones; `hint` says where all are."""
    from gangform.inputs.nearest import nearest

    near = nearest(name, known)
    guess = (
        f"did you mean {either([f'`{one}`' for one in near])}"
        if near
        else "write a name that exists"
    )
    fix = f"{guess}{'?' if near and not hint else ''}{hint and f' ({hint})'}{'?' if near and hint else ''}"
    seen = {"name": name, "nearest": near[0]} if near else {"name": name}
    return Finding(code=REFERENCE_UNKNOWN, at=InputPath(at), what=what, fix=fix, seen=seen)


def select_clusters(fleet: Fleet, names: Sequence[str]) -> tuple[Cluster, ...]:
    """The named clusters in the order of the fleet; all of them for no name.

    Raises:
        InputError: A name that is no cluster's.
    """
    return _select(fleet.clusters, names, "cluster")


def select_servings(fleet: Fleet, names: Sequence[str]) -> tuple[Serving, ...]:
    """The named servings in the order of the fleet; all of them for no name.

    Only what is written out is selected: queues and quotas are for the sum of all servings all the same.

    Raises:
        InputError: A name that is no serving's.
    """
    return _select(fleet.servings, names, "serving")


def _select(items: tuple[Item, ...], names: Sequence[str], word: str) -> tuple[Item, ...]:
    known = [item.name for item in items]
    wrong = [name for name in names if name not in known]
    if wrong:
        hint = _listed(f"its {word}s are", known)
        raise InputError(
            unknown((f"{word}s",), f"the fleet has no {word} `{name}`", name, known, hint)
            for name in wrong
        )
    return tuple(item for item in items if not names or item.name in names)
