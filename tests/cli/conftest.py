"""A working folder with a fleet, and a way to run commands in it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gangform.cli.main import main

FLEET = """\
version: 1
defaults: 1
cluster:
  name: prod
  versions: {kubernetes: "1.36", lws: "0.10", kueue: "0.19"}
  foundation: all
  pools:
    h100: {hardware: h100-8x}
servings:
  - name: r1
    namespace: llm
    model: deepseek-r1
    pool: h100
    engine: {name: vllm, version: "0.32.0"}
    parallelism: {tensor: 8, pipeline: 2}
    groups: 2
    context: 32768
    admission: {backend: kueue, queue: serving}
  - name: small
    namespace: llm
    model: llama-3.1-8b
    pool: h100
    engine: {name: vllm, version: "0.32.0"}
    groups: 2
    context: 8192
    admission: {backend: kueue, queue: serving}
"""


class Ran(NamedTuple):
    """How a command ended."""

    status: int
    out: str
    err: str


Run = Callable[..., Ran]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, with a fleet in it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CDK8S_OUTDIR", raising=False)
    (tmp_path / "gangform.yaml").write_text(FLEET)
    return tmp_path


@pytest.fixture
def run(folder: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command there."""

    def run(*words: str) -> Ran:
        status = main(list(words))
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run
