"""Tables of the page as plain records: the template lays them out."""

from __future__ import annotations

from typing import NamedTuple


class Cell(NamedTuple):
    """One cell of a table."""

    column: str
    text: str
    anchor: str = ""
    """Where a link in it leads."""
    kind: str = ""
    """Its class: a verdict, a severity."""
    mark: str = ""
    """A sign before the text."""


class Grid(NamedTuple):
    """A table."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    empty: str = "none"
    anchor: str = ""
    kind: str = ""
    """A class."""
