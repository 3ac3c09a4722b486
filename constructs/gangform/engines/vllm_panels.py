"""What a dashboard shows of vLLM: latency by serving, load and cache by leader, by the names of the release.

Only leaders export (`engines §4.1`). Histograms have buckets, so a quantile is as exact as they are.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gangform.apis.panels import RATE, EngineSeries, Panel, Query, Step
from gangform.apis.versions import Release

_SHARE_OF_CACHE = Release(0, 9, 2)
"""`gpu_cache_usage_perc` became `kv_cache_usage_perc` (`engines §4.1`)."""
_BETWEEN_TOKENS = Release(0, 10, 2)
"""`time_per_output_token_seconds` became `inter_token_latency_seconds`; the old one is hidden from 0.12 on
(vllm#24110, vllm#32661; `v1/metrics/loggers.py` of 0.10.2)."""
_QUANTILES = ("0.5", "0.95", "0.99")


def panels(release: Release, series: EngineSeries) -> Iterator[Panel]:
    """Latency first: it is what users see."""
    between = "inter_token_latency" if release >= _BETWEEN_TOKENS else "time_per_output_token"
    cache = "kv" if release >= _SHARE_OF_CACHE else "gpu"
    by_leader = "{{pod}}"
    by_serving = f"{{{{{series.serving}}}}}"
    yield Panel(
        "Time to first token",
        "Half, 95 and 99 of 100 requests had their first token within this time, waiting included.",
        _quantiles(series, "vllm:time_to_first_token_seconds"),
        unit="s",
    )
    yield Panel(
        "Time between tokens",
        "Time from one output of a request to its next. With speculative decoding an output may hold several tokens.",
        _quantiles(series, f"vllm:{between}_seconds"),
        unit="s",
    )
    yield Panel(
        "Requests waiting, by leader",
        "Requests that a group has taken and not begun. Below its saturation this is 0.",
        (Query(_by_pod(series, "vllm:num_requests_waiting"), by_leader),),
    )
    yield Panel(
        "Requests running, by leader",
        "Requests in the batch of each group. A group without any beside busy ones gets no traffic.",
        (Query(_by_pod(series, "vllm:num_requests_running"), by_leader),),
    )
    yield Panel(
        "KV cache in use, by leader",
        "Near 1 requests are preempted and begin again. Below it this says nothing of saturation: prefill may queue "
        "with little cache in use.",
        (
            Query(
                f"max by (namespace, pod) ({series.select(f'vllm:{cache}_cache_usage_perc')})",
                by_leader,
            ),
        ),
        unit="percentunit",
        steps=(Step(None, "green"), Step(Decimal("0.9"), "orange")),
        most=1,
    )
    yield Panel(
        "Preemptions",
        "Requests that lost their cache and are computed again, a second.",
        (Query(_rate(series, "vllm:num_preemptions_total", series.serving), by_serving),),
        unit="cps",
    )
    yield Panel(
        "Tokens",
        "Tokens read from prompts and tokens generated, a second.",
        (
            Query(
                _rate(series, "vllm:prompt_tokens_total", series.serving), f"{by_serving} prompt"
            ),
            Query(
                _rate(series, "vllm:generation_tokens_total", series.serving),
                f"{by_serving} generated",
            ),
        ),
        unit="cps",
    )
    yield Panel(
        "Requests finished, by reason",
        "Requests a second by why they ended: `stop` and `length` are answers, `abort` is a client that left.",
        (
            Query(
                _rate(series, "vllm:request_success_total", f"{series.serving}, finished_reason"),
                f"{by_serving} {{{{finished_reason}}}}",
            ),
        ),
        unit="reqps",
    )


def _quantiles(series: EngineSeries, histogram: str) -> tuple[Query, ...]:
    rates = f"sum by ({series.serving}, le) (rate({series.select(f'{histogram}_bucket')}[{RATE}]))"
    return tuple(
        Query(
            f"histogram_quantile({quantile}, {rates})",
            f"{{{{{series.serving}}}}} {Decimal(quantile) * 100:.0f} %",
        )
        for quantile in _QUANTILES
    )


def _rate(series: EngineSeries, counter: str, by: str) -> str:
    return f"sum by ({by}) (rate({series.select(counter)}[{RATE}]))"


def _by_pod(series: EngineSeries, gauge: str) -> str:
    """Over the ranks of a leader that export apart."""
    return f"sum by (namespace, pod) ({series.select(gauge)})"
