"""`explain FILE:LINE` and `explain KIND/NAME PATH`."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.conftest import FLEET, TakenApart

from gangform.cli import origins, traced

Run = Callable[..., Any]
Explained = Callable[[str], dict[str, Any]]
FILE = "dist/prod/r1.k8s.yaml"


@pytest.fixture
def made(run: Run, folder: Path) -> Path:
    """A folder whose output is written."""
    assert run("synth").status == 0
    return folder


@pytest.fixture
def explained(taken_apart: TakenApart, known: None) -> Explained:
    """The answer for the first line of a file that holds a text."""
    folder = taken_apart.folder

    def ask(text: str) -> dict[str, Any]:
        number = number_of(text, folder)
        (data,) = traced.of_line(taken_apart.chosen, str(folder / FILE), number)
        return data

    return ask


def number_of(text: str, folder: Path) -> int:
    """The first line that holds a text."""
    lines = (folder / FILE).read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if text in line)


def asked(run: Run, text: str, folder: Path) -> dict[str, Any]:
    """The same by the command."""
    status, out, err = run("explain", f"{FILE}:{number_of(text, folder)}", "-o", "json")
    assert (status, err) == (0, "")
    (data,) = json.loads(out)
    return dict(data)


def test_a_number_goes_up_to_file_and_line(explained: Explained) -> None:
    data = explained("failureThreshold")
    assert data["value"] == 270
    assert data["plan"] == [
        {"field": "workloads[0].roles[0].launch.leader.startup.failures", "value": "270"}
    ]
    assert data["derived"][0]["by"] == "plan.startup.budget"
    assert data["derived"][0]["operands"]["floor"] == "45m"
    assert data["derived"][0]["result"] == "45m"
    assert [one["row"] for one in data["defaults"]] == ["assumed_startup_floor", "startup_period"]
    assert all(one["edition"] == 1 and one["reason"] for one in data["defaults"])
    assert "servings.r1.coldStart" in data["mayBeSet"]
    (cost,) = data["cost"]
    assert (cost["outcome"], cost["evidence"]) == ("rolls", "lab")
    assert "rolls 2 groups (+0 GPUs while it lasts, at least 1 serving" in cost["does"]


def test_an_input_has_its_line(explained: Explained) -> None:
    data = explained("--max-model-len=32768")
    (one,) = data["inputs"]
    place, path = one["at"].split()
    assert path == "servings[0].context"
    line = FLEET.splitlines()[int(place.rpartition(":")[2]) - 1]
    assert line.strip() == "context: 32768"


def test_an_input_of_a_profile_has_its_source(explained: Explained) -> None:
    data = explained("cpu:")
    (one,) = data["inputs"]
    assert re.fullmatch(r".*profiles/hardware/h100-8x\.yaml:\d+ cpu", one["at"])
    assert one["source"].startswith("not verified: ")
    assert "servings.r1.pods.resources.cpu" in data["mayBeSet"]


@pytest.mark.thorough
def test_the_text_says_the_same(run: Run, made: Path) -> None:
    out = run("explain", f"{FILE}:{number_of('failureThreshold', made)}").out
    assert out.startswith("failureThreshold: 270\n")
    assert re.search(
        r"formula +plan\.startup\.budget\(worst_case = \w+, floor = 45m\) = 45m\n", out
    )
    assert "default     assumed_startup_floor = 45m (edition 1): Least startup budget" in out


def test_larger_and_smaller_have_a_price_each_where_it_differs(explained: Explained) -> None:
    costs = explained("  replicas: 2")["cost"]
    assert [one["when"] for one in costs] == ["larger", "smaller"]
    assert "3 groups more (+48 GPUs)" in costs[0]["does"]


def test_a_map_holds_what_is_inside(explained: Explained) -> None:
    data = explained("readinessProbe:")
    assert data["inside"] == 5
    assert "value" not in data and "plan" not in data
    assert "groups are replaced" in data["cost"][0]["does"]


@pytest.mark.thorough
def test_what_decides_nothing_is_said_so(explained: Explained) -> None:
    assert explained("sessionAffinity")["fixed"].startswith("what the API server stores")
    assert explained("enableServiceLinks")["fixed"].startswith("manifests.leader")
    assert explained("--port=8000")["fixed"].startswith("the engine vllm writes it so")
    assert explained("kind: LeaderWorkerSet")["form"] == ("a replica spans 2 nodes of 8 GPUs")


def test_the_line_between_two_objects_names_both(explained: Explained) -> None:
    said = explained("---")["fixed"]
    assert said == (
        "the line between two objects: here ends ServiceAccount/llm/r1, "
        "the next is Service/llm/r1-leader"
    )


@pytest.mark.thorough
def test_a_patch_is_named_with_its_line(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    patch = "context: 32768\n    patches:\n      - kind: Service\n        merge: {spec: {sessionAffinity: ClientIP}}"
    (folder / "gangform.yaml").write_text(text.replace("context: 32768", patch, 1))
    assert run("synth").status == 0
    data = asked(run, "sessionAffinity:", folder)
    number = int(re.findall(r"gangform\.yaml:(\d+)", data["patch"])[0])
    assert "- kind: Service" in (folder / "gangform.yaml").read_text().splitlines()[number - 1]
    places = [one["at"].split()[-1] for one in data["inputs"]]
    assert "servings[0].patches[0].merge.spec.sessionAffinity" in places


@pytest.mark.thorough
def test_a_file_of_other_inputs_is_said_so(run: Run, made: Path) -> None:
    text = (made / "gangform.yaml").read_text()
    (made / "gangform.yaml").write_text(text.replace("groups: 2", "groups: 3", 1))
    data = asked(run, "  replicas: 2", made)
    assert data["value"] == 3
    assert data["stale"].startswith("the file is not current")


def test_a_file_that_is_not_current_is_said_so(run: Run, made: Path, known: None) -> None:
    (made / FILE).write_text((made / FILE).read_text().replace("  replicas:", "  replica:"))
    assert "without spec.replica" in asked(run, "  replica:", made)["stale"]
    (made / FILE).write_text((made / FILE).read_text().replace("name: r1-leader", "name: r2"))
    assert "no such object" in asked(run, "sessionAffinity", made)["stale"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (f"{FILE}:99999", "lines"),
        ("gangform.yaml:1", "gangform.yaml is not in the output"),
        ("dist/prod/none.k8s.yaml:1", "there is no file dist/prod/none.k8s.yaml"),
    ],
)
def test_a_line_that_is_not_there_is_wrongly_called(
    words: str, said: str, run: Run, made: Path
) -> None:
    status, out, err = run("explain", words)
    assert (status, out) == (2, "")
    assert said in err


def test_objects_and_entries_may_be_called_as_findings_call_them(run: Run, known: None) -> None:
    pod = "spec.leaderWorkerTemplate.leaderTemplate.spec"
    plain = run("explain", "LeaderWorkerSet/r1", f"{pod}.containers[0].image", "-o", "json")
    named = run(
        "explain", "LeaderWorkerSet/llm/r1", f"{pod}.containers[engine].image", "-o", "json"
    )
    assert plain.status == 0
    assert named == plain
    status, _, err = run("explain", "LeaderWorkerSet/llm/r1", f"{pod}.containers[engin].image")
    assert status == 2
    assert f"LeaderWorkerSet/llm/r1 {pod}.containers has no `engin`; did you mean engine?" in err


def test_a_fleet_with_errors_is_refused(run: Run, made: Path) -> None:
    text = (made / "gangform.yaml").read_text()
    (made / "gangform.yaml").write_text(text.replace("pipeline: 2", "pipeline: 1"))
    status, out, err = run("explain", f"{FILE}:1")
    assert (status, out) == (1, "")
    assert "error[model-does-not-fit]" in err


def test_every_key_for_machines_is_described(explained: Explained) -> None:
    assert origins.__doc__ is not None
    keys: set[str] = set()
    for text in ("failureThreshold", "cpu:", "kind: Leader", "enableServiceLinks", "---"):
        keys |= explained(text).keys()
    assert [key for key in keys if f"`{key}`" not in origins.__doc__] == []
