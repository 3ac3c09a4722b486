"""The modules of `benchmarks/` that compare our memory arithmetic with logs, which are no package."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType

FOLDER = Path(__file__).parents[2] / "benchmarks"


def module(name: str) -> ModuleType:
    """One of them, imported as the script would."""
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
    return importlib.import_module(name)
