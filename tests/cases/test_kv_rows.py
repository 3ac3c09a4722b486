"""Tables of engine logs as people write them: every cell may be empty, and nothing odd ends the script."""

from __future__ import annotations

import csv
import sys
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.kv_script import module

from gangform.inputs.cluster import Library
from gangform.inputs.library import shipped_folder
from gangform.units import Bytes

ROWS, KV = module("kv_rows"), module("kv_accuracy")
COLUMNS = (*ROWS.NEEDED, *ROWS.OTHERS)
LIBRARY = Library.shipped()
GOOD = {
    "id": "x",
    "model": "Qwen/Qwen3-8B",
    "engine": "vllm",
    "weight_dtype": "bf16",
    "gpu": "H100 80GB",
    "gpus_per_node": "8",
    "version": "0.21.0",
    "max_model_len": "32768",
}


def row(**changes: str) -> dict[str, str]:
    return {**dict.fromkeys(COLUMNS, ""), **GOOD, **changes}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_text(text, encoding=encoding)
    return path


# ── the file ─────────────────────────────────────────────────────────────────────────────────────


def test_a_file_may_lack_columns_and_have_others(tmp_path: Path) -> None:
    text = (
        'source,Model,weight_dtype,ENGINE,gpu,version\n"a, b",Qwen/Qwen3-8B,bf16,vllm,H100,0.21\n'
    )
    path = write(tmp_path / "a.csv", text, "utf-8-sig")
    ((one,), skipped) = KV.compared(path)
    assert (one.id, one.verdict, one.grade, skipped) == ("row 1", "fits", "?", [])


def test_a_row_may_be_short_or_long(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "id,model,engine\nx,m\n\ny,m,vllm,more,and more\n")
    assert [one["id"] for one in ROWS.read(path)] == ["x", "y"]
    assert [reason for _, reason in KV.compared(path)[1]] == [" is not modelled", "no profile of m"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a;b\n1;2\n", "has no column model and engine"),
        (b"", "has no column model and engine"),
        (b"model,engine\n\xff\xfe,vllm\n", "utf-8"),
    ],
)
def test_what_is_no_such_table_is_said(
    content: bytes,
    message: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(content)
    monkeypatch.setattr(sys, "argv", ["kv_accuracy.py", str(path)])
    with pytest.raises(SystemExit):
        KV.main()
    assert message in capsys.readouterr().err


def test_models_of_ones_own_come_first(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.csv", "model,engine,gpu,version,weight_dtype\norg/Mine,vllm,H100,0.21,bf16\n"
    )
    assert KV.compared(path)[1] == [("row 1", "no profile of org/Mine")]
    text = LIBRARY.models["qwen3-8b"].repository
    own = (shipped_folder() / "models" / "qwen3-8b.yaml").read_text(encoding="utf-8")
    own = own.replace("name: qwen3-8b", "name: mine").replace(text, "org/Mine")
    (tmp_path / "models").mkdir()
    write(tmp_path / "models" / "mine.yaml", own)
    ((one,), skipped) = KV.compared(path, (tmp_path,))
    assert (one.verdict, skipped) == ("fits", [])


@settings(max_examples=60, deadline=None)
@given(
    cells=st.dictionaries(
        st.sampled_from([name for name in COLUMNS if name != "model"]),
        st.one_of(
            st.text(st.characters(codec="utf-8"), max_size=12),
            st.sampled_from(
                ["0", "-1", "1e9", "9" * 30, "vllm", "8", "0.0", "NaN", "fp8", "start FAILED"]
            ),
        ),
        max_size=5,
    )
)
def test_no_cell_ends_the_script(
    cells: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("t") / "a.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        table.writerow(row(**{name: text.replace("\0", "") for name, text in cells.items()}))
    outcomes, skipped = KV.compared(path)
    assert len(outcomes) + len(skipped) == 1
    assert KV.lines(outcomes) is not None and KV.summary(outcomes)


# ── cells ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1,391,552", 1_391_552),
        ("1_000", 1000),
        ("~150K", 150_000),
        ("46.80 GiB", Decimal("46.80")),
        ("-2.14", Decimal("-2.14")),
        ("default", None),
        ("", None),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, read: Decimal | int | None) -> None:
    assert ROWS.number({"n": text}, "n") == read


@pytest.mark.parametrize("text", ["6.0/5.0", "eight", "1.5.2", "1,39"])
def test_what_is_no_number_is_said(text: str) -> None:
    with pytest.raises(ROWS.Skipped, match="n is no number"):
        ROWS.number({"n": text}, "n")


@pytest.mark.parametrize("text", ["0", "-1", "2.5"])
def test_what_is_no_count_is_said(text: str) -> None:
    with pytest.raises(ROWS.Skipped, match="no whole number from 1"):
        ROWS.whole({"tp": text}, "tp")


def test_a_share_may_be_written_in_percent() -> None:
    assert [ROWS.share(row(util=text)) for text in ("0.9", "90%", "1", "")] == [
        Decimal("0.9"),
        Decimal("0.9"),
        1,
        None,
    ]


@pytest.mark.parametrize(
    ("notes", "read"),
    [
        (
            "max-num-seqs 8; max_num_batched_tokens=4,096",
            ("--max-num-batched-tokens=4096", "--max-num-seqs=8"),
        ),
        ("--enforce-eager", ("--enforce-eager",)),
        ("enforce_eager=True", ("--enforce-eager",)),
        ("enforce_eager=False; no enforce-eager", ()),
        ("--kv-cache-memory-bytes=13500000000", ("--kv-cache-memory-bytes=13500000000",)),
        ("no MTP", ()),
        ("hybrid, MTP 3", ('--speculative-config={"method": "mtp", "num_speculative_tokens": 3}',)),
        (
            '--speculative-config \'{"method": "ngram"}\'',
            ('--speculative-config={"method": "ngram"}',),
        ),
        ("40 GB/rank of experts offloaded to host", ("--cpu-offload-gb=37.253",)),
    ],
)
def test_flags_are_read_out_of_the_notes(notes: str, read: tuple[str, ...]) -> None:
    assert ROWS.arguments(row(notes=notes)) == read


def test_layers_of_stages_are_read_out_of_the_notes() -> None:
    notes = "x; VLLM_PP_LAYER_PARTITION=16,20 with two"
    assert ROWS.variables(row(notes=notes)) == {"VLLM_PP_LAYER_PARTITION": "16,20"}
    even, given = (
        KV.outcome(row(pp="2", model_load_gib_per_gpu="9", notes=text), LIBRARY).load
        for text in ("", notes)
    )
    assert given > even


@pytest.mark.parametrize(
    ("text", "spread"), [("yes", True), ("8", True), ("1", False), ("no", False), ("", False)]
)
def test_experts_are_spread_where_a_row_says_so(text: str, spread: bool) -> None:
    assert ROWS.experts_spread(row(ep=text)) is spread


@pytest.mark.parametrize(
    "notes", ["start FAILED: no memory", "Startup failed", "it failed to start", "did not start"]
)
def test_a_start_that_failed_is_known_however_it_is_written(notes: str) -> None:
    assert ROWS.failed(row(notes=notes))
    assert not ROWS.failed(row(notes="failed later"))


# ── weights ──────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("model", "stored", "printed"),
    [
        # hugging-quants/Meta-Llama-3.1-70B-Instruct-AWQ-INT4: 37.09 GiB (vLLM 0.14)
        ("llama-3.1-70b", "int4 awq", "37.09"),
        # Qwen/Qwen3-30B-A3B-GPTQ-Int4: 15.6066 GiB
        ("qwen3-30b-a3b", "int4 gptq", "15.61"),
    ],
)
def test_four_bits_with_a_scale_for_128_weights_leave_only_the_tables(
    model: str, stored: str, printed: str
) -> None:
    found = KV.outcome(
        row(model=model, weight_dtype=stored, model_load_gib_per_gpu=printed), LIBRARY
    )
    assert abs(found.load / Decimal(printed) - 1) < Decimal("0.01")


def test_the_number_format_may_stand_in_the_name() -> None:
    assert ROWS.number_format(row(weight_dtype="", model="org/M-NVFP4")) == "nvfp4"
    with pytest.raises(ROWS.Skipped, match="number format"):
        ROWS.number_format(row(weight_dtype="", model="org/M"))


@pytest.mark.parametrize(
    ("text", "element"), [("bf16", "auto"), ("fp8_e4m3", "fp8"), ("auto", "auto")]
)
def test_the_cache_is_read_as_vllm_writes_it(text: str, element: str) -> None:
    assert ROWS.cache_type(row(kv_dtype=text)) == element


# ── steps ────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("changes", "flags"),
    [
        ({}, ()),
        ({"notes": "LLM class"}, ("--max-num-batched-tokens=16384",)),
        ({"notes": "LLM class", "gpu": "L40S 48GB"}, ("--max-num-batched-tokens=8192",)),
        ({"notes": "LLM class; max-num-batched-tokens 512"}, ()),
        ({"notes": "max-num-seqs 4"}, ()),
        ({"notes": "max-num-seqs 4", "max_model_len": ""}, ("--max-num-batched-tokens=8192",)),
    ],
)
def test_a_step_has_the_tokens_of_how_the_engine_was_started(
    changes: dict[str, str], flags: tuple[str, ...]
) -> None:
    one = row(**changes)
    assert KV.step(one, ROWS.hardware_of(one)) == flags


def test_a_gpu_of_another_size_is_another_gpu() -> None:
    shapes = {size: ROWS.hardware_of(row(gpu=f"H100 {size}GB")) for size in (80, 94)}
    assert shapes[80].gpu.visible_memory == Bytes.gib("79.18")
    assert shapes[94].gpu.visible_memory == Bytes.gib("92.59")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Qwen/Qwen3-235B-A22B-Instruct-2507-FP8", "qwen3-235b"),
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "llama-3.3-70b"),
        ("meta-llama/Meta-Llama-3-8B", "llama-3-8b"),
        ("MiniMax-M2.7 (AWQ)", "minimax-m2.7"),
        ("DeepSeek-V4-Flash-0731", "deepseek-v4-flash"),
        ("meta-llama__Llama3.1-70B-Instruct", "llama-3.1-70b"),
        ("Qwen3.6-27B NVFP4-MTP", "qwen3.6-27b"),
        ("RedHatAI/Qwen3-32B-quantized.w4a16", "qwen3-32b"),
        ("Llama 3.1 8B Instruct", "llama-3.1-8b"),
        ('moonshotai/Kimi-K2-Instruct, "quoted"', "kimi-k2"),
        ("", ""),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral-small-3.2"),
    ],
)
def test_names_are_compared_without_owner_format_and_date(written: str, name: str) -> None:
    assert ROWS.plain(written) == name
