"""Kinds that rules know, the groups that serve them, and which of them lie in no namespace.

Other groups use the same words: a Service of Knative has no selector, a Queue of another scheduler no weight. An
object of such a kind in a group that is not its own is one that we know nothing about.
"""

from __future__ import annotations

from collections.abc import Mapping

from gangform.apis import disaggregatedset, kueue, leaderworkerset, volcano
from gangform.apis.keys import (
    APPS,
    AUTOSCALING,
    COMPUTE_DOMAIN_GROUP,
    INFERENCE,
    KEDA,
    MONITORING,
    NETWORKING,
    POLICY,
    RBAC,
    SCHEDULING,
    STORAGE,
)
from gangform.documents.document import Manifest, group_of, mapping, text

_GATEWAY = "gateway.networking.k8s.io"
_TRIED_INFERENCE = "inference.networking.x-k8s.io"
"""Where the kinds of the inference extension lie before they are stable."""
_BATCH = "batch"
_DEVICES = "resource.k8s.io"

GROUPS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        (
            "ConfigMap",
            "LimitRange",
            "Namespace",
            "Node",
            "PersistentVolume",
            "PersistentVolumeClaim",
            "Pod",
            "ResourceQuota",
            "Secret",
            "Service",
            "ServiceAccount",
        ),
        ("",),
    ),
    **dict.fromkeys(
        ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"), (group_of(APPS), "extensions")
    ),
    "CronJob": (_BATCH,),
    "Job": (_BATCH, volcano.BATCH_GROUP),
    "PodDisruptionBudget": (group_of(POLICY),),
    "HorizontalPodAutoscaler": (group_of(AUTOSCALING),),
    **dict.fromkeys(("Ingress", "NetworkPolicy"), (group_of(NETWORKING), "extensions")),
    **dict.fromkeys(
        ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), (group_of(RBAC),)
    ),
    "PriorityClass": (group_of(SCHEDULING),),
    "StorageClass": (group_of(STORAGE),),
    **dict.fromkeys(("DeviceClass", "ResourceClaim", "ResourceClaimTemplate"), (_DEVICES,)),
    "LeaderWorkerSet": (leaderworkerset.GROUP,),
    **dict.fromkeys(("DisaggregatedSet", "DisaggregatedSetRoleScaler"), (disaggregatedset.GROUP,)),
    **dict.fromkeys(
        (
            "AdmissionCheck",
            "ClusterQueue",
            "Cohort",
            "LocalQueue",
            "ResourceFlavor",
            "Topology",
            "WorkloadPriorityClass",
        ),
        (kueue.GROUP,),
    ),
    "Queue": (volcano.GROUP,),
    # Also of Kubernetes itself and of the scheduler plugins: another object with the same purpose and other fields.
    "PodGroup": (volcano.GROUP,),
    "HyperNode": (volcano.TOPOLOGY_GROUP,),
    **dict.fromkeys(("PodMonitor", "PrometheusRule", "ServiceMonitor"), (group_of(MONITORING),)),
    "ScaledObject": (group_of(KEDA),),
    **dict.fromkeys(("InferenceModel", "InferenceObjective"), (_TRIED_INFERENCE,)),
    "VerticalPodAutoscaler": ("autoscaling.k8s.io",),
    "InferencePool": (group_of(INFERENCE), _TRIED_INFERENCE),
    **dict.fromkeys(("GRPCRoute", "Gateway", "HTTPRoute"), (_GATEWAY,)),
    "ComputeDomain": (COMPUTE_DOMAIN_GROUP,),
}
"""The groups of a kind. A kind without a row is one that no rule depends on."""

NO_NAMESPACE = frozenset(
    {
        "AdmissionCheck",
        "ClusterQueue",
        "ClusterRole",
        "ClusterRoleBinding",
        "Cohort",
        "DeviceClass",
        "HyperNode",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "Queue",
        "ResourceFlavor",
        "StorageClass",
        "Topology",
        "WorkloadPriorityClass",
    }
)
"""Kinds of `GROUPS` whose objects lie in no namespace."""


def in_full(manifest: Manifest) -> str:
    """The kind of an object; with its group where rules know the kind from another: `Job.batch.volcano.sh`."""
    kind, group = text(manifest, "kind"), group_of(text(manifest, "apiVersion"))
    groups = GROUPS.get(kind)
    return kind if groups is None or group in groups else f"{kind}.{group}"


def lacks_namespace(manifest: Manifest) -> bool:
    """Whether an object lies in a namespace that it does not name."""
    kind = text(manifest, "kind")
    return (
        kind in GROUPS
        and kind not in NO_NAMESPACE
        and not mapping(manifest, "metadata").get("namespace")
    )
