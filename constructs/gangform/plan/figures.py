"""Where a derived number comes from: the formula beside the function, and a ledger of what was computed.

`@formula` marks a function as the only derivation of the plan field of its own name. Outside `recording()` it costs
one check a call; inside, operands and result are kept for `explain`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")


class Formula(NamedTuple):
    """How a field is derived."""

    name: str
    """The field, which is the function's name."""
    module: str
    text: str
    """The formula in words or symbols."""
    source: str


class Derivation(NamedTuple):
    """One computation that happened."""

    formula: Formula
    operands: Mapping[str, object]
    result: object


FORMULAS: dict[str, Formula] = {}
"""Every formula by `module.name` without the package, complete once the plan is imported."""

_ledger: list[Derivation] | None = None


def formula(text: str, *, source: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as the only derivation of the plan field of its own name."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        module = function.__module__.removeprefix("gangform.")
        entry = Formula(name=function.__name__, module=module, text=text, source=source)
        FORMULAS[f"{module}.{entry.name}"] = entry

        @wraps(function)
        def derive(*args: P.args, **kwargs: P.kwargs) -> R:
            result = function(*args, **kwargs)
            if _ledger is not None:
                operands = signature(function).bind(*args, **kwargs).arguments
                _ledger.append(Derivation(formula=entry, operands=operands, result=result))
            return result

        return derive

    return mark


@contextmanager
def recording() -> Iterator[list[Derivation]]:
    """Keep every derivation made inside the block, in order."""
    global _ledger
    before, _ledger = _ledger, []
    try:
        yield _ledger
    finally:
        _ledger = before
