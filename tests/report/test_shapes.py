"""What the page says of the search for a shape."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli.conftest import FLEET
from tests.report.reading import Element, read, table

from gangform.inputs.load import load_fleet
from gangform.report.shapes import MOST_LISTED
from gangform.synth import plan_fleet

Made = Callable[..., str]
WRITTEN = "parallelism: {tensor: 8, pipeline: 2}"


def part(page: Element, serving: str) -> Element:
    """The section of a serving."""
    return next(
        one
        for one in page.all("section")
        if one.attributes.get("class") == "serving" and one.own("h3").startswith(serving)
    )


def test_an_open_shape_lists_every_one_that_was_looked_at_and_why_it_lost(
    made: Made, tmp_path: Path
) -> None:
    page = read(made(FLEET.replace(WRITTEN, "parallelism: auto")))
    here = part(page, "r1")
    assert "Shape: what was looked at" in here.text
    assert "chosen, not pinned; " in here.text
    assert "1 request of 32768 tokens (no `concurrency` is declared)" in here.text
    loaded = load_fleet(tmp_path / "gangform.yaml")
    (plan,) = plan_fleet(loaded.fleet, loaded.library)
    search = next(one.search for one in plan.servings if one.name == "r1")
    assert search is not None and search.chosen is not None
    rows = table(page, "Shapes of r1")
    assert [row[0] for row in rows] == [one.parallelism.written for one in search.considered]
    assert rows[0][4] == "chosen"
    assert all(row[4] for row in rows)
    assert [row[4] for row in rows[1:]] == [f"{x.lost}: {x.why}" for x in search.considered[1:]]


def test_a_declared_shape_stands_beside_what_auto_would_take(made: Made) -> None:
    page = read(made(FLEET.replace(WRITTEN, "parallelism: {tensor: 8, pipeline: 4}")))
    here = part(page, "r1")
    assert "Shape: declared, and what `auto` would take" in here.text
    behind = (
        "`auto` would choose {tensor: 8, pipeline: 2}: this one takes more GPUs, 32 instead of 16"
    )
    assert behind in here.text
    first, second, *_ = table(page, "Shapes of r1")
    assert first[0] == "{tensor: 8, pipeline: 4}"
    assert first[4] == "declared, but it takes more GPUs: 32 instead of 16"
    assert second[0::4] == ["{tensor: 8, pipeline: 2}", "chosen"]


def test_what_is_never_looked_at_is_said(made: Made) -> None:
    text = part(read(made(FLEET)), "r1").text
    assert "Not looked at: prefillContext: it takes GPUs" in text
    assert "data without expertParallel" in text
    small = part(read(made(FLEET)), "small").text
    assert "prefillContext" in small
    assert "data without expertParallel" not in small


def test_of_very_many_shapes_the_nearest_are_listed(made: Made) -> None:
    text = FLEET.replace(WRITTEN, "parallelism: auto\n    concurrency: 100000")
    page = read(made(text))
    assert len(table(page, "Shapes of r1")) == MOST_LISTED
    here = part(page, "r1")
    assert "no shape holds the load, this one comes nearest" in here.text
    assert "more, further from the load: gangform plan r1 --shapes -o wide" in here.text


@pytest.mark.parametrize("given", ["fit: {availableKv: 20Gi}"])
def test_what_cannot_be_searched_says_why(made: Made, given: str) -> None:
    page = read(made(FLEET.replace(WRITTEN, f"{WRITTEN}\n    {given}")))
    assert "no other shape was looked at: `fit.availableKv` was printed" in part(page, "r1").text
    assert not [one for one in page.all("caption") if one.text == "Shapes of r1"]
