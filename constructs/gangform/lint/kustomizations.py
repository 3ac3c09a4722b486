"""What a kustomization says of the files around it, as far as lint has to know without building it.

Files that it takes for patches are parts of objects and are not judged. One that changes what it lists (a prefix, a
patch, a namespace) applies other objects than those in the files: said once, with the command that builds them. One
that lists a file which is not there cannot be built before somebody makes it. What an overlay may still add or rename
is not missed in the objects below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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

MISNAMED = declare(
    "kustomization-file-misnamed",
    "A kustomization lists a file that is not there, and one of nearly that name which nothing lists is: it fails",
    Severity.BREAKS,
    "kustomize: accumulating resources",
)

NAMES: Final = ("kustomization.yaml", "kustomization.yml", "Kustomization")
MAY_BE_CHANGED: Final = frozenset(
    {
        "engine-leaves-gpus-idle",
        "engine-needs-more-gpus",
        "gpu-pod-without-disk-request",
        "gpu-pod-without-request",
        "helper-image-tag-moves",
        "image-name-invalid",
        "image-tag-moves",
        "metadata-refused",
        "name-exceeds-bound",
        "needed-field-absent",
        "node-rank-missing",
        "object-malformed",
        "placeholder-in-value",
        "placeholder-left",
        "pod-group-unresolved",
        "pod-would-be-refused",
        "probe-port-unnamed",
        "program-not-in-image",
        "queue-unresolved",
        "readiness-probe-missing",
        "reference-unresolved",
        "replicas-owned-by-autoscaler",
        "scale-bounds-refused",
        "scale-target-twice",
        "selector-matches-nothing",
        "service-links-on",
        "service-links-shadow-engine",
        "service-name-collides",
        "service-port-dead",
        "service-port-unserved",
        "shared-memory-missing",
        "sidecar-upstream-unserved",
        "startup-probe-missing",
        "variable-undefined",
    }
)
"""Findings of what is absent, and of names and numbers that overlays write: not said of what one changes."""
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
_NEAR: Final = 0.75
"""How much of two names is the same where one was meant by the other."""
_REMOTE: Final = ("://", "?ref=", "git@", "github.com/", ".git")


class Kustomization(NamedTuple):
    """One file, read."""

    file: str
    patches: frozenset[Path]
    """Files that hold no whole objects."""
    resources: frozenset[Path]
    """Files and folders that it takes objects from."""
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
    used = {(folder / name).resolve() for _, name in listed}
    return Kustomization(
        file=file,
        resources=frozenset((folder / name).resolve() for _, name in _entries(manifest, *_LISTS)),
        patches=frozenset((folder / name).resolve() for _, name in _entries(manifest, *_PATCHES)),
        changes=next((field for field in _CHANGES if manifest.get(field)), ""),
        faults=tuple(
            (_missing(path, name, _meant(folder / name, used)), places.key(path))
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


def _meant(path: Path, used: set[Path]) -> str:
    """The file beside a missing one that its name was meant for; empty where there is none."""
    from difflib import get_close_matches

    try:
        beside = [one.name for one in path.parent.iterdir() if one.resolve() not in used]
    except OSError:
        return ""
    beside = [name for name in beside if name.endswith(path.suffix) and name not in NAMES]
    return next(iter(get_close_matches(path.name, beside, n=1, cutoff=_NEAR)), "")


def _missing(path: Keys, name: str, meant: str) -> Finding:
    what = f"{show_path(path)} names {name}, which is not there"
    fix = "make the file before the build, or name one that exists"
    if meant:
        what += f"; {meant} is, and nothing lists it"
        fix = f"name {meant}"
    return Finding(code=MISNAMED if meant else MISSING, at=InputPath(path), what=what, fix=fix)


def unfinished(found: Iterable[Kustomization]) -> frozenset[Path]:
    """The files whose objects some kustomization changes before anybody applies them, and their folders."""
    waiting = [one for one in found if one.changes]
    changed: set[Path] = {Path(one.file).resolve().parent for one in waiting}
    while waiting:
        for each in waiting.pop().resources - changed:
            changed.add(each)
            below = kustomization(each) if each.is_dir() else None
            if below is not None:
                waiting.append(below)
    return frozenset(changed)


def unbuilt(one: Kustomization, more: int) -> tuple[Finding, Span]:
    """What is said, once, where files were judged that a kustomization, and `more` others, change."""
    folder = one.file.rpartition("/")[0] or "."
    finding = Finding(
        code=UNBUILT,
        at=InputPath(()),
        what=f"`{one.changes}` changes the objects that were judged as they stand in the files"
        + (f", and {more} more kustomizations change others" if more else ""),
        fix=f"lint what comes out of it: `kustomize build {folder} | gangform lint -`",
    )
    return finding, Span(one.file, 1, 1)
