"""What vLLM keeps of a GPU beside weights and cache, by release, model and batch (`engines §6.1` to `§6.3`).

Its profiling run measures the peak of a step with as many tokens and sequences as the batch may have. For most models
that peak is sampling: sequences times vocabulary, on every tensor rank alike, and on the last pipeline stage only.
What a step holds of the layers themselves grows with the batched tokens, and the kernels of experts add their own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import TYPE_CHECKING

from gangform.engines import flags, vllm_adapters, vllm_args, vllm_cache, vllm_flags
from gangform.engines import vllm_overheads as table
from gangform.engines.engine import LaunchRequest, MemoryTerms, Part
from gangform.engines.flags import Given
from gangform.engines.vllm_draft import draft
from gangform.engines.vllm_graphs import graphs
from gangform.engines.vllm_partition import partition
from gangform.engines.vllm_words import amount, whole
from gangform.units import Bytes

if TYPE_CHECKING:
    from gangform.inputs.model import Architecture

_ELEMENT = 2
"""Bytes of an activation."""
SEQUENCES, TOKENS = "--max-num-seqs", "--max-num-batched-tokens"
OFFLOADED = "--cpu-offload-gb"
NUMBERS = (SEQUENCES, TOKENS, OFFLOADED)
"""Arguments whose number decides what lies on a GPU."""
_GIB = re.compile(r"(?=\.?[0-9])[0-9]{0,6}(\.[0-9]{0,6})?")
_PEAK, _SAMPLING = "activation", "sampling on the last stage"
_DRAFT = "vLLM: a draft lies on the last stage and shares embedding and head"


def utilization(ask: LaunchRequest) -> Decimal:
    """Share of visible memory the engine plans with: the user's, else the release's default."""
    return ask.options.utilization or vllm_flags.default_utilization(ask.release)


def terms(ask: LaunchRequest) -> MemoryTerms:
    """Utilisation, overheads by class of release, and how the cache is stored."""
    era = table.era(ask.release)
    own = vllm_args.own(ask)
    tokens, sequences = batch(ask, era)
    parts = [
        *_activation(ask, era),
        Part("communication", *_communication(ask, era)),
        Part("graphs", *graphs(ask, sequences, tokens)),
    ]
    proposed = draft(ask)
    last_stage = [part for part in parts if part.name == _SAMPLING]
    if proposed.weights:
        last_stage.append(Part("draft model on the last stage", proposed.weights, _DRAFT))
    slots = vllm_adapters.adapters(ask)
    if slots:
        parts.append(Part("adapters", slots, "vLLM: LoRA layers are laid out at the start"))
    everywhere = [part for part in parts if part not in last_stage]
    fixed = vllm_cache.pinned(own)
    return MemoryTerms(
        utilization=utilization(ask),
        overhead=Bytes(sum(part.size for part in everywhere)),
        band=_band(ask, era),
        block=vllm_cache.block(own),
        cache_element=vllm_cache.element(ask),
        source=f"engines §6.3, class {era.letter}, "
        f"{'mixture of experts' if ask.model.mixture else 'dense'}",
        sampling=Bytes(sum(part.size for part in last_stage)),
        latent_entry=vllm_cache.latent_entry(ask),
        in_flight=tokens,
        redundant_experts=vllm_args.redundant_experts(own),
        offloaded=_offloaded(ask),
        parts=(*everywhere, *last_stage),
        pinned=fixed.size,
        pinned_blocks=fixed.blocks,
        pinned_by=fixed.flag,
        layers=partition(ask),
        draft_layers=proposed.layers,
        speculative=proposed.tokens,
        heap=symmetric_heap(ask.variables),
    )


def _band(ask: LaunchRequest, era: table.Era) -> Bytes:
    """Error of the overheads, either way."""
    shared = table.UNIFIED_BAND.value if ask.hardware.gpu.unified else 0
    return Bytes.gib(era.band.value + shared)


def _large(ask: LaunchRequest) -> bool:
    gpu = ask.hardware.gpu
    return gpu.visible_memory >= table.LARGE and table.NOT_LARGE not in gpu.product.lower()


_MOST_TOKENS = 10**9
"""Larger than any step."""


def batch(ask: LaunchRequest, era: table.Era) -> tuple[int, int]:
    """Tokens and sequences of the largest step: the user's, else the defaults of the GPU."""
    own = vllm_args.own(ask)
    large = _large(ask) and era.chunked
    tokens = int((table.TOKENS if large else table.TOKENS_SMALL).value)
    if not era.chunked and ask.context <= table.CHUNKED_FROM.value:
        tokens = max(tokens, ask.context)
    sequences = int((table.SEQUENCES if large else table.SEQUENCES_SMALL).value)
    if flags.value(own, "--performance-mode") == "throughput":
        tokens, sequences = 2 * tokens, 2 * sequences
    sequences = whole(flags.value(own, SEQUENCES)) or sequences
    # No default step is larger than all sequences at full length (vLLM: _set_default_max_num_seqs_and_batched_tokens).
    # Where somebody gives one, `8k` and `8K` are numbers (vLLM: human_readable_int).
    told = flags.value(own, TOKENS)
    tokens = min(amount(told) or min(tokens, sequences * ask.context), _MOST_TOKENS)
    return tokens, min(tokens, sequences)


def _activation(ask: LaunchRequest, era: table.Era) -> tuple[Part, ...]:
    """The peak of a step on any stage, and what the last one of several takes beyond it."""
    measured = ask.measured("activation")
    if measured is not None:
        return (Part(_PEAK, measured, "measured"),)
    model = ask.model.architecture
    if model is None:
        why = "engines §6.3: unknown architecture, the larger suggestion"
        return (Part(_PEAK, Bytes.gib(3), why),)
    tokens, sequences = batch(ask, era)
    layer = _forward(ask, model, tokens)
    sampled = int(era.sampling.value * sequences * model.vocabulary)
    experts = _experts(ask, model, tokens)
    why = f"{table.HIDDEN_COPIES.source}; {era.sampling.source}"
    if ask.shape.pipeline == 1:
        return (Part(_PEAK, Bytes(max(layer, sampled) + experts), why),)
    more = Part(_SAMPLING, Bytes(max(0, sampled - layer)), era.sampling.source)
    return Part(_PEAK, Bytes(layer + experts), why), *((more,) if more.size else ())


def _forward(ask: LaunchRequest, model: Architecture, tokens: int) -> int:
    """What a step holds of the widest layer without its routed experts."""
    width = (model.dense_width or 0) // ask.shape.tensor
    if model.experts is not None:
        shared = model.experts.shared * model.experts.width // ask.shape.tensor
        width = max(shared, width if model.without_experts else 0)
    held = (
        table.HIDDEN_COPIES.value * model.hidden * model.streams + table.WIDTH_COPIES.value * width
    )
    return int(tokens * held) * _ELEMENT


def _experts(ask: LaunchRequest, model: Architecture, tokens: int) -> int:
    """Work space of the kernels of experts: a row for each token and expert, and the tokens of all data ranks."""
    if model.experts is None:
        return 0
    shape, experts = ask.shape, model.experts
    width = experts.width if shape.expert_parallel else max(1, experts.width // shape.expert_ranks)
    rows = min(tokens * shape.data, int(table.MIXTURE_CHUNK.value)) * experts.active
    return rows * (max(2 * width, model.hidden) + width) * _ELEMENT


def _communication(ask: LaunchRequest, era: table.Era) -> tuple[Bytes, str]:
    measured = ask.measured("communication")
    if measured is not None:
        return measured, "measured"
    figure = era.communication[min(ask.shape.tensor, 3) - 1]
    return Bytes.gib(figure.value), figure.source


def _offloaded(ask: LaunchRequest) -> Bytes:
    """What `--cpu-offload-gb` leaves on the host; vLLM counts GiB of each GPU."""
    text = flags.value(vllm_args.own(ask), OFFLOADED)
    return Bytes.gib(text) if _GIB.fullmatch(text) else Bytes(0)


def reads(one: Given) -> bool:
    """Whether the arithmetic reckons with a number that an argument gives; what is no such argument it does."""
    value = one.value
    if value is None:
        return True  # no argument of the engine's at all
    if one.flag == OFFLOADED:
        return _GIB.fullmatch(value) is not None
    return bool(amount(value) if one.flag == TOKENS else whole(value)) or one.flag not in NUMBERS


def symmetric_heap(variables: Mapping[str, str]) -> Bytes | None:
    """What NVSHMEM takes of each GPU, as its variable says; `None` where it does not, or cannot be read.

    A number with a letter for a power of 1024 or none: `16G`, `20m`, `3.1M` (NVSHMEM: environment variables).
    """
    text = variables.get("NVSHMEM_SYMMETRIC_SIZE", "").strip()
    found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,9})?)([kKmMgGtT])?", text)
    if found is None:
        return None
    power = " kmgt".index(found[2].lower()) if found[2] else 0
    size = Decimal(found[1]) * 1024**power
    return Bytes(int(size)) if size <= 10**15 else None
