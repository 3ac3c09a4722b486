"""LoRA adapters of vLLM: the slots that are laid out at the start, whether adapters are loaded or not.

Every linear layer has `--max-loras` slots of the rank `--max-lora-rank`: two narrow matrices each, of which tensor
ranks share the one that lies on the cut side (vLLM: ColumnParallelLinearWithLoRA, RowParallelLinearWithLoRA).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gangform.engines import flags, vllm_args
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import Given
from gangform.engines.vllm_words import on
from gangform.units import Bytes

if TYPE_CHECKING:
    from gangform.inputs.model import Architecture

SWITCH = "--enable-lora"
SLOTS, RANK = "--max-loras", "--max-lora-rank"
_SLOTS, _RANK = 1, 16
"""vLLM's defaults."""
_ELEMENT = 2
"""Bytes a weight of an adapter."""


def adapters(ask: LaunchRequest) -> Bytes | None:
    """What the slots of all layers take of one GPU; 0 without any, `None` where nobody described the layers."""
    own = vllm_args.own(ask)
    if not on(own, SWITCH):
        return Bytes(0)
    model = ask.model.architecture
    counts = flags.number(own, SLOTS, _SLOTS), flags.number(own, RANK, _RANK)
    if model is None or model.attention.kind != "gqa" or model.experts or None in counts:
        return None
    slots, rank = (count or 0 for count in counts)
    layers = -(-model.layers // ask.shape.pipeline)
    return Bytes(layers * slots * rank * _sides(model, ask.shape.tensor) * _ELEMENT)


def reads(ask: LaunchRequest, one: Given) -> bool:
    """Whether the arithmetic reckons with the slots that an argument asks for."""
    return one.flag == SWITCH and adapters(ask) is not None


def _sides(model: Architecture, tensor: int) -> int:
    """Elements a rank of the adapters of one layer: what goes into each matrix, and what comes out of it."""
    attention = model.attention
    keys = attention.head_dim or 0
    queries = attention.heads * keys // tensor
    heads = max(1, -(-(attention.kv_heads or 1) // tensor))
    cached = heads * (keys + (attention.value_dim or keys))
    width = (model.dense_width or 0) // tensor
    into = 3 * model.hidden + queries + 2 * model.hidden + width
    out = queries + cached + model.hidden + 2 * width + model.hidden
    return into + out
