"""`gangform plan --pin`: the numbers that `parallelism: auto` is resolved to go into the user's files.

Files are replaced by rename, all of them, and only while they are what was read.
"""

from __future__ import annotations

import os
from errno import EACCES
from typing import TYPE_CHECKING

from gangform.cli.files import replace_texts
from gangform.cli.terminal import tell
from gangform.findings import counted
from gangform.pin import check_unchanged, edits

if TYPE_CHECKING:
    from gangform.cli.selection import Selection


def pin(chosen: Selection) -> int:
    """Write what `auto` is resolved to; how many values were written.

    Raises:
        InputError: Nothing was written, and why.
        OSError: Nothing was written, since a file cannot be.
    """
    loaded = chosen.loaded
    made = edits(loaded, clusters=chosen.some_clusters, servings=chosen.servings)
    for edit in made:
        if not os.access(edit.file, os.W_OK):
            raise PermissionError(EACCES, "its owner keeps it from being written", str(edit.file))
    check_unchanged(made)
    replace_texts({edit.file: edit.after.decode() for edit in made})
    for edit in made:
        for one in edit.pins:
            span = loaded.spans.find(one.at)
            tell(f"{span}: {loaded.spans.display(one.at)}: {one.chosen.written}")
    count = sum(len(edit.pins) for edit in made)
    tell(f"pinned {counted(count, 'serving')}" if count else "nothing to pin: no `auto` is left")
    return count
