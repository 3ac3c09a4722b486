"""What `gangform profiles` lists: the shipped profiles, and those beside the fleet file, which win."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gangform.cli.terminal import UsageError
from gangform.inputs.files import find_fleet_file, listing
from gangform.inputs.library import library, shipped_folder
from gangform.inputs.load import load_cluster

if TYPE_CHECKING:
    from gangform.inputs.cluster import Cluster
    from gangform.inputs.hardware import HardwareShape
    from gangform.inputs.model import ModelProfile


@dataclass(frozen=True, slots=True, kw_only=True)
class Shelf:
    """The profiles of one kind."""

    kind: str
    files: Mapping[str, Path]
    read: Callable[[str], Any]
    """The profile of a name; raises `InputError` where its file is wrong."""
    columns: tuple[str, ...]
    figures: Callable[[Any], tuple[str, ...]]
    """What its columns hold."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names in order."""
        return tuple(self.files)

    def origin(self, name: str) -> str:
        """Who wrote a profile."""
        return "shipped" if self.files[name].is_relative_to(shipped_folder()) else "yours"


def shelves(file: str | None) -> tuple[Shelf, ...]:
    """Models, hardware and clusters, shipped and beside a fleet file.

    Raises:
        UsageError: A file was named and is not there.
    """
    if file is not None and not Path(file).exists():
        raise UsageError(f"there is no file {file}")
    found = Path(file) if file is not None else find_fleet_file(Path.cwd())
    shipped = shipped_folder()
    return _shelves(
        (shipped,) if found is None else (found.absolute().parent / "profiles", shipped)
    )


def shipped_shelves() -> tuple[Shelf, ...]:
    """What ships with the package alone."""
    return _shelves((shipped_folder(),))


def _shelves(folders: tuple[Path, ...]) -> tuple[Shelf, ...]:
    """Of some folders, of which the first wins."""
    both = library(folders)
    files = {
        kind: dict(
            sorted(
                {
                    name: path
                    for folder in reversed(folders)
                    for name, path in listing(folder / kind).items()
                }.items()
            )
        )
        for kind in ("models", "hardware", "clusters")
    }
    return (
        Shelf(
            kind="models",
            files=files["models"],
            read=both.models.__getitem__,
            columns=("weights", "parameters", "checkpoint", "layers", "context"),
            figures=_model,
        ),
        Shelf(
            kind="hardware",
            files=files["hardware"],
            read=both.hardware.__getitem__,
            columns=("gpus", "visible memory", "cpu", "memory", "nvlink", "fabric", "read"),
            figures=_hardware,
        ),
        Shelf(
            kind="clusters",
            files=files["clusters"],
            read=lambda name: load_cluster(files["clusters"][name]),
            columns=("releases", "pools", "foundation"),
            figures=_cluster,
        ),
    )


def _model(model: ModelProfile) -> tuple[str, ...]:
    count = model.parameters
    shapes = model.architecture
    return (
        model.weights,
        "unknown" if count is None else f"{count / 10**9:,.1f} billion",
        model.checkpoint.human(),
        "unknown" if shapes is None else str(shapes.layers),
        f"{model.context_limit} tokens",
    )


def _hardware(shape: HardwareShape) -> tuple[str, ...]:
    rdma = shape.rdma
    return (
        f"{shape.gpu.count} x {shape.gpu.product}",
        shape.gpu.visible_memory.human(),
        str(shape.cpu),
        shape.memory.human(),
        f"{shape.nvlink_domain} GPUs",
        "TCP" if rdma is None else rdma.resource or "host network or annotation",
        "unknown" if shape.read_bandwidth is None else str(shape.read_bandwidth),
    )


def _cluster(cluster: Cluster) -> tuple[str, ...]:
    releases = cluster.versions.model_dump(exclude_none=True, by_alias=True)
    return (
        ", ".join(f"{name} {version}" for name, version in releases.items()),
        ", ".join(cluster.pools),
        cluster.foundation,
    )
