"""`gangform plan --pin`: the numbers that `parallelism: auto` is resolved to go into the user's files.

A file is replaced by rename, and only while it is what was read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangform.cli.files import write_text
from gangform.cli.terminal import tell
from gangform.findings import counted
from gangform.pin import check_unchanged, edits

if TYPE_CHECKING:
    from gangform.cli.selection import Selection


def pin(chosen: Selection) -> int:
    """Write what `auto` is resolved to; how many values were written.

    Raises:
        InputError: Nothing was written, and why.
    """
    loaded = chosen.loaded
    made = edits(loaded, clusters=chosen.some_clusters, servings=chosen.servings)
    check_unchanged(made)
    for edit in made:
        write_text(edit.file, edit.after.decode(), force=True)
        for one in edit.pins:
            span = loaded.spans.find(one.at)
            tell(f"{span}: {loaded.spans.display(one.at)}: {one.chosen.written}")
    count = sum(len(edit.pins) for edit in made)
    tell(f"pinned {counted(count, 'serving')}" if count else "nothing to pin: no `auto` is left")
    return count
