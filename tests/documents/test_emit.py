"""The emitter alone: what it writes, what it refuses, and that everything it writes is read back."""

from __future__ import annotations

import types
from enum import StrEnum
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.documents.document import Document, Manifest
from gangform.documents.emit import EmitError, emit, emit_with_lines


def written(value: Any) -> str:
    """What stands after `a: `, or after the newline for a block."""
    return emit([{"a": value}]).decode().removeprefix("a:").removeprefix(" ").removesuffix("\n")


def test_leading_keys_come_first_and_the_rest_as_given() -> None:
    manifest: Manifest = {
        "spec": 1,
        "metadata": {"name": "x"},
        "data": 2,
        "kind": "K",
        "apiVersion": "v1",
    }
    assert emit([manifest]) == b"apiVersion: v1\nkind: K\nmetadata:\n  name: x\nspec: 1\ndata: 2\n"


def test_metadata_is_sorted_at_every_level_and_loses_what_is_empty() -> None:
    metadata: dict[str, Any] = {
        "name": "x",
        "labels": {"b": "", "a": "1", "9": "n", "10": "m"},
        "annotations": {},
        "finalizers": [],
        "managed": {"inner": {"deeper": []}},
    }
    lines = emit([{"metadata": metadata}]).decode().split("\n")
    assert lines == [
        "metadata:",
        "  labels:",
        '    "9": "n"',
        '    "10": m',
        '    a: "1"',
        '    b: ""',
        "  name: x",
        "",
    ]


def test_metadata_of_a_template_stays_as_given() -> None:
    template: Manifest = {
        "metadata": {"name": "x", "labels": {}, "annotations": {"b": "c", "a": "d"}}
    }
    assert emit([{"spec": template}]).decode() == (
        "spec:\n  metadata:\n    name: x\n    labels: {}\n    annotations:\n      b: c\n      a: d\n"
    )


def test_keys_like_list_indexes_come_first_by_number_as_in_javascript() -> None:
    manifest = {"b": 1, "10": 2, "9": 3, "01": 4, "4294967295": 5, "4294967294": 6}
    assert list(yaml.safe_load(emit([{"data": manifest}]))["data"]) == [
        "9",
        "10",
        "4294967294",
        "b",
        "01",
        "4294967295",
    ]


def test_lists_are_indented_under_their_key() -> None:
    assert emit([{"a": ["x", {"b": 1, "c": [2, [3]]}, {}, []]}]).decode() == (
        "a:\n  - x\n  - b: 1\n    c:\n      - 2\n      - - 3\n  - {}\n  - []\n"
    )


def test_documents_are_parted_by_a_line() -> None:
    assert emit([{"a": 1}, {"b": "x\n"}, {}]) == b"a: 1\n---\nb: |\n  x\n---\n{}\n"
    assert emit([]) == b""


def test_a_document_is_its_manifest() -> None:
    assert emit([Document(manifest={"a": 1}, builder="t")]) == emit([{"a": 1}])


@pytest.mark.parametrize(
    "text",
    [
        "--flag",
        "a:b",
        "100m",
        "8Gi",
        "$(VAR)",
        "it's",
        "-x",
        "?x",
        "a#b",
        "---",
        "x" * 2600,
        "1.2.3",
        "0x",
        "é🎉",
    ],
)
def test_ordinary_texts_are_plain(text: str) -> None:
    assert written(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "8",
        "yes",
        "No",
        "n",
        "null",
        "~",
        "",
        "1:30",
        "0x1F",
        "017",
        "1e5",
        "e5",
        ".5",
        ".",
        ".inf",
        "1_0",
        "-",
        "- x",
        "2026-10-31",
        "2026-10-31T10:00:00Z",
        "{{ x }}",
        "a: b",
        "a #b",
        "a:",
        "a ",
        " a",
        "%x",
        "@x",
        "`x`",
        "[x]",
    ],
)
def test_texts_that_would_be_read_as_something_else_are_quoted(text: str) -> None:
    assert written(text) == f'"{text}"'


def test_single_quotes_only_around_double_ones() -> None:
    assert written('{"a": 1}') == """'{"a": 1}'"""
    assert written("""{"it's"}""") == r'''"{\"it's\"}"'''


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("a\nb", "|-\n  a\n  b"),
        ("a\nb\n", "|\n  a\n  b"),
        ("a\n\n\nb\n\n", "|+\n  a\n\n\n  b\n"),
        (" a\nb", "|2-\n   a\n  b"),
        ("a\n \nb", "|-\n  a\n   \n  b"),
        ("a\n  ", '"a\\n  "'),
        ("a\r\nb", '"a\\r\\nb"'),
        ("\n", "|+\n  "),
    ],
)
def test_texts_with_newlines_are_literal_blocks(text: str, block: str) -> None:
    assert written(text) == block


def test_control_characters_are_escaped_as_shortly_as_yaml_can() -> None:
    assert written("\0\a\b\v\x1b\x01\r") == r'"\0\a\b\v\e\x01\r"'
    assert written("a\tb") == "a\tb"


def test_numbers_and_booleans_are_written_as_javascript_does() -> None:
    assert [written(value) for value in (True, False, 0, -7, 2**53 - 1)] == [
        "true",
        "false",
        "0",
        "-7",
        "9007199254740991",
    ]


def test_subclasses_are_written_by_their_value() -> None:
    class Tagged(int):
        def __repr__(self) -> str:
            return "tagged"

        __str__ = __repr__

    class Choice(StrEnum):
        A = "yes"

    view = types.MappingProxyType({"b": 1})
    assert emit([{"a": [Tagged(3), Choice.A, view, ("x",)]}]).decode() == (
        'a:\n  - 3\n  - "yes"\n  - b: 1\n  - - x\n'
    )


@pytest.mark.parametrize(
    ("value", "path", "reason"),
    [
        (1.5, "a[0].b", "1.5` is a float"),
        (None, "a[0].b", "None` is a NoneType"),
        ({"x"}, "a[0].b", "is a set"),
        (2**53, "a[0].b", "beyond 2^53"),
        ("=", "a[0].b", "without quotes"),
        ("<<", "a[0].b", "without quotes"),
        ("0o17", "a[0].b", "without quotes"),
        ("0X1F", "a[0].b", "without quotes"),
        ("-_1", "a[0].b", "without quotes"),
        ("a\u2028b", "a[0].b", "U+2028"),
        ("\x7f", "a[0].b", "U+007F"),
        ("\ud800", "a[0].b", "U+D800"),
        (" \n", "a[0].b", "only blanks"),
        ("\ta\nb", "a[0].b", "begins with a tab"),
        ("x" * 40 + "\n \n\x01", "a[0].b", "changes the text"),
        ({"=": 1}, "a[0].b[=]", "without quotes"),
        ({"__proto__": 1}, "a[0].b.__proto__", "JavaScript drops"),
        ({"x" * 1025: 1}, "a[0].b.xxx", "longer than 1024"),
        ({7: 1}, "a[0].b.7", "is a int; keys are texts"),
    ],
)
def test_what_is_not_read_back_is_refused_with_its_path(value: Any, path: str, reason: str) -> None:
    with pytest.raises(EmitError) as caught:
        emit([{}, {"a": [{"b": value}]}])
    assert isinstance(caught.value, TypeError)
    assert str(caught.value).startswith(f"document 1: {path}")
    assert reason in str(caught.value)


def test_nothing_empty_in_a_list_of_metadata() -> None:
    with pytest.raises(EmitError, match=r"metadata\.ownerReferences\[0\]: cdk8s makes null"):
        emit([{"metadata": {"ownerReferences": [{}]}}])


def test_a_key_never_separates_documents() -> None:
    with pytest.raises(EmitError, match="separate documents"):
        emit([{"---": 1}])


def test_every_line_knows_its_value() -> None:
    manifests: list[dict[str, Any]] = [
        {
            "kind": "A",
            "spec": {"args": ["x", "a\n\nb\n"], "list": [{"name": "n", "port": 1}, [2]], "no": {}},
        },
        {"kind": "B", "10": 1},
    ]
    content, lines = emit_with_lines(manifests)
    assert content == emit(manifests)
    assert list(lines.items()) == [
        (1, (0, ("kind",))),
        (2, (0, ("spec",))),
        (3, (0, ("spec", "args"))),
        (4, (0, ("spec", "args", 0))),
        (5, (0, ("spec", "args", 1))),
        (6, (0, ("spec", "args", 1))),
        (7, (0, ("spec", "args", 1))),
        (8, (0, ("spec", "args", 1))),
        (9, (0, ("spec", "list"))),
        (10, (0, ("spec", "list", 0, "name"))),
        (11, (0, ("spec", "list", 0, "port"))),
        (12, (0, ("spec", "list", 1, 0))),
        (13, (0, ("spec", "no"))),
        (15, (1, ("10",))),
        (16, (1, ("kind",))),
    ]


ALPHABET = st.characters(exclude_categories=["Cs"]) | st.sampled_from(" \n\t:#-'\"\\|>%0123=")
TEXTS = st.text(ALPHABET, max_size=12)
NODES = st.recursive(
    TEXTS | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=120, deadline=None)
@given(st.lists(st.dictionaries(TEXTS, NODES, max_size=3), max_size=2))
def test_whatever_is_written_is_read_back(manifests: list[dict[str, Any]]) -> None:
    for manifest in manifests:
        manifest.pop("metadata", None)
    try:
        content, lines = emit_with_lines(manifests)
    except EmitError:
        return
    # PyYAML without libyaml takes no tab inside a plain text; every other reader does.
    if b"\t" not in content:
        assert list(yaml.safe_load_all(content)) == manifests
    if yaml.__with_libyaml__:
        assert list(yaml.load_all(content, yaml.CSafeLoader)) == manifests
    unowned = set(range(1, content.count(b"\n") + 1)) - lines.keys()
    assert len(unowned) == max(0, len(manifests) - 1)


def test_what_says_nothing_of_its_truth_is_refused_with_its_place() -> None:
    class Array:
        def __bool__(self) -> bool:
            raise ValueError("the truth of an array is ambiguous")

    odd: Any = Array()
    for node in (odd, [odd]):
        with pytest.raises(EmitError, match=r"a(\[0\])?: .* is a Array"):
            emit([{"kind": "A", "a": node}])
