"""The evidence page names every claim that a test of a control plane makes, by its present name, and nothing else.

What was seen is compared where control planes run; here only that the page and the tests belong together.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.evidence import PAGE, page, shown_by, written

ROOT = Path(__file__).parent.parent


def claims() -> Iterator[tuple[str, str]]:
    """The id of every test that claims something, without parameters, and its claim."""
    for path in sorted((ROOT / "tests" / "cluster").glob("test_*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            for mark in getattr(node, "decorator_list", ()):
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.claim":
                    assert isinstance(node, ast.FunctionDef)
                    claim = ast.literal_eval(mark.args[0])
                    yield f"{path.relative_to(ROOT).as_posix()}::{node.name}", claim


def test_every_claim_has_its_row_and_every_row_its_test() -> None:
    known = dict(claims())
    rows = {shown_by(row).partition("[")[0]: row for row in written()}
    assert known
    assert rows.keys() == known.keys()
    for test, claim in known.items():
        assert rows[test].startswith(f"| {claim} |"), test


def test_the_page_is_what_its_rows_make() -> None:
    assert PAGE.read_text("utf-8") == page(written())
