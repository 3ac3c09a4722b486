"""What a Node object says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from tests.inputs.nodes import EFA, H100, node

from gangform.apis.nodes import FABRIC, NodeTaint, read_node


def test_a_gpu_node_says_what_it_offers() -> None:
    view = read_node(node("a", amounts={"rdma/ib": "1k", **EFA}))
    assert (view.name, view.resource, view.gpus, view.usable) == ("a", "nvidia.com/gpu", 8, 8)
    assert view.products == (("nvidia.com/gpu.product", "NVIDIA-H100-80GB-HBM3"),)
    assert view.allocatable["memory"] == Fraction(2000 * 2**30)
    # One of a shared resource is enough; of a counted one a whole-node pod takes all.
    assert list(view.fabric) == [("rdma/ib", 1), ("vpc.amazonaws.com/efa", 32)]
    assert view.taints == (NodeTaint("nvidia.com/gpu", "", "NoSchedule"),)
    assert view.ready and not view.cordoned and not view.divided
    assert view.kubelet == "v1.36.2"


def test_passing_taints_are_no_property_of_a_node() -> None:
    view = read_node(node("a", cordoned=True, ready=False))
    assert view.cordoned and not view.ready
    assert [taint.key for taint in view.taints] == ["nvidia.com/gpu"]


@pytest.mark.parametrize(
    ("labels", "amounts", "divided"),
    [
        (H100, {}, False),
        ({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB-MIG-1g.5gb"}, {}, True),
        ({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3-SHARED"}, {}, True),
        (H100, {"nvidia.com/mig-1g.10gb": "7"}, True),
    ],
)
def test_gpus_in_parts_are_told_apart(
    labels: dict[str, str], amounts: dict[str, str], divided: bool
) -> None:
    assert read_node(node("a", labels, amounts=amounts)).divided is divided


def test_a_gpu_of_amd_is_one() -> None:
    view = read_node(
        node(
            "a",
            {"amd.com/gpu.product-name": "AMD_Instinct_MI300X_OAM"},
            resource="amd.com/gpu",
        )
    )
    assert (view.resource, view.gpus) == ("amd.com/gpu", 8)
    assert view.products == (("amd.com/gpu.product-name", "AMD_Instinct_MI300X_OAM"),)


@pytest.mark.parametrize(
    "odd",
    [
        {},
        {"metadata": [], "spec": "x", "status": 5},
        {"metadata": {"labels": {"a": 5}}, "status": {"capacity": {"nvidia.com/gpu": "many"}}},
        {"spec": {"taints": ["x", {"key": 5}]}, "status": {"conditions": ["x"]}},
    ],
)
def test_what_is_of_another_type_counts_as_absent(odd: dict[str, Any]) -> None:
    view = read_node(odd)
    assert (view.name, view.gpus, view.taints, dict(view.labels)) == ("", 0, (), {})


def test_no_level_stands_twice() -> None:
    keys = [key for family in FABRIC for key in family]
    assert len(keys) == len(set(keys))
