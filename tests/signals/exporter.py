"""The series that kube-state-metrics would export of API objects. It is not run anywhere here: this imitates it.

Each metric is listed with the function of kube-state-metrics that it imitates, in `internal/store/` of its repository,
read at v2.16.0, v2.18.0 and v2.20.0, which agree on all of it but labels that no query of ours reads: up to v2.19
`serving` of an endpoint says whether it terminates, and `terminating` what it is called. Used for nothing else than to
try alerts on what a real control plane did.

A label with an empty value is no label to Prometheus, so it is left out. `job` is added as a scrape does, and the
namespace of an object wins over that of the scrape (`honorLabels`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from gangform.units import quantity

Object = dict[str, Any]
Labels = dict[str, str]
Sample = tuple[Labels, float]
JOB = "kube-state-metrics"

STATUSES = "True", "False", "Unknown"
"""utils.go `conditionStatuses`: a condition is three series, of which one is 1 (`addConditionMetrics`)."""
PHASES = "Pending", "Succeeded", "Failed", "Unknown", "Running"
BYTES = "memory", "storage", "ephemeral-storage"


class Imitation(NamedTuple):
    """One metric: the kind that it is made of, where kube-state-metrics makes it, and what it makes."""

    kind: str
    metric: str
    source: str
    """File and function of `internal/store/`."""
    samples: Callable[[Object], Iterator[Sample]]


def at(path: str, *, optional: bool = False) -> Callable[[Object], Iterator[Sample]]:
    """One series: the number at a path.

    The API leaves a 0 out of a status, and the exporter reads it back as 0. `optional`: a pointer, which may be nil,
    and then there is no series.
    """

    def samples(thing: Object) -> Iterator[Sample]:
        found: Any = thing
        for key in path.split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if found is not None or not optional:
            yield {}, float(found or 0)

    return samples


def created(thing: Object) -> Iterator[Sample]:
    """Unix time, where the server has set one."""
    if stamp := thing["metadata"].get("creationTimestamp"):
        yield {}, datetime.fromisoformat(stamp.replace("Z", "+00:00")).timestamp()


def one(value: object) -> float:
    return float(bool(value))


# ── pods ─────────────────────────────────────────────────────────────────────────────────────────


def pod_ready(pod: Object) -> Iterator[Sample]:
    """Three series of the condition `Ready`; none before a kubelet has set it. A pod that ends is no exception."""
    for condition in pod.get("status", {}).get("conditions") or ():
        if condition["type"] == "Ready":
            for status in STATUSES:
                yield {"condition": status.lower()}, one(condition["status"] == status)


def pod_phase(pod: Object) -> Iterator[Sample]:
    """Five series, of which one is 1; none without a phase."""
    if phase := pod.get("status", {}).get("phase"):
        for each in PHASES:
            yield {"phase": each}, one(phase == each)


def pod_info(pod: Object) -> Iterator[Sample]:
    """One series; without a node, its label is empty."""
    spec, status = pod["spec"], pod.get("status", {})
    owners = pod["metadata"].get("ownerReferences") or ()
    owner: Object = next((each for each in owners if each.get("controller")), {})
    yield (
        {
            "host_ip": status.get("hostIP", ""),
            "pod_ip": status.get("podIP", ""),
            "node": spec.get("nodeName", ""),
            "created_by_kind": owner.get("kind", ""),
            "created_by_name": owner.get("name", ""),
            "priority_class": spec.get("priorityClassName", ""),
            "host_network": str(bool(spec.get("hostNetwork"))).lower(),
        },
        1,
    )


def pod_requests(pod: Object) -> Iterator[Sample]:
    """A series for each resource of each container; not of init containers, and whatever became of the pod."""
    for container in pod["spec"]["containers"]:
        for resource, value in (container.get("resources", {}).get("requests") or {}).items():
            if unit := unit_of(resource):
                labels = {"container": container["name"], "node": pod["spec"].get("nodeName", "")}
                yield {**labels, **unit}, float(quantity(str(value)))


def unit_of(resource: str) -> Labels:
    """The labels of a resource: cpu, bytes, and extended resources, which have a domain. Others have no series."""
    if resource == "cpu":
        unit = "core"
    elif resource in BYTES or resource.startswith(("hugepages-", "attachable-volumes-")):
        unit = "byte"
    elif (
        "/" in resource
        and "kubernetes.io/" not in resource
        and not resource.startswith("requests.")
    ):
        unit = "integer"
    else:
        return {}
    return {"resource": sanitised(resource), "unit": unit}


def sanitised(name: str) -> str:
    """utils.go `SanitizeLabelName`, which values of `resource` go through as well: `nvidia_com_gpu`."""
    return re.sub("[^a-zA-Z0-9_]", "_", name)


# ── others ───────────────────────────────────────────────────────────────────────────────────────


def revision(field: str) -> Callable[[Object], Iterator[Sample]]:
    """One series with the revision as its label, which is empty before there is one."""
    return lambda stateful_set: iter(
        [({"revision": stateful_set.get("status", {}).get(field, "")}, 1.0)]
    )


def conditions(thing: Object) -> Iterator[Sample]:
    """Three series of every condition that an object has."""
    for condition in thing.get("status", {}).get("conditions") or ():
        for status in STATUSES:
            labels = {"condition": condition["type"], "status": status.lower()}
            yield labels, one(condition["status"] == status)


def slice_info(slice: Object) -> Iterator[Sample]:
    yield {"addresstype": slice["addressType"]}, 1


def slice_endpoints(slice: Object) -> Iterator[Sample]:
    """One series for each address of each endpoint, ready or not; a condition that is not set is no label."""
    for endpoint in slice.get("endpoints") or ():
        said, target = endpoint.get("conditions") or {}, endpoint.get("targetRef") or {}
        for address in endpoint["addresses"]:
            yield (
                {
                    **{key: str(value).lower() for key, value in said.items()},
                    "hostname": endpoint.get("hostname", ""),
                    "targetref_kind": target.get("kind", ""),
                    "targetref_name": target.get("name", ""),
                    "targetref_namespace": target.get("namespace", ""),
                    "endpoint_nodename": endpoint.get("nodeName", ""),
                    "endpoint_zone": endpoint.get("zone", ""),
                    "address": address,
                },
                1,
            )


def node_unschedulable(node: Object) -> Iterator[Sample]:
    yield {}, one(node.get("spec", {}).get("unschedulable"))


def node_labels(allowed: Collection[str]) -> Callable[[Object], Iterator[Sample]]:
    """One series of each node with its labels that an allowlist names, in snake case; without an allowlist none."""

    def samples(node: Object) -> Iterator[Sample]:
        if allowed:
            labels = node["metadata"].get("labels", {})
            yield {f"label_{snake(key)}": labels[key] for key in labels.keys() & allowed}, 1

    return samples


def snake(key: str) -> str:
    """utils.go `lintLabelName(SanitizeLabelName(…))`."""
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", sanitised(key)).lower()


def node_allocatable(node: Object) -> Iterator[Sample]:
    """A series for each resource; `pods` counts too."""
    for resource, value in (node.get("status", {}).get("allocatable") or {}).items():
        unit = {"resource": "pods", "unit": "integer"} if resource == "pods" else unit_of(resource)
        if unit:
            yield unit, float(quantity(str(value)))


LABELS = "Node", "kube_node_labels", "node.go createNodeLabels, utils.go mapToPrometheusLabels"
IMITATED: tuple[Imitation, ...] = tuple(
    Imitation(*row)
    for row in (
        ("Pod", "kube_pod_status_ready", "pod.go createPodStatusReady", pod_ready),
        ("Pod", "kube_pod_status_phase", "pod.go createPodStatusPhase", pod_phase),
        ("Pod", "kube_pod_info", "pod.go createPodInfo", pod_info),
        ("Pod", "kube_pod_created", "pod.go createPodCreated", created),
        (
            "Pod",
            "kube_pod_container_resource_requests",
            "pod.go createPodContainerResourceRequests",
            pod_requests,
        ),
        *(
            ("StatefulSet", metric, "statefulset.go statefulSetMetricFamilies", samples)
            for metric, samples in {
                "kube_statefulset_replicas": at("spec.replicas", optional=True),
                "kube_statefulset_status_replicas": at("status.replicas"),
                "kube_statefulset_status_replicas_ready": at("status.readyReplicas"),
                "kube_statefulset_status_replicas_available": at("status.availableReplicas"),
                "kube_statefulset_status_replicas_current": at("status.currentReplicas"),
                "kube_statefulset_status_replicas_updated": at("status.updatedReplicas"),
                "kube_statefulset_status_current_revision": revision("currentRevision"),
                "kube_statefulset_status_update_revision": revision("updateRevision"),
            }.items()
        ),
        *(
            ("Deployment", metric, "deployment.go deploymentMetricFamilies", samples)
            for metric, samples in {
                "kube_deployment_spec_replicas": at("spec.replicas", optional=True),
                "kube_deployment_status_replicas": at("status.replicas"),
                "kube_deployment_status_replicas_ready": at("status.readyReplicas"),
                "kube_deployment_status_replicas_available": at("status.availableReplicas"),
                "kube_deployment_status_replicas_updated": at("status.updatedReplicas"),
            }.items()
        ),
        (
            "EndpointSlice",
            "kube_endpointslice_info",
            "endpointslice.go createEndpointsSliceInfo",
            slice_info,
        ),
        (
            "EndpointSlice",
            "kube_endpointslice_endpoints",
            "endpointslice.go createEndpointsSliceEndpoints",
            slice_endpoints,
        ),
        (
            "Node",
            "kube_node_spec_unschedulable",
            "node.go createNodeSpecUnschedulable",
            node_unschedulable,
        ),
        (
            "Node",
            "kube_node_status_allocatable",
            "node.go createNodeStatusAllocatable",
            node_allocatable,
        ),
        ("Node", "kube_node_status_condition", "node.go createNodeStatusCondition", conditions),
        *(
            (
                "HorizontalPodAutoscaler",
                metric,
                f"horizontalpodautoscaler.go {function}",
                samples,
            )
            for metric, function, samples in (
                (
                    "kube_horizontalpodautoscaler_spec_max_replicas",
                    "createHPASpecMaxReplicas",
                    at("spec.maxReplicas"),
                ),
                (
                    "kube_horizontalpodautoscaler_status_current_replicas",
                    "createHPAStatusCurrentReplicas",
                    at("status.currentReplicas"),
                ),
                (
                    "kube_horizontalpodautoscaler_status_desired_replicas",
                    "createHPAStatusDesiredReplicas",
                    at("status.desiredReplicas"),
                ),
                (
                    "kube_horizontalpodautoscaler_status_condition",
                    "createHPAStatusCondition",
                    conditions,
                ),
            )
        ),
        *(
            (
                "PodDisruptionBudget",
                f"kube_poddisruptionbudget_status_{metric}",
                "poddisruptionbudget.go podDisruptionBudgetMetricFamilies",
                at(f"status.{field}"),
            )
            for metric, field in {
                "current_healthy": "currentHealthy",
                "desired_healthy": "desiredHealthy",
                "pod_disruptions_allowed": "disruptionsAllowed",
                "expected_pods": "expectedPods",
            }.items()
        ),
    )
)


def series(things: Iterable[Object], *, allowed: Collection[str] = ()) -> dict[str, float]:
    """Every series of some objects as Prometheus has it after a scrape, with its value.

    `allowed`: the node labels of `--metric-labels-allowlist=nodes=[…]`.
    """
    labelled = Imitation(*LABELS, node_labels(allowed))
    return {
        written(each.metric, {**own(thing), **labels}): value
        for thing in things
        for each in (*IMITATED, labelled)
        if each.kind == thing["kind"]
        for labels, value in each.samples(thing)
    }


def own(thing: Object) -> Labels:
    """The labels that every series of an object has: its namespace, its name under its kind, of a pod its uid."""
    kind, metadata = thing["kind"], thing["metadata"]
    labels = {"namespace": metadata.get("namespace", ""), kind.lower(): metadata["name"]}
    return {**labels, "uid": metadata["uid"]} if kind == "Pod" else labels


def written(metric: str, labels: Mapping[str, str]) -> str:
    """A series in PromQL's notation, its labels in their order."""
    pairs = sorted({"job": JOB, **labels}.items())
    matchers = ",".join(f'{key}="{value}"' for key, value in pairs if value)
    return f"{metric}{{{matchers}}}"
