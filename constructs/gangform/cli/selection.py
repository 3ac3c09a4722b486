"""Which fleet file a command reads, and which of its clusters and servings it is about."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from gangform.cli.terminal import UsageError

if TYPE_CHECKING:
    from gangform.findings import Finding, InputError
    from gangform.inputs.cluster import Cluster
    from gangform.inputs.load import Loaded


class Selection(NamedTuple):
    """What a command was asked about."""

    loaded: Loaded
    clusters: tuple[Cluster, ...]
    servings: tuple[str, ...]
    """Empty where all were meant, foundations included."""

    some_clusters: frozenset[str]
    """Names of the clusters where some were named; who names all still means these, and nothing beside them."""


def fleet_file(arguments: Namespace) -> Path:
    """The file that `-f` names, or the one found from here upwards.

    Raises:
        UsageError: There is none.
    """
    named: str | None = arguments.file
    if named is not None:
        path = Path(named)
        if not path.exists():
            raise UsageError(f"there is no file {named}; `gangform init -f {named}` writes one")
        return path
    from gangform.inputs.files import FLEET_FILE, find_fleet_file

    found = find_fleet_file(Path.cwd())
    if found is None:
        if Path(FLEET_FILE).is_dir():
            raise UsageError(
                f"{FLEET_FILE} is a folder here; move it away, or `-f FILE` names a file"
            )
        raise UsageError(
            f"there is no {FLEET_FILE} in this folder, nor above it up to the root of the Git repository; "
            "`gangform init` writes one, `-f FILE` names another"
        )
    here = Path.cwd()
    return found.relative_to(here) if found.is_relative_to(here) else found


def select(arguments: Namespace, *, whole_library: bool = False) -> Selection:
    """Read the fleet and choose from it.

    Raises:
        UsageError: No file, or a name that the fleet does not have.
        InputError: With everything that is wrong in the files.
    """
    from gangform.findings import InputError
    from gangform.inputs.load import load_fleet, select_clusters, select_servings

    loaded = load_fleet(fleet_file(arguments), whole_library=whole_library)
    try:
        clusters = select_clusters(loaded.fleet, arguments.cluster or ())
        servings = select_servings(loaded.fleet, arguments.servings)
    except InputError as error:
        raise UsageError(usage(error)) from None
    for serving in servings if arguments.servings else ():
        if not any(serving in loaded.fleet.servings_of(cluster) for cluster in clusters):
            homes = serving.clusters or [cluster.name for cluster in loaded.fleet.clusters]
            chosen = ", ".join(cluster.name for cluster in clusters)
            raise UsageError(
                f"`{serving.name}` does not run on {chosen}, but on {', '.join(homes)}"
            )
    names = tuple(serving.name for serving in servings) if arguments.servings else ()
    chosen_clusters = frozenset(cluster.name for cluster in clusters if arguments.cluster)
    return Selection(
        loaded=loaded, clusters=clusters, servings=names, some_clusters=chosen_clusters
    )


def usage(error: InputError) -> str:
    """Findings about words of the command line, as the message of a usage error."""
    return "\n".join(_lines(error.findings))


def _lines(findings: tuple[Finding, ...]) -> Iterator[str]:
    for finding in findings:
        yield f"{finding.what}; {finding.fix}"
