"""What was claimed, by which test it is shown, and what was seen: the page `docs/evidence.md`.

    @pytest.mark.claim("A rollout with one surge group never serves from fewer groups than declared", "lab E2")
    def test_surge_keeps_all_groups(plain: ControlPlane, saw: Saw) -> None:
        …
        saw(f"{least} of 6 groups serving at least, {most} GPUs bound at most")

What is seen is words and whole numbers that a second run sees again: counts, answers, names; never seconds.
A test fails where the page says something else; `GANGFORM_EVIDENCE=write` writes what the tests of a run saw, and keeps
the lines of those that did not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.cluster.binaries import PROGRAMS, version

ASKED = "GANGFORM_EVIDENCE"
PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
Saw = Callable[[str], None]


class Row(NamedTuple):
    """One claim, shown."""

    claim: str
    source: str
    """Where it is claimed: a chapter of the design, a fact."""
    test: str
    """The id of the test, as pytest takes it."""
    seen: tuple[str, ...]


class Unproven(NamedTuple):
    """One claim that could not be shown here."""

    claim: str
    why: str


_NO_CONTAINERS = "pods have no containers here: a fake kubelet reports them ready"
_NOT_BUILT = "the newest that Go modules give is listed below"
UNPROVEN: tuple[Unproven, ...] = (
    Unproven(
        "A leader is ready only when every rank has joined (probes, ports, flags)", _NO_CONTAINERS
    ),
    Unproven("Cold start, warm-up and the minutes of a rollout", _NO_CONTAINERS),
    Unproven(
        "How much a group takes of GPU memory", "no GPU, no weights; the arithmetic is tested"
    ),
    Unproven(
        "An adapter, or KEDA, makes of the engines' series the metric that an autoscaler asks for",
        "neither runs here, nor Prometheus: a server of the tests answers with a number, and their objects are only "
        "checked against their schemas",
    ),
    Unproven("A NetworkPolicy lets through what it names", "no network: nobody enforces it"),
    Unproven(
        "Argo CD waits for a wave", "no Argo CD; the waves are applied one by one, by its rule"
    ),
    Unproven(
        "Alerts fire and clear on a cluster",
        "neither kube-state-metrics nor Prometheus runs here: `tests/signals/exporter.py` makes series of the lab's "
        "objects as its source says, three seconds standing for a minute, and promtool judges them",
    ),
    Unproven(
        "Alerts on series of engines, of admission and of scrapes",
        "nobody exports them here; promtool runs them in `tests/signals`",
    ),
    Unproven(
        "LeaderWorkerSet 0.10: labels and annotations of a set reach its StatefulSets (`lab E10`)",
        _NOT_BUILT,
    ),
    Unproven(
        "Kueue 0.18 and 0.19: names of full length, a frozen size (`lab E10`); requests of whole pods frozen, a limit "
        "of 30 minutes to become ready",
        _NOT_BUILT,
    ),
    Unproven(
        "Kueue up to 0.16: a flavor with a Topology is frozen whole; from 0.20: its labels and tolerations, and levels "
        "above the host, change while groups run",
        _NOT_BUILT,
    ),
    Unproven("Kueue 0.17.2: no domain is overlooked (kueue#10778)", _NOT_BUILT),
    Unproven("Volcano 1.15: as 1.14 (`lab E8`)", _NOT_BUILT),
    Unproven(
        "Which group waits does not follow its index",
        "not provoked; no test assumes an index (`lab` summary 7)",
    ),
    Unproven(
        "(1, 1) under Kueue dips one group under R − u", "depends on timing; only the bound is held"
    ),
)

HEAD = """\
# Evidence

What gangform promises, and what a real control plane did: kube-apiserver with the real controllers, on fake GPU nodes.
Written by `GANGFORM_EVIDENCE=write uv run --group test pytest -m cluster`; without the variable the same tests fail
where they see something else.

| Claim | Source | Test | Seen |
|---|---|---|---|
"""
MISSING = """
## Not proven here

| Claim | Why |
|---|---|
"""
VERSIONS = """
## What ran

| Module | Version |
|---|---|
"""


def claimed(name: str, claim: str, source: str) -> Any:
    """A parameter of a test that claims something of its own."""
    return pytest.param(name, id=name, marks=pytest.mark.claim(claim, source))


def line(row: Row) -> str:
    """A row of the table."""
    return f"| {_cell(row.claim)} | {_cell(row.source)} | `{row.test}` | {_cell('; '.join(row.seen))} |"


def written() -> list[str]:
    """The rows that the page has."""
    text = PAGE.read_text("utf-8") if PAGE.exists() else ""
    shown = text.partition(MISSING)[0]
    return [each for each in shown.splitlines() if each.startswith("| ") and "`tests/" in each]


def shown_by(row: str) -> str:
    """The id of the test of a row of the page."""
    return next(part for part in row.split("`") if part.startswith("tests/"))


def page(lines: Sequence[str]) -> str:
    """The page with these rows, in the order of their tests."""
    shown = "".join(f"{each}\n" for each in sorted(lines, key=shown_by))
    rest = "".join(f"| {_cell(one.claim)} | {_cell(one.why)} |\n" for one in UNPROVEN)
    built = sorted({version(program.module) for program in PROGRAMS})
    ran = "".join("| {} | {} |\n".format(*each.split()) for each in built)
    return HEAD + shown + MISSING + rest + VERSIONS + ran


def write(rows: Sequence[Row]) -> None:
    """Put these rows into the page, in the place of what their tests saw before."""
    new = {row.test: line(row) for row in rows if row.seen}
    kept = {shown_by(each): each for each in written()}
    PAGE.write_text(page([*(kept | new).values()]), encoding="utf-8")


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
