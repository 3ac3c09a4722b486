"""The planning cases of `plan.md`, one test a row: inputs, the verdict that is right, and the figures it rests on.

To refuse is a finding that breaks; to warn, one that degrades; to accept, none that breaks. Where a row asks for what
no input can say, since it follows from others, the test shows what follows and that a patch over it is refused.
"""

from __future__ import annotations

import re
from pathlib import Path

TABLE = Path(__file__).with_name("plan.md")

NOT_YET = (
    ("r20-a", "no input for slices of a Kueue topology"),
    ("r20-b", "no input for slices of a Kueue topology"),
    ("r20-c", "no input for slices of a Kueue topology"),
    ("r39-a", "prefill and decode are not parted yet"),
    ("r39-b", "prefill and decode are not parted yet"),
    ("r39-c", "prefill and decode are not parted yet"),
    ("r42", "no input for compute domains"),
)
"""Rows whose feature no input asks for yet, with the reason."""


def rows() -> list[str]:
    text = TABLE.read_text(encoding="utf-8")
    return re.findall(r"^\| ([rh][0-9]{2}(?:-[a-z])?) \|", text, re.M)


def names_in_tests() -> list[str]:
    """Rows that a test of a module beside this one stands for."""
    texts = [path.read_text(encoding="utf-8") for path in TABLE.parent.glob("test_plan_*.py")]
    marks = re.findall(r"^@row\(([^)]*)\)", "\n".join(texts), re.M)
    return [name for mark in marks for name in re.findall(r'"([^"]+)"', mark)]


def test_every_row_is_tested_or_says_why_not() -> None:
    assert sorted([*names_in_tests(), *(name for name, _ in NOT_YET)]) == sorted(rows())
    assert all(reason for _, reason in NOT_YET)
