"""What is watched of the engine: limits of its alerts from the plan, what it cannot show, and the objective.

The engine knows its series by release; the plan says how long a prompt may take, how many requests may wait, and by
which labels the series of this serving are told from others'.
"""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal

from gangform.apis.promql import equal
from gangform.engines.engine import Engine, LaunchRequest, Objective, Watched
from gangform.findings import Finding, InputPath, Severity, declare
from gangform.inputs.cluster import Cluster
from gangform.inputs.defaults import AlertDefaults
from gangform.inputs.serving import Serving
from gangform.plan.figures import formula
from gangform.plan.monitoring import MonitoringPlan
from gangform.plan.role import WorkloadPlan
from gangform.plan.scaling import ScalingPlan, own_selector
from gangform.units import Seconds

NO_BOUND = declare(
    "objective-not-a-bound",
    "A time to the first token between two bounds of the engine's histogram, where nobody counts",
    Severity.BREAKS,
    "observability §2; vLLM: v1/metrics/loggers.py",
)
NOT_WATCHED = declare(
    "objective-not-watched",
    "An objective that no alert holds the serving to",
    Severity.DEGRADES,
    "engines §4",
)


@formula("max(5m, context / 500 tokens a second)", source="vLLM: AsyncLLM.output_handler")
def engine_quiet(least: Seconds, context: int, rate: int) -> Seconds:
    """A step that only reads a part of a prompt gives no token and is not counted, so the longest prompt is no hang."""
    return max(least, Seconds(-(-context // rate)))


@formula("20 a ready group; 2 x the target of an autoscaler", source="observability §1.8, §3.3")
def queue_limit(scaling: ScalingPlan | None, waiting_metric: str, limits: AlertDefaults) -> int:
    """How many requests may wait a ready group. A target that counts something else says nothing of waiting ones.

    An adapter of custom metrics knows the series without its colon, KEDA asks for it as it is.
    """
    if scaling is None or scaling.metric.replace(":", "_") != waiting_metric.replace(":", "_"):
        return limits.queue
    return limits.queue_over_target * scaling.target


@formula(
    "10m; with an autoscaler its window + worst cold start + margin", source="observability §3.3"
)
def queue_after(scaling: ScalingPlan | None, starting: Seconds, limits: AlertDefaults) -> Seconds:
    """An autoscaler that answers to the queue needs a start until its group takes part of it."""
    if scaling is None:
        return limits.queue_deep
    return max(limits.queue_deep, Seconds(scaling.up_window + starting))


def derive(
    plan: MonitoringPlan,
    serving: Serving,
    engine: Engine,
    ask: LaunchRequest,
    workloads: Sequence[WorkloadPlan],
) -> MonitoringPlan:
    """The plan with what the engine tells."""
    if not plan.enabled:
        return plan
    limits, scaling = plan.limits, workloads[0].role.scaling
    own = {"namespace": serving.namespace, **own_selector(_labels(workloads))}
    watched = Watched(
        matchers=tuple(equal(label, value) for label, value in own.items()),
        who=f"{serving.name} in namespace {{{{ $labels.namespace }}}}",
        quiet=engine_quiet(limits.engine_quiet, serving.context, limits.prompt_tokens_a_second),
        queue=queue_limit(scaling, engine.waiting_metric, limits),
        queue_after=queue_after(scaling, plan.not_ready_after, limits),
        limits=limits,
        objective=_objective(serving, engine.first_token_bounds(ask)),
    )
    return plan._replace(
        engine_alerts=tuple(engine.alerts(ask, watched)),
        blind_spots=tuple(engine.blind_spots(ask)),
    )


def _labels(workloads: Sequence[WorkloadPlan]) -> Mapping[str, str]:
    """Labels that all pods of the serving have, and no others, of those that the monitor copies to their series."""
    first = workloads[0].role.identity
    pods = [workload.role.identity.selectors.pods for workload in workloads]
    return first.selectors.pods if all(one == pods[0] for one in pods) else first.pod_labels


def _objective(serving: Serving, bounds: Sequence[str]) -> Objective | None:
    """The objective in the engine's spelling; `None` where there is none, or none that it counts by."""
    if serving.objectives is None:
        return None
    wanted = Decimal(serving.objectives.time_to_first_token.removesuffix("s"))
    for bound in bounds:
        if Decimal(bound) == wanted:
            return Objective(bound=bound, share=serving.objectives.share)
    return None


def check(
    serving: Serving, cluster: Cluster, engine: Engine, ask: LaunchRequest
) -> Iterator[Finding]:
    """Whether an alert holds the serving to its objective."""
    asked = serving.objectives
    if asked is None:
        return
    at = InputPath((*ask.at, "objectives", "timeToFirstToken"))
    bounds = engine.first_token_bounds(ask)
    if not cluster.monitoring.enabled or not bounds:
        why = (
            f"{engine.name} {ask.release} exports no times to the first token whose bounds are known"
            if cluster.monitoring.enabled
            else f"monitoring of cluster {cluster.name} is off"
        )
        yield Finding(
            code=NOT_WATCHED,
            at=at,
            what=f"timeToFirstToken {asked.time_to_first_token}, and {why}",
            fix="remove `objectives`, or what keeps the engine's series away",
        )
    elif _objective(serving, bounds) is None:
        yield Finding(
            code=NO_BOUND,
            at=at,
            what=f"timeToFirstToken {asked.time_to_first_token} is none of the times that {engine.name} "
            f"{ask.release} counts by",
            fix=f"use one of {', '.join(f'{bound}s' for bound in bounds)}",
        )
