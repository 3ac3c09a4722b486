"""Releases of foreign software, and which fields exist in which of them.

A row says *field → releases (holes allowed) → evidence*. A field newer than the declared release is refused, since an
older CRD prunes it in silence (`lws §13.1`); one that only an article vouches for is
not emitted at all. A release newer than every one we know counts as the newest known.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cache
from typing import NamedTuple


class Release(NamedTuple):
    """A version as three numbers; what was not written is 0."""

    major: int
    minor: int
    patch: int = 0

    @classmethod
    @cache
    def parse(cls, text: str) -> "Release":
        """`"0.10"`, `"1.36.3"` or `"v0.9.0"`; a pre-release or build suffix is dropped.

        Raises:
            ValueError: The text is not a version.
        """
        plain = text.strip().removeprefix("v").split("-")[0].split("+")[0]
        parts = plain.split(".")
        if not 2 <= len(parts) <= 4 or not all(
            part.isdecimal() and part.isascii() for part in parts
        ):
            raise ValueError(f'`{text}` is not a version such as "0.10" or "1.36.3"')
        numbers = [int(part) for part in parts[:3]]
        return cls(*numbers)

    def __str__(self) -> str:
        """`0.10`, or `0.10.1` where the patch says something."""
        return f"{self.major}.{self.minor}" + (f".{self.patch}" if self.patch else "")


class Evidence(StrEnum):
    """How well a row is known, strongest first."""

    LAB = "lab"
    """Seen on a real control plane."""
    CODE = "code"
    """Read in the released source."""
    DOCS = "docs"
    """Said by the project's documentation or release notes."""
    ARTICLE = "article"
    """Said by a third party only: not emitted."""


class Row(NamedTuple):
    """In which releases a field, value or flag exists."""

    name: str
    since: Release
    evidence: Evidence
    source: str
    until: Release | None = None
    """The first release that no longer has it; `None` while it lasts."""
    holes: tuple[tuple[Release, Release], ...] = ()
    """Half-open spans inside, in which it was taken back."""

    def covers(self, release: Release) -> bool:
        """Whether it exists in a release."""
        if release < self.since or (self.until is not None and release >= self.until):
            return False
        return not any(start <= release < end for start, end in self.holes)


class Table:
    """The rows of one piece of software, and the newest release that they were checked against."""

    def __init__(self, software: str, newest: Release, rows: Sequence[Row]) -> None:
        """Index the rows by name; a name stands once."""
        self.software = software
        self.newest = newest
        self.rows: Mapping[str, Row] = {row.name: row for row in rows}

    def has(self, name: str, release: Release) -> bool:
        """Whether a field exists in a release; a release newer than every known one counts as the newest known.

        Raises:
            KeyError: The table has no such row.
        """
        return self.rows[name].covers(min(release, self.newest))


class Versions(NamedTuple):
    """The releases a cluster runs. `None`: not installed, or not said."""

    kubernetes: Release | None = None
    lws: Release | None = None
    kueue: Release | None = None
    volcano: Release | None = None
    keda: Release | None = None


NEWEST_KUBERNETES = Release(1, 37)
"""The newest release of Kubernetes that was looked at."""
