"""Series that exporters really have, those that need a setting first, and those that somebody made up.

Sources: `observability §1.1, §1.2, §1.7, §1.9` (code of kube-state-metrics, Kueue and Volcano, some of it run). A table
says *known*, never *all*: only what is certain is called missing. Series of engines are known to `engines`.
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
        "hostname targetref_kind targetref_name targetref_namespace endpoint_nodename endpoint_zone "
        "address",
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
        "kube_poddisruptionbudget_status_expected_pods": "namespace poddisruptionbudget",
        "kube_poddisruptionbudget_status_pod_disruptions_allowed": "namespace poddisruptionbudget",
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
}
"""Names that no exporter can have, with what there is instead (`observability §1.1`)."""

_SETS_PREFIX: Final = "leaderworkerset_"
_STOCK: Final = {
    _SETS_PREFIX: "the StatefulSets and pods of the set in stock kube-state-metrics",
    f"{WORKLOADS.prefix}_": f"{KUEUE_PENDING} of Kueue, which counts by queue",
    f"{POD_GROUPS.prefix}_": f"{VOLCANO_PENDING} and {VOLCANO_INQUEUE} of Volcano, which count by queue",
}
"""What there is without a configuration, by the prefix of what there is with one."""
_ENGINE_PREFIXES: Final = ("vllm:", "vllm_", "sglang_")
"""With the colon, and as adapters spell them."""
_NAME: Final = re.compile(r"(?<![\w:$.\-/])[a-zA-Z_][\w:]*+(?!\()")
_TEXT: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\'')
_LABELS: Final = re.compile(
    r"\{[^{}]*\}|\b(?:by|without|on|ignoring|group_left|group_right)\s*\([^()]*\)", re.IGNORECASE
)
"""Where the names of labels stand, and none of series."""
_MATCHERS: Final = re.compile(rf"(?<![\w:])({'|'.join(STRANGE_LABELS)})\s*\{{([^{{}}]*)\}}")
_LABEL: Final = re.compile(r"([a-zA-Z_]\w*)\s*(?:=~|!~|!=|=)")


def standing(name: str) -> Standing:
    """Whether a series of this name can exist; of an engine's own nothing is said here."""
    if name in INVENTED:
        return "missing"
    if name in KUBE_STATE_METRICS:
        return "exported"
    if name in CONFIGURED or name.startswith(_SETS_PREFIX):
        # The controller registers no metric of its own; only a configuration of one's own can make such a name.
        return "configured"
    return "unknown"


def instead(name: str) -> str:
    """What to ask in place of a series that is missing; empty where nothing is known."""
    if name in INVENTED:
        return INVENTED[name]
    for prefix, stock in _STOCK.items():
        if name.startswith(prefix):
            return stock
    return ""


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


_STRANGE: Final = re.compile(r"[^\w\s:.,+*/%^<>=!@~(){}\[\]-]|[^\W\d_a-zA-Z]|\{\s*\{", re.ASCII)

_NUMBERS: Final = re.compile(r"(?i)\b(?:nan|inf|0x[0-9a-f]+|[0-9.]+e[-+]?[0-9]+)\b")


def strange(expression: str) -> str:
    """The first sign outside of texts and comments that PromQL has no use for; empty where there is none."""
    found = _STRANGE.search(_HALVES.sub(_blank, expression))
    return found[0] if found else ""


def _blank(found: re.Match[str]) -> str:
    return " " if len(found[0]) > 1 else found[0]


def has_samples(expression: str) -> bool:
    """Whether the result can be samples of one moment: a number or a text asks for no series, a range has many."""
    rest = _NUMBERS.sub("", _HALVES.sub(_blank, expression)).rstrip()
    return bool(re.search("[A-Za-z_:{]", rest)) and not rest.endswith("]")


@cache
def _without_texts(expression: str) -> str:
    return _TEXT.sub('""', expression)


@cache
def names(expression: str) -> tuple[str, ...]:
    """The series names in a PromQL expression that carry a prefix we know, each once; quoted texts and labels not."""
    found_names: dict[str, None] = {}
    for name in _NAME.findall(_LABELS.sub(" ", _without_texts(expression))):
        known = name in KUBE_STATE_METRICS or name in CONFIGURED or name in INVENTED
        if known or name.startswith((_SETS_PREFIX, *_ENGINE_PREFIXES)):
            found_names[name] = None
    return tuple(found_names)


def strange_labels(expression: str) -> Iterator[tuple[str, str]]:
    """Series and label of the matchers that can select nothing."""
    if not any(name in expression for name in STRANGE_LABELS):
        return
    for found in _MATCHERS.finditer(_without_texts(expression)):
        for label in _LABEL.findall(found[2]):
            if label in STRANGE_LABELS[found[1]]:
                yield found[1], label
