"""The topology of nodes: known labels, coarse to fine as it is seen."""

from __future__ import annotations

from collections.abc import Mapping

from tests.inputs.nodes import AWS, H100, node, racked

from gangform.apis.nodes import NodeView, read_node
from gangform.inputs.levels import observe

HOST = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
CLIQUE = "nvidia.com/gpu.clique"


def nodes(*labels: Mapping[str, str]) -> list[NodeView]:
    return [read_node(node(f"n{i}", {**H100, **one})) for i, one in enumerate(labels)]


def test_a_providers_levels_stand_in_their_order_with_their_domains() -> None:
    seen = observe([read_node(one) for one in racked(10)])
    assert seen.keys == (f"{AWS}1", f"{AWS}2", f"{AWS}3", HOST)
    assert seen.domains == (
        (("spine", "row-0", "rack-0"), 4),
        (("spine", "row-0", "rack-1"), 4),
        (("spine", "row-1", "rack-2"), 2),
    )
    assert not seen.lacking and not seen.crossing


def test_names_used_again_under_another_domain_are_two_domains() -> None:
    seen = observe(
        nodes(*({f"{AWS}1": f"s{s}", f"{AWS}3": f"r{r}"} for s in (0, 1, 2) for r in (0, 1)))
    )
    assert seen.keys == (f"{AWS}1", f"{AWS}3", HOST)
    assert len(seen.domains) == 6


def test_labels_of_two_providers_are_ordered_by_what_lies_in_what() -> None:
    # Two zones with two racks each; each rack holds two cliques.
    labels = [
        {ZONE: f"z{i // 8}", f"{AWS}3": f"r{i // 4}", CLIQUE: f"c{i // 2}"} for i in range(16)
    ]
    assert observe(nodes(*labels)).keys == (ZONE, f"{AWS}3", CLIQUE, HOST)
    # Here the clique spans racks.
    labels = [{f"{AWS}3": f"r{i // 2}", CLIQUE: f"c{i // 8}"} for i in range(16)]
    assert observe(nodes(*labels)).keys == (CLIQUE, f"{AWS}3", HOST)


def test_a_label_that_crosses_another_is_no_level() -> None:
    labels = [{f"{AWS}3": f"r{i // 4}", CLIQUE: f"c{i % 3}"} for i in range(12)]
    seen = observe(nodes(*labels))
    assert seen.keys == (f"{AWS}3", HOST)
    assert seen.crossing == ((CLIQUE, f"{AWS}3"),)


def test_one_zone_is_no_level_and_one_switch_is() -> None:
    assert observe(nodes(*[{ZONE: "z"}] * 3)).keys == ()
    assert observe(nodes(*[{ZONE: "z", f"{AWS}1": "s"}] * 3)).keys == (f"{AWS}1", HOST)


def test_nodes_without_a_label_are_in_no_domain() -> None:
    seen = observe(
        nodes({f"{AWS}3": "r0"}, {f"{AWS}3": "r0"}, {f"{AWS}3": ""}, {}, {f"{AWS}3": "r"})
    )
    assert seen.lacking == ((f"{AWS}3", ("n2", "n3")),)
    assert seen.domains == ((("r",), 1), (("r0",), 2))
    # A label that most nodes have not is none of the pool's.
    assert observe(nodes({f"{AWS}3": "r0"}, {}, {})).keys == ()


def test_declared_levels_are_taken_as_they_are() -> None:
    wanted = ("example.com/rack", HOST)
    seen = observe(nodes({"example.com/rack": "a"}, {f"{AWS}3": "r0"}), wanted)
    assert seen.keys == wanted
    assert seen.domains == ((("a",), 1),)
    assert seen.lacking == (("example.com/rack", ("n1",)),)
    assert observe(nodes({}), (HOST,)).domains == ()
