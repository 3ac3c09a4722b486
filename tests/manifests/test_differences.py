"""Differences: what one change of the inputs does to the base bundle, two groups of two nodes under Kueue."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion
from tests.manifests.conftest import cluster

from gangform.bundle import Bundle
from gangform.inputs.serving import (
    Autoscaling,
    Disruption,
    Parallelism,
    Rollout,
    TopologyRequest,
    Weights,
)

Built = Callable[..., Bundle]

CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "kueue_to_volcano": ({}, {"backend": "volcano"}),
    "kueue_to_volcano_podgroup": (
        {"groups": 1},
        {"groups": 1, "backend": "volcano-podgroup"},
    ),
    "kueue_to_none": ({}, {"backend": "none"}),
    "preferred_to_required_rack": ({}, {"topology": TopologyRequest(level="example.com/rack")}),
    "fixed_to_autoscaled": ({}, {"autoscaling": Autoscaling(min=2, max=4)}),
    "serial_to_per_group": ({}, {"disruption": Disruption(mode="perGroup")}),
    "node_autoscaler_unknown_to_karpenter": ({}, {"on": cluster(node_autoscaler="karpenter")}),
    "node_autoscaler_none_to_cluster_autoscaler": (
        {"on": cluster(node_autoscaler="none")},
        {"on": cluster(node_autoscaler="cluster-autoscaler")},
    ),
    "hub_to_per_pod": ({}, {"weights": Weights(source="perPod")}),
    "two_nodes_to_four": ({}, {"parallelism": Parallelism(tensor=8, pipeline=4)}),
    "one_group_more": ({}, {"groups": 3}),
    "spare_group": ({"backend": "none"}, {"backend": "none", "rollout": Rollout(spare_groups=1)}),
    "spare_group_under_kueue": ({}, {"rollout": Rollout(spare_groups=1)}),
    "canary_of_one": ({"groups": 4}, {"groups": 4, "rollout": Rollout(canary_groups=1)}),
}


def text(build: Built, backend: str = "kueue", **changes: Any) -> str:
    # Alerts have goldens of their own, and differ in every threshold.
    built = build(backend, **changes)
    kept = tuple(one for one in built.documents if one.kind != "PrometheusRule")
    return Bundle(name=built.name, plan=built.plan, documents=kept).to_yaml().decode()


def difference(before: str, after: str) -> str:
    lines = difflib.unified_diff(
        before.splitlines(), after.splitlines(), "before", "after", "", "", 1, ""
    )
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("change", CHANGES)
def test_one_change_moves_only_what_follows_from_it(
    build: Built, golden: SnapshotAssertion, change: str
) -> None:
    before, after = CHANGES[change]
    assert difference(text(build, **before), text(build, **after)) == golden
