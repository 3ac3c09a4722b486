"""What is done to a disk: one run at a time, whole files only, and every refusal with its cure.

A run can end at any moment, and a controller may read a folder at any moment, so no file is ever there in part. First
every new content is written beside its place under a hidden name; a full disk is met there, and takes back what was
written. Then each is renamed over the old file. What a killed run leaves are hidden files, which the next run removes:
it knows that nobody else is writing, since it holds the lock of the folder.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from gangform.findings import EnvironmentFault

_PENDING = re.compile(r"\.(.+)\.[0-9a-f]{8}\.gangform")
"""Names of files that a run writes before it renames them."""
_PATIENCE = 10.0
"""Seconds to wait for another run that writes into the same folder."""
_FORBIDDEN = "make it readable and writable for this user, or choose another output folder"
_CURES = {
    errno.ENOSPC: "free some space on that disk, then run it again",
    errno.EDQUOT: "free some of your quota on that disk, then run it again",
    errno.ENOENT: "choose an output folder where folders can be made",
    errno.EROFS: "choose a folder on a disk that is mounted for writing",
    **dict.fromkeys((errno.EACCES, errno.EPERM), _FORBIDDEN),
    **dict.fromkeys((errno.ENOTDIR, errno.EEXIST), "choose an output folder that is no file"),
}
_AGAIN = "run it again once that is repaired"


class Fresh(NamedTuple):
    """A file that is to be written."""

    place: Path
    content: bytes


def pending(name: str) -> str | None:
    """What a file is to be called that a run had not renamed yet; `None` for any other."""
    found = _PENDING.fullmatch(name)
    return found[1] if found else None


def walk(root: Path, suffixes: tuple[str, ...]) -> Iterator[str]:
    """Paths of files that end so, and of what killed runs left of such. Links and hidden folders are not entered."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for folder, inside, names in os.walk(root, onerror=fail):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        below = Path(folder).relative_to(root)
        for name in sorted(names):
            meant = pending(name) or ("" if name.startswith(".") else name)
            place = Path(folder, name)
            if meant.endswith(suffixes) and not place.is_symlink() and place.is_file():
                yield (below / name).as_posix()


def writable(places: Iterable[Path]) -> None:
    """See beforehand whether every file can be replaced, so that none is where one cannot.

    Raises:
        EnvironmentFault: A folder or file may not be written.
    """
    for place in places:
        folder = next(above for above in place.parents if above.exists())
        for there in (folder, place):
            if there.exists() and not os.access(there, os.W_OK):
                raise EnvironmentFault(f"{there} cannot be written; {_FORBIDDEN}")


def replace(fresh: Sequence[Fresh]) -> None:
    """Write all contents under hidden names, then rename each over its place; a file that was there keeps its mode.

    Raises:
        EnvironmentFault: A rename failed; the message says how far it came.
    """
    ready: list[tuple[Path, Path]] = []
    made: list[Path] = []
    try:
        for place, content in fresh:
            made += [above for above in reversed(place.parents) if not above.exists()]
            place.parent.mkdir(parents=True, exist_ok=True)
            hidden = place.with_name(f".{place.name}.{os.urandom(4).hex()}.gangform")
            ready.append((hidden, place))
            with hidden.open("xb") as stream:
                stream.write(content)
            if place.exists():
                hidden.chmod(stat.S_IMODE(place.stat().st_mode))
        for done, (hidden, place) in enumerate(ready):
            try:
                hidden.replace(place)
            except OSError as error:
                raise EnvironmentFault(
                    f"{place} cannot be replaced: {_reason(error)}; {done} of {len(ready)} files are new, all are "
                    f"whole; {_CURES.get(error.errno or 0, _AGAIN)}"
                ) from error
    finally:
        # Nothing is left here unless something failed; what was renamed stays, and is whole.
        for hidden, _ in ready:
            with suppress(OSError):
                hidden.unlink()
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def drop(place: Path, root: Path) -> None:
    """Remove a file, and folders that hold nothing any more, up to the output folder."""
    place.unlink(missing_ok=True)
    folder = place.parent
    with suppress(OSError):
        while folder != root:
            folder.rmdir()
            folder = folder.parent


@contextmanager
def alone(root: Path, *, make: bool) -> Iterator[None]:
    """Hold the lock of an output folder. The kernel gives it back when a run is killed, and it needs no file.

    Raises:
        EnvironmentFault: Another run holds it for too long.
    """
    if make:
        root.mkdir(parents=True, exist_ok=True)
    try:
        import fcntl

        handle = os.open(root, os.O_RDONLY)
    except (ImportError, FileNotFoundError):
        yield
        return
    try:
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise EnvironmentFault(
                        f"another gangform has been writing into {root} for {_PATIENCE:.0f} seconds; "
                        "wait for it, or end it"
                    ) from None
                time.sleep(0.05)
            except OSError:
                break  # a file system without locks
        yield
    finally:
        os.close(handle)


@contextmanager
def explained(root: Path) -> Iterator[None]:
    """Turn what the machine refuses into what to do about it.

    Raises:
        EnvironmentFault: In place of any `OSError`.
    """
    try:
        yield
    except OSError as error:
        place = error.filename2 or error.filename or root
        cure = _CURES.get(error.errno or 0, _AGAIN)
        raise EnvironmentFault(f"{place}: {_reason(error)}; {cure}") from error


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
