"""Arguments of vLLM that change what lies on a GPU and that the memory arithmetic cannot reckon with."""

from __future__ import annotations

from collections.abc import Iterator

from gangform.engines import vllm_adapters, vllm_cache, vllm_draft, vllm_memory
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import Given
from gangform.engines.vllm_args import MEMORY, found, own, sayable
from gangform.findings import Finding, Severity, declare

UNREAD = declare(
    "engine-args-change-memory",
    "An argument changes what lies on a GPU, and the memory arithmetic does not read it.",
    Severity.DEGRADES,
    "engines §6.3",
)


_WIDE = ("float32", "float")
"""Values of `--dtype` of four bytes, which weights and cache take alike."""


def check(ask: LaunchRequest) -> Iterator[Finding]:
    """Each such argument, with what to write instead."""
    for one in own(ask):
        name = one.flag.split(".")[0]
        if _reads(ask, one):
            continue
        if name == vllm_cache.FORMAT and sayable(ask, one.value):
            continue  # Refused as what an input says.
        what = f"{one.flag} changes memory, and the plan's fit does not see it"
        fix = "set fit.availableKv to what the engine's log prints as available KV cache memory"
        if name == vllm_draft.CONFIG:
            what = f"{one.flag} loads a draft model, and nothing says how large it is"
            fix = f"set engine.overhead.draft to what it takes of a GPU, or {fix}"
        yield found(ask, UNREAD, "engine.args", what, fix, one.at)


def _reads(ask: LaunchRequest, one: Given) -> bool:
    """Whether the arithmetic reckons with an argument, or need not."""
    if one.flag == "--dtype":
        # Every other value is as wide as what is reckoned with.
        return one.value not in _WIDE or ask.model.weights == "fp32"
    if one.flag.split(".")[0] not in MEMORY:
        return vllm_memory.reads(one)
    return any(module.reads(ask, one) for module in (vllm_cache, vllm_draft, vllm_adapters))
