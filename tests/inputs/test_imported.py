"""What nodes said is joined to a cluster; what people wrote wins."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangform.inputs.cluster import Cluster
from gangform.inputs.load import Loaded, load_fleet
from gangform.inputs.spans import LoadError

CLUSTER = """\
versions: {kubernetes: "1.36"}
foundation: existing
pools:
  h100: POOL
"""
NODES = """\
pools:
  h100:
    hardware: h100-8x
    nodes: 6
    levels: [example.com/rack, kubernetes.io/hostname]
    domains:
      - {at: [a], nodes: 6}
  new: {hardware: h200-8x, nodes: 2}
"""


def load(folder: Path, pool: str, nodes: str = NODES) -> Loaded:
    (folder / "gangform.yaml").write_text("version: 1\n")
    for kind, text in (("clusters", CLUSTER.replace("POOL", pool)), ("nodes", nodes)):
        (folder / "profiles" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "profiles" / kind / "prod.yaml").write_text(text)
    return load_fleet(folder / "gangform.yaml")


def test_what_nobody_wrote_comes_from_the_nodes(tmp_path: Path) -> None:
    made = load(tmp_path, "{hardware: h100-8x}")
    pools = made.fleet.clusters[0].pools
    assert list(pools) == ["h100", "new"]
    assert pools["h100"].nodes == 6 and pools["h100"].domains is not None
    assert made.remarks == ()
    span = made.spans.find(("clusters", "prod", "pools", "h100", "nodes"))
    assert span is not None and (span.file.endswith("nodes/prod.yaml"), span.line) == (True, 4)
    # A cluster that is read alone has them too.
    path = tmp_path / "profiles" / "clusters" / "prod.yaml"
    assert Cluster.load(path).pools["new"].nodes == 2


def test_what_people_wrote_wins_and_the_difference_is_said(tmp_path: Path) -> None:
    made = load(tmp_path, "{hardware: gke-a4, nodes: 5, nodeLabels: {a: b}}")
    pool = made.fleet.clusters[0].pools["h100"]
    assert (pool.hardware, pool.nodes, len(pool.levels)) == ("gke-a4", 5, 2)
    (remark,) = made.remarks
    assert remark.code.id == "nodes-say-otherwise"
    assert remark.what == "nodes of pool h100 is 5; its nodes said 6 when they were imported"
    assert made.spans.where(remark).endswith("clusters/prod.yaml:4: pools.h100.nodes")


def test_domains_of_other_levels_are_left_out(tmp_path: Path) -> None:
    pool = load(tmp_path, "{levels: [kubernetes.io/hostname]}").fleet.clusters[0].pools["h100"]
    assert (pool.hardware, pool.nodes, pool.domains) == ("h100-8x", 6, None)


def test_a_cluster_in_the_fleet_file_is_joined_too(tmp_path: Path) -> None:
    inline = (
        "cluster: {name: prod, versions: {kubernetes: '1.36'}, foundation: existing, pools: {}}\n"
    )
    (tmp_path / "profiles" / "nodes").mkdir(parents=True)
    (tmp_path / "profiles" / "nodes" / "prod.yaml").write_text(NODES)
    (tmp_path / "gangform.yaml").write_text(f"version: 1\n{inline}")
    assert list(load_fleet(tmp_path / "gangform.yaml").fleet.clusters[0].pools) == ["h100", "new"]


@pytest.mark.parametrize(
    ("nodes", "code"),
    [
        ("pools: [a]\n", "nodes-file-wrong"),
        ("pools: {a: b}\n", "nodes-file-wrong"),
        ("pool: {}\n", "nodes-file-wrong"),
        ("pools: {}\nname: prod\n", "nodes-file-wrong"),
        ("pools: [\n", "yaml-syntax"),
        ("pools: {new: {hardware: h100-8x, nods: 5}}\n", "key-unknown"),
    ],
)
def test_a_file_that_no_import_wrote_is_refused_at_its_place(
    tmp_path: Path, nodes: str, code: str
) -> None:
    with pytest.raises(LoadError) as caught:
        load(tmp_path, "{hardware: h100-8x}", nodes)
    assert [one.code.id for one in caught.value.findings] == [code]
    if code != "key-unknown":
        assert "nodes/prod.yaml:" in caught.value.spans.where(caught.value.findings[0])
