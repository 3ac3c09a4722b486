"""Walking over inputs, plans and manifests, and putting another value in."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gangform.documents.document import dig
from gangform.findings import Path
from gangform.inputs.serving import Parallelism
from gangform.trace.tree import at, differing, ends, leaves, others, replaced, without
from gangform.units import Bytes, Resources, Seconds


class Record(NamedTuple):
    """A section of a plan."""

    number: int
    sizes: tuple[Bytes, ...]
    amounts: Resources
    split: Parallelism


RECORD = Record(
    2, (Bytes.gib(1), Bytes.gib(2)), Resources({"cpu": 1000}), Parallelism(tensor=8, pipeline=2)
)
MANIFESTS = st.recursive(
    st.integers() | st.text() | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


def test_every_single_value_has_a_path() -> None:
    found = dict(leaves(RECORD))
    assert found["number",] == 2
    assert found["sizes", 1] == Bytes.gib(2)
    assert found["amounts", "cpu"] == 1000
    assert found["split", "prefillContext"] == 1
    assert all(at(RECORD, path) == value for path, value in found.items())
    assert {path[0] for path, _ in leaves(RECORD, models=False)} == {"number", "sizes", "amounts"}


def test_another_value_changes_nothing_else() -> None:
    for path, value in leaves(RECORD):
        for other in others(value):
            changed = replaced(RECORD, path, other)
            assert type(changed) is Record
            assert dict(leaves(changed)) == {**dict(leaves(RECORD)), path: other}
    assert RECORD.split.tensor == 8


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (True, [False]),
        (0, [1]),
        (8, [17, 4]),
        (Seconds(10), [Seconds(21), Seconds(5)]),
        (Decimal("0.9"), [Decimal("1.8"), Decimal("0.45")]),
        (Fraction(9, 10), [Fraction(9, 5), Fraction(9, 20)]),
        ("llm", ["llmx"]),
        ("0.33.0", ["0.33.1"]),
        ("0.9", ["0.10", "0.8"]),
        (Resources({"cpu": 1}), [Resources({"cpu": 2})]),
        (None, []),
    ],
)
def test_other_values_are_of_the_same_type(value: object, wanted: list[object]) -> None:
    found = list(others(value))
    assert found == wanted
    assert all(type(one) is type(value) for one in found)


@given(MANIFESTS)
def test_a_manifest_does_not_differ_from_itself(manifest: Any) -> None:
    assert list(differing(manifest, manifest)) == []


@given(MANIFESTS, st.data())
def test_one_other_value_is_one_difference(manifest: Any, data: st.DataObject) -> None:
    single = [path for path in ends(manifest) if isinstance(dig(manifest, *path), (str, int))]
    if not single:
        return
    path = data.draw(st.sampled_from(single))
    other = next(others(dig(manifest, *path)))
    assert path in set(differing(manifest, replaced(manifest, path, other)))


@given(MANIFESTS)
def test_every_end_is_there_and_can_be_taken_away(manifest: Any) -> None:
    paths = list(ends(manifest))
    assert len(set(paths)) == len(paths)
    for path in paths:
        if path:
            left = without(manifest, path)
            assert path not in set(ends(left)) or isinstance(path[-1], int)
            assert len(list(ends(left))) <= len(paths)


@pytest.mark.parametrize(
    ("before", "after", "paths"),
    [
        ({"a": 1, "b": 2}, {"a": 1}, [("b",)]),
        ({"a": {"b": 1, "c": 2}}, {}, [("a", "b"), ("a", "c")]),
        ({"a": True}, {"a": 1}, [("a",)]),
        (["--a=1", "--b=2"], ["--new", "--a=1", "--b=3"], [(1,)]),
        ([{"name": "a", "v": 1}, {"name": "b", "v": 2}], [{"name": "b", "v": 2}], None),
        ([{"name": "a", "v": 1}], [{"name": "c", "v": 1}], [(0, "name")]),
        (["a", "a", "b"], ["a", "a"], [(2,)]),
    ],
)
def test_entries_are_known_by_their_names(
    before: Any, after: Any, paths: list[Path] | None
) -> None:
    wanted = [(0, "name"), (0, "v")] if paths is None else paths
    assert list(differing(before, after)) == wanted
