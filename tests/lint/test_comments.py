"""Comments that hide a finding, and comments that do not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gangform.lint.comments import comments
from gangform.lint.report import Report

Run = Callable[..., Report]
OBJECT = """\
# head
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata:
  name: r1
  labels: {a: "b c"}
spec:
  leaderWorkerTemplate:
    size: 2
    workerTemplate:
      spec:
        containers:
          - name: engine
            env:
              - name: X
                value: $X
            image: vllm/vllm-openai:latest
            resources: {limits: {nvidia.com/gpu: 8}}
"""


def codes(run: Run, text: str) -> dict[str, int]:
    report = run("-", stdin=text.encode())
    return {each.finding.code.id: each.span.line for each in report.findings}


def hidden(run: Run, code: str, after: str, comment: str, *, above: bool = False) -> dict[str, int]:
    """What is left when a comment stands behind or above the line that holds a text."""
    lines = OBJECT.splitlines()
    number = next(n for n, line in enumerate(lines) if after in line)
    indent = " " * (len(lines[number]) - len(lines[number].lstrip()))
    if above:
        lines.insert(number, f"{indent}# gangform: ignore[{comment}")
    else:
        lines[number] += f"  # gangform: ignore[{comment}"
    return codes(run, "\n".join(lines) + "\n")


def test_the_object_has_what_is_hidden_below(run: Run) -> None:
    found = codes(run, OBJECT)
    assert found["metadata-refused"] == 6
    assert found["shell-variable-in-value"] == 16
    assert found["image-tag-moves"] == 17


def test_behind_a_value_it_is_about_that_line(run: Run) -> None:
    left = hidden(run, "image-tag-moves", "image:", "image-tag-moves] pinned by a webhook")
    assert "image-tag-moves" not in left and "ignore-unused" not in left
    left = hidden(run, "image-tag-moves", "- name: engine", "image-tag-moves] pinned")
    assert "image-tag-moves" in left and left["ignore-unused"] == 13


@pytest.mark.parametrize(
    "place", ["image:", "- name: engine", "containers:", "spec:", "apiVersion"]
)
def test_above_a_field_it_is_about_all_inside(run: Run, place: str) -> None:
    left = hidden(run, "image-tag-moves", place, "image-tag-moves] pinned", above=True)
    assert "image-tag-moves" not in left and "ignore-unused" not in left


def test_above_another_field_it_is_unused(run: Run) -> None:
    left = hidden(run, "image-tag-moves", "env:", "image-tag-moves] pinned", above=True)
    assert left["ignore-unused"] == 14
    assert "image-tag-moves" in left


def test_several_codes_and_several_comments(run: Run) -> None:
    both = "# gangform: ignore[metadata-refused, image-tag-moves] a demonstration\n"
    other = "# gangform: ignore[shell-variable-in-value] expanded by the entry point\n"
    left = codes(run, both + other + "---\n" + OBJECT)
    assert not {"metadata-refused", "image-tag-moves", "shell-variable-in-value"} & set(left)
    assert not any(code.startswith("ignore-") for code in left)


def test_a_reason_is_asked_for(run: Run) -> None:
    left = hidden(run, "image-tag-moves", "image:", "image-tag-moves]")
    assert left["ignore-without-reason"] == 17
    assert "image-tag-moves" not in left


@pytest.mark.parametrize("comment", ["image-tag-move] typing error", "] nothing", " ] nothing"])
def test_a_code_has_to_exist(run: Run, comment: str) -> None:
    left = hidden(run, "image-tag-moves", "image:", comment)
    assert left["ignore-unknown-code"] == 17
    assert "image-tag-moves" in left


def test_a_code_that_lacks_its_context_is_not_unused(run: Run) -> None:
    left = hidden(run, "", "spec:", "field-pruned-by-release] from 0.11 on", above=True)
    assert "ignore-unused" not in left


def test_findings_about_the_text_are_hidden_too(run: Run) -> None:
    repeated = OBJECT.replace("  name: r1\n", "  name: r1\n  name: r1\n")
    assert codes(run, repeated)["key-repeated"] == 6
    meant = repeated.replace("r1\n  labels", "r1  # gangform: ignore[key-repeated] x\n  labels")
    assert "key-repeated" not in codes(run, meant)


@pytest.mark.parametrize(
    "text",
    [
        "a: '# gangform: ignore[x] y'\n",
        'a: " # gangform: ignore[x] y"\n',
        "a: b# gangform: ignore[x] y\n",
        "a: |\n  # gangform: ignore[x] y\n  b\n\n  # gangform: ignore[x] y\n",
        "a: >-\n  b # gangform: ignore[x] y\n",
        "- |+ # comment\n  # gangform: ignore[x] y\n",
        "a: b # gangform ignore[x]\n",
    ],
)
def test_text_is_no_comment(text: str) -> None:
    assert comments(text) == ()


@pytest.mark.parametrize(
    ("text", "about", "inside"),
    [
        ("a: it's  # gangform: ignore[x] y\n", 1, False),
        ("a: 'it''s'  #gangform:ignore[x] y\n", 1, False),
        ("a: |\n  b\nc: d  # gangform: ignore[x] y\n", 3, False),
        ("# gangform: ignore[x] y\n\n# more\n---\na: b\n", 5, True),
        ("a:\r\n  # gangform: ignore[x] y\r\n  b: c\r\n", 3, True),
        ("# gangform: ignore[x] y\n", 1, True),
    ],
)
def test_a_comment_is_about_a_line(text: str, about: int, inside: bool) -> None:
    (comment,) = comments(text)
    assert (comment.about, comment.inside) == (about, inside)
    assert (comment.codes, comment.reason) == (("x",), "y")
