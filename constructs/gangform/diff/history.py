"""Manifests as a commit has them, read with the `git` program. Nothing of the repository is ever executed.

Only objects are read: no hook, filter, attribute or pager of the repository takes part, and nothing is fetched.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from gangform.findings import EnvironmentFault, GangformError

SUFFIXES = (".yaml", ".yml")
"""Files that hold manifests."""
_DEFAULT_BRANCHES = ("origin/HEAD", "origin/main", "origin/master", "main", "master")
_REGULAR = ("100644", "100755")
"""Modes of ordinary files: links and submodules are not followed."""
_DEEPER = "fetch the whole history (`fetch-depth: 0` of actions/checkout, `GIT_DEPTH: 0` in GitLab)"
_OF_A_HOOK = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX")
"""What Git tells its hooks about their repository: here the folder says which one is meant."""


class HistoryError(GangformError):
    """A revision or folder that Git does not know. The message says what to write."""


class History:
    """A repository, as far as it is read here."""

    def __init__(self, folder: Path) -> None:
        """Find the repository that a folder lies in, or would lie in.

        Raises:
            EnvironmentFault: There is no `git`.
            HistoryError: The folder is in no repository.
        """
        self._at = next(one for one in [folder, *folder.parents] if one.is_dir())
        found = self._git("rev-parse", "--show-toplevel")
        if b"dubious ownership" in found.stderr:
            raise EnvironmentFault(
                f"git does not trust the owner of {self._at}; allow it by "
                "`git config --global --add safe.directory FOLDER` with the folder of the repository"
            )
        if found.returncode:
            raise HistoryError(
                f"{folder} is in no Git repository{_reason(found)}; run it where the manifests are committed"
            )
        self.root = Path(os.fsdecode(found.stdout.removesuffix(b"\n")))

    def commit(self, revision: str) -> str:
        """The commit of a revision.

        Raises:
            HistoryError: There is none.
        """
        commit = self._commit(revision)
        if commit is None:
            more = f"; the clone is shallow: {_DEEPER}" if self._shallow() else ""
            raise HistoryError(f"there is no commit `{revision}` here{more}")
        return commit

    def base(self) -> tuple[str, str]:
        """The merge base of HEAD with the default branch, and what that branch is called.

        Raises:
            EnvironmentFault: The clone is too shallow to have it.
            HistoryError: There is no default branch, or nothing is committed.
        """
        if self._commit("HEAD") is None:
            raise HistoryError("nothing is committed here yet, so there is nothing to compare with")
        branch = next((one for one in _DEFAULT_BRANCHES if self._commit(one)), None)
        if branch is None:
            if self._shallow():
                raise EnvironmentFault(
                    f"the default branch is not in this shallow clone: {_DEEPER}, or name a commit that is here"
                )
            known = ", ".join(_DEFAULT_BRANCHES)
            raise HistoryError(
                f"no default branch is known here (none of {known}); name a revision: `gangform diff REV`"
            )
        found = self._git("merge-base", "HEAD", branch)
        if found.returncode:
            if self._shallow():
                raise EnvironmentFault(
                    f"this shallow clone does not reach back to where HEAD left {branch}: {_DEEPER}"
                )
            raise HistoryError(f"HEAD and {branch} have no commit in common; name a revision")
        return found.stdout.decode().strip(), branch

    def files(self, commit: str, folder: Path) -> dict[str, bytes]:
        """Every manifest below a folder, as a commit has it, by its path below that folder.

        Raises:
            EnvironmentFault: Objects of the commit are not in this clone.
            HistoryError: The folder lies outside the repository.
        """
        try:
            below = folder.resolve().relative_to(self.root.resolve()).as_posix()
        except ValueError:
            raise HistoryError(
                f"{folder} lies outside the repository {self.root}; `--output-dir` names a folder in it"
            ) from None
        here = [] if below == "." else [f"{below}/"]
        listed = self._must("ls-tree", "-r", "-z", "--full-tree", commit, "--", *here)
        wanted: dict[str, str] = {}
        for entry in filter(None, listed.split(b"\0")):
            head, _, name = entry.partition(b"\t")
            mode, _, blob = head.decode().split(" ")
            path = os.fsdecode(name).removeprefix(here[0] if here else "")
            hidden = any(part.startswith(".") for part in path.split("/"))
            if mode in _REGULAR and path.endswith(SUFFIXES) and not hidden:
                wanted[path] = blob
        return dict(zip(wanted, self._blobs(list(wanted.values())), strict=True))

    def _blobs(self, names: Sequence[str]) -> Iterator[bytes]:
        """The contents of objects, by one process."""
        if not names:
            return
        asked = "".join(f"{name}\n" for name in names).encode()
        answer, at = self._must("cat-file", "--batch", given=asked), 0
        for name in names:
            end = answer.index(b"\n", at)
            head = answer[at:end].split(b" ")
            if head[-1] == b"missing" or len(head) != 3:
                raise EnvironmentFault(f"object {name} is not in this clone: {_DEEPER}")
            size = int(head[2])
            yield answer[end + 1 : end + 1 + size]
            at = end + 1 + size + 1

    def _commit(self, revision: str) -> str | None:
        found = self._git(
            "rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"
        )
        name = found.stdout.decode().strip()
        # `^REV` is an answer too, with the same sign before it.
        return name if found.returncode == 0 and name.isalnum() else None

    def _shallow(self) -> bool:
        return self._git("rev-parse", "--is-shallow-repository").stdout.strip() == b"true"

    def _must(self, *words: str, given: bytes = b"") -> bytes:
        found = self._git(*words, given=given)
        if found.returncode:
            raise EnvironmentFault(f"`git {words[0]}` failed{_reason(found)}")
        return found.stdout

    def _git(self, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        environment = {
            **{name: value for name, value in os.environ.items() if name not in _OF_A_HOOK},
            "LC_ALL": "C",
            "GIT_OPTIONAL_LOCKS": "0",
            "GIT_NO_LAZY_FETCH": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",
            "GIT_TERMINAL_PROMPT": "0",
        }
        try:
            return subprocess.run(
                ["git", "-C", str(self._at), "-c", "core.fsmonitor=false", *words],
                input=given,
                capture_output=True,
                env=environment,
                check=False,
            )
        except OSError as error:
            reason = (error.strerror or str(error)).lower()
            raise EnvironmentFault(
                f"git cannot be run ({reason}); install it, or put it into the PATH"
            ) from error


def _reason(found: subprocess.CompletedProcess[bytes]) -> str:
    lines = found.stderr.decode(errors="replace").splitlines()
    said = [line.removeprefix("fatal: ") for line in lines if line.startswith("fatal: ")]
    return f" ({said[0]})" if said else ""


def on_disk(folder: Path) -> dict[str, bytes]:
    """Every manifest below a folder as it is now, by its path below it.

    Hidden files and folders are left out, and what is no ordinary file: a link, or a pipe that nobody writes to.
    """
    found: dict[str, bytes] = {}
    for here, inside, names in os.walk(folder):
        inside[:] = sorted(name for name in inside if not name.startswith("."))
        for name in sorted(names):
            place = Path(here, name)
            plain = place.is_file() and not place.is_symlink()
            if name.endswith(SUFFIXES) and not name.startswith(".") and plain:
                found[place.relative_to(folder).as_posix()] = place.read_bytes()
    return found
