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
    """The id of every test that claims something, with its parameter where that claims, and the claim."""
    for path in sorted((ROOT / "tests" / "cluster").glob("test_*.py")):
        for name, thing in vars(import_module(f"tests.cluster.{path.stem}")).items():
            test = f"{path.relative_to(ROOT).as_posix()}::{name}"
            for mark in getattr(thing, "pytestmark", ()) if name.startswith("test_") else ():
                if mark.name == "claim":
                    yield test, mark.args[0]
                for each in mark.args[1] if mark.name == "parametrize" else ():
                    for own in getattr(each, "marks", ()):
                        yield f"{test}[{each.id}]", own.args[0]


def test_every_claim_has_its_row_and_every_row_its_test() -> None:
    known = dict(claims())
    shown = set()
    for row in written():
        test = shown_by(row)
        test = test if test in known else test.partition("[")[0]
        assert row.startswith(f"| {known[test]} |"), test
        shown.add(test)
    assert shown == known.keys()


def test_the_page_is_what_its_rows_make() -> None:
    assert PAGE.read_text("utf-8") == page(written())
