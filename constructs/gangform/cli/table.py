"""What a report consists of, and how it is drawn: as text, as Markdown, as JSON or YAML.

A report is a list of blocks; a block is a title and lines, or a grid with columns. On a terminal long cells are
folded; in a pipe a row is a line, whatever its length, so that it can be searched.
"""

from __future__ import annotations

import re
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
    code: Cells = ()
    """Columns of names and values that others wrote. As Markdown these are code, and no word of the title or of another
    column is markup either."""
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
        shown = plain if block.code else _escaped
        parts.append(f"{'#' * (block.level + 1)} {shown(block.title)}\n")
        if not block.rows:
            parts.append(f"{block.empty}\n")
            continue
        count = max(len(row) for row in block.rows)
        head = block.columns or ("",) * count
        ways = [_code if name in block.code else shown for name in head]
        lines = [_row(map(_escaped, head)), _row(("---",) * len(head))]
        lines += [
            _row(way(cell) for way, cell in zip(ways, row, strict=False)) for row in block.rows
        ]
        parts.append("\n".join(lines) + "\n")
    return "\n".join(parts)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", "<br>")


_MARKUP = re.compile(r"[\\`*~\[\]<>|]|(?<!\w)_|_(?!\w)")
_CALLS = re.compile(r"([@#]|://)(?=\w)")


def plain(text: str) -> str:
    """A text as Markdown that shows it as it is: no markup, link or picture, and nobody is called by `@`."""
    shown = _MARKUP.sub(r"\\\g<0>", _one_line(text).replace("&", "&amp;"))
    return _CALLS.sub(r"\g<0>&#8203;", shown)


def _code(text: str) -> str:
    """A text as code of a cell; a fence longer than any run of backticks in it."""
    if "\\|" in text:
        return plain(text)  # A cell ends at such a bar, also inside of code.
    inside = _one_line(text).replace("|", "\\|")
    if not inside:
        return ""
    fence = "`" * (1 + max(map(len, re.findall("`+", inside)), default=0))
    space = " " if inside.startswith("`") or inside.endswith("`") else ""
    return f"{fence}{space}{inside}{space}{fence}"


def _one_line(text: str) -> str:
    return " ".join(text.split())


def structured(data: Any, form: str) -> str:
    """For machines: JSON, or YAML with the same content. The order of keys is part of neither."""
    if form == "yaml":
        from gangform.documents.pyyaml import yaml

        text: str = yaml.safe_dump(data, sort_keys=False, allow_unicode=True, width=100)
        return text
    import json

    return json.dumps(data, indent=2, ensure_ascii=False) + "\n"
