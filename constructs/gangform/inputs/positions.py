"""The longest context that a configuration allows, as vLLM reads it (`_get_and_verify_max_len`)."""

from __future__ import annotations

import math
from typing import NamedTuple

from gangform.inputs.configuration import Configuration

NAMES = ("max_position_embeddings", "model_max_length", "n_positions", "max_seq_len", "seq_length")
"""Under which a configuration says it."""
_UNSCALED = ("default", "su", "longrope", "llama3", "mrope", "proportional")
"""Kinds of rotary positions whose factor is in the limit already, or that have none."""
_LONGEST = 2**40
"""Beyond it a product is no length, but a mistake."""


class Limit(NamedTuple):
    """A length, and how it came about."""

    tokens: int
    said: str


def limit(config: Configuration) -> Limit:
    """The longest context; what is missing is added to the configuration's list."""
    plain = config.positive(*NAMES)
    named = next((name for name in NAMES if config.said(name) is not None), NAMES[0])
    rope = config.inside("rope_scaling", "rope_parameters")
    kind = rope.word("rope_type", "type")
    factor = rope.said("factor")
    if (
        kind in ("", *_UNSCALED)
        # Gemma 3 writes the scaled length.
        or "gemma3" in config.word("model_type")
        or not isinstance(factor, (int, float))
        or isinstance(factor, bool)
        or not 1 < factor < _LONGEST
    ):
        return Limit(plain, named)
    base = plain
    if kind == "yarn":
        base = rope.positive("original_max_position_embeddings", default=plain)
    tokens = math.floor(base * factor) if base < _LONGEST else base
    return Limit(tokens, f"{kind} of rope_scaling: {base} x {factor:g}")
