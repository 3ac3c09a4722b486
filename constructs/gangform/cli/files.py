"""Files that commands read and write beside the fleet: what is piped in or named, and what is made for people."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from gangform.cli.terminal import UsageError, say

_MOST = 512 << 20
"""Bytes of a stream: what nobody's cluster prints is a device that never ends."""


def read_stream(name: str, expected: str) -> tuple[str, str]:
    """The content, and what findings call it.

    Args:
        name: A path, or `-`.
        expected: The command whose output is meant, for the message where nothing comes.

    Raises:
        UsageError: There is nothing to read.
    """
    if name == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise UsageError(f"`-` reads standard input; pipe something in: `{expected}`")
        content, shown = sys.stdin.buffer.read(_MOST + 1), "<stdin>"
    else:
        path = Path(name)
        if path.is_dir():
            raise UsageError(f"{name} is a folder; name a file, such as the output of `{expected}`")
        if not path.exists():
            raise UsageError(f"there is no file {name}; `{expected} > {name}` writes one")
        with path.open("rb") as stream:
            content, shown = stream.read(_MOST + 1), name
    if len(content) > _MOST:
        raise UsageError(f"{shown} holds more than {_MOST >> 20} MiB; ask the cluster for less")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{shown} is not UTF-8: byte {error.start + 1}") from None
    if not text.strip():
        raise UsageError(f"{shown} holds nothing; wanted is what `{expected}` prints")
    return text, shown


def write_text(target: Path, text: str, *, force: bool) -> None:
    """Write a file that is never there in part: a new one, or by force instead of the old one, where a link leads."""
    if not force:
        with target.open("x", encoding="utf-8", newline="") as stream:
            stream.write(text)
        return
    replace_texts({target: text})


def keep_text(target: Path, text: str, *, force: bool) -> None:
    """Write a file beside the fleet, and say so; one that holds this already is left alone."""
    from gangform.inputs.files import shown

    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists() and target.read_text(encoding="utf-8", errors="replace") == text:
        say(f"{shown(target)} is current")
    else:
        write_text(target, text, force=force)
        say(f"wrote {shown(target)}")


def replace_texts(texts: Mapping[Path, str]) -> None:
    """Write files instead of older ones. None is touched before all are written beside.

    Raises:
        OSError: One cannot be written.
    """
    fresh: dict[Path, Path] = {}
    try:
        for target, text in texts.items():
            place = target.resolve()
            beside = place.with_name(f".{place.name}.{os.urandom(4).hex()}.gangform")
            fresh[beside] = place
            with beside.open("x", encoding="utf-8", newline="") as stream:
                stream.write(text)
            if place.exists():
                beside.chmod(place.stat().st_mode & 0o7777)
        for beside, place in fresh.items():
            beside.replace(place)
    finally:
        for beside in fresh:
            beside.unlink(missing_ok=True)
