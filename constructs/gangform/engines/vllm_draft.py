"""Speculative decoding of vLLM: what a draft model takes of the last stage, and what it keeps for each request.

A draft is loaded on the last pipeline stage and shares embedding and head with its target. Multi-token prediction is
one more layer of the model itself; another model's size stands in no argument. Each token proposed needs a state of
its own in layers that keep states (vLLM: MambaSpec.num_speculative_blocks).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from gangform.engines import vllm_args
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import Given
from gangform.engines.vllm_words import settings, whole
from gangform.units import Bytes

CONFIG = "--speculative-config"
_WITHOUT = ("ngram", "ngram_gpu", "suffix", "custom_class")
"""Methods that propose tokens without a model on the GPU."""
_OWN = "mtp"
"""What the names of the methods end with that predict by a layer of the model's own checkpoint."""


class Draft(NamedTuple):
    """What proposes tokens."""

    tokens: int = 0
    """How many at once."""
    layers: int = 0
    """Layers with a cache of their own."""
    weights: Bytes | None = Bytes(0)
    """On each GPU of the last stage; `None`: not known."""
    method: str = ""


def draft(ask: LaunchRequest) -> Draft:
    """What arguments ask for; nothing where they do not, or cannot be read."""
    config = settings(vllm_args.own(ask), CONFIG)
    count, method = str(config.get("num_speculative_tokens", "")), str(config.get("method") or "")
    tokens = whole(count) or 0
    if not config or method in _WITHOUT:
        return Draft(tokens=tokens, method=method)
    weights = ask.measured("draft")
    if weights is None and method.endswith(_OWN) and not config.get("model"):
        weights = _own_layer(ask)
    return Draft(tokens, 1, weights, method or "draft model")


def reads(ask: LaunchRequest, one: Given) -> bool:
    """Whether the arithmetic reckons with all that an argument asks for."""
    if one.flag.split(".")[0] != CONFIG:
        return False
    return bool(settings(vllm_args.own(ask), CONFIG)) and draft(ask).weights is not None


def _own_layer(ask: LaunchRequest) -> Bytes | None:
    """A layer for prediction on one GPU: the part of the checkpoint that is loaded for it only, else a mean layer."""
    model, shape = ask.model, ask.shape
    architecture = model.architecture
    if architecture is None or not model.parameters:
        return None
    tables = architecture.vocabulary * architecture.hidden * (1 if architecture.tied else 2)
    body = max(model.parameters - tables, 1)
    size = Fraction(int(model.draft))
    if not size:
        size = Fraction(int(model.checkpoint) * body, model.parameters * architecture.layers)
    experts = min(Fraction(model.expert_parameters, body), Fraction(1))
    held = size * (experts / shape.expert_ranks + (1 - experts) / shape.tensor)
    return Bytes(-(-held.numerator // held.denominator))
