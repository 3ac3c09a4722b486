"""The real `cdk8s synth`, as somebody installs it from npm."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from gangform.inputs.load import load_fleet
from gangform.synth import synthesise

pytestmark = [pytest.mark.node, pytest.mark.network]

ROOT = Path(__file__).parent.parent.parent
VERSION = "2.207.60"


@pytest.fixture(scope="module")
def cli() -> str:
    """The program, installed once a machine; skipped where npm is missing or offline."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("there is no npm on PATH")
    home = Path(tempfile.gettempdir()) / f"gangform-cdk8s-cli-{VERSION}"
    program = home / "node_modules" / ".bin" / "cdk8s"
    if not program.exists():
        done = subprocess.run(
            [
                npm,
                "install",
                "--silent",
                "--no-audit",
                "--no-fund",
                "--prefix",
                str(home),
                f"cdk8s-cli@{VERSION}",
            ],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode or not program.exists():
            pytest.skip(f"npm cannot install cdk8s-cli {VERSION}: {done.stderr.strip()[-200:]}")
    return str(program)


def test_cdk8s_synth_writes_the_bytes_of_the_command_line(cli: str, tmp_path: Path) -> None:
    """It empties its output folder first, foreign files too: so never ours, always a temporary one."""
    out = tmp_path / "out"
    out.mkdir()
    (out / "foreign.yaml").write_text("kind: Foreign\n")
    before = (ROOT / "dist").exists() and sorted((ROOT / "dist").rglob("*"))
    folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        [cli, "synth", "--check-upgrade=false", "--output", str(out)],
        cwd=ROOT,
        env={
            **os.environ,
            "PATH": os.pathsep.join([folder, os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    loaded = load_fleet(ROOT / "gangform.yaml")
    wanted = {file.path: file.content for file in synthesise(loaded.fleet, loaded.library).files}
    there = {
        path.relative_to(out).as_posix(): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file()
    }
    assert sorted(there) == sorted(wanted)
    assert [path for path in wanted if there[path] != wanted[path]] == []
    assert before == ((ROOT / "dist").exists() and sorted((ROOT / "dist").rglob("*")))
