"""Where links within a page lead: one anchor for each thing, readable, and no two alike."""

from __future__ import annotations

import re

_NOT_PLAIN = re.compile(r"[^A-Za-z0-9.-]+")


class Anchors:
    """The anchors of one page."""

    def __init__(self) -> None:
        """None yet."""
        self._of: dict[tuple[str, ...], str] = {}
        self._taken: set[str] = set()

    def of(self, *parts: str) -> str:
        """The anchor of a thing: `object-prod-Service-llm-r1`, with a number where another has that one."""
        if parts not in self._of:
            stem = "-".join(_NOT_PLAIN.sub("-", part) for part in parts if part)
            name, number = stem, 1
            while name in self._taken:
                number += 1
                name = f"{stem}-{number}"
            self._taken.add(name)
            self._of[parts] = name
        return self._of[parts]
