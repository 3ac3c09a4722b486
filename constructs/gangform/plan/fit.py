"""Whether to refuse a model that does not fit, to warn, or to let a reason stand.

Only what is short by more than the band is refused, and never where the engine's own log says otherwise.
"""

from collections.abc import Iterator, Sequence
from decimal import ROUND_DOWN, Decimal

from gangform.engines.engine import Shape
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.serving import Fit
from gangform.plan.memory import MemoryPlan
from gangform.plan.ways import Way
from gangform.units import Bytes

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


HEAP = declare(
    "heap-outside-share",
    "A communication library takes its heap from what the engine's share leaves of a GPU; more than that is not there",
    Severity.BREAKS,
    "engines §1.5, §6.3; cases r01",
)
_STEP = 2**26
"""Bytes that a proposed size is rounded to."""
_SPARE = Bytes.gib(1)
"""Kept free beside a heap where a utilisation is proposed: contexts and graphs lie there too (`cases r01`)."""


def _two(size: Bytes) -> str:
    """GiB to two places: what decides here is often less than a tenth."""
    return f"{Decimal(int(size)) / 2**30:.2f} GiB"


def check_heap(plan: MemoryPlan, *, at: Path) -> Iterator[Finding]:
    """Whether what lies outside the engine's share holds the heap of a communication library."""
    lacking = Bytes(plan.heap - plan.outside)
    if lacking <= 0 or plan.pinned_by:
        return  # Beside a fixed cache the share of memory means nothing: `crowded` has the heap.
    highest = 1 - Decimal(int(plan.heap) + int(_SPARE)) / Decimal(int(plan.visible))
    fix = "use GPUs with more memory, or a smaller heap"
    if highest > 0:
        share = highest.quantize(Decimal("0.001"), rounding=ROUND_DOWN)
        fix = f"set `engine.utilization: {share}` or less, which keeps {_SPARE.human()} free, or a smaller heap"
    yield Finding(
        code=HEAP,
        at=InputPath((*at, *plan.heap_from)),
        what=f"the heap of {_two(plan.heap)} a GPU lies outside the engine's share, and utilization "
        f"{plan.utilization} of {_two(plan.visible)} leaves {_two(plan.outside)}: short by {_two(lacking)}",
        fix=fix,
        seen={
            "heap": str(int(plan.heap)),
            "outside": str(int(plan.outside)),
            "short": str(int(lacking)),
        },
    )


def check(
    plan: MemoryPlan,
    *,
    fit: Fit,
    concurrency: int | None,
    shape: Shape,
    at: Path,
    ways: Sequence[Way] = (),
) -> Iterator[Finding]:
    """Whether to refuse, to warn, or to let a reason stand."""
    yield from check_heap(plan, at=at)
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
    if plan.measured or plan.pinned_by:
        origin = "measured" if plan.measured else f"fixed by {plan.pinned_by}"
        sums = (
            f"{stage.available.human()} {origin} for the cache; one request of {plan.context} tokens "
            f"needs {Bytes(int(plan.short) + int(stage.available)).human()}"
        )
    if plan.pinned_by and plan.short <= 0 and plan.verdict in ("does not fit", "tight"):
        yield _crowded(plan, fit=fit, at=at)
        return
    seen = {
        "weights": str(int(stage.weights)),
        "overhead": str(int(plan.overhead)),
        "available": str(int(stage.available)),
        "short": str(int(plan.short)),
        "longest": str(plan.longest),
    }
    more = f"use more pipeline stages than {shape.pipeline}"
    out = "; or ".join(way.text for way in ways) or more
    if plan.pinned_by:
        whole = Bytes(-(-int(plan.short + stage.available) // _STEP) * _STEP)
        out = f"leave {plan.pinned_by} out, or fix at least {whole.human()} by it"
    shorter = f", or a context of at most {plan.longest}" if plan.longest else ""
    if plan.verdict == "does not fit":
        code = NO_FIT if fit.accepted is None else ACCEPTED
        exact = plan.measured or plan.pinned_by
        error = "" if exact else f" with an error of {plan.band.human()}"
        reason = "" if fit.accepted is None else f"; accepted: {fit.accepted}"
        yield Finding(
            code=code,
            at=InputPath((*at, "context" if plan.longest else "parallelism")),
            what=f"{sums}: short by {plan.short.human()}{error}{reason}",
            fix=f"{out}{shorter}; a measured value goes into `fit.availableKv`",
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
        held = "the cache holds"
        if plan.tokens is not None:
            held = f"{plan.tokens * shape.data} tokens hold"
        yield Finding(
            code=TOO_MANY_REQUESTS,
            at=InputPath((*at, "concurrency")),
            what=f"{concurrency} requests of {plan.context} tokens were asked for; "
            f"{held} {plan.requests}",
            fix=f"ask for {int(plan.requests)}, or {more}",
            seen=seen,
        )


def _crowded(plan: MemoryPlan, *, fit: Fit, at: Path) -> Finding:
    """A cache that arguments fix is taken whatever is there: the GPU's memory has to hold all of it."""
    stage, refused = plan.worst, plan.verdict == "does not fit"
    code = NO_FIT if refused and fit.accepted is None else ACCEPTED if refused else TIGHT
    beyond = max(0, -(-(int(plan.crowded) + int(plan.band)) // _STEP) * _STEP)
    less = Bytes(max(0, int(stage.available) - beyond))
    return Finding(
        code=code,
        at=InputPath((*at, "engine", "args")),
        what=f"{stage.weights.human()} weights, {plan.overhead.human()} overhead"
        + (f", {plan.heap.human()} heap" if plan.heap else "")
        + f" and {stage.available.human()} fixed by {plan.pinned_by} for the cache, of {plan.visible.human()} visible: "
        + (
            f"short by {plan.crowded.human()} with an error of {plan.band.human()}"
            if refused
            else f"within the error of {plan.band.human()}"
        )
        + (f"; accepted: {fit.accepted}" if code is ACCEPTED else ""),
        fix=f"leave {plan.pinned_by} out, or fix at most {less.human()}",
        seen={"crowded": str(int(plan.crowded)), "available": str(int(stage.available))},
    )
