"""`gangform cluster import`."""

from __future__ import annotations

import io
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.inputs.nodes import node, racked

Run = Callable[..., Any]


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Put a text on standard input."""

    def pipe(text: str) -> None:
        stream = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr(sys, "stdin", stream)

    return pipe


def listed(nodes: Sequence[dict[str, Any]]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": list(nodes)})


def test_nodes_are_printed_as_pools_and_nothing_is_written(
    run: Run, folder: Path, pipe: Callable[[str], None]
) -> None:
    pipe(listed([*racked(4), node("cpu", {}, gpus=0), node("away", cordoned=True)]))
    status, out, err = run("cluster", "import", "-")
    assert status == 0
    # The fleet's pool h100 has the shape h100-8x, whose product these nodes have.
    assert yaml.safe_load(out)["pools"]["h100"]["nodes"] == 5
    assert "6 nodes: 5 in h100 (h100-8x), 1 without GPUs" in err
    assert "cordoned or not ready, and counted: away" in err
    assert not (folder / "profiles").exists()


def test_a_node_that_stands_there_twice_is_one(run: Run, folder: Path, pipe: Any) -> None:
    pipe(listed([*racked(4), *racked(2)]))
    status, out, err = run("cluster", "import", "-")
    assert status == 0
    assert yaml.safe_load(out)["pools"]["h100"]["nodes"] == 4
    assert "\n4 nodes: 4 in h100" in err
    pipe(listed(racked(1)))
    assert "\n1 node: 1 in h100" in run("cluster", "import", "-").err


def test_yaml_and_a_typed_list_are_read_as_json_is(run: Run, folder: Path) -> None:
    nodes = racked(8)
    (folder / "a.json").write_text(listed(nodes))
    bare = [{k: v for k, v in one.items() if k not in ("kind", "apiVersion")} for one in nodes]
    (folder / "b.json").write_text(
        json.dumps({"apiVersion": "v1", "kind": "NodeList", "items": bare})
    )
    (folder / "c.yaml").write_text(
        yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": nodes})
    )
    (folder / "d.yaml").write_text(yaml.safe_dump_all(nodes))
    outs = [run("cluster", "import", name).out for name in ("a.json", "b.json", "c.yaml", "d.yaml")]
    assert len(set(outs)) == 1 and "nodes: 8" in outs[0]


def test_a_kept_import_leaves_what_people_wrote_and_is_the_same_again(
    run: Run, folder: Path
) -> None:
    before = (folder / "gangform.yaml").read_bytes()
    (folder / "nodes.json").write_text(listed(racked(4)))
    status, out, _ = run("cluster", "import", "nodes.json", "--write")
    assert (status, out) == (0, "wrote profiles/nodes/prod.yaml\n")
    made = (folder / "profiles" / "nodes" / "prod.yaml").read_bytes()
    (folder / "nodes.json").write_text(listed(racked(4)[::-1]))
    assert run("cluster", "import", "nodes.json", "--write").out == (
        "profiles/nodes/prod.yaml is current\n"
    )
    assert (folder / "profiles" / "nodes" / "prod.yaml").read_bytes() == made
    assert (folder / "gangform.yaml").read_bytes() == before
    # Two groups of two nodes and two of one: the plan has an inventory now.
    assert "no inventory" not in run("plan").out


def test_a_difference_is_said_by_validate_and_synth(run: Run, folder: Path) -> None:
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text.replace("h100-8x}", "h100-8x, nodes: 9}"))
    (folder / "nodes.json").write_text(listed(racked(8)))
    run("cluster", "import", "nodes.json", "--write")
    for command in ("validate", "synth"):
        status, _, err = run(command)
        assert status == 0
        assert "note[nodes-say-otherwise]: nodes of pool h100 is 9" in err


def test_a_first_import_writes_a_cluster_for_people_once(run: Run, folder: Path) -> None:
    (folder / "gangform.yaml").write_text("version: 1\n")
    (folder / "nodes.json").write_text(listed(racked(4)))
    assert run("cluster", "import", "nodes.json", "--name", "west", "--write").status == 0
    own = folder / "profiles" / "clusters" / "west.yaml"
    assert run("validate").status == 0
    own.write_text("# mine\n" + own.read_text())
    kept = own.read_bytes()
    assert run("cluster", "import", "nodes.json", "--name", "west", "--write").status == 0
    assert own.read_bytes() == kept


def test_a_first_import_without_a_pool_writes_nothing(run: Run, folder: Path, pipe: Any) -> None:
    """A cluster without a pool would be refused by whatever reads it next."""
    (folder / "gangform.yaml").unlink()
    pipe(listed([node("cpu", {}, gpus=0)]))
    status, out, err = run("cluster", "import", "-", "--write")
    assert (status, out) == (2, "")
    assert "<stdin> has no node for a pool, so nothing was written: 1 node: 1 without GPUs" in err
    assert not (folder / "profiles").exists()


@pytest.mark.parametrize(
    ("words", "text", "status", "said"),
    [
        ((), "", 2, "the following arguments are required: ACTION"),
        (("import", "nix.json"), "", 2, "there is no file nix.json"),
        (("import", "."), "", 2, ". is a folder"),
        (("import", "-"), "", 2, "<stdin> holds nothing"),
        (("import", "-"), "kind: Pod", 2, "<stdin> holds no Node"),
        (("import", "-"), "{", 1, "error[json-broken]"),
        (("import", "-"), '{"a": NaN}', 1, "`NaN` is no number of JSON"),
        (("import", "-"), "[" * 200_000, 1, "nested too deeply"),
        (("import", "-"), '{"a": ' + "9" * 5000 + "}", 1, "error[json-broken]"),
        (("import", "-"), "a: [", 1, "<stdin>:"),
        (("import", "-", "-f", "nix.yaml"), listed([node("a")]), 2, "there is no file nix.yaml"),
    ],
)
def test_what_is_no_list_of_nodes_is_refused(
    run: Run,
    pipe: Callable[[str], None],
    words: tuple[str, ...],
    text: str,
    status: int,
    said: str,
) -> None:
    pipe(text)
    ran = run("cluster", *words)
    assert ran.status == status and said in ran.err


def test_of_several_clusters_one_has_to_be_named(
    run: Run, folder: Path, pipe: Callable[[str], None]
) -> None:
    text = (folder / "gangform.yaml").read_text()
    second = '  - {name: b, versions: {kubernetes: "1.36"}, foundation: all, pools: {}}\n'
    body = text.replace("cluster:\n  name: prod", "clusters:\n  - name: prod")
    for line in ("versions", "foundation: all", "pools", "  h100: {"):
        body = body.replace(f"\n  {line}", f"\n    {line}", 1)
    (folder / "gangform.yaml").write_text(body.replace("servings:", f"{second}servings:", 1))
    pipe(listed([node("a")]))
    ran = run("cluster", "import", "-")
    assert (
        ran.status == 2 and "`--name NAME` is missing; the fleet's clusters are prod, b" in ran.err
    )
    pipe(listed([node("a")]))
    assert "h100:" in run("cluster", "import", "-", "--name", "prod").out


def test_five_thousand_nodes_take_seconds(run: Run, folder: Path) -> None:
    (folder / "nodes.json").write_text(listed(racked(5000, a_rack=16)))
    began = time.process_time()
    assert run("cluster", "import", "nodes.json").status == 0
    assert time.process_time() - began < 20
