"""Every line of every file that is shipped has an answer."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from gangform.cli import origins, traced
from gangform.cli.selection import Selection, select
from gangform.findings import Path as Keys
from gangform.trace.answer import Answer, answer
from gangform.trace.lines import lines
from gangform.trace.subject import Subject

ROOT = Path(__file__).parents[2]
FILES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "dist").glob("*/*.yaml"))
BY_DEFAULT = ("dist/prod-kueue-next/foundation.k8s.yaml",)
"""The others take long; they are asked for by mark."""
DECIDES = ("inputs", "mayBeSet", "defaults", "patch", "form", "fixed")
"""Who decides a value: one of these is always said."""


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


@pytest.fixture
def chosen(monkeypatch: pytest.MonkeyPatch) -> Selection:
    """The shipped fleet; its files are taken apart once, not once a line."""
    found = select(Namespace(file=None, cluster=None, servings=[]))
    subjects = list(traced.subjects(found))

    def known(_: Selection) -> Iterator[tuple[Subject, str]]:
        yield from subjects

    def once(subject: Subject, index: int, path: Keys) -> Answer:
        subject.causes()
        return answer(subject, index, path)

    monkeypatch.setattr(traced, "subjects", known)
    monkeypatch.setattr(traced, "lines", cache(lines))
    monkeypatch.setattr(origins, "answer", once)
    return found


@cache
def lines_of(file: str) -> tuple[str, ...]:
    return tuple((ROOT / file).read_text(encoding="utf-8").splitlines())


@pytest.mark.parametrize(
    "file",
    [
        file if file in BY_DEFAULT else pytest.param(file, marks=pytest.mark.thorough)
        for file in FILES
    ],
)
def test_every_line_says_what_it_is_and_who_decides_it(file: str, chosen: Selection) -> None:
    for number, text in enumerate(lines_of(file), 1):
        (data,) = traced.of_line(chosen, file, number)
        where = f"{file}:{number}: {text}"
        assert (data["line"], data["text"]) == (number, text)
        assert "stale" not in data, where
        if text == "---":
            assert data["fixed"].startswith("the line between two objects"), where
            continue
        assert data["object"] and data["path"] and data["builder"] and data["for"], where
        assert data["cost"] and all(one["does"] for one in data["cost"]), where
        if "inside" in data:
            continue
        assert any(data.get(one) for one in DECIDES), where
        assert _written_where_it_says(data), where
        assert len(origins.rows(data)) >= 6, where


def _written_where_it_says(data: dict[str, Any]) -> bool:
    """Whether the lines that are named hold the key of the input."""
    for one in data.get("inputs", ()):
        if not one["written"]:
            continue
        place, _, path = one["at"].partition(" ")
        file, _, line = place.rpartition(":")
        *_, key = re.findall(r"[^.\[\]]+", path)
        if not key.isdecimal() and key not in lines_of(file)[int(line) - 1]:
            return False
    return True
