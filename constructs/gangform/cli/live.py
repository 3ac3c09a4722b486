"""`gangform diff --live`."""

from __future__ import annotations

from argparse import Namespace


def live(arguments: Namespace) -> int:
    """Compare."""
    return 0
