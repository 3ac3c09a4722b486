"""What requests take: bytes a token, and the fixed part of windows, states and compressors."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import gpus

from gangform.engines.engine import MemoryTerms
from gangform.inputs.model import Architecture, Attention, Compressed, Indexer, State, Window
from gangform.plan import cache
from gangform.units import Bytes

GQA = Attention(kind="gqa", heads=64, kv_heads=8, head_dim=64)
LATENT = Attention(kind="mla", heads=64, latent=576)


def shape(**changes: Any) -> Architecture:
    given: dict[str, Any] = {"layers": 36, "hidden": 2880, "vocabulary": 201_088, "attention": GQA}
    return Architecture(**{**given, **changes})


def terms(**changes: Any) -> MemoryTerms:
    return gpus.terms(**{"in_flight": 8192, **changes})


def per_token(architecture: Architecture, tensor: int = 1, span: int = 36, **changes: Any) -> int:
    return cache.cache_per_token(architecture, tensor, terms(**changes), span)


def fixed(architecture: Architecture, context: int, tensor: int = 1, span: int = 36) -> int:
    return cache.cache_fixed(architecture, tensor, terms(), span, context)


def paged(architecture: Architecture, context: int, tensor: int = 1, span: int = 36) -> int:
    return cache.cache_paged(architecture, tensor, terms(), span, context)


# ── slope ────────────────────────────────────────────────────────────────────────────────────────


def test_keys_and_values_may_differ_in_width() -> None:
    narrow = shape(
        attention=Attention(kind="gqa", heads=64, kv_heads=4, head_dim=192, value_dim=128)
    )
    assert cache.cache_per_layer(narrow, 1, Decimal(2)) == (192 + 128) * 4 * 2
    assert cache.cache_per_layer(narrow, 8, Decimal(2)) == (192 + 128) * 2


def test_a_latent_in_a_format_of_its_own_takes_what_the_format_says() -> None:
    model = shape(attention=LATENT)
    assert cache.cache_per_layer(model, 8, Decimal(1)) == 576
    assert cache.cache_per_layer(model, 8, Decimal(1), 656) == 656


def test_an_index_is_whole_on_every_rank_and_on_its_own_layers_only() -> None:
    """GLM-5.2: 78 x 656 + 21 x 132 bytes a token (k018)."""
    model = shape(layers=78, attention=LATENT, indexer=Indexer(layers=21))
    for tensor in (1, 4, 64):
        assert per_token(model, tensor, 78, latent_entry=656) == 53_940


def test_layers_that_keep_less_are_no_part_of_the_slope() -> None:
    half = shape(windows=(Window(layers=18, tokens=128),))
    assert per_token(half) == 18 * 2 * 8 * 64 * 2
    linear = shape(full_layers=9, states=(State(layers=27, size=Bytes.gib(1)),))
    assert per_token(linear) == 9 * 2 * 8 * 64 * 2


def test_compressed_layers_cost_their_part_of_a_token() -> None:
    model = shape(
        attention=Attention(kind="mla", heads=64, latent=512),
        full_layers=0,
        compressed=(Compressed(layers=21, ratio=4), Compressed(layers=15, ratio=128)),
        indexer=Indexer(layers=21, ratio=4),
    )
    exact = 21 * 584 / 4 + 15 * 584 / 128 + 21 * 132 / 4
    assert exact <= per_token(model, latent_entry=584) < exact + 1


@settings(deadline=None)
@given(span=st.integers(0, 36), tensor=st.integers(1, 64))
def test_stages_together_hold_no_less_than_the_model(span: int, tensor: int) -> None:
    model = shape(windows=(Window(layers=18, tokens=128),))
    both = per_token(model, tensor, span) + per_token(model, tensor, 36 - span)
    assert per_token(model, tensor) <= both <= per_token(model, tensor) + 2 * 2 * 8 * 64 * 2


# ── fixed part ───────────────────────────────────────────────────────────────────────────────────


def test_a_window_keeps_its_tokens_and_those_of_a_step() -> None:
    model = shape(windows=(Window(layers=18, tokens=128),))
    layer = 2 * 8 * 64 * 2
    assert fixed(model, 100) == 18 * layer * 112
    blocks = -(-(127 + 8192) // 16) + 1
    assert fixed(model, 100_000) == fixed(model, 1_000_000) == 18 * layer * blocks * 16


def test_a_window_may_have_heads_of_its_own() -> None:
    own = shape(windows=(Window(layers=18, tokens=128, kv_heads=4, head_dim=192, value_dim=128),))
    assert fixed(own, 16) == 18 * (192 + 128) * 4 * 2 * 16
    assert fixed(own, 16, tensor=8) == 18 * (192 + 128) * 2 * 16
    raw = shape(windows=(Window(layers=18, tokens=128, size=4096),))
    assert fixed(raw, 16) == fixed(raw, 16, tensor=8) == 18 * 4096 * 16


def test_a_state_is_the_same_at_any_length_and_shared_by_ranks() -> None:
    model = shape(states=(State(layers=27, size=Bytes(4_000_001)),))
    assert fixed(model, 16) == fixed(model, 10**6) == 27 * 4_000_001
    assert fixed(model, 16, tensor=2) == 27 * 2_000_001


def test_what_is_uniform_has_no_fixed_part() -> None:
    assert fixed(shape(), 10**6) == 0
    assert fixed(shape(attention=LATENT, indexer=Indexer(layers=9)), 10**6) == 0


# ── pages ────────────────────────────────────────────────────────────────────────────────────────


def test_equal_groups_of_equal_layers_lose_nothing_but_the_block() -> None:
    """gpt-oss: as many layers with a window as without, all alike."""
    model = shape(windows=(Window(layers=18, tokens=128),))
    plain = fixed(model, 131_072) + 131_072 * per_token(model)
    assert paged(model, 131_072) == plain


def test_a_page_is_as_large_as_the_largest_state() -> None:
    """15 layers of 60 keep tokens; three groups of 15 keep two states of 4 MiB: 2048 tokens a page."""
    model = shape(
        layers=60,
        attention=Attention(kind="gqa", heads=32, kv_heads=2, head_dim=256),
        states=(State(layers=45, size=Bytes(4 * 2**20)),),
    )
    layer = 2 * 2 * 256 * 2
    assert paged(model, 1, span=60) == 15 * (1 + 6) * 2048 * layer
    assert paged(model, 2049, span=60) == 15 * (2 + 6) * 2048 * layer


def test_a_stage_without_layers_takes_nothing() -> None:
    assert paged(shape(), 1000, span=0) == 0
    assert paged(shape(full_layers=0), 1000) == 0


@settings(deadline=None)
@given(
    windows=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 4096)), max_size=2),
    states=st.lists(st.tuples(st.integers(1, 12), st.integers(1, 2**24)), max_size=1),
    tensor=st.sampled_from([1, 2, 8, 16]),
    context=st.integers(1, 10**6),
)
def test_pages_never_take_less_than_what_lies_in_them(
    windows: list[tuple[int, int]],
    states: list[tuple[int, int]],
    tensor: int,
    context: int,
) -> None:
    model = shape(
        windows=tuple(Window(layers=layers, tokens=tokens) for layers, tokens in windows),
        states=tuple(State(layers=layers, size=Bytes(size)) for layers, size in states),
    )
    kept = fixed(model, context, tensor) + context * per_token(model, tensor)
    assert paged(model, context, tensor) >= kept
    assert paged(model, context + 16, tensor) >= paged(model, context, tensor)


@pytest.mark.parametrize(("extra", "lacks"), [(0, 0), (1000, 1000)])
def test_the_fixed_part_comes_on_top_of_the_tokens(extra: int, lacks: int) -> None:
    found = cache.short(160 * 10, 10, context=160, block=16, decode_context=1, fixed=extra)
    assert found == lacks


def test_each_token_that_a_draft_proposes_needs_a_state() -> None:
    model = shape(full_layers=9, states=(State(layers=27, size=Bytes(1000)),))
    for proposed in (0, 1, 3):
        more = terms(speculative=proposed)
        assert cache.cache_fixed(model, 1, more, 36, 4096) == 27_000 * (1 + proposed)
    plain, three = (cache.cache_paged(model, 1, terms(speculative=n), 36, 4096) for n in (0, 3))
    assert three - plain == 3 * 27 * 16 * 2 * 8 * 64 * 2
