"""`gangform cluster import`: what a cluster's nodes say, printed or kept beside what people wrote."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from gangform.cli.files import keep_text, read_stream, write_text
from gangform.cli.findings import show, summary
from gangform.cli.terminal import UsageError, say, tell
from gangform.findings import counted, some

if TYPE_CHECKING:
    from gangform.apis.nodes import NodeView
    from gangform.inputs.spans import Spans
    from gangform.inputs.survey import Survey

_COMMAND = "kubectl get nodes -o json"
_NAMED = 5
"""Nodes that are called by name where there are many."""


class _Home(NamedTuple):
    """The cluster that is imported, and where its files lie."""

    name: str
    profiles: Path
    written: Mapping[str, Any] | None
    """What people wrote about it; `None` where there is nothing yet."""
    spans: Spans | None


def import_nodes(arguments: Namespace) -> int:
    """Make pools of nodes."""
    from gangform.apis.nodes import read_node
    from gangform.documents.objects import read_objects
    from gangform.inputs.library import library, shipped_folder
    from gangform.inputs.observed import known_pools
    from gangform.inputs.survey import survey

    text, shown = read_stream(arguments.nodes, _COMMAND)
    objects = read_objects(text, shown)
    read = [read_node(one) for one in objects if one.get("kind") == "Node"]
    # A node that stands in the stream twice is one node.
    nodes = list({one.name or index: one for index, one in enumerate(read)}.values())
    if not nodes:
        raise UsageError(f"{shown} holds no Node; wanted is what `{_COMMAND}` prints")
    home = _home(arguments)
    shelves = library((home.profiles, shipped_folder()))
    declared = known_pools(home.written or {}, shelves)
    made = survey(nodes, cluster=home.name, declared=declared, library=shelves)
    show(made.findings, home.spans)
    if arguments.write and home.written is None and not made.pools:
        # A cluster without a pool is refused by whoever reads it.
        raise UsageError(
            f"{shown} has no node for a pool, so nothing was written: {_placed(made, len(nodes))}"
        )
    if arguments.write:
        _keep(home, made, nodes)
    else:
        say(made.text)
    tell(_placed(made, len(nodes)))
    if made.findings:
        tell(summary(made.findings))
    return 0


def _home(arguments: Namespace) -> _Home:
    """Where the cluster is written, if it is.

    Raises:
        UsageError: No such file, or several clusters and no name.
        InputError: The fleet file cannot be read.
    """
    from gangform.inputs.files import find_fleet_file, read_file
    from gangform.inputs.pieces import Pieces, named_pieces
    from gangform.inputs.spans import LoadError, Spans

    asked: str | None = arguments.name
    if arguments.file is not None and not Path(arguments.file).exists():
        raise UsageError(f"there is no file {arguments.file}")
    file = Path(arguments.file) if arguments.file is not None else find_fleet_file(Path.cwd())
    profiles = (Path.cwd() if file is None else file.absolute().parent) / "profiles"
    written: dict[str, Mapping[str, Any]] = {}
    spans = None
    if file is not None:
        root = read_file(file)
        spans = Spans(root)
        if root.findings:
            raise LoadError(root.findings, spans)
        pieces = Pieces(root, profiles, spans)
        known = list(named_pieces(pieces.clusters))
        written = {str(one.key): one.value for one in pieces.clusters if one.readable}
        if asked is None and len(known) > 1:
            raise UsageError(
                f"`--name NAME` is missing; the fleet's clusters are {', '.join(known)}"
            )
        asked = asked or next(iter(known), None)
    name = asked or "prod"
    own = profiles / "clusters" / f"{name}.yaml"
    if name not in written and own.is_file():
        written[name] = read_file(own).value
    return _Home(name, profiles, written.get(name), spans)


def _keep(home: _Home, made: Survey, nodes: Sequence[NodeView]) -> None:
    """Write the nodes' file; and one for people where there is none about this cluster yet."""
    from gangform.inputs.files import shown
    from gangform.inputs.imported import nodes_file
    from gangform.inputs.survey import cluster_of

    target = nodes_file(home.profiles, home.name)
    keep_text(target, made.text, force=True)
    if home.written is None:
        cluster = home.profiles / "clusters" / f"{home.name}.yaml"
        cluster.parent.mkdir(parents=True, exist_ok=True)
        write_text(cluster, cluster_of(home.name, nodes), force=False)
        say(
            f"wrote {shown(cluster)}: what nodes do not say; put in the releases that the cluster runs"
        )


def _placed(made: Survey, nodes: int) -> str:
    """Every node in some number."""
    seen = made.seen
    parts = [f"{count} in {name} ({hardware})" for name, count, hardware in made.pools]
    plain = f"{len(seen.plain)} without GPUs" if seen.plain else ""
    said = counted(nodes, "node")
    if where := ", ".join(part for part in [*parts, plain] if part):
        said += f": {where}"
    if seen.away:
        said += f"\ncordoned or not ready, and counted: {some(seen.away, _NAMED)}"
    return said
