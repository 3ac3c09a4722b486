"""What brings an autoscaler its metric, and the command that shows it: KEDA, prometheus-adapter, or another adapter.

A metric that nobody brings stops the autoscaler where it stands, and nothing else fails.
"""

from collections.abc import Iterator, Mapping

from gangform.apis import keda
from gangform.apis.keys import CUSTOM_METRICS, EXTERNAL_METRICS
from gangform.findings import Prerequisite
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Serving
from gangform.plan.scaling import ScalingPlan

ADAPTER_FILE = "prometheus-adapter.yaml"
"""The adapter's rules, below `out/<cluster>/`."""
_RULE = """; for prometheus-adapter:
externalRules:
- seriesQuery: '{{__name__="{series}"}}'
  resources: {{overrides: {{namespace: {{resource: namespace}}}}}}
  name: {{as: {metric}}}
  metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}})'"""
"""One value for what the autoscaler selects; its namespace and labels arrive as matchers (prometheus-adapter: docs)."""


def prerequisites(
    serving: Serving, cluster: Cluster, scaling: ScalingPlan, leaders: Mapping[str, str]
) -> Iterator[Prerequisite]:
    """What has to be there for the autoscaler to move. `leaders` selects the workload's leaders."""
    if scaling.keda is not None:
        yield from _keda(cluster, scaling.keda.triggers[0].query, scaling.keda.server)
        if not scaling.lowest:
            yield Prerequisite(
                what=f"a front end before {serving.name} that holds requests while there is no group, whose "
                f"`{scaling.keda.triggers[-1].query}` is one number, at zero groups too",
                check=_ask(scaling.keda.server, scaling.keda.triggers[-1].query),
                without="requests fail while there is no group, and none of them brings one",
            )
        return
    labels = _joined(scaling.selector)
    named = f"the {scaling.type.lower()} metric {scaling.metric}"
    series = f", with the labels {labels}" if labels else ""
    if scaling.type == "Pods":
        named = f"the metric {scaling.metric} of pods"
        chosen = f"?labelSelector={_joined(leaders)}" + (
            f"&metricLabelSelector={labels}" if labels else ""
        )
        path = f"{CUSTOM_METRICS}/namespaces/{serving.namespace}/pods/*/{scaling.metric}{chosen}"
        without = "the autoscaler holds its number and says FailedGetPodsMetric"
    else:
        chosen = f"?labelSelector={labels}" if labels else ""
        path = f"{EXTERNAL_METRICS}/namespaces/{serving.namespace}/{scaling.metric}{chosen}"
        without = "the autoscaler holds its number and says FailedGetExternalMetric"
    yield Prerequisite(
        what=f"{_adapter(cluster, scaling)} {named} in namespace {serving.namespace}{series}"
        f"{_rule(cluster, scaling)}",
        check=f"kubectl get --raw '/apis/{path}'",
        without=without,
    )


def _joined(labels: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" for key, value in labels.items())


def _adapter(cluster: Cluster, scaling: ScalingPlan) -> str:
    """Who serves the metric."""
    if cluster.metrics_adapter != "prometheus-adapter":
        return "an adapter that serves"
    if scaling.series is None:
        return "prometheus-adapter with a rule of yours for"
    return f"prometheus-adapter with the rules of out/{cluster.name}/{ADAPTER_FILE}, which serves"


def _rule(cluster: Cluster, scaling: ScalingPlan) -> str:
    """The rule, where no file has it."""
    if cluster.metrics_adapter == "prometheus-adapter" or scaling.series is None:
        return ""
    return _RULE.format(series=scaling.series, metric=scaling.metric)


def _ask(server: str, query: str) -> str:
    """A command that puts a query to Prometheus from inside the cluster."""
    quoted = query.replace("'", "'\\''")
    return (
        "kubectl run ask-prometheus -it --rm --restart=Never --image=curlimages/curl -- "
        f"-sG {server or 'ADDRESS'}/api/v1/query --data-urlencode 'query={quoted}'"
    )


def _keda(cluster: Cluster, query: str, server: str) -> Iterator[Prerequisite]:
    yield Prerequisite(
        what=f"KEDA {cluster.versions.keda or keda.OLDEST}",
        check=f"kubectl get crd {keda.DEFINITION} && kubectl get deploy -A -l {keda.OPERATOR}",
        without="nothing scales: a new set keeps 1 group, and the API server knows no ScaledObject",
    )
    yield Prerequisite(
        what=f"Prometheus at {server or 'an address that the cluster has to say'}, which KEDA may ask",
        check=_ask(server, query),
        without="KEDA keeps the groups that are there, and the ScaledObject says FALLBACK True",
    )
