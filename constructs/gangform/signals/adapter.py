"""Rules by which prometheus-adapter serves the metrics that our autoscalers ask for, as values of its chart.

One rule a series and type, whatever servings ask for it: which of them is meant says the autoscaler, whose namespace
and labels, or pods, arrive as matchers. A name in the API has no colon, and ranks of one pod are one number.

Format: `rules.external` and `rules.custom` of the chart prometheus-adapter, which become `externalRules` and `rules` of
the adapter (prometheus-adapter: pkg/config, docs/externalmetrics.md).
"""

from __future__ import annotations

from collections.abc import Iterator

from gangform.plan.adapters import ADAPTER_FILE
from gangform.plan.cluster import ClusterPlan

_HEAD = """\
# Values for the chart prometheus-adapter, whose release they are added to:
#   helm upgrade RELEASE prometheus-community/prometheus-adapter --reuse-values -f {file}
# Lists of values replace each other: with rules of your own there, put these beside them.
rules:
"""
_EXTERNAL = """\
    # The autoscaler's namespace and labels are the matchers: one number for its serving.
    - seriesQuery: '{series}{{namespace!=""}}'
      resources: {{overrides: {{namespace: {{resource: namespace}}}}}}
      name: {{as: {metric}}}
      metricsQuery: 'sum(<<.Series>>{{<<.LabelMatchers>>}})'
"""
_PODS = """\
    # One number a leader, whatever ranks it has; a series without namespace or pod is not seen.
    - seriesQuery: '{series}{{namespace!="",pod!=""}}'
      resources: {{overrides: {{namespace: {{resource: namespace}}, pod: {{resource: pod}}}}}}
      name: {{as: {metric}}}
      metricsQuery: 'sum by (<<.GroupBy>>) (<<.Series>>{{<<.LabelMatchers>>}})'
"""
_RULES = {"External": ("external", _EXTERNAL), "Pods": ("custom", _PODS)}


def asked(plan: ClusterPlan) -> bool:
    """Whether the cluster has that adapter, and something is scaled by it."""
    scaled = any(serving.lead.scaling is not None for serving in plan.servings)
    return plan.cluster.metrics_adapter == "prometheus-adapter" and scaled


def files(plan: ClusterPlan) -> Iterator[tuple[str, str]]:
    """The file with the adapter's rules; none where the cluster has another adapter, or no rule is ours to write."""
    if not asked(plan):
        return
    wanted = {
        (scaling.type, scaling.series, scaling.metric)
        for serving in plan.servings
        for workload in serving.workloads
        if (scaling := workload.role.scaling) is not None and scaling.series is not None
    }
    lines = [_HEAD.format(file=ADAPTER_FILE)]
    for type_, (place, text) in _RULES.items():
        found = sorted((series, metric) for one, series, metric in wanted if one == type_)
        if found:
            lines.append(f"  {place}:\n")
            lines += (text.format(series=series, metric=metric) for series, metric in found)
    if wanted:
        yield ADAPTER_FILE, "".join(lines)
