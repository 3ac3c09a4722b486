"""The shape of a model: what its layers keep for a request, counted so that no layer is lost or invented."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from gangform.inputs.model import (
    Architecture,
    Attention,
    Compressed,
    Experts,
    Indexer,
    State,
    Window,
)
from gangform.units import Bytes

GQA = Attention(kind="gqa", heads=32, kv_heads=2, head_dim=256)


def shape(**changes: Any) -> Architecture:
    given: dict[str, Any] = {
        "layers": 60,
        "hidden": 4096,
        "vocabulary": 248_320,
        "attention": GQA,
    }
    return Architecture(**{**given, **changes})


def test_every_layer_keeps_every_token_where_nothing_else_is_said() -> None:
    plain = shape()
    assert (plain.attending, plain.uniform) == (60, True)
    indexed = shape(indexer=Indexer(layers=21))
    assert (indexed.attending, indexed.uniform) == (60, True)


def test_layers_with_another_cache_are_taken_from_those_that_keep_every_token() -> None:
    linear = shape(states=(State(layers=45, size=Bytes.gib("0.004")),))
    assert (linear.attending, linear.uniform) == (15, False)
    windows = shape(windows=(Window(layers=20, tokens=128), Window(layers=10, tokens=8192)))
    assert windows.attending == 30


def test_layers_without_a_cache_are_said_by_those_that_keep_every_token() -> None:
    mixed = shape(layers=108, full_layers=12, states=(State(layers=48, size=Bytes(1)),))
    assert mixed.attending == 12


def test_a_layer_may_keep_a_window_and_compressed_tokens() -> None:
    both = shape(
        full_layers=0,
        windows=(Window(layers=60, tokens=128),),
        compressed=(Compressed(layers=30, ratio=128), Compressed(layers=28, ratio=4)),
    )
    assert both.attending == 0


@pytest.mark.parametrize(
    "changes",
    [
        {"windows": (Window(layers=40, tokens=128), Window(layers=21, tokens=1024))},
        {"full_layers": 61},
        {"full_layers": 0, "windows": (Window(layers=61, tokens=128),)},
        {"indexer": Indexer(layers=61)},
        {"experts": Experts(routed=8, active=2, width=1024, layers=61)},
    ],
)
def test_more_layers_than_the_model_has_are_layers_exceeded(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as caught:
        shape(**changes)
    (error,) = caught.value.errors()
    assert error["type"] == "layers-exceeded"
    assert error["msg"] == "61 layers are counted, and the model has 60"
    assert shape(**changes, layers=61).layers == 61
