"""What YAML makes of a word without quotes, and where its readers disagree.

YAML 1.1 (PyYAML, and mostly the API server), YAML 1.2 (editors) and Go's parser differ on booleans, on numbers in
other bases and with exponents, and on dates. A strict reader refuses such words; a tolerant one follows Kubernetes.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache
from typing import Self

_WHOLE = r"[-+]?(?:0|[1-9][0-9]{0,30})"
_FRACTION = r"[-+]?(?:(?:0|[1-9][0-9]{0,30})\.[0-9]{0,30}|\.[0-9]{1,30})"
_SIXTIES = r"([-+]?)([0-9][0-9_]*(?::[0-5]?[0-9])+)(?:\.[0-9_]*)?"
_PREFIXED = r"([-+]?)0([xXoObB]?)([0-9a-fA-F_]+)"
_NUMERIC = r"[-+]?(?:[0-9][0-9_]*\.?[0-9_]*|\.[0-9][0-9_]*)(?:[eE][-+]?[0-9]+)?"
_INFINITE = r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
_DATE = r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:(?:[tT]|[ \t]+)[0-9]{1,2}:.*)?"
BOOLEANS = dict.fromkeys(("true", "True", "TRUE"), True) | dict.fromkeys(
    ("false", "False", "FALSE"), False
)
OLD_BOOLEANS = dict.fromkeys(["yes", "Yes", "YES", "on", "On", "ON"], True) | dict.fromkeys(
    ["no", "No", "NO", "off", "Off", "OFF"], False
)
ANY_BOOLEANS = BOOLEANS | OLD_BOOLEANS
# The letters are booleans to YAML 1.1 on paper and to Go, texts to PyYAML.
DISPUTED_BOOLEANS = OLD_BOOLEANS | {"y": True, "Y": True, "n": False, "N": False}
NULLS = ("", "~", "null", "Null", "NULL")
_READABLE = 60
_NUMBERS_BEGIN = "+-.0123456789"
_WORDS = frozenset({*ANY_BOOLEANS, *NULLS})


class WrittenFloat(Decimal):
    """A number with a fraction that remembers its spelling: a version `0.10` without quotes is the number 0.1."""

    written: str

    def __new__(cls, written: str) -> Self:
        """The number that a text spells."""
        self = super().__new__(cls, written.replace("_", ""))
        self.written = written
        return self

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        """How it is copied: with its spelling."""
        return type(self), (self.written,)

    @property
    def read_as(self) -> str:
        """What YAML makes of it: `"0.1"` for `0.10`."""
        return f"{self.normalize():f}" if abs(self.adjusted()) < _READABLE else str(self)


def is_text(written: str) -> bool:
    """Whether a word is neither a number nor anything else to Kubernetes' reader, as can be seen at once."""
    return written not in _WORDS and written[0] not in _NUMBERS_BEGIN


def disputed(written: str) -> tuple[str, str, str] | None:
    """Code, text and cure for a word that not every reader of YAML takes for the same value."""
    old = DISPUTED_BOOLEANS.get(written)
    if old is not None:
        word = str(old).lower()
        what = f"`{written}` without quotes is {word} to YAML 1.1"
        return "yaml-boolean", what, f'write "{written}" for the text, {word} for the boolean'
    if not written or written[0] not in _NUMBERS_BEGIN:
        return None
    if re.fullmatch(_DATE, written):
        return "yaml-date", f"`{written}` without quotes is a date to YAML", f'write "{written}"'
    if re.fullmatch(_WHOLE, written) or re.fullmatch(_FRACTION, written):
        return None
    made = number(written)
    if made is None and not re.fullmatch(_INFINITE, written):
        return None
    shown = "no finite number" if made is None else f"the number {made}"
    what = f"`{written}` without quotes is {shown} to one reader of YAML and not to the next"
    return "yaml-number", what, f'write "{written}" for the text, else a number in decimal digits'


@lru_cache(maxsize=4096)
def number(written: str) -> int | WrittenFloat | None:
    """The number that Kubernetes' reader makes of a word, or `None`. Long ones are texts: nothing counts so far."""
    if written[0] not in _NUMBERS_BEGIN or len(written) > _READABLE:
        return None
    if re.fullmatch(_WHOLE, written):
        return int(written)
    if sixties := re.fullmatch(_SIXTIES, written):
        total = 0
        for part in sixties[2].replace("_", "").split(":"):
            total = total * 60 + int(part)
        return -total if sixties[1] == "-" else total
    if prefixed := re.fullmatch(_PREFIXED, written):
        base = {"": 8, "o": 8, "x": 16, "b": 2}[prefixed[2].lower()]
        try:
            return int(prefixed[1] + prefixed[3].replace("_", ""), base)
        except ValueError:
            pass
    if not re.fullmatch(_NUMERIC, written):
        return None
    bare = written.replace("_", "")
    return int(bare) if bare.lstrip("+-").isdigit() else WrittenFloat(written)
