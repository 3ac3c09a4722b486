"""Files and the library → fleet, with the place of every value. All errors of all files at once.

A fleet is one file, or the same thing split over folders (`pieces` says how). What the folders of models and
hardware hold is read when something names it; `whole_library` asks for the rest too.
"""

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from gangform.documents.read import Source
from gangform.findings import Finding
from gangform.findings import Path as Keys
from gangform.inputs.cluster import Cluster, Fleet, Library
from gangform.inputs.files import find_fleet_file, read_file, read_text
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.imported import joined, read_nodes
from gangform.inputs.library import library, profile, shipped_folder, shipped_library
from gangform.inputs.model import ModelProfile
from gangform.inputs.pieces import Pieces
from gangform.inputs.references import check_references, select_clusters, select_servings
from gangform.inputs.spans import LoadError, Spans

__all__ = [
    "LoadError",
    "Loaded",
    "Spans",
    "find_fleet_file",
    "load_cluster",
    "load_fleet",
    "load_text",
    "select_clusters",
    "select_servings",
    "shipped_library",
]


class Loaded(NamedTuple):
    """A fleet, what its references may name, and where everything was written."""

    fleet: Fleet
    library: Library
    spans: Spans
    remarks: tuple[Finding, ...] = ()
    """What is worth a word and breaks nothing."""


def load_fleet(path: Path, *, whole_library: bool = False) -> Loaded:
    """Read a fleet file and the folders beside it.

    Args:
        path: The file.
        whole_library: Read also the user's models and hardware that nothing names, to find what is wrong in them.

    Raises:
        LoadError: With everything that is wrong in all files.
    """
    return _load(read_file(path), path.absolute().parent / "profiles", whole_library=whole_library)


def load_text(text: str, file: str = "gangform.yaml", *, shelves: Library | None = None) -> Loaded:
    """Read a fleet from a text, without folders beside it.

    Args:
        text: The content.
        file: What findings call it.
        shelves: What references may name; the shipped library if it is not given.

    Raises:
        LoadError: With everything that is wrong in it.
    """
    return _load(read_text(text, file), None, shelves=shelves)


def load_cluster(path: Path) -> Cluster:
    """Read one cluster from a file of its own, called as the file is.

    Raises:
        LoadError: With everything that is wrong in it.
    """
    source = read_file(path)
    spans = Spans(source)
    seen = read_nodes(path.absolute().parents[1], path.stem)
    if seen is not None and not source.findings:
        if seen.findings:
            raise LoadError(seen.findings, Spans(seen.source))
        source = source._replace(value=joined(path.stem, source.value, seen, spans))
    return profile(Cluster, source, path.stem, (), spans)


def _load(
    root: Source,
    profiles: Path | None,
    *,
    whole_library: bool = False,
    shelves: Library | None = None,
) -> Loaded:
    spans = Spans(root)
    folders = (shipped_folder(),) if profiles is None else (profiles, shipped_folder())
    shelves = shelves or library(folders, spans)
    pieces = Pieces(root, profiles, spans)
    pieces.join_nodes()
    found = pieces.findings
    fleet = _validated(pieces, not root.findings, found)
    found += check_references(pieces.clusters, pieces.servings, shelves, complete=pieces.complete)
    if whole_library and profiles is not None:
        found += _unnamed(shelves, profiles)
    if fleet is None or found:
        raise LoadError(found, spans)
    return Loaded(fleet=fleet, library=shelves, spans=spans, remarks=tuple(pieces.remarks))


def _validated(pieces: Pieces, head: bool, found: list[Finding]) -> Fleet | None:
    """The fleet, if pydantic takes it; else its findings are added."""
    clusters = [piece for piece in pieces.clusters if piece.readable]
    servings = [piece for piece in pieces.servings if piece.readable]
    value = {
        **(pieces.head() if head else {"version": 1}),
        "clusters": [piece.value for piece in clusters],
        "servings": [piece.value for piece in servings],
    }
    lists = {"clusters": clusters, "servings": servings}

    def place(path: Keys) -> Keys:
        if len(path) > 1 and path[0] in ("clusters", "servings") and isinstance(path[1], int):
            return (*lists[str(path[0])][path[1]].path, *path[2:])
        return path

    # What a serving and a pool may hold inline is read from profiles too: built first, it becomes part of the fleet's
    # schema; built after it, it would be made twice.
    ModelProfile.model_rebuild()
    HardwareShape.model_rebuild()
    try:
        return Fleet.model_validate(value, by_alias=True, by_name=False)
    except ValidationError as error:
        from gangform.inputs.translate import translate

        # A fleet without clusters has been reported with its reason.
        found += [
            one for one in translate(error, Fleet, value, place) if one.at.path != ("clusters",)
        ]
        return None


def _unnamed(shelves: Library, profiles: Path) -> list[Finding]:
    found: list[Finding] = []
    for kind, shelf in (("models", shelves.models), ("hardware", shelves.hardware)):
        for path in sorted((profiles / kind).glob("*.yaml")):
            try:
                shelf[path.stem]
            except LoadError as error:
                found += error.findings
    return found
