"""What the API server stores where a manifest says nothing, kind by kind."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from gangform.apis.core import complete
from gangform.apis.pods import pull_policy


def load(text: str) -> dict[str, Any]:
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


DEPLOYMENT = load(
    """
apiVersion: apps/v1
kind: Deployment
metadata: {name: small, namespace: llm}
spec:
  selector: {matchLabels: {app.kubernetes.io/name: small}}
  template:
    metadata: {labels: {app.kubernetes.io/name: small}}
    spec:
      serviceAccountName: small
      containers:
      - name: server
        image: registry.example/vllm:v0.32.0
        ports: [{name: http, containerPort: 8000}]
        env:
        - {name: IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
        - {name: CPUS, valueFrom: {resourceFieldRef: {resource: limits.cpu}}}
        resources:
          requests: {cpu: 0.5, memory: 1024Gi, nvidia.com/gpu: 8}
          limits: {nvidia.com/gpu: "8"}
        startupProbe: {httpGet: {port: http}}
        livenessProbe: {grpc: {port: 9000}}
        lifecycle: {preStop: {httpGet: {port: 8000}}}
      volumes:
      - {name: keys, secret: {secretName: keys}}
      - {name: settings, configMap: {name: settings}}
      - {name: models, hostPath: {path: /models}}
      - {name: shm, emptyDir: {medium: Memory, sizeLimit: 1024Mi}}
      - {name: scratch}
      - {name: token, projected: {sources: [{serviceAccountToken: {path: token}}]}}
""".replace("cpu: 0.5", 'cpu: "0.5"')
)


def test_a_deployment_gets_every_default_of_the_server() -> None:
    stored: Any = complete(DEPLOYMENT)
    spec = stored["spec"]
    assert "replicas" not in spec
    assert spec["strategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"},
    }
    assert spec["revisionHistoryLimit"] == 10
    assert spec["progressDeadlineSeconds"] == 600
    pod = spec["template"]["spec"]
    volumes = pod.pop("volumes")
    (container,) = pod.pop("containers")
    assert pod == {
        "serviceAccountName": "small",
        "restartPolicy": "Always",
        "terminationGracePeriodSeconds": 30,
        "dnsPolicy": "ClusterFirst",
        "securityContext": {},
        "schedulerName": "default-scheduler",
        "serviceAccount": "small",
    }
    assert container == {
        "name": "server",
        "image": "registry.example/vllm:v0.32.0",
        "ports": [{"name": "http", "containerPort": 8000, "protocol": "TCP"}],
        "env": [
            {
                "name": "IP",
                "valueFrom": {"fieldRef": {"fieldPath": "status.podIP", "apiVersion": "v1"}},
            },
            {
                "name": "CPUS",
                "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "0"}},
            },
        ],
        "resources": {
            "requests": {"cpu": "500m", "memory": "1Ti", "nvidia.com/gpu": "8"},
            "limits": {"nvidia.com/gpu": "8"},
        },
        "startupProbe": {
            "httpGet": {"port": "http", "path": "/", "scheme": "HTTP"},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
        "livenessProbe": {
            "grpc": {"port": 9000, "service": ""},
            "timeoutSeconds": 1,
            "periodSeconds": 10,
            "successThreshold": 1,
            "failureThreshold": 3,
        },
        "lifecycle": {"preStop": {"httpGet": {"port": 8000, "path": "/", "scheme": "HTTP"}}},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "IfNotPresent",
    }
    assert volumes == [
        {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 420}},
        {"name": "settings", "configMap": {"name": "settings", "defaultMode": 420}},
        {"name": "models", "hostPath": {"path": "/models", "type": ""}},
        {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Gi"}},
        {"name": "scratch", "emptyDir": {}},
        {
            "name": "token",
            "projected": {
                "sources": [{"serviceAccountToken": {"path": "token", "expirationSeconds": 3600}}],
                "defaultMode": 420,
            },
        },
    ]


def test_a_deployment_that_recreates_gets_no_rolling_update() -> None:
    stored: Any = complete(
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"strategy": {"type": "Recreate"}}}
    )
    assert stored["spec"]["strategy"] == {"type": "Recreate"}


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("vllm", "Always"),
        ("vllm:latest", "Always"),
        ("registry:5000/vllm", "Always"),
        ("registry:5000/vllm:v1", "IfNotPresent"),
        ("vllm@sha256:0123", "IfNotPresent"),
        ("vllm:latest@sha256:0123", "Always"),
    ],
)
def test_an_image_is_always_pulled_without_a_tag_and_with_the_tag_latest(
    image: str, policy: str
) -> None:
    assert pull_policy(image) == policy


LEADER_WORKER_SET = load("""
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: r1, namespace: llm}
spec:
  leaderWorkerTemplate:
    size: 2
    restartPolicy: Default
    leaderTemplate:
      spec:
        initContainers: [{name: wait, image: busybox}]
        containers:
        - name: server
          image: vllm
          ports: [{containerPort: 8000}]
          env: [{name: X, valueFrom: {secretKeyRef: {key: x}}}]
          resources: {limits: {memory: 1024Gi, nvidia.com/gpu: 8}}
          readinessProbe: {httpGet: {path: /health, port: 8000}}
    workerTemplate:
      spec:
        containers: [{name: server, image: vllm}]
        volumes: [{name: shm, emptyDir: {sizeLimit: 2048Mi}}, {name: keys, secret: {secretName: k}}]
""")


def test_a_leader_worker_set_gets_the_defaults_of_crd_and_webhook_and_no_more() -> None:
    assert complete(LEADER_WORKER_SET) == load(
        """
apiVersion: leaderworkerset.x-k8s.io/v1
kind: LeaderWorkerSet
metadata: {name: r1, namespace: llm}
spec:
  leaderWorkerTemplate:
    size: 2
    restartPolicy: None
    leaderTemplate:
      spec:
        initContainers: [{name: wait, image: busybox, resources: {}}]
        containers:
        - name: server
          image: vllm
          ports: [{containerPort: 8000, protocol: TCP}]
          env: [{name: X, valueFrom: {secretKeyRef: {key: x, name: ""}}}]
          resources: {limits: {memory: 1Ti, nvidia.com/gpu: "8"}}
          readinessProbe: {httpGet: {path: /health, port: 8000}}
    workerTemplate:
      spec:
        containers: [{name: server, image: vllm, resources: {}}]
        volumes: [{name: shm, emptyDir: {sizeLimit: 2Gi}}, {name: keys, secret: {secretName: k}}]
  rolloutStrategy:
    type: RollingUpdate
    rollingUpdateConfiguration: {maxUnavailable: 1, maxSurge: 0, partition: 0}
  startupPolicy: LeaderCreated
  networkConfig: {subdomainPolicy: Shared}
""".replace("restartPolicy: None", 'restartPolicy: "None"')
    )


def test_a_disaggregated_set_gets_the_defaults_of_its_crd_where_a_block_stands() -> None:
    role: dict[str, Any] = {
        "name": "prefill",
        "spec": {
            "leaderWorkerTemplate": {
                "workerTemplate": {"spec": {"containers": [{"name": "a", "ports": [{}]}]}}
            }
        },
    }
    stored: Any = complete(
        {
            "apiVersion": "disaggregatedset.x-k8s.io/v1",
            "kind": "DisaggregatedSet",
            "spec": {"roles": [role]},
        }
    )
    assert stored["spec"]["roles"][0]["spec"] == {
        "leaderWorkerTemplate": {
            "workerTemplate": {
                "spec": {"containers": [{"name": "a", "ports": [{"protocol": "TCP"}]}]}
            },
            "size": 1,
            "restartPolicy": "RecreateGroupOnPodRestart",
        },
        "startupPolicy": "LeaderCreated",
    }
    assert "slices" not in stored["spec"]


@pytest.mark.parametrize(
    ("given_", "stored"),
    [
        (
            "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80}]}}",
            "{apiVersion: v1, kind: Service, spec: {ports: [{port: 80, protocol: TCP, targetPort: 80}],"
            " sessionAffinity: None, type: ClusterIP, internalTrafficPolicy: Cluster}}",
        ),
        (
            "{apiVersion: v1, kind: Service, spec: {type: NodePort, sessionAffinity: ClientIP}}",
            "{apiVersion: v1, kind: Service, spec: {type: NodePort, sessionAffinity: ClientIP,"
            " sessionAffinityConfig: {clientIP: {timeoutSeconds: 10800}},"
            " externalTrafficPolicy: Cluster, internalTrafficPolicy: Cluster}}",
        ),
        (
            "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy,"
            " spec: {ingress: [{ports: [{port: 80}]}]}}",
            "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy,"
            " spec: {ingress: [{ports: [{port: 80, protocol: TCP}]}], policyTypes: [Ingress]}}",
        ),
        (
            "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy, spec: {egress: [{}]}}",
            "{apiVersion: networking.k8s.io/v1, kind: NetworkPolicy,"
            " spec: {egress: [{}], policyTypes: [Ingress, Egress]}}",
        ),
        (
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, spec: {resourceGroups:"
            " [{flavors: [{resources: [{name: memory, nominalQuota: 1024Gi},"
            " {name: nvidia.com/gpu, nominalQuota: 8}]}]}]}}",
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue, spec: {resourceGroups:"
            " [{flavors: [{resources: [{name: memory, nominalQuota: 1Ti},"
            " {name: nvidia.com/gpu, nominalQuota: '8'}]}]}],"
            " queueingStrategy: BestEffortFIFO,"
            " flavorFungibility: {whenCanBorrow: MayStopSearch, whenCanPreempt: TryNextFlavor},"
            " preemption: {reclaimWithinCohort: Never, borrowWithinCohort: {policy: Never},"
            " withinClusterQueue: Never}, stopPolicy: 'None'}}",
        ),
        (
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue, spec: {clusterQueue: a}}",
            "{apiVersion: kueue.x-k8s.io/v1beta2, kind: LocalQueue,"
            " spec: {clusterQueue: a, stopPolicy: 'None'}}",
        ),
        (
            "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup,"
            " spec: {minResources: {memory: 1024Gi}, networkTopology: {highestTierName: rack}}}",
            "{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup,"
            " spec: {minResources: {memory: 1Ti},"
            " networkTopology: {highestTierName: rack, mode: hard}, queue: default}}",
        ),
        (
            "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, spec: {capability: {cpu: 8}}}",
            "{apiVersion: scheduling.volcano.sh/v1beta1, kind: Queue, spec: {capability: {cpu: '8'},"
            " weight: 1, reclaimable: true, dequeueStrategy: traverse, parent: root}}",
        ),
        (
            "{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, spec: {podMetricsEndpoints:"
            " [{port: http, relabelings: [{targetLabel: a}]}]}}",
            "{apiVersion: monitoring.coreos.com/v1, kind: PodMonitor, spec: {podMetricsEndpoints:"
            " [{port: http, relabelings: [{targetLabel: a, action: replace}]}]}}",
        ),
        (
            "{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool,"
            " spec: {endpointPickerRef: {name: epp}}}",
            "{apiVersion: inference.networking.k8s.io/v1, kind: InferencePool,"
            " spec: {endpointPickerRef:"
            " {name: epp, group: '', kind: Service, failureMode: FailClose}, appProtocol: http}}",
        ),
    ],
)
def test_the_defaults_of_a_kind_are_written_out(given_: str, stored: str) -> None:
    want = load(stored.replace("sessionAffinity: None", "sessionAffinity: 'None'"))
    assert complete(load(given_)) == want


@pytest.mark.parametrize(
    "kind",
    [
        ("v1", "ServiceAccount"),
        ("policy/v1", "PodDisruptionBudget"),
        ("kueue.x-k8s.io/v1beta2", "Topology"),
        ("kueue.x-k8s.io/v1beta2", "ResourceFlavor"),
        ("kueue.x-k8s.io/v1beta2", "WorkloadPriorityClass"),
        ("topology.volcano.sh/v1alpha1", "HyperNode"),
        ("monitoring.coreos.com/v1", "PrometheusRule"),
        ("example.org/v1", "Deployment"),
    ],
)
def test_a_kind_without_known_defaults_stays_as_it_is(kind: tuple[str, str]) -> None:
    manifest: dict[str, Any] = {"apiVersion": kind[0], "kind": kind[1], "spec": {"a": 1}}
    assert complete(manifest) == manifest


def test_an_autoscaler_fills_both_directions_and_puts_the_cpu_first() -> None:
    pods: dict[str, Any] = {
        "type": "Pods",
        "pods": {
            "metric": {"name": "w"},
            "target": {"type": "AverageValue", "averageValue": "0.5"},
        },
    }
    cpu: dict[str, Any] = {
        "type": "Resource",
        "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 70}},
    }
    stored: Any = complete(
        {
            "apiVersion": "autoscaling/v2",
            "kind": "HorizontalPodAutoscaler",
            "spec": {
                "maxReplicas": 4,
                "metrics": [pods, cpu],
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 600}},
            },
        }
    )
    spec = stored["spec"]
    assert spec["minReplicas"] == 1
    assert spec["metrics"][0] == cpu
    assert spec["metrics"][1]["pods"]["target"]["averageValue"] == "500m"
    assert spec["behavior"] == {
        "scaleDown": {
            "stabilizationWindowSeconds": 600,
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
        },
        "scaleUp": {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": 15},
                {"type": "Percent", "value": 100, "periodSeconds": 15},
            ],
        },
    }
