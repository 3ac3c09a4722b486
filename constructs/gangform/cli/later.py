"""What others do when they are imported and a short run hardly ever needs: done when it is first asked for.

Only `run` does this, to a process of its own. Everything put off is the real thing once it is used.
"""

from __future__ import annotations

import sys
import typing
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


def begin() -> None:
    """Put off what takes a tenth or more of a small synthesis, in this process.

    Of what pydantic imports, `importlib.metadata` is for the plugins that `run` switches off, `secrets` for comparing
    secrets, `uuid` and `zoneinfo` for types that no input has; `pathlib` imports `urllib.parse` for addresses of files
    and `ntpath` for another system; `inspect` imports `tokenize` to find the source of a function.
    """
    _annotations_later()
    import_later("dataclasses", "dataclass", "field", "replace", then=_methods_later)
    import_later("importlib.metadata", "entry_points")
    import_later("ntpath")
    import_later("secrets")
    import_later("tokenize")
    import_later("urllib.parse", "quote_from_bytes")
    import_later("uuid", "UUID")
    import_later("zoneinfo", "ZoneInfo", "ZoneInfoNotFoundError")


class Later(ModuleType):
    """Stands in for a module until it is needed."""

    then: Callable[[ModuleType], None] | None = None

    def __getattr__(self, name: str) -> Any:
        # Asked by every import of a name, which is then looked for as a module too.
        if name == "__path__":
            raise AttributeError(name)
        return getattr(_real(self), name)


def import_later(
    name: str, *functions: str, then: Callable[[ModuleType], None] | None = None
) -> None:
    """Have importing a module, and these functions of it, cost nothing in this process until they are used.

    Whoever asks the module for anything else, or calls one of the functions, gets the real one.

    Args:
        name: The module.
        functions: What others import from it by name. A class may be among them where it is only called or compared.
        then: Called with the real module before anybody else sees it.
    """
    if name in sys.modules:
        return
    later = Later(name)
    later.then = then
    for function in functions:
        setattr(later, function, _deferred(later, function))
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(import_module(parent), child, later)
    sys.modules[name] = later


def _deferred(later: Later, function: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(_real(later), function)(*arguments, **options)

    return call


def _real(later: Later) -> ModuleType:
    if sys.modules.get(later.__name__) is not later:
        return import_module(later.__name__)
    del sys.modules[later.__name__]
    real = import_module(later.__name__)
    if later.then is not None:
        later.then(real)
    vars(later).update(vars(real))  # for those who hold it already
    return real


# ── what a module makes of texts when it is imported ──────────────────────────────────────────────


def _annotations_later() -> None:
    """Have annotations that are texts compiled when they are evaluated.

    pydantic_core spells out its schemas in 700 of them and never looks at one; Python 3.14 compiles none either.
    """
    typing.compile = _text  # type: ignore[attr-defined]


def _text(text: str, *_: object) -> str:
    """Instead of the code of an annotation: `eval` takes the text too."""
    return text


def _methods_later(dataclasses: ModuleType) -> None:
    """Have methods of dataclasses made when they are first called: most of pydantic's never are."""
    if create := getattr(dataclasses, "_create_fn", None):  # up to Python 3.12, one by one
        dataclasses._create_fn = _made_later(create)  # type: ignore[attr-defined]


def _made_later(create: Callable[..., Any]) -> Callable[..., Any]:

    def make(name: str, *arguments: Any, **options: Any) -> Callable[..., Any]:
        made: list[Callable[..., Any]] = []

        def call(*given: Any, **named: Any) -> Any:
            if not made:
                made.append(create(name, *arguments, **options))
            return made[0](*given, **named)

        call.__name__ = name
        return call

    return make
