"""Series that exporters really have, those that need a setting first, and those that somebody made up.

Sources: `observability §1.1, §1.2, §1.7, §1.9` (code of kube-state-metrics, Kueue and Volcano, some of it run) and
`engines §4` (vLLM 0.33). A table says *known*, never *all*: only what is certain is called missing.
"""

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Final, Literal, NamedTuple

from gangform.apis.queue_metrics import KUEUE_PENDING, VOLCANO_INQUEUE, VOLCANO_PENDING
from gangform.apis.state_metrics import POD_GROUPS, SERIES, WORKLOADS

Standing = Literal["exported", "routed", "configured", "missing", "unlisted", "unknown"]
"""`routed`: of a router, under the engine's prefix; `configured`: exists where the cluster's kube-state-metrics was
told to make it; `missing`: nobody exports it; `unlisted`: no exporter that is known here, and another may."""


class Metric(NamedTuple):
    """A series, who exports it and the labels that it carries beside those of the scrape."""

    name: str
    exporter: str
    labels: frozenset[str]


def _rows(exporter: str, rows: Mapping[str, str]) -> dict[str, Metric]:
    return {
        name: Metric(name, exporter, frozenset(labels.split())) for name, labels in rows.items()
    }


KUBE_STATE_METRICS: Final[Mapping[str, Metric]] = _rows(
    "kube-state-metrics",
    {
        "kube_pod_status_ready": "namespace pod uid condition",
        "kube_pod_status_phase": "namespace pod uid phase",
        "kube_pod_info": "namespace pod uid node host_ip pod_ip created_by_kind created_by_name "
        "priority_class host_network",
        "kube_pod_created": "namespace pod uid",
        "kube_pod_status_scheduled": "namespace pod uid condition",
        "kube_pod_status_unschedulable": "namespace pod uid",
        "kube_pod_status_reason": "namespace pod uid reason",
        "kube_statefulset_replicas": "namespace statefulset",
        "kube_statefulset_status_replicas": "namespace statefulset",
        "kube_statefulset_status_replicas_ready": "namespace statefulset",
        "kube_statefulset_status_replicas_available": "namespace statefulset",
        "kube_statefulset_status_replicas_current": "namespace statefulset",
        "kube_statefulset_status_replicas_updated": "namespace statefulset",
        "kube_statefulset_status_current_revision": "namespace statefulset revision",
        "kube_statefulset_status_update_revision": "namespace statefulset revision",
        "kube_deployment_spec_replicas": "namespace deployment",
        "kube_deployment_status_replicas": "namespace deployment",
        "kube_deployment_status_replicas_ready": "namespace deployment",
        "kube_deployment_status_replicas_available": "namespace deployment",
        "kube_deployment_status_replicas_updated": "namespace deployment",
        "kube_endpointslice_info": "namespace endpointslice addresstype",
        "kube_endpointslice_endpoints": "namespace endpointslice ready serving terminating "
        "hostname targetref_kind targetref_name targetref_namespace nodename endpoint_zone address",
        "kube_pod_container_resource_requests": "namespace pod uid container node resource unit",
        "kube_node_spec_unschedulable": "node",
        "kube_node_status_condition": "node condition status",
        "kube_node_status_allocatable": "node resource unit",
        "kube_node_labels": "node",
        "kube_horizontalpodautoscaler_spec_max_replicas": "namespace horizontalpodautoscaler",
        "kube_horizontalpodautoscaler_status_desired_replicas": "namespace horizontalpodautoscaler",
        "kube_horizontalpodautoscaler_status_condition": "namespace horizontalpodautoscaler "
        "condition status",
        "kube_poddisruptionbudget_status_current_healthy": "namespace poddisruptionbudget",
        "kube_poddisruptionbudget_status_desired_healthy": "namespace poddisruptionbudget",
    },
)
"""Series of stock kube-state-metrics that rules over groups stand on (`observability §1.2, §1.7`).

A pod that admission holds back is not scheduled and counts as unschedulable, as one that fits nowhere; only
`kube_pod_status_reason{reason="SchedulingGated"}` tells the two apart, from kube-state-metrics 2.19 on (read in
`internal/store/pod.go` of 2.18 to 2.20)."""

STRANGE_LABELS: Final[Mapping[str, frozenset[str]]] = {
    "kube_pod_status_phase": frozenset({"group", "model", "role", "leaderworkerset"}),
    "kube_pod_status_ready": frozenset({"group", "model", "role", "leaderworkerset"}),
}
"""Labels that texts give to series which do not have them: such a matcher selects nothing (`observability §1.1`)."""

CONFIGURED: Final = frozenset(SERIES)
"""Series that a CustomResourceState configuration makes and nothing else (`observability §1.6`)."""

INVENTED: Final[Mapping[str, str]] = {
    "leaderworkerset_leader_ready": "kube_pod_status_ready of the pods <set>-<index>",
    "vllm:decode_batch_utilization": "vllm:num_requests_running",
}
"""Names that no exporter can have, with what there is instead (`observability §1.1`)."""

_SETS_PREFIX: Final = "leaderworkerset_"
_STOCK: Final = {
    _SETS_PREFIX: "the StatefulSets and pods of the set in stock kube-state-metrics",
    f"{WORKLOADS.prefix}_": f"{KUEUE_PENDING} of Kueue, which counts by queue",
    f"{POD_GROUPS.prefix}_": f"{VOLCANO_PENDING} and {VOLCANO_INQUEUE} of Volcano, which count by queue",
}
"""What there is without a configuration, by the prefix of what there is with one."""
_ENGINE_PREFIX: Final = "vllm:"
_ENGINE: Final = frozenset(
    {
        "num_requests_running",
        "num_requests_waiting",
        "num_requests_waiting_by_reason",
        "num_requests_kv_fetch_by_stage",
        "num_requests_swapped",
        "kv_cache_usage_perc",
        "gpu_cache_usage_perc",
        "cpu_cache_usage_perc",
        "prefix_cache_queries",
        "prefix_cache_hits",
        "external_prefix_cache_queries",
        "external_prefix_cache_hits",
        "gpu_prefix_cache_queries",
        "gpu_prefix_cache_hits",
        "num_preemptions",
        "prompt_tokens",
        "generation_tokens",
        "prompt_tokens_cached",
        "request_success",
        "corrupted_requests",
        "admission_rejections",
        "time_to_first_token_seconds",
        "time_per_output_token_seconds",
        "inter_token_latency_seconds",
        "request_time_per_output_token_seconds",
        "e2e_request_latency_seconds",
        "request_queue_time_seconds",
        "request_prefill_time_seconds",
        "request_decode_time_seconds",
        "request_inference_time_seconds",
        "iteration_tokens_total",
        "request_prompt_tokens",
        "request_generation_tokens",
        "request_max_num_generation_tokens",
        "request_params_n",
        "request_params_max_tokens",
        "cache_config_info",
        "engine_sleep_state",
        "lora_requests_info",
    }
)
"""vLLM's own, without prefix and without the suffixes of counters and histograms (`engines §4.1`)."""
_ENGINE_FAMILIES: Final = (
    "spec_decode_",
    "nixl_",
    "mm_",
    "kv_",
    "lora_",
    "request_",
    "prompt_",
    "estimated_",
    "prefix_",
    "external_",
)
"""Families that grow from release to release: a name in one of them is not called missing."""
_ROUTER: Final = frozenset(
    {
        "num_incoming_requests",
        "healthy_pods",
        "current_qps",
        "avg_decoding_length",
        "num_prefill_requests",
        "num_decoding_requests",
        "avg_ttft",
        "avg_latency",
        "avg_itl",
        "router_queueing_delay_seconds",
    }
)
"""Of the router of production-stack, under the engine's prefix."""
_OTHER_ENGINE: Final = frozenset(
    {"num_running_reqs", "num_queue_reqs", "token_usage", "gen_throughput"}
)
"""SGLang's gauges that scale (`engines §4.2`)."""
_ENGINES: Final = {"vllm": _ENGINE, "sglang": _OTHER_ENGINE}
_UNDERLINED: Final = tuple(f"{prefix}_" for prefix in _ENGINES)
_SUFFIXES: Final = ("_total", "_bucket", "_sum", "_count", "_created", "_info")
_NAME: Final = re.compile(r"(?<![\w:$.\-/])[a-zA-Z_][\w:]*+(?!\()")
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_LABELS: Final = re.compile(
    r"\{[^{}]*\}|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)"
)
"""Where a query has names of labels, once its texts are gone."""
_MATCHERS: Final = re.compile(rf"(?<![\w:])({'|'.join(STRANGE_LABELS)})\s*\{{([^{{}}]*)\}}")
_LABEL: Final = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")


def standing(name: str) -> Standing:
    """Whether a series of this name can exist."""
    if name in INVENTED:
        return "missing"
    if name in KUBE_STATE_METRICS:
        return "exported"
    if name in CONFIGURED:
        return "configured"
    if name.startswith(_SETS_PREFIX):
        # The controller registers no metric of its own; only a configuration of one's own can make such a name.
        return "configured"
    if name.startswith(_UNDERLINED):
        return "missing" if with_colon(name) else "unknown"
    if not name.startswith(_ENGINE_PREFIX):
        return "unknown"
    own = name.removeprefix(_ENGINE_PREFIX)
    stems = _stems(own)
    if stems & _ENGINE:
        return "exported"
    if stems & _ROUTER:
        return "routed"
    if own.startswith(_ENGINE_FAMILIES):
        return "unknown"
    return "missing" if _near(own) else "unlisted"


def of_router(name: str) -> bool:
    """Whether a series under an engine's prefix is that of the router before it, which is there without engines."""
    return bool(_stems(name.partition(":")[2]) & _ROUTER)


_SERIES: Final = re.compile(r"\b(?:vllm|sglang)[:_]\w+")
_ELSE: Final = re.compile(r"\bor\b(?!\s*(?:on\s*\(\s*\)\s*)?vector)", re.IGNORECASE)
"""In a query: another series that may have a value where the first has none."""
_OWN: Final = frozenset({"exported", "unknown"})
"""How names stand that an engine has, or may have."""


def engine_series(query: str) -> list[str]:
    """The series of engines that a query names, as it writes them."""
    return _SERIES.findall(query)


def engine_alone(query: str) -> bool:
    """Whether a query, or the name of a metric, speaks of series of an engine and of nothing else."""
    found = [
        name.replace("_", ":", 1) if ":" not in name else name for name in engine_series(query)
    ]
    own = all(standing(name) in _OWN and not of_router(name) for name in found)
    return bool(found) and own and not _ELSE.search(query)


def _stems(own: str) -> set[str]:
    return {own, *(own.removesuffix(suffix) for suffix in _SUFFIXES)}


def with_colon(name: str) -> str:
    """The series that a name with an underscore in place of the colon means; empty where that is none.

    Adapters of Kubernetes' metrics spell them so, Prometheus does not.
    """
    for prefix, series in _ENGINES.items():
        own = name.removeprefix(f"{prefix}_")
        for known in (own, f"num_{own}") if own != name else ():
            if _stems(known) & series:
                return f"{prefix}:{known}"
    return ""


def adapted(name: str) -> str:
    """The spelling that adapters give a series, where a name comes near it and is another; empty otherwise."""
    series = with_colon(name)
    spelled = series.replace(":", "_")
    return spelled if series and spelled != name else ""


def _near(own: str) -> str:
    from difflib import get_close_matches

    stem = min(_stems(own), key=len)
    close = get_close_matches(stem, sorted(_ENGINE), n=1, cutoff=0.85)
    return close[0] if close else ""


def instead(name: str) -> str:
    """What to ask in place of a series that is missing."""
    if name in INVENTED:
        return INVENTED[name]
    for prefix, stock in _STOCK.items():
        if name.startswith(prefix):
            return stock
    if series := with_colon(name):
        return series
    return _ENGINE_PREFIX + (_near(name.removeprefix(_ENGINE_PREFIX)) or "num_requests_waiting")


_OPENS: Final = {"(": ")", "[": "]", "{": "}"}
_HALVES: Final = re.compile(
    r"""#[^\n]*|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|`[^`]*`|["'`()\[\]{}]""", re.DOTALL
)
"""Comments and whole texts, which hold no brackets; then what is one half of something."""


def unclosed(expression: str) -> str:
    """The first bracket or quote of a PromQL expression that has no other half; empty where all have."""
    opened: list[str] = []
    for token in _HALVES.findall(expression):
        if token in _OPENS:
            opened.append(token)
        elif token in _OPENS.values():
            if not opened or _OPENS[opened.pop()] != token:
                return str(token)
        elif token in ('"', "'", "`"):
            return str(token)
    return opened[0] if opened else ""


@cache
def names(expression: str) -> tuple[str, ...]:
    """The series names in a PromQL expression that carry a prefix we know, each once; neither labels nor texts."""
    found_names: dict[str, None] = {}
    for name in _NAME.findall(_LABELS.sub(" ", _TEXT.sub('""', expression))):
        known = name in KUBE_STATE_METRICS or name in CONFIGURED or name in INVENTED
        if known or name.startswith((_SETS_PREFIX, _ENGINE_PREFIX, *_UNDERLINED)):
            found_names[name] = None
    return tuple(found_names)


def strange_labels(expression: str) -> Iterator[tuple[str, str]]:
    """Series and label of the matchers that can select nothing."""
    if not any(name in expression for name in STRANGE_LABELS):
        return
    for found in _MATCHERS.finditer(_TEXT.sub('""', expression)):
        for label in _LABEL.findall(found[2]):
            if label in STRANGE_LABELS[found[1]]:
                yield found[1], label
