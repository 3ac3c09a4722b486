"""The rules in a real Prometheus' rule engine: what fires, when, with which labels and words, and what stays silent.

A scenario is the normal state of a serving and what differs from it. At each minute that it names, the whole list of
firing alerts is compared, annotations included; an alert that is not listed must not fire. Every alert of a form fires
in one of its scenarios, so a rule that never fires is noticed.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from gangform.manifests.monitoring import rules
from gangform.plan.serving import ServingPlan
from gangform.signals.alerts import alerts

pytestmark = pytest.mark.go

FORMS = ["groups", "groups of one", "sets of one group", "deployment", "autoscaled", "canary"]
OF_GROUPS = ["groups", "groups of one", "sets of one group"]
END = 120
"""Minutes that every series lasts."""

MakePlan = Callable[..., ServingPlan]
Series = dict[str, str]
"""A series → its values, a minute each, as promtool writes them."""


class Fires(NamedTuple):
    """An alert that must fire: its labels beside serving and severity, and its value."""

    name: str
    value: int = 1
    labels: Mapping[str, str] = {}


class Scenario(NamedTuple):
    """What is different, and what fires at which minute."""

    differs: Mapping[str, str | None]
    """Series → values; `None` takes the series away."""
    at: Mapping[int, list[Fires]]


def in_namespace(name: str, value: int = 1, **labels: str) -> Fires:
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

    @classmethod
    def of(cls, plan: ServingPlan) -> World:
        sets = [workload.name for workload in plan.workloads]
        each = range(2 // len(sets))
        leaders = [f"{name}-{index}" for name in sets for index in each]
        return cls(sets, plan.lead.shape.size, leaders)

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


# ── scenarios of groups ──────────────────────────────────────────────────────────────────────────


def nothing_is_wrong(world: World) -> Scenario:
    return Scenario({}, {minute: [] for minute in (1, 90)})


def a_worker_is_lost_and_its_leader_stays_ready(world: World) -> Scenario:
    broken = world.leaders[1]
    if world.size == 1:
        return Scenario({}, {40: []})
    serves = in_namespace("ServingLeaderReadyGroupIncomplete", pod=broken)
    endpoints_differ = in_namespace("ServingLeaderEndpointsMismatch", 2)
    return Scenario(
        {set_ready(broken): then((world.size - 1, 10), (world.size - 2, 1))},
        {
            10: [],
            11: [],
            12: [serves],
            16: [serves, endpoints_differ],
            29: [serves, endpoints_differ],
            31: [serves, endpoints_differ, in_namespace("ServingGroupsNotReady", 1)],
        },
    )


def no_leader_is_ready(world: World) -> Scenario:
    down = then((1, 10), (0, 1))
    nothing = in_namespace("ServingNoGroupReady", 0)
    return Scenario(
        {
            **{ready(leader): down for leader in world.leaders},
            **endpoints(world.leaders, values="1+0x9 stale"),
        },
        {10: [], 14: [], 16: [nothing], 31: [nothing, in_namespace("ServingGroupsNotReady", 0)]},
    )


def no_pod_is_there_at_all(world: World) -> Scenario:
    gone: dict[str, str | None] = {
        name: None
        for name in world.healthy()
        if name.startswith("kube_pod") or "endpoints{" in name or "-leader-" in name
    }
    # Another Service's slice: slices are exported, ours has none.
    gone[series("kube_endpointslice_info", endpointslice="other-abc12")] = steady(1)
    return Scenario(
        gone,
        {
            25: [
                in_namespace("ServingNoGroupReady", 0),
                in_namespace("ServingGroupsNotReady", 0),
            ]
        },
    )


def scaled_to_zero(world: World) -> Scenario:
    gone: dict[str, str | None] = {
        name: None
        for name in world.healthy()
        if name.startswith("kube_pod") or "endpoints{" in name
    }
    return Scenario({**gone, **{wanted(name): steady(0) for name in world.sets}}, {30: [], 90: []})


def a_surge_group_does_not_hide_a_broken_one(world: World) -> Scenario:
    name, surge = world.sets[0], f"{world.sets[0]}-9"
    own = sum(world.set_of(leader) == name for leader in world.leaders)
    whole: Series = {ready(surge): steady(1), **endpoints([surge, world.leaders[1]])}
    if world.size > 1:
        whole[set_ready(surge)] = steady(world.size - 1)
    return Scenario(
        {
            **whole,
            wanted(name): steady(own + 1),
            ready(world.leaders[0]): steady(0),
            **{endpoint(f"llm-leader-{end}", world.leaders[0]): None for end in ("abc12", "xyz89")},
        },
        {15: [], 21: [in_namespace("ServingGroupsNotReady", 2)]},
    )


def a_rollout_moves_once_and_then_stands(world: World) -> Scenario:
    name = world.sets[-1]
    return Scenario(
        {
            revision("update", name, "a"): "1+0x4 stale",
            revision("update", name, "b"): f"_x5 {steady(1)}",
            updated(name): then((2, 5), (0, 15), (1, 1)),
        },
        {
            10: [],
            45: [],
            54: [],
            57: [in_namespace("ServingRolloutStalled", statefulset=name, revision="b")],
        },
    )


def a_rollout_that_goes_on(world: World) -> Scenario:
    name = world.sets[-1]
    return Scenario(
        {
            revision("update", name, "a"): None,
            revision("update", name, "b"): steady(1),
            set_ready(name): " ".join(f"{1 + turn % 2}+0x14" for turn in range(8)),
        },
        {60: [], 100: []},
    )


def one_after_another(world: World, *, ends: bool) -> dict[str, str | None]:
    """The groups are updated in turn, twenty minutes each; or the first never comes back."""
    first, second = world.leaders
    there = f"1+0x4 stale _x19 {steady(1)}" if ends else "1+0x4 stale"
    found: dict[str, str | None] = {
        ready(first): then((1, 5), (0, 20), (1, 1)) if ends else then((1, 5), (0, 1)),
        **{endpoint(f"llm-leader-{end}", first): there for end in ("abc12", "xyz89")},
    }
    if ends:
        later = f"1+0x24 stale _x19 {steady(1)}"
        found |= {ready(second): then((1, 25), (0, 20), (1, 1))}
        found |= {endpoint(f"llm-leader-{end}", second): later for end in ("abc12", "xyz89")}
    if len(world.sets) == 1:
        lone = ((2, 5), (0, 20), (1, 20), (2, 1)) if ends else ((2, 5), (0, 1))
        return {**found, updated(world.sets[0]): then(*lone)}
    steps = ((1, 5), (0, 20), (1, 1)) if ends else ((1, 5), (0, 1))
    found[updated(world.sets[0])] = then(*steps)
    if ends:
        found[updated(world.sets[1])] = then((1, 25), (0, 20), (1, 1))
    return found


def a_healthy_rollout_takes_one_group_after_another(world: World) -> Scenario:
    return Scenario(
        one_after_another(world, ends=True), {minute: [] for minute in (10, 26, 44, 60, 90)}
    )


def a_group_does_not_come_back_from_its_update(world: World) -> Scenario:
    missing = in_namespace("ServingGroupsNotReady", 1)
    return Scenario(one_after_another(world, ends=False), {30: [], 53: [], 57: [missing]})


def a_leader_lives_three_times_in_an_hour(world: World) -> Scenario:
    leader = world.leaders[0]
    rebuilt = in_namespace("ServingGroupRebuiltRepeatedly", 3, pod=leader)
    return Scenario(
        {
            created(leader, "1"): "1+0x9 stale",
            created(leader, "2"): "_x10 1+0x9 stale",
            created(leader, "3"): f"_x20 {steady(1)}",
        },
        {19: [], 21: [rebuilt], 60: [rebuilt], 75: []},
    )


def two_lives_and_two_exporters_for_a_while(world: World) -> Scenario:
    """A pod's old and new uid, and old and new kube-state-metrics, are there at once: no join may fail."""
    leader = world.leaders[0]
    again = {
        name.replace("{", '{instance="new",', 1): values for name, values in world.healthy().items()
    }
    return Scenario(
        {**again, ready(leader, "2"): steady(1), created(leader, "2"): steady(1)}, {90: []}
    )


def pods_wait_for_capacity(world: World) -> Scenario:
    waiting = [pod for pod in world.pods if pod.startswith(world.leaders[1])]
    pending = in_namespace("ServingGroupPodsPending", len(waiting))
    return Scenario(
        {phase(pod): steady(1) for pod in waiting}, {29: [], 30: [pending], 90: [pending]}
    )


def a_ready_leader_is_no_endpoint(world: World) -> Scenario:
    lost = {endpoint(f"llm-leader-{end}", world.leaders[0]): None for end in ("abc12", "xyz89")}
    return Scenario(lost, {4: [], 5: [in_namespace("ServingLeaderEndpointsMismatch", 1)]})


def the_service_has_no_endpoint(world: World) -> Scenario:
    lost = {
        endpoint(f"llm-leader-{end}", leader): None
        for end in ("abc12", "xyz89")
        for leader in world.leaders
    }
    return Scenario(lost, {5: [in_namespace("ServingLeaderEndpointsMismatch", 0)]})


def slices_are_not_exported(world: World) -> Scenario:
    """Before 2.18 kube-state-metrics has no slices by default: that is no mismatch."""
    return Scenario({name: None for name in world.healthy() if "endpointslice" in name}, {90: []})


def a_node_is_cordoned(world: World) -> Scenario:
    pod = world.pods[-1]
    held = in_namespace("ServingGroupOnCordonedNode", node=f"node-of-{pod}")
    return Scenario({node(f"node-of-{pod}"): steady(1)}, {29: [], 30: [held]})


def a_set_is_absent(world: World) -> Scenario:
    name = world.sets[-1]
    lost = in_namespace("ServingGroupsAbsent", job="kube-state-metrics", statefulset=name)
    # Nothing else of the set is there either, and its endpoints went with it.
    gone: dict[str, str | None] = {
        each: None
        for each in world.healthy()
        if re.search(rf'"{name}["-]', each) and "leader-" not in each and '"llm-x' not in each
    }
    gone |= {
        endpoint(f"llm-leader-{end}", leader): None
        for end in ("abc12", "xyz89")
        for leader in world.leaders
        if world.set_of(leader) == name
    }
    return Scenario(gone, {14: [], 15: [lost], 90: [lost]})


GROUP_SCENARIOS = [
    nothing_is_wrong,
    a_worker_is_lost_and_its_leader_stays_ready,
    no_leader_is_ready,
    no_pod_is_there_at_all,
    scaled_to_zero,
    a_surge_group_does_not_hide_a_broken_one,
    a_rollout_moves_once_and_then_stands,
    a_rollout_that_goes_on,
    a_healthy_rollout_takes_one_group_after_another,
    a_group_does_not_come_back_from_its_update,
    a_leader_lives_three_times_in_an_hour,
    two_lives_and_two_exporters_for_a_while,
    pods_wait_for_capacity,
    a_ready_leader_is_no_endpoint,
    the_service_has_no_endpoint,
    slices_are_not_exported,
    a_node_is_cordoned,
    a_set_is_absent,
]

# ── scenarios of other forms ─────────────────────────────────────────────────────────────────────


def status(name: str, deployment: str = "llm") -> str:
    return series(f"kube_deployment_{name}", deployment=deployment)


WANTED, PODS = status("spec_replicas"), status("status_replicas")
READY, UPDATED = status("status_replicas_ready"), status("status_replicas_updated")
DEPLOYMENT: Series = {
    **{name: steady(2) for name in (WANTED, PODS, READY, UPDATED)},
    status("spec_replicas", "llm-x"): steady(2),
    status("status_replicas_ready", "llm-x"): steady(0),
    **endpoints(["llm-5f-a", "llm-5f-b"]),
}
NO_ENDPOINTS: dict[str, str | None] = {name: None for name in DEPLOYMENT if "endpoints{" in name}
ONE_ENDPOINT = {name: None for name in NO_ENDPOINTS if "llm-5f-b" in name}
DEPLOYMENT_SCENARIOS = {
    "nothing is wrong": Scenario({}, {1: [], 90: []}),
    "one pod is not ready": Scenario(
        {READY: steady(1), **ONE_ENDPOINT}, {19: [], 20: [in_namespace("ServingGroupsNotReady", 1)]}
    ),
    "no pod is ready": Scenario(
        {READY: steady(0), **NO_ENDPOINTS},
        {
            4: [],
            5: [in_namespace("ServingNoGroupReady", 0)],
            20: [in_namespace("ServingNoGroupReady", 0), in_namespace("ServingGroupsNotReady", 0)],
        },
    ),
    "scaled to zero": Scenario(
        {**{name: steady(0) for name in (WANTED, PODS, READY, UPDATED)}, **NO_ENDPOINTS}, {90: []}
    ),
    "a surge pod never gets ready": Scenario(
        {PODS: then((2, 20), (3, 1)), UPDATED: then((2, 20), (1, 1))},
        {40: [], 54: [], 56: [in_namespace("ServingRolloutStalled", 3)]},
    ),
    "a healthy rollout takes one pod after another": Scenario(
        {
            READY: then((2, 5), (1, 40), (2, 1)),
            UPDATED: then((2, 5), (0, 20), (1, 20), (2, 1)),
            **{name: f"1+0x4 stale _x39 {steady(1)}" for name in ONE_ENDPOINT},
        },
        {minute: [] for minute in (10, 26, 44, 60, 90)},
    ),
    "a pod does not come back from its update": Scenario(
        {
            READY: then((2, 5), (1, 1)),
            UPDATED: then((2, 5), (1, 1)),
            **dict.fromkeys(ONE_ENDPOINT, "1+0x4 stale"),
        },
        {
            30: [],
            57: [
                in_namespace("ServingGroupsNotReady", 1),
                in_namespace("ServingRolloutStalled", 2),
            ],
        },
    ),
    "it is absent": Scenario(
        {name: None for name in DEPLOYMENT if '"llm"' in name} | NO_ENDPOINTS,
        {
            14: [],
            15: [in_namespace("ServingGroupsAbsent", job="kube-state-metrics", deployment="llm")],
        },
    ),
    "a ready pod is no endpoint": Scenario(
        ONE_ENDPOINT, {4: [], 5: [in_namespace("ServingLeaderEndpointsMismatch", 1)]}
    ),
    "no pod is an endpoint": Scenario(
        NO_ENDPOINTS, {5: [in_namespace("ServingLeaderEndpointsMismatch", 0)]}
    ),
}


def scaler(name: str, of: str = "llm", **labels: str) -> str:
    return series(f"kube_horizontalpodautoscaler_{name}", horizontalpodautoscaler=of, **labels)


WISH = scaler("status_desired_replicas")
BLIND = scaler("status_condition", condition="ScalingActive", status="false")
AUTOSCALER: Series = {
    scaler("spec_max_replicas"): steady(4),
    WISH: steady(2),
    BLIND: steady(0),
    scaler("spec_max_replicas", "llm-x"): steady(4),
    scaler("status_desired_replicas", "llm-x"): steady(4),
}
AUTOSCALER_SCENARIOS = {
    "it follows the load": Scenario({}, {90: []}),
    "it wants all it may": Scenario(
        {WISH: steady(4)}, {29: [], 30: [in_namespace("ServingAutoscalerAtMax", 4)]}
    ),
    "it cannot read its metric": Scenario(
        {BLIND: steady(1)}, {14: [], 15: [in_namespace("ServingAutoscalerBlind", 1)]}
    ),
}


def scenarios(form: str, plan: ServingPlan) -> tuple[Series, dict[str, Scenario]]:
    """The normal state of a form, and its scenarios by name."""
    if form == "deployment":
        return DEPLOYMENT, DEPLOYMENT_SCENARIOS
    world = World.of(plan)
    if form == "autoscaled":
        return {**world.healthy(), **AUTOSCALER}, AUTOSCALER_SCENARIOS
    return world.healthy(), {make.__name__: make(world) for make in GROUP_SCENARIOS}


# ── running them ─────────────────────────────────────────────────────────────────────────────────


@pytest.fixture(scope="session")
def promtool() -> str:
    found = shutil.which("promtool")
    if found is None:
        pytest.skip("no promtool on PATH; Debian has it in the package `prometheus`")
    return found


def rule_file(plan: ServingPlan) -> dict[str, Any]:
    """What the operator hands to Prometheus: the spec of the object."""
    (manifest,) = rules(plan)
    loaded: dict[str, Any] = yaml.safe_load(yaml.safe_dump(manifest["spec"]))
    return loaded


def filled(template: str, fires: Fires) -> str:
    """An annotation as Prometheus writes it; a label that the alert lacks is a KeyError."""
    text = template.replace("{{ $value }}", str(fires.value))
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda found: fires.labels[found[1]], text)


def promtool_file(
    spec: dict[str, Any], normal: Series, cases: Mapping[str, Scenario]
) -> dict[str, Any]:
    written = {rule["alert"]: rule for rule in spec["groups"][0]["rules"]}
    tests = []
    for name, scenario in cases.items():
        states = {**normal, **scenario.differs}
        checks = [
            {
                "eval_time": f"{minute}m",
                "alertname": alert,
                "exp_alerts": [
                    {
                        "exp_labels": {**rule["labels"], **fires.labels},
                        "exp_annotations": {
                            key: filled(text, fires) for key, text in rule["annotations"].items()
                        },
                    }
                    for fires in firing
                    if fires.name == alert
                ],
            }
            for minute, firing in scenario.at.items()
            for alert, rule in written.items()
        ]
        tests.append(
            {
                "name": name,
                "interval": "1m",
                "input_series": [
                    {"series": key, "values": values} for key, values in states.items() if values
                ],
                "alert_rule_test": checks,
            }
        )
    return {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}


def run(promtool: str, what: str, file: Path) -> subprocess.CompletedProcess[str]:
    command = [promtool, what, "rules", file.name]
    return subprocess.run(command, cwd=file.parent, capture_output=True, text=True, check=False)


def put(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    path.write_text(yaml.safe_dump(content), "utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_prometheus_reads_the_rules(
    form: str, make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    spec = rule_file(make_plan(form))
    done = run(promtool, "check", put(tmp_path, "rules.yaml", spec))
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{len(spec['groups'][0]['rules'])} rules found" in done.stdout


@pytest.mark.parametrize("form", [*OF_GROUPS, "deployment", "autoscaled"])
def test_alerts_fire_when_they_should_and_only_then(
    form: str, make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    plan = make_plan(form)
    spec = rule_file(plan)
    put(tmp_path, "rules.yaml", spec)
    done = run(
        promtool, "test", put(tmp_path, "test.yaml", promtool_file(spec, *scenarios(form, plan)))
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("form", [*OF_GROUPS, "deployment"])
def test_every_alert_of_a_form_fires_in_a_scenario(form: str, make_plan: MakePlan) -> None:
    """Then a rule that never fires is noticed, whichever it is."""
    plan = make_plan(form)
    _, cases = scenarios(form, plan)
    fired = {
        fires.name for case in cases.values() for firing in case.at.values() for fires in firing
    }
    assert fired == {rule["alert"] for rule in rule_file(plan)["groups"][0]["rules"]}


def test_the_alerts_of_an_autoscaler_fire_in_a_scenario(make_plan: MakePlan) -> None:
    added = {alert.name for alert in alerts(make_plan("autoscaled"))} - {
        alert.name for alert in alerts(make_plan("groups"))
    }
    firing = [fires for case in AUTOSCALER_SCENARIOS.values() for fires in case.at.values()]
    assert added == {fires.name for together in firing for fires in together}


def test_a_rule_that_never_fires_is_noticed(
    make_plan: MakePlan, promtool: str, tmp_path: Path
) -> None:
    plan = make_plan("deployment")
    file = put(
        tmp_path, "test.yaml", promtool_file(rule_file(plan), *scenarios("deployment", plan))
    )
    unnoticed = []
    for index in range(len(rule_file(plan)["groups"][0]["rules"])):
        spec = rule_file(plan)
        rule = spec["groups"][0]["rules"][index]
        rule["expr"] = "vector(0) > 1"
        put(tmp_path, "rules.yaml", spec)
        if run(promtool, "test", file).returncode == 0:
            unnoticed.append(rule["alert"])
    assert not unnoticed
