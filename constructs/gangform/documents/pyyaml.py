"""PyYAML, imported without compiling the patterns of its parser in Python, which stands behind libyaml's.

Compiling them takes a fiftieth of a small synthesis, and hardly one is ever used. Whoever uses one gets it compiled
then. `re.compile` is replaced only while PyYAML is imported.
"""

import re
from typing import Any, cast

__all__ = ["yaml"]


class _Pattern:
    """Stands in for a regular expression until a method of it is asked for."""

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self._given = pattern, flags

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # asked by what copies objects
            raise AttributeError(name)
        value = self.__dict__[name] = getattr(_compile(*self._given), name)
        return value


_compile = re.compile
re.compile = cast(Any, _Pattern)
try:
    import yaml
finally:
    re.compile = _compile
