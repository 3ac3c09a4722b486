"""Example clusters: valid, with levels that Kueue takes, over shapes that are shipped."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from gangform.inputs.cluster import Cluster, Pool

PROFILES = Path(__file__).parents[2] / "profiles"
FILES = sorted((PROFILES / "clusters").glob("*.yaml"))
HOST = "kubernetes.io/hostname"


def load(path: Path) -> Cluster:
    """The cluster in a file, read by alias only, as the loader reads it."""
    return Cluster.model_validate(
        yaml.safe_load(path.read_text(encoding="utf-8")), by_alias=True, by_name=False
    )


POOLS = [
    pytest.param(pool, id=f"{path.stem}-{name}")
    for path in FILES
    for name, pool in load(path).pools.items()
]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_name_is_the_files_name(path: Path) -> None:
    assert load(path).name == path.stem


@pytest.mark.parametrize("pool", POOLS)
def test_levels_go_down_to_the_host(pool: Pool) -> None:
    assert pool.levels[-1] == HOST
    assert len(pool.levels) >= 3


@pytest.mark.parametrize("pool", POOLS)
def test_levels_fit_kueues_workloads(pool: Pool) -> None:
    """A Workload takes a level key of at most 63 characters, a Topology at most 16 levels (`kueue §1.2`)."""
    assert len(pool.levels) <= 16
    assert all(len(level) <= 63 for level in pool.levels)


@pytest.mark.parametrize("pool", POOLS)
def test_hardware_is_shipped(pool: Pool) -> None:
    assert isinstance(pool.hardware, str)
    assert (PROFILES / "hardware" / f"{pool.hardware}.yaml").is_file()


@pytest.mark.parametrize("pool", POOLS)
def test_an_example_has_no_inventory(pool: Pool) -> None:
    assert pool.nodes is None
    assert pool.domains is None


def test_topograph_numbers_its_tiers_from_the_node_outwards() -> None:
    tiers = [
        level
        for level in load(PROFILES / "clusters" / "topograph.yaml").pools["h100"].levels
        if level != HOST
    ]
    assert tiers == [f"fabric.topograph.run/tier-{number}" for number in (2, 1, 0)]
