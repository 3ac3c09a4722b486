"""What others make when they are imported and hardly ever use, made when it is first asked for: modules, patterns."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any, cast


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


class _Pattern:
    """Stands in for a regular expression, and is one to whoever asks for its class."""

    __class__: Any = property(lambda _: re.Pattern)

    def __init__(self, pattern: Any, flags: Any = 0) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        value = self.__dict__[name] = getattr(_compile(*self._given), name)
        return value


_compile = re.compile


def patterns_later() -> None:
    """Have regular expressions compiled at their first use in this process.

    Of those that modules make when they are imported more than half is never used here. They took an eleventh of a
    small synthesis, most of it PyYAML's, whose parser in Python stands behind libyaml's.
    """
    re.compile = cast(Any, _Pattern)
