"""`plan --pin` and `plan --shapes`."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import gangform.cli.pin
import gangform.pin

Run = Callable[..., Any]
WRITTEN = "parallelism: {tensor: 8, pipeline: 2}"


@pytest.fixture
def fleet(folder: Path) -> Path:
    """The fleet file, its larger serving left open."""
    path = folder / "gangform.yaml"
    text = path.read_text()
    path.write_text(text.replace(WRITTEN, "parallelism: auto  # how many?"))
    return path


def change(path: Path, old: str, new: str) -> bytes:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return path.read_bytes()


# ── before it is pinned ──────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("command", ["synth", "validate"])
def test_an_open_parallelism_is_refused_with_the_command_that_closes_it(
    run: Run, fleet: Path, command: str
) -> None:
    status, _, err = run(command)
    assert status == 1
    assert "error[parallelism-not-pinned]: `auto` is not resolved; it would be {tensor: 8" in err
    assert "gangform.yaml:15: servings[0].parallelism" in err
    assert "`gangform plan --pin` writes the numbers into the file" in err
    assert not (fleet.parent / "dist").exists()


def test_the_plan_shows_what_it_would_choose_and_why_not_others(run: Run, fleet: Path) -> None:
    before = fleet.read_bytes()
    status, out, _ = run("plan", "r1")
    assert status == 1
    assert "form            LeaderWorkerSet: a replica spans 2 nodes of 8 GPUs" in out
    assert "tensor 8 x pipeline 2 = 16 GPUs" in out
    assert "chosen, not pinned; " in out
    lines = [line.strip() for line in out.splitlines()]
    assert any(line.startswith("not ") and "does not fit: short by" in line for line in lines)
    assert fleet.read_bytes() == before


def test_machines_get_every_shape(run: Run, fleet: Path) -> None:
    data = json.loads(run("plan", "r1", "-o", "json").out)
    search = data["clusters"][0]["servings"][0]["search"]
    assert search["preference"] == "fewestGpus"
    assert search["chosen"] | {"tensor": 8, "pipeline": 2} == search["chosen"]
    first, *others = search["considered"]
    assert "lost" not in first
    assert len(others) > 20
    assert all(one["lost"] and one["why"] for one in others)
    assert {"gpusPerGroup", "podsPerGroup", "tensor", "expertParallel"} <= set(others[0])
    wide = run("plan", "r1", "-o", "wide").out
    assert wide.count("\n    not ") == len(others)


def test_the_same_is_shown_of_a_declared_shape_where_it_is_asked_for(run: Run) -> None:
    status, out, err = run("plan", "--shapes")
    assert (status, err) == (0, "")
    assert "as `auto` would choose; " in out
    assert "`auto` would choose" not in run("plan").out
    other = run("plan", "--shapes", "-o", "json").out
    assert json.loads(other)["clusters"][0]["servings"][1]["search"]["chosen"]["tensor"] == 1


def test_a_declared_shape_that_auto_would_not_choose_is_said(run: Run, folder: Path) -> None:
    change(folder / "gangform.yaml", "pipeline: 2", "pipeline: 4")
    said = (
        "`auto` would choose {tensor: 8, pipeline: 2}: this one takes more GPUs, 32 instead of 16; "
    )
    out = run("plan", "r1", "--shapes").out
    assert said in out
    assert "left out" in out and "prefillContext: it takes GPUs" in out
    (serving,) = (
        one
        for one in json.loads(run("plan", "--shapes", "-o", "json").out)["clusters"][0]["servings"]
        if one["name"] == "r1"
    )
    assert serving["search"]["declared"]["why"] == "32 instead of 16"
    assert [one["what"] for one in serving["search"]["leftOut"]] == [
        "prefillContext",
        "data without expertParallel",
    ]


# ── pinning ──────────────────────────────────────────────────────────────────────────────────────


def test_the_numbers_go_into_the_file_and_nothing_else_changes(run: Run, fleet: Path) -> None:
    before = fleet.read_text()
    fleet.chmod(0o640)
    status, out, err = run("plan", "--pin")
    assert status == 0
    assert fleet.read_text() == before.replace(
        "parallelism: auto  # how many?", f"{WRITTEN}  # how many?"
    )
    assert fleet.stat().st_mode & 0o777 == 0o640
    assert "gangform.yaml:15: servings[0].parallelism: {tensor: 8, pipeline: 2}" in err
    assert "tensor 8 x pipeline 2 = 16 GPUs" in out
    assert "not pinned" not in out
    assert run("validate").status == 0
    assert sorted(path.name for path in fleet.parent.iterdir()) == ["gangform.yaml"]


def test_what_is_pinned_is_not_written_again(run: Run, fleet: Path) -> None:
    run("plan", "--pin")
    before, inode = fleet.read_bytes(), fleet.stat().st_ino
    status, _, err = run("plan", "--pin")
    assert status == 0
    assert "nothing to pin" in err
    assert (fleet.read_bytes(), fleet.stat().st_ino) == (before, inode)


def test_a_serving_with_a_file_of_its_own_is_pinned_there(run: Run, folder: Path) -> None:
    home = folder / "profiles" / "servings"
    home.mkdir(parents=True)
    text = (
        "# the large one\r\nnamespace: llm\r\nmodel: deepseek-r1\r\npool: h100\r\n"
        'engine: {name: vllm, version: "0.32.0"}\r\nparallelism: auto\r\ngroups: 2\r\n'
        "context: 32768\r\nadmission: {backend: kueue, queue: serving}  # ours\r\n"
    )
    (home / "large.yaml").write_bytes(text.encode())
    before = (folder / "gangform.yaml").read_bytes()
    status, _, err = run("plan", "--pin")
    assert status == 0
    assert "profiles/servings/large.yaml:6: parallelism: {tensor: 8, pipeline: 2}" in err
    assert (home / "large.yaml").read_bytes() == text.replace("parallelism: auto", WRITTEN).encode()
    assert (folder / "gangform.yaml").read_bytes() == before


def test_only_the_servings_that_are_named_are_pinned(run: Run, fleet: Path) -> None:
    change(
        fleet,
        "    groups: 2\n    context: 8192",
        "    parallelism: auto\n    groups: 2\n    context: 8192",
    )
    status, _, err = run("plan", "--pin", "small")
    assert status == 1
    assert "pinned 1 serving" in err
    text = fleet.read_text()
    assert "parallelism: {tensor: 1}" in text
    assert "parallelism: auto  # how many?" in text
    run("plan", "--pin")
    assert "auto" not in fleet.read_text()


def test_a_link_stays_a_link(run: Run, fleet: Path) -> None:
    real = fleet.parent / "real.yaml"
    fleet.rename(real)
    fleet.symlink_to(real)
    assert run("plan", "--pin").status == 0
    assert fleet.is_symlink()
    assert WRITTEN in real.read_text()


# ── refusing ─────────────────────────────────────────────────────────────────────────────────────


def test_a_value_that_cannot_be_cut_is_written_by_hand(run: Run, fleet: Path) -> None:
    before = change(fleet, "parallelism: auto", 'parallelism: "au\\u0074o"')
    status, out, err = run("plan", "--pin")
    assert (status, out) == (1, "")
    assert "error[pin-by-hand]" in err
    assert f"fix: write `{WRITTEN}` there by hand" in err
    assert "nothing was written" in err
    assert fleet.read_bytes() == before


def test_a_load_that_nothing_holds_is_not_pinned(run: Run, fleet: Path) -> None:
    before = change(fleet, "context: 32768", "context: 32768\n    concurrency: 90000")
    status, _, err = run("plan", "--pin")
    assert status == 1
    assert "error[no-shape-holds-the-load]" in err
    assert fleet.read_bytes() == before


def test_clusters_that_would_choose_differently_are_not_decided_for(run: Run, fleet: Path) -> None:
    before = change(
        fleet,
        "cluster:\n  name: prod\n",
        "clusters:\n- name: next\n"
        '  versions: {kubernetes: "1.36", lws: "0.10", kueue: "0.19"}\n'
        "  foundation: all\n  pools:\n    h100: {hardware: b200-8x}\n- name: prod\n",
    )
    for words in (["plan", "--pin"], ["plan", "--pin", "--cluster", "prod"]):
        status, _, err = run(*words)
        assert status == 1
        assert "error[pin-differs-by-cluster]" in err
        assert "{tensor: 8, pipeline: 2} on prod" in err
        assert "data: 8" in err
    assert fleet.read_bytes() == before
    change(fleet, "  - name: r1\n", "  - name: r1\n    clusters: [prod]\n")
    assert run("plan", "--pin").status == 0
    assert WRITTEN in fleet.read_text()


@pytest.mark.parametrize("when", ["before it is read again", "before it is replaced"])
def test_a_file_that_somebody_else_writes_meanwhile_is_left_to_them(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    theirs = fleet.read_bytes().replace(b"groups: 2", b"groups: 3")
    real = gangform.pin._edited

    def late(*arguments: Any) -> Any:
        if when == "before it is read again":
            fleet.write_bytes(theirs)
        made = list(real(*arguments))
        fleet.write_bytes(theirs)
        return made

    monkeypatch.setattr(gangform.pin, "_edited", late)
    status, _, err = run("plan", "--pin")
    assert status == 1
    assert "error[file-changed-meanwhile]" in err
    assert f"run it again, or write `{WRITTEN}` by hand" in err
    assert fleet.read_bytes() == theirs
    monkeypatch.undo()
    monkeypatch.chdir(fleet.parent)
    assert run("plan", "--pin").status == 0
    assert fleet.read_bytes() == theirs.replace(b"parallelism: auto", WRITTEN.encode())


def test_a_folder_that_cannot_be_written_is_an_environment_fault(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system", str(fleet))

    monkeypatch.setattr(gangform.cli.pin, "replace_texts", full)
    before = fleet.read_bytes()
    status, _, err = run("plan", "--pin")
    assert status == 3
    assert "Read-only file system" in err
    assert fleet.read_bytes() == before


def test_a_file_that_may_not_be_written_is_left(
    run: Run, fleet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.access
    monkeypatch.setattr(
        os, "access", lambda path, mode: Path(path).name != fleet.name and real(path, mode)
    )
    before = fleet.read_bytes()
    status, _, err = run("plan", "--pin")
    assert status == 3
    assert "its owner keeps it from being written" in err
    assert fleet.read_bytes() == before


def test_of_several_files_all_are_written_or_none(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / "profiles" / "servings"
    home.mkdir(parents=True)
    for name in ("a", "b"):
        (home / f"{name}.yaml").write_text(
            "namespace: llm\nmodel: llama-3.1-8b\npool: h100\n"
            'engine: {name: vllm, version: "0.32.0"}\nparallelism: auto\ngroups: 1\n'
            "context: 8192\nadmission: {backend: kueue, queue: serving}\n"
        )
    real = Path.open

    def full(path: Path, mode: str = "r", **options: Any) -> Any:
        if mode == "x" and path.name.startswith(".b.yaml."):
            raise OSError(errno.ENOSPC, "No space left on device", str(path))
        return real(path, mode, **options)

    before = {path.name: path.read_bytes() for path in home.iterdir()}
    monkeypatch.setattr(Path, "open", full)
    status, _, err = run("plan", "--pin")
    assert status == 3
    assert "No space left on device" in err
    assert {path.name: path.read_bytes() for path in home.iterdir()} == before
    monkeypatch.undo()
    monkeypatch.chdir(folder)
    assert run("plan", "--pin").status == 0
    assert all("{tensor: 1}" in path.read_text() for path in home.iterdir())


def test_json_stays_json(run: Run, fleet: Path) -> None:
    data = yaml.safe_load(fleet.read_text())
    fleet.write_text(json.dumps(data, indent=2))
    assert run("plan", "--pin").status == 0
    pinned = json.loads(fleet.read_text())
    assert pinned["servings"][0].pop("parallelism") == {"tensor": 8, "pipeline": 2}
    assert data["servings"][0].pop("parallelism") == "auto"
    assert pinned == data
