"""Node autoscalers: who takes nodes away that look idle, and the annotation of pods that keeps them off.

Both ask the budgets, as a drain does, and start a removal only where every pod of the node may go. So a budget with
one eviction left lets them move a group, one node's pods after another's. The annotation stops that for as long as a
pod with it runs on the node; `kubectl drain` does not read it.

Cluster Autoscaler reads `safe-to-evict` since 1.0 and compares with the text `false`; a pod that carries it blocks the
removal of its node whatever budgets say. It makes no difference between owners: pods of StatefulSets go like others.
Karpenter reads `do-not-disrupt` since 0.32 (before: `karpenter.sh/do-not-evict`). A node with such a pod is neither
empty nor consolidated. Up to 0.37 it neither drifts nor expires; from 1.0 a NodePool with a `terminationGracePeriod`
lets drift through, and expiration begins in any case: the node is tainted and waits for these pods, at the most until
that period is over, when they are deleted without asking a budget. Interruptions, repair and a deleted Node do not
read it. (Cluster Autoscaler: FAQ; Karpenter: Concepts, Disruption of 0.32, 0.36, 1.0 and 1.2, and the list of its
annotations.)
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple


class NodeAutoscaler(NamedTuple):
    """One of them."""

    title: str
    key: str
    """The annotation of a pod that it reads."""
    keeps: str
    """The value that keeps it from the pod's node."""
    leaves: str
    """What it does not do where every pod has the annotation, with `{title}` in front."""
    still: str
    """What it does all the same; empty for nothing."""


NODE_AUTOSCALERS: Mapping[str, NodeAutoscaler] = MappingProxyType(
    {
        "cluster-autoscaler": NodeAutoscaler(
            title="Cluster Autoscaler",
            key="cluster-autoscaler.kubernetes.io/safe-to-evict",
            keeps="false",
            leaves="removes no node while one of these pods runs on it",
            still="",
        ),
        "karpenter": NodeAutoscaler(
            title="Karpenter",
            key="karpenter.sh/do-not-disrupt",
            keeps="true",
            leaves="does not consolidate a node while one of these pods runs on it, nor replaces one that drifted",
            still="a NodePool's terminationGracePeriod lets drift through, and from 1.0 an expired node is tainted "
            "and waits for its pods no longer than that",
        ),
    }
)
"""By the name that a cluster declares."""


def annotation(name: str) -> Mapping[str, str]:
    """What a pod carries to stay where this autoscaler runs; nothing where it is not known."""
    nodes = NODE_AUTOSCALERS.get(name)
    return {} if nodes is None else {nodes.key: nodes.keeps}
