"""A change to the fleet file of a test."""

from __future__ import annotations

from pathlib import Path

IMAGE = 'engine: {name: vllm, version: "0.32.0"}'
NEWER = 'engine: {name: vllm, version: "0.33.0"}'


def change(folder: Path, old: str, new: str, count: int = 1) -> None:
    file = folder / "gangform.yaml"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, count))
