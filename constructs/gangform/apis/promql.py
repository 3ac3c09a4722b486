"""How PromQL is written: quoting, matchers, and the selectors of one exporter in one namespace.

Regular expressions are anchored in PromQL, so a pattern of one set matches neither the pods of `<set>-x` nor its
workers by accident. Names stand in them as patterns that match only themselves.
"""

import re
from collections.abc import Sequence
from functools import cache
from textwrap import indent
from typing import NamedTuple


def quoted(value: str) -> str:
    """A PromQL string."""
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def literal(name: str) -> str:
    """A name as a pattern that matches only itself. A dash has no meaning outside brackets and stays readable."""
    return re.sub(r"[^A-Za-z0-9-]", lambda found: "\\" + found[0], name)


def equal(label: str, value: str) -> str:
    """A matcher: the label has this value."""
    return f"{label}={quoted(value)}"


def like(label: str, pattern: str) -> str:
    """A matcher: the label's whole value matches the pattern."""
    return f"{label}=~{quoted(pattern)}"


def either(names: Sequence[str]) -> str:
    """A pattern for one of some names."""
    return literal(names[0]) if len(names) == 1 else f"({'|'.join(map(literal, names))})"


def one_of(label: str, names: Sequence[str]) -> str:
    """A matcher: the label is one of some names."""
    return equal(label, names[0]) if len(names) == 1 else like(label, "|".join(map(literal, names)))


def up_to(most: int) -> str:
    """A pattern for the numbers from 0 to this one, without leading zeros."""
    digits = str(most)
    parts = [_digit(0, 9)] if len(digits) > 1 else []
    parts += [_digit(1, 9) + _digit(0, 9) * (length - 1) for length in range(2, len(digits))]
    for place, digit in enumerate(digits):
        least = 1 if place == 0 and len(digits) > 1 else 0
        # The last digit may be the number's own; those before it are smaller, and then anything may follow.
        most_here = int(digit) - (place < len(digits) - 1)
        if most_here >= least:
            rest = _digit(0, 9) * (len(digits) - place - 1)
            parts.append(digits[:place] + _digit(least, most_here) + rest)
    return parts[0] if len(parts) == 1 else f"({'|'.join(parts)})"


def _digit(least: int, most: int) -> str:
    return str(least) if least == most else f"[{least}-{most}]"


def selector(series: str, *matchers: str) -> str:
    """The series that match, whoever exports them."""
    return f"{series}{{{', '.join(matchers)}}}"


def boxed(text: str) -> str:
    """In parentheses, on lines of its own."""
    return f"(\n{indent(text, '  ')}\n)"


class Exporter(NamedTuple):
    """The kube-state-metrics of a cluster, seen from one namespace."""

    job: str
    namespace: str

    def select(self, series: str, *matchers: str) -> str:
        """The series of the namespace that match."""
        mine = (equal("job", self.job), equal("namespace", self.namespace))
        return selector(series, *mine, *matchers)

    def everywhere(self, series: str, *matchers: str) -> str:
        """All series of a kind that match, whatever their namespace."""
        return selector(series, equal("job", self.job), *matchers)
