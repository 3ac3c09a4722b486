"""Amounts in a spelling that people use and Kubernetes does not: what they would be in its own.

`26GB` is `26G`, `1 TiB` is `1Ti`, `13,000,000,000` is 13000000000. What may mean two things is not guessed.
"""

from __future__ import annotations

import re

from gangform.units import UnitError, quantity

_SPELLED = re.compile(r"([0-9]+(?:\.[0-9]+)?) ?(k|m|g|t|p)?(i)?(?:b|bytes?)?", re.I)
_GROUPED = re.compile(r"[0-9]{1,3}([,_ ])[0-9]{3}(?:\1[0-9]{3})*")
_THOUSANDS = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}


def _ungrouped(text: str) -> str:
    """Without what parts thousands: `13,000` is `13000`."""
    text = text.strip()
    return re.sub("[,_ ]", "", text) if _GROUPED.fullmatch(text) else text


def memory(text: str) -> str:
    """The Kubernetes quantity that an amount of memory means; empty where nobody can say."""
    found = _SPELLED.fullmatch(_ungrouped(text))
    if found is None:
        return ""
    number, prefix, binary = found[1], found[2] or "", found[3] or ""
    if binary and not prefix:
        return ""
    suffix = prefix.upper() if binary or prefix.lower() != "k" else "k"
    spelled = f"{number}{suffix}{'i' if binary else ''}"
    try:
        quantity(spelled)
    except UnitError:
        return ""
    return spelled


def whole(text: str) -> str:
    """The digits of a whole number: `4k` is 4000, `1,000` is 1000; empty where it is none."""
    plain = _ungrouped(text)
    if plain.isdecimal():
        return plain
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?) ?([kmgb])", plain, re.I)
    if found is None:
        return ""
    value = quantity(found[1]) * _THOUSANDS[found[2].lower()]
    return str(value) if value.denominator == 1 else ""


def binary(text: str) -> str:
    """The other number that `4k` may mean, as tokens are counted: 4096; empty where there is only one."""
    found = re.fullmatch(r"([0-9]+) ?([km])", _ungrouped(text), re.I)
    return "" if found is None else str(int(found[1]) * 1024 ** "km".index(found[2].lower()) * 1024)
