"""What a dashboard shows of vLLM: latency by serving, load and cache by leader, by the names of the release.

Only leaders export (`engines §4.1`), each of its ranks apart where data is parallel; a replaced leader has the name of
the one before it, so that gauges are folded by rank before they are summed. A quantile is as exact as the buckets of
the histogram.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from gangform.apis.panels import RATE, EngineChoice, Panel, Query, Step
from gangform.apis.versions import Release
from gangform.engines import vllm_series as api

_QUANTILES = ("0.5", "0.95", "0.99")
_LEADER = "{{pod}}"


def panels(release: Release, choice: EngineChoice) -> Iterator[Panel]:
    """Latency first: it is what users see. Nothing of a release whose series were not read."""
    if not api.known(release):
        return
    serving = f"{{{{{choice.serving}}}}}"
    yield Panel(
        "Time to first token",
        "Half, 95 and 99 of 100 requests had their first token within this time, waiting included.",
        _quantiles(choice, api.FIRST_TOKEN),
        unit="s",
    )
    yield Panel(
        "Time between tokens",
        "Time from one output of a request to its next. With speculative decoding an output may hold several tokens.",
        _quantiles(choice, api.between(release)),
        unit="s",
    )
    yield Panel(
        "Requests waiting, by leader",
        "Requests that a group has taken and not begun. Below its saturation this is 0.",
        (Query(_of_ranks(choice, api.WAITING), _LEADER),),
    )
    yield Panel(
        "Requests running, by leader",
        "Requests in the batch of each group. A group without any beside busy ones gets no traffic.",
        (Query(_of_ranks(choice, api.RUNNING), _LEADER),),
    )
    yield Panel(
        "KV cache in use, by leader",
        "Near 1 requests are preempted and begin again. Below it this says nothing of saturation: prefill may queue "
        "with little cache in use.",
        (Query(f"max by (namespace, pod) ({_select(choice, api.cache(release))})", _LEADER),),
        unit="percentunit",
        steps=(Step(None, "green"), Step(Decimal("0.9"), "orange")),
        most=1,
    )
    yield Panel(
        "Preemptions",
        "Requests that lost their cache and are computed again, a second.",
        (Query(_rate(choice, api.PREEMPTIONS, choice.serving), serving),),
        unit="cps",
    )
    yield Panel(
        "Tokens",
        "Tokens read from prompts and tokens generated, a second.",
        (
            Query(_rate(choice, api.PROMPTS, choice.serving), f"{serving} prompt"),
            Query(_rate(choice, api.GENERATED, choice.serving), f"{serving} generated"),
        ),
        unit="cps",
    )
    yield Panel(
        "Requests finished, by reason",
        "Requests a second by why they ended: `stop` and `length` are answers, `abort` is a client that left.",
        (
            Query(
                _rate(choice, api.FINISHED, f"{choice.serving}, finished_reason"),
                f"{serving} {{{{finished_reason}}}}",
            ),
        ),
        unit="reqps",
    )


def _select(choice: EngineChoice, name: str) -> str:
    return choice.select(f"{api.PREFIX}{name}")


def _quantiles(choice: EngineChoice, histogram: str) -> tuple[Query, ...]:
    counts = _select(choice, f"{histogram}_bucket")
    rates = f"sum by ({choice.serving}, le) (rate({counts}[{RATE}]))"
    return tuple(
        Query(
            f"histogram_quantile({quantile}, {rates})",
            f"{{{{{choice.serving}}}}} {Decimal(quantile) * 100:.0f} %",
        )
        for quantile in _QUANTILES
    )


def _rate(choice: EngineChoice, counter: str, by: str) -> str:
    return f"sum by ({by}) (rate({_select(choice, f'{counter}_total')}[{RATE}]))"


def _of_ranks(choice: EngineChoice, gauge: str) -> str:
    """Over the ranks of a leader that export apart."""
    return f"sum by (namespace, pod) (max by (namespace, pod, engine) ({_select(choice, gauge)}))"
