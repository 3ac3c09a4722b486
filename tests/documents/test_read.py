"""Reading YAML: strictly for inputs, tolerantly for manifests, and never with a traceback."""

from __future__ import annotations

import time
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.documents.read import Span, WrittenFloat, read_manifests, read_strict

INPUT = """\
# a comment
version: 1
cluster:
  versions: {kubernetes: "1.36", lws: 0.10}
servings:
  - name: r1
    parallelism:
      tensor: 8
  - name: r2
"""


@pytest.fixture(params=["libyaml", "pure"], autouse=True)
def parser(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything holds with libyaml and without."""
    if request.param == "pure":
        monkeypatch.setattr(yaml, "__with_libyaml__", False)
    elif not yaml.__with_libyaml__:
        pytest.skip("PyYAML has no libyaml here")


def codes(text: str, **options: Any) -> list[tuple[str, int]]:
    """Which code on which line."""
    return [
        (f.code.id, int(f.seen["line"])) for f in read_strict(text, "f.yaml", **options).findings
    ]


def what(text: str) -> tuple[str, str]:
    """The only finding's text and cure."""
    (finding,) = read_strict(text, "f.yaml").findings
    return finding.what, finding.fix


def test_plain_data_comes_out() -> None:
    source = read_strict(INPUT, "gangform.yaml")
    assert source.findings == ()
    assert source.value == {
        "version": 1,
        "cluster": {"versions": {"kubernetes": "1.36", "lws": WrittenFloat("0.10")}},
        "servings": [{"name": "r1", "parallelism": {"tensor": 8}}, {"name": "r2"}],
    }


def test_every_value_and_key_knows_its_line_and_column() -> None:
    places = read_strict(INPUT, "g.yaml").places
    assert places.value(("servings", 0, "parallelism", "tensor")) == Span("g.yaml", 8, 15)
    assert places.key(("servings", 0, "parallelism", "tensor")) == Span("g.yaml", 8, 7)
    assert places.value(("servings", 0, "parallelism")) == Span("g.yaml", 8, 7)
    assert places.key(("servings", 0, "parallelism")) == Span("g.yaml", 7, 5)
    assert places.key(("servings", 1)) == Span("g.yaml", 9, 5)
    assert places.value(()) == Span("g.yaml", 2, 1)
    assert str(places.value(("cluster", "versions", "lws"))) == "g.yaml:4"
    assert ("servings", 1, "name") in places
    assert ("servings", 2) not in places


def test_a_path_that_is_missing_has_the_place_of_its_parent() -> None:
    places = read_strict(INPUT, "g.yaml").places
    assert places.value(("servings", 0, "parallelism", "pipeline", "x")) == Span("g.yaml", 8, 7)
    assert places.key(("servings", 0, "parallelism", "pipeline")) == Span("g.yaml", 7, 5)
    assert places.value(("nothing",)) == Span("g.yaml", 2, 1)


def test_a_number_with_a_fraction_remembers_its_spelling() -> None:
    number = read_strict("lws: 0.10\n", "f.yaml").value["lws"]
    assert (number.written, number.read_as, float(number)) == ("0.10", "0.1", 0.1)


def test_everything_wrong_is_said_at_once() -> None:
    text = "a: yes\nb:\nc: 1:30\nd: &x 017\ne: *x\na: 2026-10-31\n1: x\nf: !!str 5\n<<: {}\n"
    assert codes(text) == [
        ("yaml-boolean", 1),
        ("yaml-empty", 2),
        ("yaml-number", 3),
        ("yaml-alias", 4),
        ("yaml-number", 4),
        ("yaml-alias", 5),
        ("yaml-duplicate-key", 6),
        ("yaml-date", 6),
        ("yaml-key", 7),
        ("yaml-alias", 8),
        ("yaml-alias", 9),
    ]


def test_a_duplicate_key_names_both_places() -> None:
    source = read_strict("a:\n  b: 1\n  c: 2\n  b: 3\n", "f.yaml")
    (finding,) = source.findings
    assert finding.what == "`b` is given twice: on line 2 and on line 4"
    assert finding.at == (("a", "b"),)
    assert source.places.value(("a", "b")).line == 4


@pytest.mark.parametrize("word", ["yes", "No", "ON", "off", "y", "N"])
def test_a_word_that_is_sometimes_a_boolean_is_refused(word: str) -> None:
    value = str(word.lower() in ("yes", "on", "y")).lower()
    assert what(f"a: {word}\n") == (
        f"`{word}` without quotes is {value} to YAML 1.1",
        f'write "{word}" for the text, {value} for the boolean',
    )
    assert codes(f'a: "{word}"\n') == []
    assert codes(f"{word}: 1\n") == [("yaml-boolean", 1)]


@pytest.mark.parametrize(
    ("word", "made"),
    [
        ("1:30", "90"),
        ("017", "15"),
        ("0o17", "15"),
        ("0x1F", "31"),
        ("1_000", "1000"),
        ("0b11", "3"),
        ("08", "8"),
        ("1e3", "1E+3"),
        ("-1:00", "-60"),
        (".inf", "no finite number"),
        ("1.5e-3", "0.0015"),
    ],
)
def test_a_number_that_readers_disagree_about_is_refused(word: str, made: str) -> None:
    said, cure = what(f"a: {word}\n")
    assert made in said
    assert f'"{word}"' in cure


@pytest.mark.parametrize(
    "word", ["2026-10-31", "2026-1-2", "2026-10-31T10:00:00Z", "2026-10-31 10:00:00"]
)
def test_a_date_is_refused(word: str) -> None:
    assert codes(f"a: {word}\n") == [("yaml-date", 1)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("-3", -3),
        ("true", True),
        ("False", False),
        ("8Gi", "8Gi"),
        ("a:b", "a:b"),
        ("=", "="),
        ("1.2.3", "1.2.3"),
        ("+1.50", WrittenFloat("+1.50")),
        ("-x", "-x"),
        ("10.0.0.1:80", "10.0.0.1:80"),
        ("'017'", "017"),
        ("|-\n  yes", "yes"),
        ("0" * 5000, "0" * 5000),
    ],
)
def test_ordinary_words_are_what_they_look_like(text: str, value: object) -> None:
    source = read_strict(f"a: {text}\n", "f.yaml")
    assert (source.value, source.findings) == ({"a": value}, ())


@pytest.mark.parametrize("word", ["", "~", "null", "Null", "''", '""'])
def test_nulls_are_refused_and_empty_texts_are_not(word: str) -> None:
    assert codes(f"a: {word}\n") == ([] if "'" in word or '"' in word else [("yaml-empty", 1)])


def test_a_written_null_is_allowed_where_it_is_meant() -> None:
    def merging(path: tuple[str | int, ...]) -> bool:
        return path[:1] == ("merge",)

    text = "merge:\n  a: null\n  b: [~]\n  c:\nother: null\n"
    assert codes(text, nulls=merging) == [("yaml-empty", 4), ("yaml-empty", 5)]
    assert read_strict("merge: {a: null}\n", "f.yaml", nulls=merging).value == {
        "merge": {"a": None}
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a:\n\tb: 1\n", ("yaml-tab", 2)),
        ("a: 1\n  \tb: 1\n", ("yaml-tab", 2)),
        ("a: b: c\n", ("yaml-syntax", 1)),
        ("a: [1,\nb: 2\n", ("yaml-syntax", 1)),
        ('x: 1\na: "never closed\n\n\n', ("yaml-syntax", 2)),
        ("a: @x\n", ("yaml-syntax", 1)),
        ("a: 1\n b: 2\n", ("yaml-syntax", 2)),
        ("a: {{ x }}\n", ("yaml-key", 1)),
        ("? [a]\n: 1\n", ("yaml-key", 1)),
        ("1.5: x\n", ("yaml-key", 1)),
        ("true: x\n", ("yaml-key", 1)),
        ("~: x\n", ("yaml-key", 1)),
        ("x: 1\na: b\0c\n", ("yaml-character", 2)),
        ("a: \x1b[0m\n", ("yaml-character", 1)),
        ("a: \ud800\n", ("yaml-character", 1)),
        ("", ("yaml-empty", 1)),
        ("# only this\n", ("yaml-empty", 1)),
        ("---\n", ("yaml-empty", 2)),
        ("- a\n", ("yaml-one-object", 1)),
        ("text\n", ("yaml-one-object", 1)),
        ("a: 1\n---\nb: 2\n", ("yaml-one-object", 3)),
        ("a: " + "[" * 500 + "\n", ("yaml-limit", 1)),
        ("a: " + "x" * (9 * 2**20), ("yaml-limit", 1)),
    ],
)
def test_what_is_no_input_is_a_finding_with_its_line(text: str, expected: tuple[str, int]) -> None:
    assert codes(text) == [expected]


def test_a_syntax_error_shows_the_line_and_keeps_what_was_found_before() -> None:
    source = read_strict("a: yes\nb: c: d\n", "f.yaml")
    assert [finding.code.id for finding in source.findings] == ["yaml-boolean", "yaml-syntax"]
    assert source.findings[1].what.startswith("`b: c: d`: mapping values are not allowed")
    assert source.places.value(()).line == 2
    assert source.places.value(("a",)).line == 1


def test_a_byte_order_mark_and_foreign_line_ends_are_harmless() -> None:
    source = read_strict("\ufeffa: 1\r\nb:\r\n  c: x\r\n", "f.yaml")
    assert (source.value, source.findings) == ({"a": 1, "b": {"c": "x"}}, ())
    assert source.places.key(("b", "c")) == Span("f.yaml", 3, 3)


def test_an_alias_bomb_is_refused_at_once() -> None:
    text = "a0: &a0 [x, x]\n" + "".join(
        f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 30)
    )
    started = time.process_time()
    assert {code for code, _ in codes(text)} == {"yaml-alias"}
    assert [f.code.id for f in read_manifests(text, "f.yaml")[0].findings] == ["yaml-limit"]
    assert time.process_time() - started < 1


def manifests(text: str) -> list[Any]:
    """The objects of a stream that has nothing broken."""
    documents = read_manifests(text, "m.yaml")
    assert not [finding for document in documents for finding in document.findings]
    return [document.manifest for document in documents]


def test_a_stream_is_read_with_comments_and_without_empty_documents() -> None:
    text = "%YAML 1.1\n---\n# c\na: 1\n---\n---\nnull\n...\n---\n# nothing\n--- {b: 2}\n"
    assert manifests(text) == [{"a": 1}, {"b": 2}]


def test_manifests_are_typed_as_kubernetes_types_them() -> None:
    text = "a: yes\nb: 017\nc: 0.50\nd: 2026-10-31\ne: ~\n1: {on: x}\nf: !!str 5\ng: !!int '7'\nh: [null]\na: off\n"
    assert manifests(text) == [
        {
            "a": False,
            "b": 15,
            "c": WrittenFloat("0.50"),
            "d": "2026-10-31",
            "1": {"true": "x"},
            "f": "5",
            "g": 7,
            "h": [""],
        }
    ]


def test_aliases_and_merge_keys_are_followed() -> None:
    text = "a: &a {x: 1, y: 2}\nb: {<<: *a, y: 3}\nc: *a\nd: {<<: [*a, {z: 4}]}\n"
    (document,) = read_manifests(text, "m.yaml")
    assert document.manifest == {
        "a": {"x": 1, "y": 2},
        "b": {"y": 3, "x": 1},
        "c": {"x": 1, "y": 2},
        "d": {"x": 1, "y": 2, "z": 4},
    }
    assert document.places.value(("b", "x")) == Span("m.yaml", 1, 11)


@pytest.mark.parametrize("text", ["a: *b\n", "a: &a [*a]\n", "&a {*a : 1}\n"])
def test_an_alias_without_a_value_is_a_finding(text: str) -> None:
    (document,) = read_manifests(text, "m.yaml")
    assert [finding.code.id for finding in document.findings] == ["yaml-syntax"]


def test_lists_are_expanded_and_keep_their_places() -> None:
    text = """\
kind: List
apiVersion: v1
items:
- kind: A
- kind: List
  items: [{kind: B}]
---
kind: ServiceList
apiVersion: v1
items:
- metadata: {name: x}
"""
    documents = read_manifests(text, "m.yaml")
    assert [document.manifest for document in documents] == [
        {"kind": "A"},
        {"kind": "B"},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x"}},
    ]
    assert [document.places.value(("kind",)).line for document in documents] == [4, 6, 11]


def test_a_broken_document_spoils_no_other() -> None:
    documents = read_manifests("a: 1\n---\nb: c: d\n---\ne: \x01\n---\nf: 2\n---\ntext\n", "m.yaml")
    assert [document.manifest for document in documents] == [{"a": 1}, {}, {}, {"f": 2}, {}]
    assert [[f.code.id for f in document.findings] for document in documents] == [
        [],
        ["yaml-syntax"],
        ["yaml-character"],
        [],
        ["yaml-one-object"],
    ]
    assert [document.places.value(()).line for document in documents] == [1, 3, 5, 7, 9]


PIECES = [
    "a",
    ":",
    " ",
    "\n",
    "  ",
    "- ",
    "{",
    "}",
    "[",
    "]",
    "'",
    '"',
    "&a",
    "*a",
    "!!x ",
    "<<",
    "|",
    ">",
    "\t",
]
PIECES += [
    "---",
    "...",
    "#",
    "?",
    "%",
    "@",
    "yes",
    "1:30",
    "0.10",
    "~",
    "\r",
    "\0",
    "\ufeff",
    "\x85",
    "\u2028",
    ",",
    "é",
]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_no_text_ends_in_a_traceback(text: str) -> None:
    source = read_strict(text, "f.yaml")
    for finding in source.findings:
        assert int(finding.seen["line"]) >= 1
    for document in read_manifests(text, "f.yaml"):
        assert document.findings or isinstance(document.manifest, dict)


def test_a_key_given_twice_in_a_manifest_is_a_remark() -> None:
    text = "kind: A\nspec:\n  b: 1\n  c: 2\n  b: 3\n---\nkind: B\n"
    first, second = read_manifests(text, "f.yaml")
    assert first.manifest == {"kind": "A", "spec": {"b": 3, "c": 2}}
    (finding,) = first.remarks
    assert finding.code.id == "key-repeated"
    assert finding.what == "`b` is given twice: on line 3 and on line 5"
    assert (first.findings, second.remarks) == ((), ())
    merged = "a: &a {b: 1}\nc: {<<: *a, b: 2}\nd: {<<: *a}\n"
    assert read_manifests(merged, "f.yaml")[0].remarks == ()


def test_halves_of_a_character_in_json_are_joined() -> None:
    (read,) = read_manifests('{"a": "\\ud83d\\ude00 \\\\ud83d \\u0041 \\/"}', "f.json")
    assert read.manifest == {"a": "\U0001f600 \\ud83d A /"}
