"""What the whole run has in common: its modules and tests live to its end."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

CLUSTER = Path(__file__).parent / "cluster"


def pytest_collection() -> None:
    """What a collection makes stays: there is nothing to free until it is over."""
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """The collector leaves alone what stays: it took a quarter of the run to go through it again and again."""
    gc.freeze()
    # Nearly all that a test leaves is freed by counting; a tenth of the run went into looking for the rest.
    gc.set_threshold(50_000)
    gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """A sixth of all tests needs a control plane: a run that leaves them out does not read them either."""
    return (collection_path == CLUSTER and "not cluster" in config.option.markexpr) or None


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """Tests without programs of others are shared out over the processors; those with them run one after another."""
    return None if "thorough" in config.option.markexpr else 0


COUNTED = ("assertions on rules", "mutations of rules", "mutations that change nothing")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """How much was tried, where tests count it."""
    reports = [each for these in terminalreporter.stats.values() for each in these]
    for name in COUNTED:
        found = [
            value
            for report in reports
            for key, value in getattr(report, "user_properties", ())
            if key == name
        ]
        if found:
            terminalreporter.write_line(f"{sum(found)} {name}")
