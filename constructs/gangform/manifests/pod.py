"""Every pod template: the engine's container, what surrounds it, and the user's own fields.

Leader and worker differ only in what they run; all that decides where they go is the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from gangform.documents.document import Manifest, Node, mapping
from gangform.engines.engine import EnvVar, Probe, Process
from gangform.inputs.hardware import Taint
from gangform.plan.serving import RolePlan, ServingPlan, WorkloadPlan
from gangform.plan.weights import Volume


def template(role: RolePlan, process: Process) -> Manifest:
    """A pod template of a role that runs `process`."""
    labels = {**role.identity.pod_labels, **role.stamp.pod_labels, **role.pods.extension.labels}
    annotations = {**role.stamp.pod_annotations, **role.pods.annotations}
    metadata: dict[str, Node] = {"labels": dict(sorted(labels.items()))}
    if annotations:
        metadata["annotations"] = dict(sorted(annotations.items()))
    return {"metadata": metadata, "spec": spec(role, process)}


def spec(role: RolePlan, process: Process) -> Manifest:
    """The pod spec."""
    pods = role.pods
    extension = pods.extension
    made: dict[str, Node] = {
        "serviceAccountName": role.identity.account,
        "automountServiceAccountToken": pods.mount_token,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": plain(role.launch.grace),
    }
    if role.stamp.scheduler is not None:
        made["schedulerName"] = role.stamp.scheduler
    if extension.priority_class_name is not None:
        made["priorityClassName"] = extension.priority_class_name
    if extension.host_network:
        made["hostNetwork"] = True
        made["dnsPolicy"] = "ClusterFirstWithHostNet"
    if extension.security_context is not None:
        made["securityContext"] = node(extension.security_context)
    if extension.image_pull_secrets:
        made["imagePullSecrets"] = [{"name": name} for name in extension.image_pull_secrets]
    made["nodeSelector"] = dict(pods.node_selector)
    if extension.affinity is not None:
        made["affinity"] = node(extension.affinity)
    tolerations = [*map(toleration, pods.taints), *map(node, extension.tolerations)]
    if tolerations:
        made["tolerations"] = tolerations
    if pods.spread is not None:
        made["topologySpreadConstraints"] = [
            {
                "maxSkew": pods.spread.skew,
                "topologyKey": pods.spread.level,
                "whenUnsatisfiable": pods.spread.otherwise,
                "labelSelector": {"matchLabels": dict(role.identity.pod_labels)},
            }
        ]
    if extension.init_containers:
        made["initContainers"] = [node(container) for container in extension.init_containers]
    made["containers"] = [container(role, process), *map(node, extension.sidecars)]
    made["volumes"] = [
        *(volume(one) for one in pods.volumes if one.kind != "template"),
        *map(node, extension.volumes),
    ]
    return made


def container(role: RolePlan, process: Process) -> Manifest:
    """The engine's container."""
    pods, launch = role.pods, role.launch
    made: dict[str, Node] = {
        "name": pods.container,
        "image": launch.image,
        "command": list(process.command),
        "args": list(process.args),
        "env": [*map(variable, process.env), *map(node, pods.extension.env)],
    }
    if process.ports:
        made["ports"] = [
            {"name": port.name, "containerPort": port.number} for port in process.ports
        ]
    made["resources"] = {"requests": pods.requests.spelled(), "limits": pods.limits.spelled()}
    for name, asked in (
        ("startupProbe", process.startup),
        ("readinessProbe", process.readiness),
        ("livenessProbe", process.liveness),
    ):
        if asked is not None:
            made[name] = probe(asked)
    if process.pre_stop:
        made["lifecycle"] = {
            "preStop": {"exec": {"command": ["sleep", f"{plain(process.pre_stop)}"]}}
        }
    made["securityContext"] = security_context(role)
    made["volumeMounts"] = [
        *map(mount, pods.volumes),
        *map(node, pods.extension.volume_mounts),
    ]
    return made


def security_context(role: RolePlan) -> Manifest:
    """What the engine's container may do: the user's word wins field by field, and added capabilities are joined."""
    pods = role.pods
    theirs = node_map(pods.extension.container_security_context)
    joined: dict[str, Node] = {}
    if pods.capabilities:
        named = mapping(theirs, "capabilities")
        joined["capabilities"] = {**named, "add": list(pods.capabilities)}
    own: dict[str, Node] = {"allowPrivilegeEscalation": pods.privilege_escalation, **joined}
    return {**own, **theirs, **joined}


def variable(env: EnvVar) -> Manifest:
    """An environment variable."""
    if env.field is not None:
        return {"name": env.name, "valueFrom": {"fieldRef": {"fieldPath": env.field}}}
    if env.secret is not None:
        name, key = env.secret
        return {"name": env.name, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}
    return {"name": env.name, "value": env.value or ""}


def probe(asked: Probe) -> Manifest:
    """An HTTP probe."""
    return {
        "httpGet": {"path": asked.path, "port": asked.port},
        "periodSeconds": plain(asked.period),
        "failureThreshold": asked.failures,
        "timeoutSeconds": plain(asked.timeout),
    }


def volume(one: Volume) -> Manifest:
    """A volume of the pod."""
    match one.kind:
        case "memory":
            return {"name": one.name, "emptyDir": {"medium": "Memory", "sizeLimit": str(one.size)}}
        case "claim":
            claim: dict[str, Node] = {"claimName": one.reference or ""}
            if one.read_only:
                claim["readOnly"] = True
            return {"name": one.name, "persistentVolumeClaim": claim}
        case "host":
            return {
                "name": one.name,
                "hostPath": {"path": one.reference or "", "type": "Directory"},
            }
        case "ephemeral":
            claimed = {"volumeClaimTemplate": {"spec": claim_spec(one)}}
            return {"name": one.name, "ephemeral": claimed}
        case _:
            return {"name": one.name, "emptyDir": {}}


def claim_spec(one: Volume) -> Manifest:
    """The spec of a claim per pod: only the fields that LeaderWorkerSet carries over (`lws §2c`)."""
    made: dict[str, Node] = {"accessModes": ["ReadWriteOnce"]}
    if one.reference is not None:
        made["storageClassName"] = one.reference
    made["resources"] = {"requests": {"storage": str(one.size)}}
    made["volumeMode"] = "Filesystem"
    return made


def mount(one: Volume) -> Manifest:
    """A mount of the engine's container."""
    made: dict[str, Node] = {"name": one.name, "mountPath": one.mount}
    if one.read_only:
        made["readOnly"] = True
    return made


def toleration(taint: Taint) -> Manifest:
    """A toleration of a taint of the shape."""
    if taint.value is None:
        return {"key": taint.key, "operator": "Exists", "effect": taint.effect}
    return {"key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect}


def plain(number: int) -> int:
    """A unit as the bare number that the API wants."""
    return int(number)


def node(value: object) -> Node:
    """A user's piece of an object, taken over as written."""
    return cast(Node, value)


def node_map(value: Mapping[str, object] | None) -> Manifest:
    """The same for an optional map."""
    return cast(Manifest, value or {})


def metadata(
    role: RolePlan, namespace: str, name: str, *, labels: Mapping[str, str] | None = None
) -> dict[str, Node]:
    """Metadata of an object of a serving: fleet labels here and never on pods."""
    return {
        "name": name,
        "namespace": namespace,
        "labels": dict(sorted({**role.identity.object_labels, **(labels or {})}.items())),
    }


def owner_metadata(plan: ServingPlan, workload: WorkloadPlan) -> Manifest:
    """Metadata of a workload, with what its backend reads there."""
    stamp = workload.role.stamp
    head = metadata(workload.role, plan.namespace, workload.name, labels=stamp.owner_labels)
    if stamp.owner_annotations:
        head["annotations"] = dict(sorted(stamp.owner_annotations.items()))
    return head


def listed(values: Sequence[object]) -> list[Node]:
    """A user's list, taken over as written."""
    return [node(value) for value in values]
