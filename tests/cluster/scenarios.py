"""Several servings side by side, each in a namespace of its own: together they take the time of the slowest.

made = make(cluster, each("surge", groups=3, rollout={"spare_groups": 1}), each("in-place", groups=3))
with watching_each(plain, made) as seen:
    apply(plain, made)
    settle(seen, made)
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.nodes import nodes_of
from tests.cluster.servings import Made, ready_groups, serving
from tests.cluster.watch import Watch, watching

from gangform.inputs.cluster import Cluster, Library, Pool
from gangform.inputs.serving import Serving
from gangform.plan.serving import ServingPlan

POOL = "example.com/pool"
"""Label that tells the pools of a test from each other."""
POLICY = "policy/v1"
TURN = "example.com/turn"
"""Annotation of every pod: how often its serving was changed."""


def each(name: str, *, turn: int = 1, **fields: Any) -> Serving:
    """A serving in a namespace that is called as it is; another turn is another pod template."""
    pods = {"annotations": {TURN: str(turn)}}
    return serving(name=name, namespace=name, pods=pods, **fields)


def annotated(template: str, key: str, value: str) -> Object:
    """A patch that steers the fake kubelet by one of the two templates."""
    metadata = {"annotations": {f"kubelet.test/{key}": value}}
    merge = {"spec": {"leaderWorkerTemplate": {template: {"metadata": metadata}}}}
    return {"kind": "LeaderWorkerSet", "merge": merge}


def with_pools(plane: ControlPlane, **nodes: int | None) -> Cluster:
    """The plane's cluster with these pools of its own shape; `None`: nobody says how many nodes."""
    (shape,) = {pool.hardware for pool in plane.cluster.pools.values()}
    pools = {
        name: Pool(hardware=shape, nodes=count, node_labels={POOL: name})
        for name, count in nodes.items()
    }
    return plane.cluster.model_copy(update={"pools": pools})


def put_nodes(plane: ControlPlane, cluster: Cluster) -> None:
    """Have the nodes of a cluster's pools, and no others."""
    plane.set_nodes(nodes_of(cluster, Library.shipped()))


@contextmanager
def watching_each(plane: ControlPlane, made: Made) -> Iterator[dict[str, Watch]]:
    """A watch of the pods of each serving, by its name."""
    with ExitStack() as stack:
        yield {
            plan.name: stack.enter_context(
                watching(plane.api, f"/api/v1/namespaces/{plan.namespace}/pods")
            )
            for plan in made.cluster.servings
        }


def settle(seen: Mapping[str, Watch], made: Made, *, within: float = 120) -> None:
    """Wait until every serving has the groups it asked for, and no others."""
    for plan in made.cluster.servings:
        groups, size = plan.serving.lowest_groups, plan.lead.shape.size
        what = f"{groups} groups of {plan.name} are ready"
        seen[plan.name].until(ready_groups(groups, size=size), within=within, what=what)


def quiet(seen: Mapping[str, Watch], *, seconds: float, within: float = 120) -> None:
    """Wait until nothing happens to any pod for so long."""
    called = time.monotonic()

    def still(now: Watch) -> bool:
        last = now.began + now.events[-1].at if now.events else called
        return time.monotonic() - max(called, last) >= seconds

    while not all(map(still, seen.values())):
        for name, one in seen.items():
            left = max(0.0, called + within - time.monotonic())
            one.until(still, within=left, what=f"nothing happens to {name}")


@contextmanager
def held_up(plane: ControlPlane, program: str) -> Iterator[None]:
    """Let a program stand still meanwhile, so that what it is told by then begins at one moment."""
    number = plane.site.processes.numbers()[program]
    os.kill(number, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(number, signal.SIGCONT)


def now_there(plane: ControlPlane, plan: ServingPlan) -> dict[str, Object]:
    """The pods of a serving, by name."""
    found = plane.api.list(f"/api/v1/namespaces/{plan.namespace}/pods")
    return {pod["metadata"]["name"]: pod for pod in found}


def budgets(plane: ControlPlane, plan: ServingPlan) -> dict[str, Object]:
    """The status of each budget of a serving, by name."""
    found = plane.api.list(plane.api.path(POLICY, "PodDisruptionBudget", namespace=plan.namespace))
    return {one["metadata"]["name"]: one["status"] for one in found}


def healthy(plane: ControlPlane, plan: ServingPlan) -> None:
    """Wait until the budgets of the plan, and no others, count every pod that they select, and have what they desire.

    They follow the pods by a moment.
    """
    labels = [pod["metadata"]["labels"].items() for pod in now_there(plane, plan).values()]

    def satisfied() -> bool:
        found = budgets(plane, plan)
        return set(found) == {budget.name for budget in plan.disruption.budgets} and all(
            0
            < sum(budget.selector.items() <= each for each in labels)
            == found[budget.name]["currentHealthy"]
            >= found[budget.name]["desiredHealthy"]
            for budget in plan.disruption.budgets
        )

    plane.site.wait(f"healthy pods of the budgets of {plan.name}", satisfied, within=30)
