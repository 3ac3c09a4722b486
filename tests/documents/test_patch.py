"""Patches: what they change, what they refuse, and that they leave alone what they are given."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangform.documents.patch import PatchError, apply_json, merge, touched
from gangform.documents.read import WrittenFloat

POD: dict[str, Any] = {
    "metadata": {"name": "p", "labels": {"a": "1"}},
    "spec": {
        "hostNetwork": True,
        "containers": [
            {"name": "vllm", "args": ["x", "y"], "env": [{"name": "A", "value": "1"}]},
            {"name": "proxy", "image": "p:1"},
        ],
        "ports": [{"port": 80}],
    },
}


def merged(patch: dict[str, Any]) -> Any:
    """The pod after a patch; the pod itself must not change."""
    before, given_patch = copy.deepcopy(POD), copy.deepcopy(patch)
    after = merge(POD, patch)
    assert (before, given_patch) == (POD, patch)
    return after


def test_maps_are_merged_by_key() -> None:
    assert merged({"metadata": {"labels": {"b": "2"}}})["metadata"] == {
        "name": "p",
        "labels": {"a": "1", "b": "2"},
    }


def test_null_deletes_a_key_and_is_never_kept() -> None:
    after = merged(
        {"spec": {"hostNetwork": None, "absent": None, "new": {"x": None, "y": [{"z": None}]}}}
    )
    assert "hostNetwork" not in after["spec"]
    assert "absent" not in after["spec"]
    assert after["spec"]["new"] == {"y": [{}]}


def test_lists_of_named_maps_are_merged_by_name() -> None:
    env = [{"name": "B", "value": "2"}, {"name": "A", "value": "3"}]
    after = merged({"spec": {"containers": [{"name": "vllm", "env": env}, {"name": "new"}]}})
    assert [container["name"] for container in after["spec"]["containers"]] == [
        "vllm",
        "proxy",
        "new",
    ]
    assert after["spec"]["containers"][0]["args"] == ["x", "y"]
    assert after["spec"]["containers"][0]["env"] == [
        {"name": "A", "value": "3"},
        {"name": "B", "value": "2"},
    ]


def test_an_entry_of_a_named_list_can_be_deleted() -> None:
    after = merged({"spec": {"containers": [{"name": "proxy", "$patch": "delete"}]}})
    assert [container["name"] for container in after["spec"]["containers"]] == ["vllm"]


def test_lists_without_names_are_replaced() -> None:
    after = merged(
        {"spec": {"ports": [{"port": 81}], "containers": [{"name": "vllm", "args": ["z"]}]}}
    )
    assert after["spec"]["ports"] == [{"port": 81}]
    assert after["spec"]["containers"][0]["args"] == ["z"]
    assert merged({"spec": {"containers": []}})["spec"]["containers"] == []
    assert merged({"spec": {"ports": [{"name": "http", "port": 1}]}})["spec"]["ports"] == [
        {"name": "http", "port": 1}
    ]


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        ({"metadata": "x"}, "metadata: a plain value cannot be merged into a map"),
        (
            {"spec": {"containers": {"name": "x"}}},
            "spec.containers: a map cannot be merged into a list",
        ),
        (
            {"spec": {"hostNetwork": []}},
            "spec.hostNetwork: a list cannot be merged into a plain value",
        ),
        (
            {"spec": {"n": WrittenFloat("0.50")}},
            "spec.n: `0.50` is no text, whole number or boolean",
        ),
        ({"spec": {"n": [None]}}, "spec.n[0]: a manifest holds no null"),
        ({"spec": {"$patch": "replace"}}, r"spec.[$patch]: only `$patch: delete`"),
        ({"spec": {"containers": [{"name": "prox", "$patch": "delete"}]}}, "did you mean `proxy`?"),
        (
            {"spec": {"containers": [{"name": "proxy", "image": {}}]}},
            "spec.containers[1].image: a map",
        ),
    ],
)
def test_a_patch_that_does_not_fit_is_refused_with_its_path(
    patch: dict[str, Any], message: str
) -> None:
    with pytest.raises(PatchError) as caught:
        merged(patch)
    assert message.replace(".[", "[") in str(caught.value)


def applied(*operations: dict[str, Any]) -> Any:
    """The pod after operations; the pod itself must not change."""
    before, given_operations = copy.deepcopy(POD), copy.deepcopy(operations)
    after = apply_json(POD, operations)
    assert (before, given_operations) == (POD, operations)
    return after


def test_the_six_operations_do_what_rfc_6902_says() -> None:
    after = applied(
        {"op": "test", "path": "/spec/hostNetwork", "value": True},
        {"op": "add", "path": "/metadata/labels/x~1y~0z", "value": "n"},
        {"op": "add", "path": "/spec/containers/0/args/1", "value": "between"},
        {"op": "add", "path": "/spec/containers/0/args/-", "value": "last"},
        {"op": "replace", "path": "/spec/ports/0/port", "value": 81},
        {"op": "copy", "from": "/spec/ports/0", "path": "/spec/ports/-"},
        {"op": "replace", "path": "/spec/ports/0/port", "value": 82},
        {"op": "move", "from": "/spec/containers/1", "path": "/spec/containers/0"},
        {"op": "remove", "path": "/spec/hostNetwork"},
    )
    assert after == {
        "metadata": {"name": "p", "labels": {"a": "1", "x/y~z": "n"}},
        "spec": {
            "containers": [
                {"name": "proxy", "image": "p:1"},
                {
                    "name": "vllm",
                    "args": ["x", "between", "y", "last"],
                    "env": [{"name": "A", "value": "1"}],
                },
            ],
            "ports": [{"port": 82}, {"port": 81}],
        },
    }


def test_the_whole_object_can_be_replaced_by_another() -> None:
    assert applied({"op": "replace", "path": "", "value": {"a": 1}}) == {"a": 1}


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (
            {"op": "replace", "path": "/spec/port", "value": 1},
            "spec.port: operation 0 (replace /spec/port): there",
        ),
        ({"op": "replace", "path": "/spec/port", "value": 1}, "did you mean `ports`?"),
        ({"op": "remove", "path": "/spec/containers/7"}, "spec.containers[7]: "),
        ({"op": "remove", "path": "/spec/containers/7"}, "the list has 2 entries, counted from 0"),
        ({"op": "remove", "path": "/spec/containers/01"}, "a list is entered by an index"),
        ({"op": "remove", "path": "/spec/containers/-"}, "a list is entered by an index"),
        ({"op": "add", "path": "/spec/containers/3", "value": 1}, "the list has 2 entries"),
        (
            {"op": "add", "path": "/spec/hostNetwork/x", "value": 1},
            "a plain value has nothing inside",
        ),
        ({"op": "add", "path": "/spec/a/b", "value": 1}, "there is no `a` here"),
        ({"op": "add", "path": "/spec/a"}, "needs a `value`"),
        ({"op": "add", "path": "/spec/a", "value": None}, "holds no null"),
        ({"op": "add", "path": "spec", "value": 1}, "is a JSON pointer such as /spec/replicas"),
        ({"op": "add", "path": "/a~2b", "value": 1}, "is written `~0`"),
        ({"op": "test", "path": "/spec/hostNetwork", "value": 1}, "it is not 1"),
        ({"op": "copy", "path": "/a"}, "`from` is a JSON pointer"),
        ({"op": "move", "from": "/spec", "path": "/spec/ports/0"}, "cannot move into itself"),
        ({"op": "remove", "path": ""}, "the whole object cannot be removed"),
        ({"op": "replace", "path": "", "value": []}, "an object stays a map"),
        ({"op": "put", "path": "/a"}, "`put` is not one of add, remove"),
        ({"path": "/a"}, "`None` is not one of"),
    ],
)
def test_an_operation_that_does_not_fit_is_refused(operation: dict[str, Any], message: str) -> None:
    with pytest.raises(PatchError) as caught:
        applied(operation)
    assert message in str(caught.value)


def test_touched_names_the_leaves_that_differ() -> None:
    after = merged(
        {"metadata": {"labels": {"a": "2", "b": "3"}}, "spec": {"ports": [], "hostNetwork": None}}
    )
    assert touched(POD, after) == [
        ("metadata", "labels", "a"),
        ("metadata", "labels", "b"),
        ("spec", "hostNetwork"),
        ("spec", "ports", 0, "port"),
        ("spec", "ports"),
    ]
    assert touched(POD, POD) == []
    assert touched({"a": 1}, {"a": True}) == [("a",)]


def test_an_entry_before_others_does_not_touch_them() -> None:
    after = applied(
        {"op": "add", "path": "/spec/containers/0", "value": {"name": "first", "image": "f"}}
    )
    assert touched(POD, after) == [
        ("spec", "containers", 0, "name"),
        ("spec", "containers", 0, "image"),
    ]
    turned = applied({"op": "move", "from": "/spec/containers/1", "path": "/spec/containers/0"})
    assert touched(POD, turned) == [("spec", "containers")]


KEYS = st.sampled_from(["name", "a", "b", "c"])
NODES = st.recursive(
    st.booleans() | st.integers(0, 2) | st.sampled_from(["x", "y"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)
MAPS = st.dictionaries(KEYS, NODES, max_size=3)


@given(MAPS, MAPS)
def test_nothing_is_touched_exactly_when_nothing_differs(
    before: dict[str, Any], after: dict[str, Any]
) -> None:
    assert (touched(before, after) == []) == (repr_sorted(before) == repr_sorted(after))


def repr_sorted(node: Any) -> Any:
    """A text that is equal for what is equal as JSON."""
    if isinstance(node, dict):
        return "{" + ",".join(f"{key}:{repr_sorted(node[key])}" for key in sorted(node)) + "}"
    return f"[{','.join(map(repr_sorted, node))}]" if isinstance(node, list) else repr(node)


@given(MAPS, MAPS)
def test_a_merge_done_twice_is_a_merge_done_once(
    manifest: dict[str, Any], patch: dict[str, Any]
) -> None:
    try:
        once = merge(manifest, patch)
    except PatchError:
        return
    assert merge(once, patch) == once


@given(MAPS, MAPS)
def test_a_tree_is_built_by_adding_its_keys(
    manifest: dict[str, Any], other: dict[str, Any]
) -> None:
    adds = [{"op": "add", "path": f"/{key}", "value": value} for key, value in other.items()]
    assert apply_json(manifest, adds) == manifest | other
