"""How near the memory arithmetic comes to what engines printed.

    python benchmarks/kv_accuracy.py CASES.csv
    python benchmarks/kv_accuracy.py CASES.csv --profiles profiles    models of one's own too

Every row is planned as a serving of its own, twice: with the printed memory of the cache, which tests tokens; and from
model, GPU, release and flags alone, which tests weights and overheads. Models are those of the shipped profiles, and
of a folder that `gangform profiles import --write` fills; a checkpoint in another number format is computed from the
nearest of them. Rows of other engines, of unknown models and of formats that are not modelled are listed with the
reason.

Columns: id, model, weight_dtype, gpu, gpus_per_node, tp, pp, dp, ep, util, kv_dtype, engine, version,
model_load_gib_per_gpu, avail_kv_gib_per_gpu, kv_tokens, max_model_len, notes; the notes begin with `quality A`, `B` or
`C`. An empty cell was not printed, and a column may be missing. Flags in the notes are read: `max-num-seqs 8`,
`--enforce-eager`, `MTP 3`, `VLLM_PP_LAYER_PARTITION=30,31`; `LLM class` or `offline` means that no API server ran,
`start FAILED` that the engine did not start.
"""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import kv_rows as rows
from kv_rows import GIB, Row, Skipped
from pydantic import JsonValue, ValidationError

from gangform.engines import vllm_overheads
from gangform.findings import InputError
from gangform.inputs.cluster import Cluster, Installed, Library, Pool
from gangform.inputs.hardware import HardwareShape
from gangform.inputs.library import library, shipped_folder
from gangform.inputs.serving import Admission, Engine, Fit, Parallelism, Pods, Serving
from gangform.plan.memory import MemoryPlan
from gangform.plan.serving import plan_serving
from gangform.units import Bytes

MOST_OF_IT = Decimal("0.8")
"""Where an engine prints less than this of the weights that a GPU's share of the checkpoint has, some lie elsewhere."""


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


def batches(row: Row, plan: MemoryPlan) -> tuple[tuple[str, ...], ...]:
    """Further flags that a row may have been started with.

    What a window keeps grows with the tokens of a step, and rows seldom name those. An API server has half as many as
    vLLM's `LLM` class, so a hybrid row without them is predicted with both.
    """
    if plan.tokens is not None or told(row, TOKENS) or not plan.stages[0].cache_fixed:
        return ((),)
    return (), (f"{TOKENS}=16384",)


TOKENS = "--max-num-batched-tokens"


def told(row: Row, flag: str) -> bool:
    """Whether the notes of a row name a flag."""
    return any(one.split("=")[0] == flag for one in rows.arguments(row))


def step(row: Row, hardware: HardwareShape) -> tuple[str, ...]:
    """The tokens of a step, where vLLM takes another number of them than our plan without this argument.

    Its `LLM` class takes twice a server's. A number of sequences limits them by the context, so that a row which does
    not tell its context would get too few.
    """
    offline = bool(re.search(r"\bLLM\b|\boffline\b", row["notes"]))
    unknown = told(row, "--max-num-seqs") and rows.number(row, "max_model_len") is None
    if told(row, TOKENS) or not (offline or unknown):
        return ()
    gpu = hardware.gpu
    large = gpu.visible_memory >= vllm_overheads.LARGE and "a100" not in gpu.product.lower()
    if offline:
        return (f"{TOKENS}={16_384 if large else 8192}",)
    return (f"{TOKENS}={8192 if large else 2048}",)


def planned(
    row: Row, library: Library, *, available: Decimal | None = None, more: tuple[str, ...] = ()
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
    nameless = row["gpu"].lower() in rows.NOTHING_SAID
    if nameless and available is not None:
        row = {**row, "gpu": "H200", "gpus_per_node": "8"}
    model = rows.profile_of(row, library)
    hardware = rows.hardware_of(row)
    env: list[dict[str, JsonValue]] = [
        {"name": name, "value": value} for name, value in rows.variables(row).items()
    ]
    given: dict[str, Any] = {
        "name": "row",
        "namespace": "m",
        "model": model,
        "pool": "gpu",
        "engine": Engine(
            version=rows.release_of(row),
            utilization=rows.share(row),
            kv_cache_type=rows.cache_type(row),
            args=(*step(row, hardware), *rows.arguments(row), *more),
        ),
        "parallelism": Parallelism(
            tensor=rows.whole(row, "tp"),
            pipeline=rows.whole(row, "pp"),
            data=rows.whole(row, "dp"),
            expert_parallel=rows.experts_spread(row),
        ),
        "groups": 1,
        "context": rows.context_of(row, model),
        "admission": Admission(backend="none"),
        "pods": Pods(env=tuple(env)),
        "fit": Fit() if available is None else Fit(available_kv=Bytes.gib(available)),
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
    """Both predictions of a row.

    Raises:
        Skipped: Nothing is predicted, for the reason it gives.
    """
    grade = re.match(r"\W*quality ([ABC])", row["notes"])
    printed, tokens = rows.number(row, "avail_kv_gib_per_gpu"), printed_tokens(row)
    span = None
    if printed and tokens and printed > 0:
        span = tokens_of(row, library, printed)
    if span is not None and row["gpu"].lower() in rows.NOTHING_SAID:
        fresh: list[MemoryPlan] = []
    else:
        plan = planned(row, library)
        fresh = [planned(row, library, more=one) for one in batches(row, plan)]
    load = rows.number(row, "model_load_gib_per_gpu")
    weights = [two(max(stage.weights for stage in one.stages)) for one in fresh]
    # Part of such a checkpoint lies where no input says, so that nothing about memory can be compared.
    elsewhere = bool(load and weights and load < weights[0] * MOST_OF_IT)
    failed = rows.failed(row)
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
        printed_gib=printed,
        gib=two(min(one.worst.available for one in fresh)) if known and not later else None,
        printed_load=load,
        load=weights[0] if known else None,
        started=not failed if known and not later and (failed or shown) else None,
        verdict=together([one.verdict for one in fresh]) if known else "",
    )


def printed_tokens(row: Row) -> int | None:
    """The tokens that an engine printed, or those of the blocks that it printed."""
    found = rows.number(row, "kv_tokens")
    if found is not None:
        return int(found)
    blocks = re.search(r"# GPU blocks (\d{1,9})", row["notes"])
    return int(blocks[1]) * 16 if blocks else None


def tokens_of(row: Row, library: Library, printed: Decimal) -> tuple[int, int]:
    """The least and the most tokens for the printed memory; of a hybrid model with the error of its last place."""
    first = planned(row, library, available=printed)
    if first.tokens is not None:
        return first.tokens, first.tokens
    rounding = Decimal(1).scaleb(min(int(printed.as_tuple().exponent), 0)) / 2
    ends = [max(printed - rounding, rounding), printed + rounding]
    plans = [
        planned(row, library, available=size, more=more)
        for size in ends
        for more in batches(row, first)
    ]
    least = min((one.requests - HALF) * one.context for one in plans)
    return max(int(least), 0), int(max((one.requests_most + HALF) * one.context for one in plans))


HALF = Decimal("0.005")
"""Of a request: engines print, and we reckon, requests to two places."""


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
    found: list[tuple[str, ...]] = []
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
        found.append(
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
    return found


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


def table(cells: Sequence[tuple[str, ...]]) -> str:
    """Columns of one width."""
    widths = [max(len(row[index]) for row in cells) for index in range(len(cells[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
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


def compared(path: Path, own: tuple[Path, ...] = ()) -> tuple[list[Outcome], list[tuple[str, str]]]:
    """Every row that is predicted, and those that are not with the reason.

    Args:
        path: The table.
        own: Folders of profiles, which win over those shipped.

    Raises:
        OSError, ValueError, csv.Error: The file cannot be read, or is no such table.
        InputError: A profile is wrong.
    """
    known = library((*own, shipped_folder()))
    outcomes, skipped = [], []
    for row in rows.read(path):
        try:
            outcomes.append(outcome(row, known))
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(str(part) for part in first["loc"])
            skipped.append((row["id"], f"{place or error.title}: {first['msg']}"))
        except Skipped as reason:
            skipped.append((row["id"], str(reason)))
    return outcomes, skipped


def main() -> None:
    """Print the table, what was left out, and the medians."""
    parser = argparse.ArgumentParser(description="Compare the memory arithmetic with engine logs.")
    parser.add_argument("cases", type=Path, help="a CSV file with the columns named above")
    parser.add_argument("--profiles", type=Path, help="a folder with models/NAME.yaml of one's own")
    asked = parser.parse_args()
    if asked.profiles and not (asked.profiles / "models").is_dir():
        parser.error(f"{asked.profiles} has no folder models")
    try:
        outcomes, skipped = compared(asked.cases, (asked.profiles,) if asked.profiles else ())
    except (OSError, ValueError, csv.Error, InputError) as error:
        parser.error(str(error))
    print(table([HEAD, *lines(outcomes)]))
    print()
    for id, reason in skipped:
        print(f"{id}: not predicted: {reason}")
    print()
    print("\n".join(summary(outcomes)))


if __name__ == "__main__":
    main()
