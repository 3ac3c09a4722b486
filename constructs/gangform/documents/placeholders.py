"""Values that an author left for somebody else to fill in: `${NAME}`, `<your-token>`, `REPLACE_IMAGE`.

How certain that is depends on the place. An image or a name is lower case, so that a word in capitals is none; in free
text only what nobody would mean is taken for one. Command lines are left out: shells and engines have signs like these.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from gangform.documents.document import Node
from gangform.findings import Path

_SHELL: Final = r"\$\{[A-Za-z_]\w*(?::?-[^{}]*)?\}"
_ANGLES: Final = r"(?<![?P\\])<[A-Za-z][\w .,/:'-]*>"
_BRACES: Final = r"(?<!\$)\{[A-Za-z_]\w*\}"
_UNDERLINED: Final = r"__[A-Z][A-Z0-9_]*__"
_CAPITALS: Final = (
    r"(?<![A-Za-z0-9_$])(?:(?:V|YOUR|REPLACE|INSERT|CHANGE|MY)[-_][A-Z0-9_-]*[A-Z]"
    r"|[A-Z][A-Z_]*_PLACEHOLDER|PLACEHOLDER(?:_[A-Z_]+)?|CHANGEME|TODO)(?![A-Za-z0-9])"
)
_ANYWHERE: Final = f"{_SHELL}|{_ANGLES}|{_UNDERLINED}|{_CAPITALS}|^\\$[A-Z][A-Z0-9_]+$"
_IN_NAMES: Final = f"{_ANYWHERE}|{_BRACES}|\\$[A-Z][A-Z0-9_]+"
_IN_IMAGES: Final = f"{_IN_NAMES}|(?:^|/)(?:[A-Z][A-Z_]{{3,}}|[Yy]our[-_][\\w-]+)"
_IN_VALUES: Final = (
    f"^(?:{_ANGLES}|your[-_][\\w-]+|{_CAPITALS}|{_UNDERLINED}|(?:change|replace)[-_]?me)$"
    f"|(?<=[/@]){_ANGLES}|(?:^|/){_CAPITALS}(?:/|$)|{_UNDERLINED}"
)
_MAY_BE: Final = re.compile(r"[$<{]|__|[A-Z]_|[A-Z]{4}|your[-_]|e[-_]?me$")
"""What every placeholder has: asked first, since hardly any text has it. The others are compiled when one does."""
_TAGS: Final = r"<(?:think|tool_call|eos|bos|pad|unk|s)>"
_LABELS: Final = frozenset({"labels", "matchLabels", "selector", "nodeSelector", "nodeLabels"})
_FREE: Final = frozenset(
    {"annotations", "query", "metadata", "mountPath", "subPath", "path", "url"}
)
"""Keys below which any text is allowed: the value is taken as it stands, and does something else than was meant."""
_CODE: Final = frozenset({"command", "args", "data", "binaryData", "status", "description", "expr"})
"""Keys below which texts are programs, or say nothing to a controller."""


def candidates(node: Node, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """The texts of a node that may hold one, in order, programs and reports left out."""
    found: list[tuple[Path, str]] = []
    _walk(node, path, found, _MAY_BE.search)
    return iter(found)


def _walk(
    node: Node,
    path: Path,
    found: list[tuple[Path, str]],
    may_be: Callable[[str], object],
) -> None:
    pairs = (
        node.items()
        if isinstance(node, dict)
        else enumerate(node)
        if isinstance(node, list)
        else ()
    )
    for key, value in pairs:
        kind = value.__class__
        if kind is str:
            if may_be(value):
                found.append(((*path, key), value))
        elif (kind is dict or kind is list) and key not in _CODE:
            _walk(value, (*path, key), found, may_be)


class Placeholder(NamedTuple):
    """A text that is still to be filled in."""

    written: str
    """The part that stands for something else."""
    taken: bool
    """Whether the API takes the text as it stands."""


def placeholder(path: Path, text: str) -> Placeholder | None:
    """What is still to be filled in at a place; `None` where the text is meant, or may be."""
    if not _MAY_BE.search(text) or not path or not _CODE.isdisjoint(path):
        return None
    last, above = path[-1], path[-2] if len(path) > 1 else ""
    if "env" in path or path[0] == "stringData":
        single = (last == "value" or "env" not in path) and "\n" not in text
        found = re.search(_IN_VALUES, text) if single and not re.search(_TAGS, text) else None
        return Placeholder(found[0], taken=True) if found else None
    if last == "image":
        found = re.search(_IN_IMAGES, text)
        return Placeholder(found[0].lstrip("/"), taken=False) if found else None
    named = last in ("name", "namespace") or above in _LABELS
    if "annotations" in path:
        # Any text is allowed there, and templates of other tools lie there.
        found = re.fullmatch(f"{_SHELL}|{_ANGLES}", text)
    else:
        found = re.search(_IN_NAMES if named else _ANYWHERE, text)
    if found is None:
        return None
    free = not _FREE.isdisjoint(path[1:]) if not named else _allowed(last, text)
    return Placeholder(found[0], taken=free)


def _allowed(last: str | int, text: str) -> bool:
    """Whether a label has this value as it stands; names are lower case."""
    return last not in ("name", "namespace") and re.fullmatch(r"[\w.-]{1,63}", text) is not None
