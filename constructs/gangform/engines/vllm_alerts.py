"""What of vLLM is watched: the series of its release, what they do not show, and the bounds of its histograms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gangform.apis.alerting import Alert
from gangform.engines import vllm_args, watched
from gangform.engines.engine import LaunchRequest
from gangform.engines.flags import last
from gangform.engines.vllm_flags import METRICS_OFF
from gangform.engines.vllm_series import (
    CHECKS_NUMBERS,
    CORRUPTED,
    ERROR,
    FINISHED,
    FIRST_TOKEN,
    HTTP_ANSWERS,
    ITERATIONS,
    KEEPS_COUNT,
    OWN_BOUNDS,
    PREEMPTIONS,
    PREFIX,
    RUNNING,
    SERIES,
    TRAITS,
    WAITING,
    cache,
    first_token_bounds,
    known,
)
from gangform.engines.watched import EngineSeries, Failing, Watched

_FINISHED = f"{PREFIX}{FINISHED}_total"


def alerts(ask: LaunchRequest, about: Watched) -> tuple[Alert, ...]:
    """Alerts on the series of the release; none where no series are exported, or none were read."""
    if _silent(ask):
        return ()
    return tuple(watched.alerts(_series(ask), about))


def _series(ask: LaunchRequest) -> EngineSeries:
    release = ask.release
    return EngineSeries(
        engine="engine",
        running=PREFIX + RUNNING,
        waiting=PREFIX + WAITING,
        steps=f"{PREFIX}{ITERATIONS}_count" if TRAITS.has(KEEPS_COUNT, release) else None,
        cache=PREFIX + cache(release),
        preemptions=f"{PREFIX}{PREEMPTIONS}_total",
        finished=_FINISHED,
        failing=tuple(_failing(ask)),
        first_token=PREFIX + FIRST_TOKEN,
    )


def _failing(ask: LaunchRequest) -> Iterator[Failing]:
    """An aborted request is none: its client went away, or the engine was told to stop."""
    yield Failing(HTTP_ANSWERS, 'status="5xx"', HTTP_ANSWERS)
    if TRAITS.has(ERROR, ask.release):
        # An answer that streams has begun with 200, whatever happens to it.
        yield Failing(_FINISHED, 'finished_reason="error"', _FINISHED)
    if SERIES.has(CORRUPTED, ask.release) and ask.variables.get(CHECKS_NUMBERS) == "1":
        yield Failing(f"{PREFIX}{CORRUPTED}_total", "", _FINISHED)


def _silent(ask: LaunchRequest) -> bool:
    return last(vllm_args.own(ask), METRICS_OFF) is not None or not known(ask.release)


def blind_spots(ask: LaunchRequest) -> Iterator[str]:
    """What the series of the release do not show."""
    release = ask.release
    every = ", ".join(watched.NAMES)
    if last(vllm_args.own(ask), METRICS_OFF) is not None:
        yield (
            f"with {METRICS_OFF} among engine.args vLLM exports no series of its own, so nothing tells a hanging "
            f"engine, a queue or slow answers: there is no {every}"
        )
        return
    if not known(release):
        yield f"the series of vLLM {release} are not known: there is no {every}"
        return
    if not TRAITS.has(KEEPS_COUNT, release):
        yield (
            f"vLLM {release} goes on counting requests as running after their clients went away, so that an idle "
            f"engine looks like a hanging one: there is no {watched.STALLED}, and its health endpoint does not see a "
            "hang; from 0.10.2 on there is one"
        )
    if not TRAITS.has(ERROR, release):
        yield (
            f"vLLM {release} has no reason of its own for requests that end by its fault: {watched.ERRORS} counts HTTP "
            "answers 5xx, and misses streams that break off; from 0.13 on it counts both"
        )


def bounds(ask: LaunchRequest) -> Sequence[str]:
    """Bounds of the time to the first token, as exported; empty where arguments replace them."""
    replaced = any(one.flag.startswith(OWN_BOUNDS) for one in vllm_args.own(ask))
    return () if replaced or _silent(ask) else first_token_bounds(ask.release)
