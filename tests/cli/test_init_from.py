"""`gangform init --from`: a first fleet file from what runs."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.adopt.conftest import leader_spec, living
from tests.inputs.nodes import H100, node

Run = Callable[..., Any]


@pytest.fixture
def stream(folder: Path) -> Path:
    """A living set in a file, and no fleet yet."""
    (folder / "gangform.yaml").unlink()
    path = folder / "live.yaml"
    path.write_text(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [living()]}))
    return path


def test_a_fleet_is_written_validates_and_is_synthesised(
    run: Run, folder: Path, stream: Path
) -> None:
    ran = run("init", "--from", "live.yaml")
    assert ran.status == 0
    assert ran.out.startswith("wrote gangform.yaml; what was not read stands in it as comments\n")
    assert "gangform diff --live live.yaml" in ran.out
    assert run("validate").status == 0
    assert run("synth").status == 0
    assert (folder / "dist" / "prod" / "r1.k8s.yaml").is_file()


def test_a_model_that_is_no_id_is_left_to_people(run: Run, folder: Path, stream: Path) -> None:
    odd = living()
    leader_spec(odd)["containers"][0] |= {"command": ["vllm", "serve", "a/b\n- c: 1"], "args": []}
    stream.write_text(yaml.safe_dump(odd))
    assert run("init", "--from", "live.yaml").status == 0
    (serving,) = yaml.safe_load((folder / "gangform.yaml").read_text())["servings"]
    assert serving["name"] == "r1"
    status, _, err = run("validate")
    assert status == 1 and "there is no model profile" in err


def test_a_file_that_is_there_is_left_alone(run: Run, folder: Path, stream: Path) -> None:
    (folder / "gangform.yaml").write_text("mine\n")
    ran = run("init", "--from", "live.yaml")
    assert ran.status == 2 and "exists and is left as it is" in ran.err
    assert (folder / "gangform.yaml").read_text() == "mine\n"
    assert run("init", "--from", "live.yaml", "--force").status == 0


def test_the_cluster_that_was_imported_gives_pool_and_levels(
    run: Run, folder: Path, stream: Path
) -> None:
    labels = {**H100, "team": "search"}
    nodes = {"kind": "List", "items": [node(f"n{i}", labels) for i in range(8)]}
    (folder / "nodes.json").write_text(json.dumps(nodes))
    assert run("cluster", "import", "nodes.json", "--name", "west", "--write").status == 0
    own = folder / "profiles" / "clusters" / "west.yaml"
    own.write_text(own.read_text().replace("  # put in", '  lws: "0.10"\n  # put in'))
    ran = run("init", "--from", "live.yaml", "--cluster", "west")
    assert ran.status == 0
    text = (folder / "gangform.yaml").read_text()
    assert "cluster: west\n" in text and "pool: h100-80gb-hbm3-8x" in text
    assert run("validate").status == 0
    assert "no inventory" not in run("plan").out


def test_what_cannot_be_adopted_is_refused_and_nothing_is_written(
    run: Run, folder: Path, stream: Path
) -> None:
    manifest = living()
    del leader_spec(manifest)["nodeSelector"]
    stream.write_text(yaml.safe_dump(manifest))
    ran = run("init", "--from", "live.yaml")
    assert ran.status == 1
    assert "error[adopt-nodes-unknown]" in ran.err and "nothing was written" in ran.err
    assert not (folder / "gangform.yaml").exists()
    assert run("init", "--from", "live.yaml", "--hardware", "h100-8x").status == 0


@pytest.mark.parametrize(
    ("content", "status"),
    [
        ("kind: Pod\n", 1),
        ("{", 1),
        ("", 2),
        ("a: [", 1),
        ("- 1\n- 2\n", 1),
        ("kind: [x]\nspec: 5\n", 1),
    ],
)
def test_broken_streams_are_refused(
    run: Run, folder: Path, stream: Path, content: str, status: int
) -> None:
    stream.write_text(content)
    assert run("init", "--from", "live.yaml").status == status


@pytest.mark.parametrize(
    "words",
    [
        ("--groups", "4"),
        ("--admission", "none"),
        ("--namespace", "a"),
        ("--engine-version", "0.31"),
    ],
)
def test_what_the_manifests_say_is_not_asked(
    run: Run, folder: Path, stream: Path, words: tuple[str, str]
) -> None:
    status, _, err = run("init", "--from", "live.yaml", *words)
    assert status == 2
    assert f"`{words[0]}` is read from the manifests; leave it out beside `--from`" in err
    assert not (folder / "gangform.yaml").exists()


def test_what_was_piped_in_is_asked_for_again(
    run: Run, folder: Path, stream: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    piped = io.TextIOWrapper(io.BytesIO(stream.read_bytes()))
    monkeypatch.setattr("sys.stdin", piped)
    status, out, _ = run("init", "--from", "-")
    assert status == 0
    assert "-n NAMESPACE -o yaml | gangform diff --live -   what a switch does" in out


def test_a_file_without_a_set_is_named(run: Run, stream: Path) -> None:
    ran = run("init", "--from", "live.yaml", "--name", "r2")
    assert (ran.status, ran.out) == (1, "")
    assert "no set is called r2\n  --> live.yaml\n" in ran.err
    stream.write_text("apiVersion: v1\nkind: Service\nmetadata: {name: a}\n")
    said = run("init", "--from", "live.yaml").err
    assert "holds Service; wanted is a LeaderWorkerSet or Deployment that" in said
    assert "--> live.yaml\n" in said
