"""A run of the writer on a machine that is not able, or that ends anywhere, leaves whole files only."""

from __future__ import annotations

import errno
import fcntl
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from tests.published import FOREIGN, NEW, compare, content, fill, ours, publish, rendered

from gangform.findings import EnvironmentFault
from gangform.publish.folders import Outcome
from gangform.synth import Rendered

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
    monkeypatch.setattr("gangform.publish.disk._PATIENCE", 0.1)
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
