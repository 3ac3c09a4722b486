"""What would make a model fit that does not: the nearest change of each kind, computed as if it had been asked for.

Three kinds are tried: the same model in a smaller number format, where a profile has it; the next number of pipeline
stages that the engine takes; the next larger GPU. Each is planned like a serving of its own, so that its figures are
those that the plan would give, and none is named that the engine would refuse.
"""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from gangform.engines.engine import Engine, LaunchRequest
from gangform.findings import InputError
from gangform.inputs.cluster import Library
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.model import ModelProfile
from gangform.inputs.serving import Fit, Serving
from gangform.plan import memory, shape
from gangform.plan.memory import MemoryPlan
from gangform.units import Bytes

_MOST_STAGES = 64
"""Stages that are tried: more than any group that somebody runs."""


_UNMEASURED = Fit.model_construct()
"""What was measured holds for what was measured only."""


class Way(NamedTuple):
    """A change after which the model fits."""

    kind: Literal["weights", "pipeline", "hardware"]
    change: str
    """What to do, as an imperative: use `pipeline: 2`."""
    gpus: int
    """GPUs of a group then."""
    memory: MemoryPlan

    @property
    def text(self) -> str:
        """The change with its figures, as the end of a sentence that begins with what to do."""
        stage = self.memory.worst
        return (
            f"{self.change} ({self.memory.verdict}: {self.gpus} GPUs a group, {stage.weights.human()} weights a GPU, "
            f"{stage.available.human()} for the cache, {self.memory.requests} requests)"
        )


def derive(
    serving: Serving, ask: LaunchRequest, engine: Engine, library: Library
) -> tuple[MemoryPlan, tuple[Way, ...]]:
    """The memory as declared, and the ways out where that does not fit, those with fewest GPUs first."""
    tries = _Tries(serving, ask, engine, library)
    plan = holds(serving, ask, engine, serving.fit)
    if plan.verdict != "does not fit" or serving.parallelism == "auto":
        return plan, ()
    found = (tries.weights(), tries.pipeline(), tries.hardware())
    return plan, tuple(sorted((one for one in found if one), key=lambda way: way.gpus))


def holds(serving: Serving, ask: LaunchRequest, engine: Engine, fit: Fit) -> MemoryPlan:
    """What the GPUs of a request hold, whatever its shape, model and hardware."""
    terms = engine.memory(ask)
    return memory.derive(
        model=ask.model,
        hardware=ask.hardware,
        shape=ask.shape,
        terms=terms,
        context=ask.context,
        fit=fit,
        heap=serving.engine.heap or Bytes(0),
    )


class _Tries:
    """Plans of the same serving with one thing changed."""

    def __init__(
        self, serving: Serving, ask: LaunchRequest, engine: Engine, library: Library
    ) -> None:
        """Keep what the plans have in common."""
        self.serving, self.ask, self.engine, self.library = serving, ask, engine, library

    def weights(self) -> Way | None:
        """The largest profile of the same architecture that is smaller than this one and fits."""
        for profile in sorted(self._siblings(), key=lambda one: (-one.checkpoint, one.name)):
            way = self._planned("weights", f"use `model: {profile.name}`", model=profile)
            if way is not None:
                return way
        return None

    def pipeline(self) -> Way | None:
        """The next number of stages."""
        split = shape.parallelism_of(self.serving)
        for stages in range(split.pipeline + 1, _MOST_STAGES + 1):
            wanted = split.model_copy(update={"pipeline": stages})
            serving = self.serving.model_copy(update={"parallelism": wanted})
            way = self._planned("pipeline", f"use `pipeline: {stages}`", serving=serving)
            if way is not None:
                return way
        return None

    def hardware(self) -> Way | None:
        """The hardware with the next larger GPU, as many of them on a node."""
        here = self.ask.hardware.gpu
        larger = [
            one
            for one in self._shapes()
            if one.gpu.visible_memory > here.visible_memory and one.gpu.count == here.count
        ]
        # One that is no provider's own comes first, since its figures hold on all of them.
        for one in sorted(
            larger, key=lambda one: (one.gpu.visible_memory, one.rdma is not None, one.name)
        ):
            way = self._planned("hardware", f"use a pool of `hardware: {one.name}`", hardware=one)
            if way is not None:
                return way
        return None

    def _planned(
        self,
        kind: Literal["weights", "pipeline", "hardware"],
        change: str,
        *,
        serving: Serving | None = None,
        model: ModelProfile | None = None,
        hardware: HardwareShape | None = None,
    ) -> Way | None:
        """The way if the engine takes it and it fits, within the error or beyond it."""
        serving, node = serving or self.serving, hardware or self.ask.hardware
        split = shape.derive(serving, node)
        ask = self.ask._replace(model=model or self.ask.model, hardware=node, shape=split)
        found = holds(self.serving, ask, self.engine, _UNMEASURED)
        if found.verdict not in ("fits", "tight"):
            return None
        refusals = (*shape.check(serving, split, node, ask.at), *self.engine.check(ask))
        if any(one.breaks for one in refusals):
            return None
        return Way(kind, change, split.gpus, found)

    def _siblings(self) -> Iterator[ModelProfile]:
        own = self.ask.model
        for name in self.library.models:
            try:
                one = self.library.models[name]
            except InputError:
                continue  # A file that is wrong is said where somebody names it.
            alike = one.architecture is not None and one.architecture == own.architecture
            if alike and one.parameters == own.parameters and one.checkpoint < own.checkpoint:
                yield one

    def _shapes(self) -> Iterator[HardwareShape]:
        for name in self.library.hardware:
            try:
                yield self.library.hardware[name]
            except InputError:
                continue
