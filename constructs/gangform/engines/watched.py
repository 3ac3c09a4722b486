"""What alerts on an engine's own series are made of: the words and queries that hold for every engine.

An engine module names the series that its release exports; what they mean for a serving is said once, here. Leaders
alone export, one set of series for each engine of a pod, and a replaced leader has the name of the one before it; so
everything is folded by pod, never by address.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from gangform.apis.alerting import PERCENT, ROUNDED, Alert
from gangform.apis.promql import boxed, equal, selector
from gangform.units import Seconds

if TYPE_CHECKING:  # who only reads manifests needs no inputs
    from gangform.inputs.defaults import AlertDefaults

STALLED = "ServingEngineStalled"
CACHE = "ServingKvCachePressure"
QUEUE = "ServingQueueDeep"
PREEMPTED = "ServingPreemptions"
ERRORS = "ServingRequestErrors"
SLOW = "ServingSlowFirstTokens"
STEADILY_SLOW = "ServingSlowFirstTokensForHours"

_VALUE, _POD = "{{ $value }}", "{{ $labels.pod }}"

NAMES = (STALLED, ERRORS, SLOW, STEADILY_SLOW, QUEUE, CACHE, PREEMPTED)
"""Every alert that an engine can have."""


class Objective(NamedTuple):
    """A share of requests that get their first token in time."""

    bound: str
    """The time in seconds, spelled as the engine exports it: `2.5`, `5.0`. With its point it is the same `le` to every
    Prometheus; where an exporter writes none, 3 puts one in (`apis.queue_metrics.bucket_bound`)."""
    share: Decimal


class Watched(NamedTuple):
    """What alerts of one serving need to know beside the engine."""

    matchers: tuple[str, ...]
    """Matchers of every series that the serving's leaders export."""
    who: str
    """The serving in words."""
    quiet: Seconds
    """How long an engine may give no token while it only reads prompts."""
    queue: int
    """Waiting requests a ready group that are too many."""
    queue_after: Seconds
    """How long that may last."""
    limits: AlertDefaults
    objective: Objective | None = None

    def select(self, series: str, *matchers: str) -> str:
        """The series of the serving that match."""
        return selector(series, *self.matchers, *matchers)


class Failing(NamedTuple):
    """A counter of requests, and what tells those that failed."""

    series: str
    failed: str
    """A matcher of the failed ones; empty where the series has no others."""
    all: str
    """The counter of all; that of `series` itself where `failed` picks some of them."""


class EngineSeries(NamedTuple):
    """Series of one release, as exported; `None` where it has none that can be relied on."""

    engine: str
    """The label that tells the engines of a pod apart."""
    running: str
    waiting: str
    steps: str | None
    """A counter of steps that gave tokens."""
    cache: str | None
    """Share of the cache that requests hold."""
    preemptions: str | None
    finished: str
    failing: tuple[Failing, ...]
    first_token: str
    """The histogram, without suffix."""


def alerts(series: EngineSeries, watched: Watched) -> Iterator[Alert]:
    """Alerts on the engines of a serving, the most urgent first."""
    if series.steps is not None:
        yield _stalled(series, series.steps, watched)
    if series.failing:
        yield _errors(series, watched)
    if watched.objective is not None:
        yield from _slow(series, watched, watched.objective)
    yield _queue(series, watched)
    if series.cache is not None:
        yield _cache(series, series.cache, watched)
    if series.preemptions is not None:
        yield _preempted(series, series.preemptions, watched)


def _stalled(series: EngineSeries, steps: str, watched: Watched) -> Alert:
    """Each half needs a past of its own, so a leader that is new, or was replaced, is not judged by another's.

    `min` over a pod's instances: the one that was there before hangs in the window for a while.
    """
    each = f"(namespace, pod, {series.engine})"
    running = f"min_over_time({watched.select(series.running)}[{watched.quiet}])"
    now = watched.select(steps)
    still = f"max by {each} ({now})\n== on {each}\nmax by {each} ({now} offset {watched.quiet})"
    return Alert(
        name=STALLED,
        expr=f"min by {each} ({running}) > 0\nand on {each}\n{boxed(still)}",
        for_=watched.limits.engine_stalled,
        severity="critical",
        summary="An engine has requests and does nothing.",
        description=f"Engine {{{{ $labels.{series.engine} }}}} of leader {_POD} of {watched.who} has had "
        f"requests running for {watched.quiet}, {_VALUE} or more at a time, and given no token: a rank of its group "
        "hangs or is gone. Its health endpoint does not see that, and it stays in the Service.",
    )


def _cache(series: EngineSeries, cache: str, watched: Watched) -> Alert:
    limits = watched.limits
    full = f"max by (namespace, pod) ({watched.select(cache)}) > {number(limits.cache_share)}"
    waits = f"max_over_time({watched.select(series.waiting)}[{limits.cache_waits}])"
    return Alert(
        name=CACHE,
        expr=f"{full}\nand on (namespace, pod)\nmax by (namespace, pod) ({waits}) > 0",
        for_=limits.cache_full,
        severity="warning",
        summary="The cache of a group is full and requests wait for it.",
        description=f"The cache of leader {_POD} of {watched.who} has been full for {limits.cache_full}, at "
        f"{PERCENT}, while requests wait: they wait for others to end, however idle the GPUs are.",
    )


def _queue(series: EngineSeries, watched: Watched) -> Alert:
    waiting = watched.select(series.waiting)
    groups = f"count by (namespace) (max by (namespace, pod) ({waiting}))"
    # Two monitors of one leader show its queue twice.
    once = f"max by (namespace, pod, {series.engine}) ({waiting})"
    each = f"sum by (namespace) ({once})\n/ on (namespace)\n{groups}"
    return Alert(
        name=QUEUE,
        expr=f"{boxed(each)} > {watched.queue}",
        for_=watched.queue_after,
        severity="warning",
        summary="More requests wait than the ready groups of a serving take.",
        description=f"For {watched.queue_after} more than {watched.queue} requests a ready group of {watched.who} have "
        f"been waiting, {ROUNDED} now.",
    )


def _preempted(series: EngineSeries, preemptions: str, watched: Watched) -> Alert:
    limits = watched.limits

    def within(counter: str) -> str:
        return f"sum by (namespace, pod) (increase({watched.select(counter)}[{limits.counted}]))"

    some = f"{within(preemptions)} > {limits.least_preemptions}"
    return Alert(
        name=PREEMPTED,
        expr=f"{boxed(some)}\n> on (namespace, pod)\n{number(limits.preempted_share)} * {within(series.finished)}",
        for_=limits.preempted,
        severity="warning",
        summary="A group preempts running requests and computes them again.",
        description=f"Leader {_POD} of {watched.who} took the cache of {ROUNDED} running requests within "
        f"{limits.counted}, more than {percent(limits.preempted_share)} of those that finished: each is computed again "
        "from its start.",
    )


def _errors(series: EngineSeries, watched: Watched) -> Alert:
    limits = watched.limits

    def within(counter: str, *matchers: str) -> str:
        found = watched.select(counter, *matchers)
        return f"sum by (namespace) (increase({found}[{limits.counted}]))"

    shares = []
    for failing in series.failing:
        failed = within(failing.series, *filter(None, [failing.failed]))
        some = boxed(f"{failed} >= {limits.least_failed}")
        shares.append(boxed(f"{some}\n/ on (namespace)\n{within(failing.all)}"))
    most = number(limits.failed_share)
    return Alert(
        name=ERRORS,
        expr="\nor on (namespace)\n".join(f"{share} > {most}" for share in shares),
        for_=limits.failed,
        severity="critical",
        summary="Requests to a serving fail.",
        description=f"{PERCENT} of the requests to {watched.who} failed within {limits.counted} by a fault of "
        f"the engine or of its server, more than {percent(limits.failed_share)}.",
    )


def _slow(series: EngineSeries, watched: Watched, objective: Objective) -> Iterator[Alert]:
    """Two speeds at which the missed share eats a month's allowance: two days' worth an hour, and five days."""
    limits = watched.limits
    bound = equal("le", objective.bound)

    def share(window: Seconds) -> str:
        def rate(part: str, *matchers: str) -> str:
            found = watched.select(f"{series.first_token}_{part}", *matchers)
            return f"sum by (namespace) (rate({found}[{window}]))"

        return boxed(f"1 - {rate('bucket', bound)} / on (namespace) {rate('count')}")

    for name, burn, short, long, lasting, severity in (
        (SLOW, limits.burn_fast, Seconds(300), Seconds(3600), limits.slow_fast, "critical"),
        (STEADILY_SLOW, limits.burn_slow, Seconds(1800), Seconds(21600), limits.slow, "warning"),
    ):
        most = number(burn * (1 - Fraction(objective.share)))
        count = watched.select(f"{series.first_token}_count")
        enough = f"sum by (namespace) (increase({count}[{short}])) >= {limits.least_answered}"
        yield Alert(
            name=name,
            expr=f"{share(short)} > {most}\nand on (namespace)\n{share(long)} > {most}\nand on (namespace)\n{enough}",
            for_=lasting,
            severity="critical" if severity == "critical" else "warning",
            summary="Too many requests wait too long for their first token.",
            description=f"{PERCENT} of the requests to {watched.who} got their first token later than "
            f"{objective.bound} s within {short}, and too many within {long}; {percent(1 - Fraction(objective.share))} "
            f"may, and at this rate a month's share is gone in {'2' if severity == 'critical' else '5'} days.",
        )


def number(share: Fraction) -> str:
    """A number as PromQL reads it: `0.05`."""
    return f"{Decimal(share.numerator) / Decimal(share.denominator):f}"


def percent(share: Fraction) -> str:
    """A share as people read it: `5%`, spelled as Prometheus spells the value beside it."""
    return f"{number(100 * share)}%"
