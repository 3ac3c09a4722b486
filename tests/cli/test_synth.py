"""`synth` and `validate` as a user calls them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

Run = Callable[..., Any]


def change(folder: Path, old: str, new: str) -> None:
    file = folder / "gangform.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def files(root: Path) -> list[str]:
    return sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file())


FILES = ["prod/foundation.k8s.yaml", "prod/r1.k8s.yaml", "prod/small.k8s.yaml"]


def test_synth_writes_once(run: Run, folder: Path) -> None:
    assert run("synth").out == "wrote 3 files in dist\n"
    assert files(folder / "dist") == FILES
    assert run("synth").out == "3 unchanged in dist\n"


def test_what_is_no_longer_produced_is_removed(run: Run, folder: Path) -> None:
    run("synth")
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text[: text.index("  - name: small")])
    (folder / "dist" / "prod" / "mine.yaml").write_text("kind: Secret\n")
    status, out, err = run("synth", "--check")
    assert status == 1
    assert "--- dist/prod/small.k8s.yaml\n+++ /dev/null\n" in out
    assert "1 leftover" in err
    assert "removed 1 (prod/small.k8s.yaml)" in run("synth").out
    assert files(folder / "dist") == [
        "prod/foundation.k8s.yaml",
        "prod/mine.yaml",
        "prod/r1.k8s.yaml",
    ]


def test_a_fleet_that_lost_its_servings_says_what_it_removes(run: Run, folder: Path) -> None:
    assert run("synth").status == 0
    text = (folder / "gangform.yaml").read_text()
    (folder / "gangform.yaml").write_text(text[: text.index("servings:")] + "servings: []\n")
    status, out, err = run("synth")
    assert status == 0
    assert "prod/r1.k8s.yaml, prod/small.k8s.yaml" in out
    assert "warning: the fleet has no serving" in err
    assert "warning" not in run("synth").err


def test_a_selection_touches_nothing_else(run: Run, folder: Path) -> None:
    assert run("synth", "small").out == "wrote 1 file in dist\n"
    assert files(folder / "dist") == ["prod/small.k8s.yaml"]
    run("synth")
    (folder / "dist/prod/r1.k8s.yaml").unlink()
    assert run("synth", "--check", "small").status == 0
    assert run("synth", "--check", "r1").status == 1


def test_check_shows_the_difference_and_writes_nothing(run: Run, folder: Path) -> None:
    run("synth")
    change(folder, "groups: 2\n    context: 32768", "groups: 3\n    context: 32768")
    before = (folder / "dist/prod/r1.k8s.yaml").read_text()
    status, out, err = run("synth", "--check")
    assert status == 1
    assert "-  replicas: 2\n" in out
    assert "+  replicas: 3\n" in out
    assert "dist is stale: 2 changed; `gangform synth` brings it up to date" in err
    assert (folder / "dist/prod/r1.k8s.yaml").read_text() == before
    run("synth")
    status, out, _ = run("synth", "--check")
    assert (status, out) == (0, "dist is current: 3 files\n")


def test_stdout_holds_all_documents_and_nothing_else(run: Run, folder: Path) -> None:
    status, out, _ = run("synth", "--stdout")
    assert status == 0
    kinds = [document["kind"] for document in yaml.safe_load_all(out)]
    assert {"LeaderWorkerSet", "Deployment", "ClusterQueue"} <= set(kinds)
    assert not (folder / "dist").exists()


@pytest.mark.parametrize("how", ["option", "environment"])
def test_the_output_folder_is_chosen(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    words = ["--output-dir", "there"] if how == "option" else []
    monkeypatch.setenv("CDK8S_OUTDIR", "ignored" if words else "there")
    assert run("synth", *words).out == "wrote 3 files in there\n"
    assert files(folder / "there") == FILES


def test_a_foreign_file_in_the_way_is_an_error(run: Run, folder: Path) -> None:
    place = folder / "dist/prod/r1.k8s.yaml"
    place.parent.mkdir(parents=True)
    place.write_text("kind: Secret\n")
    for words in (["synth"], ["synth", "--check"]):
        status, out, err = run(*words)
        assert (status, out) == (1, "")
        assert "error[file-not-ours]: dist/prod/r1.k8s.yaml is to be written, but" in err
        assert "\n  --> dist/prod/r1.k8s.yaml\n  fix: " in err
        assert "1 error; nothing was written\n" in err or "1 error, " in err
    assert files(folder / "dist") == ["prod/r1.k8s.yaml"]


def test_a_folder_that_cannot_be_written_is_the_machines_fault(run: Run, folder: Path) -> None:
    (folder / "dist").write_text("a file")
    status, _, err = run("synth")
    assert status == 3
    assert err.rstrip().endswith("choose an output folder that is no file")


def test_an_error_of_the_plan_has_file_line_and_fix(run: Run, folder: Path) -> None:
    change(folder, "tensor: 8, pipeline: 2", "tensor: 16, pipeline: 1")
    for command in ("synth", "validate"):
        status, out, err = run(command)
        assert (status, out) == (1, "")
        assert "error[tensor-leaves-nvlink]: " in err
        assert "\n  --> gangform.yaml:15: servings[0].parallelism.tensor\n  fix: " in err
    assert not (folder / "dist").exists()


def test_errors_and_warnings_are_counted(run: Run, folder: Path) -> None:
    change(folder, "tensor: 8, pipeline: 2", "tensor: 16, pipeline: 1")
    change(folder, "groups: 2\n    context: 8192", "groups: 1\n    context: 8192")
    _, _, err = run("synth")
    assert "warning[" in err
    last = err.rstrip().splitlines()[-1]
    assert last.endswith("; nothing was written")
    assert "error" in last
    assert "warning" in last


def test_an_error_of_the_file_has_its_line(run: Run, folder: Path) -> None:
    change(folder, "    groups: 2\n    context: 8192", "    gruops: 2\n    context: 8192")
    status, _, err = run("synth")
    assert status == 1
    assert "gangform.yaml:24: servings[1].gruops" in err
    assert "did you mean `groups`?" in err


def test_validate_says_what_would_be_written(run: Run, folder: Path) -> None:
    status, out, _ = run("validate")
    assert status == 0
    assert out.startswith("gangform.yaml is valid: 3 files with ")
    assert not (folder / "dist").exists()


def test_validate_reads_profiles_that_nothing_names(run: Run, folder: Path) -> None:
    (folder / "profiles/models").mkdir(parents=True)
    (folder / "profiles/models/mine.yaml").write_text("repository: me/mine\n")
    assert run("synth", "--stdout").status == 0
    status, _, err = run("validate")
    assert status == 1
    assert "profiles/models/mine.yaml" in err


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_findings_for_machines(run: Run, folder: Path, form: str) -> None:
    change(folder, "tensor: 8, pipeline: 2", "tensor: 16, pipeline: 1")
    status, out, err = run("validate", "-o", form)
    assert (status, err) == (1, "")
    data = json.loads(out) if form == "json" else yaml.safe_load(out)
    assert data["valid"] is False
    (finding,) = [one for one in data["findings"] if one["code"] == "tensor-leaves-nvlink"]
    assert finding["severity"] == "error"
    assert (finding["file"], finding["line"]) == ("gangform.yaml", 15)
    assert finding["path"] == "servings[0].parallelism.tensor"
    assert finding["seen"] == {"tensor": "16", "domain": "8"}


def test_who_names_every_cluster_removes_nothing_of_others(run: Run, folder: Path) -> None:
    run("synth")
    left = folder / "dist" / "old" / "small.k8s.yaml"
    left.parent.mkdir()
    left.write_bytes((folder / "dist/prod/small.k8s.yaml").read_bytes())
    assert run("synth", "--check", "--cluster", "prod").status == 0
    assert "removed" not in run("synth", "--cluster", "prod").out
    assert left.exists()
    assert "removed 1" in run("synth").out
    assert not left.exists()


def test_who_names_every_serving_removes_no_other_chart(run: Run, folder: Path) -> None:
    run("synth")
    left = folder / "dist" / "prod" / "old.k8s.yaml"
    left.write_bytes((folder / "dist/prod/small.k8s.yaml").read_bytes())
    assert "removed" not in run("synth", "r1", "small").out
    assert left.exists()
    assert "removed 1" in run("synth").out


def test_a_number_that_no_manifest_holds_is_an_error_of_the_inputs(run: Run, folder: Path) -> None:
    patch = "{kind: Service, merge: {metadata: {annotations: {a: b}}, x: 9007199254740993}}"
    change(
        folder,
        "groups: 2\n    context: 8192",
        f"groups: 2\n    patches: [{patch}]\n    context: 8192",
    )
    status, _, err = run("synth")
    assert status == 1
    assert "value-not-writable" in err and "Service/llm/small" in err
    assert "servings[1].patches[0]" in err and "a fault in gangform" not in err


@pytest.mark.parametrize(
    ("name", "meant"),
    [("r_1", "r1"), ("smal", "small"), ("xyz", "r1, small")],
)
def test_a_name_that_no_workload_has_is_said(run: Run, name: str, meant: str) -> None:
    run("synth")
    status, _, err = run("synth", "--allow-recreate", name)
    assert status == 0
    assert err == (
        f"warning: no workload is called as `--allow-recreate {name}` says; there is {meant}\n"
    )
    assert run("synth", "--allow-recreate", "r1", "--allow-recreate", "small").err == ""


def test_what_a_workload_was_called_is_a_name_of_it(run: Run, folder: Path) -> None:
    run("synth")
    change(folder, "name: r1", "name: r2")
    status, _, err = run("synth", "--allow-recreate", "r1x")
    assert status == 1 and "warning: no workload is called" in err
    status, _, err = run("synth", "--allow-recreate", "r1")
    assert status == 0 and "warning: no workload" not in err
