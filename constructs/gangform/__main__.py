"""`python -m gangform` is `gangform`."""

from __future__ import annotations

import sys

from gangform.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
