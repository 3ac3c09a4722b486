"""Files that are no manifests: told by their first line, and written in one run with the manifests."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.published import FOREIGN, NEW, content, fill, ours, rendered

from gangform.companions import MARKS, Companion
from gangform.findings import EnvironmentFault, InputError
from gangform.publish.folders import EVERYTHING, Outcome, Output, Scope, compare, publish
from gangform.publish.ownership import COMPANIONS, MANIFESTS


def page(text: str, suffix: str = ".md") -> str:
    return f"{MARKS[suffix]}\n{text}\n"


PAGES = {
    "a/runbooks/r1/Down.md": page("down"),
    "a/series.yaml": page("kind: X", ".yaml"),
    "b/runbooks/r1/Down.md": page("down"),
}

THEIRS = {
    "a/runbooks/r1/Mine.md": "# mine\n",
    "a/runbooks/r1/Below.md": f"# mine\n{MARKS['.md']}\n",
    "a/runbooks/r1/Other.md": MARKS[".yaml"] + "\n",
    "a/empty.md": "",
    "a/mine.yaml": "kind: Secret\n",
    "a/manifest.k8s.yaml": ours("x"),
    "a/notes.txt": MARKS[".md"] + "\n",
    "a/.hidden.md": page("x"),
    ".git/x.md": page("x"),
}


def both(
    tmp_path: Path, pages: Mapping[str, str] = PAGES, scope: Scope = EVERYTHING
) -> list[Output]:
    files = [Companion(path, text.encode()) for path, text in pages.items()]
    return [
        Output(tmp_path / "dist", rendered(NEW), scope=scope),
        Output(tmp_path / "out", files, COMPANIONS, scope),
    ]


# ── what is written, what is removed, what is left ───────────────────────────────────────────────


def test_both_folders_are_filled_by_one_run(tmp_path: Path) -> None:
    assert publish(both(tmp_path)) == (
        Outcome(written=tuple(sorted(NEW)), removed=(), unchanged=()),
        Outcome(written=tuple(sorted(PAGES)), removed=(), unchanged=()),
    )
    assert content(tmp_path / "out") == PAGES
    assert [found.stale for found in compare(both(tmp_path))] == [(), ()]
    assert [outcome.written for outcome in publish(both(tmp_path))] == [(), ()]


def test_a_folder_for_nothing_is_not_made(tmp_path: Path) -> None:
    publish(both(tmp_path, {}))
    assert not (tmp_path / "out").exists()


def test_what_is_ours_and_no_longer_made_goes_and_all_else_stays(tmp_path: Path) -> None:
    gone = {"gone/runbooks/r9/Down.md": page("x"), "a/old.yaml": page("x", ".yaml")}
    fill(tmp_path / "out", {**PAGES, **THEIRS, **gone})
    stale = compare(both(tmp_path))[1].stale
    assert [(one.path, one.kind) for one in stale] == [(path, "leftover") for path in sorted(gone)]
    assert "-" + MARKS[".yaml"] in stale[0].unified(tmp_path / "out")
    assert publish(both(tmp_path))[1].removed == tuple(sorted(gone))
    assert content(tmp_path / "out") == {**PAGES, **THEIRS}
    assert not (tmp_path / "out" / "gone").exists()


def test_only_what_differs_is_touched(tmp_path: Path) -> None:
    root = tmp_path / "out"
    fill(root, {**PAGES, "a/series.yaml": page("kind: Y", ".yaml")})
    before = {path: (root / path).stat().st_ino for path in PAGES}
    assert publish(both(tmp_path))[1].written == ("a/series.yaml",)
    after = {path: (root / path).stat().st_ino for path in PAGES}
    assert [path for path in PAGES if before[path] != after[path]] == ["a/series.yaml"]


@pytest.mark.parametrize(
    "text",
    [
        page("old").replace("\n", "\r\n"),
        page("<<<<<<< HEAD\nold\n=======\nolder\n>>>>>>> topic"),
        MARKS[".md"],
    ],
)
def test_a_file_of_ours_is_known_by_its_first_line(tmp_path: Path, text: str) -> None:
    fill(tmp_path / "out", {"a/runbooks/r1/Down.md": text})
    publish(both(tmp_path))
    assert content(tmp_path / "out") == PAGES


@pytest.mark.parametrize("run", [publish, compare])
@pytest.mark.parametrize("text", ["# mine\n", "", MARKS[".yaml"], "\ufeff" + MARKS[".md"]])
def test_a_foreign_file_in_the_way_stops_both(tmp_path: Path, run: Any, text: str) -> None:
    fill(tmp_path / "out", {"a/runbooks/r1/Down.md": text, "a/old.md": page("x")})
    before = content(tmp_path)
    with pytest.raises(InputError) as caught:
        run(both(tmp_path))
    (finding,) = caught.value.findings
    assert finding.code.id == "file-not-ours"
    assert finding.seen["file"] == str(tmp_path / "out/a/runbooks/r1/Down.md")
    assert content(tmp_path) == before


def test_what_stands_in_the_way_in_either_folder_is_named(tmp_path: Path) -> None:
    fill(tmp_path, {"dist/a/r1.k8s.yaml": "x: 1\n", "out/a/runbooks": "a file"})
    (tmp_path / "out/a/series.yaml").mkdir(parents=True)
    with pytest.raises(InputError) as caught:
        publish(both(tmp_path))
    assert len(caught.value.findings) == 3
    assert sorted(content(tmp_path)) == ["dist/a/r1.k8s.yaml", "out/a/runbooks"]


@pytest.mark.parametrize(
    ("scope", "gone"),
    [
        (Scope(), {"a/runbooks/r2/X.md", "a/old.yaml", "c/runbooks/r1/X.md"}),
        (Scope(clusters=frozenset({"a"})), {"a/runbooks/r2/X.md", "a/old.yaml"}),
        (Scope(charts=frozenset({"r1"})), {"c/runbooks/r1/X.md"}),
        (Scope(clusters=frozenset({"a"}), charts=frozenset({"r1"})), set()),
    ],
)
def test_outside_of_a_selection_nothing_is_removed(
    tmp_path: Path, scope: Scope, gone: set[str]
) -> None:
    old = {
        "a/runbooks/r2/X.md": page("x"),
        "a/old.yaml": page("x", ".yaml"),
        "c/runbooks/r1/X.md": page("x"),
    }
    fill(tmp_path / "out", old)
    outputs = both(tmp_path, {}, scope)
    assert {one.path for one in compare(outputs)[1].stale} == gone
    assert set(publish(outputs)[1].removed) == gone
    assert set(content(tmp_path / "out")) == set(old) - gone


def test_manifests_and_pages_are_told_apart_wherever_they_lie() -> None:
    assert MANIFESTS.foreign("a/r1.k8s.yaml", page("kind: X", ".yaml").encode())
    assert COMPANIONS.foreign("a/r1.k8s.yaml", ours("r1").encode())
    assert COMPANIONS.chart("runbooks/r1/X.md") == "r1"
    assert COMPANIONS.chart("series.yaml") == COMPANIONS.chart("runbooks/index.md") == ""


# ── a machine that is not able, and a run that ends anywhere ─────────────────────────────────────


@pytest.mark.parametrize("link", ["a", "a/runbooks", "a/series.yaml"])
def test_a_link_leads_nowhere(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    place = tmp_path / "out" / link
    place.parent.mkdir(parents=True)
    place.symlink_to(outside)
    for run in (publish, compare):
        with pytest.raises(EnvironmentFault, match="symbolic link"):
            run(both(tmp_path))
    assert content(outside) == {}
    assert content(tmp_path / "dist") == {}


def test_another_run_in_either_folder_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gangform.publish.disk._PATIENCE", 0.1)
    (tmp_path / "out").mkdir()
    handle = os.open(tmp_path / "out", os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(EnvironmentFault, match="another gangform"):
            publish(both(tmp_path))
        assert content(tmp_path) == {}
    finally:
        os.close(handle)
    publish(both(tmp_path))
    assert content(tmp_path / "out") == PAGES


def test_what_access_forbids_is_met_before_the_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path / "out", {"a/series.yaml": page("old", ".yaml")})
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / "out" / "a")
    with pytest.raises(EnvironmentFault, match="out/a cannot be written"):
        publish(both(tmp_path))
    assert content(tmp_path / "dist") == {}


@pytest.mark.parametrize("number", [0, 3, 5])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_changes_neither_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: int
) -> None:
    """The write of a file in either folder meets a full disk: not one is renamed before all are written."""
    fill(tmp_path / "dist", {"a/r1.k8s.yaml": ours("old"), **FOREIGN})
    fill(tmp_path / "out", {"a/series.yaml": page("old", ".yaml"), **THEIRS})
    before = content(tmp_path)
    original = Path.open
    opened: list[Path] = []

    def fail(self: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if "x" in mode:
            opened.append(self)
            if len(opened) > number:
                raise OSError(error, os.strerror(error), str(self))
        return original(self, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(EnvironmentFault, match="free some"):
        publish(both(tmp_path))
    monkeypatch.undo()
    assert content(tmp_path) == before
    publish(both(tmp_path))
    assert content(tmp_path / "out") == {**PAGES, **THEIRS}


def test_what_a_killed_run_left_is_stale_and_goes(tmp_path: Path) -> None:
    hidden = {"a/runbooks/r1/.Down.md.0123abcd.gangform": "<!-", "a/.x.txt.0123abcd.gangform": ""}
    fill(tmp_path / "dist", NEW)
    fill(tmp_path / "out", {**PAGES, **hidden})
    (one,) = compare(both(tmp_path))[1].stale
    assert (one.kind, one.pending) == ("leftover", True)
    assert publish(both(tmp_path))[1].removed == ()
    assert content(tmp_path / "out") == {**PAGES, "a/.x.txt.0123abcd.gangform": ""}
