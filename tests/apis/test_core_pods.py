from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
import yaml

from gangform.apis.core import DeploymentForm, pod_refusals, requests
from gangform.documents.document import Document
from gangform.findings import show_path


def load(text: str) -> dict[str, Any]:
    loaded = yaml.safe_load(text)
    assert isinstance(loaded, dict)
    return loaded


def refused(text: str, *, in_stateful_set: bool = True) -> list[str]:
    found = pod_refusals(load(text), in_stateful_set=in_stateful_set)
    return [f"{show_path(path)}: {what}" for path, what, _ in found]


def one(container: str) -> list[str]:
    return refused("{containers: [{name: a, image: b, " + container + "}]}")


@pytest.mark.parametrize(
    ("container", "said"),
    [
        (
            "resources: {requests: {cpu: '8'}, limits: {cpu: '4'}}",
            "containers[0].resources.requests.cpu: 8 must be less than or equal to cpu limit of 4",
        ),
        (
            "resources: {requests: {nvidia.com/gpu: 4}, limits: {nvidia.com/gpu: 8}}",
            "containers[0].resources.requests[nvidia.com/gpu]: 4 must be equal to nvidia.com/gpu limit of 8",
        ),
        (
            "resources: {requests: {nvidia.com/gpu: 4}}",
            "containers[0].resources.limits[nvidia.com/gpu]: "
            "nvidia.com/gpu is requested without a limit, which it must have",
        ),
        (
            "resources: {limits: {nvidia.com/gpu: '0.5'}}",
            "containers[0].resources.limits[nvidia.com/gpu]: nvidia.com/gpu `0.5` must be an integer",
        ),
        (
            "resources: {requests: {memory: lots}}",
            "containers[0].resources.requests.memory: `lots` is not a quantity",
        ),
        (
            "volumeMounts: [{name: shm, mountPath: /dev/shm}]",
            "containers[0].volumeMounts[0].name: volumeMounts[0].name: Not found: `shm`",
        ),
        (
            "ports: [{containerPort: 70000}]",
            "containers[0].ports[0].containerPort: port 70000 is not between 1 and 65535",
        ),
        (
            "ports: [{name: a, containerPort: 1}, {name: a, containerPort: 2}]",
            "containers[0].ports[1].name: two ports are called `a`",
        ),
        (
            "env: [{name: A, value: 8}]",
            "containers[0].env[0].value: the value of `A` must be text, and `8` is none",
        ),
        (
            "env: [{name: A, value: true}]",
            "containers[0].env[0].value: the value of `A` must be text, and `true` is none",
        ),
        (
            "securityContext: {allowPrivilegeEscalation: false, privileged: true}",
            "containers[0].securityContext.allowPrivilegeEscalation: "
            "allowPrivilegeEscalation: false beside privileged: true, which implies it",
        ),
        (
            "securityContext: {allowPrivilegeEscalation: false, capabilities: {add: [CAP_SYS_ADMIN]}}",
            "containers[0].securityContext.allowPrivilegeEscalation: "
            "allowPrivilegeEscalation: false beside the capability CAP_SYS_ADMIN, which implies it",
        ),
        (
            "securityContext: {runAsUser: '1000'}",
            "containers[0].securityContext.runAsUser: "
            "runAsUser `1000` is no whole number from 0 to 2147483647",
        ),
        ("env: [{name: A=B}]", "containers[0].env[0].name: `A=B` is not a name of a variable"),
        (
            "startupProbe: {failureThreshold: 5}",
            "containers[0].startupProbe: a probe has exactly one handler; this one has 0",
        ),
        (
            "readinessProbe: {tcpSocket: {port: 1}, exec: {command: [a]}}",
            "containers[0].readinessProbe: a probe has exactly one handler; this one has 2",
        ),
        (
            "livenessProbe: {tcpSocket: {port: 1}, initialDelaySeconds: -1}",
            "containers[0].livenessProbe.initialDelaySeconds: initialDelaySeconds -1 is negative",
        ),
        (
            "livenessProbe: {tcpSocket: {port: 1}, successThreshold: 2}",
            "containers[0].livenessProbe.successThreshold: successThreshold must be 1 in a livenessProbe",
        ),
    ],
)
def test_the_pod_api_refuses_a_container(container: str, said: str) -> None:
    assert one(container) == [said]


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("{}", "containers: a pod has at least one container"),
        ("{containers: [{name: a}]}", "containers[0].image: container `a` has no image"),
        (
            "{containers: [{name: a, image: b}], initContainers: [{name: a, image: b}]}",
            "containers[0].name: two containers are called `a`",
        ),
        (
            "{containers: [{name: A_b, image: b}]}",
            "containers[0].name: the container name `A_b` is not a DNS label",
        ),
        (
            "{containers: [{name: a, image: b}], restartPolicy: Never}",
            "restartPolicy: restartPolicy `Never` is not supported in a StatefulSet: supported values: Always",
        ),
        (
            "{containers: [{name: a, image: b}], securityContext: {runAsUser: root}}",
            "securityContext.runAsUser: runAsUser `root` is no whole number from 0 to 2147483647",
        ),
        (
            "{containers: [{name: a, image: b}], securityContext: {fsGroup: -1}}",
            "securityContext.fsGroup: fsGroup `-1` is no whole number from 0 to 2147483647",
        ),
        (
            "{containers: [{name: a, image: b}], tolerations: [{key: a, operator: Gt, value: '1'}]}",
            "tolerations[0].operator: operator `Gt` is not supported",
        ),
        (
            "{containers: [{name: a, image: b}], volumes: [{name: v}, {name: v}]}",
            "volumes[1].name: two volumes are called `v`",
        ),
        (
            "{containers: [{name: a, image: b}], tolerations: [{effect: NoSchedule}]}",
            "tolerations[0].operator: a toleration without a key needs the operator Exists",
        ),
        (
            "{containers: [{name: a, image: b}], tolerations: [{key: a, operator: Exists, value: b}]}",
            "tolerations[0].value: the value must be empty with the operator Exists",
        ),
        (
            "{containers: [{name: a, image: b}], tolerations: [{key: a, tolerationSeconds: 5}]}",
            "tolerations[0].effect: tolerationSeconds goes with the effect NoExecute only",
        ),
        (
            "{containers: [{name: a, image: b, ports: [{containerPort: 1, hostPort: 2}]}],"
            " hostNetwork: true}",
            "containers[0].ports[0].hostPort: hostPort 2 must match containerPort 1 when hostNetwork is true",
        ),
        (
            "{containers: [{name: a, image: b}], initContainers:"
            " [{name: c, image: b, startupProbe: {tcpSocket: {port: 1}}}]}",
            "initContainers[0].startupProbe: an init container that ends has no startupProbe",
        ),
    ],
)
def test_the_pod_api_refuses_a_pod(spec: str, said: str) -> None:
    assert refused(spec) == [said]


def test_a_sound_pod_is_not_refused() -> None:
    assert (
        refused("""
hostNetwork: true
restartPolicy: Always
securityContext: {runAsUser: 0, runAsGroup: 2147483647}
initContainers: [{name: proxy, image: b, restartPolicy: Always, startupProbe: {tcpSocket: {port: 1}}}]
containers:
- name: server
  image: b
  securityContext: {privileged: true, allowPrivilegeEscalation: true, capabilities: {add: [SYS_ADMIN]}}
  env: [{name: PATH_1}, {name: my.dotted-name, value: a}]
  ports: [{name: http, containerPort: 8000}]
  resources: {limits: {nvidia.com/gpu: 8, rdma/hca: 1}, requests: {cpu: "4"}}
  volumeMounts: [{name: shm, mountPath: /dev/shm}]
  readinessProbe: {httpGet: {path: /health, port: http}, successThreshold: 2}
tolerations: [{operator: Exists}, {key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
volumes: [{name: shm, emptyDir: {medium: Memory}}]
""")
        == []
    )


def test_a_mount_of_a_claim_template_is_found() -> None:
    spec = load("{containers: [{name: a, image: b, volumeMounts: [{name: c, mountPath: /c}]}]}")
    assert list(pod_refusals(spec, in_stateful_set=True, claims=["c"])) == []


def test_a_bare_pod_may_end() -> None:
    spec = "{containers: [{name: a, image: b}], restartPolicy: Never}"
    assert refused(spec, in_stateful_set=False) == []


def test_nothing_written_badly_makes_it_raise() -> None:
    spec: Any = {"containers": ["a", {"ports": {"a": 1}, "resources": []}], "volumes": "x"}
    assert len(list(pod_refusals(spec, in_stateful_set=True))) > 0


def test_a_pod_asks_for_its_containers_its_sidecars_and_its_overhead() -> None:
    spec = load("""
initContainers:
- {name: big, resources: {requests: {cpu: "10", memory: 1Gi}}}
- {name: sidecar, restartPolicy: Always, resources: {requests: {cpu: "1"}}}
- {name: late, resources: {requests: {cpu: "9"}}}
containers:
- {name: a, resources: {requests: {cpu: "4", memory: 8Gi}, limits: {cpu: "8", nvidia.com/gpu: 8}}}
- {name: b, resources: {requests: {cpu: 500m}}}
overhead: {cpu: 250m}
""")
    # 10 = max(big 10, late 9 + sidecar 1, a 4 + b 0.5 + sidecar 1)
    assert requests(spec) == {
        "cpu": Fraction(41, 4),
        "memory": Fraction(8 * 2**30),
        "nvidia.com/gpu": Fraction(8),
    }


def test_requests_of_the_pod_as_a_whole_win() -> None:
    spec = load("""
containers: [{name: a, resources: {requests: {cpu: "4"}}}]
resources: {requests: {cpu: "6"}, limits: {cpu: "8", memory: 1Gi}}
""")
    assert requests(spec) == {"cpu": Fraction(6), "memory": Fraction(2**30)}


def test_a_deployment_is_read_as_groups_of_one_pod() -> None:
    manifest = load("""
apiVersion: apps/v1
kind: Deployment
metadata: {name: small, namespace: llm}
spec:
  replicas: 3
  strategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}
  template:
    metadata: {labels: {app.kubernetes.io/name: small}}
    spec: {containers: [{name: a}]}
""")
    form = DeploymentForm()
    (group,) = form.read(Document(manifest=manifest, builder=""))
    assert (group.replicas, group.size, group.surge, group.unavailable) == (3, 1, 1, 0)
    assert group.workers is None
    assert group.leader.role == "pod"
    assert group.leader.path == ("spec", "template")
    selectors = form.selectors(name="small", app="small")
    assert selectors.leaders == selectors.pods == {"app.kubernetes.io/name": "small"}
    assert selectors.group is None
    assert group.leader.matches(selectors.leaders)
    assert group.leader.matches({"pod-template-hash": "5bb7c8848f"})


def test_a_deployment_of_the_longest_name_has_pods_that_keep_it() -> None:
    bound = DeploymentForm().longest_name(size=1, highest_index=0)
    assert bound == 46
    assert len("x" * bound + "-" + "h" * 10 + "-") == 58
