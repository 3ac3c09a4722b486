"""The first file of a user: loads, is short, says what every line is, and splits the model sensibly."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from gangform.apis.versions import Release
from gangform.findings import InputError
from gangform.inputs.defaults import EDITIONS, following
from gangform.inputs.load import load_text, shipped_library
from gangform.inputs.starter import BACKENDS, NEWEST_ENGINE, split, starter

LIBRARY = shipped_library()


HARDWARE = ("h100-8x", "gke-a4", "gb200-4x")


def every() -> Iterator[Any]:
    """Every model, shape and backend together. By default each model meets one of the pairs, in turn."""
    pairs = list(product(HARDWARE, BACKENDS))
    for number, model in enumerate(LIBRARY.models):
        for place, pair in enumerate(pairs):
            turn = place == number % len(pairs)
            yield pytest.param(model, *pair, marks=() if turn else pytest.mark.thorough)


@pytest.mark.parametrize(("model", "hardware", "admission"), list(every()))
def test_a_starter_file_loads_is_short_and_explains_itself(
    model: str, hardware: str, admission: str
) -> None:
    text = starter(model=model, hardware=hardware, admission=admission)
    fleet = load_text(text).fleet
    assert fleet.servings[0].admission.backend == admission
    assert text.count("\n") < 20 and text.endswith("\n")
    for line in text.splitlines():
        assert "# " in line or line == "cluster:"
        assert line == line.rstrip() and "\t" not in line


def test_a_new_fleet_begins_with_the_newest_edition(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EDITIONS, 2, following(EDITIONS[1]))
    text = starter(model="llama-3.1-8b", hardware="h100-8x")
    assert load_text(text).fleet.defaults == 2


def test_the_arguments_are_written() -> None:
    text = starter(
        model="deepseek-r1",
        hardware="h200-8x",
        cluster="a",
        groups=3,
        admission="none",
        namespace="n",
    )
    fleet = load_text(text).fleet
    serving = fleet.servings[0]
    assert (fleet.clusters[0].name, serving.groups, serving.namespace) == ("a", 3, "n")
    assert serving.admission.queue is None


@pytest.mark.parametrize(
    ("model", "hardware", "expected"),
    [
        ("deepseek-r1", "h100-8x", (8, 2, False)),
        ("llama-3.1-405b", "h100-8x", (8, 2, False)),
        ("llama-3.1-8b", "h100-8x", (8, 1, False)),
        # 1536 / 8 is no multiple of the block of 128: experts stay whole.
        ("qwen3-235b-fp8", "h100-8x", (8, 1, True)),
    ],
)
def test_a_stage_is_a_node_and_stages_hold_the_checkpoint(
    model: str, hardware: str, expected: tuple[int, int, bool]
) -> None:
    found = split(LIBRARY.models[model], LIBRARY.hardware[hardware])
    assert (found.tensor, found.pipeline, found.expert_parallel) == expected


def test_names_are_checked_all_at_once() -> None:
    with pytest.raises(InputError) as caught:
        starter(model="deepseek-r2", hardware="h100", admission="kue")
    said = str(caught.value)
    assert "`deepseek-r1`" in said and "h100-8x" in said and "`kueue`" in said


def test_a_model_without_room_is_refused() -> None:
    model = LIBRARY.models["deepseek-r1"]
    vast = model.model_copy(update={"checkpoint": model.checkpoint.parse("900T")})
    with pytest.raises(InputError, match="model-too-large"):
        split(vast, LIBRARY.hardware["h100-8x"])


def test_the_engine_is_the_newest_known_unless_another_is_named() -> None:
    from gangform.engines import vllm_flags

    assert Release.parse(NEWEST_ENGINE) == vllm_flags.NEWEST
    fleet = load_text(starter(model="deepseek-r1", hardware="h100-8x")).fleet
    assert fleet.servings[0].engine.version == NEWEST_ENGINE
    text = starter(model="deepseek-r1", hardware="h100-8x", name="yes", engine_version="0.31.0")
    serving = load_text(text).fleet.servings[0]
    assert (serving.name, serving.engine.version) == ("yes", "0.31.0")


def test_a_backend_that_came_later_can_be_named() -> None:
    text = starter(
        model="deepseek-r1", hardware="h100-8x", admission="turnstile", backends=["turnstile"]
    )
    assert load_text(text).fleet.servings[0].admission.backend == "turnstile"
    with pytest.raises(InputError, match="there is no admission `turnstile`"):
        starter(model="deepseek-r1", hardware="h100-8x", admission="turnstile")
