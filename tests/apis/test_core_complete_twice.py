"""Completing is done once, changes no value, and leaves what it was given alone."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.apis.test_core_complete import DEPLOYMENT, LEADER_WORKER_SET

from gangform.apis.core import complete
from gangform.units import quantity


def test_keys_keep_their_order_and_the_input_is_not_touched() -> None:
    before = copy.deepcopy(DEPLOYMENT)
    stored: Any = complete(DEPLOYMENT)
    assert before == DEPLOYMENT
    assert list(stored["spec"])[:2] == ["selector", "template"]
    assert list(stored) == list(DEPLOYMENT)


_scalars = st.one_of(
    st.sampled_from(["1024Gi", "0.5", "8", "nonsense", "", "Default", "ClientIP", "Recreate"]),
    st.integers(-5, 5000),
    st.booleans(),
)
_words = st.sampled_from(
    [
        "spec",
        "template",
        "containers",
        "initContainers",
        "ports",
        "env",
        "valueFrom",
        "resources",
        "limits",
        "requests",
        "volumes",
        "leaderWorkerTemplate",
        "leaderTemplate",
        "workerTemplate",
        "rolloutStrategy",
        "rollingUpdateConfiguration",
        "strategy",
        "type",
        "metrics",
        "resource",
        "target",
        "behavior",
        "scaleUp",
        "image",
        "name",
        "secret",
        "emptyDir",
        "egress",
        "preemption",
        "resourceGroups",
        "flavors",
        "networkTopology",
        "minResources",
        "sessionAffinity",
    ]
)
_trees = st.recursive(
    _scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(_words, inner, max_size=4)
    ),
    max_leaves=25,
)
_kinds = st.sampled_from(
    [
        ("apps/v1", "Deployment"),
        ("v1", "Service"),
        ("autoscaling/v2", "HorizontalPodAutoscaler"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
        ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
        ("disaggregatedset.x-k8s.io/v1", "DisaggregatedSet"),
        ("kueue.x-k8s.io/v1beta2", "ClusterQueue"),
        ("scheduling.volcano.sh/v1beta1", "PodGroup"),
    ]
)


@given(kind=_kinds, spec=st.dictionaries(_words, _trees, max_size=5))
def test_completing_twice_is_completing_once_whatever_stands_there(
    kind: tuple[str, str], spec: dict[str, Any]
) -> None:
    once = complete({"apiVersion": kind[0], "kind": kind[1], "spec": spec})
    assert complete(once) == once


@given(
    number=st.decimals(0, 10**7, places=3, allow_nan=False, allow_infinity=False),
    suffix=st.sampled_from(["", "m", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]),
)
def test_a_quantity_is_spelled_once_and_keeps_its_value(number: object, suffix: str) -> None:
    written = f"{number}{suffix}"
    queue = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}
    once: Any = complete({**queue, "spec": {"capability": {"cpu": written}}})
    spelled = once["spec"]["capability"]["cpu"]
    assert complete(once) == once
    # What is finer than a nano unit is rounded up, and nothing here is.
    assert quantity(spelled) == quantity(written)


@pytest.mark.parametrize("manifest", [DEPLOYMENT, LEADER_WORKER_SET])
def test_a_whole_object_is_completed_once(manifest: dict[str, Any]) -> None:
    once = complete(manifest)
    assert complete(once) == once
