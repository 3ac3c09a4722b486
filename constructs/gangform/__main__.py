"""`python -m gangform` is `gangform`."""

from __future__ import annotations

import sys

from gangform.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
