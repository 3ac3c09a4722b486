"""The only writer of files: the output folder becomes what was rendered, and nothing else in it is touched.

A file is ours if it is `**/*.k8s.yaml` below the folder and every document in it carries our label. Ours and no longer
produced: removed by `publish`, stale for `compare`. Anything else is somebody's: it is left alone, and where it stands
in the way nothing at all is written.

A run can end at any moment, and a controller may read the folder at any moment, so no file is ever there in part.
First every new content is written beside its place under a hidden name; a full disk is met there, and takes back what
was written. Then each is renamed over the old file, and only then leftovers go. What a killed run leaves are hidden
files, which the next run removes: it knows that nobody else is writing, since it holds the lock of the folder.
"""

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple

from gangform.apis.core import MANAGED_BY
from gangform.documents.document import text
from gangform.documents.read import read_manifests
from gangform.findings import EnvironmentFault, Finding, InputError, InputPath, Severity, declare
from gangform.plan.identity import OWNER
from gangform.synth import SUFFIX, Rendered

NOT_OURS = declare(
    "file-not-ours",
    "Something that gangform did not write stands where one of its files belongs",
    Severity.BREAKS,
    "design §4 GitOps",
)

_PENDING = re.compile(r"\..+\.k8s\.yaml\.[0-9a-f]{8}\.gangform")
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


class Scope(NamedTuple):
    """The part of the output that a run is about: what is outside is neither removed nor called stale."""

    clusters: frozenset[str] = frozenset()
    """Only folders of these; empty means all."""
    charts: frozenset[str] = frozenset()
    """Only files of these charts; empty means all."""

    def covers(self, path: str) -> bool:
        """Whether a path below the output folder is inside."""
        folder, _, name = path.partition("/")
        chosen = not self.clusters or folder in self.clusters
        return chosen and (not self.charts or name.removesuffix(SUFFIX) in self.charts)


EVERYTHING = Scope()
"""What a run without a selection is about."""


class Outcome(NamedTuple):
    """What a run did; paths are below the output folder."""

    written: tuple[str, ...]
    removed: tuple[str, ...]
    unchanged: tuple[str, ...]


class Difference(NamedTuple):
    """One file below the output folder that is not what was rendered."""

    path: str
    kind: Literal["changed", "missing", "leftover"]
    before: bytes = b""
    after: bytes = b""

    @property
    def pending(self) -> bool:
        """Whether it is what a killed run left: no manifest, but a hidden file."""
        return _PENDING.fullmatch(PurePosixPath(self.path).name) is not None

    def unified(self, root: Path) -> str:
        """What `publish` would change, as a unified diff."""
        from difflib import unified_diff

        name = str(root / self.path)
        names = ("/dev/null", name) if self.kind == "missing" else (name, f"{name} (rendered)")
        if self.kind == "leftover":
            names = (name, "/dev/null")
        old, new = (
            content.decode(errors="replace").splitlines(keepends=True)
            for content in (self.before, self.after)
        )
        lines = unified_diff(old, new, *names)
        end = "\n\\ No newline at end of file\n"
        return "".join(line if line.endswith("\n") else line + end for line in lines)


class Differences(NamedTuple):
    """How a folder differs from what was rendered."""

    stale: tuple[Difference, ...]
    unchanged: tuple[str, ...]


def publish(
    files: Sequence[Rendered],
    root: Path,
    *,
    scope: Scope = EVERYTHING,
    approve: Callable[[Differences], None] | None = None,
) -> Outcome:
    """Make a folder hold exactly these files, beside everything that is not ours.

    Args:
        files: Everything that the run rendered.
        root: The output folder; made where it is missing.
        scope: What the run is about.
        approve: Asked before anything is written; what it raises leaves the folder as it is.

    Raises:
        InputError: `file-not-ours`; nothing was written.
        EnvironmentFault: The folder cannot be read or written.
    """
    with _explained(root), _alone(root, make=bool(files)):
        found = _survey(files, root, scope)
        if approve is not None:
            approve(found)
        fresh = [one for one in found.stale if one.kind != "leftover"]
        leftovers = [one for one in found.stale if one.kind == "leftover"]
        _writable(root, found.stale)
        for one in found.stale:
            if one.pending:
                (root / one.path).unlink(missing_ok=True)
        _replace(fresh, root)
        for one in leftovers:
            (root / one.path).unlink(missing_ok=True)
            _drop_empty((root / one.path).parent, root)
    return Outcome(
        written=tuple(one.path for one in fresh),
        removed=tuple(one.path for one in leftovers if not one.pending),
        unchanged=found.unchanged,
    )


def compare(files: Sequence[Rendered], root: Path, *, scope: Scope = EVERYTHING) -> Differences:
    """What `publish` would do, without doing it; raises what it would raise."""
    with _explained(root):
        return _survey(files, root, scope)


def _survey(files: Sequence[Rendered], root: Path, scope: Scope) -> Differences:
    """Compare every file with what was rendered, and find ours that was not.

    Raises:
        InputError: Something stands in the way.
    """
    stale: list[Difference] = []
    unchanged: list[str] = []
    blocked: list[Finding] = []
    produced = {file.path: file.content for file in files}
    assert len(produced) == len(files), "two rendered files have one path"
    for path, content in produced.items():
        reason, old = _standing(path, root, content)
        if reason:
            blocked.append(_in_the_way(root / path, reason))
        elif old is None:
            stale.append(Difference(path=path, kind="missing", after=content))
        elif old == content:
            unchanged.append(path)
        else:
            stale.append(Difference(path=path, kind="changed", before=old, after=content))
    if blocked:
        raise InputError(blocked)
    for path in _walk(root):
        known = path in produced or not scope.covers(path)
        one = Difference(path=path, kind="leftover")
        if not one.pending and not known:
            one = one._replace(before=(root / path).read_bytes())
        if one.pending or not (known or _foreign(one.before)):
            stale.append(one)
    stale.sort(key=lambda one: one.path)
    return Differences(stale=tuple(stale), unchanged=tuple(sorted(unchanged)))


def _standing(path: str, root: Path, content: bytes) -> tuple[str, bytes | None]:
    """Why nothing can be written at a path, and what stands there; `None` where nothing does.

    Raises:
        EnvironmentFault: A symbolic link leads somewhere else.
    """
    place = root
    parts = PurePosixPath(path).parts
    assert parts[0] != "/" and not any(part.startswith(".") for part in parts), path
    for number, part in enumerate(parts, 1):
        place = place / part
        if place.is_symlink():
            raise EnvironmentFault(
                f"{place} is a symbolic link, which leads out of the output folder; remove it, or choose another folder"
            )
        try:
            mode = place.stat().st_mode
        except FileNotFoundError:
            return "", None
        if number < len(parts) and not stat.S_ISDIR(mode):
            return f"{place} is a file where a folder is needed", None
    if not stat.S_ISREG(mode):
        return f"{place} is {'a folder' if stat.S_ISDIR(mode) else 'no ordinary file'}", None
    old = place.read_bytes()
    return ("" if old == content else _foreign(old)), old


def _in_the_way(place: Path, reason: str) -> Finding:
    return Finding(
        code=NOT_OURS,
        at=InputPath(()),
        what=f"{place} is to be written, but {reason}",
        fix="move or remove it, or choose another output folder",
        seen={"file": str(place)},
    )


def _foreign(content: bytes) -> str:
    """Why a file is not ours; empty for one that is. One in conflict is ours if both sides are."""
    try:
        written = content.decode()
    except UnicodeDecodeError:
        return "the file there is not UTF-8"
    sides = _sides(written) if "\n<<<<<<< " in f"\n{written}" else (written,)
    for side in sides:
        documents = read_manifests(side, "")
        if not documents:
            return "the file there holds no document"
        for number, document in enumerate(documents, 1):
            if document.findings:
                return f"document {number} of the file there cannot be read"
            if text(document.manifest, "metadata", "labels", MANAGED_BY) != OWNER:
                return f"document {number} of the file there has no label {MANAGED_BY}: {OWNER}"
    return ""


def _sides(written: str) -> tuple[str, str]:
    """What each side of a merge conflict holds: Git's marks are no YAML, and a new rendering is the way out."""
    kept: tuple[list[str], list[str]] = ([], [])
    inside: tuple[int, ...] = (0, 1)
    marks = {"<<<<<<< ": (0,), "||||||| ": (), "=======": (1,), ">>>>>>> ": (0, 1)}
    for line in written.splitlines(keepends=True):
        mark = next((mark for mark in marks if line.startswith(mark)), None)
        if mark is not None and (mark != "=======" or line.strip() == mark):
            inside = marks[mark]
            continue
        for side in inside:
            kept[side].append(line)
    return "".join(kept[0]), "".join(kept[1])


def _walk(root: Path) -> Iterator[str]:
    """Paths of manifests and of what killed runs left. Links and hidden folders are not entered."""

    def fail(error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            raise error

    for folder, inside, names in os.walk(root, onerror=fail):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        below = Path(folder).relative_to(root)
        for name in sorted(names):
            ours = not name.startswith(".") and name.endswith(SUFFIX)
            place = Path(folder, name)
            if (ours or _PENDING.fullmatch(name)) and not place.is_symlink() and place.is_file():
                yield (below / name).as_posix()


def _writable(root: Path, stale: Sequence[Difference]) -> None:
    """See beforehand whether every file can be replaced, so that none is where one cannot.

    Raises:
        EnvironmentFault: A folder or file may not be written.
    """
    for one in stale:
        place = root / one.path
        folder = next(above for above in place.parents if above.exists())
        for there in (folder, place):
            if there.exists() and not os.access(there, os.W_OK):
                raise EnvironmentFault(f"{there} cannot be written; {_FORBIDDEN}")


def _replace(fresh: Sequence[Difference], root: Path) -> None:
    """Write all contents under hidden names, then rename each over its place.

    Raises:
        EnvironmentFault: A rename failed; the message says how far it came.
    """
    ready: list[tuple[Path, Path]] = []
    made: list[Path] = []
    try:
        for one in fresh:
            place = root / one.path
            made += [above for above in reversed(place.parents) if not above.exists()]
            place.parent.mkdir(parents=True, exist_ok=True)
            pending = place.with_name(f".{place.name}.{os.urandom(4).hex()}.gangform")
            ready.append((pending, place))
            with pending.open("xb") as stream:
                stream.write(one.after)
            if one.kind == "changed":
                pending.chmod(stat.S_IMODE(place.stat().st_mode))
        for done, (pending, place) in enumerate(ready):
            try:
                pending.replace(place)
            except OSError as error:
                raise EnvironmentFault(
                    f"{place} cannot be replaced: {_reason(error)}; {done} of {len(ready)} files are new, all are "
                    f"whole; {_CURES.get(error.errno or 0, _AGAIN)}"
                ) from error
    finally:
        # Nothing is left here unless something failed; what was renamed stays, and is whole.
        for pending, _ in ready:
            with suppress(OSError):
                pending.unlink()
        for folder in reversed(made):
            with suppress(OSError):
                folder.rmdir()


def _drop_empty(folder: Path, root: Path) -> None:
    """Remove folders that hold nothing any more, up to the output folder."""
    with suppress(OSError):
        while folder != root:
            folder.rmdir()
            folder = folder.parent


@contextmanager
def _alone(root: Path, *, make: bool) -> Iterator[None]:
    """Hold the lock of the output folder. The kernel gives it back when a run is killed, and it needs no file.

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
def _explained(root: Path) -> Iterator[None]:
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
