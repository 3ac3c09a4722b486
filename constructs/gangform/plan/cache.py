"""What requests take of a GPU: bytes a token, and what a request takes however long it is.

Engines keep the cache in blocks and take the least of all workers (`engines §6.1`). Where all layers keep every token
alike, memory is so many tokens, exactly. Windows, states and compression make it two numbers, a fixed part of a
request and a slope; then tokens are no measure, and only requests of a declared length are counted (`engines §6.2`).
An engine that holds several kinds of layers cuts all of them into pages of one size, which takes more than the two
numbers: what a request needs lies between both.
"""

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import NamedTuple

from gangform.engines.engine import MemoryTerms
from gangform.inputs.model import Architecture, Window
from gangform.plan.figures import formula
from gangform.units import Bytes

_STATES = 2
"""States that a request may hold of each layer: its own, and one that prefix caching keeps (`engines §6.1`); one more
for each token that a draft proposes."""


def share_of_stage(layers: int, span: int, whole: int) -> int:
    """Layers of a kind in a stage of `span` layers: in proportion, rounded up, since kinds alternate."""
    return -(-layers * span // whole)


@formula(
    "gqa: (headDim + valueDim) x max(1, kvHeads / tensor) x bytes an element; mla: latent x bytes an element, or the "
    "bytes of its format, not divided",
    source="engines §6.1",
)
def cache_per_layer(
    architecture: Architecture, tensor: int, element: Decimal, latent_entry: int | None = None
) -> int:
    """Bytes a token takes in one layer on one GPU."""
    attention = architecture.attention
    if attention.kind == "mla":
        return latent_entry or int((attention.latent or 0) * element)
    keys = attention.head_dim or 0
    return _heads(attention.kv_heads or 1, keys, attention.value_dim or keys, tensor, element)


def _heads(heads: int, keys: int, values: int, tensor: int, element: Decimal) -> int:
    return int((keys + values) * max(1, -(-heads // tensor)) * element)


@formula(
    "layers that keep every token, those of a draft included, x bytes a layer; those that compress / their ratio; "
    "entries of the index",
    source="engines §6.1, §6.2",
)
def cache_per_token(architecture: Architecture, tensor: int, terms: MemoryTerms, span: int) -> int:
    """Bytes that one more token of a request takes on one GPU of a stage of `span` layers, rounded up."""
    each = cache_per_layer(architecture, tensor, terms.cache_element, terms.latent_entry)

    def here(layers: int) -> int:
        return share_of_stage(layers, span, architecture.layers)

    total = Fraction((here(architecture.attending) + terms.draft_layers) * each)
    for one in architecture.compressed:
        total += Fraction(here(one.layers) * each, one.ratio)
    if architecture.indexer is not None:
        index = architecture.indexer
        total += Fraction(here(index.layers) * index.size, index.ratio)
    return -(-total.numerator // total.denominator)


@formula(
    "windows: min(context, window - 1 + tokens of a step, a block more) x bytes a token; states: size / tensor, one "
    "more for each token that a draft proposes",
    source="engines §6.1, §6.2",
)
def cache_fixed(
    architecture: Architecture, tensor: int, terms: MemoryTerms, span: int, context: int
) -> Bytes:
    """What a request of this length keeps on one GPU of a stage beyond its tokens."""
    total = 0
    for window in architecture.windows:
        layers = share_of_stage(window.layers, span, architecture.layers)
        each = _window_token(architecture, window, tensor, terms)
        total += layers * each * _kept(window, terms, context)
    for state in architecture.states:
        layers = share_of_stage(state.layers, span, architecture.layers)
        total += layers * (1 + terms.speculative) * -(-int(state.size) // tensor)
    return Bytes(total)


def _kept(window: Window, terms: MemoryTerms, context: int) -> int:
    """Tokens of a window, in whole blocks: those of a step come in before the oldest go."""
    block = terms.block
    most = (-(-(window.tokens - 1 + terms.in_flight) // block) + 1) * block
    return min(most, -(-context // block) * block)


def _window_token(
    architecture: Architecture, window: Window, tensor: int, terms: MemoryTerms
) -> int:
    if window.size is not None:
        return window.size
    attention = architecture.attention
    if attention.kind == "mla":
        return cache_per_layer(architecture, tensor, terms.cache_element, terms.latent_entry)
    keys = window.head_dim or attention.head_dim or 0
    values = window.value_dim or (window.head_dim or attention.value_dim or keys)
    heads = window.kv_heads or attention.kv_heads or 1
    return _heads(heads, keys, values, tensor, terms.cache_element)


class _Kind(NamedTuple):
    """Layers of a stage that are cached alike."""

    layers: int
    entry: int
    """Bytes an entry of one layer; 0 for a state."""
    kept: int
    """Entries of a request."""
    state: int = 0


def _kinds(
    architecture: Architecture, tensor: int, terms: MemoryTerms, span: int, context: int
) -> Iterator[_Kind]:
    def here(layers: int) -> int:
        return share_of_stage(layers, span, architecture.layers)

    each = cache_per_layer(architecture, tensor, terms.cache_element, terms.latent_entry)
    yield _Kind(here(architecture.attending) + terms.draft_layers, each, context)
    for one in architecture.compressed:
        yield _Kind(here(one.layers), each, -(-context // one.ratio))
    if architecture.indexer is not None:
        index = architecture.indexer
        yield _Kind(here(index.layers), index.size, -(-context // index.ratio))
    for window in architecture.windows:
        kept = _kept(window, terms, context)
        yield _Kind(here(window.layers), _window_token(architecture, window, tensor, terms), kept)
    for state in architecture.states:
        kept = _STATES + terms.speculative
        yield _Kind(here(state.layers), 0, kept, -(-int(state.size) // tensor))


@formula(
    "groups of layers of one kind, each as many as the rarest kind has; pages of the largest kind's size; a request's "
    "pages of all groups",
    source="engines §6.1; vLLM: get_kv_cache_groups",
)
def cache_paged(
    architecture: Architecture, tensor: int, terms: MemoryTerms, span: int, context: int
) -> Bytes:
    """What a request takes where the engine cuts all kinds of layers into pages of one size."""
    kinds = [one for one in _kinds(architecture, tensor, terms, span, context) if one.layers]
    kinds = [one for one in kinds if one.entry or one.state]
    if not kinds:
        return Bytes(0)
    block, largest = terms.block, max(one.entry for one in kinds)
    page = block * largest
    state = max(one.state for one in kinds)
    if state > page:
        page = -(-state // page) * page
    group = min(one.layers for one in kinds)
    total = 0
    for one in kinds:
        groups = -(-one.layers // group)
        per_page = max(1, page // one.entry) if one.entry else 1
        total += groups * group * -(-one.kept // per_page) * page
    return Bytes(total)


@formula("floor(available / (bytes a token x block)) x block", source="engines §6.2; cases r03")
def tokens(available: int, per_token: int, block: int) -> int:
    """Tokens that fit, in whole blocks, where all layers keep every token alike."""
    if per_token <= 0:
        return 0
    return max(0, available // (per_token * block)) * block


@formula(
    "ceil(context in whole blocks x bytes a token / decodeContext) + fixed part - available",
    source="engines §6.2",
)
def short(
    available: int,
    per_token: int,
    *,
    context: int,
    block: int,
    decode_context: int,
    fixed: int = 0,
) -> Bytes:
    """What one request at full context lacks."""
    whole = -(-context // block) * block
    return Bytes(-(-whole * per_token // decode_context) + fixed - available)
