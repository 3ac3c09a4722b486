"""The evidence page names every claim that a test of a control plane makes, by its present name, and nothing else.

What was seen is compared where control planes run; here only that the page and the tests belong together.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

from tests.cluster.evidence import PAGE, page, shown_by, written

ROOT = Path(__file__).parent.parent


def claims() -> Iterator[tuple[str, str]]:
    """The id of every test that claims something, without parameters, and its claim."""
    for path in sorted((ROOT / "tests" / "cluster").glob("test_*.py")):
        for name, thing in vars(import_module(f"tests.cluster.{path.stem}")).items():
            for mark in getattr(thing, "pytestmark", ()):
                if name.startswith("test_") and mark.name == "claim":
                    yield f"{path.relative_to(ROOT).as_posix()}::{name}", mark.args[0]


def test_every_claim_has_its_row_and_every_row_its_test() -> None:
    known = dict(claims())
    rows = {shown_by(row).partition("[")[0]: row for row in written()}
    assert known
    assert rows.keys() == known.keys()
    for test, claim in known.items():
        assert rows[test].startswith(f"| {claim} |"), test


def test_the_page_is_what_its_rows_make() -> None:
    assert PAGE.read_text("utf-8") == page(written())
