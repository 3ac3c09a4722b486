"""A change for every row of the tables of effects, and what it does. Whoever has a control plane may apply them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tests.apis.living import (
    EXCLUSIVE,
    PRIORITY,
    QUEUE,
    Edit,
    annotation,
    both,
    drop,
    label,
    pod,
    put,
)

from gangform.apis.versions import Release, Versions

OLD = Versions(lws=Release(0, 9), kueue=Release(0, 16))
LAB = Versions(lws=Release(0, 9), kueue=Release(0, 17))
NEW = Versions(lws=Release(0, 10), kueue=Release(0, 19, 2))
NEXT = Versions(lws=Release(0, 10), kueue=Release(0, 20))
LEADER = "spec/leaderWorkerTemplate/leaderTemplate"
ROLE = "spec/roles/0"
SIDECAR = {"name": "sidecar", "image": "s:1", "resources": {"requests": {"cpu": "1"}}}
TOLERATIONS = [{"key": "gpu", "operator": "Exists"}]
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


def frozen(name: str, value: Any, outcome: str = "refused", versions: Versions = NEW) -> list[Case]:
    """A field of a pod spec in both templates, changed under Kueue, and without it."""
    return [
        case
        for side in ("leader", "worker")
        for case in (
            Case(
                "LeaderWorkerSet",
                f"{side} {name}",
                put(f"spec/leaderWorkerTemplate/{side}Template/spec/{name}", value),
                outcome,
                versions,
                queued=True,
            ),
            Case(
                "LeaderWorkerSet",
                f"{side} {name} unmanaged",
                put(f"spec/leaderWorkerTemplate/{side}Template/spec/{name}", value),
                "rolls",
            ),
        )
    ]


def annotated(side: str, key: str) -> Case:
    place = f"spec/leaderWorkerTemplate/{side}Template/metadata/annotations"
    edit: Edit = lambda one: (  # noqa: E731  a key with slashes is no path
        one["spec"]["leaderWorkerTemplate"][f"{side}Template"]["metadata"]["annotations"].update(
            {f"kueue.x-k8s.io/podset-{key}": "block"}
        )
    )
    return Case("LeaderWorkerSet", f"{place} {key}", edit, "rolls", queued=True)


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
    *frozen("topologySpreadConstraints", [{"topologyKey": "rack", "maxSkew": 1}]),
    *frozen("overhead", {"cpu": "1"}),
    *frozen("resourceClaims", [{"name": "nic"}]),
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
    *(
        annotated(side, key)
        for side in ("leader", "worker")
        for key in (
            "required-topology",
            "preferred-topology",
            "unconstrained-topology",
            "group-name",
        )
    ),
    Case("LeaderWorkerSet", "another queue", label(QUEUE, "other"), "refused", queued=True),
    Case("LeaderWorkerSet", "no queue", label(QUEUE, None), "refused", queued=True),
    Case("LeaderWorkerSet", "a queue", label(QUEUE, "serving"), "refused"),
    Case("LeaderWorkerSet", "another priority", label(PRIORITY, "low"), "rolls", queued=True),
    Case("LeaderWorkerSet", "no priority", label(PRIORITY, None), "refused", queued=True),
    Case("LeaderWorkerSet", "a priority, unmanaged", label(PRIORITY, "low"), "none"),
    Case("LeaderWorkerSet", "no leaderTemplate", drop(LEADER), "refused", queued=True),
    Case("LeaderWorkerSet", "no leaderTemplate, unmanaged", drop(LEADER), "rolls"),
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
        put("spec/leaderWorkerTemplate/volumeClaimTemplates", [{"metadata": {"name": "a"}}]),
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
    Case("LeaderWorkerSet", "replicas", put("spec/replicas", 5), "none"),
    Case("LeaderWorkerSet", "no replicas", drop("spec/replicas"), "none"),
    Case(
        "LeaderWorkerSet",
        "the canary ends",
        put("spec/rolloutStrategy/rollingUpdateConfiguration/partition", 0),
        "rolls",
    ),
    Case(
        "LeaderWorkerSet",
        "a canary",
        put("spec/rolloutStrategy/rollingUpdateConfiguration/partition", 3),
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
    Case("DisaggregatedSet", "a role renamed", put(f"{ROLE}/name", "encode"), "rolls"),
    Case(
        "DisaggregatedSet",
        "roles in another order",
        lambda one: one["spec"]["roles"].reverse(),
        "rolls",
    ),
    Case("DisaggregatedSet", "policy of a role", put(f"{ROLE}/spec/startupPolicy", "a"), "none"),
    Case("DisaggregatedSet", "placement", put("spec/placementPolicy/type", "a"), "none"),
    Case("DisaggregatedSet", "slices", put("spec/slices", 2), "none"),
    Case("Deployment", "selector", put("spec/selector/matchLabels/app", "r2"), "refused"),
    Case("Deployment", "template", put("spec/template/spec/containers/0/image", "a"), "rolls"),
    Case("Deployment", "replicas", put("spec/replicas", 5), "none"),
    Case("Deployment", "no replicas", drop("spec/replicas"), "none"),
    Case("Deployment", "a label", label("team", "b"), "none"),
    Case("Deployment", "surge", put("spec/strategy/rollingUpdate/maxSurge", 1), "none"),
    Case("Deployment", "another queue", label(QUEUE, "other"), "refused", queued=True),
    Case("Deployment", "a queue", label(QUEUE, "other"), "refused"),
    Case("Deployment", "another priority", label(PRIORITY, "low"), "rolls", queued=True),
    Case("Deployment", "no priority", label(PRIORITY, None), "refused", queued=True),
    Case("Service", "address", put("spec/clusterIP", "10.0.0.1"), "refused"),
    Case("Service", "addresses", put("spec/clusterIPs", ["10.0.0.1"]), "refused"),
    Case("Service", "selector", put("spec/selector/app", "r2"), "in-place"),
    Case("Service", "port", put("spec/ports/0/port", 81), "in-place"),
    Case("Service", "unready", put("spec/publishNotReadyAddresses", True), "in-place"),
    Case("Service", "type", put("spec/type", "NodePort"), "in-place"),
    Case("Service", "a label", label("team", "b"), "none"),
    Case("PodDisruptionBudget", "bound", put("spec/maxUnavailable", 2), "in-place"),
    Case("PodDisruptionBudget", "a label", label("team", "b"), "none"),
    Case("HorizontalPodAutoscaler", "minimum", put("spec/minReplicas", 2), "in-place"),
    Case("HorizontalPodAutoscaler", "maximum", put("spec/maxReplicas", 2), "in-place"),
    Case("HorizontalPodAutoscaler", "higher", put("spec/maxReplicas", 8), "in-place"),
    Case("HorizontalPodAutoscaler", "a label", label("team", "b"), "none"),
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
    Case("ResourceFlavor", "taints", put("spec/nodeTaints", [{"key": "a"}]), "in-place"),
    Case("ResourceFlavor", "taints before", put("spec/nodeTaints", [{"key": "a"}]), "refused", OLD),
    Case("ResourceFlavor", "topology", put("spec/topologyName", "h200"), "refused", NEXT),
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
        for value in ("16", "64")
    ),
    Case("ClusterQueue", "stop", put("spec/stopPolicy", "HoldAndDrain"), "in-place"),
    Case("ClusterQueue", "namespaces", drop("spec/namespaceSelector"), "in-place"),
    Case("ClusterQueue", "flavor", put(f"{GROUPS}/flavors/0/name", "h200"), "in-place"),
    Case("ClusterQueue", "strategy", put("spec/queueingStrategy", "StrictFIFO"), "in-place"),
    Case("ClusterQueue", "a label", label("team", "b"), "none"),
    Case("LocalQueue", "queue", put("spec/clusterQueue", "other"), "refused"),
    Case("LocalQueue", "stop", put("spec/stopPolicy", "Hold"), "in-place"),
    Case("LocalQueue", "a label", label("team", "b"), "none"),
    Case("Cohort", "parent", put("spec/parentName", "b"), "in-place"),
    Case("Cohort", "a label", label("team", "b"), "none"),
    Case("WorkloadPriorityClass", "value", put("value", 7), "in-place"),
    Case("WorkloadPriorityClass", "description", put("description", "b"), "none"),
    Case("PodGroup", "members", put("spec/minMember", 3), "in-place"),
    Case("PodGroup", "a label", label("team", "b"), "none"),
    Case("Queue", "capability", put("spec/capability/cpu", "16"), "in-place"),
    Case("Queue", "weight", put("spec/weight", 2), "in-place"),
    Case("Queue", "a label", label("team", "b"), "none"),
    Case("HyperNode", "tier", put("spec/tier", 2), "in-place"),
    Case("HyperNode", "a label", label("team", "b"), "none"),
]
