"""`gangform diff --defaults`: what another edition of the defaults costs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]


def test_an_edition_that_is_not_there_names_those_that_are(run: Run) -> None:
    status, _, err = run("diff", "--defaults", "99")
    assert status == 2
    assert "there is no edition 99 of the defaults; this release knows 1" in err


def test_the_same_edition_costs_nothing(run: Run) -> None:
    ran = run("diff", "--defaults", "1")
    assert ran.status == 0
    assert ran.out == "defaults 1 against defaults 1\n  nothing changes\n"


def test_another_edition_is_priced(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from gangform.inputs import defaults
    from gangform.units import Seconds

    newer = defaults.defaults(1)._replace(edition=2, pre_stop=Seconds(20))
    monkeypatch.setitem(defaults.EDITIONS, 2, newer)
    out = run("diff", "--defaults", "2").out
    assert "prod: defaults 2 against defaults 1" in out
    assert "LeaderWorkerSet/llm/r1  rolls 2 groups" in out
    assert "Deployment/llm/small    rolls 2 groups" in out


def test_one_question_at_a_time(run: Run) -> None:
    status, _, err = run("diff", "HEAD", "--defaults", "1")
    assert status == 2
    assert "ask one of them" in err
