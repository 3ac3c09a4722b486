"""What a kustomization says of the files around it, as far as lint has to know without building it.

Files that it takes for patches are parts of objects and are not judged. One that changes what it lists (a prefix, a
patch, a namespace) applies other objects than those in the files: said once, with the command that builds them. One
that lists a file which is not there cannot be built before somebody makes it.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from gangform.documents.document import Manifest, sequence, text
from gangform.documents.places import Places, Span
from gangform.documents.read import read_manifests
from gangform.findings import Finding, InputPath, Severity, declare, show_path
from gangform.findings import Path as Keys
from gangform.inputs.files import shown

UNBUILT = declare(
    "kustomization-not-built",
    "A kustomization changes the objects in its files: what was judged is not what is applied",
    Severity.STYLE,
    "design §6: lint",
)
MISSING = declare(
    "kustomization-file-missing",
    "A kustomization lists a file that is not there: somebody has to make it before it can be built",
    Severity.STYLE,
    "kustomize: accumulating resources",
)

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
_LISTS: Final = ("resources", "bases", "components", "crds")
_PATCHES: Final = ("patches", "patchesJson6902", "patchesStrategicMerge", "replacements")
_CHANGES: Final = (
    *_PATCHES,
    "commonLabels",
    "components",
    "images",
    "labels",
    "namePrefix",
    "nameSuffix",
    "namespace",
    "replicas",
    "transformers",
)
_REMOTE: Final = ("://", "?ref=", "git@", "github.com/", ".git")


class Kustomization(NamedTuple):
    """One file, read."""

    file: str
    patches: frozenset[Path]
    """Files that hold no whole objects."""
    changes: str
    """The first field that changes what is listed; empty where the files are applied as they are."""
    faults: tuple[tuple[Finding, Span], ...]


@cache
def kustomization(folder: Path) -> Kustomization | None:
    """The kustomization of a folder; `None` where it has none."""
    for name in NAMES:
        path = folder / name
        try:
            content = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            continue
        for each in read_manifests(content, shown(path)):
            if not each.findings:
                return _read(folder, shown(path), each.manifest, each.places)
    return None


def _read(folder: Path, file: str, manifest: Manifest, places: Places) -> Kustomization:
    listed = [*_entries(manifest, *_LISTS), *_entries(manifest, *_PATCHES)]
    return Kustomization(
        file=file,
        patches=frozenset((folder / name).resolve() for _, name in _entries(manifest, *_PATCHES)),
        changes=next((field for field in _CHANGES if manifest.get(field)), ""),
        faults=tuple(
            (_missing(path, name), places.key(path))
            for path, name in listed
            if not (folder / name).exists()
        ),
    )


def _entries(manifest: Manifest, *fields: str) -> Iterator[tuple[Keys, str]]:
    """The files that some fields name, each with its path; nothing that lies elsewhere or stands inline."""
    for field in fields:
        for index, each in enumerate(sequence(manifest, field)):
            inside: Keys = (field, index) if isinstance(each, str) else (field, index, "path")
            name = each if isinstance(each, str) else text(each, "path")
            if name and "\n" not in name and ": " not in name and not _remote(name):
                yield inside, name


def _remote(name: str) -> bool:
    return any(mark in name for mark in _REMOTE)


def _missing(path: Keys, name: str) -> Finding:
    return Finding(
        code=MISSING,
        at=InputPath(path),
        what=f"{show_path(path)} names {name}, which is not there",
        fix="make the file before the build, or name one that exists",
    )


def unbuilt(one: Kustomization) -> tuple[Finding, Span]:
    """What is said where the files of a kustomization that changes them were judged."""
    folder = one.file.rpartition("/")[0] or "."
    finding = Finding(
        code=UNBUILT,
        at=InputPath(()),
        what=f"`{one.changes}` changes the objects that were judged as they stand in the files",
        fix=f"lint what comes out of it: `kustomize build {folder} | gangform lint -`",
    )
    return finding, Span(one.file, 1, 1)
