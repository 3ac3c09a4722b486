"""Files and the library → fleet, with the place of every value. All errors of all files at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gangform.findings import Finding, InputError
from gangform.inputs.cluster import Cluster, Fleet, Library
from gangform.inputs.serving import Serving
from gangform.inputs.spans import Spans


class LoadError(InputError):
    """What could not be read. Its findings have places in `spans`, as those of later stages have in `Loaded.spans`."""

    def __init__(self, findings: Sequence[Finding], spans: Spans) -> None:
        """Keep the spans beside the findings."""
        super().__init__(findings)
        self.spans = spans


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """A fleet, what its references may name, and where everything was written."""

    fleet: Fleet
    library: Library
    spans: Spans


def find_fleet_file(start: Path) -> Path | None:
    """`gangform.yaml` in a folder or above it, up to the root of the Git repository; `None` where there is none."""
    raise NotImplementedError


def load_fleet(path: Path) -> Loaded:
    """Read a fleet file and the folders beside it.

    Raises:
        LoadError: With everything that is wrong in all files.
    """
    raise NotImplementedError


def load_text(text: str, file: str = "gangform.yaml") -> Loaded:
    """Read a fleet from a text, without folders beside it; `file` is what findings call it.

    Raises:
        LoadError: With everything that is wrong in it.
    """
    raise NotImplementedError


def load_cluster(path: Path) -> Cluster:
    """Read one cluster from a file of its own.

    Raises:
        LoadError: With everything that is wrong in it.
    """
    raise NotImplementedError


def shipped_library() -> Library:
    """The models and hardware shapes that come with the package: names at once, contents on demand."""
    raise NotImplementedError


def select_clusters(fleet: Fleet, names: Sequence[str]) -> tuple[Cluster, ...]:
    """The named clusters in the order of the fleet; all of them for no name.

    Raises:
        InputError: A name that is no cluster's.
    """
    raise NotImplementedError


def select_servings(fleet: Fleet, names: Sequence[str]) -> tuple[Serving, ...]:
    """The named servings in the order of the fleet; all of them for no name.

    Raises:
        InputError: A name that is no serving's.
    """
    raise NotImplementedError
