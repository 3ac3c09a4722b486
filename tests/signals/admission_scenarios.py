"""Groups of one serving that wait to be admitted or were evicted, as Workloads and PodGroups show them."""

from __future__ import annotations

from tests.signals.scenario import Scenario, Series, in_namespace, series, steady, then
from tests.signals.state_metrics_scenarios import shown
from tests.signals.world import World

from gangform.plan.serving import ServingPlan


def of_workload(name: str, workload: str, owner: str = "llm", **labels: str) -> str:
    return series(
        f"kueue_workload_{name}",
        customresource_kind="Workload",
        owner_kind="LeaderWorkerSet",
        owner_name=owner,
        workload=workload,
        **labels,
    )


def admitted(workload: str, reason: str = "Admitted", owner: str = "llm") -> str:
    return of_workload("status_condition", workload, owner, condition="Admitted", reason=reason)


def evicted(workload: str, reason: str, owner: str = "llm") -> str:
    return of_workload("status_condition", workload, owner, condition="Evicted", reason=reason)


def in_phase(phase: str, group: str, of: str) -> str:
    return series(
        "volcano_podgroup_status_phase",
        customresource_kind="PodGroup",
        podgroup=group,
        leaderworkerset=of,
        phase=phase,
    )


def workload(leader: str) -> str:
    return f"leaderworkerset-{leader}-ab12c"


def normal(plan: ServingPlan) -> Series:
    """Every group is let in; those of the neighbour are not."""
    if not shown(plan):
        return {}
    found: Series = {}
    for leader in World.of(plan).leaders:
        found |= {
            of_workload("created", workload(leader)): steady(1700000000),
            admitted(workload(leader)): steady(1),
        }
        found |= pod_group(plan, leader, Running=1)
    other = workload("llm-x-0")
    found |= {
        of_workload("created", other, "llm-x"): steady(1700000000),
        admitted(other, "NoReservation", "llm-x"): steady(0),
        evicted(other, "Preempted", "llm-x"): steady(1),
        in_phase("Inqueue", "llm-x-0-5d4f", "llm-x"): steady(1),
        in_phase("Inqueue", "llm-x-0", "llm-x-0"): steady(1),
    }
    backend = plan.serving.admission.backend
    own = {"kueue": "kueue_"}.get(backend, "volcano_")
    return {key: values for key, values in found.items() if key.startswith(own)}


PHASES = ("Pending", "Inqueue", "Running", "Unknown", "Completed")


def pod_group(plan: ServingPlan, leader: str, **states: int | str) -> Series:
    """A PodGroup's state set: the phases that are named, and the others at 0."""
    set_ = leader.rpartition("-")[0]
    name = set_ if plan.serving.admission.backend == "volcano-podgroup" else f"{leader}-5d4f"
    values = {phase: states.get(phase, 0) for phase in PHASES}
    return {
        in_phase(phase, name, set_): value if isinstance(value, str) else steady(value)
        for phase, value in values.items()
    }


def scenarios(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    if not shown(plan):
        return {}
    backend = plan.serving.admission.backend
    return _of_kueue(plan, normal) if backend == "kueue" else _of_volcano(plan)


def _of_kueue(plan: ServingPlan, normal: Series) -> dict[str, Scenario]:
    late = workload(World.of(plan).leaders[-1])
    waits = in_namespace("ServingGroupNotAdmitted", workload=late)
    out = in_namespace("ServingGroupEvicted", workload=late, reason="Preempted")
    no_longer: dict[str, str | None] = {admitted(late): "1+0x9 stale"}
    return {
        "a group is not admitted, and then it is": Scenario(
            {
                admitted(late): f"_x50 {steady(1)}",
                admitted(late, "NoReservation"): "0+0x49 stale",
            },
            {29: [], 30: [waits], 49: [waits], 51: []},
        ),
        "a group has no condition yet": Scenario({admitted(late): None}, {30: [waits]}),
        "a new group waits for a while": Scenario(
            {
                of_workload("created", late): f"_x10 {steady(1700000000)}",
                admitted(late): f"_x35 {steady(1)}",
            },
            {minute: [] for minute in (15, 34, 41, 90)},
        ),
        "a group is evicted and let in again": Scenario(
            {
                admitted(late): f"1+0x9 stale _x19 {steady(1)}",
                admitted(late, "NoReservation"): "_x10 0+0x19 stale",
                evicted(late, "Preempted"): "_x10 1+0x19 0+0x90",
            },
            {9: [], 10: [out], 29: [out], 31: [], 90: []},
        ),
        "a group is evicted for good": Scenario(
            {**no_longer, evicted(late, "Preempted"): f"_x10 {steady(1)}"},
            {9: [], 39: [out], 41: [out, waits]},
        ),
        "scaled to zero": Scenario(
            {key: "1+0x9 stale" for key in normal if f'workload="{late}"' in key}, {60: []}
        ),
        "two exporters are there for a while": Scenario(
            {
                key.replace("{", '{instance="new",', 1): values
                for key, values in normal.items()
                if key.startswith("kueue_")
            },
            {90: []},
        ),
        "the configuration is gone": Scenario(
            {key: None for key in normal if key.startswith("kueue_")}, {90: []}
        ),
    }


def _of_volcano(plan: ServingPlan) -> dict[str, Scenario]:
    late = World.of(plan).leaders[-1]
    set_ = late.rpartition("-")[0]
    name = set_ if plan.serving.admission.backend == "volcano-podgroup" else f"{late}-5d4f"
    waits = in_namespace("ServingGroupNotAdmitted", podgroup=name)
    return {
        "a gang waits first outside and then in the queue, and then it runs": Scenario(
            pod_group(
                plan,
                late,
                Pending=then((1, 20), (0, 1)),
                Inqueue=then((0, 20), (1, 30), (0, 1)),
                Running=then((0, 50), (1, 1)),
            ),
            {29: [], 30: [waits], 49: [waits], 51: []},
        ),
        "a part of a gang runs": Scenario(
            pod_group(plan, late, Unknown=1), {29: [], 30: [waits], 90: [waits]}
        ),
        "a gang waits for a while": Scenario(
            pod_group(
                plan,
                late,
                Inqueue=then((0, 10), (1, 25), (0, 1)),
                Running=then((1, 10), (0, 25), (1, 1)),
            ),
            {minute: [] for minute in (15, 34, 50)},
        ),
        "a gang is done": Scenario(pod_group(plan, late, Completed=1), {90: []}),
        "the configuration is gone": Scenario(dict.fromkeys(pod_group(plan, late), None), {90: []}),
    }
