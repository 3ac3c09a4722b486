"""What a report consists of, and how it is drawn: as text, as Markdown, as JSON or YAML.

A report is a list of blocks; a block is a title and lines, or a grid with columns. On a terminal long cells are
folded; in a pipe a row is a line, whatever its length, so that it can be searched.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gangform.cli.terminal import coloured, is_terminal

Cells = tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A title, and rows under it. Without columns the first cell of each row is its label."""

    title: str
    rows: Sequence[Cells]
    columns: Cells = ()
    level: int = 1
    """Depth of the title: 1 for a cluster, 2 for what is inside."""
    empty: str = "none"
    """What stands there without rows."""
    stacked: bool = False
    """As text, each row is a few lines: cells too long to stand beside each other."""


def as_text(blocks: Iterable[Block]) -> str:
    """For people: aligned columns."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    shown = is_terminal(sys.stdout)
    console = Console(
        file=sys.stdout,
        width=None if shown else 100_000,
        no_color=not coloured(sys.stdout),
        color_system="standard" if coloured(sys.stdout) else None,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as capture:
        for block in map(_unstacked, blocks):
            console.print(Text(block.title, style="bold"))
            if not block.rows:
                console.print(f"  {block.empty}")
            table = Table(
                box=None,
                show_header=bool(block.columns),
                header_style="bold" if coloured(sys.stdout) else "",
                padding=(0, 2, 0, 0),
                pad_edge=False,
            )
            count = max((len(row) for row in block.rows), default=0)
            for index in range(count):
                name = block.columns[index] if index < len(block.columns) else ""
                table.add_column(f"  {name}" if not index else name, overflow="fold")
            for row in block.rows:
                cells = [Text(f"  {row[0]}"), *(Text(cell) for cell in row[1:])]
                table.add_row(*cells)
            if block.rows:
                console.print(table)
            console.print()
    lines = capture.get().rstrip("\n").split("\n")
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _unstacked(block: Block) -> Block:
    """A stacked block as one of labels and values."""
    if not block.stacked:
        return block
    rows = [
        (f"  {name}" if number else name, cell)
        for row in block.rows
        for number, (name, cell) in enumerate(zip(block.columns, row, strict=True))
    ]
    return replace(block, rows=rows, columns=(), stacked=False)


def as_markdown(blocks: Iterable[Block]) -> str:
    """For pull requests: headings and tables."""
    parts = []
    for block in blocks:
        parts.append(f"{'#' * (block.level + 1)} {_escaped(block.title)}\n")
        if not block.rows:
            parts.append(f"{block.empty}\n")
            continue
        count = max(len(row) for row in block.rows)
        head = block.columns or ("",) * count
        lines = [_row(head), _row(("---",) * len(head)), *(_row(row) for row in block.rows)]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(cells: Cells) -> str:
    return f"| {' | '.join(_escaped(cell) for cell in cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")


def structured(data: Any, form: str) -> str:
    """For machines: JSON, or YAML with the same content. The order of keys is part of neither."""
    if form == "yaml":
        import yaml

        text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        return text
    import json

    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
