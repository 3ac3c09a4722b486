"""Groups updated in place hold two revisions for a while; who receives requests then is decided by readiness.

A leader that is ready before its group is complete takes requests for a group that cannot answer. The engine's port
opens only when every rank has joined: a delay of the leader's readiness, longer than its workers take to end and to
come again, stands for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.scenarios import TURN, annotated, each, put_nodes, with_pools
from tests.cluster.servings import (
    WORKER_INDEX,
    Made,
    apply,
    count,
    counts,
    group_of,
    make,
    ready_groups,
)
from tests.cluster.watch import Watch, watching

from gangform.plan.rollout import OVERLAP
from gangform.plan.serving import ServingPlan

SIZE = 2
SLICES = "discovery.k8s.io/v1"
SLICE_OF = "kubernetes.io/service-name"
"""Label of an EndpointSlice: the Service that it belongs to."""
WORKERS_END = "2s"
ALL_JOINED = "6s"
"""Longer than workers take to end and to be made again: LeaderWorkerSet tries that ever more rarely."""


def made(plane: ControlPlane, turn: int) -> Made:
    """One serving whose leaders are ready by themselves, and one whose leaders wait for all ranks from turn 2 on."""
    slow = [annotated("workerTemplate", "delete-delay", WORKERS_END)]
    waits = [annotated("leaderTemplate", "ready-delay", ALL_JOINED)] if turn > 1 else []
    return make(
        with_pools(plane, h100=3 * SIZE),
        each("early", groups=2, size=SIZE, turn=turn, patches=slow),
        each("joined", groups=1, size=SIZE, turn=turn, patches=slow + waits),
    )


@dataclass(frozen=True)
class Updated:
    """What was seen of one update."""

    plan: ServingPlan
    mixed: int
    """Groups that held two revisions at one moment, at most."""
    exposed: set[str]
    """Leaders that were ready endpoints of the Service while their group held two revisions."""
    addresses: list[tuple[set[str], set[str]]]
    """Of the Service's ready endpoints, and of all pods but leaders: before the update and after it."""


def endpoints(things: Iterable[Object], service: str) -> Iterator[Object]:
    """The ready endpoints of a Service."""
    for thing in things:
        if thing["metadata"].get("labels", {}).get(SLICE_OF) == service:
            for endpoint in thing["endpoints"] or ():
                if endpoint["conditions"].get("ready"):
                    yield endpoint


def addresses(seen: Watch, service: str) -> set[str]:
    found = endpoints(seen.of("EndpointSlice"), service)
    return {address for endpoint in found for address in endpoint["addresses"]}


def of_pods(seen: Watch, *, leaders: bool) -> set[str]:
    """Addresses of leaders, or of workers."""
    return {
        pod["status"]["podIP"]
        for pod in seen.of("Pod")
        if (pod["metadata"]["labels"][WORKER_INDEX] == "0") is leaders
    }


def settled(plan: ServingPlan, turn: int) -> Callable[[Watch], bool]:
    """A condition: every group is whole and of a turn, and the Service's endpoints are the leaders."""
    groups = plan.serving.lowest_groups

    def hold(now: Watch) -> bool:
        turns = {pod["metadata"]["annotations"][TURN] for pod in now.of("Pod")}
        if turns != {str(turn)} or not ready_groups(groups, size=SIZE)(now):
            return False
        return addresses(now, plan.traffic.service) == of_pods(now, leaders=True)

    return hold


def exposed(seen: Watch, service: str) -> Iterator[str]:
    """Leaders that the Service sends requests to while their group holds two revisions, after every event."""
    for _, objects in seen.replay():
        pods = {
            one["metadata"]["uid"]: one for place, one in objects.items() if place.kind == "Pod"
        }
        slices = (one for place, one in objects.items() if place.kind == "EndpointSlice")
        for endpoint in endpoints(slices, service):
            # One that is gone already: its slice comes over the other connection, and is late.
            if pod := pods.get(endpoint["targetRef"]["uid"]):
                group = [one for one in pods.values() if group_of(one) == group_of(pod)]
                if count(group, size=SIZE).mixed:
                    yield pod["metadata"]["name"]


@pytest.fixture(scope="module")
def updated(plain_plane: ControlPlane) -> Iterator[dict[str, Updated]]:
    """Both servings, updated side by side."""
    plane = plain_plane
    first, second = made(plane, 1), made(plane, 2)
    put_nodes(plane, first.cluster.cluster)
    found: dict[str, list[tuple[set[str], set[str]]]] = {}
    with ExitStack() as stack:
        watches = {}
        for plan in second.cluster.servings:
            space = plan.namespace
            watches[plan.name] = stack.enter_context(
                watching(
                    plane.api,
                    plane.api.path("v1", "Pod", namespace=space),
                    plane.api.path(SLICES, "EndpointSlice", namespace=space),
                )
            )
        for turn, each_made in enumerate((first, second), start=1):
            apply(plane, each_made)
            for plan in each_made.cluster.servings:
                seen = watches[plan.name]
                what = f"the leaders of turn {turn} of {plan.name} serve"
                seen.until(settled(plan, turn), within=120, what=what)
                served = addresses(seen, plan.traffic.service), of_pods(seen, leaders=False)
                found.setdefault(plan.name, []).append(served)
    plane.reset()
    yield {
        plan.name: Updated(
            plan=plan,
            mixed=max(one.mixed for one in counts(watches[plan.name], size=SIZE)),
            exposed=set(exposed(watches[plan.name], plan.traffic.service)),
            addresses=found[plan.name],
        )
        for plan in second.cluster.servings
    }


@pytest.mark.claim(
    "A group that is updated in place holds two revisions for a while, and a leader that does not wait for all ranks "
    "receives requests meanwhile",
    "design §4 Rollout; lab E2",
)
def test_an_early_leader_is_ready_beside_old_workers(updated: dict[str, Updated], saw: Saw) -> None:
    one = updated["early"]
    groups, name = one.plan.serving.lowest_groups, one.plan.name
    assert OVERLAP in one.plan.remarks
    assert one.mixed == 1
    assert one.exposed == {f"{name}-{index}" for index in range(groups)}
    saw(
        f"{one.mixed} group at a time with two revisions; the new leader of {len(one.exposed)} of {groups} groups a "
        "ready endpoint beside an old worker"
    )


@pytest.mark.claim(
    "With a readiness that means the whole group, no group is among the Service's endpoints while it holds two "
    "revisions",
    "design §4 Readiness, Rollout; lab E2",
)
def test_a_leader_that_waits_for_all_ranks_is_not_ready_beside_old_workers(
    updated: dict[str, Updated], saw: Saw
) -> None:
    one = updated["joined"]
    assert OVERLAP in one.plan.remarks
    assert one.mixed == 1
    assert one.exposed == set()
    saw(f"{one.mixed} group at a time with two revisions, {len(one.exposed)} of them an endpoint")


@pytest.mark.claim(
    "The Service reaches the leader of every group, and no worker",
    "design §4 Traffic; plan.traffic.leaders",
)
def test_the_endpoints_are_the_leaders(updated: dict[str, Updated], saw: Saw) -> None:
    seen = set()
    for one in updated.values():
        for served, workers in one.addresses:
            assert len(served) == one.plan.serving.lowest_groups
            assert len(workers) == one.plan.serving.lowest_groups * (SIZE - 1)
            assert not served & workers
            seen.add(f"{len(served)} endpoints of {len(served) + len(workers)} pods")
    saw(
        ", ".join(sorted(seen, reverse=True))
        + ", all of them leaders, before an update and after it"
    )
