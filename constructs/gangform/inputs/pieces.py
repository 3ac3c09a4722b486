"""The clusters and servings of a fleet as they were written: in the fleet file, or in files of their own beside it.

*Clusters.* `cluster:` or `clusters:` in the fleet file says which there are: an object, or the NAME of a file
`profiles/clusters/NAME.yaml`. Files that it does not name are none of the fleet's, so that a folder may hold more
clusters than one fleet. Without both keys every file of the folder is a cluster of the fleet.

*Nodes.* What `gangform cluster import` wrote into `profiles/nodes/NAME.yaml` is joined to the cluster NAME.

*Servings.* Those of `servings:`, then those of `profiles/servings/`, in the order of their names.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from gangform.documents.read import Source
from gangform.findings import Finding, InputPath, Severity, declare
from gangform.findings import Path as Keys
from gangform.inputs.files import listing, misplaced, read_file, shown
from gangform.inputs.imported import FOLDER as NODES
from gangform.inputs.imported import joined, otherwise, read_nodes
from gangform.inputs.library import mismatch, named, shipped_folder, under
from gangform.inputs.spans import Spans

NAME_DUPLICATE = declare(
    "name-duplicate", "Two clusters or two servings of one name", Severity.BREAKS, "design §3"
)
REFERENCE_UNKNOWN = declare(
    "reference-unknown", "A name that nothing is called", Severity.BREAKS, "design §3"
)
ENTRY_WRONG = declare(
    "entry-wrong", "A fleet whose clusters or servings are no objects", Severity.BREAKS, "design §3"
)
NO_CLUSTER = declare(
    "fleet-without-cluster", "A fleet without a cluster", Severity.BREAKS, "design §3 Fleet"
)


class Piece(NamedTuple):
    """One cluster or serving as it was written."""

    kind: str
    """`clusters` or `servings`."""
    key: str | int
    """How later stages call it: its name, or its index where it has none of its own."""
    value: Mapping[str, Any]
    """As written, with the name of its file where it says none. Empty if the file could not be read."""
    readable: bool = True

    @property
    def path(self) -> Keys:
        """Where later stages find it."""
        return (self.kind, self.key)


class Pieces:
    """Collects them, and what is wrong with how they are put together."""

    def __init__(self, root: Source, profiles: Path | None, spans: Spans) -> None:
        """profiles: the folder beside the fleet file; `None` for a fleet without files."""
        self._root, self._spans = root, spans
        self._folder = profiles
        self._files = {
            kind: listing(profiles / kind) if profiles else {} for kind in ("clusters", "servings")
        }
        self.clusters: list[Piece] = []
        self.servings: list[Piece] = []
        self.findings: list[Finding] = list(root.findings)
        if profiles:
            self.findings += misplaced(profiles)
        value = root.value
        if root.findings:
            self._all_files("clusters")
        elif "cluster" in value or "clusters" in value:
            self._listed_clusters(value)
        else:
            self._all_files("clusters")
            if not self.clusters and not self._misspelled():
                self._no_cluster((), "the fleet has no cluster")
        self.complete = not self.findings and all(
            isinstance(piece.key, str) for piece in self.clusters
        )
        """Whether every cluster that was meant is here, with its name."""
        self.remarks: list[Finding] = []
        """What is written and imported, and is not the same."""
        self._listed_servings({} if root.findings else value)
        self._all_files("servings")

    def head(self) -> dict[str, Any]:
        """What the fleet file holds beside clusters and servings."""
        lists = ("cluster", "clusters", "servings")
        return {key: value for key, value in self._root.value.items() if key not in lists}

    def _misspelled(self) -> bool:
        """Whether the clusters are there under a wrong key, which is reported by itself."""
        from gangform.inputs.nearest import nearest

        return any(nearest(key, ("cluster", "clusters")) for key in self._root.value)

    def _listed_clusters(self, value: Mapping[str, Any]) -> None:
        if "cluster" in value and "clusters" in value:
            what = "the fleet has both `cluster` and `clusters`"
            self._wrong(
                ("clusters",), what, "move the one cluster into the list and remove `cluster`"
            )
        if "cluster" in value:
            self._cluster(value["cluster"], ("cluster",), 0)
        if "clusters" in value:
            entries = value["clusters"]
            if not isinstance(entries, list):
                what, fix = (
                    "`clusters` is no list",
                    "write `clusters: [NAME]`, or `cluster:` for a single one",
                )
                self._wrong(("clusters",), what, fix)
            elif not entries:
                self._no_cluster(("clusters",), "`clusters` is empty")
            else:
                for index, entry in enumerate(entries):
                    self._cluster(entry, ("clusters", index), index)
        for name, path in self._files["clusters"].items():
            for piece in self.clusters:
                if piece.readable and piece.key == name and not self._from_file(piece):
                    self._twice(piece, piece.path, shown(path))

    def _cluster(self, entry: Any, inside: Keys, index: int) -> None:
        if isinstance(entry, Mapping):
            self._inline("clusters", entry, inside, index)
        elif isinstance(entry, str):
            path = self._files["clusters"].get(entry)
            if path is not None:
                self._file("clusters", entry, path, again=inside)
                return
            from gangform.inputs.nearest import nearest

            near = nearest(entry, self._files["clusters"])
            target = f"profiles/clusters/{entry}.yaml"
            fix = f"did you mean `{near[0]}`?" if near else f"write {target}"
            shipped = listing(shipped_folder() / "clusters")
            if entry in shipped:
                fix = (
                    "a shipped cluster is an example to copy: `mkdir -p profiles/clusters && gangform profiles "
                    f"{entry} -o yaml > {target}`, then put in your pools and releases"
                )
            self.findings.append(
                Finding(
                    code=REFERENCE_UNKNOWN,
                    at=InputPath(inside),
                    what=f"there is no cluster `{entry}`",
                    fix=fix,
                )
            )
        else:
            fix = "write `name: …` and the other fields below it, or the name of a file in profiles/clusters"
            self._wrong(inside, "a cluster is an object, or the name of a file", fix)

    def join_nodes(self) -> None:
        """Add to each cluster what its nodes said."""
        for index, piece in enumerate(self.clusters):
            if self._folder is None or not piece.readable or not isinstance(piece.key, str):
                continue
            seen = read_nodes(self._folder, piece.key)
            if seen is None:
                continue
            self._spans.add(NODES, piece.key, seen.source)
            self.findings += seen.findings
            self.remarks += otherwise(piece.key, piece.value, seen)
            value = joined(piece.key, piece.value, seen, self._spans)
            self.clusters[index] = piece._replace(value=value)

    def _listed_servings(self, value: Mapping[str, Any]) -> None:
        entries = value.get("servings", [])
        if not isinstance(entries, list):
            fix = "begin each serving with `- name: …`"
            self._wrong(("servings",), "`servings` is no list", fix)
            return
        for index, entry in enumerate(entries):
            inside: Keys = ("servings", index)
            if isinstance(entry, Mapping):
                self._inline("servings", entry, inside, index)
            elif isinstance(entry, str) and entry in self._files["servings"]:
                what = f"profiles/servings/{entry}.yaml belongs to the fleet without being listed"
                self._wrong(inside, what, "remove the line")
            else:
                self._wrong(inside, "a serving is an object", "begin it with `- name: …`")

    def _all_files(self, kind: str) -> None:
        for name, path in self._files[kind].items():
            self._file(kind, name, path)

    def _inline(self, kind: str, entry: Mapping[str, Any], inside: Keys, index: int) -> None:
        name = entry.get("name")
        key: str | int = name if isinstance(name, str) else index
        self._spans.add(kind, index, self._root, inside)
        first = self._taken(kind, key)
        if first is not None:
            self._twice(first, (kind, index, "name"))
            key = index
        self._spans.add(kind, key, self._root, inside)
        self._of(kind).append(Piece(kind, key, entry))

    def _file(self, kind: str, name: str, path: Path, *, again: Keys | None = None) -> None:
        first = self._taken(kind, name)
        if first is not None and again is not None:
            self._twice(first, again)
            return
        source = read_file(path)
        key = name if first is None else source.file
        self._spans.add(kind, key, source)
        self.findings += [under(finding, (kind, key)) for finding in source.findings]
        value = {} if source.findings else named(source, name)
        if first is not None:
            self._twice(first, (kind, key))
        if value and value["name"] != name:
            self.findings.append(mismatch(value["name"], name, (kind, key)))
            value["name"] = name
        self._of(kind).append(Piece(kind, key, value, readable=not source.findings))

    def _of(self, kind: str) -> list[Piece]:
        return self.clusters if kind == "clusters" else self.servings

    def _taken(self, kind: str, key: str | int) -> Piece | None:
        return next((piece for piece in self._of(kind) if piece.key == key), None)

    def _from_file(self, piece: Piece) -> bool:
        span = self._spans.find(piece.path)
        return span is not None and span.file != self._root.file

    def _twice(self, first: Piece, second: Keys, other: str = "") -> None:
        places = f"{self._spans.find(first.path)} and {other or self._spans.find(second)}"
        what = f"the name `{first.key}` is defined twice in `{first.kind}`: {places}"
        at = InputPath(second)
        self.findings.append(
            Finding(code=NAME_DUPLICATE, at=at, what=what, fix="rename or remove one of the two")
        )

    def _wrong(self, inside: Keys, what: str, fix: str) -> None:
        self.findings.append(Finding(code=ENTRY_WRONG, at=InputPath(inside), what=what, fix=fix))

    def _no_cluster(self, inside: Keys, what: str) -> None:
        fix = "write `cluster:` with its name, versions, foundation and pools, or a file profiles/clusters/NAME.yaml"
        self.findings.append(Finding(code=NO_CLUSTER, at=InputPath(inside), what=what, fix=fix))


def named_pieces(pieces: list[Piece]) -> Iterator[str]:
    """Names of the pieces that have one."""
    for piece in pieces:
        if isinstance(piece.key, str):
            yield piece.key
