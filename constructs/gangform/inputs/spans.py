"""Where each input was written: name-keyed paths of later stages → file, line, column, and the path in that file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gangform.documents.read import Span
    from gangform.findings import Path


class Spans:
    """Places of everything that was read. Knows servings and clusters by name and by index."""

    def find(self, path: Path) -> Span | None:
        """File, line and column of a path, or of its nearest parent that was written; `None` for what was not read."""
        raise NotImplementedError

    def display(self, path: Path) -> str:
        """The path as it stands in its file: `servings[0].parallelism.tensor`."""
        raise NotImplementedError

    def where(self, path: Path) -> str:
        """What a report prints: `gangform.yaml:14: servings[0].parallelism.tensor`."""
        raise NotImplementedError
