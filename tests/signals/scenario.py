"""The series of a serving as exporters write them: in the normal state, and as something goes wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from gangform.plan.serving import ServingPlan

END = 120
"""Minutes that every series lasts."""

MakePlan = Callable[..., ServingPlan]
Series = dict[str, str]
"""A series → its values, a minute each, as promtool writes them."""


class Fires(NamedTuple):
    """An alert that must fire: its labels beside serving and severity, and its value."""

    name: str
    value: float = 1
    labels: Mapping[str, str] = {}


class Scenario(NamedTuple):
    """What is different, and what fires at which minute."""

    differs: Mapping[str, str | None]
    """Series → values; `None` takes the series away."""
    at: Mapping[int, list[Fires]]
    records: Mapping[int, Mapping[str, float]] = {}
    """Minute → record → value; a record that is left out has none."""


def in_namespace(name: str, value: float = 1, **labels: str) -> Fires:
    return Fires(name, value, {"namespace": "m", **labels})


def series(name: str, **labels: str) -> str:
    inside = {"job": "kube-state-metrics", "namespace": "m", **labels}
    matchers = ",".join(f'{key}="{value}"' for key, value in inside.items())
    return f"{name}{{{matchers}}}"


def in_another_namespace(states: Mapping[str, str | None]) -> dict[str, str | None]:
    """What is so in a namespace that is not ours; but two pods do not ask for the same GPUs of a node."""
    return {
        name.replace('namespace="m"', 'namespace="n"').replace("m/llm", "n/llm"): values
        for name, values in states.items()
        if 'namespace="m"' in name and not name.startswith("kube_pod_container_resource_requests")
    }


def by_two_exporters(states: Mapping[str, str | None]) -> dict[str, str | None]:
    """Each series by the exporter that goes and by the one that comes; and two endpoints of each pod."""
    return {name.replace("{", '{pair="new",', 1): values for name, values in states.items()}


def steady(value: int) -> str:
    return f"{value}+0x{END}"


def then(*spans: tuple[int, int]) -> str:
    """Values with the minutes they last; the last one lasts to the end."""
    return " ".join(f"{value}+0x{minutes - 1}" for value, minutes in spans[:-1]) + (
        f" {steady(spans[-1][0])}"
    )


def wanted(name: str) -> str:
    return series("kube_statefulset_replicas", statefulset=name)


def set_ready(name: str) -> str:
    return series("kube_statefulset_status_replicas_ready", statefulset=name)


def updated(name: str) -> str:
    return series("kube_statefulset_status_replicas_updated", statefulset=name)


def revision(which: str, name: str, value: str) -> str:
    return series(f"kube_statefulset_status_{which}_revision", statefulset=name, revision=value)


def ready(pod: str, uid: str = "1") -> str:
    return series("kube_pod_status_ready", pod=pod, uid=uid, condition="true")


def phase(pod: str, name: str = "Pending", uid: str = "1") -> str:
    return series("kube_pod_status_phase", pod=pod, uid=uid, phase=name)


def bound(pod: str, node: str, uid: str = "1") -> str:
    """What `kube_pod_info` says of a pod; the label is empty while it has no node."""
    return series("kube_pod_info", pod=pod, uid=uid, node=node)


def up(pod: str, job: str = "m/llm") -> str:
    """The operator's own labels, and the job that it gives what a PodMonitor scrapes."""
    return series("up", job=job, pod=pod, container="engine", endpoint="http", instance=f"{pod}:80")


def asks(pod: str, node: str, uid: str = "1") -> str:
    labels = {"container": "engine", "resource": "nvidia_com_gpu", "unit": "integer"}
    return series("kube_pod_container_resource_requests", pod=pod, uid=uid, node=node, **labels)


def created(pod: str, uid: str) -> str:
    return series("kube_pod_created", pod=pod, uid=uid)


def of_node(metric: str, node: str, **labels: str) -> str:
    """A series of a node, which has no namespace."""
    inside = {"job": "kube-state-metrics", "node": node, **labels}
    return f"{metric}{{{','.join(f'{key}={chr(34)}{value}{chr(34)}' for key, value in inside.items())}}}"


def cordoned(node: str) -> str:
    return of_node("kube_node_spec_unschedulable", node)


def node_ready(node: str, condition: str = "Ready", status: str = "true") -> str:
    return of_node("kube_node_status_condition", node, condition=condition, status=status)


def offers(node: str) -> str:
    return of_node("kube_node_status_allocatable", node, resource="nvidia_com_gpu", unit="integer")


def told(node: str, **labels: str) -> str:
    """The labels of an allowlist."""
    return of_node("kube_node_labels", node, **labels)


def endpoints(pods: list[str], values: str = steady(1)) -> Series:
    """Slices of both address families, so that each pod is there twice."""
    found: Series = {}
    for suffix in ("abc12", "xyz89"):
        name = f"llm-leader-{suffix}"
        found[series("kube_endpointslice_info", endpointslice=name)] = steady(1)
        found |= {endpoint(name, pod): values for pod in pods}
    found[endpoint("llm-leader-two-abc12", "other")] = steady(1)  # of another Service
    late = endpoint("llm-leader-abc12", "late").replace('ready="true"', 'ready="false"')
    found[late] = steady(1)
    return found


def endpoint(name: str, pod: str) -> str:
    return series(
        "kube_endpointslice_endpoints", endpointslice=name, ready="true", targetref_name=pod
    )
