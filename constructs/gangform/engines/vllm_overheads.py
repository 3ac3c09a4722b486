"""Every figure of vLLM's memory that is measured and not derived, each with the rows that it was read from.

The only home of these numbers. Rows `k…` are those of `kv_cases.csv`; `§6.3` is the table of `engines §6.3`, whose
models were run on one H100 with vLLM 0.19.0. No figure is fitted to one row: each is the middle of several, which
`python benchmarks/kv_accuracy.py` compares with what it predicts. A serving overrides them with `engine.overhead`, a
model with `overhead`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import NamedTuple

from gangform.apis.versions import Release
from gangform.units import Bytes


class Figure(NamedTuple):
    """A measured number and where it was read."""

    value: Decimal
    source: str


class Era(NamedTuple):
    """Releases that lay out a GPU alike."""

    letter: str
    since: Release
    sampling: Figure
    """Bytes that sampling takes at its peak for each sequence and entry of the vocabulary."""
    communication: tuple[Figure, Figure, Figure]
    """GiB outside of torch with one tensor rank, two, and more."""
    graphs: Figure
    """GiB of CUDA graphs that are taken from the share before the cache is sized."""
    band: Figure
    """GiB that the overheads may be off, either way."""
    chunked: bool
    """Whether long prompts are cut, so that a step never holds more than the batched tokens."""


_SORTED = Figure(
    Decimal(39),
    "§6.3, up to 0.16: Qwen3-14B 5.64 GiB (k051), Llama-3.1-8B 4.8, gpt-oss-20b 7.4 with 1024 sequences",
)
_UNSORTED = Figure(
    Decimal("15.4"),
    "§6.3: Llama-3.1-8B 1.89 GiB (k036), Qwen3-14B 2.23, Qwen3-8B 2.21 (k049), Gemma3 3.9, Granite 0.75 with 1024 "
    "sequences: the same for each entry of the vocabulary",
)
_ONE_OLD = Figure(Decimal("0.13"), "§6.3, up to 0.16: 0.13; k069: 0.10")
_TWO_OLD = Figure(Decimal("0.55"), "§6.3, up to 0.16: 0.55 with two ranks")
_MANY_OLD = Figure(
    Decimal("1.3"),
    "what the sums leave with four and eight ranks of 0.9 to 0.11: 1.9 (k024), 1.0 (k016), 0.7 and 1.5 (Llama-3.3-70B "
    "and DeepSeek-R1, both FP8 on H200, 0.11.2)",
)
_MANY_FIRST = Figure(Decimal("2.5"), "k001: 2.53 to 2.57 with eight ranks")
_ONE = Figure(Decimal("0.26"), "§6.3: 0.25 to 0.27")
_TWO = Figure(Decimal("2.1"), "§6.3: 2.08 with two ranks (k041: 2.07)")
_MANY = Figure(Decimal("2.2"), "§6.3: 2.17 with four ranks")
_NO_GRAPHS = Figure(
    Decimal(0), "engines §6.1: before 0.21 graphs come out of what the share leaves"
)
GRAPHS = Figure(
    Decimal("1.5"),
    "§6.3: 0.51 to 1.85, mean 1.04; the suggestion there, since larger models capture more",
)
GRAPHS_FEW = Figure(
    Decimal("0.3"),
    "estimates of 0.39, 0.26, 0.26, 0.19 and 0.36 GiB that 0.20 to 0.27 print for 4 to 16 graphs (Qwen3.6-27B, "
    "Qwen3.6-35B-A3B), where 86 of the same models are 1.11",
)
"""GiB of next to no graphs: what the first ones share."""
GRAPHS_ALL = 86
"""Graphs that are captured by default: 51 sizes up to 512, and 35 of them for batches of 256 sequences that decode."""

_BAND = Figure(Decimal("1.5"), "engines §6.3: tolerance of the overheads")
_BAND_OLD = Figure(
    Decimal(4),
    "engines §6.3: V0 is length dependent; k071, k001 and k069 are off by 0.6, 2.1 and 8.2",
)

ERAS = (
    Era("A", Release(0, 21), _UNSORTED, (_ONE, _TWO, _MANY), GRAPHS, _BAND, True),
    Era("B", Release(0, 17), _UNSORTED, (_ONE, _TWO, _MANY), _NO_GRAPHS, _BAND, True),
    Era("C", Release(0, 8), _SORTED, (_ONE_OLD, _TWO_OLD, _MANY_OLD), _NO_GRAPHS, _BAND, True),
    Era(
        "D", Release(0, 0), _SORTED, (_ONE_OLD, _TWO_OLD, _MANY_FIRST), _NO_GRAPHS, _BAND_OLD, False
    ),
)
"""Newest first. D is the V0 engine, which runs a whole context as one step up to `CHUNKED_FROM` tokens."""

CHUNKED_FROM = Figure(Decimal(32_768), "vLLM 0.6: longer contexts are chunked by default")

SEQUENCES = Figure(Decimal(1024), "vLLM: get_batch_defaults, an API server on a large GPU")
SEQUENCES_SMALL = Figure(Decimal(256), "vLLM: get_batch_defaults, any other GPU")
TOKENS = Figure(Decimal(8192), "vLLM: get_batch_defaults; engines §6.3")
TOKENS_SMALL = Figure(Decimal(2048), "vLLM: get_batch_defaults; engines §6.3")
LARGE = Bytes.gib(70)
"""From here on a GPU is large to vLLM's defaults; A100 is not, however large (vLLM: get_batch_defaults, PR 17885)."""
NOT_LARGE = "a100"

HIDDEN_COPIES = Figure(
    Decimal(7),
    "§6.3: Llama-3.1-8B 1.10 and 1.05 GiB on a first stage, which does not sample (k043): 8192 tokens of 7 x hidden "
    "and 3 x width",
)
"""Copies of the hidden state that a step holds at its peak, beside the widest layer."""
WIDTH_COPIES = Figure(Decimal(3), HIDDEN_COPIES.source)
"""Copies of the inner width: gate, up and their product."""
MIXTURE_CHUNK = Figure(
    Decimal(32_768), "vLLM: VLLM_FUSED_MOE_CHUNK_SIZE; k026: 9.7 GiB beside the weights with data 8"
)
"""Tokens at the most that the kernels of experts take at once."""

UNIFIED_BAND = Figure(
    Decimal("4.5"),
    "MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#204: 4.4 GiB less by the loader alone; NVIDIA/xr-ai#462: the page "
    "cache counts as non-torch memory",
)
"""GiB that come to the band where GPU and host share their memory."""

BLOCK = 16
"""Tokens a cache block, by default (`engines §6.1`)."""
FP8_LATENTS = {
    576: Figure(Decimal(656), "engines §6.1: fp8_ds_mla of V3.2 and GLM-5.x; k018, k020"),
    512: Figure(Decimal(584), "engines §6.1: fp8_ds_mla of V4"),
}
"""Bytes an entry of sparse attention in FP8, by the elements of its latent: the rotary part stays 16 bits."""


def era(release: Release) -> Era:
    """How a release lays out a GPU."""
    return next(one for one in ERAS if release >= one.since)
