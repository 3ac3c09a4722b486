"""Shipped hardware shapes: valid, with a source for each figure, cautious, and honest about what was checked."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import yaml

from gangform.inputs.hardware import HardwareShape
from gangform.units import Bytes, Millicores

FOLDER = Path(__file__).parents[2] / "profiles" / "hardware"
FILES = sorted(FOLDER.glob("*.yaml"))
STRUCTURED = {"gpu", "rdma"}
UNCHECKED = ("not verified", "calculated")
GB, GIB, TB = 10**9, 2**30, 10**12

CAPACITY = {
    # name: vCPU, memory, local disks in bytes
    "h100-8x": (96, 1872 * GB, 6000 * GIB),
    "h200-8x": (96, 1850 * GIB, 12000 * GIB),
    "b200-8x": (128, 2048 * GB, 12000 * GIB),
    "a100-80gb-8x": (96, 1152 * GIB, 3000 * GIB),
    "gb200-4x": (128, 884 * GB, 12000 * GIB),
    "aws-p5": (192, 2048 * GIB, 8 * 3840 * GB),
    "aws-p5e": (192, 2048 * GIB, 8 * 3840 * GB),
    "aws-p5en": (192, 2048 * GIB, 8 * 3840 * GB),
    "aws-p6-b200": (192, 2048 * GIB, 8 * 3840 * GB),
    "gke-a3-ultra": (224, 2952 * GB, 12000 * GIB),
    "gke-a4": (224, 3968 * GB, 12000 * GIB),
    "coreweave-h100": (128, 2048 * GB, 6000 * GIB),
    "coreweave-h200": (128, 2048 * GB, 12000 * GIB),
    "coreweave-b200": (128, 2048 * GB, 12000 * GIB),
    "oci-h100": (112, 2048 * GB, 6000 * GIB),
}
"""Capacities that the sources name; `aws-p4de` is not here, since its figures are printed allocatable ones."""


def read(path: Path) -> dict[str, Any]:
    """The file as YAML has it."""
    content: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return content


def load(path: Path) -> HardwareShape:
    """The shape in a file, read by alias only, as the loader reads it."""
    return HardwareShape.model_validate(read(path), by_alias=True, by_name=False)


def figures(content: dict[str, Any]) -> set[str]:
    """Dotted names of all that a file states, what says where it comes from left out."""
    names: set[str] = set()
    for key, value in content.items():
        if key in STRUCTURED:
            names |= {f"{key}.{inner}" for inner in value}
        elif key not in {"name", "verified", "sources"}:
            names.add(key)
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_name_is_the_files_name(path: Path) -> None:
    assert load(path).name == path.stem


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_figure_has_a_source(path: Path) -> None:
    content = read(path)
    explained = figures(content) - {"gpu.productLabel"}
    assert explained <= set(content["sources"])
    assert set(content["sources"]) - explained <= {"rdma.count"}, "a source of nothing"
    assert all(content["sources"].values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_exactly_figures_with_a_checked_source_are_verified(path: Path) -> None:
    content = read(path)
    checked = [
        name for name, source in content["sources"].items() if not source.startswith(UNCHECKED)
    ]
    assert content["verified"] == checked


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_verified_names_are_fields(path: Path) -> None:
    known = {field.alias: field for field in HardwareShape.model_fields.values()}
    for name in load(path).verified:
        head, _, inner = name.partition(".")
        assert head in known
        if head == "gpu":
            assert inner in {"product", "count", "visibleMemory", "capability"}
        elif head == "rdma":
            assert inner in {"resource", "count", "hca", "annotations"}
        else:
            assert not inner


@pytest.mark.parametrize("name", sorted(CAPACITY))
def test_allocatable_figures_are_reduced_as_their_sources_say(name: str) -> None:
    """95 % of CPU in even cores, 95 % of memory in steps of 10 GiB, half of the disks in steps of 100 GiB."""
    cpus, memory, disks = CAPACITY[name]
    shape = load(FOLDER / f"{name}.yaml")
    assert shape.cpu == Millicores(Fraction(95, 100) * cpus // 2 * 2 * 1000)
    assert shape.memory == Bytes.gib(Fraction(95, 100) * memory / GIB // 10 * 10)
    assert shape.ephemeral_storage == Bytes.gib(Fraction(disks, 2 * GIB) // 100 * 100)


def test_every_shape_was_reduced_or_printed_as_allocatable() -> None:
    assert set(CAPACITY) | {"aws-p4de"} == {path.stem for path in FILES}
    printed = load(FOLDER / "aws-p4de.yaml")
    assert {"cpu", "memory"} <= set(printed.verified)
    assert load(FOLDER / "a100-80gb-8x.yaml").memory < printed.memory


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_gpu_shows_less_memory_than_its_nominal_size(path: Path) -> None:
    shape = load(path)
    nominal = {"8.0": (80,), "9.0": (80, 141), "10.0": (180, 186)}[shape.gpu.capability or ""]
    assert any(0.96 * size < shape.gpu.visible_memory / GIB < size for size in nominal)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_gpu_taints_are_tolerated_as_the_provider_sets_them(path: Path) -> None:
    (taint,) = load(path).taints
    assert taint.key == "nvidia.com/gpu"
    assert taint.effect == "NoSchedule"
    assert taint.value == ("present" if path.stem.startswith("gke-") else None)


def test_only_nvl72_joins_nodes_by_nvlink() -> None:
    domains = {path.stem: load(path).nvlink_domain for path in FILES}
    assert domains.pop("gb200-4x") == 72
    assert set(domains.values()) == {8}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nobody_knows_how_fast_a_generic_node_reads(path: Path) -> None:
    assert load(path).read_bandwidth is None


def test_generic_shapes_name_no_fabric() -> None:
    for name in ("h100-8x", "h200-8x", "b200-8x", "a100-80gb-8x", "gb200-4x"):
        shape = load(FOLDER / f"{name}.yaml")
        assert shape.rdma is None
        assert shape.socket_interface is None
