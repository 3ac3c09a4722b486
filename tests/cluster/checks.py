"""What must be true of a serving on a control plane, as functions of the plane and the plan.

Each waits until the server has come to rest, and raises `AssertionError` with what is wrong. `test_mutations.py` breaks
manifests on purpose: a check that lets one pass is worth nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.gangs import POD_GROUPS, bound, lasts, racks, waits
from tests.cluster.servings import WORKER_INDEX, Made, count, group_of, is_ready
from tests.cluster.watch import Watch, watching

from gangform.apis import kueue

OF_SERVICE = "kubernetes.io/service-name"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices"
WORKLOADS = f"/apis/{kueue.GROUP}/v1beta2/namespaces/{{namespace}}/workloads"


def endpoints_are_leaders(plane: ControlPlane, made: Made) -> None:
    """The Service sends to the ready leaders, and to nobody else."""
    path = plane.api.path_of(made.one("Service"))

    def selected() -> set[str]:
        labels = plane.api.get(path)["spec"]["selector"]
        return {name(pod) for pod in _pods(plane, made) if is_ready(pod) and _has(pod, labels)}

    def sent() -> set[str]:
        return {
            each["targetRef"]["name"]
            for one in plane.api.list(SLICES.format(namespace=made.plan.namespace))
            if one["metadata"]["labels"].get(OF_SERVICE) == made.plan.traffic.service
            for each in one["endpoints"] or ()
            if each["conditions"]["ready"]
        }

    plane.site.wait("the endpoints", lambda: sent() == selected())
    leaders = {
        name(pod)
        for pod in _pods(plane, made)
        if is_ready(pod) and pod["metadata"]["labels"][WORKER_INDEX] == "0"
    }
    extra = sorted(sent() - leaders)
    assert not extra, f"the Service sends to {', '.join(extra)}"
    assert sent() == leaders, f"the Service sends to {len(sent())} of {len(leaders)} leaders"


def budgets_answer_as_planned(plane: ControlPlane, made: Made) -> None:
    """A budget of a group lets no pod of it go, one of the set lets one go; every eviction is answered so."""
    for budget in made.plan.disruption.budgets:
        path = plane.api.path_of(made.one("PodDisruptionBudget", budget.name))
        members = [pod for pod in _pods(plane, made) if _has(pod, budget.selector)]

        def counted(path: str = path, healthy: int = len(members)) -> bool:
            live = plane.api.get(path)
            status = live.get("status", {})
            if status.get("observedGeneration") != live["metadata"]["generation"]:
                return False
            return bool(status["currentHealthy"] >= healthy)

        plane.site.wait(f"budget {budget.name}", counted)
        allowed = budget.max_unavailable or 0
        found = plane.api.get(path)["status"]["disruptionsAllowed"]
        assert found == allowed, f"budget {budget.name} lets {found} go, planned {allowed}"
        wanted = 201 if allowed else 429
        for pod in members:
            answer = plane.api.evict(made.plan.namespace, name(pod), dry_run=True)
            assert answer == wanted, f"eviction of {name(pod)}: {answer}, planned {wanted}"


def all_groups_run(plane: ControlPlane, made: Made) -> None:
    """Every planned group is whole: none waits for quota, space or members."""
    size = made.plan.lead.shape.size
    wanted = sum(workload.role.replicas or 0 for workload in made.plan.workloads)

    def ready(now: Watch) -> int:
        return count(now.of("Pod"), size=size).ready

    with watching(plane.api, made.pods, *_waiting_rooms(plane, made)) as seen:
        seen.until(
            lambda now: ready(now) == wanted or waits(now) or _refused(now),
            within=60,
            what="every group runs or waits",
        )
        # A group also waits for a moment while others are looked at.
        found = wanted if ready(seen) == wanted else lasts(seen, ready, seconds=3)
    # Not how many: it may be fewer for as long as usage of before is counted.
    assert found == wanted, f"of {wanted} groups not all run"


def groups_are_whole_in_one_domain(plane: ControlPlane, made: Made) -> None:
    """Each group has all its pods bound, in one domain of its level, or none."""
    placement = made.plan.lead.demand.placement
    assert placement is not None
    size = made.plan.lead.shape.size
    domain = racks(plane, placement.level)
    groups = sum(workload.role.replicas or 0 for workload in made.plan.workloads)

    def placed(now: Watch) -> tuple[tuple[str, int], ...]:
        return tuple(sorted((group[0], number) for group, number in bound(now.of("Pod")).items()))

    with watching(plane.api, made.pods, *_waiting_rooms(plane, made)) as seen:
        seen.until(lambda now: len(now.of("Pod")) == groups * size, within=60, what="the pods")
        lasts(seen, placed, seconds=3)
        pods = [pod for pod in seen.of("Pod") if pod["spec"].get("nodeName")]
    numbers = bound(pods)
    for group, number in sorted(numbers.items()):
        found = {domain[pod["spec"]["nodeName"]] for pod in pods if group_of(pod) == group}
        assert number == size, f"a group has {number} of {size} pods bound"
        assert len(found) == 1, "a group lies in several domains"


def name(thing: Object) -> str:
    return str(thing["metadata"]["name"])


def _pods(plane: ControlPlane, made: Made) -> list[Object]:
    return plane.api.list(made.pods)


def _has(pod: Object, labels: Mapping[str, str]) -> bool:
    return all(pod["metadata"]["labels"].get(key) == value for key, value in labels.items())


def _waiting_rooms(plane: ControlPlane, made: Made) -> list[str]:
    """The collections that say which groups wait."""
    rooms = [WORKLOADS] * plane.flavour.kueue + [POD_GROUPS] * plane.flavour.volcano
    return [room.format(namespace=made.plan.namespace) for room in rooms]


def _refused(now: Watch) -> bool:
    """Whether Kueue has said of a group that it does not fit."""
    conditions = [
        (condition["type"], condition["status"])
        for workload in now.of("Workload")
        for condition in workload.get("status", {}).get("conditions", [])
    ]
    return any(each == ("QuotaReserved", "False") for each in conditions)
