"""Pages of fleets, made by the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gangform.cli.main import main

ROOT = Path(__file__).parents[2]

Made = Callable[..., str]


@pytest.fixture
def made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Made:
    """The page of a fleet's text, or of the shipped fleet."""

    def make(fleet: str | None = None, *words: str) -> str:
        file = ROOT / "gangform.yaml"
        if fleet is not None:
            file = tmp_path / "gangform.yaml"
            file.write_text(fleet)
        target = tmp_path / "report.html"
        main(["report", "-f", str(file), "--to", str(target), *words])
        capsys.readouterr()
        return target.read_text("utf-8")

    return make


@pytest.fixture(scope="session")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the shipped fleet, as a file."""
    target = tmp_path_factory.mktemp("shipped") / "report.html"
    main(["report", "-f", str(ROOT / "gangform.yaml"), "--to", str(target)])
    return target
