"""What lint reads: files, folders and the standard input, as texts.

A folder is searched for what may be manifests. What is found there and is none (values, workflows, dashboards) is
passed over and counted; a file that was named is read whatever it is called. Templates are no manifests before they
are rendered: a chart's are not read at all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from gangform.inputs.files import shown
from gangform.lint.kustomizations import Kustomization, kustomization

STDIN = "-"
"""What the standard input is called, by the user and in places."""
_ENDINGS = frozenset({".yaml", ".yml", ".json"})
_NOT_SEARCHED = frozenset({"node_modules"})
_LIKE_MANIFEST = re.compile(rb"\bapiVersion\b")
_CHART = "Chart.yaml"


class Text(NamedTuple):
    """The content of a file, not yet read as YAML."""

    file: str
    """What places call it: the path from the working folder, or `-`."""
    content: bytes
    folder: tuple[str, ...]
    """The folders between what was named on the command line and the file."""
    named: bool
    """Whether the user named it, and not a folder above it."""
    patch: bool = False
    """Whether a kustomization takes it for a part of an object."""


class Found(NamedTuple):
    """Everything that was named."""

    texts: tuple[Text, ...]
    charts: tuple[str, ...]
    """The `Chart.yaml` of each chart whose templates were passed over."""
    kustomizations: tuple[Kustomization, ...]
    """Those met in folders."""
    passed_over: int
    """Files in folders that look like manifests by their ending alone, and patches that are no whole objects."""


class Missing(Exception):
    """A name that leads to no file; the message says which."""


def find(names: Sequence[str], read_stdin: Callable[[], bytes]) -> Found:
    """Read everything that was named.

    Args:
        names: Files, folders, or `-`.
        read_stdin: Gives the standard input.

    Raises:
        Missing: There is no such file.
        OSError: One cannot be read.
    """
    search = _Search()
    for name in dict.fromkeys(names):
        if name == STDIN:
            search.texts.append(Text(STDIN, read_stdin(), (), True))
            continue
        path = Path(name)
        if path.is_dir():
            search.folder(path, (name,))
        elif path.exists():
            search.named(path)
        else:
            raise Missing(f"there is no file {name}")
    charts, kustomizations = dict.fromkeys(search.charts), tuple(search.kustomizations)
    return Found(tuple(search.texts), tuple(charts), kustomizations, search.passed_over)


class _Search:
    """Walks through folders; each real file and folder is met once, so that links in a ring end."""

    def __init__(self) -> None:
        self.texts: list[Text] = []
        self.charts: list[str] = []
        self.kustomizations: list[Kustomization] = []
        self.passed_over = 0
        self._seen: set[tuple[int, int]] = set()

    def named(self, path: Path) -> None:
        if self._new(path):
            self.texts.append(Text(shown(path), path.read_bytes(), (), True, _is_patch(path)))

    def folder(self, folder: Path, parents: tuple[str, ...]) -> None:
        if not self._new(folder):
            return
        if folder.name == "templates" and (folder.parent / _CHART).is_file():
            self.charts.append(shown(folder.parent / _CHART))
            return
        if (found := kustomization(folder)) is not None:
            self.kustomizations.append(found)
        for path in sorted(folder.iterdir()):
            if path.name.startswith(".") or path.name in _NOT_SEARCHED:
                continue
            if path.is_dir():
                self.folder(path, (*parents, path.name))
            elif path.suffix.lower() in _ENDINGS and path.is_file() and self._new(path):
                content = path.read_bytes()
                if _LIKE_MANIFEST.search(content) and not _is_patch(path):
                    self.texts.append(Text(shown(path), content, parents, False))
                else:
                    self.passed_over += 1

    def _new(self, path: Path) -> bool:
        status = path.stat()
        here = (status.st_dev, status.st_ino)
        known = here in self._seen
        self._seen.add(here)
        return not known


def _is_patch(path: Path) -> bool:
    """Whether a kustomization beside or above the file takes it for a patch: part of an object, no whole one."""
    around = (kustomization(folder) for folder in (path.parent, path.parent.parent))
    return any(each is not None and path.resolve() in each.patches for each in around)
