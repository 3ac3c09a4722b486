"""What is no manifest, as `synth` writes it beside the manifests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.published import content

from gangform.companions import MARKS, Producer
from gangform.plan.cluster import ClusterPlan

Run = Callable[..., Any]


def pages(plan: ClusterPlan) -> Iterator[tuple[str, str]]:
    for serving in plan.servings:
        yield f"runbooks/{serving.name}/Down.md", f"# {serving.name} is down\n"
    yield "series.yaml", "kind: Series\n"


PRODUCERS = (Producer("runbooks", lambda plan: plan.cluster.name == "prod", pages),)
FILES = ["prod/runbooks/r1/Down.md", "prod/runbooks/small/Down.md", "prod/series.yaml"]


@pytest.fixture(autouse=True)
def producers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangform.companions.PRODUCERS", PRODUCERS)


def test_they_are_written_beside_dist(run: Run, folder: Path) -> None:
    assert run("synth").out == "wrote 3 files in dist\nwrote 3 files in out\n"
    written = content(folder / "out")
    assert list(written) == FILES
    assert written[FILES[0]] == f"{MARKS['.md']}\n# r1 is down\n"
    assert run("synth").out == "3 unchanged in dist\n3 unchanged in out\n"
    assert not list((folder / "dist").rglob("*.md"))


def test_check_covers_both_folders_in_one_message(run: Run, folder: Path) -> None:
    run("synth")
    assert run("synth", "--check").out == "dist is current: 3 files; out is current: 3 files\n"
    (folder / "out" / FILES[0]).write_text(f"{MARKS['.md']}\n# r1 is up\n")
    status, out, err = run("synth", "--check")
    assert status == 1
    assert "-# r1 is up\n+# r1 is down\n" in out
    assert err == "out is stale: 1 changed; `gangform synth` brings it up to date\n"
    (folder / "dist" / "prod" / "small.k8s.yaml").unlink()
    err = run("synth", "--check").err
    assert (
        "dist is stale: 1 missing; out is stale: 1 changed; `gangform synth` brings them up" in err
    )


def test_what_nobody_asks_for_any_more_goes(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("synth")
    (folder / "out" / "mine.md").write_text("mine\n")
    monkeypatch.setattr("gangform.companions.PRODUCERS", ())
    assert run("synth", "--check").status == 1
    assert run("synth").out.endswith(f"removed 3 ({', '.join(FILES)}) in out\n")
    assert content(folder / "out") == {"mine.md": "mine\n"}
    assert run("synth").out == "3 unchanged in dist\n"
    assert run("synth", "--check").out == "dist is current: 3 files\n"


def test_a_selection_touches_nothing_else(run: Run, folder: Path) -> None:
    assert run("synth", "small").out == "wrote 1 file in dist\nwrote 1 file in out\n"
    assert list(content(folder / "out")) == ["prod/runbooks/small/Down.md"]
    run("synth")
    (folder / "out/prod/runbooks/r1/Down.md").unlink()
    assert run("synth", "--check", "small").status == 0
    assert run("synth", "--check", "r1").status == 1


@pytest.mark.parametrize("how", ["option", "environment"])
def test_a_folder_of_manifests_elsewhere_gets_nothing_else(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    words = ["--output-dir", "there"] if how == "option" else []
    monkeypatch.setenv("CDK8S_OUTDIR", "ignored" if words else "there")
    status, out, err = run("synth", *words)
    assert (status, out) == (0, "wrote 3 files in there\n")
    assert err == (
        "runbooks are no manifests and are left out: `--companion-dir FOLDER` names a place for them\n"
    )
    assert not (folder / "out").exists()
    out = run("synth", *words, "--companion-dir", "pages").out
    assert out == "3 unchanged in there\nwrote 3 files in pages\n"
    monkeypatch.setattr("gangform.companions.PRODUCERS", ())
    assert run("synth", *words).err == ""


def test_manifests_alone_are_printed(run: Run, folder: Path) -> None:
    status, out, err = run("synth", "--stdout")
    assert status == 0 and "is down" not in out and not err
    assert not (folder / "out").exists()


@pytest.mark.parametrize("place", ["dist", "dist/prod/pages", ".", ""])
def test_a_place_that_a_controller_reads_is_refused(run: Run, folder: Path, place: str) -> None:
    words = ["--companion-dir", place] if place else ["--output-dir", ".", "--companion-dir", "out"]
    status, _, err = run("synth", *words)
    assert status == 2 and "lie in one another" in err
    assert not (folder / "dist").exists()


def test_a_foreign_page_in_the_way_is_an_error(run: Run, folder: Path) -> None:
    place = folder / "out/prod/series.yaml"
    place.parent.mkdir(parents=True)
    place.write_text("kind: Secret\n")
    for words in (["synth"], ["synth", "--check"]):
        status, out, err = run(*words)
        assert (status, out) == (1, "")
        assert "error[file-not-ours]: out/prod/series.yaml is to be written, but" in err
    assert not (folder / "dist").exists() or not content(folder / "dist")


def test_other_commands_read_manifests_alone(run: Run) -> None:
    assert run("synth").status == 0
    assert run("validate").out.startswith("gangform.yaml is valid: 3 files with ")
    assert run("lint", "dist").status == 0
