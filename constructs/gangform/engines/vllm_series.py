"""vLLM's series by release, as its sources define them, and the bounds of the histogram that an objective needs.

Read in the sources of releases 0.8.0, 0.8.5, 0.9.0 to 0.9.2, 0.10.0 to 0.10.2, 0.11.0, 0.11.1, 0.12 to 0.14, 0.16 to
0.23, 0.25, 0.27 and 0.29 to 0.33: `v1/metrics/loggers.py`, and `engine/metrics.py` for the engine V0, which may still
run up to 0.10. A name is written without its prefix and without the suffixes that Prometheus appends.
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.apis.versions import Evidence, Release, Row, Table
from gangform.engines.vllm_flags import NEWEST

PREFIX = "vllm:"

RUNNING = "num_requests_running"
WAITING = "num_requests_waiting"
ITERATIONS = "iteration_tokens_total"
"""A histogram of the tokens of a step that gave tokens to somebody: its count stands still while prompts are read."""
KV = "kv_cache_usage_perc"
KV_BEFORE = "gpu_cache_usage_perc"
"""The same under the name that both engines knew; from 0.9.2 on V1 exports both, from 0.11 on this one is hidden."""
PREEMPTIONS = "num_preemptions"
FINISHED = "request_success"
"""Every request that ended, whatever its `finished_reason`."""
CORRUPTED = "corrupted_requests"
FIRST_TOKEN = "time_to_first_token_seconds"
BETWEEN = "inter_token_latency_seconds"
BETWEEN_BEFORE = "time_per_output_token_seconds"
"""The same under its former name (vllm#24110)."""
PROMPTS = "prompt_tokens"
GENERATED = "generation_tokens"

HTTP_ANSWERS = "http_requests_total"
"""Of the server around the engine, without prefix: answers by `handler`, `method` and `status` (`5xx`). It leaves out
`/health` and `/metrics`, and no flag of statistics takes it away."""
CHECKS_NUMBERS = "VLLM_COMPUTE_NANS_IN_LOGITS"
"""The variable without which corrupted requests are not counted, and their series is not there."""

KEEPS_COUNT = "num_requests_running after requests were cancelled"
"""Not a series: that the gauge goes back to 0 where the last requests of an engine were cancelled. In between it is
set only by steps that give tokens, and stands at its last number for ever (`Scheduler.update_from_output`)."""
ERROR = "request_success finished_reason=error"
"""Not a series: that requests which end by a fault of the engine have a reason of their own (`FinishReason.ERROR`)."""
OWN_BOUNDS = "--custom-histogram-buckets"
"""The flag that replaces the bounds of histograms."""

_FIRST = Release(0, 8)


def _rows(names: str, since: Release = _FIRST, until: Release | None = None) -> Iterator[Row]:
    for name in names.split():
        yield Row(name, since, Evidence.CODE, f"v1/metrics/loggers.py of {since}", until)


SERIES = Table(
    "vLLM",
    NEWEST,
    [
        *_rows(
            f"{RUNNING} {WAITING} {ITERATIONS} {PREEMPTIONS} {FINISHED} {FIRST_TOKEN} cache_config_info "
            f"{PROMPTS} {GENERATED} lora_requests_info e2e_request_latency_seconds "
            "request_queue_time_seconds request_prefill_time_seconds request_decode_time_seconds "
            "request_inference_time_seconds request_prompt_tokens request_generation_tokens "
            "request_max_num_generation_tokens request_params_n request_params_max_tokens"
        ),
        *_rows(f"{KV_BEFORE} gpu_prefix_cache_queries gpu_prefix_cache_hits", until=Release(0, 11)),
        *_rows("num_requests_swapped cpu_cache_usage_perc", until=Release(0, 11)),
        *_rows(BETWEEN_BEFORE, until=Release(0, 12)),
        *_rows(f"{KV} prefix_cache_queries prefix_cache_hits", Release(0, 9, 2)),
        *_rows(BETWEEN, Release(0, 10, 2)),
        *_rows("request_time_per_output_token_seconds", Release(0, 11)),
        *_rows(
            f"{CORRUPTED} engine_sleep_state external_prefix_cache_queries external_prefix_cache_hits "
            "mm_cache_queries mm_cache_hits",
            Release(0, 11, 1),
        ),
        *_rows("request_prefill_kv_computed_tokens", Release(0, 13)),
        *_rows("prompt_tokens_by_source prompt_tokens_cached", Release(0, 16)),
        *_rows("num_requests_waiting_by_reason", Release(0, 20)),
        *_rows("request_num_preemptions", Release(0, 30)),
        *_rows(
            "num_requests_kv_fetch_by_stage admission_rejections prompt_tokens_cached_by_source",
            Release(0, 32),
        ),
    ],
)
"""What an engine exports, by release."""

TRAITS = Table(
    "vLLM",
    NEWEST,
    [
        Row(HTTP_ANSWERS, _FIRST, Evidence.CODE, "Instrumentator in the API server, 0.8.5 to 0.33"),
        Row(
            KEEPS_COUNT,
            _FIRST,
            Evidence.CODE,
            "v1/core/sched/scheduler.py: absent in 0.9.1 to 0.10.1, back in 0.10.2",
            holes=((Release(0, 9, 1), Release(0, 10, 2)),),
        ),
        Row(ERROR, Release(0, 13), Evidence.CODE, "v1/engine/__init__.py: absent in 0.12"),
    ],
)
"""What else a reader of its metrics has to know, by release."""

_BOUNDS = "0.001 0.005 0.01 0.02 0.04 0.06 0.08 0.1 0.25 0.5 0.75 1.0 2.5 5.0 7.5 10.0"
_BOUNDS_SINCE = f"{_BOUNDS} 20.0 40.0 80.0 160.0 640.0 2560.0"


def known(release: Release) -> bool:
    """Whether the release is one of those whose series were read, or newer."""
    return release >= _FIRST


def cache(release: Release) -> str:
    """The share of the cache in use, by the name under which every engine of the release has it."""
    return KV_BEFORE if SERIES.has(KV_BEFORE, release) else KV


def between(release: Release) -> str:
    """The histogram of the time between two outputs of a request."""
    return BETWEEN if SERIES.has(BETWEEN, release) else BETWEEN_BEFORE


def first_token_bounds(release: Release) -> tuple[str, ...]:
    """Values of `le` of the time to the first token, as exported; none where the release was not read.

    Those of 0.8.0, and those of 0.8.5, which are the same up to 0.33.
    """
    if not known(release):
        return ()
    return tuple((_BOUNDS_SINCE if release >= Release(0, 8, 5) else _BOUNDS).split())
