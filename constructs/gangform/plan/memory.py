"""What a GPU holds by pipeline stage: weights, overhead, and what is left for the cache, with the verdict.

Engines take the minimum over all workers, so the fullest stage decides (`engines §6.1`). The token formula is exact
(error at most 0.04 % on printed logs); the error sits in overhead and weights, and is stated as a band.
"""

from collections.abc import Sequence
from decimal import ROUND_DOWN, Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from gangform.engines.engine import MemoryTerms, Part, Shape
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Fit
from gangform.plan.cache import cache_fixed, cache_paged, cache_per_token, short, tokens
from gangform.plan.figures import formula
from gangform.plan.tensors import Held, stage_held, stage_layers, stage_weights
from gangform.units import Bytes

_NOTHING = Bytes(0)

Verdict = Literal["fits", "tight", "does not fit", "unknown"]


class Stage(NamedTuple):
    """One pipeline stage on one of its GPUs."""

    layers: int
    weights: Bytes
    held: Held | None
    """The weights by class, those on the host included; `None` where they are known as a whole only."""
    overhead: Bytes
    """Beside weights and cache: that of any stage, and sampling on the last."""
    cache_per_token: int
    """Bytes that one more token takes on one GPU of this stage."""
    cache_fixed: Bytes
    """What a request of the declared context takes beside its tokens: windows and states. 0 where all layers keep
    every token alike."""
    cache_paged: Bytes
    """What it takes in all where the engine cuts several kinds of cache into pages of one size."""
    available: Bytes
    """What is left for the cache; negative where the weights alone do not fit."""
    tokens: int | None
    """Tokens the stage can hold, in whole blocks; `None` where a request has a fixed part."""
    short: Bytes
    """What it lacks for one request at full context, rounded up; negative: what it has left."""


class MemoryPlan(NamedTuple):
    """Memory of one GPU of each stage, and what it means for a group."""

    visible: Bytes
    utilization: Decimal
    share: Bytes
    """What the engine may use: visible × utilization."""
    heap: Bytes
    """What a communication library takes outside the share."""
    band: Bytes
    """Error of the overhead, either way."""
    source: str
    """Where overhead and band come from."""
    parts: tuple[Part, ...]
    """What the overhead is made of, each with its rows."""
    stages: tuple[Stage, ...]
    context: int
    tokens: int | None
    """Tokens one data-parallel rank can hold: the least of all stages, times decodeContext; `None` where a request has
    a fixed part, since then no number of tokens holds at every length."""
    requests: Decimal
    """Requests at full context that a group can hold for certain, to two places."""
    requests_most: Decimal
    """The same without what the engine loses in pages; equal to `requests` where all layers are alike."""
    short: Bytes
    """What the worst stage lacks for one request at full context; negative: what it has left."""
    longest: int
    """The longest context that one request could have, in whole blocks; never beyond the model's own limit."""
    verdict: Verdict
    measured: bool
    """Whether the cache comes from the engine's own log instead of the arithmetic."""
    pinned_by: str = ""
    """The argument of the engine that fixes the cache; empty where it is what the share leaves."""
    crowded: Bytes = _NOTHING
    """What weights, overhead, heap and a fixed cache take beyond visible memory; negative: what they leave of it."""
    heap_from: tuple[str, ...] = ("engine", "heap")
    """The input that says the heap, below the serving."""

    @property
    def outside(self) -> Bytes:
        """What of a GPU is not the engine's share."""
        return Bytes(self.visible - self.share)

    @property
    def overhead(self) -> Bytes:
        """What the stage that decides holds beside weights and cache."""
        return self.worst.overhead

    @property
    def worst(self) -> Stage:
        """The stage that decides: the one that lacks most."""
        return max(self.stages, key=lambda stage: stage.short)


@formula("visible memory x utilization", source="engines §6.1")
def share(visible: Bytes, utilization: Decimal) -> Bytes:
    """What the engine plans with on one GPU."""
    return Bytes(int(Decimal(int(visible)) * utilization))


def derive(
    *,
    model: ModelProfile,
    hardware: HardwareShape,
    shape: Shape,
    terms: MemoryTerms,
    context: int,
    fit: Fit,
    heap: Bytes = _NOTHING,
) -> MemoryPlan:
    """The memory of every stage and the verdict."""
    usable = share(hardware.gpu.visible_memory, terms.utilization)
    said, heap = bool(heap), heap or terms.heap or _NOTHING
    fixed = fit.available_kv is None and bool(terms.pinned_by)
    stages: list[Stage] = []
    crowded = _NOTHING
    first = 0
    for index, count in enumerate(_layers(model, shape, terms)):
        span = first, count
        first += count
        whole = stage_weights(model, shape, index, span, terms.redundant_experts)
        weights = Bytes(max(0, whole - terms.offloaded))
        last = index == shape.pipeline - 1
        here = terms if last else terms._replace(sampling=_NOTHING, draft_layers=0)
        overhead = Bytes(terms.overhead + here.sampling)
        available = fit.available_kv
        if available is None:
            available = Bytes(usable - weights - overhead)
        if fixed:
            available = _pinned(model, shape, here, count, available)
            over = Bytes(weights + overhead + available + heap - hardware.gpu.visible_memory)
            crowded = over if not stages else max(crowded, over)
        held = stage_held(model, shape, index, span, terms.redundant_experts)
        beside = _Beside(weights, held, overhead, available)
        stages.append(_stage(model, shape, here, count, context, beside))
    known = model.parameters is not None or model.measured is not None
    measured = fit.available_kv is not None
    lacking = max(stage.short for stage in stages)
    counts = [stage.tokens for stage in stages if stage.tokens is not None]
    least = min(counts) * shape.decode_context if len(counts) == len(stages) else None
    if least is not None:
        requests = most = requests_of_tokens(least, shape.data, context)
        longest = least
    else:
        requests = requests_of_pages(stages, shape.data)
        most = requests_of_needs(stages, shape.data)
        longest = min(_longest(model, shape, terms, stage) for stage in stages)
    paged = max(int(stage.cache_paged) - int(stage.available) for stage in stages)
    verdict = _verdict(
        lacking,
        Bytes(max(lacking, paged) if least is None else lacking),
        _NOTHING if measured or fixed else terms.band,
    )
    if fixed and verdict != "does not fit":
        room = _verdict(crowded, crowded, terms.band)
        verdict = verdict if room == "fits" else room
    return MemoryPlan(
        visible=hardware.gpu.visible_memory,
        utilization=terms.utilization,
        share=usable,
        heap=heap,
        band=terms.band,
        source=terms.source,
        parts=terms.parts,
        stages=tuple(stages),
        context=context,
        tokens=least,
        requests=requests,
        requests_most=most,
        short=lacking,
        longest=min(longest, model.context_limit // terms.block * terms.block),
        verdict=verdict if known or measured else "unknown",
        measured=measured,
        pinned_by=terms.pinned_by if fixed else "",
        crowded=crowded,
        heap_from=("engine", "heap") if said or not heap else ("pods", "env"),
    )


def _layers(model: ModelProfile, shape: Shape, terms: MemoryTerms) -> tuple[int, ...]:
    """Layers of each stage: as somebody cuts them, where that is a cut of this model, else as the engine does."""
    if model.architecture is None:
        return (0,) * shape.pipeline
    layers = model.architecture.layers
    if len(terms.layers) == shape.pipeline and sum(terms.layers) == layers:
        return terms.layers
    return stage_layers(layers, shape.pipeline)


@formula(
    "bytes as the argument says, or blocks x tokens a block x bytes a token of the stage",
    source="vLLM: determine_available_memory, get_kv_cache_configs",
)
def pinned_cache(size: Bytes | None, blocks: int | None, block: int, per_token: int) -> Bytes:
    """The cache of one GPU that arguments fix, whatever is left."""
    return Bytes(blocks * block * per_token) if blocks is not None else size or Bytes(0)


def _pinned(
    model: ModelProfile, shape: Shape, terms: MemoryTerms, count: int, left: Bytes
) -> Bytes:
    """The fixed cache of a stage; blocks say nothing where several kinds of layers share them."""
    architecture = model.architecture
    if model.measured is not None:
        each = model.measured.kv_bytes_per_token
    elif architecture is not None and architecture.uniform:
        each = cache_per_token(architecture, shape.tensor, terms, count)
    elif terms.pinned is not None:
        return terms.pinned
    else:
        return left
    return pinned_cache(terms.pinned, terms.pinned_blocks, terms.block, each)


class _Beside(NamedTuple):
    """What a GPU of a stage holds beside the cache, and what that leaves."""

    weights: Bytes
    held: Held | None
    overhead: Bytes
    available: Bytes


def _stage(
    model: ModelProfile,
    shape: Shape,
    terms: MemoryTerms,
    count: int,
    context: int,
    beside: _Beside,
) -> Stage:
    available = beside.available
    architecture = model.architecture
    per_token, fixed, uniform = 0, Bytes(0), True
    if model.measured is not None:
        per_token = model.measured.kv_bytes_per_token
    elif architecture is not None:
        per_token = cache_per_token(architecture, shape.tensor, terms, count)
        fixed = cache_fixed(architecture, shape.tensor, terms, count, context)
        uniform = architecture.uniform
    whole = -(-context // terms.block) * terms.block
    needed = Bytes(-(-whole * per_token // shape.decode_context) + fixed)
    if architecture is not None and not uniform:
        pages = cache_paged(architecture, shape.tensor, terms, count, context)
        needed = max(needed, Bytes(-(-pages // shape.decode_context)))
    return Stage(
        layers=count,
        weights=beside.weights,
        held=beside.held,
        overhead=beside.overhead,
        cache_per_token=per_token,
        cache_fixed=fixed,
        cache_paged=needed,
        available=available,
        tokens=tokens(int(available), per_token, terms.block) if uniform else None,
        short=short(
            int(available),
            per_token,
            context=context,
            block=terms.block,
            decode_context=shape.decode_context,
            fixed=int(fixed),
        ),
    )


def _verdict(least: Bytes, most: Bytes, band: Bytes) -> Verdict:
    """least, most: what lacks at the least and at the most; band: how far both may be off, either way."""
    if least > band:
        return "does not fit"
    return "tight" if most > -int(band) else "fits"


@formula("tokens x data / context", source="engines §6.2")
def requests_of_tokens(held: int, data: int, context: int) -> Decimal:
    """Requests at full context, to two places."""
    return (Decimal(held * data) / context).quantize(Decimal("0.01"))


@formula("available / pages of a request x data, the least of all stages", source="engines §6.1")
def requests_of_pages(stages: Sequence[Stage], data: int) -> Decimal:
    """Requests at full context where several kinds of cache lie in pages of one size."""
    return _requests([(stage.available, int(stage.cache_paged)) for stage in stages], data)


@formula(
    "available / what one request needs x data, the least of all stages", source="engines §6.2"
)
def requests_of_needs(stages: Sequence[Stage], data: int) -> Decimal:
    """Requests at full context where nothing is lost in pages."""
    return _requests(
        [(stage.available, int(stage.short + stage.available)) for stage in stages], data
    )


def _requests(needs: Sequence[tuple[int, int]], ranks: int) -> Decimal:
    least = min(Fraction(max(0, available), max(1, need)) for available, need in needs)
    exact = Decimal(least.numerator * ranks) / Decimal(least.denominator)
    return exact.quantize(Decimal("0.01"), rounding=ROUND_DOWN)


def _longest(model: ModelProfile, shape: Shape, terms: MemoryTerms, stage: Stage) -> int:
    """The longest request of a stage whose layers differ, in whole blocks, found by halving."""
    architecture = model.architecture
    if architecture is None:
        return 0
    limit = model.context_limit // terms.block

    def fits(blocks: int) -> bool:
        length = blocks * terms.block
        pages = cache_paged(architecture, shape.tensor, terms, stage.layers, length)
        fixed = cache_fixed(architecture, shape.tensor, terms, stage.layers, length)
        plain = fixed + length * stage.cache_per_token
        return max(int(pages), plain) <= stage.available * shape.decode_context

    low, high = 0, limit
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if fits(middle) else (low, middle - 1)
    return low * terms.block
