from __future__ import annotations

from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.plan.layout import Layout, Load, Node, Placement

RACKS = (("b0", "r0"), ("b0", "r1"), ("b1", "r2"))


def load(groups: range, **changes: Any) -> Load:
    given: dict[str, Any] = {
        "serving": "s",
        "workload": "w",
        "kind": "wanted",
        "size": 2,
        "per_node": 1,
        "depth": 2,
        "host": False,
        "exclusive": False,
    }
    return Load(groups=groups, **{**given, **changes})


def laid(sizes: tuple[int, ...], *loads: Load) -> tuple[Layout, list[Placement]]:
    layout = Layout(list(zip(RACKS, sizes, strict=False)), 2)
    for one in loads:
        layout.lay(one)
    return layout, [placement for run in layout.runs for placement in run.placements()]


def test_groups_lie_in_the_tightest_domain_and_have_nodes_of_their_own() -> None:
    layout, found = laid((4, 2, 3), load(range(3)))
    assert [(one.group, one.domain, [node.number for node in one.nodes]) for one in found] == [
        (0, ("b0", "r1"), [0, 1]),
        (1, ("b1", "r2"), [0, 1]),
        (2, ("b0", "r0"), [0, 1]),
    ]
    assert [(one.at[1], one.filled, one.free) for one in layout.domains()] == [
        ("r0", 2, 2),
        ("r1", 2, 0),
        ("r2", 2, 1),
    ]


@pytest.mark.thorough
def test_neighbours_are_one_entry_and_each_can_be_asked_for() -> None:
    layout, found = laid((1_000_000, 0, 0), load(range(400_000)))
    assert len(layout.runs) == 1
    assert found[7] == Placement(
        "s", "w", 7, "wanted", RACKS[0], (Node(RACKS[0], 14), Node(RACKS[0], 15))
    )


def test_a_coarser_level_takes_a_finer_domain_where_one_holds_the_group() -> None:
    _, found = laid((2, 3, 9), load(range(3), depth=1))
    assert [one.domain for one in found] == [("b0", "r0"), ("b0", "r1"), ("b1", "r2")]
    _, found = laid((2, 2, 0), load(range(1), depth=1, size=3))
    assert found[0].domain == ("b0",)
    assert Counter(node.at for node in found[0].nodes) == {RACKS[0]: 2, RACKS[1]: 1}


def test_a_group_that_may_lie_anywhere_lies_over_blocks_only_where_it_must() -> None:
    _, found = laid((1, 1, 2), load(range(1), depth=0, size=2), load(range(1, 2), depth=0, size=2))
    assert [one.domain for one in found] == [("b1", "r2"), ("b0",)]
    _, found = laid((1, 0, 1), load(range(1), depth=0, size=2))
    assert found[0].domain == ()


def test_pods_share_a_node_also_with_those_of_others() -> None:
    layout, found = laid(
        (2, 0, 0),
        load(range(2), size=1, per_node=4),
        load(range(2, 3), size=1, per_node=4, kind="spare"),
        load(range(1), workload="half", size=1, per_node=2),
        load(range(2), workload="other", size=1, per_node=8),
    )
    assert [(one.workload, one.kind, one.nodes[0].number) for one in found] == [
        ("w", "wanted", 0),
        ("w", "wanted", 0),
        ("w", "spare", 0),
        ("half", "wanted", 1),
        ("other", "wanted", 0),
        ("other", "wanted", 0),
    ]
    assert layout.room(load(range(9), size=1, per_node=2)) == 1
    assert (layout.domains()[0].filled, layout.domains()[0].free) == (2, 0)


def test_every_resource_of_a_node_counts() -> None:
    """Two halves of the GPUs, and three fifths of the memory each."""
    wide = (Fraction(1, 2), Fraction(3, 5))
    slim = (Fraction(1, 2), Fraction(2, 5))
    _, found = laid((3, 0, 0), load(range(2), size=1, portions=wide))
    assert [one.nodes[0].number for one in found] == [0, 1]
    pair = (
        load(range(1), size=1, portions=wide),
        load(range(1), workload="x", size=1, portions=slim),
    )
    assert [one.nodes[0].number for one in laid((3, 0, 0), *pair)[1]] == [0, 0]


def test_a_group_bound_to_its_host_never_straddles_two() -> None:
    _, found = laid((2, 0, 0), load(range(4), size=3, per_node=8, host=True))
    assert [[node.number for node in one.nodes] for one in found] == [[0], [0], [1], [1]]
    assert laid((9, 0, 0), load(range(1), size=3, per_node=2, host=True))[1] == []


def test_a_domain_that_is_kept_for_one_group_is_closed() -> None:
    layout, found = laid((4, 4, 0), load(range(3), exclusive=True), load(range(1), workload="x"))
    assert [one.workload for one in found] == ["w", "w"]
    assert [(one.filled, one.closed, one.free) for one in layout.domains()] == [
        (2, 2, 0),
        (2, 2, 0),
        (0, 0, 0),
    ]


def test_nodes_outside_every_domain_take_only_groups_that_may_lie_anywhere() -> None:
    layout = Layout([(RACKS[0], 1), ((), 4)], 2)
    assert layout.lay(load(range(1))) == 0
    assert layout.lay(load(range(3), depth=0)) == 2
    assert [node.at for run in layout.runs for one in run.placements() for node in one.nodes] == [
        ()
    ] * 4


loads = st.builds(
    load,
    st.integers(0, 5).map(range),
    workload=st.sampled_from("abcdef"),
    size=st.integers(1, 5),
    depth=st.integers(0, 2),
    exclusive=st.booleans(),
    per_node=st.integers(1, 4),
)


@settings(deadline=None, max_examples=300)
@given(
    sizes=st.tuples(*[st.integers(0, 9)] * 3),
    asked=st.lists(loads, max_size=5, unique_by=lambda one: one.workload),
)
def test_no_node_is_overfull_and_no_group_is_torn(
    sizes: tuple[int, ...], asked: list[Load]
) -> None:
    layout, found = laid(sizes, *asked)
    by_name = {one.workload: one for one in asked}
    capacity: dict[tuple[str, ...], int] = dict(zip(RACKS, sizes, strict=True))
    owners: dict[Node, Fraction] = {}
    for run in layout.runs:
        assert sum(part.pods for part in run.parts) == len(run.groups) * run.size
        for part in run.parts:
            for place in range(part.first, part.first + part.pods):
                node = Node(part.at, place // part.per_node)
                owners[node] = owners.get(node, Fraction(0)) + Fraction(1, run.per_node)
    assert all(part <= 1 for part in owners.values())
    assert all(0 <= node.number < capacity[node.at] for node in owners)
    for one in found:
        assert len(one.domain) >= by_name[one.workload].depth
        assert all(node.at[: len(one.domain)] == one.domain for node in one.nodes)
    for domain in layout.domains():
        assert domain.filled == sum(node.at == domain.at for node in owners)
        assert domain.free >= 0
        shut = [run for run in domain.runs if by_name[run.workload].exclusive]
        assert not shut or not domain.free
