"""What gangform wrote is adopted as it is; what others wrote loads, or its comments say what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from gangform.adopt.fleet import Wishes, adopt
from gangform.documents.objects import read_objects
from gangform.findings import InputError, brief
from gangform.inputs.library import shipped_library
from gangform.inputs.load import load_text
from gangform.synth import synthesise

ROOT = Path(__file__).parents[2]
LIBRARY = shipped_library()
OURS = sorted(path for path in (ROOT / "dist").rglob("*.k8s.yaml") if path.stem != "foundation.k8s")
CASES = sorted((ROOT / "tests" / "cases" / "lint").glob("*.yaml"))
REFUSED = {"adopt-nothing", "adopt-other-engine"}

ASIDE = ("what runs", "PrometheusRule", "PodMonitor", "HorizontalPodAutoscaler", "ScaledObject")
"""What depends on the startup budget, or on the cluster's monitoring, and restarts nothing."""
READ_FASTER = {"deepseek-r1", "qwen3-235b"}
"""Servings with a declared read bandwidth, which no manifest says: their startup budget comes out longer."""


def text_of(path: Path, hardware: str | None) -> str:
    return adopt(read_objects(path.read_text(), path.name), Wishes(hardware=hardware), LIBRARY)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_our_own_set_is_adopted_without_a_difference(path: Path) -> None:
    text = text_of(path, None)
    name = path.name.removesuffix(".k8s.yaml")
    loaded = load_text(text, shelves=LIBRARY)
    made = synthesise(loaded.fleet, loaded.library)
    assert not any(one.breaks for one in made.findings)
    said = [line.strip(" #") for line in text.splitlines() if " -> " in line]
    kinds = [line for line in said if not line.startswith(ASIDE)]
    if name in READ_FASTER:
        assert all("READY_TIMEOUT" in line or "startupProbe" in line for line in kinds)
    elif name == "deepseek-r1-racked":
        # The tier of a PodGroup is a number, which says no level.
        assert all("networkTopology" in line for line in kinds)
    else:
        assert kinds == []
    assert "# not read" not in text


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_a_set_by_hand_loads_or_its_comments_say_what_is_wrong(path: Path) -> None:
    try:
        text = text_of(path, "h100-8x")
    except InputError as error:
        assert {one.code.id for one in error.findings} <= REFUSED
        return
    try:
        loaded = load_text(text, shelves=LIBRARY)
        found = synthesise(loaded.fleet, loaded.library).findings
    except InputError as error:
        found = error.findings
    commented = text.partition("says of it, to be mended first:")[2]
    for finding in found:
        assert all(line in commented for line in brief(finding).splitlines())
    assert commented.count("--> ") >= len(found)
