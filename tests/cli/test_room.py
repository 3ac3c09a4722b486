"""What `plan` says of room."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def said(ran: Any) -> str:
    """What was printed, without the columns."""
    return " ".join(ran.out.split())


RACK = "topology.example.com/rack"


@pytest.fixture
def pool(folder: Path) -> Callable[..., None]:
    """Change the pool, and the admission and rollout of r1."""

    def change(
        pool: str, admission: str = "{backend: kueue, queue: serving}", more: str = ""
    ) -> None:
        file = folder / "gangform.yaml"
        text = file.read_text().replace("{hardware: h100-8x}", pool)
        text = text.replace("{backend: kueue, queue: serving}", admission)
        file.write_text(
            text.replace("groups: 2\n    context: 32768", f"groups: 2\n{more}    context: 32768")
        )

    return change


def test_the_plan_begins_with_a_verdict_on_the_pools_room(
    run: Run, pool: Callable[..., None]
) -> None:
    assert "not checked: no inventory" in run("plan").out
    pool("{hardware: h100-8x, nodes: 7}")
    assert "GPUs enough for a failure or a rollout, not for both at once" in said(run("plan"))
    out = said(run("plan", "-o", "wide"))
    assert "capacity GPUs enough for a failure or a rollout, not for both at once" in out
    assert (
        "34 GPUs serve + max(16 in one node, 16 to roll with all serving) = 50; 66 for both; it has 56"
        in out
    )


@pytest.mark.parametrize(
    ("nodes", "verdict"),
    [
        (9, "GPUs enough for a failure during a rollout"),
        (6, "short by 2 GPUs for a failure or a rollout"),
        (4, "short by 2 GPUs for what serves"),
    ],
)
def test_the_verdict_follows_the_nodes(
    nodes: int, verdict: str, run: Run, pool: Callable[..., None]
) -> None:
    pool(f"{{hardware: h100-8x, nodes: {nodes}}}")
    assert verdict in run("plan").out


def test_an_update_without_a_place_comes_with_its_ways_out(
    run: Run, pool: Callable[..., None]
) -> None:
    pool(
        "{hardware: h100-8x, nodes: 6}",
        "{backend: none}",
        "    rollout: {maxSurge: 1, maxUnavailable: 0}\n",
    )
    status, out, err = run("plan", "r1")
    assert status == 1
    assert "surge-cannot-be-placed" in err
    assert (
        "stands still, with the fleet intact: 1 surge group finds no whole place in the pool" in out
    )
    assert (
        "way out 1, reduce redundancy for the window: maxSurge 0, maxUnavailable 1: 1 of 2 groups serve"
        in out
    )
    assert "way out 2, buy burst capacity: 1 more node, 8 GPUs, for about" in out
    assert (
        "way out 3, take a maintenance window: all groups down and up again: none of 2 serves"
        in out
    )
    assert "way out 4, buy headroom: 1 more node, 8 GPUs, for good" in out
    update = json.loads(run("plan", "r1", "-o", "json").out)["clusters"][0]["servings"][0]["update"]
    assert (update["lackingGroups"], update["ends"]) == (1, False)
    assert update["stall"] == {"cause": "room", "groups": [2], "heldGpus": 8, "shortGpus": 8}
    assert [way["gpus"] for way in update["waysOut"]] == [0, 8, 0, 8]
    assert update["timeline"][0]["serving"] == 2


def test_under_kueue_the_plan_says_what_ends(run: Run, pool: Callable[..., None]) -> None:
    pool("{hardware: h100-8x}", more="    rollout: {maxSurge: 1, maxUnavailable: 0}\n")
    out = run("plan", "r1").out
    assert (
        "never ends under this backend; what does: maxSurge 0, maxUnavailable 1: 1 of 2 groups serve"
        in out
    )


def test_the_steps_of_an_update_are_shown_where_they_are_wanted(run: Run) -> None:
    assert "groups made anew" not in run("plan", "r1").out
    out = run("plan", "-o", "wide", "r1").out
    assert "groups made anew: 1, 0" in out
    assert "1 of 2 serve, 1 with two revisions; 32 GPUs bound" in out
    update = json.loads(run("plan", "r1", "-o", "json").out)["clusters"][0]["servings"][0]["update"]
    assert (update["order"], update["ends"], update["waysOut"]) == ([1, 0], True, [])
    assert update["endSeconds"] == update["timeline"][-1]["atSeconds"]
    assert max(moment["mixed"] for moment in update["timeline"]) == 0
    assert update["leaderAlone"] == {"mixed": 0, "hollow": 1}
    assert (
        "were a leader ready before its workers, there would answer: 1 group without all its workers"
        in out
    )


def test_the_map_says_what_lies_where(run: Run, pool: Callable[..., None]) -> None:
    pool(
        f"{{hardware: h100-8x, levels: [{RACK}, kubernetes.io/hostname],"
        " domains: [{at: [a], nodes: 3}, {at: [b], nodes: 2}, {at: [c], nodes: 4}]}"
    )
    assert "nodes free" not in run("plan").out
    out = said(run("plan", "-o", "wide"))
    assert "a 0 of 3 nodes free: r1 1, small 0 to 1" in out
    assert "b 0 of 2 nodes free: r1 0" in out
    assert "c 4 of 4 nodes free: nothing" in out
    (found,) = json.loads(run("plan", "-o", "json").out)["clusters"][0]["pools"]
    assert found["domains"][1] == {
        "at": ["b"],
        "nodes": 2,
        "filled": 2,
        "free": 0,
        "groups": [{"workload": "r1", "kind": "wanted", "first": 0, "count": 1}],
    }
    rack = found["capacity"]["losses"][1]
    assert (rack["level"], rack["domain"], rack["chosen"]) == (RACK, ["a"], True)
    assert (rack["gpus"], rack["floorGpus"]) == (18, found["capacity"]["servingGpus"] + 18)


def test_what_lacks_a_whole_place_is_said_in_the_rows_of_its_pool_and_of_its_serving(
    run: Run, folder: Path
) -> None:
    """One node of each rack is left: GPUs enough, and no whole place for a third group."""
    fleet = folder / "gangform.yaml"
    racks = f"levels: [{RACK}], domains: [{{at: [a], nodes: 3}}, {{at: [b], nodes: 3}}]"
    text = fleet.read_text().replace("{hardware: h100-8x}", f"{{hardware: h100-8x, {racks}}}")
    text = text[: text.index("  - name: small")]
    fleet.write_text(text + f"    topology: {{level: {RACK}}}\n    rollout: {{spareGroups: 1}}\n")
    lines = run("plan").out.splitlines()
    row = next(line for line in lines if line.startswith("  r1 "))
    assert "1 warning" in row
    pool = next(line for line in lines if line.startswith("  h100 "))
    assert "2 of 3 groups" in pool
    assert "no whole place for 1 group" in pool
