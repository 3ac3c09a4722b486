"""Engines on the node's own network: two on one node open one port, and only declared ports are kept apart."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from gangform.apis.forms import GroupView, PodView
from gangform.apis.keys import HOSTNAME
from gangform.apis.views import Documents
from gangform.documents.document import Document, Node, dig, mapping, sequence, text, whole
from gangform.findings import Severity, declare
from gangform.rules.joins import (
    Run,
    engine_of,
    gpus,
    groups_of,
    is_set,
    labels_of,
    match_labels,
    most_groups,
    rollout,
    templates,
)
from gangform.rules.rule import WORKLOADS, Context, Fault, joined, rule

UNDECLARED = declare(
    "host-port-undeclared",
    "Two engines on the host network may share a node, and the scheduler does not know that both open one port",
    Severity.BREAKS,
    "observability §6; cases r38",
)

_NODE: Final = 8
"""GPUs that common nodes have at the most: pods that need more together share none."""
_SMALL_NODE: Final = 4
_SMALL: Final = re.compile(r"gb[23]00|arm64", re.IGNORECASE)
"""In selectors and tolerations of nodes with 4 GPUs."""
_DOMAIN: Final = re.compile(r"compute-domain|imex|channel|mnnvl")
"""In names of claims to memory over NVLink, which such nodes have."""
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


class _Opened(NamedTuple):
    """A port that pods of a template open on their node."""

    group: GroupView
    pod: PodView
    run: Run
    port: int
    declared: bool
    gpus: int
    several: bool
    """Whether there is more than one such pod."""


@joined
def _opened(documents: Documents) -> list[_Opened]:
    found: list[_Opened] = []
    for group in documents.groups():
        for pod in templates(group):
            run = engine_of(documents, pod)
            on_host = dig(pod.spec, "hostNetwork") is True
            if not on_host or run is None or run.reading is None or not run.reading.serves_http:
                continue
            declared = {
                whole(port, "containerPort")
                for each in sequence(pod.spec, "containers")
                for port in sequence(each, "ports")
            }
            found.append(
                _Opened(
                    group=group,
                    pod=pod,
                    run=run,
                    port=run.reading.port,
                    declared=run.reading.port in declared,
                    gpus=gpus(documents, pod),
                    several=_several(group, pod, documents),
                )
            )
    return found


def _several(group: GroupView, pod: PodView, documents: Documents) -> bool:
    groups = most_groups(documents, group)
    shared = is_set(group) and group.size > 1 and len(templates(group)) == 1
    return groups + rollout(group, groups)[0] > 1 or shared or pod.per_group > 1


@rule(UNDECLARED, kinds=WORKLOADS)
def host_port_undeclared(
    subject: Document, documents: Documents, context: Context
) -> Iterator[Fault]:
    """A port on the node's network is declared, so that no second pod with it comes to the node."""
    own = {id(group) for group in groups_of(documents, subject)}
    if not any(
        dig(pod.spec, "hostNetwork")
        for group in groups_of(documents, subject)
        for pod in group.pods
    ):
        return
    opened = _opened(documents)
    for one in opened:
        if id(one.group) not in own or one.declared:
            continue
        other = next((each for each in opened if _may_meet(one, each)), None)
        if other is not None:
            whom = "another of its kind" if other is one else f"{other.group.title}"
            yield Fault(
                path=(*one.run.path, "ports"),
                what=f"port {one.port} is opened on the node and not declared; {whom} opens it too and may "
                "come to the same node",
                fix=f"declare containerPort: {one.port}, so that the scheduler keeps them apart",
                seen={"port": str(one.port)},
            )


def _may_meet(one: _Opened, other: _Opened) -> bool:
    """Whether pods of two templates may open one port on one node."""
    if one.port != other.port or one.gpus + other.gpus > min(map(_node, (one.pod, other.pod))):
        return False
    if one is other and not one.several:
        return False
    return not (
        _keeps_away(one.pod, other.pod)
        or _keeps_away(other.pod, one.pod)
        or _elsewhere(one.pod, other.pod)
    )


def _node(pod: PodView) -> int:
    """GPUs of the nodes that a pod goes to, at the most."""
    spec = pod.spec
    wishes = [dig(spec, "nodeSelector"), dig(spec, "tolerations"), dig(spec, "affinity")]
    claims = " ".join(
        text(each, "resourceClaimTemplateName") for each in sequence(spec, "resourceClaims")
    )
    small = _SMALL.search(str(wishes)) or _DOMAIN.search(claims)
    return _SMALL_NODE if small else _NODE


def _keeps_away(pod: PodView, other: PodView) -> bool:
    """Whether a pod refuses nodes with pods of another template."""
    terms = sequence(pod.spec, "affinity", "podAntiAffinity", _REQUIRED)
    return any(
        text(term, "topologyKey") == HOSTNAME and _selects(term, pod, other) for term in terms
    )


def _selects(term: Node, pod: PodView, other: PodView) -> bool:
    labels = match_labels(dig(term, "labelSelector"))
    if labels is None:
        # What expressions decide is not known: taken for a selector that keeps them apart.
        return isinstance(dig(term, "labelSelector"), Mapping)
    spaces = sequence(term, "namespaces")
    here = pod.document.key.namespace == other.document.key.namespace
    known = here or other.document.key.namespace in spaces or "namespaceSelector" in mapping(term)
    return known and other.matches(labels)


def _elsewhere(pod: PodView, other: PodView) -> bool:
    """Whether node selectors lead two pods to different nodes."""
    one, two = (labels_of(dig(each.spec, "nodeSelector")) for each in (pod, other))
    return any(two.get(key, value) != value for key, value in one.items())
