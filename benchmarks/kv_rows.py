"""A row of a table of engine logs, in the words of gangform's inputs. `kv_accuracy.py` names the columns.

People write such tables by hand: any cell may be empty, numbers have separators and units, flags have either dash, and
models have the names of whoever narrowed them. What is not certain is said and never guessed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Literal

from gangform.inputs.cluster import Library
from gangform.inputs.hardware import Gpu, HardwareShape
from gangform.inputs.model import ModelProfile, TensorClass, Tensors
from gangform.units import Bytes, Millicores

GIB = 2**30
Row = Mapping[str, str]

NEEDED = ("model", "engine")
"""Columns without which no row says anything."""
OTHERS = (
    "id",
    "weight_dtype",
    "gpu",
    "gpus_per_node",
    "tp",
    "pp",
    "dp",
    "ep",
    "util",
    "kv_dtype",
    "version",
    "model_load_gib_per_gpu",
    "avail_kv_gib_per_gpu",
    "kv_tokens",
    "max_model_len",
    "notes",
)
NOTHING_SAID = ("", "-", "–", "?", "default", "n/a", "na", "none", "null", "unknown")

GPUS: tuple[tuple[str, str, str | None], ...] = (
    ("gh200", "94.5", "9.0"),
    ("h200", "139.7", "9.0"),
    ("h20-3e|h20.*141", "139.72", "9.0"),
    ("h20", "95", "9.0"),
    ("h100|h800", "79.18", "9.0"),
    ("a100.*40", "39.5", "8.0"),
    ("a100|a800", "79.2", "8.0"),
    ("gb10|dgx spark", "121.69", "12.1"),
    ("gb300", "276.8", "10.3"),
    ("b300", "267.9", "10.3"),
    ("gb200", "184.3", "10.0"),
    ("b200", "178.35", "10.0"),
    ("rtx pro 6000", "94.97", "12.0"),
    ("l40s|l20|a40|l40", "44.4", "8.9"),
    ("a6000|6000 ada", "47.5", "8.6"),
    ("a10g?\\b|l4\\b", "22", "8.6"),
    ("5090", "31.4", "12.0"),
    ("4090", "23.6", "8.9"),
    ("3090", "23.6", "8.6"),
    ("\\bt4\\b", "14.7", "7.5"),
    ("v100.*16", "15.8", "7.0"),
    ("v100", "31.7", "7.0"),
    ("mi300x", "191.98", None),
    ("mi325x", "255.98", None),
    ("mi35[05]x", "287.98", None),
)
"""What CUDA or HIP reports in GiB, and the capability (`engines §8.1`; others from public logs), by a pattern."""
UNIFIED = "unified|gb10|dgx spark|strix|thor"
"""GPUs whose memory is that of the host."""

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
    "deepseek-r1-distill-qwen-7b": "qwen2.5-7b",
    "deepseek-v3": "deepseek-r1",
    "deepseek-v3.1": "deepseek-r1",
    "glm-4.6": "glm-4.7",
    "glm-5.3": "glm-5.2",
    "minimax-m2": "minimax-m2.7",
    "minimax-m2.5": "minimax-m2.7",
    "kimi-k2.5": "kimi-k2-thinking",
    "kimi-k2.6": "kimi-k2-thinking",
    "glm-5.1": "glm-5",
    "qwen2.5-coder-7b": "qwen2.5-7b",
    "qwen3-coder-30b": "qwen3-30b",
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
COARSE: Mapping[str, str] = {
    "w4a16": "0.516",
    "gptq": "0.5195",
    "autoround": "0.5195",
    "awq": "0.5195",
}
"""Of int4 with a scale for 128 weights, and a zero point each where the format has one."""

FORMATS = (
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
    ("float32", "fp32"),
    ("bf16", "bf16"),
    ("bfloat16", "bf16"),
    ("fp16", "bf16"),
    ("float16", "bf16"),
)

DROPPED = re.compile(
    r"instruct|chat|it|hf|base|block|dynamic|static|unsloth|mtp|quantized(\..*)?|"
    r"fp4|fp8|fp16|bf16|awq|gptq|nvfp4|mxfp4|w4a16|w8a8|int4|int8|autoround|[48]bits?|25\d\d|0\d{3}|a\d+b"
)
"""Words in a model's name that say how it was trained, when, or how its weights are stored."""

NUMBERS = (
    "max-num-batched-tokens",
    "max-num-seqs",
    "block-size",
    "num-gpu-blocks-override",
    "kv-cache-memory-bytes",
    "cpu-offload-gb",
    "max-cudagraph-capture-size",
    "max-loras",
    "max-lora-rank",
)
"""Flags with a number that the arithmetic reads, as notes may name them."""
SWITCHES = ("enforce-eager", "enable-lora")


class Skipped(Exception):
    """A row that is not predicted, with the reason."""


# ── cells ────────────────────────────────────────────────────────────────────────────────────────


def read(path: Path) -> Iterator[Row]:
    """The rows of a table, each with every column.

    Raises:
        OSError, ValueError, csv.Error: The file cannot be read, or is no such table.
    """
    with path.open(encoding="utf-8-sig", newline="") as file:
        table = csv.DictReader(file)
        names = [(name or "").strip().lower() for name in table.fieldnames or ()]
        table.fieldnames = names
        if missing := [name for name in NEEDED if name not in names]:
            raise ValueError(f"{path} has no column {' and '.join(missing)}")
        for count, cells in enumerate(table, 1):
            row = {name: (cells.get(name) or "").strip() for name in (*NEEDED, *OTHERS)}
            yield {**row, "id": row["id"] or f"row {count}"}


def number(row: Row, column: str) -> Decimal | None:
    """A number of a cell, whatever its separators and unit; `None` where nothing is said."""
    text = row.get(column, "").strip().lower()
    if text in NOTHING_SAID:
        return None
    found = re.fullmatch(
        r"[~≈]?\s*(-?[0-9]+(?:[,_][0-9]{3})*(?:\.[0-9]+)?)\s*(k|m)?\s*(gib|gb|tokens|%)?", text
    )
    if found is None:
        raise Skipped(f"{column} is no number: {text}")
    read = Decimal(re.sub("[,_]", "", found[1]))
    return read * {"k": 1000, "m": 1_000_000}.get(found[2], 1)


def whole(row: Row, column: str) -> int:
    """A number from 1 of a cell; 1 where nothing is said."""
    found = number(row, column)
    if found is None:
        return 1
    if found < 1 or found != int(found):
        raise Skipped(f"{column} is no whole number from 1: {row[column]}")
    return int(found)


def share(row: Row) -> Decimal | None:
    """The share of memory that an engine was given, of 1."""
    found = number(row, "util")
    return found / 100 if found is not None and found > 1 else found


def failed(row: Row) -> bool:
    """Whether the engine did not start."""
    return bool(re.search(r"start(?:up)? failed|failed to start|did not start", row["notes"], re.I))


# ── model ────────────────────────────────────────────────────────────────────────────────────────


def plain(name: str) -> str:
    """A model's name without owner, number format and date."""
    words = re.split(r"[\s,;]+", re.sub(r"\(.*?\)", "", name).strip().lower())
    # `Qwen3-8B NVFP4` is a name and a remark, `Llama 3.1 8B` is a name.
    bare = words[0] if "-" in words[0] or "/" in words[0] else "-".join(filter(None, words))
    bare = re.split(r"/|__", bare)[-1].removeprefix("meta-")
    bare = re.sub(r"^llama(?=\d)", "llama-", bare)
    kept = [part for part in re.split("[-_]", bare) if part and not DROPPED.fullmatch(part)]
    if kept[:2] == ["mistral", "small"]:
        kept = [part for part in kept if part != "24b"]
    return "-".join(kept)


def number_format(row: Row) -> str:
    """The number format of most of a row's weights."""
    text = row["weight_dtype"].lower()
    if text in NOTHING_SAID:
        text = row["model"].lower()
    found = next((meant for word, meant in FORMATS if word in text), None)
    if found is None:
        raise Skipped("number format of the weights not given")
    return found


def profile_of(row: Row, library: Library) -> ModelProfile:
    """The shipped profile of a row's model, in the row's number format."""
    wanted = plain(row["model"])
    wanted = BESIDE.get(wanted, wanted)
    found = alike(wanted, library) or alike(wanted.removesuffix("-thinking"), library)
    if not found:
        raise Skipped(f"no profile of {row['model'] or 'a model without a name'}")
    kind = number_format(row)
    same = [one for one in found if one.weights == kind]
    return same[0] if same else stored_as(found[0], kind, coarse=coarse(row, found[0], kind))


def alike(wanted: str, library: Library) -> list[ModelProfile]:
    """The shipped profiles of a plain name."""
    profiles = (library.models[name] for name in library.models)
    return [one for one in profiles if wanted in (plain(one.name), plain(one.repository))]


def coarse(row: Row, model: ModelProfile, kind: str) -> Decimal | None:
    """Bytes a weight where int4 has a scale for 128 weights and leaves out nothing but the tables.

    Mixtures in AWQ have a scale for 32, as llm-compressor writes them: MiniMax-M2.7 in it has 122 GiB.
    """
    text = f"{row['weight_dtype']} {row['model']}".lower()
    written = next((name for name in COARSE if name in text), None)
    if kind != "int4" or written is None or (written == "awq" and model.mixture):
        return None
    return Decimal(COARSE[written])


def stored_as(model: ModelProfile, kind: str, *, coarse: Decimal | None = None) -> ModelProfile:
    """The same model in another number format.

    Args:
        model: A shipped profile.
        kind: The number format.
        coarse: Bytes a weight of a format that narrows all but the tables; else 4 bits narrow of a mixture the experts
            only.
    """
    shape = model.architecture
    if shape is None or model.parameters is None:
        raise Skipped(f"{model.name} has no architecture")
    width = coarse or Decimal(WIDTHS[kind])
    wide = max(Decimal(2), width)
    narrowed = model.expert_parameters
    if coarse or kind in ("fp32", "bf16", "fp8") or not narrowed:
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


# ── hardware and engine ──────────────────────────────────────────────────────────────────────────


def hardware_of(row: Row) -> HardwareShape:
    """A node with the row's GPUs."""
    name = row["gpu"].lower()
    if name in NOTHING_SAID:
        raise Skipped("GPU not given")
    total = re.search(
        r"total(?:_gpu_memory)?(?: is about)?[ :=]*([0-9]{1,4}(?:\.[0-9]+)?) ?GiB", row["notes"]
    )
    known = next((one for one in GPUS if re.search(one[0], name)), None)
    size = re.search(r"([0-9]{1,4}) ?gb", name)
    nominal = Decimal(size[1]) * OF_NOMINAL if size else None
    if total:
        visible = total[1]
    elif known and (not nominal or abs(Decimal(known[1]) / nominal - 1) < ANOTHER):
        visible = known[1]
    elif nominal:
        visible = str(nominal)
    else:
        raise Skipped(f"memory of {row['gpu']} not known")
    return HardwareShape(
        name="node",
        gpu=Gpu(
            product=re.sub(r"[^a-zA-Z0-9]+", "-", row["gpu"])[:60].strip("-") or "GPU",
            count=whole(row, "gpus_per_node"),
            visible_memory=Bytes.gib(visible),
            capability=known[2] if known else None,
            unified=bool(re.search(UNIFIED, name)),
        ),
        cpu=Millicores(190_000),
        memory=Bytes.gib(1900),
        ephemeral_storage=Bytes.gib(6000),
        nvlink_gpus=72,
    )


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
        return next((release for since, release in RELEASES if month >= since), "0.6")
    raise Skipped("release not given")


def arguments(row: Row) -> tuple[str, ...]:
    """Flags that the notes name, with either dash, before a space, colon or sign."""
    notes = row["notes"]
    told = []
    for flag in NUMBERS:
        written = flag.replace("-", "[-_]")
        value = re.search(rf"(?<!\w){written}[ :=]+([0-9]+(?:,[0-9]{{3}})*(?:\.[0-9]+)?)", notes)
        if value:
            told.append(f"--{flag}={value[1].replace(',', '')}")
    for flag in SWITCHES:
        written = flag.replace("-", "[-_ ]")
        found = re.search(
            rf"(no[- ]|without |not )?(?<!\w)(?:--)?{written}(?:[ :=]+(false|0|no))?\b", notes, re.I
        )
        if found and not found[1] and not found[2]:
            told.append(f"--{flag}")
    if moved := re.search(r"([0-9]+) GB/rank of experts offloaded", notes):
        amount = Decimal(moved[1]) * 10**9 / GIB
        told.append(f"--cpu-offload-gb={amount:.3f}")
    if config := re.search(r"speculative[-_]config[ :=]+'?(\{[^{}]*\})", notes):
        told.append(f"--speculative-config={config[1]}")
    elif ahead := re.search(r"(?<!no )\bMTP[ :=x-]*([0-9]{1,2})\b", notes):
        told.append(
            f'--speculative-config={{"method": "mtp", "num_speculative_tokens": {ahead[1]}}}'
        )
    return (*told, *cache_argument(row))


def variables(row: Row) -> dict[str, str]:
    """Environment variables that the notes name and the arithmetic reads."""
    found = re.search(r"VLLM_PP_LAYER_PARTITION[ :=]+\"?([0-9]+(?:,[0-9]+)+)", row["notes"])
    return {"VLLM_PP_LAYER_PARTITION": found[1]} if found else {}


def cache_type(row: Row) -> Literal["auto", "fp8"]:
    """The number format of the cache, as the inputs have it."""
    text = row["kv_dtype"].lower()
    if text.startswith("fp8"):
        return "fp8"
    if text.startswith("auto") or text in NOTHING_SAID or sixteen(row):
        return "auto"
    raise Skipped(f"cache in {row['kv_dtype']} is not modelled")


def sixteen(row: Row) -> bool:
    """Whether the cache is said to have 16 bits."""
    return bool(re.match(r"bf16|bfloat16|fp16|float16|half", row["kv_dtype"].lower()))


def cache_argument(row: Row) -> tuple[str, ...]:
    """The flag of such a cache."""
    return ("--kv-cache-dtype=bfloat16",) if sixteen(row) else ()


def context_of(row: Row, model: ModelProfile) -> int:
    """The length that one request has to find room for.

    Where none is printed, an engine that failed had that of the model, and one that started may have had any.
    """
    if number(row, "max_model_len") is not None:
        return whole(row, "max_model_len")
    return model.context_limit if failed(row) else 16


def experts_spread(row: Row) -> bool:
    """Whether experts are spread over ranks; a number of ranks says so from two."""
    return row["ep"].lower() not in (*NOTHING_SAID, "no", "false", "off", "0", "1")
