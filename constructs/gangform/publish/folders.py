"""Output folders become what was rendered, all of them in one run, and nothing else in them is touched.

Ours and no longer produced: removed by `publish`, stale for `compare`. Anything else is somebody's: it is left alone,
and where it stands in the way nothing at all is written, into no folder.
"""

import stat
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path, PurePosixPath
from typing import Literal, NamedTuple, Protocol

from gangform.findings import EnvironmentFault, Finding, InputError, InputPath, Severity, declare
from gangform.publish import disk
from gangform.publish.ownership import MANIFESTS, Holding

NOT_OURS = declare(
    "file-not-ours",
    "Something that gangform did not write stands where one of its files belongs",
    Severity.BREAKS,
    "design §4 GitOps",
)


class Scope(NamedTuple):
    """The part of the output that a run is about: what is outside is neither removed nor called stale."""

    clusters: frozenset[str] = frozenset()
    """Only folders of these; empty means all."""
    charts: frozenset[str] = frozenset()
    """Only files of these charts; empty means all."""

    def covers(self, path: str, holding: Holding) -> bool:
        """Whether a path below the output folder is inside."""
        folder, _, name = path.partition("/")
        chosen = not self.clusters or folder in self.clusters
        return chosen and (not self.charts or holding.chart(name) in self.charts)


EVERYTHING = Scope()
"""What a run without a selection is about."""


class File(Protocol):
    """Something that was rendered."""

    @property
    def path(self) -> str:
        """Below the output folder."""
        ...

    @property
    def content(self) -> bytes:
        """All of it."""
        ...


class Output(NamedTuple):
    """One folder, and everything that the run rendered for it."""

    root: Path
    """Made where it is missing and something belongs into it."""
    files: Sequence[File]
    holding: Holding = MANIFESTS
    scope: Scope = EVERYTHING
    """What the run is about."""


class Outcome(NamedTuple):
    """What a run did to a folder; paths are below it."""

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
        """Whether it is what a killed run left: a hidden file, which never was part of the output."""
        return disk.pending(PurePosixPath(self.path).name) is not None

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
    outputs: Sequence[Output],
    *,
    approve: Callable[[Sequence[Differences]], None] | None = None,
) -> tuple[Outcome, ...]:
    """Make folders hold exactly these files, beside everything that is not ours: all of them, or none.

    Args:
        outputs: The folders; none lies in another.
        approve: Asked before anything is written; what it raises leaves all folders as they are.

    Raises:
        InputError: `file-not-ours`; nothing was written.
        EnvironmentFault: A folder cannot be read or written.
    """
    with ExitStack() as held:
        for output in outputs:
            held.enter_context(disk.explained(output.root))
            held.enter_context(disk.alone(output.root, make=bool(output.files)))
        found = _survey(outputs)
        if approve is not None:
            approve(found)
        both = list(zip(outputs, found, strict=True))
        stale = [(each.root, one) for each, differences in both for one in differences.stale]
        disk.writable(root / one.path for root, one in stale)
        for root, one in stale:
            if one.pending:
                (root / one.path).unlink(missing_ok=True)
        fresh = [(root, one) for root, one in stale if one.kind != "leftover"]
        disk.replace([disk.Fresh(root / one.path, one.after) for root, one in fresh])
        for root, one in stale:
            if one.kind == "leftover":
                disk.drop(root / one.path, root)
    return tuple(_outcome(differences) for differences in found)


def compare(outputs: Sequence[Output]) -> tuple[Differences, ...]:
    """What `publish` would do, without doing it; raises what it would raise."""
    with ExitStack() as held:
        for output in outputs:
            held.enter_context(disk.explained(output.root))
        return _survey(outputs)


def _outcome(found: Differences) -> Outcome:
    return Outcome(
        written=tuple(one.path for one in found.stale if one.kind != "leftover"),
        removed=tuple(
            one.path for one in found.stale if one.kind == "leftover" and not one.pending
        ),
        unchanged=found.unchanged,
    )


def _survey(outputs: Sequence[Output]) -> tuple[Differences, ...]:
    """Compare every file with what was rendered, and find ours that was not.

    Raises:
        InputError: Something stands in the way.
    """
    blocked: list[Finding] = []
    found = tuple(_differences(output, blocked) for output in outputs)
    if blocked:
        raise InputError(blocked)
    return found


def _differences(output: Output, blocked: list[Finding]) -> Differences:
    root, files, holding, scope = output
    stale: list[Difference] = []
    unchanged: list[str] = []
    produced = {file.path: file.content for file in files}
    assert len(produced) == len(files), "two rendered files have one path"
    for path, content in produced.items():
        reason, old = _standing(path, root, content, holding)
        if reason:
            blocked.append(_in_the_way(root / path, reason))
        elif old is None:
            stale.append(Difference(path=path, kind="missing", after=content))
        elif old == content:
            unchanged.append(path)
        else:
            stale.append(Difference(path=path, kind="changed", before=old, after=content))
    for path in () if blocked else disk.walk(root, holding.suffixes):
        known = path in produced or not scope.covers(path, holding)
        one = Difference(path=path, kind="leftover")
        if not one.pending and not known:
            one = one._replace(before=(root / path).read_bytes())
        if one.pending or not (known or holding.foreign(path, one.before)):
            stale.append(one)
    stale.sort(key=lambda one: one.path)
    return Differences(stale=tuple(stale), unchanged=tuple(sorted(unchanged)))


def _standing(path: str, root: Path, content: bytes, holding: Holding) -> tuple[str, bytes | None]:
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
    return ("" if old == content else holding.foreign(path, old)), old


def _in_the_way(place: Path, reason: str) -> Finding:
    return Finding(
        code=NOT_OURS,
        at=InputPath(()),
        what=f"{place} is to be written, but {reason}",
        fix="move or remove it, or choose another output folder",
        seen={"file": str(place)},
    )
