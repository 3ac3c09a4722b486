"""Values of arguments as vLLM's own parser reads them: numbers, switches, and objects given as JSON or key by key.

Source: FlexibleArgumentParser and human_readable_int in vLLM's argument parser.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal

from gangform.engines.flags import Given, parsed

_POWERS = {"k": 1, "m": 2, "g": 3, "t": 4}
_MOST = 10**15
"""Larger than any cache, in bytes."""
_WHOLE = re.compile(r"\s*\+?([0-9]{1,15}(?:_[0-9]{1,15})*)\s*")


def whole(text: str) -> int | None:
    """A whole number, `1024` or `1_024`, as Python reads one; `None` where it is none, or larger than any size."""
    found = _WHOLE.fullmatch(text) if len(text) < 40 else None
    size = int(found[1]) if found else None
    return size if size is not None and size <= _MOST else None


def amount(text: str) -> int | None:
    """A number as vLLM reads one: `4096`, `1.5g` of 10^9, `4G` of 2^30; `None` where it refuses the text.

    It takes decimals with small letters only.
    """
    found = re.fullmatch(r"([0-9]{1,15})(\.[0-9]{1,9})?([kKmMgGtT])", text.strip())
    if found is None:
        return whole(text)
    number, part, letter = found.groups()
    if letter.isupper():
        if part:
            return None
        size = int(number) * 1024 ** _POWERS[letter.lower()]
    else:
        size = int(Decimal(number + (part or "")) * 1000 ** _POWERS[letter])
    return size if size <= _MOST else None


def on(own: Sequence[Given], switch: str) -> bool:
    """Whether a switch is on: the last of `--x` and `--no-x` counts."""
    off = f"--no-{switch.removeprefix('--')}"
    said = [one.flag for one in own if one.flag in (switch, off)]
    return said[-1:] == [switch]


def settings(own: Sequence[Given], flag: str) -> Mapping[str, object]:
    """The keys of an argument that is an object; none where nothing says one, or it cannot be read.

    The last object counts whole. Keys given one by one, `--x.key=value` or `--x.key+=a,b` for a list, make an object of
    their own that counts as the last, wherever they stand.
    """
    object_: Mapping[str, object] = {}
    single: dict[str, object] = {}
    for one in own:
        head, _, path = one.flag.partition(".")
        if head != flag or one.value is None:
            continue
        if not path:
            read = parsed(one.value)
            object_ = read if isinstance(read, dict) else {}
            continue
        key, inside, _ = path.partition(".")
        if inside:
            single.setdefault(key, {})
        elif key.endswith("+"):
            key = key.removesuffix("+")
            before = single.get(key)
            more = [_scalar(part) for part in one.value.split(",")]
            single[key] = [*(before if isinstance(before, list) else ()), *more]
        else:
            single[key] = _scalar(one.value)
    return single or object_


def _scalar(text: str) -> object:
    """The value of one key: JSON, else an amount, else the text itself."""
    read = parsed(text)
    if read is not None or text.strip() == "null":
        return read
    size = amount(text)
    return text if size is None else size
