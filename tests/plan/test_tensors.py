"""Where the weights lie: classes of tensors over ranks and stages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.gpus import split

from gangform.inputs.model import (
    Architecture,
    Attention,
    Experts,
    Measured,
    ModelProfile,
    TensorClass,
    Tensors,
)
from gangform.plan import tensors
from gangform.plan.figures import recording
from gangform.units import Bytes

HIDDEN, ROWS = 1000, 10_000
TABLE = HIDDEN * ROWS


def model(**changes: Any) -> ModelProfile:
    """1000 million parameters of experts, 100 of the rest, 20 of the tables, one byte each but for the tables."""
    shape: dict[str, Any] = {
        "layers": 10,
        "hidden": HIDDEN,
        "vocabulary": ROWS,
        "attention": Attention(kind="mla", heads=64, latent=576),
        "experts": Experts(routed=100, active=8, width=100),
        **changes.pop("architecture", {}),
    }
    given: dict[str, Any] = {
        "name": "m",
        "repository": "org/m",
        "weights": "fp8",
        "checkpoint": Bytes(1_100_000_000 + 4 * TABLE),
        "parameters": 1_100_000_000 + 2 * TABLE,
        "expert_parameters": 1_000_000_000,
        "context_limit": 4096,
        "architecture": Architecture(**shape),
    }
    return ModelProfile(**{**given, **changes})


def weights(profile: ModelProfile, stage: int = 0, redundant: int = 0, **changes: Any) -> int:
    return tensors.stage_weights(profile, split(**changes), stage, redundant=redundant)


def test_one_gpu_holds_everything() -> None:
    assert weights(model()) == model().checkpoint


def test_experts_lie_on_all_ranks_and_the_rest_on_those_of_tensor() -> None:
    found = weights(model(), tensor=2, data=4)
    assert found == 1_000_000_000 // 8 + (100_000_000 + 4 * TABLE) // 2
    assert weights(model(), tensor=2, data=4, expert_parallel=True) == found


def test_replicated_tensors_are_divided_by_nothing_but_the_stages() -> None:
    kept = model(tensors=Tensors(replicated=TensorClass(size=Bytes(10_000_000))))
    assert weights(kept) == weights(model())
    assert weights(kept, tensor=4) - weights(model(), tensor=4) == 10_000_000 * 3 // 4
    halves = weights(kept, tensor=4, pipeline=2) - weights(model(), tensor=4, pipeline=2)
    assert halves == 5_000_000 * 3 // 4


def test_a_class_takes_the_bytes_that_are_written() -> None:
    narrow = model(
        checkpoint=Bytes(500_000_000 + 200_000_000 + 4 * TABLE),
        tensors=Tensors(experts=TensorClass(size=Bytes(500_000_000), format="mxfp4")),
    )
    classes = tensors.tensor_classes(narrow, narrow.architecture or pytest.fail())
    found = tuple(map(int, (classes.experts, classes.rest, classes.element)))
    assert found == (500_000_000, 200_000_000, 2)
    assert weights(narrow, tensor=2, data=2) == 500_000_000 // 4 + 100_000_000 + 2 * TABLE


def test_padding_is_held_and_not_taken_from_the_rest() -> None:
    sizes = TensorClass(size=Bytes(1_000_000_000), held=Bytes(1_100_000_000))
    padded = model(tensors=Tensors(experts=sizes))
    assert weights(padded) == model().checkpoint + 100_000_000


def test_tables_lie_on_the_ends_and_a_tied_one_on_both() -> None:
    plain = [weights(model(), stage, pipeline=5) for stage in range(5)]
    assert plain[0] == plain[4] == plain[2] + 2 * TABLE
    one = model(
        checkpoint=Bytes(1_100_000_000 + 2 * TABLE),
        parameters=1_100_000_000 + TABLE,
        architecture={"tied": True},
    )
    assert weights(one) == one.checkpoint
    tied = [weights(one, stage, pipeline=5) for stage in range(5)]
    assert tied[0] == tied[4] == tied[2] + 2 * TABLE
    assert tied == plain


def test_written_embeddings_stand_for_the_two_bytes() -> None:
    small = Tensors(embeddings=TensorClass(size=Bytes(2 * TABLE), format="fp8"))
    assert weights(model(tensors=small, checkpoint=Bytes(1_100_000_000 + 2 * TABLE))) == (
        1_100_000_000 + 2 * TABLE
    )


def test_dense_layers_come_first_with_their_own_width() -> None:
    """Two dense layers of 9 million parameters each, the other 82 million spread over ten layers."""
    mixed = model(architecture={"dense_layers": 2, "dense_width": 3000})
    first, second = (weights(mixed, stage, pipeline=2) for stage in range(2))
    assert first - second == 2 * 9_000_000 - 1_000_000_000 * 2 // 8
    alone = model(
        architecture={"dense_layers": None, "dense_width": 1000, "experts": None},
        expert_parameters=0,
    )
    assert weights(alone, 0, pipeline=2) == weights(alone, 1, pipeline=2)


def test_experts_between_dense_layers_are_spread_evenly() -> None:
    every_second = Experts(routed=100, active=8, width=100, layers=5)
    mixed = model(architecture={"dense_layers": 5, "dense_width": 3000, "experts": every_second})
    assert weights(mixed) == mixed.checkpoint
    stages = [weights(mixed, stage, pipeline=5) for stage in range(5)]
    assert stages[1] == stages[2] == stages[3]


def test_redundant_experts_are_copies_on_all_ranks() -> None:
    more = weights(model(), redundant=10, tensor=10) - weights(model(), tensor=10)
    assert more == 1_000_000_000 * 10 // 100 // 10


def test_key_and_value_projections_are_copied_beyond_their_heads() -> None:
    gqa = Attention(kind="gqa", heads=64, kv_heads=4, head_dim=50)
    heads = model(architecture={"attention": gqa})
    assert weights(heads, tensor=4) == weights(model(), tensor=4)
    # A rank of 16 holds one head of four in place of a quarter of one.
    copied = weights(heads, tensor=16) - weights(model(), tensor=16)
    assert copied == 10 * HIDDEN * 2 * 50 * 3 // 4


@settings(deadline=None)
@given(
    tensor=st.integers(1, 64),
    pipeline=st.integers(1, 10),
    replicated=st.integers(0, 10**8),
    kv_heads=st.integers(1, 8),
)
def test_classes_add_up_to_the_weights(
    tensor: int, pipeline: int, replicated: int, kv_heads: int
) -> None:
    profile = model(
        tensors=Tensors(replicated=TensorClass(size=Bytes(replicated))),
        architecture={"attention": Attention(kind="gqa", heads=64, kv_heads=kv_heads, head_dim=50)},
    )
    shape = split(tensor=tensor, pipeline=pipeline)
    for stage in range(pipeline):
        held = tensors.stage_held(profile, shape, stage)
        assert held is not None
        whole = tensors.stage_weights(profile, shape, stage)
        assert whole <= sum(held) <= whole + 3
        assert (held.tables > 0) == (stage in (0, pipeline - 1))


def test_what_is_known_as_a_whole_has_no_classes() -> None:
    known = model(
        measured=Measured(weights_per_gpu=Bytes.gib(1), kv_bytes_per_token=1), architecture={}
    )
    assert tensors.stage_held(known, split(), 0) is None
    assert tensors.stage_held(model(parameters=None), split(), 0) is None


@settings(deadline=None)
@given(
    tensor=st.sampled_from([1, 2, 4, 8, 64]),
    pipeline=st.integers(1, 10),
    data=st.integers(1, 8),
    replicated=st.integers(0, 50_000_000),
    dense=st.integers(0, 9),
)
def test_no_byte_is_lost(
    tensor: int, pipeline: int, data: int, replicated: int, dense: int
) -> None:
    """All ranks together hold the checkpoint once, and what each has of its own as often as there are ranks."""
    profile = model(
        tensors=Tensors(replicated=TensorClass(size=Bytes(replicated))),
        architecture={"dense_layers": dense, "dense_width": 1000},
    )
    held = sum(
        weights(profile, stage, tensor=tensor, pipeline=pipeline, data=data)
        for stage in range(pipeline)
    )
    own = profile.checkpoint - 1_000_000_000 - replicated
    whole = 1_000_000_000 + data * (own + tensor * replicated)
    assert whole <= held * tensor * data < whole + tensor * data * pipeline


def test_what_nobody_described_is_shared_evenly(make_layered: Callable[..., ModelProfile]) -> None:
    unknown = make_layered(parameters=None)
    assert weights(unknown, tensor=8, pipeline=2) == -(-int(unknown.checkpoint) // 16)


def test_a_model_in_a_shape_is_reckoned_once_and_again_for_who_watches() -> None:
    profile, other = model(), model(checkpoint=Bytes(2 * int(model().checkpoint)))
    weights(profile, pipeline=2)
    with recording() as ledger:
        once = weights(profile, pipeline=2)
    assert [entry.formula.name for entry in ledger][:1] == ["tensor_classes"]
    before = tensors._remembered.cache_info()
    assert weights(profile, pipeline=2) == once
    assert tensors._remembered.cache_info().hits == before.hits + 1
    assert weights(other, pipeline=2) > once, "another model of the same name"
