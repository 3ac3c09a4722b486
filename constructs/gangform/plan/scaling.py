"""How many groups, and how an autoscaler moves between bounds: one group a step, no faster than a cold start.

An External metric with AverageValue is not confused by leaders that are still loading, and one step of the target is
one group, since the scale subresource of a LeaderWorkerSet counts groups (`observability §3.2`, `lab E5`). A Pods
metric is averaged over the pods that the same subresource selects, which are the leaders.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from gangform.admission.admission import Policy
from gangform.apis.alerting import series_label
from gangform.apis.autoscaling import LONGEST_PERIOD, LONGEST_WINDOW, SHORTEST_PERIOD
from gangform.apis.forms import Form
from gangform.apis.keda import autoscaler
from gangform.apis.keys import CUSTOM_METRICS, EXTERNAL_METRICS
from gangform.engines.engine import Engine
from gangform.findings import Finding, InputPath, Path, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import Defaults
from gangform.inputs.serving import Serving
from gangform.plan import triggers
from gangform.plan.figures import formula
from gangform.plan.startup import StartupPlan
from gangform.units import Seconds

NO_ADAPTER = declare(
    "autoscaling-without-adapter",
    "An autoscaler needs somebody who brings its metric",
    Severity.BREAKS,
    "design §4 Autoscaling; lab E5",
)
NOT_SCALED = declare(
    "autoscaling-not-possible",
    "Under this backend each group is an object of its own, which no autoscaler can add",
    Severity.BREAKS,
    "lab E8",
)
ONE_AT_LEAST = declare(
    "autoscaling-floor-of-one",
    "With one group at the least, a rollout or a drain leaves none serving",
    Severity.DEGRADES,
    "observability §3.3",
)
TYPE_NOT_SERVED = declare(
    "autoscaling-type-not-served",
    "Metrics of pods come from an adapter for custom metrics alone",
    Severity.BREAKS,
    "observability §3.2, §3.4; KEDA: triggers are external metrics",
)
SELECTOR_OWNED = declare(
    "autoscaling-selector-owned",
    "The label that tells this serving's series from others' follows from the plan",
    Severity.BREAKS,
    "observability §3.2",
)
UNSCRAPED = declare(
    "autoscaling-not-scraped",
    "Without a monitor of ours no series carries the label that the autoscaler selects by",
    Severity.DEGRADES,
    "observability §1.4, §3.2",
)


SERVES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"external": ("External",), "prometheus-adapter": ("External", "Pods"), "keda": ("External",)}
)
"""The types of metrics that each `metricsAdapter` brings; none where it is missing."""


class ScalingPlan(NamedTuple):
    """An autoscaler on one workload."""

    autoscaler: str
    """Name of the HorizontalPodAutoscaler, ours or KEDA's."""
    lowest: int
    highest: int
    type: str
    """`External` or `Pods`."""
    metric: str
    series: str | None
    """What an adapter makes the metric of; `None` where the user named a metric, and nobody else knows."""
    selector: Mapping[str, str]
    """Labels of the metric's series."""
    target: int
    step: int
    """Groups that one step adds or takes."""
    up_window: Seconds
    """The lowest wish of this time counts before a group is added."""
    up_period: Seconds
    """At most one group is added in this time."""
    down_window: Seconds
    """The highest wish of this time counts before a group is taken."""
    down_period: Seconds
    """At most one group is taken in this time."""
    keda: triggers.KedaPlan | None
    """`None`: a HorizontalPodAutoscaler of ours."""


@formula(
    "worst cold start, from 1s to 30m", source="observability §3.3; validation of autoscaling/v2"
)
def up_period(worst: Seconds) -> Seconds:
    """No second group before the first one can help."""
    return max(SHORTEST_PERIOD, min(worst, LONGEST_PERIOD))


@formula(
    "min(2 x worst cold start, 60m)", source="observability §3.3; validation of autoscaling/v2"
)
def down_window(worst: Seconds) -> Seconds:
    """A wrong scale-down costs a full load, so it waits for two."""
    return min(Seconds(2 * worst), LONGEST_WINDOW)


def own_selector(pods: Mapping[str, str]) -> Mapping[str, str]:
    """The labels of the series that a scrape of these pods makes."""
    return {series_label(key): value for key, value in pods.items()}


def derive(
    serving: Serving,
    *,
    name: str,
    engine: Engine,
    cluster: Cluster,
    startup: StartupPlan,
    pods: Mapping[str, str],
    defaults: Defaults,
) -> ScalingPlan | None:
    """The autoscaler of the workload `name`; `None` where the number of groups is fixed. `pods` selects its pods."""
    asked = serving.autoscaling
    if asked is None:
        return None
    waiting, by_keda = engine.waiting_metric, cluster.metrics_adapter == "keda"
    # The pods themselves tell servings apart where the metric is theirs.
    own = {} if asked.type == "Pods" else own_selector(pods)
    selector = {**asked.selector, **own}
    target = defaults.scaling_target if asked.target is None else asked.target
    window = down_window(startup.worst)
    spelled = waiting if by_keda else waiting.replace(":", "_")
    return ScalingPlan(
        autoscaler=autoscaler(name) if by_keda else name,
        lowest=asked.min,
        highest=asked.max,
        type=asked.type,
        metric=spelled if asked.metric is None else asked.metric,
        series=waiting if asked.metric is None else None,
        selector=selector,
        target=target,
        step=defaults.scaling_step,
        up_window=defaults.scaling_up_window,
        up_period=up_period(startup.worst),
        down_window=window,
        down_period=up_period(startup.worst),
        keda=triggers.derive(
            asked,
            engine=engine,
            cluster=cluster,
            namespace=serving.namespace,
            selector=selector,
            target=target,
            down_window=window,
            defaults=defaults,
        )
        if by_keda
        else None,
    )


def check(
    serving: Serving,
    *,
    policy: Policy,
    form: Form,
    cluster: Cluster,
    startup: StartupPlan,
    pods: Mapping[str, str],
    at: Path,
) -> Iterator[Finding]:
    """Whether an autoscaler can work here. `pods` selects the workload's pods."""
    asked = serving.autoscaling
    if asked is None:
        return
    here = (*at, "autoscaling")
    if not policy.scales and form.can.runs_groups:
        yield Finding(
            code=NOT_SCALED,
            at=InputPath(here),
            what=f"autoscaling from {asked.min} to {asked.max} groups under {serving.admission.backend}",
            fix="fix the number of `groups`, or use another backend",
        )
    served = SERVES.get(cluster.metrics_adapter, ())
    if not served:
        yield Finding(
            code=NO_ADAPTER,
            at=InputPath(here),
            what=f"autoscaling, but metricsAdapter of cluster {cluster.name} is `{cluster.metrics_adapter}`",
            fix="install KEDA and set `metricsAdapter: keda`, or prometheus-adapter and set it so, or write `external` "
            f"for another adapter that serves {EXTERNAL_METRICS}; or fix the number of `groups`",
        )
    elif asked.type not in served:
        yield Finding(
            code=TYPE_NOT_SERVED,
            at=InputPath((*here, "type")),
            what=f"type {asked.type} with metricsAdapter `{cluster.metrics_adapter}`, which serves no {CUSTOM_METRICS}",
            fix="use type External, or `metricsAdapter: prometheus-adapter`",
        )
    yield from triggers.check(asked, cluster=cluster, startup=startup, here=here)
    own = {} if asked.type == "Pods" else own_selector(pods)
    for label in asked.selector:
        if label in own:
            yield Finding(
                code=SELECTOR_OWNED,
                at=InputPath((*here, "selector", label)),
                what=f"{label}: {asked.selector[label]}, and the plan selects {label}: {own[label]}",
                fix="remove the line, or select by a label of your own",
            )
    if asked.metric is None and own and not cluster.monitoring.enabled:
        labels = ", ".join(f"{label}={value}" for label, value in own.items())
        yield Finding(
            code=UNSCRAPED,
            at=InputPath(here),
            what=f"monitoring of cluster {cluster.name} is off, so no PodMonitor of ours gives series the label "
            f"{labels} that the autoscaler selects by",
            fix="set `monitoring.enabled: true`, or scrape the leaders yourself with that label and name the `metric`",
        )
    if asked.min == 1:
        yield Finding(
            code=ONE_AT_LEAST,
            at=InputPath((*here, "min")),
            what="min 1: at the least one group serves, and a rollout or a drain takes it",
            fix="use min 2",
        )


def remarks(serving: Serving, startup: StartupPlan, plan: ScalingPlan | None) -> list[str]:
    """How a serving becomes an autoscaled one, and what is not promised."""
    if plan is None:
        return []
    order = (
        "from a fixed number: let the autoscaler act before an apply leaves `replicas` out, else 1 group is left; "
        "`gangform diff` prints the order"
    )
    return [order, *triggers.remarks(serving.autoscaling, startup, plan.keda)]
