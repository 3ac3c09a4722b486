"""The parser, exit codes, and that no traceback reaches anybody."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import gangform
from gangform.cli import synth
from gangform.cli.commands import parser
from gangform.cli.main import main

Run = Callable[..., Any]
COMMANDS = (
    "synth",
    "validate",
    "plan",
    "init",
    "explain",
    "runbook",
    "profiles",
    "schema",
    "completion",
)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_examples(run: Run, command: str) -> None:
    status, out, _ = run(command, "--help")
    assert status == 0
    assert f"examples:\n  gangform {command}" in out or 'eval "$(gangform completion' in out


def test_help_names_every_command_and_the_exit_codes(run: Run) -> None:
    status, out, _ = run("--help")
    assert status == 0
    assert all(command in out for command in COMMANDS)
    assert "exit codes:" in out


def test_the_version_is_printed(run: Run) -> None:
    assert run("--version") == (0, f"gangform {gangform.__version__}\n", "")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "a command is missing"),
        (["snyth"], "did you mean `synth`?"),
        (["synth", "--chek"], "did you mean `--check`?"),
        (["synth", "--out", "x"], "`--out` is not known here"),
        (["plan", "-o", "jsn"], "did you mean `json`?"),
        (["synth", "--stdout", "--check"], "not allowed with"),
        (["synth", "small2"], "did you mean `small`"),
        (["synth", "--cluster", "prd"], "did you mean `prod`"),
        (["validate", "-f", "other.yaml"], "there is no file other.yaml"),
        (["init", "--groups", "0"], "no whole number"),
        (["schema", "fleets"], "did you mean `fleet`"),
    ],
)
def test_a_wrong_call_says_what_was_meant(run: Run, words: list[str], said: str) -> None:
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert said in err


def test_options_may_stand_between_servings(run: Run) -> None:
    status, out, _ = run("synth", "r1", "--stdout", "small")
    assert status == 0
    assert out.count("kind: LeaderWorkerSet") == 1
    assert out.count("kind: Deployment") == 1


def test_without_a_fleet_file_init_is_named(run: Run, folder: Path) -> None:
    (folder / "gangform.yaml").unlink()
    for command in ("synth", "validate", "plan"):
        status, _, err = run(command)
        assert status == 2
        assert "`gangform init` writes one" in err


def test_the_fleet_file_is_found_upwards_to_the_root_of_the_repository(
    run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".git").mkdir()
    (folder / "a" / "b").mkdir(parents=True)
    monkeypatch.chdir(folder / "a" / "b")
    assert run("synth").status == 0
    assert (folder / "dist" / "prod" / "r1.k8s.yaml").exists()
    (folder / "a" / ".git").mkdir()
    assert run("synth").status == 2


@pytest.mark.parametrize(
    ("error", "status", "said"),
    [
        (ValueError("odd"), 70, "error: a fault in gangform: ValueError: odd"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (OSError(28, "No space left on device"), 3, "No space left on device"),
        (RecursionError("deep"), 70, "a fault in gangform"),
    ],
)
def test_no_traceback_reaches_anybody(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: BaseException, status: int, said: str
) -> None:
    def fail(arguments: object) -> int:
        raise error

    monkeypatch.setattr(synth, "synth", fail)
    ended, out, err = run("synth")
    assert (ended, out) == (status, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("words", [["--debug", "synth"], ["synth", "--debug"]])
def test_debug_shows_the_traceback(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    def fail(arguments: object) -> int:
        raise ValueError("odd")

    monkeypatch.setattr(synth, "synth", fail)
    with pytest.raises(ValueError, match="odd"):
        main(words)


def test_no_option_is_abbreviated() -> None:
    groups = [action.choices for action in parser()._actions if action.dest == "command"]
    assert not parser().allow_abbrev
    assert groups[0] is not None
    assert not any(command.allow_abbrev for command in dict(groups[0]).values())


# ── as a program ─────────────────────────────────────────────────────────────────────────────────


def program(folder: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """A run in a process of its own, which finds the package where this one did."""
    source = str(Path(gangform.__path__[0]).parent)
    environment = {**os.environ, "PYTHONPATH": source, **options.pop("env", {})}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.run(
        [sys.executable, "-m", "gangform", *words],
        text=True,
        check=False,
        cwd=folder,
        env=environment,
        **streams,
    )


def test_results_go_to_stdout_and_the_rest_to_stderr(folder: Path) -> None:
    done = program(folder, "synth")
    assert (done.returncode, done.stdout) == (0, "wrote 3 files in dist\n")
    done = program(folder, "validate", "--cluster", "nope")
    assert (done.returncode, done.stdout) == (2, "")


def test_a_reader_that_goes_away_is_no_error(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = program(folder, "profiles", stdout=writer)
    os.close(writer)
    assert done.stderr == ""
    assert done.returncode == 141


def test_a_full_disk_behind_stdout_is_the_machines_fault(folder: Path) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("no /dev/full")
    with Path("/dev/full").open("w") as full:
        done = program(folder, "profiles", stdout=full)
    assert "Traceback" not in done.stderr
    assert done.returncode == 3


def on_a_terminal(folder: Path, **environment: str) -> bytes:
    """What a failing `validate` prints to a terminal."""
    (folder / "gangform.yaml").write_text("version: 2\n")
    outer, inner = pty.openpty()
    environment = {"TERM": "xterm", **environment}
    program(folder, "validate", stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    shown = os.read(outer, 65536)
    os.close(outer)
    return shown


def test_a_terminal_gets_colours_unless_it_says_no(folder: Path) -> None:
    assert b"\x1b[1;31merror[" in on_a_terminal(folder, NO_COLOR="")
    assert b"\x1b" not in on_a_terminal(folder, NO_COLOR="1")
    assert b"\x1b" not in on_a_terminal(folder, TERM="dumb", NO_COLOR="")
