"""The writer: what it replaces, what it removes, and what it leaves alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.published import FOREIGN, LABELLED, NEW, compare, content, fill, ours, publish, rendered

from gangform.findings import InputError
from gangform.publish.folders import Differences, Outcome, Scope

# ── what is written and what is removed ──────────────────────────────────────────────────────────


def test_a_folder_is_made_and_filled(tmp_path: Path) -> None:
    root = tmp_path / "deep" / "dist"
    assert publish(rendered(NEW), root) == Outcome(
        written=tuple(sorted(NEW)), removed=(), unchanged=()
    )
    assert content(root) == NEW


def test_nothing_to_write_makes_no_folder(tmp_path: Path) -> None:
    assert publish([], tmp_path / "dist") == Outcome(written=(), removed=(), unchanged=())
    assert not (tmp_path / "dist").exists()


def test_only_what_differs_is_touched(tmp_path: Path) -> None:
    fill(tmp_path, {**NEW, "b/r1.k8s.yaml": ours("b", more="data: {}\n")})
    before = {path: (tmp_path / path).stat().st_ino for path in NEW}
    outcome = publish(rendered(NEW), tmp_path)
    after = {path: (tmp_path / path).stat().st_ino for path in NEW}
    assert outcome.written == ("b/r1.k8s.yaml",)
    assert outcome.unchanged == ("a/foundation.k8s.yaml", "a/r1.k8s.yaml")
    assert [path for path in NEW if before[path] != after[path]] == ["b/r1.k8s.yaml"]


def test_ours_and_no_longer_produced_goes_and_so_does_its_empty_folder(tmp_path: Path) -> None:
    fill(tmp_path, {**NEW, "gone/x/r9.k8s.yaml": ours("r9") + "---\n" + ours("r8")})
    assert publish(rendered(NEW), tmp_path).removed == ("gone/x/r9.k8s.yaml",)
    assert content(tmp_path) == NEW
    assert not (tmp_path / "gone").exists()


def test_foreign_files_are_left_alone(tmp_path: Path) -> None:
    fill(tmp_path, FOREIGN)
    assert publish(rendered(NEW), tmp_path).removed == ()
    assert content(tmp_path) == {**NEW, **FOREIGN}
    assert compare(rendered(NEW), tmp_path).stale == ()


def test_a_file_that_is_not_text_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x.k8s.yaml").write_bytes(b"\xff\xfe")
    publish(rendered(NEW), tmp_path)
    assert (tmp_path / "x.k8s.yaml").read_bytes() == b"\xff\xfe"


NOT_OURS = [text for path, text in FOREIGN.items() if text != ours("x")]


@pytest.mark.parametrize("text", NOT_OURS)
@pytest.mark.parametrize("run", [publish, compare])
def test_a_foreign_file_in_the_way_stops_everything(tmp_path: Path, run: Any, text: str) -> None:
    fill(tmp_path, {"a/r1.k8s.yaml": text, "gone.k8s.yaml": ours("gone")})
    before = content(tmp_path)
    with pytest.raises(InputError) as caught:
        run(rendered(NEW), tmp_path)
    (finding,) = caught.value.findings
    assert finding.code.id == "file-not-ours"
    assert finding.seen["file"] == str(tmp_path / "a/r1.k8s.yaml")
    assert content(tmp_path) == before


def test_every_file_in_the_way_is_named(tmp_path: Path) -> None:
    fill(tmp_path, {"a/r1.k8s.yaml": "x: 1\n", "b": "a file where a folder is needed"})
    (tmp_path / "a/foundation.k8s.yaml").mkdir()
    with pytest.raises(InputError) as caught:
        publish(rendered(NEW), tmp_path)
    assert len(caught.value.findings) == 3
    assert [finding.code.id for finding in caught.value.findings] == ["file-not-ours"] * 3


def test_a_merge_conflict_between_two_of_ours_is_ours(tmp_path: Path) -> None:
    both = (
        "apiVersion: v1\nkind: ConfigMap\n" + LABELLED.format(name="r1") + "data:\n"
        "<<<<<<< HEAD\n  a: 1\n||||||| base\n  a: 0\n=======\n  a: 2\n>>>>>>> topic\n"
    )
    fill(tmp_path, {"a/r1.k8s.yaml": both, "a/old.k8s.yaml": both})
    outcome = publish(rendered(NEW), tmp_path)
    assert outcome.removed == ("a/old.k8s.yaml",)
    assert content(tmp_path) == NEW


def test_a_merge_conflict_with_somebody_elses_file_is_not_ours(tmp_path: Path) -> None:
    text = f"<<<<<<< HEAD\n{ours('r1')}=======\nkind: ConfigMap\n>>>>>>> topic\n"
    fill(tmp_path, {"a/r1.k8s.yaml": text})
    with pytest.raises(InputError):
        publish(rendered(NEW), tmp_path)


def test_a_replaced_file_keeps_its_mode_and_a_new_one_obeys_the_umask(tmp_path: Path) -> None:
    fill(tmp_path, {"a/r1.k8s.yaml": ours("old")})
    (tmp_path / "a/r1.k8s.yaml").chmod(0o640)
    before = os.umask(0o022)
    try:
        publish(rendered(NEW), tmp_path)
    finally:
        os.umask(before)
    assert (tmp_path / "a/r1.k8s.yaml").stat().st_mode & 0o777 == 0o640
    assert (tmp_path / "b/r1.k8s.yaml").stat().st_mode & 0o777 == 0o644


# ── a selection ──────────────────────────────────────────────────────────────────────────────────

OLD = {
    path: ours("old")
    for path in ("a/r1.k8s.yaml", "a/r2.k8s.yaml", "b/r1.k8s.yaml", "c/r1.k8s.yaml")
}


@pytest.mark.parametrize(
    ("scope", "gone"),
    [
        (Scope(), {"a/r2.k8s.yaml", "b/r1.k8s.yaml", "c/r1.k8s.yaml"}),
        (Scope(clusters=frozenset({"a"})), {"a/r2.k8s.yaml"}),
        (Scope(charts=frozenset({"r1"})), {"b/r1.k8s.yaml", "c/r1.k8s.yaml"}),
        (Scope(clusters=frozenset({"a", "b"}), charts=frozenset({"r1"})), {"b/r1.k8s.yaml"}),
    ],
)
def test_outside_of_a_selection_nothing_is_removed(
    tmp_path: Path, scope: Scope, gone: set[str]
) -> None:
    fill(tmp_path, OLD)
    files = rendered({"a/r1.k8s.yaml": ours("new")})
    stale = compare(files, tmp_path, scope=scope).stale
    assert {one.path for one in stale if one.kind == "leftover"} == gone
    assert set(publish(files, tmp_path, scope=scope).removed) == gone
    assert set(content(tmp_path)) == set(OLD) - gone


# ── comparing ────────────────────────────────────────────────────────────────────────────────────


def test_a_comparison_shows_what_would_change_and_changes_nothing(tmp_path: Path) -> None:
    fill(tmp_path, {"a/r1.k8s.yaml": ours("r1", more="data: {}"), "gone.k8s.yaml": ours("gone")})
    before = content(tmp_path)
    found = compare(rendered(NEW), tmp_path)
    assert [(one.path, one.kind) for one in found.stale] == [
        ("a/foundation.k8s.yaml", "missing"),
        ("a/r1.k8s.yaml", "changed"),
        ("b/r1.k8s.yaml", "missing"),
        ("gone.k8s.yaml", "leftover"),
    ]
    missing, changed, _, leftover = (one.unified(tmp_path) for one in found.stale)
    assert missing.startswith(f"--- /dev/null\n+++ {tmp_path}/a/foundation.k8s.yaml\n")
    assert "-data: {}\n\\ No newline at end of file\n" in changed
    assert f"--- {tmp_path}/gone.k8s.yaml\n+++ /dev/null\n" in leftover
    assert content(tmp_path) == before


def test_after_publishing_nothing_is_stale(tmp_path: Path) -> None:
    publish(rendered(NEW), tmp_path)
    assert compare(rendered(NEW), tmp_path) == Differences(stale=(), unchanged=tuple(sorted(NEW)))
    assert publish(rendered(NEW), tmp_path).written == ()


def test_a_missing_folder_is_all_missing(tmp_path: Path) -> None:
    stale = compare(rendered(NEW), tmp_path / "dist").stale
    assert [one.kind for one in stale] == ["missing"] * 3
