"""What vLLM keeps of a GPU beside weights and cache, by release, model and batch (`engines §6.1` to `§6.3`).

Its profiling run measures the peak of a step with as many tokens and sequences as the batch may have. For most models
that peak is sampling: sequences times vocabulary, on every tensor rank alike, and on the last pipeline stage only.
What a step holds of the layers themselves grows with the batched tokens, and the kernels of experts add their own.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import TYPE_CHECKING, Literal

from gangform.engines import vllm_args, vllm_flags
from gangform.engines import vllm_overheads as table
from gangform.engines.engine import LaunchRequest, MemoryTerms, Part
from gangform.engines.flags import is_number, last
from gangform.units import Bytes

if TYPE_CHECKING:
    from gangform.inputs.model import Architecture

_ELEMENT = 2
"""Bytes of an activation."""


def utilization(ask: LaunchRequest) -> Decimal:
    """Share of visible memory the engine plans with: the user's, else the release's default."""
    return ask.options.utilization or vllm_flags.default_utilization(ask.release)


def terms(ask: LaunchRequest) -> MemoryTerms:
    """Utilisation, overheads by class of release, and how the cache is stored."""
    era = table.era(ask.release)
    activation, more, why = _activation(ask, era)
    outside = _communication(ask, era)
    graphs = _graphs(ask, era)
    parts: tuple[Part, ...] = (
        Part("activation", activation, why),
        Part("communication", outside[0], outside[1]),
        Part("graphs", graphs[0], graphs[1]),
    )
    if more:
        parts = (*parts, Part("sampling on the last stage", more, era.sampling.source))
    return MemoryTerms(
        utilization=utilization(ask),
        overhead=Bytes(activation + outside[0] + graphs[0]),
        band=_band(ask, era),
        block=table.BLOCK,
        cache_element=_element(ask),
        source=f"engines §6.3, class {era.letter}, "
        f"{'mixture of experts' if ask.model.mixture else 'dense'}",
        sampling=more,
        latent_entry=_latent_entry(ask),
        in_flight=_batch(ask, era)[0],
        redundant_experts=vllm_args.redundant_experts(vllm_args.given(ask.options.args)),
        offloaded=_offloaded(ask),
        parts=parts,
    )


def _measured(
    ask: LaunchRequest, name: Literal["activation", "communication", "graphs"]
) -> Bytes | None:
    """What somebody measured: with this serving, else with this model."""
    for given in (ask.options.overhead, ask.model.overhead):
        found: Bytes | None = getattr(given, name)
        if found is not None:
            return found
    return None


def _band(ask: LaunchRequest, era: table.Era) -> Bytes:
    """Error of the overheads, either way."""
    shared = table.UNIFIED_BAND.value if ask.hardware.gpu.unified else 0
    return Bytes.gib(era.band.value + shared)


def _large(ask: LaunchRequest) -> bool:
    gpu = ask.hardware.gpu
    return gpu.visible_memory >= table.LARGE and table.NOT_LARGE not in gpu.product.lower()


def _batch(ask: LaunchRequest, era: table.Era) -> tuple[int, int]:
    """Tokens and sequences of the largest step: the user's, else the defaults of the GPU."""
    own = vllm_args.given(ask.options.args)

    def asked(flag: str, default: int) -> int:
        one = last(own, flag)
        text = (one.value or "") if one is not None else ""
        return int(text) if is_number(text) and int(text) > 0 else default

    large = _large(ask) and era.chunked
    tokens = int((table.TOKENS if large else table.TOKENS_SMALL).value)
    if not era.chunked and ask.context <= table.CHUNKED_FROM.value:
        tokens = max(tokens, ask.context)
    sequences = int((table.SEQUENCES if large else table.SEQUENCES_SMALL).value)
    tokens = asked("--max-num-batched-tokens", tokens)
    return tokens, min(tokens, asked("--max-num-seqs", sequences))


def _activation(ask: LaunchRequest, era: table.Era) -> tuple[Bytes, Bytes, str]:
    """The peak of a step on any stage, what the last one takes beyond it, and where that is from."""
    measured = _measured(ask, "activation")
    if measured is not None:
        return measured, Bytes(0), "measured"
    model = ask.model.architecture
    if model is None:
        return Bytes.gib(3), Bytes(0), "engines §6.3: unknown architecture, the larger suggestion"
    tokens, sequences = _batch(ask, era)
    layer = _forward(ask, model, tokens)
    sampled = int(era.sampling.value * sequences * model.vocabulary)
    experts = _experts(ask, model, tokens)
    why = f"{table.HIDDEN_COPIES.source}; {era.sampling.source}"
    if ask.shape.pipeline == 1:
        return Bytes(max(layer, sampled) + experts), Bytes(0), why
    return Bytes(layer + experts), Bytes(max(0, sampled - layer)), why


def _forward(ask: LaunchRequest, model: Architecture, tokens: int) -> int:
    """What a step holds of the widest layer without its routed experts."""
    width = (model.dense_width or 0) // ask.shape.tensor
    if model.experts is not None:
        shared = model.experts.shared * model.experts.width // ask.shape.tensor
        width = max(shared, width if model.dense_layers else 0)
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
    measured = _measured(ask, "communication")
    if measured is not None:
        return measured, "measured"
    figure = era.communication[min(ask.shape.tensor, 3) - 1]
    return Bytes.gib(figure.value), figure.source


def _graphs(ask: LaunchRequest, era: table.Era) -> tuple[Bytes, str]:
    if last(vllm_args.given(ask.options.args), "--enforce-eager") is not None:
        return Bytes(0), "--enforce-eager"
    measured = _measured(ask, "graphs")
    if measured is not None:
        return measured, "measured"
    return Bytes.gib(era.graphs.value), era.graphs.source


def _offloaded(ask: LaunchRequest) -> Bytes:
    """What `--cpu-offload-gb` leaves on the host; vLLM counts GiB of each GPU."""
    one = last(vllm_args.given(ask.options.args), "--cpu-offload-gb")
    text = (one.value or "") if one is not None else ""
    return Bytes.gib(text) if re.fullmatch(r"[0-9]{1,6}(\.[0-9]{1,6})?", text) else Bytes(0)


def _element(ask: LaunchRequest) -> Decimal:
    """Bytes a cached element: one in FP8, else those of the model's own numbers."""
    if ask.options.kv_cache_type == "fp8":
        return Decimal(1)
    return Decimal(4 if ask.model.weights == "fp32" else 2)


def _latent_entry(ask: LaunchRequest) -> int | None:
    """Bytes of a latent under sparse attention, where FP8 stands for a format of its own (`engines §6.1`)."""
    model = ask.model.architecture
    if model is None or ask.options.kv_cache_type != "fp8":
        return None
    if model.attention.kind != "mla" or not (model.indexer or model.compressed):
        return None
    figure = table.FP8_LATENTS.get(model.attention.latent or 0)
    return int(figure.value) if figure else None
