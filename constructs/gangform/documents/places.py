"""Where things were written: a tree of lines and columns beside the data, one for each object.

A tree and not a table of paths: it costs one entry a value, and an alias shares what it stands for.
"""

from typing import NamedTuple

from gangform.findings import Path


class Span(NamedTuple):
    """Where something was written; lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """`gangform.yaml:14`, as reports print it."""
        return f"{self.file}:{self.line}"


class Mark:
    """A value's place, and those of what is inside it: by key or index, the key's line and column and the value."""

    __slots__ = ("children", "column", "line")

    def __init__(
        self,
        line: int,
        column: int,
        children: "dict[str | int, tuple[int, int, Mark]] | None" = None,
    ) -> None:
        self.line, self.column = line, column
        # Most values are single ones, and share a map that nobody fills.
        self.children = _NOTHING_INSIDE if children is None else children


_NOTHING_INSIDE: dict[str | int, tuple[int, int, Mark]] = {}


class Places:
    """Where the values of one object were written."""

    def __init__(self, file: str, root: Mark) -> None:
        """Made by the reader."""
        self._file, self._root = file, root

    def value(self, path: Path) -> Span:
        """Where a value begins; for a path that is not there, where its nearest parent does."""
        mark = self._root
        for part in path:
            if part not in mark.children:
                break
            mark = mark.children[part][2]
        return Span(self._file, mark.line, mark.column)

    def key(self, path: Path) -> Span:
        """Where the key of a value stands (of a list entry: the entry); else that of its nearest parent."""
        mark, line, column = self._root, self._root.line, self._root.column
        for part in path:
            if part not in mark.children:
                break
            line, column, mark = mark.children[part]
        return Span(self._file, line, column)

    def below(self, *path: str | int) -> "Places":
        """The same, for the object at a path."""
        mark = self._root
        for part in path:
            mark = mark.children[part][2]
        return Places(self._file, mark)

    def beginning(self, line: int) -> Path | None:
        """The path of what begins on a line: the outermost, where several values do; `None` where none does."""
        if self._root.line == line:
            return ()
        # What an alias stands for is met once, at its anchor.
        seen: set[int] = set()
        level: list[tuple[Path, Mark]] = [((), self._root)]
        while level:
            inner: list[tuple[Path, Mark]] = []
            for path, mark in level:
                for part, (at, _, child) in mark.children.items():
                    if at == line:
                        return (*path, part)
                    if id(child) not in seen:
                        seen.add(id(child))
                        inner.append(((*path, part), child))
            level = inner
        return None

    def innermost(self) -> dict[int, Path]:
        """For every line on which something begins the path of what lies deepest: of `- name: a` the name."""
        found: dict[int, Path] = {self._root.line: ()}
        level: list[tuple[Path, Mark]] = [((), self._root)]
        while level:
            inner = []
            for path, mark in level:
                for part, (line, _, child) in mark.children.items():
                    found[line] = (*path, part)
                    inner.append(((*path, part), child))
            level = inner
        return found

    def __contains__(self, path: Path) -> bool:
        """Whether a value was written at exactly this path."""
        mark: Mark | None = self._root
        for part in path:
            mark = mark.children[part][2] if mark and part in mark.children else None
        return mark is not None
