"""Modules that others import and hardly ever use, imported when they are first asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any


class _Later(ModuleType):
    """Stands in for a module until it is needed."""

    def __getattr__(self, name: str) -> Any:
        # Asked by every import of a name, which is then looked for as a module too.
        if name == "__path__":
            raise AttributeError(name)
        return getattr(_real(self), name)


def import_later(name: str, *functions: str) -> None:
    """Have importing a module, and these functions of it, cost nothing in this process until they are used.

    Whoever asks the module for anything else, or calls one of the functions, gets the real one.

    Of what pydantic imports, `importlib.metadata` takes a fourteenth of a small synthesis, and is for the plugins that
    `run` switches off; `secrets` takes a fiftieth, and is for comparing secrets.
    """
    if name in sys.modules:
        return
    later = _Later(name)
    for function in functions:
        setattr(later, function, _deferred(later, function))
    parent, _, child = name.rpartition(".")
    if parent:
        setattr(import_module(parent), child, later)
    sys.modules[name] = later


def _deferred(later: ModuleType, function: str) -> Callable[..., Any]:
    def call(*arguments: Any, **options: Any) -> Any:
        return getattr(_real(later), function)(*arguments, **options)

    return call


def _real(later: ModuleType) -> ModuleType:
    if sys.modules.get(later.__name__) is later:
        sys.modules.pop(later.__name__, None)
    return import_module(later.__name__)
