"""What may happen to engines as their own series show it, and which alert fires at which minute.

Each leader is scraped by the serving's monitor. The neighbour `llm-x`, and a serving of the same name in another
namespace, are in every fault at once, all the time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.signals.scenario import Fires, Scenario, Series, in_namespace, steady, then
from tests.signals.world import World

from gangform.plan.serving import ServingPlan

SETS = "leaderworkerset_sigs_k8s_io_name"
STALLED, CACHE, QUEUE = "ServingEngineStalled", "ServingKvCachePressure", "ServingQueueDeep"
PREEMPTED, ERRORS = "ServingPreemptions", "ServingRequestErrors"
SLOW, STEADILY_SLOW = "ServingSlowFirstTokens", "ServingSlowFirstTokensForHours"


def leaders(plan: ServingPlan) -> list[str]:
    """Pods that serve, two of them."""
    grouped = plan.choice.form.can.makes_stateful_sets
    return World.of(plan).leaders if grouped else ["llm-5f-a", "llm-5f-b"]


class Leader:
    """The series of one leader: labels of the scrape, then those of the engine."""

    def __init__(
        self,
        plan: ServingPlan,
        pod: str,
        app: str = "llm",
        address: str = "10.0.0.1",
        namespace: str = "m",
    ):
        self.inside = {"job": f"{namespace}/{app}", "namespace": namespace, "pod": pod}
        self.inside |= {"instance": f"{address}:8000", "app_kubernetes_io_name": app}
        if plan.choice.form.can.makes_stateful_sets:
            self.inside[SETS] = pod.rpartition("-")[0]
        old = plan.serving.engine.version.startswith("0.10.")
        self.cache_name = "gpu_cache_usage_perc" if old else "kv_cache_usage_perc"

    def of(self, name: str, **labels: str) -> str:
        inside = ",".join(f'{key}="{value}"' for key, value in {**self.inside, **labels}.items())
        return f"{name}{{{inside}}}"

    def engine(self, name: str, engine: str = "0", **labels: str) -> str:
        return self.of(f"vllm:{name}", model_name="small", engine=engine, **labels)

    @property
    def cache(self) -> str:
        return self.engine(self.cache_name)

    def answers(self, status: str) -> str:
        return self.of("http_requests_total", handler="/v1/completions", status=status)

    def finished(self, reason: str) -> str:
        return self.engine("request_success_total", finished_reason=reason)

    @property
    def fast(self) -> str:
        return self.engine("time_to_first_token_seconds_bucket", le="2.5")

    @property
    def tokens(self) -> str:
        return self.engine("time_to_first_token_seconds_count")

    def steps(self, engine: str = "0") -> str:
        return self.engine("iteration_tokens_total_count", engine)

    def healthy(self) -> Series:
        """One request a second, two at a time."""
        return {
            self.engine("num_requests_running"): steady(2),
            self.engine("num_requests_waiting"): steady(0),
            self.steps(): "0+600x120",
            self.cache: "0.4+0x120",
            self.engine("num_preemptions_total"): steady(0),
            self.finished("stop"): "0+60x120",
            self.finished("abort"): steady(0),
            self.finished("error"): steady(0),
            self.answers("2xx"): "0+60x120",
            self.answers("5xx"): steady(0),
            self.engine("time_to_first_token_seconds_bucket", le="+Inf"): "0+60x120",
            self.fast: "0+60x120",
            self.tokens: "0+60x120",
        }

    def broken(self) -> Series:
        return {
            **self.healthy(),
            self.engine("num_requests_waiting"): steady(500),
            self.steps(): steady(7),
            self.cache: "1+0x120",
            self.engine("num_preemptions_total"): "0+60x120",
            self.finished("error"): "0+60x120",
            self.answers("5xx"): "0+60x120",
            self.fast: steady(0),
        }


def normal(plan: ServingPlan) -> Series:
    found: Series = {}
    for index, pod in enumerate(leaders(plan)):
        found |= Leader(plan, pod, address=f"10.0.0.{index}").healthy()
    found |= Leader(plan, leaders(plan)[0], "llm", "10.0.2.1", "n").broken()
    return found | Leader(plan, "llm-x-0", "llm-x", "10.0.1.1").broken()


def by_another_monitor(states: Mapping[str, str | None]) -> dict[str, str | None]:
    """The same series once more, as a second monitor of the leaders gives them."""
    return {name.replace('job="m/llm"', 'job="m/own"'): values for name, values in states.items()}


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    first, second = leaders(plan)
    one, two = Leader(plan, first, address="10.0.0.0"), Leader(plan, second, address="10.0.0.1")
    cases = dict(_load(one, two, first, autoscaled=plan.lead.scaling is not None))
    if not plan.serving.engine.version.startswith("0.10."):
        cases |= dict(_hanging(plan, one, first))
        cases["requests end by a fault of the engine"] = Scenario(
            {one.finished("error"): "0+0x20 40+40x100"},
            {20: [], 60: [in_namespace(ERRORS, 0.25)]},
        )
        cases["engines fail as many requests as are told, and as may fail"] = Scenario(
            {
                two.finished("stop"): steady(9),
                one.finished("stop"): then((9, 70), (104, 1)),
                one.finished("error"): then((0, 30), (5, 40), (10, 1)),
            },
            {30: [], 40: [in_namespace(ERRORS)], 75: [], 80: []},
        )
    if plan.serving.objectives is not None:
        cases |= dict(_slow(one, two))
    ours: dict[str, str | None] = dict.fromkeys(one.healthy() | two.healthy())
    cases["engines are not scraped"] = Scenario(ours, {60: [], 90: []})
    return cases


def at(pod: str, name: str, value: float = 1, **labels: str) -> Fires:
    return in_namespace(name, value, pod=pod, **labels)


# ── a hang ───────────────────────────────────────────────────────────────────────────────────────


def _hanging(plan: ServingPlan, one: Leader, first: str) -> Iterator[tuple[str, Scenario]]:
    running, again = one.engine("num_requests_running"), Leader(plan, first, address="10.0.0.9")
    hangs = at(first, STALLED, 2, engine="0")
    yield (
        "an engine hangs with requests, and comes back",
        Scenario(
            {one.steps(): "0+600x30 18000+0x29 18600+600x60"},
            {30: [], 36: [], 37: [hangs], 60: [hangs], 61: [], 90: []},
        ),
    )
    hung = "0+600x30 18000+0x90"
    yield (
        "a second monitor comes while an engine hangs",
        Scenario(
            {
                one.steps(): hung,
                **by_another_monitor({one.steps(): f"_x33 {steady(18000)}"}),
            },
            {36: [], 37: [hangs]},
        ),
    )
    yield (
        "one data rank hangs beside another",
        Scenario(
            {
                one.engine("num_requests_running", "1"): steady(1),
                one.steps("1"): "0+600x30 18000+0x90",
            },
            {36: [], 37: [at(first, STALLED, 1, engine="1")]},
        ),
    )
    yield (
        "an engine is idle",
        Scenario(
            {running: then((2, 10), (0, 1)), one.steps(): "0+600x9 5400+0x111"}, {40: [], 90: []}
        ),
    )
    yield (
        "a long prompt comes after an idle hour",
        Scenario(
            {running: f"0+0x59 1+0x5 {steady(0)}", one.steps(): "9+0x65 10+0x60"},
            {minute: [] for minute in (61, 64, 65, 66, 67, 70)},
        ),
    )
    yield (
        "requests come one by one",
        Scenario(
            {running: "1+0x6 0 " * 17, one.steps(): "0+0x6 " + "9+0x6 10+0x6 " * 8},
            {minute: [] for minute in range(20, 60)},
        ),
    )
    yield (
        "a container is restarted in its place",
        Scenario(
            {
                running: then((2, 30), (0, 10), (1, 1)),
                one.steps(): "0+600x29 0+0x10 1+60x80",
            },
            {minute: [] for minute in (31, 36, 40, 41, 42, 43, 46, 50)},
        ),
    )
    fresh = {
        again.engine("num_requests_running"): f"_x45 0+0x10 {steady(1)}",
        again.steps(): "_x45 0+0x11 30+60x60",
    }
    yield (
        "a leader is replaced by another of its name",
        Scenario(
            {running: "2+0x29 stale", one.steps(): "0+600x29 stale", **fresh},
            {minute: [] for minute in (31, 36, 47, 52, 57, 60, 90)},
        ),
    )
    yield (
        "a hanging leader is replaced",
        Scenario(
            {running: "2+0x39 stale", one.steps(): "0+600x20 12000+0x18 stale", **fresh},
            {26: [], 27: [hangs], 39: [hangs], **{minute: [] for minute in (40, 44, 47, 50, 60)}},
        ),
    )
    yield (
        "a hanging leader is replaced at once",
        Scenario(
            {
                running: "2+0x39 stale",
                one.steps(): "0+600x20 12000+0x18 stale",
                again.engine("num_requests_running"): f"_x40 {steady(0)}",
                again.steps(): f"_x40 {steady(12000)}",
            },
            {39: [hangs], **{minute: [] for minute in (41, 42, 43, 44, 50)}},
        ),
    )


# ── load ─────────────────────────────────────────────────────────────────────────────────────────


def _load(
    one: Leader, two: Leader, first: str, *, autoscaled: bool
) -> Iterator[tuple[str, Scenario]]:
    waiting, preempted = one.engine("num_requests_waiting"), one.engine("num_preemptions_total")
    # Twice the target of 8; the window of the autoscaler, the worst cold start and five minutes.
    limit, after = (16, 22) if autoscaled else (20, 10)
    deep = in_namespace(QUEUE, limit + 1)
    yield "nothing is wrong with engines", Scenario({}, {1: [], 90: []})
    yield (
        "one group has all the queue",
        Scenario(
            {waiting: then((0, 20), (2 * limit + 2, 40), (0, 1))},
            {19 + after: [], 20 + after: [deep], 59: [deep], 61: []},
        ),
    )
    yield "a queue is as long as it may be", Scenario({waiting: steady(2 * limit)}, {90: []})
    gone: dict[str, str | None] = dict.fromkeys(two.healthy())
    yield (
        "one group of two is there",
        Scenario({**gone, waiting: steady(limit + 1)}, {after - 1: [], after: [deep]}),
    )
    full = at(first, CACHE, 0.97)
    yield (
        "a cache is full and requests wait for it",
        Scenario(
            {one.cache: "0.4+0x19 0.97+0x39 0.4+0x60", waiting: "1 0 0 " * 40},
            {29: [], 30: [full], 59: [full], 61: []},
        ),
    )
    yield "a cache is full and nobody waits", Scenario({one.cache: "0.99+0x120"}, {90: []})
    yield (
        "a cache is nearly full",
        Scenario({one.cache: "0.95+0x120", waiting: steady(3)}, {90: []}),
    )
    yield (
        "the cache of one group is full and requests wait for another",
        Scenario({one.cache: "1+0x120", two.engine("num_requests_waiting"): steady(3)}, {90: []}),
    )
    yield (
        "a group takes requests their cache",
        Scenario(
            {preempted: "0+0x20 10+10x49 500+0x50"},
            {30: [], 50: [at(first, PREEMPTED, 150)], 70: [at(first, PREEMPTED, 150)], 90: []},
        ),
    )
    yield (
        "a group takes some requests their cache",
        Scenario({preempted: "0+5x120"}, {60: [], 90: []}),
    )
    yield (
        "a quiet group takes a request its cache now and then",
        Scenario({preempted: "0+0.5x120", one.finished("stop"): steady(0)}, {60: [], 90: []}),
    )
    yield (
        "the server answers with errors",
        Scenario(
            {one.answers("5xx"): "0+0x20 40+40x39 1600+0x60"},
            {20: [], 50: [in_namespace(ERRORS, 0.25)], 60: [in_namespace(ERRORS, 0.25)], 90: []},
        ),
    )
    yield "the server answers with few errors", Scenario({one.answers("5xx"): "0+5x120"}, {60: []})
    yield (
        "of few requests four fail",
        Scenario(
            {
                one.answers("2xx"): steady(9),
                two.answers("2xx"): steady(9),
                one.answers("5xx"): "0+0x30 4+0x90",
            },
            {minute: [] for minute in (31, 35, 40, 44)},
        ),
    )
    yield (
        "as many requests fail as are told, and as may fail",
        Scenario(
            {
                two.answers("2xx"): steady(9),
                one.answers("2xx"): then((9, 70), (104, 1)),
                one.answers("5xx"): then((0, 30), (5, 40), (10, 1)),
            },
            {30: [], 40: [in_namespace(ERRORS)], 75: [], 80: []},
        ),
    )
    yield (
        "as many requests lose their cache as may, one more, and a tenth of those that finish",
        Scenario(
            {
                one.finished("stop"): then((9, 100), (209, 1)),
                preempted: then((0, 30), (10, 40), (21, 30), (41, 1)),
            },
            {42: [], 44: [], 82: [at(first, PREEMPTED, 11)], 112: []},
        ),
    )
    queues: dict[str, str | None] = {
        name: steady(limit) for name in (waiting, two.engine("num_requests_waiting"))
    }
    once = {**one.healthy(), **two.healthy(), **queues}
    yield (
        "a second monitor scrapes the leaders",
        Scenario({**queues, **by_another_monitor(once)}, {90: []}),
    )
    halves: dict[str, str | None] = dict.fromkeys(
        (one.cache, one.cache.replace('engine="0"', 'engine="1"')), "0.6+0x120"
    )
    yield (
        "two engines of a pod have caches of their own",
        Scenario({**halves, waiting: steady(3)}, {60: []}),
    )
    yield "clients go away", Scenario({one.finished("abort"): "0+60x120"}, {60: [], 90: []})


# ── slow answers ─────────────────────────────────────────────────────────────────────────────────


def _slow(one: Leader, two: Leader) -> Iterator[tuple[str, Scenario]]:
    """Objective: 0.95 within 2.5 s, so that 0.72 of an hour pages and 0.3 of six warn."""
    spoilt = "0+60x20 1200+0x69 1260+60x30"
    yield (
        "first tokens are slow for an hour and more",
        Scenario(
            {one.fast: spoilt, two.fast: spoilt},
            {
                25: [],
                43: [],
                60: [in_namespace(STEADILY_SLOW)],
                70: [in_namespace(SLOW), in_namespace(STEADILY_SLOW)],
                119: [],
            },
        ),
    )
    burst = "0+60x60 3600+0x5 3660+60x54"
    yield (
        "first tokens are slow for five minutes",
        Scenario({one.fast: burst, two.fast: burst}, {minute: [] for minute in (64, 66, 68, 80)}),
    )
    late = "0+60x80 4800+0x40"
    yield (
        "first tokens are slow for half an hour",
        Scenario({one.fast: late, two.fast: late}, {minute: [] for minute in (90, 105, 110)}),
    )
    half = "0+15x120"
    yield (
        "one group of two is a little slow",
        Scenario({one.fast: "0+36x120", two.fast: "0+60x120"}, {60: [], 100: []}),
    )
    yield (
        "one group of two is slow",
        Scenario({one.fast: half}, {60: [in_namespace(STEADILY_SLOW, 0.375)]}),
    )
    few: dict[str, str | None] = dict.fromkeys((one.tokens, two.tokens), "0+0.1x120")
    yield (
        "all of few first tokens are slow",
        Scenario({**few, one.fast: steady(0), two.fast: steady(0)}, {60: [], 110: []}),
    )
