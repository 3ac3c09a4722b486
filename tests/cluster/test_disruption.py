"""What an eviction is answered, and what a drain takes down: every form of budget that gangform writes.

Three servings side by side: one budget for all groups, one for each group, and one for each but a released group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw, claimed
from tests.cluster.kubectl import Printed
from tests.cluster.scenarios import (
    budgets,
    each,
    healthy,
    now_there,
    put_nodes,
    settle,
    watching_each,
    with_pools,
)
from tests.cluster.servings import Made, apply, counts, group_of, make, ready_groups

from gangform.plan.disruption import Budget
from gangform.plan.serving import ServingPlan

GROUPS, SIZE, RELEASED = 3, 2, 2
ALLOWED, REFUSED = 201, 429
Answers = Mapping[str, int]
"""What the eviction of each pod is answered, by its name."""


def expected(budget: Budget) -> int:
    """Pods that a budget covers: those of one group where it counts the pods that must stay, else all."""
    return SIZE if budget.min_available is not None else GROUPS * SIZE


def desired(budget: Budget) -> int:
    if budget.min_available is not None:
        return budget.min_available
    assert budget.max_unavailable is not None
    return expected(budget) - budget.max_unavailable


def predicted(plan: ServingPlan, pods: Mapping[str, Object], broken: str | None) -> Answers:
    """What the budgets of the plan answer, with one pod broken or none: a broken pod may always go."""
    found = {}
    for name, pod in pods.items():
        labels = pod["metadata"]["labels"].items()
        allowed = True
        for budget in plan.disruption.budgets:
            if budget.selector.items() <= labels and name != broken:
                missing = broken is not None and (
                    budget.selector.items() <= pods[broken]["metadata"]["labels"].items()
                )
                allowed = expected(budget) - missing > desired(budget)
        found[name] = ALLOWED if allowed else REFUSED
    return found


@dataclass(frozen=True, kw_only=True)
class Evicted:
    """What was seen of one serving."""

    plan: ServingPlan
    pods: dict[str, Object]
    """Before anything was done to them."""
    statuses: dict[str, Object]
    """Of the budgets, with all groups whole."""
    whole: Answers
    """With all groups whole."""
    broken: Answers
    """With the worker of group 0 not ready."""
    taken: int
    """The group of which a worker was then evicted."""
    first: int
    """What that was answered."""
    second: int
    """What the worker of group 1 was answered right after it."""


def asked(plane: ControlPlane, plan: ServingPlan) -> Answers:
    """Try the eviction of every pod, without doing it."""
    return {
        name: plane.api.evict(plan.namespace, name, dry_run=True) for name in now_there(plane, plan)
    }


def worker(plan: ServingPlan, group: int) -> str:
    return f"{plan.name}-{group}-1"


@pytest.fixture(scope="module")
def running(plain_plane: ControlPlane) -> Iterator[Made]:
    """The three, whole; with the nodes of three groups to spare."""
    plane = plain_plane
    own: dict[str, Object] = {
        "serial": {},
        "apart": {"disruption": {"mode": "perGroup"}},
        "released": {"disruption": {"mode": "perGroup", "released": [RELEASED]}},
    }
    cluster = with_pools(plane, h100=(len(own) + 1) * GROUPS * SIZE)
    made = make(
        cluster, *(each(name, groups=GROUPS, size=SIZE, **asked) for name, asked in own.items())
    )
    put_nodes(plane, cluster)
    with watching_each(plane, made) as seen:
        apply(plane, made)
        settle(seen, made)
    for plan in made.cluster.servings:
        healthy(plane, plan)
    yield made
    plane.reset()


@pytest.fixture(scope="module")
def evicted(plain_plane: ControlPlane, running: Made) -> dict[str, Evicted]:
    """Every pod asked to go, with all groups whole and with one broken; then one worker of each serving evicted.

    With one budget for all it is a healthy worker; with a budget a group the broken one, or one of the released group.
    """
    plane, plans = plain_plane, running.cluster.servings
    taken = {"serial": 0, "apart": 0, "released": RELEASED}
    pods = {plan.name: now_there(plane, plan) for plan in plans}
    statuses = {plan.name: budgets(plane, plan) for plan in plans}
    whole = {plan.name: asked(plane, plan) for plan in plans}

    def unready(plan: ServingPlan, value: str | None) -> None:
        patch = {"metadata": {"annotations": {"kubelet.test/unready": value}}}
        plane.api.merge(f"/api/v1/namespaces/{plan.namespace}/pods/{worker(plan, 0)}", patch)

    def counted(missing: Mapping[str, int]) -> bool:
        """Whether the budgets have seen that so many pods of each serving are not healthy."""
        return all(
            sum(one["currentHealthy"] for one in statuses[name].values()) - missed
            == sum(one["currentHealthy"] for one in budgets(plane, running.of(name)).values())
            for name, missed in missing.items()
        )

    for plan in plans:
        unready(plan, "true")
    plane.site.wait("the broken pods", lambda: counted({plan.name: 1 for plan in plans}))
    broken = {plan.name: asked(plane, plan) for plan in plans}
    for plan in plans:
        if plan.name != "apart":
            unready(plan, None)
    plane.site.wait("their repair", lambda: counted({"serial": 0, "apart": 1, "released": 0}))

    found = {}
    with watching_each(plane, running) as seen:
        for plan in plans:
            found[plan.name] = Evicted(
                plan=plan,
                pods=pods[plan.name],
                statuses=statuses[plan.name],
                whole=whole[plan.name],
                broken=broken[plan.name],
                taken=taken[plan.name],
                first=plane.api.evict(plan.namespace, worker(plan, taken[plan.name])),
                second=plane.api.evict(plan.namespace, worker(plan, 1)),
            )
        for plan in plans:
            group = [worker(plan, taken[plan.name]), f"{plan.name}-{taken[plan.name]}"]
            before = {pods[plan.name][name]["metadata"]["uid"] for name in group}
            seen[plan.name].until(
                lambda now, before=before: (  # type: ignore[misc]
                    ready_groups(GROUPS, size=SIZE)(now)
                    and not before & {pod["metadata"]["uid"] for pod in now.of("Pod")}
                ),
                within=60,
                what=f"the evicted group of {plan.name} is whole again",
            )
    for plan in plans:
        healthy(plane, plan)
    return found


def allowed(answers: Answers) -> list[str]:
    """What each group's pods are answered: `0: all`, `1: none`, or their number."""
    groups: dict[int, list[int]] = {}
    for name, answer in answers.items():
        groups.setdefault(int(name.split("-")[1]), []).append(answer)
    assert {answer for each in groups.values() for answer in each} <= {ALLOWED, REFUSED}
    return [
        f"{each.count(ALLOWED)} of {len(each)} pods of group {group}"
        for group, each in sorted(groups.items())
    ]


SOURCE = "lab E3; plan.disruption.budgets"


@pytest.mark.parametrize(
    "name",
    [
        claimed(
            "serial",
            "One budget for the set: any pod may go while all groups are whole, and then none of another group",
            SOURCE,
        ),
        claimed(
            "apart", "A budget a group keeps every healthy group, and lets a broken pod go", SOURCE
        ),
        claimed(
            "released",
            "A group that is released has no budget: its pods may go, others not",
            SOURCE,
        ),
    ],
)
def test_evictions_are_answered_as_the_budgets_of_the_plan_say(
    evicted: dict[str, Evicted], name: str, saw: Saw
) -> None:
    one = evicted[name]
    plan = one.plan
    assert set(one.statuses) == {budget.name for budget in plan.disruption.budgets}
    for budget in plan.disruption.budgets:
        status = one.statuses[budget.name]
        assert status["expectedPods"] == status["currentHealthy"] == expected(budget)
        assert status["desiredHealthy"] == desired(budget)
        assert status["disruptionsAllowed"] == expected(budget) - desired(budget)
    assert one.whole == predicted(plan, one.pods, broken=None)
    assert one.broken == predicted(plan, one.pods, broken=worker(plan, 0))
    assert (one.first, one.second) == (ALLOWED, REFUSED)
    saw(
        f"budgets: {len(one.statuses)}; may go with all whole: {', '.join(allowed(one.whole))}; with a broken worker "
        f"in group 0: {', '.join(allowed(one.broken))}; a worker of group {one.taken} evicted, then one of group 1 "
        "refused"
    )


def drain(plane: ControlPlane, node: str, *, seconds: int) -> Printed:
    options = ("--ignore-daemonsets", "--delete-emptydir-data", f"--timeout={seconds}s")
    return plane.kubectl.run("drain", node, *options)


@pytest.mark.claim(
    "Nodes of different groups drained at once: with one budget for the set, groups go one after another; with a "
    "budget a group no healthy one goes, and a released one goes at once",
    "lab E3; plan.disruption.drain",
)
def test_drains_do_what_the_plan_says(
    plain_plane: ControlPlane, running: Made, evicted: dict[str, Evicted], saw: Saw
) -> None:
    plane = plain_plane
    serial, apart, released = (running.of(name) for name in ("serial", "apart", "released"))
    # kubectl asks again every five seconds.
    drained = [(serial, 0, 120), (serial, 1, 120)]
    drained += [(apart, 0, 6), (released, 0, 6), (released, RELEASED, 60)]
    before = {plan.name: now_there(plane, plan) for plan in (serial, apart, released)}
    nodes = [
        before[plan.name][worker(plan, group)]["spec"]["nodeName"] for plan, group, _ in drained
    ]
    with watching_each(plane, running) as seen, ThreadPoolExecutor(len(nodes)) as pool:
        runs = [
            pool.submit(drain, plane, node, seconds=seconds)
            for node, (_, _, seconds) in zip(nodes, drained, strict=True)
        ]
        done = [run.result().code == 0 for run in runs]
        settle(seen, running)
    assert done == [True, True, False, False, True]

    def least(plan: ServingPlan) -> int:
        return min((one.ready for one in counts(seen[plan.name], size=SIZE)), default=GROUPS)

    def replaced(plan: ServingPlan) -> set[int]:
        return {
            group_of(pod)[1]
            for name, pod in now_there(plane, plan).items()
            if pod["metadata"]["uid"] != before[plan.name][name]["metadata"]["uid"]
        }

    assert replaced(serial) == {0, 1}
    assert f"{least(serial)} of {GROUPS} keep serving" in serial.disruption.drain
    assert (replaced(apart), least(apart)) == (set(), GROUPS)
    assert (
        "no drain finishes while a healthy group with a budget is on the node"
        in apart.disruption.drain
    )
    assert replaced(released) == {RELEASED}
    assert (
        f"group {RELEASED} is released, and a drain takes it at once" in released.disruption.drain
    )
    for plan in running.cluster.servings:
        healthy(plane, plan)
    saw(
        f"one budget: {done[:2].count(True)} of 2 drains done, at least {least(serial)} of {GROUPS} groups ready; "
        f"a budget a group: the drain gave up, {least(apart)} of {GROUPS} ready throughout; released: its group moved, "
        "another's drain gave up"
    )
