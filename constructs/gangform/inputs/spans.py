"""Where each input was written: paths as later stages name them → file, line, column, and the path in that file.

Later stages know servings and clusters by name: `("servings", "r1", "parallelism", "tensor")`. What was written may be
an entry of a list, the only `cluster`, or a file of its own: the reader registers here what stands where.
"""

from __future__ import annotations

from collections.abc import Sequence

from gangform.documents.read import Source, Span
from gangform.findings import DocumentPath, Finding, InputError, Path, show_path


class Spans:
    """Places of everything that was read. Knows servings and clusters by name, and by index where they are listed."""

    def __init__(self, root: Source) -> None:
        """Start with the file from whose root all other paths go."""
        self._root = root
        self._pieces: dict[Path, tuple[Source, Path]] = {}
        self._parts: dict[Path, tuple[Source, Path]] = {}

    def add(self, kind: str, key: str | int, source: Source, inside: Path = ()) -> None:
        """Register that the input `(kind, key)` stands at `inside` of a file; the first one keeps the key."""
        self._pieces.setdefault((kind, key), (source, inside))

    def add_below(self, path: Path, source: Source, inside: Path) -> None:
        """Register that a part of an input stands elsewhere than the rest of it."""
        self._parts[path] = (source, inside)

    def find(self, path: Path) -> Span | None:
        """File, line and column of a path, or of its nearest parent that was written."""
        source, inside = self.place(path)
        return source.places.key(inside)

    def written(self, path: Path) -> bool:
        """Whether somebody wrote a value at exactly this path."""
        source, inside = self.place(path)
        return inside in source.places

    def display(self, path: Path) -> str:
        """The path as it stands in its file: `servings[0].parallelism.tensor`; empty for a whole file."""
        return show_path(self.place(path)[1])

    def span_of(self, finding: Finding) -> Span | None:
        """Where a finding about the inputs is; `None` for one about a document."""
        if isinstance(finding.at, DocumentPath):
            return None
        span = self.find(finding.at.path)
        line, column = finding.seen.get("line", ""), finding.seen.get("column", "")
        if span and line.isdecimal():
            # What the reader of YAML met outside any value, such as a tab or a key given twice.
            return span._replace(line=int(line), column=int(column) if column.isdecimal() else 1)
        return span

    def where(self, finding: Finding) -> str:
        """What a report prints: `gangform.yaml:14: servings[0].parallelism.tensor`."""
        at = finding.at
        if isinstance(at, DocumentPath):
            return f"{at.kind}/{at.name} {show_path(at.path)}".rstrip()
        shown = self.display(at.path)
        return f"{self.span_of(finding)}: {shown}" if shown else str(self.span_of(finding))

    def place(self, path: Path) -> tuple[Source, Path]:
        """The file that a path was written in, and the path in that file."""
        for length in range(len(path), 2, -1) if self._parts else ():
            if (part := self._parts.get(path[:length])) is not None:
                return part[0], (*part[1], *path[length:])
        piece = self._pieces.get(path[:2])
        if piece is None:
            return self._root, path
        source, inside = piece
        return source, (*inside, *path[2:])


class LoadError(InputError):
    """What could not be read. Its findings have their places in `spans`, as those of later stages in `Loaded.spans`."""

    def __init__(self, findings: Sequence[Finding], spans: Spans) -> None:
        """Keep the spans beside the findings."""
        super().__init__(findings)
        self.spans = spans
