"""Where things were written: a tree of lines and columns beside the data, one for each object.

A tree and not a table of paths: it costs one entry a value, and an alias shares what it stands for.
"""

import marshal
from typing import Final, NamedTuple

from gangform.findings import Path


class Span(NamedTuple):
    """Where something was written; lines and columns are counted from 1."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        """`gangform.yaml:14`, as reports print it."""
        return f"{self.file}:{self.line}"


Inside = dict[str | int, "Entry"]
"""What is inside of a value, by key or index."""

Entry = tuple[int, int, int, int, Inside]
"""Line and column of a key (of a list entry, and of an object: its own), those of its value, and what is inside.

A plain tuple: there is one for each value, and making an object of it took a tenth of the time of reading.
"""

NOTHING_INSIDE: Final[Inside] = {}
"""Of single values, which are most: shared, and filled by nobody."""


def entry(line: int, column: int, inside: Inside = NOTHING_INSIDE) -> Entry:
    """That of a value without a key of its own."""
    return (line, column, line, column, inside)


class Places:
    """Where the values of one object were written."""

    def __init__(self, file: str, root: Entry) -> None:
        """Made by the reader."""
        self._file, self._root = file, root

    def sent(self) -> tuple[str, bytes]:
        """What goes to another process of this gangform, for `received` there."""
        return self._file, marshal.dumps(self._root)

    @classmethod
    def received(cls, file: str, root: bytes) -> "Places":
        """The places that were sent."""
        return cls(file, marshal.loads(root))

    def value(self, path: Path) -> Span:
        """Where a value begins; for a path that is not there, where its nearest parent does."""
        _, _, line, column, _ = self._nearest(path)
        return Span(self._file, line, column)

    def key(self, path: Path) -> Span:
        """Where the key of a value stands (of a list entry: the entry); else that of its nearest parent."""
        line, column, _, _, _ = self._nearest(path)
        return Span(self._file, line, column)

    def _nearest(self, path: Path) -> Entry:
        here = self._root
        for part in path:
            below = here[4].get(part)
            if below is None:
                break
            here = below
        return here

    def below(self, *path: str | int) -> "Places":
        """The same, for the object at a path."""
        here = self._root
        for part in path:
            here = here[4][part]
        _, _, line, column, inside = here
        return Places(self._file, entry(line, column, inside))

    def beginning(self, line: int) -> Path | None:
        """The path of what begins on a line: the outermost, where several values do; `None` where none does."""
        if self._root[0] == line:
            return ()
        # What an alias stands for is met once, at its anchor.
        seen: set[int] = set()
        level: list[tuple[Path, Inside]] = [((), self._root[4])]
        while level:
            further: list[tuple[Path, Inside]] = []
            for path, around in level:
                for part, (at, _, _, _, inside) in around.items():
                    if at == line:
                        return (*path, part)
                    if inside and id(inside) not in seen:
                        seen.add(id(inside))
                        further.append(((*path, part), inside))
            level = further
        return None

    def innermost(self) -> dict[int, Path]:
        """For every line on which something begins the path of what lies deepest: of `- name: a` the name."""
        found: dict[int, Path] = {self._root[0]: ()}
        level: list[tuple[Path, Inside]] = [((), self._root[4])]
        while level:
            further = []
            for path, around in level:
                for part, (line, _, _, _, inside) in around.items():
                    found[line] = (*path, part)
                    further.append(((*path, part), inside))
            level = further
        return found

    def __contains__(self, path: Path) -> bool:
        """Whether a value was written at exactly this path."""
        here: Entry | None = self._root
        for part in path:
            here = here[4].get(part) if here else None
        return here is not None
