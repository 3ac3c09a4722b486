"""What differs between two versions of an object, named as people would."""

from __future__ import annotations

from typing import Any

import pytest

from gangform.documents.changes import changes, every_leaf, spelled


def told(before: Any, after: Any) -> list[tuple[str, str]]:
    return [
        (spelled(one.path, before if one.way == "removed" else after), one.way)
        for one in changes(before, after)
    ]


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, []),
        ({"a": 1}, {"a": True}, [("a", "changed")]),
        ({"a": 1}, {"b": 1}, [("b", "added"), ("a", "removed")]),
        ({"a": {}}, {"a": {"b": 1}}, [("a.b", "added")]),
        ({"a": ["x"]}, {"a": ["x", "y"]}, [("a", "changed")]),
        ({"a": []}, {"a": [{"name": "x"}]}, [("a[x]", "added")]),
        ({"a": [{"name": "x"}]}, {"a": "x"}, [("a", "changed")]),
        (
            {"env": [{"name": "x", "value": "1"}, {"name": "y"}]},
            {"env": [{"name": "z"}, {"name": "x", "value": "2"}, {"name": "y"}]},
            [("env[z]", "added"), ("env[x].value", "changed")],
        ),
        (
            {"env": [{"name": "x"}, {"name": "y"}]},
            {"env": [{"name": "y"}, {"name": "x"}]},
            [("env", "reordered")],
        ),
        (
            {"containers": [{"name": "vllm", "image": "a"}]},
            {"containers": [{"name": "engine", "image": "a"}]},
            [("containers[engine].name", "changed")],
        ),
        (
            {"containers": [{"name": "vllm", "image": "a", "args": ["x"]}]},
            {
                "containers": [
                    {"name": "proxy", "image": "b", "args": ["y"]},
                    {"name": "engine", "image": "a", "args": ["x"]},
                ]
            },
            [("containers[proxy]", "added"), ("containers[engine].name", "changed")],
        ),
        (
            {"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]},
            {"containers": [{"name": "d", "image": "2"}, {"name": "c", "image": "1"}]},
            [
                ("containers[d].name", "changed"),
                ("containers[c].name", "changed"),
                ("containers", "reordered"),
            ],
        ),
        (
            {"tolerations": [{"key": "a"}, {"key": "b", "effect": "NoSchedule"}]},
            {"tolerations": [{"key": "c", "effect": "NoSchedule"}]},
            [("tolerations[0].key", "changed"), ("tolerations[0]", "removed")],
        ),
        (
            {"env": [{"name": "x"}]},
            {"env": [{"name": "y"}]},
            [("env[y]", "added"), ("env[x]", "removed")],
        ),
        (
            {"volumeMounts": [{"name": "a", "mountPath": "/a"}, {"name": "a", "mountPath": "/b"}]},
            {"volumeMounts": [{"name": "a", "mountPath": "/b"}]},
            [("volumeMounts[a]", "removed")],
        ),
        (
            {"items": [{"x": 1}, {"x": 2}, {"x": 3}]},
            {"items": [{"x": 1}, {"x": 3}]},
            [("items[1]", "removed")],
        ),
        ({"items": [{"x": 1}]}, {"items": [{"x": 2}]}, [("items[0].x", "changed")]),
        (
            {"ports": [{"port": 1}, {"port": 2}]},
            {"ports": [{"port": 1}, {"port": 3}]},
            [("ports[1].port", "changed")],
        ),
        ({"a": {"b/c.d": 1}}, {"a": {"b/c.d": 2}}, [("a[b/c.d]", "changed")]),
    ],
)
def test_differences_are_named(before: Any, after: Any, found: list[tuple[str, str]]) -> None:
    assert told(before, after) == found


def test_a_whole_entry_touches_every_value_inside() -> None:
    (one,) = changes({"a": []}, {"a": [{"name": "x", "b": {"c": [1, 2]}, "d": {}}]})
    assert list(every_leaf(one)) == [
        ("a", 0, "name"),
        ("a", 0, "b", "c", 0),
        ("a", 0, "b", "c", 1),
        ("a", 0, "d"),
    ]


def test_another_order_touches_what_differs_in_a_place() -> None:
    one, two = ({"name": name, "cpu": "1", "gpu": name} for name in "ab")
    (moved,) = changes({"a": [one, two]}, {"a": [two, one]})
    assert list(every_leaf(moved)) == [
        ("a", place, key) for place in (0, 1) for key in ("name", "gpu")
    ]


def test_long_lists_are_compared_in_no_time() -> None:
    many: list[Any] = [{"x": [number] * 5} for number in range(5_000)]
    assert len(changes({"a": many}, {"a": many[1:]})) == 5_000
    named: list[Any] = [{"name": f"a{number}", "x": number} for number in range(2_000)]
    other = [{**one, "name": f"b{one['x']}"} for one in named]
    assert len(changes({"containers": named}, {"containers": other})) == 2_000
