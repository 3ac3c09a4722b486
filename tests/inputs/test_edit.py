"""One value is replaced, and every other byte stays."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.findings import Path
from gangform.inputs.edit import replaced
from gangform.inputs.files import read_text

AT: Path = ("servings", 0, "parallelism")
NEW = "{tensor: 8, pipeline: 2}"


def edited(text: str, *paths: Path) -> str | None:
    before = read_text(text, "gangform.yaml")
    assert before.findings == ()
    return replaced(text, before, dict.fromkeys(paths or (AT,), ("auto", NEW)))


@pytest.mark.parametrize("word", ["auto", '"auto"', "'auto'"])
@pytest.mark.parametrize(
    "frame",
    [
        "servings:\n  - name: a  # auto\n    parallelism: {}\n    groups: 2\n",
        "servings:\n  - name: a\n    parallelism:   {}   # parallelism: auto\n",
        "servings:\n  - {{name: a, parallelism: {}, groups: 2}}\n",
        "servings: [{{parallelism: {}}}]",
        "servings:\n  - parallelism:\n      # on a line of its own\n      {}\n    name: a\n",
        "servings:\r\n  - name: a\r\n    parallelism: {} # kept\r\n    groups: 2\r\n",
        "\ufeffservings:\n  - parallelism: {}\n",
        "\ufeff{{servings: [{{parallelism: {}}}]}}\n",
        "# ä€😀\u2028# auto\nservings:\n  - note: 'ä€😀: auto'\n    parallelism: {}\n",
        "servings:\n  - {{note: 'ä€😀', parallelism: {}}}\n\n\n",
    ],
)
def test_nothing_but_the_value_changes(frame: str, word: str) -> None:
    assert edited(frame.format(word)) == frame.format(NEW)


def test_several_values_of_a_file_are_replaced_at_once() -> None:
    text = "servings:\n  - {parallelism: auto, groups: 1}\n  - parallelism: auto\n  - parallelism: auto\n"
    made = edited(text, ("servings", 0, "parallelism"), ("servings", 2, "parallelism"))
    assert made == (
        f"servings:\n  - {{parallelism: {NEW}, groups: 1}}\n  - parallelism: auto\n  - parallelism: {NEW}\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        'servings: [{parallelism: "au\\u0074o"}]\n',
        "servings:\n  - parallelism: >-\n      auto\n",
        "servings:\n  - parallelism: |-\n      auto\n",
        "servings:\n  - parallelism: automatic\n",
        "servings:\n  - groups: 2\n",
    ],
)
def test_what_cannot_be_cut_is_left_alone(text: str) -> None:
    assert edited(text) is None


@settings(deadline=None)
@given(
    before=st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30),
    after=st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=30),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_comments_of_any_kind_stay(before: str, after: str, end: str, mark: str) -> None:
    lines = [f"#{before}", "servings:", "- parallelism: {} #" + after, "  groups: 2", ""]
    frame = mark + end.join(lines)
    text = frame.replace("{}", "auto", 1) if "{}" not in before else ""
    read = read_text(text, "gangform.yaml")
    if read.findings or read.value.get("servings") != [{"parallelism": "auto", "groups": 2}]:
        return  # a line end of another kind, or a character that YAML forbids
    assert edited(text) == frame.replace("{}", NEW, 1)
