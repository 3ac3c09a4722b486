"""Where output goes, and whether it is coloured: results to stdout, diagnostics to stderr.

Colours only on a terminal and only where `NO_COLOR` is not set; everything reads the same without them.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import TextIO

_COLOURS = {"red": "31", "yellow": "33", "blue": "34", "green": "32"}


class UsageError(Exception):
    """A command that was called wrongly; the message says how to call it. Exit code 2."""


def say(text: str) -> None:
    """A result, to stdout."""
    if sys.stdout is not None:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def say_bytes(content: bytes) -> None:
    """A result that must not be recoded, to stdout."""
    if sys.stdout is not None:
        sys.stdout.flush()
        sys.stdout.buffer.write(content)
        sys.stdout.buffer.flush()


def tell(text: str) -> None:
    """A diagnostic, to stderr."""
    if sys.stderr is not None:
        sys.stderr.write(text if text.endswith("\n") else f"{text}\n")


def is_terminal(stream: TextIO | None) -> bool:
    """Whether somebody looks at a stream, who can see colours and lines that are replaced."""
    return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"


def coloured(stream: TextIO | None) -> bool:
    """Whether to colour what goes there (https://no-color.org)."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def paint(text: str, colour: str, stream: TextIO | None) -> str:
    """A text in bold and colour, where the stream shows it."""
    return f"\x1b[1;{_COLOURS[colour]}m{text}\x1b[0m" if coloured(stream) else text


def prepare() -> None:
    """A terminal that cannot show `×` or `→` gets a question mark, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            with suppress(ValueError, OSError):
                reconfigure(errors="replace")


def finish() -> None:
    """Write out what is buffered, so that a closed pipe is met here and not at exit."""
    if sys.stdout is not None:
        sys.stdout.flush()


def hang_up() -> None:
    """Let the interpreter end quietly after the reader of a pipe went away."""
    with suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Progress:
    """One line on a terminal that says what is being made, and is gone at the end. Silent elsewhere."""

    def __init__(self, *, after: int) -> None:
        """Begin to speak after so many steps: a short run needs no progress."""
        self._after, self._count = after, 0
        self._on = is_terminal(sys.stderr)

    def __call__(self, step: str) -> None:
        """The next step begins."""
        self._count += 1
        if self._on and self._count > self._after:
            sys.stderr.write(f"\r\x1b[K{self._count}: {step}")
            sys.stderr.flush()

    def done(self) -> None:
        """Clear the line."""
        if self._on and self._count > self._after:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
