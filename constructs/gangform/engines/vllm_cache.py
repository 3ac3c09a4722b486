"""How vLLM is told to store its cache: number format, block, and sizes that replace what it would measure.

`--kv-cache-memory-bytes` is taken as it stands, beyond the share of memory if need be; `--num-gpu-blocks-override` wins
over it, and a request is checked against that many blocks (vLLM: determine_available_memory, get_kv_cache_configs).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import NamedTuple

from gangform.engines import flags, vllm_args
from gangform.engines import vllm_overheads as table
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import Given
from gangform.engines.vllm_words import amount, whole
from gangform.units import Bytes

BYTES = "--kv-cache-memory-bytes"
BLOCKS = "--num-gpu-blocks-override"
BLOCK = "--block-size"
FORMAT = "--kv-cache-dtype"

ELEMENTS = {
    "auto": None,
    "float16": 2,
    "half": 2,
    "bfloat16": 2,
    "fp8": 1,
    "fp8_e4m3": 1,
    "fp8_e5m2": 1,
    "fp8_inc": 1,
    "fp8_ds_mla": 1,
}
"""Bytes a cached element by number format; `None`: those of the model's own numbers (vLLM: CacheDType)."""


def element(ask: LaunchRequest) -> Decimal:
    """Bytes a cached element."""
    known = ELEMENTS.get(_format(ask))
    return Decimal(known or (4 if ask.model.weights == "fp32" else 2))


def latent_entry(ask: LaunchRequest) -> int | None:
    """Bytes of a latent under sparse attention, where FP8 stands for a format of its own (`engines §6.1`)."""
    model = ask.model.architecture
    if model is None or not _format(ask).startswith("fp8"):
        return None
    if model.attention.kind != "mla" or not (model.indexer or model.compressed):
        return None
    figure = table.FP8_LATENTS.get(model.attention.latent or 0)
    return int(figure.value) if figure else None


def block(own: Sequence[Given]) -> int:
    """Tokens a block of the cache."""
    return whole(flags.value(own, BLOCK)) or table.BLOCK


class Pinned(NamedTuple):
    """A cache whose size arguments fix."""

    size: Bytes | None = None
    blocks: int | None = None
    flag: str = ""


def pinned(own: Sequence[Given]) -> Pinned:
    """What arguments say of the size of the cache; what cannot be read is not there."""
    count = whole(flags.value(own, BLOCKS)) or None
    size = amount(flags.value(own, BYTES))
    held = Bytes(size) if size else None
    flag = BLOCKS if count else BYTES if held is not None else ""
    return Pinned(held, count, flag)


def reads(ask: LaunchRequest, one: Given) -> bool:
    """Whether the arithmetic reckons with an argument that concerns the cache."""
    value = one.value or ""
    if one.flag == FORMAT:
        return value in ELEMENTS
    if one.flag == BYTES:
        return bool(amount(value))
    if one.flag == BLOCKS:
        # Blocks of several kinds of layers are cut to one size, which no single figure says.
        model = ask.model.architecture
        return bool(whole(value)) and (model is None or model.uniform)
    return one.flag == BLOCK and bool(whole(value))


def _format(ask: LaunchRequest) -> str:
    """The number format of the cache: that of the inputs, else that of the arguments."""
    own = flags.value(vllm_args.own(ask), FORMAT)
    return ask.options.kv_cache_type if ask.options.kv_cache_type != "auto" else own
