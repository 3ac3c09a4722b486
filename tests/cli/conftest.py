"""A working folder with a fleet, and a way to run commands in it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from gangform.cli import traced
from gangform.cli.main import main
from gangform.cli.selection import Selection, select
from gangform.trace.subject import Subject

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


class TakenApart(NamedTuple):
    """The fleet in a folder of its own, and its files with what every line follows: that takes seconds to find."""

    folder: Path
    chosen: Selection
    subjects: list[tuple[Subject, str]]


@pytest.fixture(scope="session")
def taken_apart(tmp_path_factory: pytest.TempPathFactory) -> TakenApart:
    """The fleet, written, and taken apart once in a run."""
    folder = tmp_path_factory.mktemp("fleet")
    (folder / "gangform.yaml").write_text(FLEET)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.delenv("CDK8S_OUTDIR", raising=False)
        assert main(["synth"]) == 0
        chosen = select(Namespace(file=None, cluster=None, servings=[]))
        return TakenApart(folder, chosen, list(traced.subjects(chosen)))


@pytest.fixture
def known(taken_apart: TakenApart, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commands of a test find the fleet taken apart."""
    monkeypatch.setattr(traced, "subjects", lambda _: iter(taken_apart.subjects))
