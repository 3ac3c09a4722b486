"""Series of engines by name: what one exports, what its router exports, and what nobody does.

Names of engines stand in the tables of their modules; here a name that somebody wrote is held against them, whatever
the release. A table says *known*, never *all*: only what is certain is called missing.
"""

from __future__ import annotations

import re
from typing import Final

from gangform.apis import metrics
from gangform.apis.metrics import Standing
from gangform.engines.vllm_series import PREFIX, SERIES

_ENGINE_FAMILIES: Final = (
    "spec_decode_",
    "nixl_",
    "mm_",
    "kv_",
    "lora_",
    "request_",
    "prompt_",
    "estimated_",
    "prefix_",
    "external_",
    "diffusion_",
    "simple_kv_",
    "mooncake_",
    "sleep_",
    "rl_",
    "websocket_",
    "tool_call_",
)
"""Families that grow from release to release: a name in one of them is not called missing."""
_ROUTER: Final = frozenset(
    {
        "num_incoming_requests",
        "healthy_pods",
        "current_qps",
        "avg_decoding_length",
        "num_prefill_requests",
        "num_decoding_requests",
        "avg_ttft",
        "avg_latency",
        "avg_itl",
        "router_queueing_delay_seconds",
    }
)
"""Of the router of production-stack, under the engine's prefix."""
_OTHER_ENGINE: Final = frozenset(
    {"num_running_reqs", "num_queue_reqs", "token_usage", "gen_throughput"}
)
"""SGLang's gauges that scale (`engines §4.2`)."""
_ENGINES: Final = {"vllm": frozenset(SERIES.rows), "sglang": _OTHER_ENGINE}
_UNDERLINED: Final = tuple(f"{prefix}_" for prefix in _ENGINES)
_SUFFIXES: Final = ("_total", "_bucket", "_sum", "_count", "_created", "_info")
_INVENTED: Final = {"decode_batch_utilization": "num_requests_running"}
"""Names of texts that no release has, with what there is instead (`observability §1.1`)."""


def standing(name: str) -> Standing:
    """Whether a series of this name can exist."""
    if name.startswith(_UNDERLINED):
        return "missing" if with_colon(name) else "unknown"
    if not name.startswith(PREFIX):
        return metrics.standing(name)
    own = name.removeprefix(PREFIX)
    if own in _INVENTED:
        return "missing"
    stems = _stems(own)
    if stems & _ENGINES["vllm"]:
        return "exported"
    if stems & _ROUTER:
        return "routed"
    if own.startswith(_ENGINE_FAMILIES):
        return "unknown"
    return "missing" if _near(own) else "unlisted"


def of_router(name: str) -> bool:
    """Whether a series under an engine's prefix is that of the router before it, which is there without engines."""
    return bool(_stems(name.partition(":")[2]) & _ROUTER)


_SERIES: Final = re.compile(r"\b(?:vllm|sglang)[:_]\w+")
_ELSE: Final = re.compile(r"\bor\b(?!\s*(?:on\s*\(\s*\)\s*)?vector)", re.IGNORECASE)
"""In a query: another series that may have a value where the first has none."""
_OWN: Final = frozenset({"exported", "unknown"})
"""How names stand that an engine has, or may have."""


def engine_series(query: str) -> list[str]:
    """The series of engines that a query names, as it writes them."""
    return _SERIES.findall(query)


def engine_alone(query: str) -> bool:
    """Whether a query, or the name of a metric, speaks of series of an engine and of nothing else."""
    found = [
        name.replace("_", ":", 1) if ":" not in name else name for name in engine_series(query)
    ]
    own = all(standing(name) in _OWN and not of_router(name) for name in found)
    return bool(found) and own and not _ELSE.search(query)


def _stems(own: str) -> set[str]:
    return {own, *(own.removesuffix(suffix) for suffix in _SUFFIXES)}


def with_colon(name: str) -> str:
    """The series that a name with an underscore in place of the colon means; empty where that is none.

    Adapters of Kubernetes' metrics spell them so, Prometheus does not.
    """
    for prefix, series in _ENGINES.items():
        own = name.removeprefix(f"{prefix}_")
        for known in (own, f"num_{own}") if own != name else ():
            if _stems(known) & series:
                return f"{prefix}:{known}"
    return ""


def adapted(name: str) -> str:
    """The spelling that adapters give a series, where a name comes near it and is another; empty otherwise."""
    series = with_colon(name)
    spelled = series.replace(":", "_")
    return spelled if series and spelled != name else ""


def _near(own: str) -> str:
    from difflib import get_close_matches

    stem = min(_stems(own), key=len)
    close = get_close_matches(stem, sorted(_ENGINES["vllm"]), n=1, cutoff=0.85)
    return close[0] if close else ""


def instead(name: str) -> str:
    """What to ask in place of a series that is missing."""
    if known := metrics.instead(name) or with_colon(name):
        return known
    own = name.removeprefix(PREFIX)
    return PREFIX + (_INVENTED.get(own) or _near(own) or "num_requests_waiting")
