"""What KEDA asks Prometheus, and what it does without an answer; and whether a serving can go to zero groups and back.

At zero groups no engine exports anything, so that only a front end which holds requests can say that somebody waits.
And an empty queue is no idle serving: what is being answered keeps the last group.
"""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from gangform.apis import keda
from gangform.apis.metrics import has_samples, strange, unclosed
from gangform.apis.promql import equal
from gangform.engines.engine import Engine
from gangform.engines.exports import engine_alone
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults
from gangform.inputs.serving import Autoscaling
from gangform.plan.figures import formula
from gangform.plan.startup import StartupPlan
from gangform.units import Seconds

NO_PROMETHEUS = declare(
    "autoscaling-without-prometheus",
    "KEDA asks Prometheus by itself, and nobody said where it is",
    Severity.BREAKS,
    "observability §3.5",
)
ZERO_WITHOUT_KEDA = declare(
    "scale-to-zero-without-keda",
    "A HorizontalPodAutoscaler takes no set to zero groups",
    Severity.BREAKS,
    "observability §3.2; lab E5; Kubernetes: gate HPAScaleToZero",
)
ZERO_WITHOUT_BUFFER = declare(
    "scale-to-zero-without-buffer",
    "At zero groups nothing says that a request waits, unless a front end holds it and counts it",
    Severity.BREAKS,
    "observability §3.5",
)
ZERO_COLD = declare(
    "scale-to-zero-outlasts-clients",
    "The first request after zero groups waits for a cold start, longer than anybody is known to wait",
    Severity.DEGRADES,
    "observability §3.5",
)
BUFFER_UNUSED = declare(
    "autoscaling-buffer-unused",
    "Only KEDA asks for the requests that a front end holds",
    Severity.BREAKS,
    "observability §3.5",
)
HOLDS_UNUSED = declare(
    "autoscaling-buffer-time-unused",
    "How long a front end holds requests matters only to a serving that goes to zero groups",
    Severity.STYLE,
    "observability §3.5",
)
BUFFER_BROKEN = declare(
    "autoscaling-buffer-broken",
    "The query of a front end's requests is no PromQL, so KEDA gets an error in the place of a number",
    Severity.BREAKS,
    "Prometheus: querying",
)
BUFFER_OF_ENGINE = declare(
    "autoscaling-buffer-of-engine",
    "The query of a front end's requests asks for a series of the engine, which is gone with the last group",
    Severity.BREAKS,
    "observability §3.5; engines §4",
)
_QUERY_FIX = "ask for what the front end exports, such as `sum(llm_d_epp_flow_control_queue_size)`"


class Trigger(NamedTuple):
    """One question to Prometheus."""

    name: str
    query: str
    threshold: int
    """Value a group at which one more is wanted."""


class KedaPlan(NamedTuple):
    """What a ScaledObject has beside its bounds and its behaviour."""

    server: str
    """Address of Prometheus; empty where nobody said it, which is refused."""
    triggers: tuple[Trigger, ...]
    """The first is the signal."""
    failures: int
    """Answers missed in a row, after which the fallback counts."""
    fallback: int
    """Groups wanted at the least without an answer, where one is there; more that are there stay."""
    cooldown: Seconds | None
    """From the last request to zero groups; `None` where one group stays."""

    @property
    def vital(self) -> Trigger:
        """The question that must have a result: the signal, or where it may rest at zero that of the front end."""
        return self.triggers[0 if self.cooldown is None else -1]


@formula("max(1, min)", source="observability §3.5")
def fallback(lowest: int) -> int:
    """Without an answer nobody knows whether somebody waits, so the last group stays.

    A serving that is at zero then stays there: its HorizontalPodAutoscaler is off, and KEDA leaves such a target alone
    (`pkg/scaling/executor/scale_scaledobjects.go` of 2.18.0).
    """
    return max(1, lowest)


def derive(
    asked: Autoscaling,
    *,
    engine: Engine,
    cluster: Cluster,
    namespace: str,
    selector: Mapping[str, str],
    target: int,
    down_window: Seconds,
    defaults: Defaults,
) -> KedaPlan:
    """Queries with the serving's own matchers. `selector`: labels of its series."""
    mine = ", ".join(
        equal(label, value) for label, value in {"namespace": namespace, **selector}.items()
    )
    # Without a group there is no series: that is no failure, which would keep the last group and hide a real one.
    or_none = "" if asked.min else " or vector(0)"
    waiting = engine.waiting_metric if asked.metric is None else asked.metric
    triggers = [Trigger("waiting", f"sum({waiting}{{{mine}}}){or_none}", target)]
    if not asked.min:
        running = f"sum({engine.running_metric}{{{mine}}}){or_none}"
        triggers.append(Trigger("running", f"({running}) > bool 0", 1))
    if asked.buffer_query is not None:
        triggers.append(Trigger("buffer", asked.buffer_query, target))
    return KedaPlan(
        server=cluster.monitoring.prometheus or "",
        triggers=tuple(triggers),
        failures=defaults.scaling_failures,
        fallback=fallback(asked.min),
        cooldown=None if asked.min else down_window,
    )


def check(
    asked: Autoscaling, *, cluster: Cluster, startup: StartupPlan, here: Path
) -> Iterator[Finding]:
    """Whether KEDA finds what it asks for, and whether zero groups are a place to come back from."""
    with_keda = cluster.metrics_adapter == "keda"
    if with_keda and cluster.monitoring.prometheus is None:
        yield Finding(
            code=NO_PROMETHEUS,
            at=InputPath(here),
            what=f"autoscaling under KEDA, and cluster {cluster.name} does not say where its Prometheus is",
            fix="write its address: `monitoring: {prometheus: http://prometheus-operated.monitoring:9090}`",
        )
    if asked.min == 0 and not with_keda:
        yield Finding(
            code=ZERO_WITHOUT_KEDA,
            at=InputPath((*here, "min")),
            what=f"min 0 with metricsAdapter `{cluster.metrics_adapter}`: a HorizontalPodAutoscaler that reads 0 "
            "groups stops, unless the gate HPAScaleToZero is on",
            fix="use min 1, or KEDA: `metricsAdapter: keda`",
        )
    elif asked.min == 0 and asked.buffer_query is None:
        yield Finding(
            code=ZERO_WITHOUT_BUFFER,
            at=InputPath((*here, "min")),
            what="min 0 without `bufferQuery`: requests fail while there is no group, and none of them brings one",
            fix="use min 1, or put a front end that holds requests before it, and name its series: "
            "`bufferQuery: sum(llm_d_epp_flow_control_queue_size)`",
        )
    elif asked.min == 0:
        yield from _cold(asked, startup, here)
    elif asked.buffer_holds is not None:
        yield Finding(
            code=HOLDS_UNUSED,
            at=InputPath((*here, "bufferHolds")),
            what=f"bufferHolds {asked.buffer_holds} with min {asked.min}: a request never waits for a first group",
            fix="leave it out",
        )
    if asked.buffer_query is not None:
        yield from _buffer(asked.buffer_query, cluster, (*here, "bufferQuery"))


def _cold(asked: Autoscaling, startup: StartupPlan, here: Path) -> Iterator[Finding]:
    """Whether the first request lives to see its group."""
    holds = asked.buffer_holds
    if holds is not None and holds >= startup.worst:
        return
    said = "nobody says how long clients wait" if holds is None else f"clients wait for {holds}"
    yield Finding(
        code=ZERO_COLD,
        at=InputPath((*here, "min" if holds is None else "bufferHolds")),
        what=f"min 0: the first request waits {startup.cold_start} for a cold start, {startup.worst} at the worst, "
        f"and {said}",
        fix=f"let front end and clients wait for {startup.worst} and write `bufferHolds: {startup.worst}`; or use "
        "min 1",
        seen={"coldStart": f"{startup.cold_start}", "worst": f"{startup.worst}"},
    )


def _buffer(query: str, cluster: Cluster, at: Path) -> Iterator[Finding]:
    if cluster.metrics_adapter != "keda":
        yield Finding(
            code=BUFFER_UNUSED,
            at=InputPath(at),
            what=f"bufferQuery with metricsAdapter `{cluster.metrics_adapter}`",
            fix="leave it out, or use KEDA: `metricsAdapter: keda`",
        )
    elif left := unclosed(query):
        yield Finding(
            code=BUFFER_BROKEN,
            at=InputPath(at),
            what=f"`{left}` has no other half in `{query}`",
            fix="close what is opened",
        )
    elif sign := strange(query):
        yield Finding(
            code=BUFFER_BROKEN,
            at=InputPath(at),
            what=f"`{sign}` stands in `{query}`, and PromQL has no use for it outside of quotes",
            fix=_QUERY_FIX,
        )
    elif not has_samples(query):
        yield Finding(
            code=BUFFER_BROKEN,
            at=InputPath(at),
            what=f"the result of `{query}` is no sample of one moment, which KEDA reads",
            fix=_QUERY_FIX,
        )
    elif engine_alone(query):
        yield Finding(
            code=BUFFER_OF_ENGINE,
            at=InputPath(at),
            what=f"`{query}` is a series of the engine, which is asked for anyway, and at zero groups there is none",
            fix=_QUERY_FIX,
        )


def remarks(asked: Autoscaling | None, startup: StartupPlan, plan: KedaPlan | None) -> list[str]:
    """What is not promised under KEDA."""
    if asked is None or plan is None:
        return []
    kept = f"{plan.fallback} at the least" if asked.min else "and brings none where there is none"
    made = [
        f"without an answer from Prometheus KEDA keeps the groups that are there, {kept}, and no alert of a "
        f"HorizontalPodAutoscaler sees it: `kubectl get {keda.KIND.lower()}` shows FALLBACK True"
    ]
    if not asked.min:
        made.append(
            f"after {plan.cooldown} without a request no group is left; the next request waits {startup.cold_start} "
            f"for a cold start, {startup.worst} at the worst"
        )
    return made
