"""Which object and field a line of a file of manifests shows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from gangform.documents.document import Key, Manifest, key_of
from gangform.documents.read import read_manifests
from gangform.findings import Path


class Line(NamedTuple):
    """What a line shows."""

    key: Key
    """The object; of a line between two the one that ends there."""
    manifest: Manifest
    """The object as the file has it."""
    path: Path | None
    """The innermost field that begins on the line, or goes on there; `None` between two objects."""


def lines(text: str, file: str) -> Mapping[int, Line]:
    """Every line of a file that belongs to an object, counted from 1. Empty for a text that holds none."""
    found: dict[int, Line] = {}
    written = text.splitlines()
    starts = {
        line: Line(key, one.manifest, path)
        for one in read_manifests(text, file)
        for key in (key_of(one.manifest),)
        for line, path in one.places.innermost().items()
    }
    here = None
    for number, line in enumerate(written, 1):
        here = starts.get(number, here)
        if here is None:
            continue
        between = number not in starts and line.startswith("---")
        found[number] = here._replace(path=None) if between else here
    return found
