"""The writer: what it replaces, what it leaves alone, and that a run which ends anywhere leaves whole files only."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import pytest

from gangform.bundle import Bundle
from gangform.findings import EnvironmentFault, InputError
from gangform.publish import Differences, Outcome, Scope, compare, publish
from gangform.synth import Rendered

LABELLED = "metadata:\n  name: {name}\n  labels:\n    app.kubernetes.io/managed-by: gangform\n"


def ours(name: str, *, more: str = "") -> str:
    return f"apiVersion: v1\nkind: ConfigMap\n{LABELLED.format(name=name)}{more}"


def rendered(files: Mapping[str, str]) -> list[Rendered]:
    return [
        Rendered(path=path, content=text.encode(), bundle=cast(Bundle, None))
        for path, text in files.items()
    ]


def fill(root: Path, files: Mapping[str, str]) -> None:
    for path, text in files.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def content(root: Path) -> dict[str, str]:
    """Every file below a folder, hidden ones too."""
    return {
        path.relative_to(root).as_posix(): path.read_text()
        for path in sorted(root.rglob("*"))
        if path.is_file()
    }


NEW = {"a/r1.k8s.yaml": ours("r1"), "a/foundation.k8s.yaml": ours("f"), "b/r1.k8s.yaml": ours("b")}


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


FOREIGN = {
    "hand.k8s.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n",
    "a/half.k8s.yaml": ours("x") + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: y}\n",
    "a/helm.k8s.yaml": ours("x").replace(": gangform", ": Helm"),
    "a/comment.k8s.yaml": "# app.kubernetes.io/managed-by: gangform\n",
    "a/empty.k8s.yaml": "",
    "a/broken.k8s.yaml": ours("x") + "  broken: [\n",
    "a/annotated.k8s.yaml": ours("x").replace("labels", "annotations"),
    "a/plain.yaml": ours("x"),
    "a/.hidden.k8s.yaml": ours("x"),
    "a/notes.txt": "mine",
    ".git/x.k8s.yaml": ours("x"),
}


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


# ── a machine that is not able ───────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("run", [publish, compare])
def test_a_file_for_a_folder_is_said(tmp_path: Path, run: Any) -> None:
    (tmp_path / "dist").write_text("")
    with pytest.raises(EnvironmentFault, match="choose an output folder that is no file"):
        run(rendered(NEW), tmp_path / "dist")


@pytest.mark.parametrize("link", ["a", "a/r1.k8s.yaml"])
def test_a_link_leads_nowhere(tmp_path: Path, link: str) -> None:
    outside = tmp_path / "outside"
    fill(outside, {"r1.k8s.yaml": ours("r1"), "r2.k8s.yaml": ours("r2")})
    root = tmp_path / "dist"
    (root / link).parent.mkdir(parents=True)
    (root / link).symlink_to(outside if link == "a" else outside / "r1.k8s.yaml")
    before = content(outside)
    for run in (publish, compare):
        with pytest.raises(EnvironmentFault, match="symbolic link"):
            run(rendered(NEW), root)
    assert content(outside) == before


def test_a_link_that_is_in_nobodys_way_is_left_alone(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    fill(outside, {"r9.k8s.yaml": ours("r9")})
    root = tmp_path / "dist"
    root.mkdir()
    (root / "z").symlink_to(outside)
    (root / "r9.k8s.yaml").symlink_to(outside / "r9.k8s.yaml")
    (root / "dangling.k8s.yaml").symlink_to(tmp_path / "nowhere")
    assert publish(rendered(NEW), root).removed == ()
    assert content(outside) == {"r9.k8s.yaml": ours("r9")}
    assert (root / "r9.k8s.yaml").is_symlink()


def test_the_output_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "dist").symlink_to(tmp_path / "real")
    publish(rendered(NEW), tmp_path / "dist")
    assert content(tmp_path / "real") == NEW


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
@pytest.mark.parametrize("locked", ["a", "a/r1.k8s.yaml"])
def test_what_may_not_be_written_is_met_before_the_first_write(tmp_path: Path, locked: str) -> None:
    fill(tmp_path, {"a/r1.k8s.yaml": ours("old"), "b/r1.k8s.yaml": ours("old")})
    before = content(tmp_path)
    (tmp_path / locked).chmod(0o555)
    try:
        with pytest.raises(EnvironmentFault, match="writable"):
            publish(rendered(NEW), tmp_path)
        assert content(tmp_path) == before
    finally:
        (tmp_path / locked).chmod(0o755)


def test_what_access_forbids_is_met_before_the_first_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"a/r1.k8s.yaml": ours("old")})
    before = content(tmp_path)
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name != "a")
    with pytest.raises(EnvironmentFault, match=f"{tmp_path}/a cannot be written"):
        publish(rendered(NEW), tmp_path)
    assert content(tmp_path) == before


def test_two_runs_do_not_write_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gangform.publish._PATIENCE", 0.1)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        with pytest.raises(EnvironmentFault, match="another gangform"):
            publish(rendered(NEW), tmp_path)
        assert content(tmp_path) == {}
    finally:
        os.close(handle)
    publish(rendered(NEW), tmp_path)
    assert content(tmp_path) == NEW


# ── a run that ends anywhere ─────────────────────────────────────────────────────────────────────

BEFORE = {"a/r1.k8s.yaml": ours("old"), "b/old.k8s.yaml": ours("gone"), **FOREIGN}


def whole(root: Path) -> None:
    """Every visible file is an old one or a new one, and foreign files are as they were."""
    there = content(root)
    for path, text in there.items():
        if not path.endswith(".gangform"):
            assert text in (BEFORE.get(path), NEW.get(path)), path
    assert {path: there.get(path) for path in FOREIGN} == FOREIGN


@pytest.mark.parametrize("number", range(3))
def test_a_full_disk_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """The write of each file in turn meets a full disk."""
    fill(tmp_path, BEFORE)
    original = Path.open
    opened: list[Path] = []

    def fail(self: Path, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if "x" in mode:
            opened.append(self)
            if len(opened) > number:
                original(self, mode).close()
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return original(self, mode, *rest, **options)

    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(EnvironmentFault, match="free some space"):
        publish(rendered(NEW), tmp_path)
    monkeypatch.undo()
    assert content(tmp_path) == BEFORE
    publish(rendered(NEW), tmp_path)
    assert content(tmp_path) == {**NEW, **FOREIGN}


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("error", [OSError(errno.EIO, "broken disk"), KeyboardInterrupt()])
def test_a_failed_rename_leaves_whole_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: BaseException
) -> None:
    fill(tmp_path, BEFORE)
    original = os.replace
    done: list[object] = []

    def fail(source: Any, target: Any, **options: Any) -> None:
        if len(done) == number:
            raise error
        done.append(target)
        original(source, target, **options)

    monkeypatch.setattr(os, "replace", fail)
    monkeypatch.setattr(os, "rename", fail)
    with pytest.raises((EnvironmentFault, KeyboardInterrupt)) as caught:
        publish(rendered(NEW), tmp_path)
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert f"{number} of 3 files are new" in str(caught.value)
    assert len(done) == number
    whole(tmp_path)
    assert not [path for path in content(tmp_path) if path.endswith(".gangform")]
    assert len(compare(rendered(NEW), tmp_path).stale) == 3 - number + 1
    publish(rendered(NEW), tmp_path)
    assert content(tmp_path) == {**NEW, **FOREIGN}


def test_what_a_killed_run_left_is_stale_and_goes(tmp_path: Path) -> None:
    fill(tmp_path, {**NEW, "a/.r1.k8s.yaml.0123abcd.gangform": "apiVersion: v1\nki"})
    (one,) = compare(rendered(NEW), tmp_path).stale
    assert (one.kind, one.pending, one.unified(tmp_path)) == ("leftover", True, "")
    assert publish(rendered(NEW), tmp_path) == Outcome(
        written=(), removed=(), unchanged=tuple(sorted(NEW))
    )
    assert content(tmp_path) == NEW


def publish_in_a_child(files: list[Rendered], root: Path) -> int:
    """The id of a process of its own that publishes, and is ready to."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.write(writer, b".")
            publish(files, root)
        finally:
            os._exit(0)
    os.read(reader, 1)
    os.close(reader)
    os.close(writer)
    return child


def test_a_killed_run_leaves_whole_files(tmp_path: Path) -> None:
    """SIGKILL at moments all through a run; the seed makes a failure repeatable as far as a clock can be."""
    long = "# " + "x" * 77 + "\n"
    old, new = ours("old"), long * 2000 + ours("new")
    names = [f"a/r{number}.k8s.yaml" for number in range(60)]
    files = rendered(dict.fromkeys(names, new))
    moments = random.Random(7)
    began = time.monotonic()
    publish(files, tmp_path / "undisturbed")
    longest = time.monotonic() - began
    interrupted = 0
    for attempt in range(15):
        root = tmp_path / f"dist-{attempt}"
        fill(root, {**dict.fromkeys(names, old), "z/gone.k8s.yaml": old, **FOREIGN})
        child = publish_in_a_child(files, root)
        time.sleep(moments.uniform(0, 1.5 * longest))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        there = content(root)
        assert all(there[name] in (old, new) for name in names)
        assert {path: there[path] for path in FOREIGN} == FOREIGN
        stale = compare(files, root).stale
        interrupted += bool(stale)
        changed = {one.path for one in stale if one.kind == "changed"}
        assert changed == {name for name in names if there[name] == old}
        publish(files, root)
        assert content(root) == {**dict.fromkeys(names, new), **FOREIGN}
    assert interrupted
