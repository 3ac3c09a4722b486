"""Whose a file of an output folder is: ours is replaced and removed, anything else is left alone.

A manifest is ours if every document in it carries our label. What is no manifest cannot carry one; its first line
tells. A file is never ours by its name alone.
"""

from collections.abc import Callable
from pathlib import PurePosixPath
from typing import NamedTuple

from gangform.apis.core import MANAGED_BY
from gangform.companions import MARKS, subject_of
from gangform.documents.document import text
from gangform.documents.read import read_manifests
from gangform.plan.identity import OWNER
from gangform.synth import SUFFIX


class Holding(NamedTuple):
    """What a folder of ours holds, and how our files in it are told from those of others."""

    suffixes: tuple[str, ...]
    """How names of our files end."""
    foreign: Callable[[str, bytes], str]
    """Why the file at a path, with this content, is not ours; empty for one that is."""
    chart: Callable[[str], str]
    """The chart that a path below the folder of a cluster belongs to."""


def _foreign_manifest(path: str, content: bytes) -> str:
    """A file in conflict is ours if both sides are."""
    try:
        written = content.decode()
    except UnicodeDecodeError:
        return "the file there is not UTF-8"
    sides = _sides(written) if "\n<<<<<<< " in f"\n{written}" else (written,)
    for side in sides:
        documents = read_manifests(side, "")
        if not documents:
            return "the file there holds no document"
        for number, document in enumerate(documents, 1):
            if document.findings:
                return f"document {number} of the file there cannot be read"
            if text(document.manifest, "metadata", "labels", MANAGED_BY) != OWNER:
                return f"document {number} of the file there has no label {MANAGED_BY}: {OWNER}"
    return ""


def _sides(written: str) -> tuple[str, str]:
    """What each side of a merge conflict holds: Git's marks are no YAML, and a new rendering is the way out."""
    kept: tuple[list[str], list[str]] = ([], [])
    inside: tuple[int, ...] = (0, 1)
    marks = {"<<<<<<< ": (0,), "||||||| ": (), "=======": (1,), ">>>>>>> ": (0, 1)}
    for line in written.splitlines(keepends=True):
        mark = next((mark for mark in marks if line.startswith(mark)), None)
        if mark is not None and (mark != "=======" or line.strip() == mark):
            inside = marks[mark]
            continue
        for side in inside:
            kept[side].append(line)
    return "".join(kept[0]), "".join(kept[1])


def _foreign_companion(path: str, content: bytes) -> str:
    """The first line is the same on both sides of a merge conflict, so a file in conflict begins with it too."""
    mark = MARKS[PurePosixPath(path).suffix]
    first = content.split(b"\n", 1)[0].removesuffix(b"\r")
    return "" if first == mark.encode() else f"the file there does not begin with `{mark}`"


MANIFESTS = Holding((SUFFIX,), _foreign_manifest, lambda path: path.removesuffix(SUFFIX))
COMPANIONS = Holding(tuple(MARKS), _foreign_companion, subject_of)
