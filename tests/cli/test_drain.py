"""`gangform plan drain`, as it is printed and as machines get it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.conftest import Run

POOL = "    h100: {hardware: h100-8x}\n"
RACKS = """\
    h100:
      hardware: h100-8x
      nodes: 9
      levels: [example.net/rack]
      domains: [{at: [r0], nodes: 4}, {at: [r1], nodes: 5}]
"""


@pytest.fixture
def racks(folder: Path) -> Path:
    fleet = folder / "gangform.yaml"
    fleet.write_text(fleet.read_text().replace(POOL, RACKS))
    return folder


def test_every_domain_and_node_is_listed(run: Run, racks: Path) -> None:
    ran = run("plan", "drain")
    assert ran.status == 0
    assert ran.out.startswith("prod: what is lost with it, as the plan assumes that groups lie\n")
    assert "h100/r0/0, h100/r0/1  r1       group 0 (1 of 2, 50 %)" in ran.out
    assert "takes group 0 at once, 1 of 2 keep serving; all back after" in ran.out


def test_one_rack_is_said_for_machines(run: Run, racks: Path) -> None:
    said = json.loads(run("plan", "drain", "h100/r0", "-o", "json").out)
    assert [(one["cluster"], one["lies"], one["places"]) for one in said] == [
        ("prod", "assumed", ["h100/r0"])
    ]
    first = said[0]["losses"][0]
    assert (first["serving"], first["groups"], first["of"], first["remaining"]) == (
        "r1",
        [0, 1],
        2,
        0,
    )
    assert [one["answer"] for one in first["drain"]] == ["evicted", "evicted in turn"]
    assert first["drained"] == 2 * (first["back"] + 30)


def test_a_node_that_is_none_is_refused(run: Run, racks: Path) -> None:
    ran = run("plan", "drain", "h100/r9")
    assert (ran.status, ran.out) == (2, "")
    assert "there is no node or domain `h100/r9` of the plan's map; did you mean h100/r" in ran.err
    assert "did you mean h100/r0?" in run("plan", "drain", "r0").err


def test_pods_say_where_groups_lie(run: Run, folder: Path) -> None:
    prefix = "leaderworkerset.sigs.k8s.io"
    pods = [
        {
            "kind": "Pod",
            "metadata": {
                "name": f"r1-{group}-{worker}",
                "namespace": "llm",
                "labels": {
                    f"{prefix}/name": "r1",
                    f"{prefix}/group-index": str(group),
                    f"{prefix}/worker-index": str(worker),
                },
            },
            "spec": {"nodeName": f"gpu-{2 * group + worker}"},
            "status": {"phase": "Running"},
        }
        for group in range(2)
        for worker in range(2)
    ]
    (folder / "pods.json").write_text(json.dumps({"kind": "List", "items": pods}))
    ran = run("plan", "drain", "gpu-3", "--pods", "pods.json")
    assert ran.status == 0
    assert "gpu-3  r1       group 1 (1 of 2, 50 %)  1 of 2 serve" in ran.out
    assert "Not checked whether the groups find a place" in ran.err
    assert run("plan", "drain", "gpu-9", "--pods", "pods.json").status == 2
    every = json.loads(run("plan", "drain", "--pods", "pods.json", "-o", "json").out)
    assert [one["places"] for one in every] == [["gpu-0"], ["gpu-1"], ["gpu-2"], ["gpu-3"]]


def test_without_an_inventory_it_says_so(run: Run) -> None:
    ran = run("plan", "drain")
    assert ran.status == 0
    assert "no group is on the map" in ran.out
    assert "Not checked: no inventory of h100" in ran.err


def test_pods_are_for_drains(run: Run) -> None:
    ran = run("plan", "--pods", "x.json")
    assert (ran.status, ran.out) == (2, "")
    assert "--pods: only with `gangform plan drain`" in ran.err


def test_pods_that_are_none_are_refused(run: Run, folder: Path) -> None:
    (folder / "x.json").write_text("{}")
    assert run("plan", "drain", "--pods", "x.json").status in (1, 2)
    assert run("plan", "drain", "--pods", "gone.json").status == 2


def test_a_drain_stops_at_the_first_group_that_finds_no_place(run: Run, racks: Path) -> None:
    """Of both groups in one rack neither finds two free nodes elsewhere: the second is never taken."""
    fleet = racks / "gangform.yaml"
    text = fleet.read_text().replace("nodes: 9", "nodes: 5").replace("nodes: 5}]", "nodes: 1}]")
    fleet.write_text(text)
    lines = run("plan", "drain", "h100/r0").out.splitlines()
    line = next(one for one in lines if "r1  " in one)
    assert "groups 0, 1 (2 of 2, 100 %)" in line
    assert "takes group 0 at once, 1 of 2 keep serving; stops: no group finds" in line


def test_a_drain_of_one_group_ends_though_it_finds_no_place(run: Run, racks: Path) -> None:
    """Nothing waits behind it: its pods go, and it stays away."""
    fleet = racks / "gangform.yaml"
    text = fleet.read_text().replace("nodes: 9", "nodes: 5").replace("nodes: 5}]", "nodes: 1}]")
    fleet.write_text(text)
    out = run("plan", "drain", "h100/r0/0").out
    assert "takes group 0 at once, 1 of 2 keep serving; no group finds a whole place" in out
    assert "stops" not in out


def test_a_declared_node_autoscaler_is_said(run: Run, racks: Path) -> None:
    assert "Autoscaler" not in run("plan", "drain").err
    fleet = racks / "gangform.yaml"
    fleet.write_text(
        fleet.read_text().replace("  pools:\n", "  nodeAutoscaler: cluster-autoscaler\n  pools:\n")
    )
    said = "Cluster Autoscaler removes no node while one of these pods runs on it"
    assert f"r1, small: {said}.\n" in run("plan", "drain").err
    assert said in run("plan", "r1").out


def test_a_released_group_goes_and_the_others_stay(run: Run, racks: Path) -> None:
    fleet = racks / "gangform.yaml"
    fleet.write_text(
        fleet.read_text().replace(
            "    groups: 2\n", "    groups: 2\n    disruption: {mode: perGroup, released: [1]}\n"
        )
    )
    (row,) = json.loads(run("plan", "drain", "h100/r0", "-o", "json").out)
    assert [tuple(one.values()) for one in row["losses"][0]["drain"]] == [
        (0, "refused", "r1-group-0"),
        (1, "evicted", ""),
    ]
    out = run("plan", "drain", "h100/r0").out
    assert "takes group 1 at once, 1 of 2 keep serving" in out
    assert "is refused by r1-group-0 while the group is healthy" in out
