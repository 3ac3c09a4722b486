"""What CUDA graphs of vLLM take of its share: by release, by the sizes that are captured, and by what a user says."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import takewhile

from gangform.engines import flags, vllm_args
from gangform.engines import vllm_overheads as table
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import Given, last
from gangform.engines.vllm_draft import draft
from gangform.engines.vllm_words import on, settings, whole
from gangform.units import Bytes

ESTIMATE = "VLLM_MEMORY_PROFILER_ESTIMATE_CUDAGRAPHS"
"""Variable that says whether graphs come out of the share; without it the release decides (`engines §6.1`)."""
COMPILATION = "--compilation-config"
LARGEST = "--max-cudagraph-capture-size"
SIZES = "--cudagraph-capture-sizes"
LEVEL = "--optimization-level"
_MOST = 512
"""The largest batch that is captured by default (vLLM: max_cudagraph_capture_size)."""


def graphs(ask: LaunchRequest, sequences: int, tokens: int) -> tuple[Bytes, str]:
    """What is taken before the cache is sized, and where that is from.

    Args:
        ask: The request.
        sequences: Sequences of the largest batch.
        tokens: Tokens of the largest batch.
    """
    own = vllm_args.own(ask)
    if on(own, "--enforce-eager"):
        return Bytes(0), "--enforce-eager"
    mode = settings(own, COMPILATION).get("cudagraph_mode")
    if str(mode).upper() == "NONE" and mode is not None:
        return Bytes(0), f"{COMPILATION}: no graphs"
    if mode is None and flags.value(own, LEVEL) == "0":
        return Bytes(0), f"{LEVEL} 0: no graphs"
    measured = ask.measured("graphs")
    if measured is not None:
        return measured, "measured"
    figure = table.era(ask.release).graphs
    said = ask.variables.get(ESTIMATE)
    if said == "0":
        return Bytes(0), f"{ESTIMATE}=0"
    if said == "1":
        figure = table.GRAPHS
    if not figure.value:
        return Bytes(0), figure.source
    few, count = table.GRAPHS_FEW.value, captured(ask, own, sequences, tokens)
    part = min(Decimal(count) / table.GRAPHS_ALL, Decimal(1))
    more = max(figure.value - few, Decimal(0))
    size = min(figure.value, few) + more * part
    source = figure.source if part == 1 else f"{figure.source}; {table.GRAPHS_FEW.source}"
    return Bytes(int(size * 2**30)), source


def captured(ask: LaunchRequest, own: Sequence[Given], sequences: int, tokens: int) -> int:
    """Graphs that are captured: one a size for batches of any kind, and one for those that only decode."""
    proposed = 1 + draft(ask).tokens
    config = settings(own, COMPILATION)
    listed = _listed(ask, own) or config.get("cudagraph_capture_sizes")
    if isinstance(listed, list):
        known = {size for one in listed if (size := whole(str(one)))}
        sizes = [one for one in known if one <= tokens]
    else:
        text = flags.value(own, LARGEST) or str(config.get("max_cudagraph_capture_size", ""))
        told = whole(text)
        most = min(sequences * proposed * 2, _MOST) if told is None else told
        most = min(most, tokens)
        steps = (1, 2, 4, *range(8, min(most + 1, 256), 8), *range(256, min(most, 4096) + 1, 16))
        sizes = [one for one in steps if one <= most]
    return len(sizes) + sum(one <= sequences * proposed for one in sizes)


def _listed(ask: LaunchRequest, own: Sequence[Given]) -> list[str]:
    """The sizes after the flag that takes several, up to the next flag; one where `=` joins it."""
    one = last(own, SIZES)
    if one is None:
        return []
    words = vllm_args.words(ask)
    if "=" in words[one.at]:
        return [one.value or ""]
    return list(takewhile(lambda word: not word.startswith("-"), words[one.at + 1 :]))
