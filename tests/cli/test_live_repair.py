"""A rollout that never starts: what `diff --live` says of its repair (cases r19)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.living import SET, Object, of, running, save, templates

Run = Callable[..., Any]


def broken(
    run: Run, folder: Path, *, lws: str, rollout: str = "{maxSurge: 1, maxUnavailable: 0}"
) -> list[Object]:
    """Four groups with an image that is not found; the file has the right one."""
    fleet = folder / "gangform.yaml"
    text = fleet.read_text().replace('lws: "0.10"', f'lws: "{lws}"')
    text = text.replace('version: "0.32.0"', 'version: "0.32.0", image: "ours/vllm:right"')
    text = text.replace("groups: 2", f"groups: 4\n    rollout: {rollout}", 1)
    fleet.write_text(text.replace("backend: kueue, queue: serving", "backend: none"))
    assert run("synth").status == 0
    living = running(folder)
    for template in templates(living, SET):
        template["spec"]["containers"][0]["image"] = "ours/vllm:wrong"
    of(living, SET)["status"] = {"replicas": 4, "updatedReplicas": 4}
    return living


def test_a_repair_that_waits_for_a_ready_group_is_said(run: Run, folder: Path) -> None:
    living = broken(run, folder, lws="0.6")
    ran = run("diff", "--live", save(folder, living))
    assert ran.status == 0
    assert "rolls 4 groups" in ran.out
    assert (
        "warning[rollout-waits-for-ready-groups]: 0 of 4 groups ready under LeaderWorkerSet 0.6, with maxSurge 1 and "
        "maxUnavailable 0: 1 step waits for ever" in ran.err
    )
    assert "LeaderWorkerSet/llm/r1 status.readyReplicas" in ran.err
    assert "fix: delete the leaders of the broken groups, or upgrade to 0.7" in ran.err


@pytest.mark.parametrize("way", ["newer", "ready", "another rollout", "nothing rolls", "no status"])
def test_a_repair_that_does_not_wait_is_not(run: Run, folder: Path, way: str) -> None:
    rollout = (
        "{maxSurge: 0, maxUnavailable: 1}"
        if way == "another rollout"
        else "{maxSurge: 1, maxUnavailable: 0}"
    )
    living = broken(run, folder, lws="0.7" if way == "newer" else "0.6", rollout=rollout)
    if way == "ready":
        of(living, SET)["status"]["readyReplicas"] = 1
    if way == "no status":
        del of(living, SET)["status"]
    if way == "nothing rolls":
        for template in templates(living, SET):
            template["spec"]["containers"][0]["image"] = "ours/vllm:right"
    assert "rollout-waits-for-ready-groups" not in run("diff", "--live", save(folder, living)).err
