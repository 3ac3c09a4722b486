"""Objects as the API server stores them: its defaults and its spelling of quantities written out.

What is emitted is then what a dry run returns, so that no GitOps tool sees a difference (`observability §4.4`). Only
what is known beforehand is written: never what the server or a controller owns (`clusterIP`, `ipFamilies`,
finalizers), and never `replicas`, since its absence is what leaves it to an autoscaler (`lab` summary 12).

Sources: the defaulting of Kubernetes 1.36; the CRDs of LWS v0.10.0, Kueue v0.19.2, Volcano v1.15.1, prometheus-operator
v0.93.0, KEDA v2.18.0 and the inference extension v1.6.0; the mutating webhooks of LWS and Volcano (`lws §2`,
`volcano §3`, `lab E1`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from gangform.apis.places import Fills, as_map, fill, nodes, parts, spell
from gangform.apis.pods import complete_core, complete_embedded
from gangform.documents.document import Manifest, key_of, sequence, text

_Change = Callable[[dict[str, Any]], None]


def complete(manifest: Manifest) -> Manifest:
    """The manifest as it will be stored. Idempotent; keys keep their order, new ones are appended.

    A kind that is not known here comes back as it is.
    """
    key = key_of(manifest)
    change = _KINDS.get((key.group, key.kind))
    if change is None:
        return manifest
    stored = as_map(manifest)
    change(stored)
    return stored


def _table(fills: Fills, *quantities: str) -> _Change:
    def change(stored: dict[str, Any]) -> None:
        fill(stored, fills)
        spell(stored, quantities)

    return change


# ── core ─────────────────────────────────────────────────────────────────────────────────────────

_DEPLOYMENT = Fills(
    ("spec.strategy", {}),
    ("spec.strategy.type", "RollingUpdate"),
    ("spec.revisionHistoryLimit", 10),
    ("spec.progressDeadlineSeconds", 600),
)
_ROLLING = Fills(
    ("rollingUpdate", {}),
    ("rollingUpdate.maxUnavailable", "25%"),
    ("rollingUpdate.maxSurge", "25%"),
)


def _deployment(stored: dict[str, Any]) -> None:
    fill(stored, _DEPLOYMENT)
    for strategy in nodes(stored, parts("spec.strategy")):
        if text(strategy, "type") == "RollingUpdate":
            fill(strategy, _ROLLING)
    for spec in nodes(stored, parts("spec.template.spec")):
        if isinstance(spec, dict):
            complete_core(spec)


_SERVICE = Fills(
    ("spec.ports[].protocol", "TCP"),
    ("spec.sessionAffinity", "None"),
    ("spec.type", "ClusterIP"),
)
_CLIENT_IP = Fills(
    ("sessionAffinityConfig", {}),
    ("sessionAffinityConfig.clientIP", {}),
    ("sessionAffinityConfig.clientIP.timeoutSeconds", 10800),
)
_INTERNAL = Fills(("internalTrafficPolicy", "Cluster"))
_EXTERNAL = Fills(("externalTrafficPolicy", "Cluster"))
_BALANCED = Fills(("allocateLoadBalancerNodePorts", True))


def _service(stored: dict[str, Any]) -> None:
    fill(stored, _SERVICE)
    for port in nodes(stored, parts("spec.ports[]")):
        if isinstance(port, dict) and "port" in port:
            port.setdefault("targetPort", port["port"])
    for spec in nodes(stored, ("spec",)):
        kind = text(spec, "type")
        if text(spec, "sessionAffinity") == "ClientIP":
            fill(spec, _CLIENT_IP)
        if kind in ("NodePort", "LoadBalancer"):
            fill(spec, _EXTERNAL)
        if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
            fill(spec, _INTERNAL)
        if kind == "LoadBalancer":
            fill(spec, _BALANCED)


_AUTOSCALER = Fills(
    ("spec.minReplicas", 1),
    (
        "spec.metrics",
        [
            {
                "type": "Resource",
                "resource": {
                    "name": "cpu",
                    "target": {"type": "Utilization", "averageUtilization": 80},
                },
            }
        ],
    ),
    ("spec.behavior.scaleUp", {}),
    ("spec.behavior.scaleUp.stabilizationWindowSeconds", 0),
    ("spec.behavior.scaleUp.selectPolicy", "Max"),
    (
        "spec.behavior.scaleUp.policies",
        [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    ),
    ("spec.behavior.scaleDown", {}),
    ("spec.behavior.scaleDown.selectPolicy", "Max"),
    (
        "spec.behavior.scaleDown.policies",
        [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    ),
)
_TARGETS: Final = (
    *(
        f"spec.metrics[].{kind}.target.{value}"
        for kind in ("resource", "containerResource", "pods", "object", "external")
        for value in ("averageValue", "value")
    ),
    *(f"spec.behavior.{way}.tolerance" for way in ("scaleUp", "scaleDown")),
)


def _autoscaler(stored: dict[str, Any]) -> None:
    fill(stored, _AUTOSCALER)
    spell(stored, _TARGETS)
    for spec in nodes(stored, ("spec",)):
        # The conversion over v1 puts the CPU utilisation first and keeps the order of the others (observability §4.4).
        if isinstance(spec, dict) and isinstance(spec.get("metrics"), list):
            first = [metric for metric in spec["metrics"] if _is_cpu(metric)][:1]
            others = [
                metric for metric in spec["metrics"] if not any(metric is one for one in first)
            ]
            spec["metrics"] = first + others


def _is_cpu(metric: Any) -> bool:
    return (
        text(metric, "type") == "Resource"
        and text(metric, "resource", "name") == "cpu"
        and text(metric, "resource", "target", "type") == "Utilization"
    )


_POLICY = Fills(
    ("spec.ingress[].ports[].protocol", "TCP"), ("spec.egress[].ports[].protocol", "TCP")
)


def _network_policy(stored: dict[str, Any]) -> None:
    fill(stored, _POLICY)
    for spec in nodes(stored, ("spec",)):
        if isinstance(spec, dict) and not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress", "Egress"] if sequence(spec, "egress") else ["Ingress"]


# ── groups ──────────────────────────────────────────────────────────────────────────────

_LEADER_WORKER_SET = Fills(
    ("spec.leaderWorkerTemplate.size", 1),
    ("spec.leaderWorkerTemplate.restartPolicy", "RecreateGroupOnPodRestart"),
    ("spec.leaderWorkerTemplate.subGroupPolicy.subGroupPolicyType", "LeaderWorker"),
    ("spec.leaderWorkerTemplate.volumeClaimTemplates[].spec.resources", {}),
    ("spec.leaderWorkerTemplate.volumeClaimTemplates[].status", {}),
    ("spec.rolloutStrategy", {}),
    ("spec.rolloutStrategy.type", "RollingUpdate"),
    ("spec.rolloutStrategy.rollingUpdateConfiguration", {}),
    ("spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable", 1),
    ("spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge", 0),
    ("spec.rolloutStrategy.rollingUpdateConfiguration.partition", 0),
    ("spec.startupPolicy", "LeaderCreated"),
    ("spec.networkConfig", {}),
    ("spec.networkConfig.subdomainPolicy", "Shared"),
)
"""CRD and webhook together: the webhook fills the blocks that are absent as a whole (`lws §2a`, `lab E1`)."""

_CLAIMS: Final = tuple(
    f"spec.leaderWorkerTemplate.volumeClaimTemplates[].spec.resources.{kind}{{}}"
    for kind in ("limits", "requests")
)


def _leader_worker_set(stored: dict[str, Any]) -> None:
    fill(stored, _LEADER_WORKER_SET)
    spell(stored, _CLAIMS)
    for template in nodes(stored, parts("spec.leaderWorkerTemplate")):
        if isinstance(template, dict) and template.get("restartPolicy") == "Default":
            template["restartPolicy"] = "None"  # lab E7: stored so by the webhook
    for role in ("leaderTemplate", "workerTemplate"):
        for spec in nodes(stored, ("spec", "leaderWorkerTemplate", role, "spec")):
            if isinstance(spec, dict):
                complete_embedded(spec, typed=True)


_ROLES = Fills(
    ("spec.placementPolicy.type", "None"),
    ("spec.roles[].scaling.mode", "Static"),
    ("spec.roles[].spec.leaderWorkerTemplate.size", 1),
    ("spec.roles[].spec.leaderWorkerTemplate.restartPolicy", "RecreateGroupOnPodRestart"),
    (
        "spec.roles[].spec.leaderWorkerTemplate.subGroupPolicy.subGroupPolicyType",
        "LeaderWorker",
    ),
    ("spec.roles[].spec.rolloutStrategy.type", "RollingUpdate"),
    ("spec.roles[].spec.rolloutStrategy.rollingUpdateConfiguration.maxUnavailable", 1),
    ("spec.roles[].spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge", 0),
    ("spec.roles[].spec.rolloutStrategy.rollingUpdateConfiguration.partition", 0),
    ("spec.roles[].spec.startupPolicy", "LeaderCreated"),
)
"""Of the CRD alone: no webhook writes a DisaggregatedSet. `slices` is left out, since 0.9.0 does not know it."""
_ROLES_CLAIMS: Final = tuple(claim.replace("spec.", "spec.roles[].spec.", 1) for claim in _CLAIMS)


def _disaggregated_set(stored: dict[str, Any]) -> None:
    fill(stored, _ROLES)
    spell(stored, _ROLES_CLAIMS)
    for role in ("leaderTemplate", "workerTemplate"):
        way = ("spec", "roles", "[]", "spec", "leaderWorkerTemplate", role, "spec")
        for spec in nodes(stored, way):
            if isinstance(spec, dict):
                complete_embedded(spec, typed=False)


# ── Kueue, Volcano, monitoring, routing ──────────────────────────────────────────────────────────

_QUOTAS: Final = tuple(
    f"spec.resourceGroups[].flavors[].resources[].{name}"
    for name in ("nominalQuota", "borrowingLimit", "lendingLimit")
)
_CLUSTER_QUEUE = Fills(
    ("spec.queueingStrategy", "BestEffortFIFO"),
    ("spec.flavorFungibility", {}),
    ("spec.flavorFungibility.whenCanBorrow", "MayStopSearch"),
    ("spec.flavorFungibility.whenCanPreempt", "TryNextFlavor"),
    ("spec.preemption", {}),
    ("spec.preemption.reclaimWithinCohort", "Never"),
    ("spec.preemption.borrowWithinCohort", {}),
    ("spec.preemption.borrowWithinCohort.policy", "Never"),
    ("spec.preemption.withinClusterQueue", "Never"),
    ("spec.stopPolicy", "None"),
    ("spec.fairSharing.weight", "1"),
)
_POD_GROUP = Fills(
    ("spec.queue", "default"),
    ("spec.networkTopology.mode", "hard"),
    ("spec.subGroupPolicy[].networkTopology.mode", "hard"),
    ("spec.subGroupPolicy[].subGroupSize", 1),
    ("spec.subGroupPolicy[].minSubGroups", 0),
)
_SECRETS: Final = (
    "authorization.credentials",
    "basicAuth.password",
    "basicAuth.username",
    "bearerTokenSecret",
    "oauth2.clientId.configMap",
    "oauth2.clientId.secret",
    "oauth2.clientSecret",
    "oauth2.proxyConnectHeader{}[]",
    "oauth2.tlsConfig.ca.configMap",
    "oauth2.tlsConfig.ca.secret",
    "oauth2.tlsConfig.cert.configMap",
    "oauth2.tlsConfig.cert.secret",
    "oauth2.tlsConfig.keySecret",
    "proxyConnectHeader{}[]",
    "tlsConfig.ca.configMap",
    "tlsConfig.ca.secret",
    "tlsConfig.cert.configMap",
    "tlsConfig.cert.secret",
    "tlsConfig.keySecret",
)
_POD_MONITOR = Fills(
    *(
        (f"spec.podMetricsEndpoints[].{list_}[].action", "replace")
        for list_ in ("metricRelabelings", "relabelings")
    ),
    *((f"spec.podMetricsEndpoints[].{place}.name", "") for place in _SECRETS),
)
_POOL = Fills(
    ("spec.appProtocol", "http"),
    ("spec.endpointPickerRef.group", ""),
    ("spec.endpointPickerRef.kind", "Service"),
    ("spec.endpointPickerRef.failureMode", "FailClose"),
)

_KINDS: Final[Mapping[tuple[str, str], _Change]] = {
    ("apps", "Deployment"): _deployment,
    ("", "Service"): _service,
    ("autoscaling", "HorizontalPodAutoscaler"): _autoscaler,
    ("keda.sh", "ScaledObject"): _table(Fills(("spec.fallback.behavior", "static"))),
    ("networking.k8s.io", "NetworkPolicy"): _network_policy,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): _leader_worker_set,
    ("disaggregatedset.x-k8s.io", "DisaggregatedSet"): _disaggregated_set,
    ("kueue.x-k8s.io", "ClusterQueue"): _table(_CLUSTER_QUEUE, *_QUOTAS, "spec.fairSharing.weight"),
    ("kueue.x-k8s.io", "Cohort"): _table(
        Fills(("spec.fairSharing.weight", "1")), *_QUOTAS, "spec.fairSharing.weight"
    ),
    ("kueue.x-k8s.io", "LocalQueue"): _table(
        Fills(("spec.stopPolicy", "None"), ("spec.fairSharing.weight", "1")),
        "spec.fairSharing.weight",
    ),
    ("scheduling.volcano.sh", "PodGroup"): _table(_POD_GROUP, "spec.minResources{}"),
    ("scheduling.volcano.sh", "Queue"): _table(
        Fills(
            ("spec.weight", 1),
            ("spec.reclaimable", True),
            ("spec.dequeueStrategy", "traverse"),
            # By the queue controller, not the webhook: `queue_controller_action.go` of 1.14.1, seen in tests/cluster.
            ("spec.parent", "root"),
        ),
        "spec.capability{}",
        "spec.deserved{}",
        "spec.guarantee.resource{}",
        "spec.extendClusters[].capacity{}",
    ),
    ("monitoring.coreos.com", "PodMonitor"): _table(
        _POD_MONITOR, "spec.nativeHistogramMinBucketFactor"
    ),
    ("inference.networking.k8s.io", "InferencePool"): _table(_POOL),
}
"""Kinds that the server adds to. ServiceAccount, PodDisruptionBudget, PrometheusRule, Topology, ResourceFlavor,
WorkloadPriorityClass and HyperNode have no default that is known beforehand."""
