from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gangform.apis import volcano
from gangform.findings import show_path


def places(found: Any) -> list[str]:
    return [show_path(path) for path, _, _ in found]


def spec(text: str) -> dict[str, Any]:
    return {"metadata": {"name": "mine"}, "spec": yaml.safe_load(text)}


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{minMember: 3}", []),
        ("{networkTopology: {mode: hard, highestTierName: rack}}", []),
        ("{networkTopology: {mode: soft}}", []),
        ("{networkTopology: {highestTierAllowed: 0}}", []),
        ("{networkTopology: {mode: hard}}", ["spec.networkTopology.mode"]),
        ("{networkTopology: {highestTierName: ''}}", ["spec.networkTopology.mode"]),
        (
            "{networkTopology: {highestTierAllowed: 1, highestTierName: rack}}",
            ["spec.networkTopology.highestTierName"],
        ),
        (
            "{subGroupPolicy: [{networkTopology: {mode: hard}}]}",
            ["spec.subGroupPolicy[0].networkTopology.mode"],
        ),
        ("{queue: root, minMember: -1}", ["spec.minMember", "spec.queue"]),
    ],
)
def test_a_pod_group_names_one_tier_when_it_is_hard(text: str, where: list[str]) -> None:
    assert places(volcano.pod_group_faults(spec(text))) == where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{weight: 1, capability: {cpu: 8}}", []),
        ("{weight: 0}", ["spec.weight"]),
        ("{parent: mine}", ["spec.parent"]),
        ("{guarantee: {resource: {cpu: 8}}}", ["spec.guarantee.resource.cpu"]),
        (
            "{guarantee: {resource: {cpu: 8}}, deserved: {cpu: 4}}",
            ["spec.guarantee.resource.cpu"],
        ),
        ("{deserved: {cpu: 8}, capability: {cpu: 4000m}}", ["spec.deserved.cpu"]),
        ("{deserved: {cpu: 8}, capability: {memory: 1Gi}}", []),
    ],
)
def test_a_queue_keeps_guarantee_under_deserved_under_capability(
    text: str, where: list[str]
) -> None:
    assert places(volcano.queue_faults(spec(text))) == where


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("{tier: 1, members: [{type: Node, selector: {labelMatch: {}}}]}", []),
        ("{tier: 1, members: []}", ["spec.members"]),
        ("{members: [{type: Node, selector: {}}]}", ["spec.tier", "spec.members[0].selector"]),
        (
            "{tier: 2, members: [{type: HyperNode, selector: {regexMatch: {pattern: a}}}]}",
            ["spec.members[0].selector"],
        ),
    ],
)
def test_a_hyper_node_has_a_tier_and_members_that_are_honoured(text: str, where: list[str]) -> None:
    assert places(volcano.hyper_node_faults(spec(text))) == where


def test_a_plain_domain_keeps_its_name() -> None:
    assert volcano.hyper_node_name("rack1") == "rack1"
    assert volcano.hyper_node_name("row1", "rack3") == "row1-rack3"
    assert volcano.hyper_node_name("rack-3") == "rack-3"


def test_domains_that_look_alike_get_names_of_their_own() -> None:
    assert volcano.hyper_node_name("Rack_1") == "rack-1-9dcf5bba"
    names = {
        volcano.hyper_node_name(*values)
        for values in (("rack-1",), ("Rack_1",), ("rack.1",), ("a-b", "c"), ("a", "b-c"))
    }
    assert len(names) == 5


@given(
    st.lists(
        st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?", fullmatch=True),
        min_size=1,
        max_size=16,
    )
)
def test_a_domain_name_is_a_dns_name_whatever_the_label_values(values: list[str]) -> None:
    name = volcano.hyper_node_name(*values)
    assert len(name) <= 253
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", name)
    assert name == volcano.hyper_node_name(*values)


def test_groups_of_the_provider_are_called_as_the_lab_saw_them() -> None:
    assert volcano.group_name("vl", 0, "5757d5c598") == "vl-0-5757d5c598"
    assert volcano.gang_size(4, leader_ready=False) == 4
    assert volcano.gang_size(4, leader_ready=True) == 1
