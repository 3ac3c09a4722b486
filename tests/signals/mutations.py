"""Small faults put into an expression, one at a time: what a test of the rule has to notice."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

NEVER = "absent(vector(1))"
"""An expression that returns nothing."""
ALWAYS = "vector(1)"
"""An expression that always returns something."""

_SELECTOR = re.compile(r"\{[^{}]*\}")
_MATCHER = re.compile(r'(\w+)(=~|!=|=)("(?:[^"\\]|\\.)*")')
_SET_OPERATOR = re.compile(r"\b(?:and|or|unless)\b(?: on \([^()]*\))?")
_COMPARISON = re.compile(r"\s(==|!=|>=|<=|>|<)(?= )")
_NUMBER = re.compile(r"(?<= [=!<>]= )\d+|(?<= [<>] )\d+")
_FOLD = re.compile(r"\bmax by \([^()]*\)")
_OTHER = {"==": "!=", "!=": "==", ">": ">=", ">=": ">", "<": "<=", "<=": "<"}


class Mutation(NamedTuple):
    """An expression with one fault, and what was done to it."""

    what: str
    expr: str


def mutations(expr: str, *, small: bool = True) -> Iterator[Mutation]:
    """Every mutation of an expression, or only the two that have nothing of it."""
    yield Mutation("never", NEVER)
    yield Mutation("always", ALWAYS)
    if not small:
        return
    # Braces are blanked, so that a matcher's sign is no comparison, and every place stays where it is.
    bare = _SELECTOR.sub(lambda found: "{" + "_" * (len(found[0]) - 2) + "}", expr)

    def put(what: str, start: int, end: int, text: str) -> Mutation:
        line = expr.count("\n", 0, start) + 1
        return Mutation(f"line {line}: {what}", expr[:start] + text + expr[end:])

    for found in _SET_OPERATOR.finditer(bare):
        end = _operand_ends(bare, found.end())
        yield put(f"`{found[0]} …` left out", found.start(), end, "")
    for found in _COMPARISON.finditer(bare):
        other = _OTHER[found[1]]
        yield put(f"{found[1]} becomes {other}", found.start(1), found.end(1), other)
    for found in _NUMBER.finditer(bare):
        more = str(int(found[0]) + 1)
        yield put(f"{found[0]} becomes {more}", found.start(), found.end(), more)
    for fold in dict.fromkeys(_FOLD.findall(bare)):
        yield Mutation(
            f"every `{fold}` becomes sum", expr.replace(fold, fold.replace("max", "sum"))
        )
    for matcher in dict.fromkeys(_MATCHER.findall(expr)):
        text = "".join(matcher)
        yield Mutation(f"every {text} widened", expr.replace(text, f'{matcher[0]}=~".*"'))


def _operand_ends(bare: str, start: int) -> int:
    """Where the right side of a set operator ends: before the next one of its level, or with its brackets."""
    depth = 0
    for place in range(start, len(bare)):
        if bare[place] in "([{":
            depth += 1
        elif bare[place] in ")]}":
            depth -= 1
            if depth < 0:
                return place
        elif (depth == 0 and bare[place] == ",") or (
            depth == 0 and _SET_OPERATOR.match(bare, place) and not bare[place - 1].isalnum()
        ):
            return place
    return len(bare)
