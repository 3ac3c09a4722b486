"""How near the memory arithmetic comes to what engines printed.

    python benchmarks/kv_accuracy.py CASES.csv

Every row is planned as a serving of its own, twice: with the printed memory of the cache, which tests tokens; and from
model, GPU, release and flags alone, which tests weights and overheads. Models are those of the shipped profiles; a
checkpoint in another number format is computed from the nearest of them. Rows of other engines, of unknown models and
of formats that are not modelled are listed with the reason.

Columns: id, model, weight_dtype, gpu, gpus_per_node, tp, pp, dp, ep, util, kv_dtype, engine, version,
model_load_gib_per_gpu, avail_kv_gib_per_gpu, kv_tokens, max_model_len, notes; the notes begin with `quality A`, `B` or
`C`. An empty cell was not printed.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from gangform.inputs.cluster import Cluster, Installed, Library, Pool
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import ModelProfile, TensorClass, Tensors
from gangform.inputs.serving import Admission, Engine, Fit, Parallelism, Serving
from gangform.plan.memory import MemoryPlan
from gangform.plan.serving import plan_serving
from gangform.units import Bytes, Millicores

GIB = 2**30
Row = Mapping[str, str]

GPUS: tuple[tuple[str, str, str], ...] = (
    ("gh200", "94.5", "9.0"),
    ("h200", "139.7", "9.0"),
    ("h20-3e|h20.*141", "139.72", "9.0"),
    ("h20", "95", "9.0"),
    ("h100|h800", "79.18", "9.0"),
    ("a100.*40", "39.5", "8.0"),
    ("a100|a800", "79.2", "8.0"),
    ("gb10", "121.69", "12.1"),
    ("gb300", "276.8", "10.3"),
    ("b300", "267.9", "10.3"),
    ("gb200", "184.3", "10.0"),
    ("b200", "178.35", "10.0"),
    ("l40s|l20|a40|l40|a6000", "44.4", "8.9"),
    ("a10g?\\b|l4\\b", "22", "8.6"),
    ("5090", "31.4", "12.0"),
    ("4090", "23.6", "8.9"),
    ("3090", "23.6", "8.6"),
)
"""What CUDA reports in GiB, and the capability (`engines §8.1`; GB10 from public logs), by a pattern of the GPU."""

OF_NOMINAL = Decimal("0.985")
"""GiB that CUDA reports for each GB on the box of a GPU that is not listed."""
ANOTHER = Decimal("0.1")
"""A size that differs by more than this from the listed one is that of another GPU of the name (H100 NVL 94 GB)."""

RELEASES: tuple[tuple[tuple[int, int], str], ...] = (
    ((2026, 11), "0.33"),
    ((2026, 10), "0.31"),
    ((2026, 9), "0.29"),
    ((2026, 8), "0.26"),
    ((2026, 7), "0.24"),
    ((2026, 6), "0.22"),
    ((2026, 5), "0.20"),
    ((2026, 4), "0.19"),
    ((2026, 3), "0.17"),
    ((2026, 2), "0.16"),
    ((2026, 1), "0.14"),
    ((2025, 11), "0.11.1"),
    ((2025, 8), "0.10"),
    ((2025, 6), "0.9"),
    ((2025, 2), "0.8"),
    ((2023, 1), "0.6"),
)
"""The release of a month, where a row gives only that; about, for the class of a release."""
MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")

BESIDE: Mapping[str, str] = {
    "llama-3-8b": "llama-3.1-8b",
    "llama-3-70b": "llama-3.3-70b",
    "llama-3.1-70b": "llama-3.3-70b",
    "deepseek-r1-distill-llama-8b": "llama-3.1-8b",
    "deepseek-r1-distill-llama-70b": "llama-3.3-70b",
    "deepseek-v3": "deepseek-r1",
    "deepseek-v3.1": "deepseek-r1",
    "glm-4.6": "glm-4.7",
    "glm-5.3": "glm-5.2",
    "minimax-m2": "minimax-m2.7",
    "minimax-m2.5": "minimax-m2.7",
    "kimi-k2.5": "kimi-k2-thinking",
    "kimi-k2.6": "kimi-k2-thinking",
    "glm-5.1": "glm-5",
    "qwen3.5-27b": "qwen3.6-27b",
    "qwen3.5-35b": "qwen3.6-35b",
}
"""Models with the shape of a shipped one, by their plain names."""

WIDTHS: Mapping[str, str] = {
    "fp32": "4",
    "bf16": "2",
    "fp8": "1",
    "int4": "0.5625",
    "nvfp4": "0.5625",
    "mxfp4": "0.53125",
}
"""Bytes a weight with its scales (`engines §5.2`); int4 with a scale for 32 weights."""
COARSE = "0.516"
"""Of int4 with a scale for 128 weights, as W4A16 checkpoints have."""


MOST_OF_IT = Decimal("0.8")
"""Where an engine prints less than this of the weights that a GPU's share of the checkpoint has, some lie elsewhere."""


class Skipped(Exception):
    """A row that is not predicted, with the reason."""


class Outcome(NamedTuple):
    """What a row says and what is predicted for it."""

    id: str
    grade: str
    model: str
    printed_tokens: int | None
    tokens: tuple[int, int] | None
    """The least and the most; the same where all layers are alike."""
    uniform: bool
    printed_gib: Decimal | None
    gib: Decimal | None
    printed_load: Decimal | None
    load: Decimal | None
    started: bool | None
    """`None`: counts in neither test. It failed later, or prints nothing that only a start that succeeded prints."""
    verdict: str


# ── a row in the words of the inputs ─────────────────────────────────────────────────────────────


def plain(name: str) -> str:
    """A model's name without owner, number format and date."""
    bare = re.sub(r"\(.*?\)", "", name).split("/")[-1].lower().strip().split(" ")[0]
    bare = bare.removeprefix("meta-")
    bare = re.sub(
        r"[-_](instruct|chat|it|fp8|dynamic|bf16|awq|gptq|nvfp4|w4a16|int4|block|25\d\d|0\d{3}|a\d+b)(?=[-_]|$)",
        "",
        bare,
    )
    return re.sub(r"[-_](instruct|chat|fp8|dynamic|25\d\d|0\d{3}|a\d+b|24b)(?=[-_]|$)", "", bare)


def number_format(row: Row) -> str:
    """The number format of most of a row's weights."""
    text = row["weight_dtype"].lower()
    for word, meant in (
        ("nvfp4", "nvfp4"),
        ("mxfp4", "mxfp4"),
        ("fp4", "mxfp4"),
        ("int4", "int4"),
        ("w4a16", "int4"),
        ("awq", "int4"),
        ("gptq", "int4"),
        ("fp8", "fp8"),
        ("int8", "fp8"),
        ("w8a8", "fp8"),
        ("fp32", "fp32"),
        ("bf16", "bf16"),
        ("fp16", "bf16"),
    ):
        if word in text:
            return meant
    raise Skipped("number format of the weights not given")


def profile_of(row: Row, library: Library) -> ModelProfile:
    """The shipped profile of a row's model, in the row's number format."""
    wanted = plain(row["model"])
    wanted = BESIDE.get(wanted, wanted)
    found = alike(wanted, library) or alike(wanted.removesuffix("-thinking"), library)
    if not found:
        raise Skipped(f"no profile of {row['model']}")
    kind = number_format(row)
    same = [one for one in found if one.weights == kind]
    everything = kind in ("fp32", "bf16", "fp8") or "w4a16" in row["weight_dtype"].lower()
    return same[0] if same else stored_as(found[0], kind, everything=everything)


def alike(wanted: str, library: Library) -> list[ModelProfile]:
    """The shipped profiles of a plain name."""
    profiles = (library.models[name] for name in library.models)
    return [one for one in profiles if wanted in (plain(one.name), plain(one.repository))]


def stored_as(model: ModelProfile, kind: str, *, everything: bool) -> ModelProfile:
    """The same model in another number format.

    Args:
        model: A shipped profile.
        kind: The number format.
        everything: Whether all but the tables is narrowed; else of a mixture the experts only.
    """
    shape = model.architecture
    if shape is None or model.parameters is None:
        raise Skipped(f"{model.name} has no architecture")
    width = Decimal(COARSE if everything and kind == "int4" else WIDTHS[kind])
    wide = max(Decimal(2), width)
    narrowed = model.expert_parameters
    if everything or not narrowed:
        tables = shape.vocabulary * shape.hidden * (1 if shape.tied else 2)
        narrowed = model.parameters - tables
    size = Bytes(int(narrowed * width + (model.parameters - narrowed) * wide))
    experts = TensorClass(size=Bytes(int(model.expert_parameters * width)))
    return model.model_copy(
        update={
            "weights": kind,
            "checkpoint": size,
            "draft": Bytes(0),
            "quantization_block": None,
            "tensors": Tensors(experts=experts if model.expert_parameters else None),
        }
    )


def hardware_of(row: Row) -> HardwareShape:
    """A node with the row's GPUs."""
    name = row["gpu"].lower()
    if not name:
        raise Skipped("GPU not given")
    total = re.search(r"total(?:_gpu_memory)?(?: is about)? ([0-9.]+) GiB", row["notes"])
    known = next((one for one in GPUS if re.search(one[0], name)), None)
    size = re.search(r"([0-9]+) ?gb", name)
    nominal = Decimal(size[1]) * OF_NOMINAL if size else None
    if total:
        visible = total[1]
    elif known and (nominal is None or abs(Decimal(known[1]) / nominal - 1) < ANOTHER):
        visible = known[1]
    elif nominal is not None:
        visible = str(nominal)
    else:
        raise Skipped(f"memory of {row['gpu']} not known")
    return HardwareShape(
        name="node",
        gpu=Gpu(
            product=re.sub(r"[^a-zA-Z0-9]+", "-", row["gpu"]).strip("-")[:60],
            count=max(1, whole(row, "gpus_per_node")),
            visible_memory=Bytes.gib(visible),
            capability=known[2] if known else None,
            unified="unified" in name,
        ),
        cpu=Millicores(190_000),
        memory=Bytes.gib(1900),
        ephemeral_storage=Bytes.gib(6000),
        nvlink_gpus=72,
    )


def whole(row: Row, column: str) -> int:
    """A number of a column; 1 where it is empty."""
    return int(row[column]) if row[column] else 1


def release_of(row: Row) -> str:
    """The release, or one of the same class where the row names a span or a date."""
    text = row["version"]
    found = re.search(r"(?<![0-9.])(0\.[0-9]+(?:\.[0-9]+)?)", text)
    if found:
        return found[1]
    if "V0" in text:
        return "0.6"
    dated = re.search(r"([A-Z][a-z]{2})[a-z]* ?-?[A-Za-z]* ?(20[0-9]{2})", text)
    if dated and dated[1].lower() in MONTHS:
        month = int(dated[2]), MONTHS.index(dated[1].lower()) + 1
        return next(release for since, release in RELEASES if month >= since)
    raise Skipped("release not given")


def arguments(row: Row) -> tuple[str, ...]:
    """Flags that the notes name."""
    notes = row["notes"]
    flags = {
        "--max-num-batched-tokens": re.search(r"max-num-batched-tokens ([0-9]+)", notes),
        "--max-num-seqs": re.search(r"max-num-seqs ([0-9]+)", notes),
    }
    told = tuple(f"{name}={one[1]}" for name, one in flags.items() if one)
    if moved := re.search(r"([0-9]+) GB/rank of experts offloaded", notes):
        amount = Decimal(moved[1]) * 10**9 / GIB
        told += (f"--cpu-offload-gb={amount:.3f}",)
    return told


def batches(row: Row, plan: MemoryPlan) -> tuple[tuple[str, ...], ...]:
    """Further flags that a row may have been started with.

    What a window keeps grows with the tokens of a step, and rows seldom name those. An API server has half as many as
    vLLM's `LLM` class, so a hybrid row without them is predicted with both.
    """
    told = "max-num-batched-tokens" in row["notes"]
    if plan.tokens is not None or told or not plan.stages[0].cache_fixed:
        return ((),)
    return (), ("--max-num-batched-tokens=16384",)


def cache_type(row: Row) -> str:
    """The number format of the cache, as the inputs have it."""
    text = row["kv_dtype"].lower()
    if text.startswith("fp8"):
        return "fp8"
    if text.startswith("auto") or not text:
        return "auto"
    raise Skipped(f"cache in {row['kv_dtype']} is not modelled")


def context_of(row: Row, model: ModelProfile) -> int:
    """The length that one request has to find room for.

    Where none is printed, an engine that failed had that of the model, and one that started may have had any.
    """
    if row["max_model_len"]:
        return int(row["max_model_len"])
    return model.context_limit if "start FAILED" in row["notes"] else 16


def planned(
    row: Row, library: Library, *, available: str = "", more: tuple[str, ...] = ()
) -> MemoryPlan:
    """The memory of a row.

    Args:
        row: The row.
        library: The shipped profiles.
        available: What its engine printed for the cache; then neither GPU nor release matters.
        more: Further flags.
    """
    if "vllm" not in row["engine"].lower():
        raise Skipped(f"{row['engine']} is not modelled")
    if row["gpu"]:
        hardware = hardware_of(row)
    elif available:
        hardware = hardware_of({**row, "gpu": "H200", "gpus_per_node": "8"})
    else:
        raise Skipped("GPU not given")
    fit = Fit(available_kv=Bytes.gib(available)) if available else Fit()
    model = profile_of(row, library)
    given: dict[str, Any] = {
        "name": "row",
        "namespace": "m",
        "model": model,
        "pool": "gpu",
        "engine": Engine(
            version=release_of(row),
            utilization=Decimal(row["util"]) if row["util"] else None,
            kv_cache_type=cache_type(row),
            args=(*arguments(row), *more),
        ),
        "parallelism": Parallelism(
            tensor=whole(row, "tp"),
            pipeline=whole(row, "pp"),
            data=whole(row, "dp"),
            expert_parallel=bool(row["ep"]),
        ),
        "groups": 1,
        "context": context_of(row, model),
        "admission": Admission(backend="none"),
        "fit": fit,
    }
    home = Cluster(
        name="c",
        versions=Installed(kubernetes="1.36", lws="0.10"),
        foundation="existing",
        pools={"gpu": Pool(hardware=hardware)},
    )
    plan = plan_serving(Serving(**given), cluster=home, library=NOTHING)
    refusals = [one.code.id for one in plan.findings if one.code.id in REFUSALS]
    if refusals:
        return plan.lead.memory._replace(verdict="does not fit")
    return plan.lead.memory


REFUSALS = frozenset(
    {
        "tensor-does-not-divide-heads",
        "tensor-does-not-divide-vocabulary",
        "tensor-does-not-divide-kv-heads",
        "fp8-block-is-cut",
        "experts-do-not-divide",
        "pipeline-longer-than-model",
    }
)
"""Start-up refusals that follow from the model and the split alone; they count as what does not fit."""
NOTHING = Library(models={}, hardware={})


# ── what comes out ───────────────────────────────────────────────────────────────────────────────


def outcome(row: Row, library: Library) -> Outcome:
    """Both predictions of a row."""
    grade = re.match(r"\W*quality ([ABC])", row["notes"])
    printed, blocks = row["avail_kv_gib_per_gpu"], re.search(r"# GPU blocks (\d+)", row["notes"])
    tokens: int | None = int(row["kv_tokens"]) if row["kv_tokens"] else None
    if tokens is None and blocks:
        tokens = int(blocks[1]) * 16
    span = None
    if printed and tokens:
        first = planned(row, library, available=printed)
        told = [planned(row, library, available=printed, more=one) for one in batches(row, first)]
        least = [one.tokens or int(one.requests * one.context) for one in told]
        most = [one.tokens or int(one.requests_most * one.context) for one in told]
        span = min(least), max(most)
    if span is not None and not row["gpu"]:
        fresh: list[MemoryPlan] = []
    else:
        plan = planned(row, library)
        fresh = [planned(row, library, more=one) for one in batches(row, plan)]
    load = row["model_load_gib_per_gpu"]
    weights = [two(max(stage.weights for stage in one.stages)) for one in fresh]
    # Part of such a checkpoint lies where no input says, so that nothing about memory can be compared.
    elsewhere = bool(load and weights and Decimal(load) < weights[0] * MOST_OF_IT)
    failed = "start FAILED" in row["notes"]
    later = bool(re.search(r"failed (?:later|afterwards)", row["notes"]))
    known = bool(fresh) and not elsewhere
    shown = bool(printed or tokens or "concurrency" in row["notes"])
    return Outcome(
        id=row["id"],
        grade=grade[1] if grade else "?",
        model=row["model"].split("/")[-1],
        printed_tokens=tokens,
        tokens=span,
        uniform=span is not None and span[0] == span[1],
        printed_gib=Decimal(printed) if printed else None,
        gib=two(min(one.worst.available for one in fresh)) if known and not later else None,
        printed_load=Decimal(load) if load else None,
        load=weights[0] if known else None,
        started=not failed if known and not later and (failed or shown) else None,
        verdict=together([one.verdict for one in fresh]) if known else "",
    )


def together(verdicts: Sequence[str]) -> str:
    """The verdict of a row that may have been started in several ways: tight where they differ."""
    return verdicts[0] if len(set(verdicts)) == 1 else "tight"


def two(size: int) -> Decimal:
    """GiB to two places."""
    return (Decimal(size) / GIB).quantize(Decimal("0.01"))


def percent(value: int, printed: int) -> Decimal:
    """How far a number is from the printed one."""
    return (Decimal(value - printed) * 100 / printed).quantize(Decimal("0.001"))


def lines(outcomes: Iterable[Outcome]) -> list[tuple[str, ...]]:
    """The table: row, predicted, printed, error."""
    rows = []
    for one in outcomes:
        tokens = error = ""
        if one.tokens is not None and one.printed_tokens is not None:
            least, most = one.tokens
            tokens = f"{least}" if least == most else f"{least} to {most}"
            inside = least <= one.printed_tokens <= most
            error = (
                f"{percent(least, one.printed_tokens)} %"
                if one.uniform
                else ("in range" if inside else "out of range")
            )
        gap = ""
        if one.gib is not None and one.printed_gib is not None:
            gap = f"{one.gib - one.printed_gib:+}"
        rows.append(
            (
                one.id,
                one.grade,
                one.model[:34],
                tokens,
                str(one.printed_tokens or ""),
                error,
                str(one.gib if one.printed_gib is not None and one.gib is not None else ""),
                str(one.printed_gib or ""),
                gap,
                str(one.load if one.printed_load is not None and one.load is not None else ""),
                str(one.printed_load or ""),
                one.verdict,
            )
        )
    return rows


HEAD = (
    "row",
    "grade",
    "model",
    "tokens",
    "printed",
    "error",
    "cache GiB",
    "printed",
    "error",
    "weights GiB",
    "printed",
    "verdict",
)


def table(rows: Sequence[tuple[str, ...]]) -> str:
    """Columns of one width."""
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def summary(outcomes: Sequence[Outcome]) -> list[str]:
    """The medians, and both counts of the test of fit."""
    tokens = [
        abs(percent(one.tokens[0], one.printed_tokens))
        for one in outcomes
        if one.tokens and one.printed_tokens and one.uniform
    ]
    ranges = [
        one.tokens[0] <= one.printed_tokens <= one.tokens[1]
        for one in outcomes
        if one.tokens and one.printed_tokens and not one.uniform
    ]
    told = []
    if tokens:
        told.append(
            f"tokens of uniform models, given the printed memory: {len(tokens)} rows, median error "
            f"{median(tokens)} %, largest {max(tokens)} %"
        )
    if ranges:
        told.append(f"tokens of hybrid models: {sum(ranges)} of {len(ranges)} rows in their range")
    for name, grades in (("grade A", "A"), ("all grades", "ABC?")):
        gaps = [
            abs(one.gib - one.printed_gib)
            for one in outcomes
            if one.gib is not None and one.printed_gib is not None and one.grade in grades
        ]
        if gaps:
            told.append(
                f"memory for the cache from the inputs alone, {name}: {len(gaps)} rows, median error "
                f"{median(gaps)} GiB, largest {max(gaps)} GiB"
            )
    loads = [
        abs(one.load - one.printed_load) * 100 / one.printed_load
        for one in outcomes
        if one.load is not None and one.printed_load
    ]
    if loads:
        told.append(f"weights: {len(loads)} rows, median error {median(loads):.2f} %")
    failed = [one for one in outcomes if one.started is False]
    started = [one for one in outcomes if one.started]
    wrong = [one.id for one in failed if one.verdict == "fits"]
    refused = [one.id for one in started if one.verdict == "does not fit"]
    told.append(f"starts that failed and are called a fit: {len(wrong)} of {len(failed)} {wrong}")
    told.append(
        f"starts that succeeded and are refused: {len(refused)} of {len(started)} {refused}"
    )
    return told


def compared(path: Path) -> tuple[list[Outcome], list[tuple[str, str]]]:
    """Every row that is predicted, and those that are not with the reason."""
    library = Library.shipped()
    outcomes, skipped = [], []
    with path.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            try:
                outcomes.append(outcome(row, library))
            except Skipped as reason:
                skipped.append((row["id"], str(reason)))
    return outcomes, skipped


def main() -> None:
    """Print the table, what was left out, and the medians."""
    parser = argparse.ArgumentParser(description="Compare the memory arithmetic with engine logs.")
    parser.add_argument("cases", type=Path, help="a CSV file with the columns named above")
    outcomes, skipped = compared(parser.parse_args().cases)
    print(table([HEAD, *lines(outcomes)]))
    print()
    for id, reason in skipped:
        print(f"{id}: not predicted: {reason}")
    print()
    print("\n".join(summary(outcomes)))


if __name__ == "__main__":
    main()
