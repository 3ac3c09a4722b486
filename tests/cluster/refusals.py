"""Values that a server refuses, by the code that our rules give them, and values at the edge that it takes."""

from __future__ import annotations

from collections.abc import Mapping

from tests.cluster.alteration import Changes, Refused, Taken
from tests.cluster.servings import GPU

SET = "LeaderWorkerSet"
SHM = {"name": "shm", "emptyDir": {}}
PROBE = {"httpGet": {"path": "/health", "port": 8000}}
LONG = "x" * 63


def pods(changes: Changes, says: str) -> Refused:
    return Refused(SET, changes, says)


# ── the pod API, which looks at no template of a set ─────────────────────────────────────────────

PODS: tuple[Refused, ...] = (
    pods({"P>restartPolicy": "Never"}, 'Unsupported value: "Never"'),
    pods({"P>containers": []}, "Required value"),
    pods(
        {"C>resources>requests>nvidia.com/gpu": "4"}, "must be equal to nvidia.com/gpu limit of 8"
    ),
    pods({"C>resources>limits>nvidia.com/gpu": ...}, "Limit must be set for non overcommitable"),
    pods({"C>resources>limits>cpu": "1"}, "must be less than or equal to cpu limit of 1"),
    pods(
        {
            "C>resources>requests>nvidia.com/gpu": "1500m",
            "C>resources>limits>nvidia.com/gpu": "1500m",
        },
        "must be an integer",
    ),
    pods({"C>resources>requests>memory": "12 GiB"}, "quantities must match the regular expression"),
    pods({"C>image": ""}, "image: Required value"),
    pods({"C>name": "Engine_1"}, "a lowercase RFC 1123 label"),
    pods({"P>initContainers": [{"name": "engine", "image": "x"}]}, "Duplicate value"),
    pods({"P>volumes>0>hostPath": {"path": "/x"}}, "may not specify more than 1 volume type"),
    pods({"P>volumes>0>name": "Shm"}, "a lowercase RFC 1123 label"),
    pods({"P>volumes": [SHM, SHM]}, "duplicate entries for key"),
    pods({"C>volumeMounts>0>name": "nothing"}, 'Not found: "nothing"'),
    pods({"C>volumeMounts>0>mountPath": ""}, "mountPath: Required value"),
    pods(
        {"C>volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}] * 2},
        "duplicate entries for key",
    ),
    pods({"C>env>0": {"name": "A", "value": 1}}, "expected string"),
    pods({"C>env>0": {"name": "A=B", "value": "1"}}, "a valid environment variable name"),
    pods(
        {
            "C>env>0": {
                "name": "A",
                "value": "1",
                "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}},
            }
        },
        "may not be specified when `value` is not empty",
    ),
    pods(
        {"C>ports": [{"containerPort": 1, "name": "a-port-with-16-c"}]}, "must be no more than 15"
    ),
    pods({"C>ports": [{"containerPort": 1, "name": "1234"}]}, "must contain at least one letter"),
    pods(
        {"C>ports": [{"containerPort": 1, "name": "a--b"}]}, "must not contain consecutive hyphens"
    ),
    pods({"C>ports": [{"containerPort": 70000}]}, "must be between 1 and 65535"),
    pods({"C>ports": [{"containerPort": 1, "hostPort": 70000}]}, "must be between 1 and 65535"),
    pods(
        {"C>ports": [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}]},
        "Duplicate value",
    ),
    pods(
        {"C>ports": [{"containerPort": 1, "hostPort": 9}, {"containerPort": 2, "hostPort": 9}]},
        "Duplicate value",
    ),
    pods(
        {"P>hostNetwork": True, "C>ports": [{"containerPort": 1, "hostPort": 2}]},
        "must match `containerPort` when `hostNetwork` is true",
    ),
    pods({"C>readinessProbe": {**PROBE, "exec": {"command": ["x"]}}}, "more than 1 handler type"),
    pods({"C>readinessProbe": {"periodSeconds": 1}}, "must specify a handler type"),
    pods(
        {"C>readinessProbe": {**PROBE, "periodSeconds": -1}}, "must be greater than or equal to 0"
    ),
    pods({"C>livenessProbe": {**PROBE, "successThreshold": 2}}, "must be 1"),
    pods({"C>readinessProbe": {"tcpSocket": {"port": 70000}}}, "must be between 1 and 65535"),
    pods(
        {"C>readinessProbe": {"tcpSocket": {"port": "a-port-with-16-c"}}}, "must be no more than 15"
    ),
    pods(
        {"P>initContainers": [{"name": "first", "image": "x", "readinessProbe": PROBE}]},
        "init containers without restartPolicy=Always",
    ),
    pods({"P>tolerations": [{"operator": "Equal"}]}, "operator must be Exists when `key` is empty"),
    pods({"P>tolerations": [{"key": "a", "operator": "In"}]}, 'Unsupported value: "In"'),
    pods({"P>tolerations": [{"key": "a", "operator": "Gt", "value": "1"}]}, "Gt"),
    pods(
        {"P>tolerations": [{"key": "a", "operator": "Exists", "value": "b"}]}, "value must be empty"
    ),
    pods({"P>tolerations": [{"key": "a", "effect": "Never"}]}, 'Unsupported value: "Never"'),
    pods(
        {"P>tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]},
        "effect must be 'NoExecute'",
    ),
    pods({"C>securityContext": {"runAsUser": -1}}, "must be between 0 and 2147483647"),
    pods(
        {"C>securityContext": {"privileged": True, "allowPrivilegeEscalation": False}},
        "cannot set `allowPrivilegeEscalation` to false and `privileged` to true",
    ),
    pods(
        {
            "C>securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": ["CAP_SYS_ADMIN"]},
            }
        },
        "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
    ),
)

REFUSED: Mapping[str, tuple[Refused, ...]] = {
    # ── Kubernetes ───────────────────────────────────────────────────────────────────────────────
    "metadata-refused": (
        Refused("Service", {"metadata>labels": {"a b": "c"}}, "name part must consist of"),
        Refused("Service", {"metadata>labels": {"x": "y" * 64}}, "must be no more than 63"),
        Refused(
            "Service", {"metadata>labels": {"x": "-y"}}, "a valid label must be an empty string"
        ),
        Refused(
            "Service", {"metadata>annotations": {"A_B/c": "d"}}, "lowercase RFC 1123 subdomain"
        ),
        Refused("Service", {"metadata>annotations": {"a": 1}}, "expected string"),
        Refused("Service", {"metadata>annotations": {"a": "x" * 262_144}}, "Too long"),
        pods({"M>labels>x": "y z"}, "a valid label must be an empty string"),
        pods({"P>nodeSelector": {"x": "y z"}}, "a valid label must be an empty string"),
    ),
    "scale-bounds-refused": (
        Refused("HorizontalPodAutoscaler", {"spec>maxReplicas": 1}, "maxReplicas"),
        Refused("HorizontalPodAutoscaler", {"spec>maxReplicas": ...}, "maxReplicas"),
    ),
    "network-peer-refused": (
        Refused(
            "NetworkPolicy", {"spec>ingress>0>from>0": {"namespace": "x"}}, "not declared in schema"
        ),
        Refused("NetworkPolicy", {"spec>ingress>0>from>0": {}}, "must specify a peer"),
        Refused(
            "NetworkPolicy",
            {"spec>ingress>0>from>0": {"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}},
            "may not specify both ipBlock and another peer",
        ),
    ),
    # ── LeaderWorkerSet ──────────────────────────────────────────────────────────────────────────
    "rollout-of-nothing": (
        Refused(
            SET,
            {
                "spec>rolloutStrategy>rollingUpdateConfiguration>maxSurge": 0,
                "spec>rolloutStrategy>rollingUpdateConfiguration>maxUnavailable": 0,
            },
            "must not be 0 when `maxSurge` is 0",
        ),
        Refused(
            SET,
            {
                "spec>rolloutStrategy>rollingUpdateConfiguration>maxSurge": 0,
                "spec>rolloutStrategy>rollingUpdateConfiguration>maxUnavailable": "10%",
            },
            "must not be 0 when `maxSurge` is 0",
        ),
    ),
    "restart-policy-unknown": (
        Refused(SET, {"G>restartPolicy": "RecreateGroupOnHostFailure"}, "Unsupported value"),
    ),
    "subgroups-refused": (
        Refused(SET, {"G>subGroupPolicy": {}}, "nil pointer dereference"),
        Refused(SET, {"G>subGroupPolicy": {"subGroupSize": 5}}, "subGroupSize"),
        Refused(SET, {"G>subGroupPolicy": {"subGroupSize": 0}}, "integer divide by zero"),
        Refused(SET, {"G>size": 6, "G>subGroupPolicy": {"subGroupSize": 4}}, "must be divisible"),
        Refused(
            SET,
            {"G>subGroupPolicy": {"subGroupSize": 2, "subGroupPolicyType": "LeaderExcluded"}},
            "must be divisible",
        ),
    ),
    "name-exceeds-bound": (
        Refused(SET, {"metadata>name": "1a"}, "DNS-1035 label"),
        Refused(SET, {"metadata>name": "a.b"}, "DNS-1035 label"),
        Refused(SET, {"metadata>name": "x" * 64}, "no more than 63"),
    ),
}

QUEUE = "ClusterQueue"
GROUP_OF_QUEUE = {
    "coveredResources": ["cpu"],
    "flavors": [{"name": "h100", "resources": [{"name": "cpu", "nominalQuota": "1"}]}],
}
REQUIRED = "kueue.x-k8s.io/podset-required-topology"
JOINED = "kueue.x-k8s.io/podset-group-name"
RACK = "topology.example.com/rack"
SLICE = "kueue.x-k8s.io/podset-slice-required-topology"


def annotated(leader: Changes, workers: Changes) -> Changes:
    return {"L>annotations": dict(leader), "M>annotations": dict(workers)}


KUEUE: Mapping[str, tuple[Refused, ...]] = {
    "queue-flavors-disagree": (
        Refused(QUEUE, {"Q>coveredResources>0": "example.com/other"}, "must match"),
        Refused(QUEUE, {"Q>flavors>0>resources>0": ...}, "must have the same number of resources"),
    ),
    "queue-resource-twice": (
        Refused(QUEUE, {"spec>resourceGroups>1": GROUP_OF_QUEUE}, "Duplicate value"),
    ),
    "flavor-topology-without-labels": (
        Refused("ResourceFlavor", {"spec>nodeLabels": ...}, "at least one nodeLabel is required"),
    ),
    "topology-levels-refused": (
        Refused("Topology", {"spec>levels": []}, "should have at least 1 items"),
        Refused(
            "Topology",
            {"spec>levels": [{"nodeLabel": f"a.com/{n}"} for n in range(17)]},
            "must have at most 16",
        ),
        Refused("Topology", {"spec>levels": [{"nodeLabel": "a.com/b"}] * 2}, "must be unique"),
        Refused(
            "Topology",
            {"spec>levels": [{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a.com/b"}]},
            "lowest level",
        ),
    ),
    "topology-annotations-wrong": (
        Refused(SET, annotated({}, {REQUIRED: RACK, JOINED: "g"}), "exactly 2 pod sets"),
        Refused(
            SET,
            annotated({JOINED: "g"}, {REQUIRED: RACK, JOINED: "g"}),
            "may not be set when neither",
        ),
        Refused(SET, annotated({JOINED: "g"}, {JOINED: "g"}), "may not be set when neither"),
        Refused(SET, annotated(*[{REQUIRED: RACK, JOINED: "1"}] * 2), "must not be a number"),
        Refused(
            SET,
            annotated(
                {REQUIRED: RACK, JOINED: "g"}, {REQUIRED: "topology.example.com/block", JOINED: "g"}
            ),
            "must specify",
        ),
        Refused(SET, annotated(*[{REQUIRED: "a b", JOINED: "g"}] * 2), "name part must consist"),
        Refused(SET, {"G>leaderTemplate": ...}, "exactly 2 pod sets"),
        Refused(
            SET,
            annotated(
                *[{REQUIRED: RACK, "kueue.x-k8s.io/podset-preferred-topology": RACK, JOINED: "g"}]
                * 2
            ),
            "must not contain more than one",
        ),
        Refused(SET, annotated(*[{REQUIRED: RACK, SLICE: RACK}] * 2), "slice-size"),
    ),
}

VOLCANO: Mapping[str, tuple[Refused, ...]] = {
    "volcano-queue-refused": (
        # Of a queue that exists: of a new one the webhook makes 1 of it.
        Refused("Queue", {"spec>weight": 0}, "should be greater than or equal to 1"),
        Refused("Queue", {"spec>weight": 65536}, "weight"),
        Refused("Queue", {"spec>parent": "serving"}, "parent"),
        Refused("Queue", {"spec>guarantee": {"resource": {"cpu": "1"}}}, "guarantee"),
        Refused("Queue", {"spec>deserved": {GPU: "1000"}}, "deserved"),
        Refused(
            "Queue",
            {"spec>guarantee": {"resource": {GPU: "4"}}, "spec>deserved": {GPU: "2"}},
            "guarantee",
        ),
    ),
    "pod-group-refused": (
        Refused("PodGroup", {"spec>networkTopology>highestTierName": RACK}, "must not specify"),
        Refused("PodGroup", {"spec>minMember": -1}, "minMember"),
    ),
    "hyper-node-refused": (
        Refused("HyperNode", {"spec>tier": ...}, "tier"),
        Refused("HyperNode", {"spec>tier": -1}, "tier"),
        Refused("HyperNode", {"spec>members": []}, "members"),
        Refused("HyperNode", {"spec>members>0>selector": {}}, "selector"),
        Refused("HyperNode", {"spec>members>0>selector>exactMatch": {"name": "n1"}}, "selector"),
    ),
}


# ── values that our rules alone refuse: a server takes them, and what follows is not what was meant ────────────────

ALONE: Mapping[str, tuple[Taken, ...]] = {
    "container-ports-collide": (
        Taken(
            SET,
            {
                "C>ports": [{"containerPort": 1}],
                "P>containers>1": {"name": "b", "image": "x", "ports": [{"containerPort": 1}]},
            },
        ),
    ),
    "template-label-of-controller": (
        Taken(SET, {"M>labels>leaderworkerset.sigs.k8s.io/worker-index": "0"}),
    ),
    "name-exceeds-bound": (Taken(SET, {"metadata>name": "x" * 51}),),
}
ALONE_KUEUE: Mapping[str, tuple[Taken, ...]] = {
    "queue-admits-nobody": (Taken(QUEUE, {"spec>namespaceSelector": ...}),),
    "topology-levels-refused": (
        Taken("Topology", {"spec>levels>0>nodeLabel": f"a.com/{'b' * 58}"}),
    ),
    "topology-annotations-wrong": (
        Taken(SET, annotated({REQUIRED: RACK}, {})),
        Taken(SET, annotated(*[{REQUIRED: RACK}] * 2)),
    ),
    "level-not-in-topology": (Taken(SET, annotated(*[{REQUIRED: "a.com/b", JOINED: "g"}] * 2)),),
}
ALONE_VOLCANO: Mapping[str, tuple[Taken, ...]] = {
    "pod-group-refused": (
        Taken("PodGroup", {"spec>networkTopology": {"mode": "hard"}}),
        Taken("PodGroup", {"spec>queue": "root"}),
    ),
}

# ── values at the edge, which rules and servers both take ────────────────────────────────────────

EDGE: tuple[Taken, ...] = (
    Taken(SET, {"C>ports": [{"containerPort": 65535, "name": "a-port-of-15-ch"}]}),
    Taken(SET, {"C>ports": [{"containerPort": 1, "name": "1a"}]}),
    Taken(SET, {"P>containers>1": {"name": "c" * 63, "image": "x"}}),
    Taken(SET, {"C>env>0": {"name": "1 A.b-c $", "value": ""}}),
    Taken(SET, {"C>securityContext": {"runAsUser": 2**31 - 1}}),
    Taken(
        SET, {"C>readinessProbe>periodSeconds": 0, "C>readinessProbe>tcpSocket": {"port": 65535}}
    ),
    Taken(SET, {"P>terminationGracePeriodSeconds": 0}),
    # Taken for one second.
    Taken(SET, {"P>terminationGracePeriodSeconds": -1}),
    Taken(
        SET, {"P>tolerations": [{"operator": "Exists"}, {"key": "a", "effect": "PreferNoSchedule"}]}
    ),
    Taken(SET, {"M>labels>x": LONG, f"M>labels>{'e.' * 126}e/{LONG}": ""}),
    Taken(SET, {"M>annotations": {"a": "x" * 262_143}}),
    Taken(SET, {"G>subGroupPolicy": {"subGroupSize": 4}}),
    Taken(SET, {"G>subGroupPolicy": {"subGroupSize": 3}}),
    Taken(SET, {"G>subGroupPolicy": {"subGroupSize": 3, "subGroupPolicyType": "LeaderExcluded"}}),
    Taken(SET, {"metadata>name": "x" * 50}),
    Taken("HorizontalPodAutoscaler", {"spec>minReplicas": 1, "spec>maxReplicas": 1}),
    Taken("NetworkPolicy", {"spec>ingress>0>from>0": {"podSelector": {}, "namespaceSelector": {}}}),
)
EDGE_KUEUE: tuple[Taken, ...] = (
    Taken("Topology", {"spec>levels": [{"nodeLabel": f"a.com/{n}"} for n in range(16)]}),
    Taken("Topology", {"spec>levels": [{"nodeLabel": f"a.com/{'b' * 57}"}]}),
    Taken("Topology", {"spec>levels": [{"nodeLabel": "kubernetes.io/hostname"}]}),
    Taken("ResourceFlavor", {"spec>nodeLabels": {f"a{n}": "b" for n in range(8)}}),
    Taken(SET, annotated(*[{REQUIRED: RACK, JOINED: "g1"}] * 2)),
    Taken(SET, annotated({}, {})),
)
EDGE_VOLCANO: tuple[Taken, ...] = (
    Taken("Queue", {"spec>weight": 65535}),
    Taken("Queue", {"spec>guarantee": {"resource": {GPU: "4"}}, "spec>deserved": {GPU: "4"}}),
    Taken("PodGroup", {"spec>networkTopology": {"mode": "soft"}}),
    Taken("PodGroup", {"spec>networkTopology": {"mode": "hard", "highestTierName": RACK}}),
    Taken("PodGroup", {"spec>minMember": 0}),
    Taken("HyperNode", {"spec>tier": 0}),
)
