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
    said: str | None = None
    """How a function of the template writes the value, as in `{{ $value | humanizeDuration }}`."""


class Scenario(NamedTuple):
    """What is different, and what fires at which minute."""

    differs: Mapping[str, str | None]
    """Series → values; `None` takes the series away."""
    at: Mapping[int, list[Fires]]


def in_namespace(name: str, value: float = 1, **labels: str) -> Fires:
    return Fires(name, value, {"namespace": "m", **labels})


def series(name: str, **labels: str) -> str:
    inside = {"job": "kube-state-metrics", "namespace": "m", **labels}
    matchers = ",".join(f'{key}="{value}"' for key, value in inside.items())
    return f"{name}{{{matchers}}}"


def steady(value: int) -> str:
    return f"{value}+0x{END}"


def then(*spans: tuple[int, int]) -> str:
    """Values with the minutes they last; the last one lasts to the end."""
    return " ".join(f"{value}+0x{minutes - 1}" for value, minutes in spans[:-1]) + (
        f" {steady(spans[-1][0])}"
    )


# ── the normal state ─────────────────────────────────────────────────────────────────────────────


class World(NamedTuple):
    """Names as the controllers make them, from what the plan says."""

    sets: list[str]
    size: int
    leaders: list[str]
    held: bool
    """Whether a canary holds two revisions apart on purpose."""

    @classmethod
    def of(cls, plan: ServingPlan) -> World:
        sets = [workload.name for workload in plan.workloads]
        each = range(2 // len(sets))
        leaders = [f"{name}-{index}" for name in sets for index in each]
        return cls(sets, plan.lead.shape.size, leaders, plan.lead.rollout.partition > 0)

    @property
    def pods(self) -> list[str]:
        workers = range(1, self.size)
        return [*self.leaders, *(f"{leader}-{rank}" for leader in self.leaders for rank in workers)]

    def set_of(self, leader: str) -> str:
        return leader.rpartition("-")[0]

    def healthy(self) -> Series:
        """Two whole groups that serve, and a neighbour `llm-x` that does not."""
        normal: Series = dict(endpoints(self.leaders))
        for name in self.sets:
            groups = sum(self.set_of(leader) == name for leader in self.leaders)
            normal |= {wanted(name): steady(groups), set_ready(name): steady(groups)}
            normal |= {updated(name): steady(groups)}
            normal |= {revision("current", name, "a"): steady(1)}
            normal |= {revision("update", name, "a"): steady(1)}
        for leader in self.leaders:
            normal[ready(leader)] = steady(1)
            if self.size > 1:
                normal[set_ready(leader)] = steady(self.size - 1)
        for pod in self.pods:
            normal[phase(pod)] = steady(0)
            normal[series("kube_pod_info", pod=pod, uid="1", node=f"node-of-{pod}")] = steady(1)
            normal[node(f"node-of-{pod}")] = steady(0)
        normal |= {created(leader, "1"): steady(1) for leader in self.leaders}
        normal |= {wanted("llm-x"): steady(2), set_ready("llm-x"): steady(0)}
        normal |= {ready("llm-x-0"): steady(1), set_ready("llm-x-0"): steady(0)}
        normal |= {phase("llm-x-1"): steady(1), ready("llm-x-1"): steady(0)}
        return normal


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


def phase(pod: str) -> str:
    return series("kube_pod_status_phase", pod=pod, uid="1", phase="Pending")


def created(pod: str, uid: str) -> str:
    return series("kube_pod_created", pod=pod, uid=uid)


def node(name: str) -> str:
    return f'kube_node_spec_unschedulable{{job="kube-state-metrics",node="{name}"}}'


def endpoints(pods: list[str], values: str = steady(1)) -> Series:
    """Slices of both address families, so that each pod is there twice."""
    found: Series = {}
    for suffix in ("abc12", "xyz89"):
        name = f"llm-leader-{suffix}"
        found[series("kube_endpointslice_info", endpointslice=name)] = steady(1)
        found |= {endpoint(name, pod): values for pod in pods}
    found[endpoint("llm-leader-two-abc12", "other")] = steady(1)  # of another Service
    return found


def endpoint(name: str, pod: str) -> str:
    return series(
        "kube_endpointslice_endpoints", endpointslice=name, ready="true", targetref_name=pod
    )
