"""Which layers keep the last tokens only, in every spelling of a configuration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gangform.inputs.configuration import Configuration
from gangform.inputs.positions import limit


def sliding_layers(
    config: Configuration, layers: int, *, every: int = 0, slides: bool = False
) -> int:
    """How many layers slide.

    Args:
        config: What is asked.
        layers: How many there are.
        every: Where nothing is written: each layer of this number sees everything; 0: no layer slides.
        slides: Where nothing is written: whether all layers slide (Mistral).
    """
    kinds = config.items("layer_types")[:layers]
    letters = config.word("sliding_window_pattern")
    step = config.number("sliding_window_pattern", "_sliding_window_pattern", default=every)
    if kinds:
        others = {str(kind) for kind in kinds} - {"sliding_attention", "full_attention"}
        config.odd += [f"layer_types: {kind}" for kind in sorted(others)]
        return kinds.count("sliding_attention")
    listed = config.items("hybrid_layer_pattern")[:layers]
    if listed:
        return listed.count(1)
    if letters:
        return _repeated(letters, layers).count("L")
    if step:
        return layers - layers // step
    if config.flag("use_sliding_window"):
        return layers - min(layers, config.number("max_window_layers", default=0))
    return layers if slides else 0


def _repeated(pattern: str, length: int) -> str:
    return (pattern * (length // len(pattern) + 1))[:length]


def windows(
    config: Configuration, layers: int, *, every: int = 0, slides: bool = False
) -> Sequence[dict[str, Any]] | None:
    """The windows of a model as its profile has them; `None` where no layer slides."""
    tokens = config.number("sliding_window", default=0)
    if config.said("use_sliding_window") is False and not config.items("layer_types"):
        # Qwen writes a window, and where it would begin, and says that nothing slides.
        return None
    count = sliding_layers(config, layers, every=every, slides=slides and tokens > 0)
    if not count or tokens >= limit(config).tokens:
        # As Phi has it: a window as long as the context.
        return None
    return ({"layers": count, "tokens": config.positive("sliding_window")},)
