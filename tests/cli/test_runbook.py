"""`gangform runbook`: the pages of a serving, as somebody asks for them who is called."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_synth import change

Run = Callable[..., Any]


def test_without_an_alert_all_are_listed(run: Run) -> None:
    status, out, err = run("runbook", "r1")
    assert (status, err) == (0, "")
    assert out.startswith("pages of r1: `gangform runbook r1 ALERT` prints one\n")
    assert "  ServingNoGroupReady" in out and "  ServingGroupPodsPending" in out
    assert "  ServingGroupPodsPending" not in run("runbook", "small").out


def test_without_a_name_all_that_have_pages_are_listed(run: Run) -> None:
    status, out, err = run("runbook")
    assert (status, err) == (0, "")
    names = [line.split()[0] for line in out.splitlines()[2:]]
    assert names[:2] == ["r1", "small"] and all("." in name for name in names[2:])
    first, *_ = json.loads(run("runbook", "-o", "json").out)
    assert first["subject"] == "r1" and first["cluster"] == "prod" and first["alerts"] > 9


def test_a_page_begins_with_what_to_look_at(run: Run) -> None:
    status, out, err = run("runbook", "r1", "ServingGroupsNotReady")
    assert (status, err) == (0, "")
    assert out.startswith("# ServingGroupsNotReady: r1\n")
    assert "kubectl get pods -n llm -l leaderworkerset.sigs.k8s.io/name=r1 " in out
    assert run("runbook", "r1", "servinggroupsnotready").out == out


def test_the_list_for_machines(run: Run, folder: Path) -> None:
    status, out, _ = run("runbook", "r1", "-o", "json")
    assert status == 0
    first, second, *_ = json.loads(out)
    assert first["alert"] == "ServingNoGroupReady" and first["severity"] == "critical"
    assert first["for"] == 300
    assert second["path"] == "runbooks/r1/ServingGroupsNotReady.md"
    assert "url" not in first
    change(
        folder,
        "  name: prod\n",
        "  name: prod\n  monitoring: {runbookBase: 'https://r.example.com/prod/'}\n",
    )
    first = json.loads(run("runbook", "r1", "-o", "json").out)[0]
    assert first["url"] == "https://r.example.com/prod/r1/ServingNoGroupReady.md"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("smal",), "nothing called `smal` has alerts; did you mean `small`?"),
        (("nobody",), "nothing called `nobody` has alerts; there is r1, small"),
        (
            ("r1", "ServingGroupNotReady"),
            "r1 has no alert `ServingGroupNotReady`; did you mean `ServingGroupsNotReady`",
        ),
        (("r1", "x"), "r1 has no alert `x`; there is ServingNoGroupReady, "),
        (("r1", "ServingNoGroupReady", "-o", "json"), "a page is Markdown"),
        (("r1", "ServingNoGroupReady", "ServingGroupsAbsent"), "one alert at a time"),
    ],
)
def test_a_wrong_word_is_said(run: Run, words: tuple[str, ...], said: str) -> None:
    status, out, err = run("runbook", *words)
    assert (status, out) == (2, "")
    assert said in err


def test_without_monitoring_nothing_has_a_page(run: Run, folder: Path) -> None:
    change(folder, "  name: prod\n", "  name: prod\n  monitoring: {enabled: false}\n")
    status, _, err = run("runbook", "r1")
    assert status == 2 and "nothing has alerts" in err


def test_a_serving_of_several_clusters_needs_one(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    start, end = text.index("cluster:"), text.index("servings:")
    one = text[start:end].removeprefix("cluster:\n")
    first = "  - " + one.lstrip().replace("\n", "\n  ").rstrip(" ")
    both = first + first.replace("name: prod\n", "name: other\n", 1)
    (folder / "gangform.yaml").write_text(f"{text[:start]}clusters:\n{both}{text[end:]}")
    status, _, err = run("runbook", "r1")
    assert status == 2
    assert "`r1` is on prod, other; say which with `--cluster prod`" in err
    assert run("runbook", "r1", "--cluster", "other", "ServingNoGroupReady").status == 0


def test_synth_writes_the_same_pages(run: Run, folder: Path) -> None:
    change(
        folder,
        "  name: prod\n",
        "  name: prod\n  monitoring: {runbookBase: 'https://r.example.com/prod/'}\n",
    )
    assert run("synth").status == 0
    for alert in ("ServingNoGroupReady", "ServingGroupsNotReady"):
        written = (folder / f"out/prod/runbooks/r1/{alert}.md").read_text()
        assert written.partition("\n")[2] == run("runbook", "r1", alert).out
    rules = (folder / "dist/prod/r1.k8s.yaml").read_text()
    assert "runbook_url: https://r.example.com/prod/r1/ServingNoGroupReady.md" in rules
