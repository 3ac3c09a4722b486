"""A change for every row of the tables of effects, and what it does. Whoever has a control plane may apply them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from tests.apis.living import (
    EXCLUSIVE,
    LEVEL,
    PRIORITY,
    QUEUE,
    Edit,
    Object,
    annotation,
    base,
    both,
    drop,
    label,
    pod,
    put,
)

from gangform.apis.consequences import Consequence, consequences
from gangform.apis.versions import Release, Versions

OLD = Versions(lws=Release(0, 9), kueue=Release(0, 16))
LAB = Versions(lws=Release(0, 9), kueue=Release(0, 17))
NEW = Versions(lws=Release(0, 10), kueue=Release(0, 19, 2))
NEXT = Versions(lws=Release(0, 10), kueue=Release(0, 20))
GROUP = "spec/leaderWorkerTemplate"
LEADER, WORKER = f"{GROUP}/leaderTemplate", f"{GROUP}/workerTemplate"
NAME = "kueue.x-k8s.io/podset-group-name"
ENGINE = "spec/containers/0"
ROLE = "spec/roles/0"
SIDECAR = {"name": "sidecar", "image": "s:1", "resources": {"requests": {"cpu": "1"}}}
SPREAD = {"topologyKey": "rack", "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
TOLERATIONS = [{"key": "gpu", "operator": "Exists"}]
ADDRESS = both(drop("spec/clusterIP"), drop("spec/clusterIPs"))
CLAIM = {
    "metadata": {"name": "cache"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "cache",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
TAINTS = [{"key": "a", "effect": "NoSchedule"}]
GROUPS = "spec/resourceGroups/0"


class Case(NamedTuple):
    """A change of a living object, and what is said of it."""

    kind: str
    name: str
    edit: Edit
    outcome: str
    versions: Versions = NEW
    queued: bool = False
    before: Edit = lambda _: None


def told(case: Case, versions: Versions | None = None) -> list[Consequence]:
    """What the tables say of a case, for its own releases or for others."""
    before = base(case.kind, queued=case.queued)
    case.before(before)
    after = base(case.kind, queued=case.queued)
    case.edit(after)
    return list(consequences(before, after, versions or case.versions))


def frozen(name: str, value: Any, outcome: str = "refused", versions: Versions = NEW) -> list[Case]:
    """A field of a pod spec: changed under Kueue, in either template where it is refused, and without it."""

    def one(side: str, outcome: str, **more: Any) -> Case:
        edit = put(f"spec/leaderWorkerTemplate/{side}Template/spec/{name}", value)
        managed = "" if more else " unmanaged"
        return Case("LeaderWorkerSet", f"{side} {name}{managed}", edit, outcome, **more)

    managed = {"versions": versions, "queued": True}
    sides = ("leader", "worker") if outcome == "refused" else ("worker",)
    return [*(one(side, outcome, **managed) for side in sides), one("worker", "rolls")]


def annotated(key: str, value: str) -> Case:
    """An annotation on topology in both templates, in the place of the one that is there."""

    def edit(one: Object) -> None:
        for side in ("leader", "worker"):
            metadata = one["spec"]["leaderWorkerTemplate"][f"{side}Template"]["metadata"]
            if key != "group-name":
                del metadata["annotations"][LEVEL]
            metadata["annotations"][f"kueue.x-k8s.io/podset-{key}"] = value

    return Case("LeaderWorkerSet", key, edit, "rolls", queued=True)


def torn(side: str, keys: Sequence[str]) -> Case:
    """Annotations on topology in one template alone, of a set whose templates are joined by a group name."""

    def joined(one: Object) -> None:
        for each in ("leader", "worker"):
            put(f"{GROUP}/{each}Template/metadata/annotations", {LEVEL: "rack", NAME: "group"})(one)

    def edit(one: Object) -> None:
        joined(one)
        for key in keys:
            template = one["spec"]["leaderWorkerTemplate"][f"{side}Template"]
            template["metadata"]["annotations"][f"kueue.x-k8s.io/podset-{key}"] = "block"

    name = f"{' and '.join(keys)} in the {side} alone"
    return Case("LeaderWorkerSet", name, edit, "refused", queued=True, before=joined)


ALONE = ("required-topology", "preferred-topology", "unconstrained-topology", "group-name")
CASES = [
    *frozen("containers/0/resources/requests/cpu", "7"),
    *frozen("containers/0/ports/0/containerPort", 9000),
    *frozen("initContainers/0/resources", {"requests": {"cpu": "1"}}),
    *frozen("initContainers/0/ports", [{"containerPort": 9}]),
    *frozen("nodeSelector", {"gpu": "h100"}),
    *frozen("affinity", {"nodeAffinity": {}}),
    *frozen("tolerations", TOLERATIONS),
    *frozen("runtimeClassName", "nvidia"),
    *frozen("priority", 7),
    *frozen("topologySpreadConstraints", [SPREAD]),
    *frozen("overhead", {"cpu": "1"}),
    *frozen("resourceClaims", [{"name": "nic", "resourceClaimName": "nic"}]),
    *frozen("resources", {"requests": {"cpu": "9"}}),
    *frozen("resources", {"requests": {"cpu": "9"}}, "rolls", LAB),
    *frozen("containers", [*pod()["spec"]["containers"], SIDECAR]),
    *frozen("initContainers", []),
    *frozen("priorityClassName", "high", "rolls"),
    *frozen("containers/0/image", "engine:2", "rolls"),
    *frozen("containers/0/name", "vllm", "rolls"),
    *frozen("containers/0/args", ["serve", "/other"], "rolls"),
    *frozen("containers/0/resources/limits/cpu", "9", "rolls"),
    *frozen("containers/0/startupProbe", {"httpGet": {"port": 1}}, "rolls"),
    *frozen("volumes", [{"name": "a", "emptyDir": {}}], "rolls"),
    *frozen("schedulerName", "other", "rolls"),
    annotated("required-topology", "block"),
    annotated("preferred-topology", "rack"),
    annotated("unconstrained-topology", "true"),
    annotated("group-name", "group"),
    *(torn(side, keys) for side in ("leader", "worker") for keys in (ALONE, ALONE[:1], ALONE[3:])),
    Case(
        "LeaderWorkerSet", "leader image unmanaged", put(f"{LEADER}/{ENGINE}/image", "b"), "rolls"
    ),
    *(
        Case(
            "LeaderWorkerSet",
            f"a {word} of pods",
            put(f"{WORKER}/metadata/{word}s/more", "b"),
            "rolls",
        )
        for word in ("label", "annotation")
    ),
    Case(
        "LeaderWorkerSet",
        "env",
        put(f"{WORKER}/{ENGINE}/env", [{"name": "A", "value": "b"}]),
        "rolls",
    ),
    Case("LeaderWorkerSet", "another queue", label(QUEUE, "other"), "refused", queued=True),
    Case("LeaderWorkerSet", "no queue", label(QUEUE, None), "refused", queued=True),
    Case("LeaderWorkerSet", "a queue", label(QUEUE, "serving"), "refused"),
    Case("LeaderWorkerSet", "another priority", label(PRIORITY, "low"), "rolls", queued=True),
    Case("LeaderWorkerSet", "no priority", label(PRIORITY, None), "refused", queued=True),
    Case("LeaderWorkerSet", "a priority, unmanaged", label(PRIORITY, "low"), "none"),
    Case("LeaderWorkerSet", "no leaderTemplate", drop(LEADER), "refused", queued=True),
    Case("LeaderWorkerSet", "no leaderTemplate without Kueue", drop(LEADER), "rolls"),
    Case("LeaderWorkerSet", "size", put("spec/leaderWorkerTemplate/size", 4), "rolls"),
    Case(
        "LeaderWorkerSet",
        "size under Kueue",
        put("spec/leaderWorkerTemplate/size", 4),
        "refused",
        queued=True,
    ),
    Case(
        "LeaderWorkerSet",
        "size under an older Kueue",
        put("spec/leaderWorkerTemplate/size", 4),
        "recreates",
        LAB,
        queued=True,
    ),
    Case(
        "LeaderWorkerSet",
        "no subgroups",
        drop("spec/leaderWorkerTemplate/subGroupPolicy"),
        "refused",
    ),
    Case(
        "LeaderWorkerSet",
        "other subgroups",
        put("spec/leaderWorkerTemplate/subGroupPolicy/subGroupSize", 1),
        "refused",
    ),
    Case(
        "LeaderWorkerSet",
        "claims",
        put("spec/leaderWorkerTemplate/volumeClaimTemplates", [CLAIM]),
        "recreates",
    ),
    Case(
        "LeaderWorkerSet",
        "restartPolicy",
        put("spec/leaderWorkerTemplate/restartPolicy", "None"),
        "rolls",
    ),
    Case(
        "LeaderWorkerSet",
        "subdomains",
        put("spec/networkConfig/subdomainPolicy", "UniquePerReplica"),
        "rolls",
    ),
    Case("LeaderWorkerSet", "replicas", put("spec/replicas", 3), "none"),
    Case("LeaderWorkerSet", "no replicas", drop("spec/replicas"), "none"),
    Case(
        "LeaderWorkerSet",
        "the canary ends",
        put("spec/rolloutStrategy/rollingUpdateConfiguration/partition", 0),
        "rolls",
        before=put("spec/rolloutStrategy/rollingUpdateConfiguration/partition", 1),
    ),
    Case(
        "LeaderWorkerSet",
        "a canary",
        put("spec/rolloutStrategy/rollingUpdateConfiguration/partition", 1),
        "none",
    ),
    Case(
        "LeaderWorkerSet",
        "surge",
        put("spec/rolloutStrategy/rollingUpdateConfiguration/maxSurge", 1),
        "none",
    ),
    Case("LeaderWorkerSet", "startupPolicy", put("spec/startupPolicy", "LeaderReady"), "none"),
    Case("LeaderWorkerSet", "exclusive", annotation(EXCLUSIVE, "rack"), "rolls"),
    Case(
        "LeaderWorkerSet",
        "subgroup exclusive",
        annotation(EXCLUSIVE.replace("sigs.k8s.io/", "sigs.k8s.io/subgroup-"), "rack"),
        "rolls",
    ),
    Case(
        "LeaderWorkerSet",
        "queue of Volcano",
        annotation("scheduling.volcano.sh/queue-name", "other"),
        "none",
        before=annotation("scheduling.volcano.sh/queue-name", "one"),
    ),
    Case("LeaderWorkerSet", "a label", label("team", "b"), "none"),
    Case("LeaderWorkerSet", "what no revision knows", put("spec/other", 1), "none"),
    Case("DisaggregatedSet", "groups of a role", put(f"{ROLE}/spec/replicas", 3), "none"),
    Case(
        "DisaggregatedSet",
        "template of a role",
        put(f"{ROLE}/spec/leaderWorkerTemplate/size", 2),
        "rolls",
    ),
    Case("DisaggregatedSet", "a role less", drop(ROLE), "rolls"),
    Case("DisaggregatedSet", "a role renamed", put(f"{ROLE}/name", "embed"), "rolls"),
    Case(
        "DisaggregatedSet",
        "roles in another order",
        lambda one: one["spec"]["roles"].reverse(),
        "rolls",
    ),
    Case(
        "DisaggregatedSet",
        "policy of a role",
        put(f"{ROLE}/spec/startupPolicy", "LeaderReady"),
        "none",
    ),
    Case("DisaggregatedSet", "placement", put("spec/placementPolicy/type", "a"), "none"),
    Case("DisaggregatedSet", "slices", put("spec/slices", 2), "none"),
    Case(
        "Deployment",
        "selector",
        both(
            put("spec/selector/matchLabels/app", "r2"),
            put("spec/template/metadata/labels/app", "r2"),
        ),
        "refused",
    ),
    Case("Deployment", "template", put("spec/template/spec/containers/0/image", "a"), "rolls"),
    Case("Deployment", "replicas", put("spec/replicas", 3), "none"),
    Case("Deployment", "no replicas", drop("spec/replicas"), "none"),
    Case("Deployment", "a label", label("team", "b"), "none"),
    Case("Deployment", "surge", put("spec/strategy/rollingUpdate/maxSurge", 1), "none"),
    Case("Deployment", "another queue", label(QUEUE, "other"), "refused", queued=True),
    Case("Deployment", "no queue", label(QUEUE, None), "refused", queued=True),
    Case("Deployment", "a queue", label(QUEUE, "other"), "refused"),
    Case("Deployment", "another priority", label(PRIORITY, "low"), "rolls", queued=True),
    Case("Deployment", "no priority", label(PRIORITY, None), "refused", queued=True),
    Case(
        "Service",
        "address",
        both(drop("spec/clusterIPs"), put("spec/clusterIP", "10.0.0.1")),
        "refused",
        before=drop("spec/clusterIPs"),
    ),
    Case(
        "Service",
        "addresses",
        both(put("spec/clusterIP", "10.0.0.1"), put("spec/clusterIPs", ["10.0.0.1"])),
        "refused",
    ),
    Case("Service", "selector", put("spec/selector/app", "r2"), "in-place"),
    Case("Service", "port", put("spec/ports/0/port", 81), "in-place"),
    Case("Service", "unready", put("spec/publishNotReadyAddresses", True), "in-place"),
    Case(
        "Service",
        "type",
        both(ADDRESS, put("spec/type", "NodePort")),
        "in-place",
        before=ADDRESS,
    ),
    Case("Service", "a label", label("team", "b"), "none"),
    Case("PodDisruptionBudget", "bound", put("spec/maxUnavailable", 2), "in-place"),
    Case("PodDisruptionBudget", "a label", label("team", "b"), "none"),
    Case("HorizontalPodAutoscaler", "minimum", put("spec/minReplicas", 2), "in-place"),
    Case("HorizontalPodAutoscaler", "maximum", put("spec/maxReplicas", 2), "in-place"),
    Case("HorizontalPodAutoscaler", "higher", put("spec/maxReplicas", 8), "in-place"),
    Case("HorizontalPodAutoscaler", "a label", label("team", "b"), "none"),
    Case("ScaledObject", "minimum", put("spec/minReplicaCount", 2), "in-place"),
    Case("ScaledObject", "maximum", put("spec/maxReplicaCount", 2), "in-place"),
    Case("ScaledObject", "target", put("spec/triggers/0/metadata/threshold", "9"), "in-place"),
    Case("ScaledObject", "a label", label("team", "b"), "none"),
    Case("NetworkPolicy", "rule", put("spec/egress", [{}]), "in-place"),
    Case("NetworkPolicy", "a label", label("team", "b"), "none"),
    Case("ServiceAccount", "token", put("automountServiceAccountToken", False), "none"),
    Case("PodMonitor", "label", put("spec/jobLabel", "b"), "none"),
    Case("PrometheusRule", "rules", put("spec/groups", [{"name": "a"}]), "none"),
    Case("Topology", "levels", put("spec/levels/0/nodeLabel", "block"), "refused"),
    Case("Topology", "levels later", put("spec/levels/0/nodeLabel", "block"), "in-place", NEXT),
    Case("Topology", "no host at the end", drop("spec/levels/1"), "refused", NEXT),
    Case("Topology", "a label", label("team", "b"), "none"),
    Case("Topology", "another field", put("spec/other", 1), "in-place"),
    Case("ResourceFlavor", "labels", put("spec/nodeLabels/gpu", "h200"), "refused"),
    Case("ResourceFlavor", "labels later", put("spec/nodeLabels/gpu", "h200"), "in-place", NEXT),
    Case("ResourceFlavor", "tolerations", put("spec/tolerations", TOLERATIONS), "refused"),
    Case("ResourceFlavor", "taints", put("spec/nodeTaints", TAINTS), "in-place"),
    Case("ResourceFlavor", "taints before", put("spec/nodeTaints", TAINTS), "refused", OLD),
    Case("ResourceFlavor", "topology", put("spec/topologyName", "h200"), "refused"),
    Case("ResourceFlavor", "topology later", put("spec/topologyName", "h200"), "refused", NEXT),
    Case(
        "ResourceFlavor",
        "labels of a flavor without topology",
        both(drop("spec/topologyName"), put("spec/nodeLabels/gpu", "h200")),
        "in-place",
        before=drop("spec/topologyName"),
    ),
    Case("ResourceFlavor", "a label", label("team", "b"), "none"),
    *(
        Case(
            "ClusterQueue",
            f"quota {value}",
            put(f"{GROUPS}/flavors/0/resources/0/nominalQuota", value),
            "in-place",
        )
        for value in ("8", "64")
    ),
    Case("ClusterQueue", "hold", put("spec/stopPolicy", "Hold"), "in-place"),
    Case("ClusterQueue", "stop", put("spec/stopPolicy", "HoldAndDrain"), "evicts"),
    Case("ClusterQueue", "namespaces", drop("spec/namespaceSelector"), "in-place"),
    Case("ClusterQueue", "flavor", put(f"{GROUPS}/flavors/0/name", "h200"), "in-place"),
    Case("ClusterQueue", "strategy", put("spec/queueingStrategy", "StrictFIFO"), "in-place"),
    Case("ClusterQueue", "a label", label("team", "b"), "none"),
    Case("LocalQueue", "queue", put("spec/clusterQueue", "other"), "refused"),
    Case("LocalQueue", "hold", put("spec/stopPolicy", "Hold"), "in-place"),
    Case("LocalQueue", "stop", put("spec/stopPolicy", "HoldAndDrain"), "evicts"),
    Case("LocalQueue", "share", put("spec/fairSharing/weight", "2"), "in-place"),
    Case("LocalQueue", "a label", label("team", "b"), "none"),
    Case("Cohort", "parent", put("spec/parentName", "b"), "in-place"),
    Case("Cohort", "a label", label("team", "b"), "none"),
    Case("WorkloadPriorityClass", "value", put("value", 7), "in-place"),
    Case("WorkloadPriorityClass", "description", put("description", "b"), "none"),
    Case("PodGroup", "members", put("spec/minMember", 3), "in-place"),
    Case("PodGroup", "a label", label("team", "b"), "none"),
    Case("Queue", "capability", put("spec/capability/cpu", "8"), "in-place"),
    Case("Queue", "weight", put("spec/weight", 2), "in-place"),
    Case("Queue", "a label", label("team", "b"), "none"),
    Case("HyperNode", "tier", put("spec/tier", 2), "in-place"),
    Case("HyperNode", "a label", label("team", "b"), "none"),
]
