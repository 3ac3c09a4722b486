"""What a GPU holds, and whether the model fits: weights by pipeline stage, overhead, and what is left for the cache.

Engines take the minimum over all workers, so the fullest stage decides (`engines §6.1`). The token formula is exact
(error at most 0.04 % on printed logs); the error sits in overhead and weights, and is stated as a band. Only what is
short by more than the band is refused.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Literal, NamedTuple

from gangform.engines.engine import MemoryTerms, Shape
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import Architecture, ModelProfile
from gangform.inputs.serving import Fit
from gangform.plan.figures import formula
from gangform.units import Bytes

Verdict = Literal["fits", "tight", "does not fit", "unknown"]

NO_FIT = declare(
    "model-does-not-fit",
    "Weights, overhead and one request at full context need more memory than the GPUs have",
    Severity.BREAKS,
    "engines §6.2",
)
TIGHT = declare(
    "model-fits-tightly",
    "The model fits or not within the error of the arithmetic",
    Severity.DEGRADES,
    "engines §6.2, §6.3",
)
TOO_MANY_REQUESTS = declare(
    "concurrency-exceeds-cache",
    "The cache holds fewer requests at full context than were asked for",
    Severity.DEGRADES,
    "engines §6.2",
)
ACCEPTED = declare(
    "fit-accepted",
    "A model that does not fit by the arithmetic is emitted because somebody accepted it",
    Severity.DEGRADES,
    "design §4 Fit",
)
UNKNOWN = declare(
    "fit-unknown",
    "Without parameters or measured figures nobody checked whether the model fits",
    Severity.DEGRADES,
    "design §4 Fit",
)
BEYOND_GPU = declare(
    "measured-cache-beyond-gpu",
    "A measured cache that is larger than what the engine may use of a GPU was measured elsewhere",
    Severity.BREAKS,
    "engines §6.1",
)


class Stage(NamedTuple):
    """One pipeline stage on one of its GPUs."""

    layers: int
    weights: Bytes
    cache_per_token: int
    """Bytes a token takes on one GPU of this stage."""
    available: Bytes
    """What is left for the cache; negative where the weights alone do not fit."""
    tokens: int
    """Tokens the stage can hold, in whole blocks."""
    short: Bytes
    """What it lacks for one request at full context, rounded up; negative: what it has left."""


class MemoryPlan(NamedTuple):
    """Memory of one GPU of each stage, and what it means for a group."""

    visible: Bytes
    utilization: Decimal
    share: Bytes
    """What the engine may use: visible × utilization."""
    overhead: Bytes
    band: Bytes
    source: str
    """Where overhead and band come from."""
    stages: tuple[Stage, ...]
    context: int
    tokens: int
    """Tokens one data-parallel rank can hold: the least of all stages, times decodeContext."""
    requests: Decimal
    """Requests at full context that a group can hold, to two places."""
    short: Bytes
    """What the worst stage lacks for one request at full context; negative: what it has left."""
    longest: int
    """The longest context that one request could have, in whole blocks; never beyond the model's own limit."""
    verdict: Verdict
    measured: bool
    """Whether the cache comes from the engine's own log instead of the arithmetic."""

    @property
    def worst(self) -> Stage:
        """The stage that decides: the one that lacks most."""
        return max(self.stages, key=lambda stage: stage.short)


def stage_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each stage as vLLM cuts them: evenly, the remainder to the stages before the last, last first.

    Source: `get_pp_indices` in vLLM's distributed utilities; 61 layers on two stages are 31 and 30.
    """
    even, rest = divmod(layers, stages)
    return tuple(even + (1 if 2 <= stages - index <= rest + 1 else 0) for index in range(stages))


@formula(
    "gqa: 2 x headDim x max(1, kvHeads / tensor) x bytes an element; mla: latent x bytes an element, not divided",
    source="engines §6.1",
)
def cache_per_layer(architecture: Architecture, tensor: int, element: Decimal) -> int:
    """Bytes a token takes in one layer on one GPU."""
    attention = architecture.attention
    if attention.kind == "mla":
        return int((attention.latent or 0) * element)
    heads = max(1, -(-(attention.kv_heads or 1) // tensor))
    return int(2 * (attention.head_dim or 0) * heads * element)


@formula(
    "experts / expert ranks + other weights / tensor, for the stage's layers; embedding on the first stage and "
    "output head on the last, 2 bytes a weight / tensor",
    source="engines §5.2, §6.2",
)
def stage_weights(
    model: ModelProfile, shape: Shape, stage: int, span: tuple[int, int] | None = None
) -> Bytes:
    """Weights on one GPU of a stage. `span`: its first layer and how many it has, where they are known already."""
    architecture = model.architecture
    if model.measured is not None:
        return model.measured.weights_per_gpu
    if architecture is None or model.parameters is None:
        return Bytes(-(-int(model.checkpoint) // (shape.tensor * shape.pipeline)))
    if span is None:
        layers = stage_layers(architecture.layers, shape.pipeline)
        span = sum(layers[:stage]), layers[stage]
    first, count = span
    dense = architecture.dense_layers or 0
    table = architecture.vocabulary * architecture.hidden
    body = max(model.parameters - 2 * table, 1)
    loaded = int(model.checkpoint) - int(model.draft)
    per_weight = Fraction(max(loaded - 4 * table, 0), body)
    other = Fraction(max(body - model.expert_parameters, 0), architecture.layers)
    total = count * other * per_weight / shape.tensor
    if architecture.experts is not None and architecture.layers > dense:
        with_experts = max(0, first + count - max(dense, first))
        each = Fraction(model.expert_parameters, architecture.layers - dense)
        total += with_experts * each * per_weight / shape.expert_ranks
    ends = (stage == 0) + (stage == shape.pipeline - 1)
    total += Fraction(2 * table * ends, shape.tensor)
    return Bytes(-(-total.numerator // total.denominator))


@formula("floor(available / (bytes a token x block)) x block", source="engines §6.2; cases r03")
def tokens(available: int, per_token: int, block: int) -> int:
    """Tokens that fit, in whole blocks."""
    if per_token <= 0:
        return 0
    return max(0, available // (per_token * block)) * block


@formula(
    "ceil(context in whole blocks x bytes a token / decodeContext) - available",
    source="engines §6.2",
)
def short(
    available: int, per_token: int, *, context: int, block: int, decode_context: int
) -> Bytes:
    """What one request at full context lacks."""
    whole = -(-context // block) * block
    return Bytes(-(-whole * per_token // decode_context) - available)


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
) -> MemoryPlan:
    """The memory of every stage and the verdict."""
    usable = share(hardware.gpu.visible_memory, terms.utilization)
    architecture = model.architecture
    layers = (
        stage_layers(architecture.layers, shape.pipeline) if architecture else (0,) * shape.pipeline
    )
    stages = []
    first = 0
    for index, count in enumerate(layers):
        weights = stage_weights(model, shape, index, (first, count))
        first += count
        if model.measured is not None or architecture is None:
            per_token = model.measured.kv_bytes_per_token if model.measured else 0
        else:
            per_token = count * cache_per_layer(architecture, shape.tensor, terms.cache_element)
        available = fit.available_kv
        if available is None:
            available = Bytes(int(usable) - int(weights) - int(terms.overhead))
        stages.append(
            Stage(
                layers=count,
                weights=weights,
                cache_per_token=per_token,
                available=available,
                tokens=tokens(int(available), per_token, terms.block),
                short=short(
                    int(available),
                    per_token,
                    context=context,
                    block=terms.block,
                    decode_context=shape.decode_context,
                ),
            )
        )
    known = model.parameters is not None or model.measured is not None
    measured = fit.available_kv is not None
    lacking = max(stage.short for stage in stages)
    least = min(stage.tokens for stage in stages) * shape.decode_context
    return MemoryPlan(
        visible=hardware.gpu.visible_memory,
        utilization=terms.utilization,
        share=usable,
        overhead=terms.overhead,
        band=terms.band,
        source=terms.source,
        stages=tuple(stages),
        context=context,
        tokens=least,
        requests=(Decimal(least * shape.data) / context).quantize(Decimal("0.01")),
        short=lacking,
        longest=min(least, model.context_limit // terms.block * terms.block),
        verdict=_verdict(lacking, terms.band, measured=measured)
        if known or measured
        else "unknown",
        measured=measured,
    )


def _verdict(short: Bytes, band: Bytes, *, measured: bool) -> Verdict:
    tolerance = 0 if measured else int(band)
    if short > tolerance:
        return "does not fit"
    return "tight" if short > -tolerance else "fits"


def check(
    plan: MemoryPlan, *, fit: Fit, concurrency: int | None, shape: Shape, at: Path
) -> Iterator[Finding]:
    """Whether to refuse, to warn, or to let a reason stand."""
    stage = plan.worst
    if plan.measured and stage.available > plan.share:
        yield Finding(
            code=BEYOND_GPU,
            at=InputPath((*at, "fit", "availableKv")),
            what=f"{stage.available.human()} for the cache, and the engine may use {plan.share.human()} of a GPU: "
            f"{plan.visible.human()} visible x {plan.utilization}",
            fix="write what the engine prints for one GPU of this pool",
            seen={"available": str(int(stage.available)), "share": str(int(plan.share))},
        )
        return
    if plan.verdict == "unknown":
        yield Finding(
            code=UNKNOWN,
            at=InputPath((*at, "model")),
            what="not checked whether the model fits: its profile has neither `parameters` nor `measured`",
            fix="write `parameters` into the profile, or the engine's printed `Available KV cache memory` into "
            "`fit.availableKv`",
        )
        return
    sums = (
        f"{plan.visible.human()} visible x {plan.utilization} = {plan.share.human()}; "
        f"less {stage.weights.human()} weights and {plan.overhead.human()} overhead leaves "
        f"{stage.available.human()}; one request of {plan.context} tokens needs "
        f"{Bytes(int(plan.short) + int(stage.available)).human()}"
    )
    if plan.measured:
        sums = (
            f"{stage.available.human()} measured for the cache; one request of {plan.context} tokens "
            f"needs {Bytes(int(plan.short) + int(stage.available)).human()}"
        )
    seen = {
        "weights": str(int(stage.weights)),
        "overhead": str(int(plan.overhead)),
        "available": str(int(stage.available)),
        "short": str(int(plan.short)),
        "longest": str(plan.longest),
    }
    more = f"use more pipeline stages than {shape.pipeline}"
    shorter = f", or a context of at most {plan.longest}" if plan.longest else ""
    if plan.verdict == "does not fit":
        code = NO_FIT if fit.accepted is None else ACCEPTED
        error = "" if plan.measured else f" with an error of {plan.band.human()}"
        reason = "" if fit.accepted is None else f"; accepted: {fit.accepted}"
        yield Finding(
            code=code,
            at=InputPath((*at, "context" if plan.longest else "parallelism")),
            what=f"{sums}: short by {plan.short.human()}{error}{reason}",
            fix=f"{more}{shorter}; a measured value goes into `fit.availableKv`",
            seen=seen,
        )
    elif plan.verdict == "tight":
        yield Finding(
            code=TIGHT,
            at=InputPath((*at, "context")),
            what=f"{sums}, within the error of {plan.band.human()}",
            fix=f"{more}, or write the engine's printed `Available KV cache memory` into `fit.availableKv`",
            seen=seen,
        )
    elif concurrency is not None and plan.requests < concurrency:
        yield Finding(
            code=TOO_MANY_REQUESTS,
            at=InputPath((*at, "concurrency")),
            what=f"{concurrency} requests of {plan.context} tokens were asked for; "
            f"{plan.tokens * shape.data} tokens hold {plan.requests}",
            fix=f"ask for {int(plan.requests)}, or {more}",
            seen=seen,
        )
