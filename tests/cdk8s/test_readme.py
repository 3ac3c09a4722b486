"""The README's Python example runs, and writes the bytes of its YAML example but for its own patch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from gangform.inputs.load import load_text
from gangform.synth import synthesise

README = Path(__file__).parents[2] / "README.md"


@pytest.mark.node
def test_the_python_example_writes_the_bytes_of_the_yaml_example(tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
    example = text.split("```python\n")[1].split("```")[0]
    subprocess.run([sys.executable, "-c", example], cwd=tmp_path, check=True, timeout=120)
    loaded = load_text(text.split("```yaml\n")[1].split("```")[0])
    for file in synthesise(loaded.fleet, loaded.library).files:
        made = (tmp_path / "dist" / Path(file.path).name).read_bytes()
        own = b"  annotations:\n    example.com/team: inference\n"
        assert made.replace(own, b"") == file.content
