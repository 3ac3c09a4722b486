"""Files of inputs on disk: the fleet file, the folders beside it, and how each is read. Never raises for a file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gangform.documents.read import Source, read_strict
from gangform.findings import Code, Finding, InputPath, Severity, declare
from gangform.findings import Path as Keys

FILE_MISSING = declare("file-missing", "A file that is not there", Severity.BREAKS, "design §3")
FILE_UNREADABLE = declare(
    "file-unreadable", "A file that cannot be read", Severity.BREAKS, "design §3"
)
FILE_NOT_TEXT = declare("file-not-text", "A file that is not UTF-8", Severity.BREAKS, "design §3")
FILE_MISPLACED = declare(
    "file-misplaced",
    "A file or folder that looks like an input and is never read",
    Severity.BREAKS,
    "design §3",
)

FLEET_FILE = "gangform.yaml"
FOLDERS = ("models", "hardware", "clusters", "nodes", "servings")
"""Folders of `profiles/`: one object a file, called as the file is."""


def find_fleet_file(start: Path) -> Path | None:
    """`gangform.yaml` in a folder or above it, up to the root of the Git repository; `None` where there is none.

    Outside a repository only the folder itself is looked at: a file far above belongs to somebody else.
    """
    start = start.absolute()
    folders = [start, *start.parents]
    roots = [folder for folder in folders if (folder / ".git").exists()]
    inside = folders[: folders.index(roots[0]) + 1] if roots else folders[:1]
    return next((folder / FLEET_FILE for folder in inside if (folder / FLEET_FILE).is_file()), None)


def read_file(path: Path) -> Source:
    """The content of a file, or what is wrong with it."""
    name = shown(path)
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return unread(
            name,
            FILE_MISSING,
            f"there is no file {name}",
            "name a file that exists, or `gangform init`",
        )
    except IsADirectoryError:
        fix = f"name the file in it, such as {name}/{FLEET_FILE}"
        return unread(name, FILE_UNREADABLE, f"{name} is a folder", fix)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        return unread(
            name, FILE_UNREADABLE, f"{name}: {reason}", "make the file readable for this user"
        )
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        what = f"byte {error.start + 1} (0x{content[error.start]:02x}) is not UTF-8"
        return unread(name, FILE_NOT_TEXT, what, "save the file as UTF-8", line=line)
    return read_text(text, name)


def read_text(text: str, name: str) -> Source:
    """The content of a text that findings call `name`."""
    return read_strict(text, name, nulls=_deletes)


def _deletes(path: Keys) -> bool:
    """Whether a null is meant: in a merge patch of a serving it deletes."""
    inside = path[2:] if path[:1] == ("servings",) else path
    return inside[:1] == ("patches",) and inside[2:3] == ("merge",) and len(inside) > 3


def unread(name: str, code: Code, what: str, fix: str, *, line: int = 1) -> Source:
    """A source that stands for a file which could not be read."""
    finding = Finding(code=code, at=InputPath(()), what=what, fix=fix, seen={"line": str(line)})
    return read_strict("unread: true", name)._replace(value={}, findings=(finding,))


def shown(path: Path) -> str:
    """A path as people see it: from the working folder where it lies inside."""
    try:
        return str(path.absolute().relative_to(Path.cwd()))
    except (ValueError, OSError):
        return str(path)


def listing(folder: Path) -> Mapping[str, Path]:
    """The profiles of a folder, by name, in order of names. Reads no file; a folder that is missing is empty."""
    try:
        found = sorted(
            path for path in folder.iterdir() if path.suffix == ".yaml" and path.name[0] != "."
        )
    except OSError:
        return {}
    return {path.stem: path for path in found}


def misplaced(profiles: Path) -> list[Finding]:
    """Files and folders below the profiles that somebody may take for inputs. Hidden ones and notes are none."""
    found = []
    for path in _inside(profiles):
        if path.is_dir() and path.name in FOLDERS:
            for inner in _inside(path):
                if inner.is_dir():
                    found.append(_unread(inner, f"move its files into {shown(path)}"))
                elif inner.suffix != ".yaml" and inner.suffix.lower() in _LIKE_INPUTS:
                    fix = f"call it {inner.stem}.yaml"
                    if inner.suffix.lower() == ".json":
                        fix = f"write it as YAML into {inner.stem}.yaml"
                    found.append(_unread(inner, fix))
        elif path.is_dir():
            from gangform.inputs.nearest import nearest

            lower = path.name.lower()
            name = (
                f"{lower}s" if f"{lower}s" in FOLDERS else next(iter(nearest(lower, FOLDERS)), "")
            )
            kinds = ", ".join(FOLDERS)
            fix = f"call it {name}" if name else f"the folders are {kinds}; move it elsewhere"
            found.append(_unread(path, fix))
        elif path.suffix.lower() in _LIKE_INPUTS:
            found.append(_unread(path, f"move it into one of {', '.join(FOLDERS)}"))
    return found


_LIKE_INPUTS = (".yaml", ".yml", ".json")


def _inside(folder: Path) -> list[Path]:
    try:
        return sorted(path for path in folder.iterdir() if path.name[0] != ".")
    except OSError:
        return []


def _unread(path: Path, fix: str) -> Finding:
    what = (
        f"the folder {shown(path)} is not read" if path.is_dir() else f"{shown(path)} is not read"
    )
    return Finding(code=FILE_MISPLACED, at=InputPath(()), what=what, fix=fix)
