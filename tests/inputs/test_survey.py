"""An import: pools out of nodes, in a file that loads, and what is said beside it."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import pytest
from tests.inputs.nodes import AWS, EFA, H100, TAINT, node, racked

from gangform.apis.nodes import read_node
from gangform.documents.read import read_strict
from gangform.inputs.cluster import Cluster
from gangform.inputs.library import shipped_library
from gangform.inputs.observed import Known, known_pools
from gangform.inputs.survey import Survey, cluster_of, survey

LIBRARY = shipped_library()


def imported(nodes: Sequence[dict[str, Any]], pools: dict[str, Any] | None = None) -> Survey:
    declared: tuple[Known, ...] = known_pools({"pools": pools or {}}, LIBRARY)
    return survey(
        [read_node(one) for one in nodes], cluster="prod", declared=declared, library=LIBRARY
    )


def loaded(made: Survey) -> Cluster:
    """The cluster that the file alone makes."""
    source = read_strict(made.text, "prod.yaml")
    assert source.findings == ()
    value = {"name": "prod", "versions": {"kubernetes": "1.36"}, "foundation": "existing"}
    return Cluster.model_validate({**value, **source.value}, by_alias=True, by_name=False)


def codes(made: Survey) -> list[str]:
    return [one.code.id for one in made.findings]


def test_nodes_of_a_shipped_shape_name_it() -> None:
    made = imported([node(f"n{i}", amounts=EFA) for i in (0, 1)])
    # 14 TiB are 14336 GiB, of which the shape asks 14300.
    pool = loaded(made).pools["h100-80gb-hbm3-8x"]
    assert (pool.hardware, pool.nodes, pool.levels) == ("aws-p5", 2, ())
    assert made.pools == (("h100-80gb-hbm3-8x", 2, "aws-p5"),)
    assert codes(made) == []


def test_a_smaller_node_makes_a_shape_of_its_own_from_what_it_says() -> None:
    made = imported(
        [node("a", amounts={"cpu": "95900m", "memory": "1000Gi"}), node("b", amounts={"cpu": "97"})]
    )
    shape = loaded(made).pools["h100-80gb-hbm3-8x"].hardware
    assert not isinstance(shape, str)
    assert (str(shape.cpu), str(shape.memory)) == ("95", "1000Gi")
    # What no label says comes from the shipped shape of the same GPUs.
    assert shape.gpu.capability == "9.0" and shape.gpu.visible_memory.human() == "79.2 GiB"
    assert "cpu" in shape.verified and shape.sources["cpu"].startswith("status.allocatable")


def test_a_fabric_is_never_lost() -> None:
    shape = (
        loaded(imported([node("a", amounts={"rdma/roce": "63"})]))
        .pools["h100-80gb-hbm3-8x"]
        .hardware
    )
    assert not isinstance(shape, str) and shape.rdma is not None
    assert (shape.rdma.resource, shape.rdma.count) == ("rdma/roce", 1)


def test_an_unknown_gpu_has_its_memory_from_the_label() -> None:
    labels = {"nvidia.com/gpu.product": "NVIDIA-X9", "nvidia.com/gpu.memory": "100000"}
    shape = loaded(imported([node("a", labels)])).pools["x9-8x"].hardware
    assert not isinstance(shape, str)
    assert str(shape.gpu.visible_memory) == "99283Mi"
    assert shape.sources["gpu.visibleMemory"].startswith("calculated: nvidia.com/gpu.memory")


def test_without_it_the_pool_is_a_comment_that_says_what_is_missing() -> None:
    labels = {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"}
    made = imported([node("a", labels, resource="amd.com/gpu")])
    assert codes(made) == ["hardware-not-said"]
    assert "pools: {}\n" in made.text and "visibleMemory" in made.text
    assert read_strict(made.text, "x").value == {"pools": {}}


def test_the_same_nodes_in_any_order_make_the_same_bytes() -> None:
    nodes = racked(30)
    expected = imported(nodes).text
    for seed in range(5):
        random.Random(seed).shuffle(nodes)
        assert imported(nodes).text == expected


def test_levels_and_domains_are_written_and_who_lacks_one_is_named() -> None:
    nodes = racked(10)
    del nodes[3]["metadata"]["labels"][f"{AWS}3"]
    made = imported(nodes)
    pool = loaded(made).pools["h100-80gb-hbm3-8x"]
    assert pool.levels == (f"{AWS}1", f"{AWS}2", f"{AWS}3", "kubernetes.io/hostname")
    assert pool.nodes == 10 and pool.domains is not None
    assert sum(domain.nodes for domain in pool.domains) == 9
    (finding,) = made.findings
    assert finding.code.id == "nodes-without-level"
    assert finding.what == (
        f"1 node of 10 in pool h100-80gb-hbm3-8x without the label {AWS}3: n0003"
    )
    assert f"# without {AWS}3, and so in no domain: n0003" in made.text
    assert codes(imported(racked(10))) == []


def test_labels_that_cross_are_said() -> None:
    nodes = racked(12)
    for index, one in enumerate(nodes):
        one["metadata"]["labels"]["nvidia.com/gpu.clique"] = f"c{index % 3}"
    assert codes(imported(nodes)) == ["levels-cross"]


def test_nodes_of_a_declared_pool_keep_its_name_and_levels() -> None:
    rack = "example.com/rack"
    nodes = [node(f"n{i}", {**H100, rack: f"r{i // 2}", "team": "a"}) for i in range(4)]
    nodes += [node("other")]
    own = {
        "hardware": "h100-8x",
        "levels": [rack, "kubernetes.io/hostname"],
        "nodeLabels": {"team": "a"},
    }
    made = imported(nodes, {"mine": own})
    value = read_strict(made.text, "x").value["pools"]
    assert value["mine"] == {
        "nodes": 4,
        "levels": own["levels"],
        "domains": [{"at": ["r0"], "nodes": 2}, {"at": ["r1"], "nodes": 2}],
    }
    assert value["h100-80gb-hbm3-8x"]["nodes"] == 1
    assert codes(made) == []


def test_a_declared_pool_without_hardware_takes_the_nodes_that_would_be_called_so() -> None:
    nodes = [node(f"n{i}", {**H100, "example.net/rack": f"r{i // 2}"}) for i in range(4)]
    levels = ["example.net/rack", "kubernetes.io/hostname"]
    made = imported(nodes, {"h100-80gb-hbm3-8x": {"levels": levels}})
    (pool,) = read_strict(made.text, "x.yaml").value["pools"].items()
    assert pool[0] == "h100-80gb-hbm3-8x"
    assert (pool[1]["hardware"], pool[1]["nodes"]) == ("h100-8x", 4)
    assert pool[1]["domains"] == [{"at": ["r0"], "nodes": 2}, {"at": ["r1"], "nodes": 2}]
    # One whose labels the nodes do not carry is another pool.
    other = imported(nodes, {"h100-80gb-hbm3-8x": {"nodeLabels": {"team": "a"}}})
    assert [name for name, _, _ in other.pools] == ["h100-80gb-hbm3-8x-2"]


def test_own_labels_that_nest_nodes_are_said_with_the_levels_to_declare() -> None:
    def labels(i: int) -> dict[str, str]:
        place = {"example.net/rack": f"r{i // 2}", "example.net/row": f"w{i // 4}"}
        return {**H100, **place, "team": f"t{i // 4}", "rack-crosses": str(i % 2)}

    nodes = [node(f"n{i}", labels(i)) for i in range(8)]
    made = imported(nodes)
    (finding,) = made.findings
    assert finding.code.id == "labels-may-be-levels"
    assert finding.what.startswith("example.net/row, example.net/rack of the 8 nodes in pool h100")
    levels = ["example.net/row", "example.net/rack", "kubernetes.io/hostname"]
    assert f"`levels: [{', '.join(levels)}]`" in finding.fix
    # Done as it says, and where the label tells each node apart, nothing is said.
    assert codes(imported(nodes, {"h100-80gb-hbm3-8x": {"levels": levels}})) == []
    assert codes(imported([node(f"n{i}", {**H100, "rack": str(i)}) for i in range(4)])) == []


def test_a_declared_shape_that_nodes_do_not_bear_out_is_said() -> None:
    made = imported([node("a", amounts={"cpu": "80"})], {"mine": {"hardware": "h100-8x"}})
    (finding,) = made.findings
    assert finding.code.id == "hardware-not-borne-out"
    assert "cpu 90, allocatable 80" in finding.what
    assert codes(imported([node("a")], {"mine": {"hardware": "h100-8x"}})) == []


DRIVER = "nvidia.com/cuda.driver-version.full"
PARTS = [f"nvidia.com/cuda.driver.{part}" for part in ("major", "minor", "rev")]


@pytest.mark.parametrize(
    ("labels", "driver"),
    [
        ({DRIVER: "570.86.15", PARTS[0]: "570"}, "570.86.15"),
        (dict(zip(PARTS, ("535", "104", "12"), strict=True)), "535.104.12"),
        (dict(zip(PARTS, ("455", "06", ""), strict=True)), "455.06"),
        ({"amd.com/gpu.driver-version": "6.12.12"}, "6.12.12"),
        ({PARTS[0]: "535"}, None),
        ({DRIVER: "unknown"}, None),
        ({}, None),
    ],
)
def test_a_pool_has_the_driver_that_its_nodes_say(
    labels: dict[str, str], driver: str | None
) -> None:
    made = imported([node("a", {**H100, **labels}), node("b", {**H100, **labels})])
    assert loaded(made).pools["h100-80gb-hbm3-8x"].driver == driver
    assert codes(made) == []


def test_a_pool_of_several_drivers_says_none() -> None:
    releases = ("570.86.15", "550.54.15", "570.86.15")
    made = imported([node(f"n{i}", {**H100, DRIVER: one}) for i, one in enumerate(releases)])
    assert loaded(made).pools["h100-80gb-hbm3-8x"].driver is None
    (finding,) = made.findings
    assert finding.code.id == "drivers-differ"
    assert "570.86.15 on 2, 550.54.15 on 1" in finding.what


def test_two_sizes_of_one_product_are_told_apart() -> None:
    four = {**H100, "nvidia.com/gpu.count": "4"}
    pools = loaded(imported([node("a"), node("b", four, gpus=4)])).pools
    assert {name: pool.node_labels for name, pool in pools.items()} == {
        "h100-80gb-hbm3-4x": {"nvidia.com/gpu.count": "4"},
        "h100-80gb-hbm3-8x": {"nvidia.com/gpu.count": "8"},
    }


def test_who_is_not_counted_is_named_with_the_reason() -> None:
    made = imported(
        [
            *(node(f"whole{i}") for i in range(3)),
            node("plain", {}, gpus=0),
            node("ill", usable=7),
            node("kept", taints=(TAINT, {"key": "team", "value": "b", "effect": "NoSchedule"})),
            node("shared", {**H100, "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED"}),
            node("unknown", {}),
            node("drained", cordoned=True),
        ]
    )
    assert made.pools == (("h100-80gb-hbm3-8x", 4, "h100-8x"),)
    assert made.seen.plain == ("plain",) and made.seen.away == ("drained",)
    assert [one.code.id for one in made.findings] == ["nodes-not-counted"] * 4
    said = "\n".join(one.what for one in made.findings)
    for name in ("ill", "kept", "shared", "unknown"):
        assert f"not counted: {name}" in said


def test_the_cluster_for_people_has_the_release_of_the_newest_kubelet() -> None:
    nodes = [read_node(node("a"))._replace(kubelet=text) for text in ("v1.9.1", "v1.35.2-gke", "")]
    source = read_strict(cluster_of("prod", nodes), "prod.yaml")
    assert source.findings == ()
    assert source.value["versions"] == {"kubernetes": "1.35"}
    assert source.value["foundation"] == "existing"
