"""Near misses: which known word somebody meant, and how a value is shown to them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

_LONGEST = 60


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known words closest to `word`, best first: the same letters in other spelling, then a few typing errors."""
    import difflib

    by_letters: dict[str, str] = {}
    for name in known:
        by_letters.setdefault(_letters(name), name)
    same = by_letters.get(_letters(word))
    if same is not None:
        return [same]
    close = difflib.get_close_matches(_letters(word)[:200], list(by_letters), n=count, cutoff=0.7)
    return [by_letters[letters] for letters in close]


def same(word: str, other: str) -> bool:
    """Whether two words differ in nothing but case and what joins their parts."""
    return _letters(word) == _letters(other)


def _letters(word: str) -> str:
    return word.lower().replace("_", "").replace("-", "").replace(".", "").replace(" ", "")


def plain(value: Any) -> str:
    """A value on one line, as it was written where that is known, and not too long."""
    written = getattr(value, "written", None)
    if isinstance(value, bool):
        text = "true" if value else "false"
    else:
        text = written if isinstance(written, str) else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
