"""What lies where of a model's weights: by class of tensors, pipeline stage and rank.

Routed experts are shared by all ranks of tensor, data and prefill context: whole ones under expert parallelism, slices
otherwise. Everything else is cut by tensor, but for projections onto a latent, indexers, routers and norms, which
every rank keeps whole. Embedding and head lie on the first and last stage.
"""

from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from gangform.engines.engine import Shape
from gangform.inputs.model import Architecture, ModelProfile
from gangform.plan.cache import share_of_stage
from gangform.plan.figures import formula, watched
from gangform.units import Bytes


def stage_layers(layers: int, stages: int) -> tuple[int, ...]:
    """Layers of each stage as vLLM cuts them: evenly, the remainder to the stages before the last, last first.

    Source: `get_pp_indices` in vLLM's distributed utilities; 61 layers on two stages are 31 and 30.
    """
    even, rest = divmod(layers, stages)
    return tuple(even + (1 if 2 <= stages - index <= rest + 1 else 0) for index in range(stages))


class Classes(NamedTuple):
    """A checkpoint by classes of tensors, in bytes; what is loaded only as a draft model is not among them."""

    experts: Fraction
    table: Fraction
    """Embedding, and the head again where it is its own."""
    replicated: Fraction
    dense: Fraction
    """Feed-forward of the layers without experts, as far as the profile says how wide it is."""
    rest: Fraction
    """Everything else, the same in every layer: attention, shared experts."""
    element: Fraction
    """Bytes a weight of `rest`."""


@formula(
    "experts, embeddings and replicated tensors as stored; what is not said: 2 bytes a weight of the embedding (4 in "
    "fp32), and the rest of the checkpoint at the same bytes a weight",
    source="engines §5.2",
)
def tensor_classes(model: ModelProfile, architecture: Architecture) -> Classes:
    """The checkpoint by classes of tensors."""
    stored, wide = model.tensors, 4 if model.weights == "fp32" else 2
    loaded = int(model.checkpoint) - int(model.draft)
    entries = architecture.vocabulary * architecture.hidden * (1 if architecture.tied else 2)
    table = Fraction(stored.embeddings.size if stored.embeddings else wide * entries)
    body = max((model.parameters or 0) - entries, 1)
    left = max(loaded - table, Fraction(0))
    element, experts = left / body, model.expert_parameters * left / body
    if stored.experts is not None:
        experts = Fraction(stored.experts.size)
        others = max(body - model.expert_parameters, 1)
        element = max(left - experts, Fraction(0)) / others
    replicated = Fraction(stored.replicated.size if stored.replicated else 0)
    rest = max(left - experts - replicated, Fraction(0))
    if stored.experts is not None and stored.experts.held is not None:
        experts = Fraction(stored.experts.held)
    held = (
        architecture.without_experts
        * 3
        * architecture.hidden
        * (architecture.dense_width or 0)
        * element
    )
    held = min(held, rest)
    return Classes(experts, table, replicated, held, rest - held, element)


class Held(NamedTuple):
    """Weights on one GPU of a stage by class; each rounded up, so that they may be a few bytes more than their sum."""

    experts: Bytes
    """Routed experts, shared by all expert ranks."""
    cut: Bytes
    """What tensor ranks share: attention, feed-forward, shared experts."""
    whole: Bytes
    """What every tensor rank has: replicated tensors and copied heads."""
    tables: Bytes
    """Embedding and head, shared by tensor ranks."""


@formula(
    "experts / expert ranks + (dense + rest) / tensor + replicated, for the stage's layers; key and value projections "
    "copied where tensor exceeds their heads; embedding on the first stage and head on the last, / tensor",
    source="engines §5.2, §6.2",
)
def stage_weights(
    model: ModelProfile,
    shape: Shape,
    stage: int,
    span: tuple[int, int] | None = None,
    redundant: int = 0,
) -> Bytes:
    """Weights on one GPU of a stage.

    Args:
        model: The model.
        shape: How it is split.
        stage: Which stage.
        span: Its first layer and how many it has, where they are known already.
        redundant: Copies of experts over all expert ranks.
    """
    if model.measured is not None:
        return model.measured.weights_per_gpu
    parts = _parts(model, shape, stage, span, redundant)
    if parts is None:
        return Bytes(-(-int(model.checkpoint) // (shape.tensor * shape.pipeline)))
    return _up(sum(parts, Fraction(0)))


def stage_held(
    model: ModelProfile,
    shape: Shape,
    stage: int,
    span: tuple[int, int] | None = None,
    redundant: int = 0,
) -> Held | None:
    """The same by class; `None` where nobody described the model, or measured it as a whole."""
    parts = None if model.measured else _parts(model, shape, stage, span, redundant)
    return None if parts is None else Held(*map(_up, parts))


def _up(size: Fraction) -> Bytes:
    return Bytes(-(-size.numerator // size.denominator))


class _Same:
    """A model as a key: equal to itself alone, since comparing all that it holds takes longer than reckoning."""

    def __init__(self, model: ModelProfile) -> None:
        self.model = model

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other.model is self.model

    def __hash__(self) -> int:
        return id(self.model)


_Parts = tuple[Fraction, Fraction, Fraction, Fraction]


def _parts(
    model: ModelProfile, shape: Shape, stage: int, span: tuple[int, int] | None, redundant: int
) -> _Parts | None:
    """Experts, what is cut, what is whole and tables, exactly. Many servings run a few models in a few shapes."""
    if watched():  # who traces a figure sees the formulas behind it
        return _reckoned(model, shape, stage, span, redundant)
    return _remembered(_Same(model), shape, stage, span, redundant)


@lru_cache(maxsize=1024)
def _remembered(
    same: _Same, shape: Shape, stage: int, span: tuple[int, int] | None, redundant: int
) -> _Parts | None:
    return _reckoned(same.model, shape, stage, span, redundant)


def _reckoned(
    model: ModelProfile, shape: Shape, stage: int, span: tuple[int, int] | None, redundant: int
) -> _Parts | None:
    architecture = model.architecture
    if architecture is None or model.parameters is None:
        return None
    if span is None:
        layers = stage_layers(architecture.layers, shape.pipeline)
        span = sum(layers[:stage]), layers[stage]
    first, count = span
    stored = tensor_classes(model, architecture)
    part = Fraction(count, architecture.layers)
    cut = stored.rest * part
    whole = stored.replicated * part
    whole += _copied_heads(architecture, shape.tensor, stored.element) * part
    experts = architecture.experts
    dense = architecture.without_experts
    if dense:
        here = max(0, min(first + count, dense) - first)
        if experts is not None and experts.layers is not None:
            here = share_of_stage(dense, count, architecture.layers)
        cut += stored.dense * Fraction(here, dense)
    routed = Fraction(0)
    if experts is not None:
        everywhere = experts.layers or architecture.layers - dense
        here = max(0, first + count - max(dense, first))
        if experts.layers is not None:
            here = share_of_stage(everywhere, count, architecture.layers)
        copies = Fraction(experts.routed + redundant, experts.routed)
        if everywhere > 0:
            routed = stored.experts * copies * Fraction(here, everywhere) / shape.expert_ranks
    tables = _tables(architecture, stored.table, shape.pipeline, stage)
    return routed, cut / shape.tensor, whole, tables / shape.tensor


def _tables(architecture: Architecture, table: Fraction, stages: int, stage: int) -> Fraction:
    """Embedding and head of a stage; tied ones are one table, unless they lie on two stages."""
    first, last = stage == 0, stage == stages - 1
    if architecture.tied:
        return table * (first or last)
    return table / 2 * (first + last)


def _copied_heads(architecture: Architecture, tensor: int, element: Fraction) -> Fraction:
    """What a rank holds of key and value projections beyond its even share, over all layers that attend."""
    attention = architecture.attention
    heads = attention.kv_heads or 0
    if attention.kind != "gqa" or not heads or tensor <= heads:
        return Fraction(0)
    keys = attention.head_dim or 0
    width = keys + (attention.value_dim or keys)
    return (
        architecture.attending
        * architecture.hidden
        * width
        * (1 - Fraction(heads, tensor))
        * element
    )
