"""Memory as engines printed it: rows of `kv_cases.csv`, each from a public log, against our arithmetic.

The notes of a row begin with its grade; A is a clean log with parameters. Tokens are exact but for the two places of
the printed memory; weights and overhead are an estimate with a band.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from gangform.engines.engine import MemoryTerms, Shape
from gangform.inputs.cluster import Cluster, Installed, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import Architecture, Attention, Measured, ModelProfile
from gangform.inputs.serving import Admission, Engine, Fit, Parallelism, Serving
from gangform.plan import memory
from gangform.plan.memory import MemoryPlan
from gangform.plan.serving import ServingPlan, plan_serving
from gangform.units import Bytes, Millicores

TABLE = Path(__file__).with_name("kv_cases.csv")
TOLERANCE = Fraction(4, 10_000)
"""Of tokens."""
BAND = Bytes.gib(2)
"""Of weights and overhead together."""

Row = Mapping[str, str]


def rows() -> dict[str, Row]:
    with TABLE.open(encoding="utf-8", newline="") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


ROWS = rows()


def graded(row: Row, grade: str) -> bool:
    return row["notes"].startswith(f"quality {grade}")


def test_the_table_is_whole() -> None:
    assert len(ROWS) == 52
    assert all(any(graded(row, grade) for grade in "ABC") for row in ROWS.values())


# ── tokens ───────────────────────────────────────────────────────────────────────────────────────


class Cache(NamedTuple):
    """What a token costs in a row's model, and how the engine stored it."""

    layers: int
    attention: Attention | None
    element: int = 2
    block: int = 16
    per_token: int = 0
    """Bytes a token on one GPU, where several kinds of cache add up to it."""


def gqa(kv_heads: int) -> Attention:
    return Attention(kind="gqa", heads=kv_heads * 4, kv_heads=kv_heads, head_dim=128)


CACHES = {
    "k006": Cache(62, gqa(8)),
    "k016": Cache(61, Attention(kind="mla", heads=64, latent=576)),
    # 78 layers of 656 bytes in the format fp8_ds_mla, and 21 layers with an indexer of 132 bytes.
    "k018": Cache(78, None, per_token=78 * 656 + 21 * 132),
    "k020": Cache(78, None, per_token=78 * 656 + 21 * 132),
    "k026": Cache(62, gqa(8)),
    "k027": Cache(62, gqa(8)),
    "k036": Cache(32, gqa(8)),
    "k038": Cache(32, gqa(8), element=1),
    "k039": Cache(32, gqa(8), element=4),
    "k045": Cache(28, gqa(4)),
    "k062": Cache(40, gqa(8), block=128),
    "k074": Cache(40, gqa(8)),
}
"""Every A-grade row of a uniform model that says how much memory made how many tokens."""


def derived(row: Row, cache: Cache, *, context: int | None = None) -> MemoryPlan:
    """The memory of a row with the cache that its engine printed."""
    tensor, pipeline = int(row["tp"] or 1), int(row["pp"] or 1)
    measured = architecture = None
    if cache.attention is None:
        measured = Measured(weights_per_gpu=Bytes.gib(1), kv_bytes_per_token=cache.per_token)
    else:
        architecture = Architecture(
            layers=cache.layers, hidden=4096, vocabulary=128_256, attention=cache.attention
        )
    profile = ModelProfile(
        name="m",
        repository="org/m",
        weights="bf16",
        checkpoint=Bytes.gib(10),
        context_limit=1_048_576,
        architecture=architecture,
        measured=measured,
    )
    ranks = tensor * pipeline
    return memory.derive(
        model=profile,
        hardware=hardware("139.8", count=ranks),
        shape=Shape(
            tensor=tensor,
            pipeline=pipeline,
            data=1,
            prefill_context=1,
            decode_context=1,
            expert_parallel=False,
            gpus_per_pod=ranks,
            size=1,
        ),
        terms=MemoryTerms(
            utilization=Decimal("0.9"),
            overhead=Bytes.gib(6),
            band=Bytes.gib("1.5"),
            block=cache.block,
            cache_element=Decimal(cache.element),
            source="not used",
        ),
        context=context or int(row["max_model_len"] or 8192),
        fit=Fit(available_kv=Bytes.gib(row["avail_kv_gib_per_gpu"])),
    )


def hardware(visible: str, *, count: int = 8) -> HardwareShape:
    return HardwareShape(
        name="node",
        gpu=Gpu(product="any", count=count, visible_memory=Bytes.gib(visible), capability="9.0"),
        cpu=Millicores(190_000),
        memory=Bytes.gib(1900),
        ephemeral_storage=Bytes.gib(6000),
    )


PRINTED = [
    key
    for key, row in ROWS.items()
    if graded(row, "A") and row["avail_kv_gib_per_gpu"] and row["kv_tokens"]
]


def test_every_clean_row_with_memory_and_tokens_has_its_cache() -> None:
    assert set(PRINTED) <= set(CACHES)
    assert len(PRINTED) == 9


@pytest.mark.parametrize("key", PRINTED)
def test_tokens_are_those_that_the_engine_printed(key: str) -> None:
    """Printed memory has two places, which may be a block more or less."""
    row, cache = ROWS[key], CACHES[key]
    printed = int(row["kv_tokens"])
    assert abs(derived(row, cache).tokens - printed) <= max(
        TOLERANCE * printed, Fraction(cache.block)
    )


@pytest.mark.parametrize(
    ("key", "needed", "longest"),
    [("k006", "23.25", 190_272), ("k026", "62.00", 205_728), ("k027", "62.00", 235_296)],
)
def test_a_start_that_failed_is_refused_with_the_same_figures(
    key: str, needed: str, longest: int
) -> None:
    row = ROWS[key]
    assert "start FAILED" in row["notes"]
    found = derived(row, CACHES[key])
    assert found.verdict == "does not fit"
    assert two(found.short + found.worst.available) == Decimal(needed)
    assert abs(found.longest - longest) <= TOLERANCE * longest


def two(size: int) -> Decimal:
    """GiB to two places."""
    return (Decimal(size) / 2**30).quantize(Decimal("0.01"))


def test_a_start_refused_by_the_whole_models_need_is_accepted_by_stage() -> None:
    """k028: an engine compared what all layers need with what one of eight stages had."""
    row = ROWS["k028"]
    found = derived(row, Cache(92, gqa(8)))
    assert two(int(row["max_model_len"]) * 376_832) == Decimal("71.16")
    assert sum(stage.cache_per_token for stage in found.stages) == 376_832
    assert found.verdict == "fits"


# ── weights and overhead ─────────────────────────────────────────────────────────────────────────


class Run(NamedTuple):
    """What of a row our inputs say in other words."""

    model: str
    version: str
    """The release, or one of the same class where the row names a span or a date."""
    visible: str = "79.19"


RUNS = {
    "k001": Run("deepseek-r1", "0.7.3", visible="139.72"),
    "k024": Run("qwen3-235b-fp8", "0.10.0"),
    "k026": Run("qwen3-coder-480b-fp8", "0.10.1", visible="139.8"),
    "k027": Run("qwen3-coder-480b-fp8", "0.10.1", visible="139.8"),
    "k036": Run("llama-3.1-8b", "0.19.0"),
    "k038": Run("llama-3.1-8b", "0.19.0"),
    "k041": Run("llama-3.1-8b", "0.19.0"),
    "k043": Run("llama-3.1-8b", "0.19.0"),
    "k056": Run("llama-3.3-70b-fp8", "0.14.0"),
    "k058": Run("llama-3.1-8b", "0.14.0"),
    "k060": Run("qwen3-32b", "0.14.0"),
}
"""Every row whose checkpoint has a shipped profile."""


def planned(key: str, **changes: Any) -> ServingPlan:
    """A row from inputs alone, with nothing measured."""
    row, run = ROWS[key], RUNS[key]
    count = int(row["gpus_per_node"])
    parallelism = Parallelism(
        tensor=int(row["tp"]),
        pipeline=int(row["pp"]),
        data=int(row["dp"]),
        expert_parallel=bool(row["ep"]),
    )
    given: dict[str, Any] = {
        "name": "llm",
        "namespace": "m",
        "model": run.model,
        "pool": "gpu",
        "engine": Engine(
            version=run.version,
            utilization=Decimal(row["util"]) if row["util"] else None,
            kv_cache_type="fp8" if row["kv_dtype"] == "fp8" else "auto",
        ),
        "parallelism": parallelism,
        "groups": 2,
        "context": int(row["max_model_len"] or 8192),
        "admission": Admission(backend="none"),
    }
    home = Cluster(
        name="prod",
        versions=Installed(kubernetes="1.36", lws="0.10"),
        foundation="existing",
        pools={"gpu": Pool(hardware=hardware(run.visible, count=count))},
    )
    return plan_serving(Serving(**{**given, **changes}), cluster=home)


@pytest.mark.parametrize("key", [key for key in RUNS if ROWS[key]["model_load_gib_per_gpu"]])
def test_weights_are_those_that_the_engine_loaded(key: str) -> None:
    printed = Bytes.gib(ROWS[key]["model_load_gib_per_gpu"])
    weights = max(stage.weights for stage in planned(key).lead.memory.stages)
    assert abs(weights - printed) <= Fraction(4, 100) * printed


OLD_ENGINE = "k001"
"""The V0 engine with a tiny batch: 2.8 GiB beside the weights, where its class has 9.5 (`engines §6.3`)."""


@pytest.mark.parametrize(
    "key", [key for key in RUNS if ROWS[key]["avail_kv_gib_per_gpu"] and key != OLD_ENGINE]
)
def test_the_cache_left_is_what_the_engine_printed(key: str) -> None:
    printed = Bytes.gib(ROWS[key]["avail_kv_gib_per_gpu"])
    found = planned(key).lead.memory
    assert not found.measured
    assert abs(found.worst.available - printed) <= BAND


def test_an_old_engine_leaves_more_than_promised() -> None:
    printed = Bytes.gib(ROWS[OLD_ENGINE]["avail_kv_gib_per_gpu"])
    assert planned(OLD_ENGINE).lead.memory.worst.available < printed


@pytest.mark.parametrize("key", ["k026", "k027"])
def test_a_start_that_failed_is_refused_with_nothing_measured(key: str) -> None:
    plan = planned(key)
    assert [one.code.id for one in plan.findings if one.breaks] == ["model-does-not-fit"]
