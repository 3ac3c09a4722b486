"""From a line of a file to an object and a field."""

from __future__ import annotations

from gangform.trace.lines import lines

TEXT = """\
apiVersion: v1
kind: Service
metadata:
  name: a
spec:
  ports:
    - name: http
      port: 80
  text: |-
    one
    two
---
apiVersion: v1
kind: Service
metadata:
  name: b
"""


def test_every_line_has_its_innermost_field() -> None:
    found = lines(TEXT, "a.yaml")
    assert list(found) == list(range(1, 17))
    assert [found[number].path for number in range(1, 13)] == [
        ("apiVersion",),
        ("kind",),
        ("metadata",),
        ("metadata", "name"),
        ("spec",),
        ("spec", "ports"),
        ("spec", "ports", 0, "name"),
        ("spec", "ports", 0, "port"),
        ("spec", "text"),
        ("spec", "text"),
        ("spec", "text"),
        None,
    ]
    assert (found[12].key.name, found[13].key.name) == ("a", "b")
    assert found[16].path == ("metadata", "name")


def test_a_text_without_an_object_has_no_lines() -> None:
    assert lines("", "a.yaml") == {}
    assert lines("# nothing\n", "a.yaml") == {}


def test_three_dashes_inside_of_a_text_part_nothing() -> None:
    text = "kind: A\nmetadata: {name: a}\ntext: |\n  ---\n  b\n"
    found = lines(text, "a.yaml")
    assert found[4].path == ("text",)
