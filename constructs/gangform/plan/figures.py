"""Where a derived number comes from: the formula beside the function, and a ledger of what was computed.

`@formula` marks a function as the only derivation of the plan field of its own name. Outside of `recording()` and
`watching()` it costs one check a call; inside, operands and result are kept for `explain`, which also asks what would
follow from another result.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from inspect import signature
from typing import NamedTuple, ParamSpec, TypeVar, cast

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

Watch = Callable[[Derivation], object]
"""Sees a derivation and says with which result the plan goes on: its own, unless another one is tried."""

_watch: Watch | None = None


def formula(text: str, *, source: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Mark a function as the only derivation of the plan field of its own name."""

    def mark(function: Callable[P, R]) -> Callable[P, R]:
        module = function.__module__.removeprefix("gangform.")
        entry = Formula(name=function.__name__, module=module, text=text, source=source)
        FORMULAS[f"{module}.{entry.name}"] = entry

        @wraps(function)
        def derive(*args: P.args, **kwargs: P.kwargs) -> R:
            result = function(*args, **kwargs)
            if _watch is None:
                return result
            operands = signature(function).bind(*args, **kwargs).arguments
            return cast(R, _watch(Derivation(formula=entry, operands=operands, result=result)))

        return derive

    return mark


def watched() -> bool:
    """Whether somebody sees what is derived now."""
    return _watch is not None


@contextmanager
def watching(watch: Watch) -> Iterator[None]:
    """Show every derivation made inside the block to `watch`, and go on with the result that it returns."""
    global _watch
    before, _watch = _watch, watch
    try:
        yield
    finally:
        _watch = before


@contextmanager
def recording() -> Iterator[list[Derivation]]:
    """Keep every derivation made inside the block, in order."""
    ledger: list[Derivation] = []

    def keep(derivation: Derivation) -> object:
        ledger.append(derivation)
        return derivation.result

    with watching(keep):
        yield ledger
