"""Structures as they are written, and departures from them."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.apis.served import KINDS
from gangform.apis.structure import departures, elsewhere, structure
from gangform.apis.versions import Release

TREE = """
spec!
  size~ int 1..8
  name str
  share amount
  stop Hold|None
  loud bool
  items[] 1..2
    key! str
  free{}
  later int @0.11
"""


def found(spec: Any, release: Release | None = None) -> list[tuple[str, str]]:
    root = structure(TREE)
    return [
        (each.kind, ".".join(map(str, each.path)))
        for each in departures({"spec": spec}, root, release)
    ]


def test_what_a_structure_has_is_no_departure() -> None:
    assert (
        found(
            {
                "size": 8,
                "name": "a",
                "share": "25%",
                "stop": "Hold",
                "loud": True,
                "items": [{"key": "a"}],
                "free": {"anything": {"at": "all"}},
                "later": 1,
            }
        )
        == []
    )
    assert found({"size": None, "share": 1}) == []


@pytest.mark.parametrize(
    ("spec", "kind", "path"),
    [
        ({"sise": 1}, "unknown", "spec.sise"),
        ({"size": 0}, "value", "spec.size"),
        ({"size": "2"}, "value", "spec.size"),
        ({"size": True}, "value", "spec.size"),
        ({"name": 7}, "value", "spec.name"),
        ({"stop": "hold"}, "value", "spec.stop"),
        ({"loud": "yes"}, "value", "spec.loud"),
        ({"items": []}, "value", "spec.items"),
        ({"items": {}}, "value", "spec.items"),
        ({"items": [{}]}, "absent", "spec.items.0.key"),
        ({"items": [{"key": "a", "kex": "b"}]}, "unknown", "spec.items.0.kex"),
        ({"free": []}, "value", "spec.free"),
        (7, "value", "spec"),
    ],
)
def test_a_departure_is_found_at_its_place(spec: Any, kind: str, path: str) -> None:
    assert found(spec) == [(kind, path)]


def test_a_field_is_newer_than_the_release_that_is_run() -> None:
    assert found({"later": 1}, Release(0, 10)) == [("newer", "spec.later")]
    assert found({"later": 1}, Release(0, 11)) == []


def test_what_is_refused_without_a_field_says_so() -> None:
    assert [each.kind for each in departures({}, structure(TREE), None)] == ["absent"]


def test_a_field_is_found_elsewhere() -> None:
    assert list(elsewhere("key", structure(TREE))) == ["spec.items[].key"]


def test_every_structure_can_be_read() -> None:
    trees = [each.structure for rows in KINDS.values() for each in rows.values()]
    for tree in filter(None, trees):
        assert {"metadata", "apiVersion", "kind", "status"} <= structure(tree).fields.keys()
