"""The autoscaler that gangform writes follows its metric, in whole groups: the real controller, asking for a number.

The number is the test's own, behind the API server's aggregation layer, where an adapter would answer. Periods follow
from a declared cold start of some seconds, and the window before a step up, which does not, is patched; nothing else
is. The alert of an autoscaler without a metric is judged by promtool, three seconds as a minute.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.cluster.api import Object
from tests.cluster.control_plane import ControlPlane
from tests.cluster.evidence import Saw
from tests.cluster.metrics_api import Question, external_metrics
from tests.cluster.scenarios import each, now_there, put_nodes, with_pools
from tests.cluster.servings import LWS, Made, apply, group_of, make, ready_groups
from tests.cluster.timeline import Court, at, firing, judged, timeline, until, waits
from tests.cluster.watch import Watch, watching
from tests.signals.exporter import written

from gangform.apis.keys import AUTOSCALING
from gangform.apis.leaderworkerset import KIND
from gangform.inputs.cluster import Cluster
from gangform.plan.scaling import ScalingPlan

LOWEST, WANTED, HIGHEST = 2, 4, 5
SIZE = 2
COLD_START = "4s"
"""So that a group is added, or taken away, every six seconds at the most; the controller looks every five."""
PROMETHEUS = "http://prometheus.monitoring:9090"
BLIND = "ServingAutoscalerBlind"
SCALER = "HorizontalPodAutoscaler"
AT_ONCE = {"spec": {"behavior": {"scaleUp": {"stabilizationWindowSeconds": 1}}}}
"""Instead of the two minutes for which a load must last."""
SLACK = 1.0
"""Seconds by which two steps that the controller keeps apart may come nearer, on their way to the watch."""
Uids = Mapping[str, str]


@dataclass(frozen=True)
class Followed:
    """What was seen of one serving while its load rose, was not known, and fell."""

    made: Made
    scaling: ScalingPlan
    asked: set[Question]
    rising: Watch
    falling: Watch
    uids: list[Uids]
    """Of all pods, by name: before the load rose, after, while it was not known, and after it fell."""
    unknown: Object
    """The autoscaler when it had no value."""
    blind: Watch


def numbers(seen: Watch) -> list[tuple[float, int]]:
    """How many groups the set was told to have, and since when: the listing first, at 0 seconds."""
    sets = [one for one in seen.listed.values() if one["kind"] == KIND]
    found = [(0.0, one["spec"]["replicas"]) for one in sets]
    for event in seen.events:
        if event.place.kind == KIND and event.object["spec"]["replicas"] != found[-1][1]:
            found.append((event.at, event.object["spec"]["replicas"]))
    return found


def active(status: str) -> Callable[[Watch], bool]:
    """A condition: the autoscaler says so of its metric."""

    def hold(now: Watch) -> bool:
        (scaler,) = now.of(SCALER)
        conditions = scaler["status"].get("conditions", ())
        return any(one["type"] == "ScalingActive" and one["status"] == status for one in conditions)

    return hold


@pytest.fixture(scope="module")
def followed(plain_plane: ControlPlane) -> Iterator[Followed]:
    plane = plain_plane
    cluster = with_pools(plane, h100=HIGHEST * SIZE)
    cluster = cluster.model_copy(update={"metrics_adapter": "external"})
    made = make(
        cluster,
        each(
            "scaled",
            size=SIZE,
            cold_start=COLD_START,
            autoscaling={"min": LOWEST, "max": HIGHEST},
            patches=[{"kind": SCALER, "merge": AT_ONCE}],
        ),
    )
    scaling = made.plan.lead.scaling
    assert scaling is not None
    put_nodes(plane, cluster)
    uids: list[Uids] = []
    api, space = plane.api, made.plan.namespace
    plane.namespace(space)
    collections = (
        api.path("v1", "Pod", namespace=space),
        api.path(LWS, KIND, namespace=space),
        api.path(AUTOSCALING, SCALER, namespace=space),
    )

    def whole(seen: Watch, groups: int) -> None:
        what = f"there are {groups} groups"
        seen.until(ready_groups(groups, size=SIZE), within=120, what=what)
        pods = now_there(plane, made.plan)
        uids.append({name: pod["metadata"]["uid"] for name, pod in pods.items()})

    with external_metrics(plane) as load:
        load.value = LOWEST * scaling.target
        with watching(api, *collections) as seen:
            apply(plane, made)
            seen.until(ready_groups(LOWEST, size=SIZE), within=120, what="the first groups")
            seen.until(active("True"), within=60, what="the metric is read")
        with watching(api, *collections) as rising:
            whole(rising, LOWEST)
            load.value = WANTED * scaling.target
            whole(rising, WANTED)
        with watching(api, *collections) as blind:
            load.value = None
            blind.until(active("False"), within=60, what="the autoscaler says that it is blind")
            whole(blind, WANTED)
            (unknown,) = blind.of(SCALER)
        with watching(api, *collections) as falling:
            load.value = 0
            whole(falling, LOWEST)
        asked = set(load.asked)
    yield Followed(
        made=made,
        scaling=scaling,
        asked=asked,
        rising=rising,
        falling=falling,
        uids=uids,
        unknown=unknown,
        blind=blind,
    )
    plane.reset()


def groups(pods: Iterable[str]) -> set[int]:
    """The indexes of groups, by names of their pods."""
    return {int(name.removeprefix("scaled-").partition("-")[0]) for name in pods}


@pytest.mark.claim(
    "The autoscaler asks for the metric of the plan, of the series of its own serving",
    "plan.scaling; observability §3.2",
)
def test_it_asks_for_its_own_metric(followed: Followed, saw: Saw) -> None:
    labels = frozenset(f"{key}={value}" for key, value in followed.scaling.selector.items())
    question = Question(followed.made.plan.namespace, followed.scaling.metric, labels)
    assert followed.asked == {question}
    saw(f"{followed.scaling.metric} with {', '.join(sorted(labels))}, and nothing else")


@pytest.mark.claim(
    "However far the load rises, one whole group is added a period, and no other is touched",
    "design §4 Autoscaling; plan.scaling",
)
def test_a_rising_load_adds_one_group_after_another(followed: Followed, saw: Saw) -> None:
    steps = numbers(followed.rising)
    assert [number for _, number in steps] == [LOWEST, LOWEST + 1, WANTED]
    (_, (first, _), (second, _)) = steps
    assert second - first >= followed.scaling.up_period - SLACK
    before, after, *_ = followed.uids
    assert before.items() <= after.items()
    assert groups(after.keys() - before.keys()) == {LOWEST, LOWEST + 1}
    assert len(after) == WANTED * SIZE
    saw(
        f"{' → '.join(str(number) for _, number in steps)}, a period apart; the pods of the first {LOWEST} stay"
    )


@pytest.mark.claim(
    "However far the load falls, one whole group goes a period, the highest, and no other is touched",
    "design §4 Autoscaling; plan.scaling",
)
def test_a_falling_load_takes_one_group_after_another(followed: Followed, saw: Saw) -> None:
    steps = numbers(followed.falling)
    assert [number for _, number in steps] == [WANTED, WANTED - 1, LOWEST]
    (_, (first, _), (second, _)) = steps
    assert second - first >= followed.scaling.down_period - SLACK
    *_, before, after = followed.uids
    assert after.items() <= before.items()
    gone = [
        group_of(event.object)[1]
        for event in followed.falling.events
        if event.type == "DELETED" and event.place.kind == "Pod"
    ]
    assert gone == sorted(gone, reverse=True) and set(gone) == {LOWEST, LOWEST + 1}
    saw(
        f"{' → '.join(str(number) for _, number in steps)}, a period apart, group {WANTED - 1} "
        f"before group {LOWEST}; the pods of the first {LOWEST} stay"
    )


@pytest.mark.claim(
    "Without a value the number of groups stays, and the alert of a blind autoscaler fires",
    "design §4 Autoscaling; signals.groups",
)
def test_without_a_value_nothing_moves_and_somebody_is_told(
    followed: Followed, promtool: str, tmp_path: Path, saw: Saw
) -> None:
    _, before, after, _ = followed.uids
    assert before == after
    assert [number for _, number in numbers(followed.blind)] == [WANTED]
    (said,) = (
        one for one in followed.unknown["status"]["conditions"] if one["type"] == "ScalingActive"
    )
    assert said["reason"] == "FailedGetExternalMetric"
    seen = timeline(followed.blind, lasts=60)
    name = followed.made.plan.name
    condition = written(
        "kube_horizontalpodautoscaler_status_condition",
        {
            "namespace": followed.made.plan.namespace,
            "horizontalpodautoscaler": name,
            "condition": "ScalingActive",
            "status": "false",
        },
    )
    lost = seen.first(lambda there: there.get(condition) == 1)
    rules = judged(followed.made.one("PrometheusRule", name)["spec"])
    rules["groups"] = [
        {**group, "rules": [one for one in group["rules"] if "autoscaler" in one["expr"]]}
        for group in rules["groups"]
    ]
    blind = firing(BLIND, namespace=followed.made.plan.namespace)
    late = waits(rules, BLIND)
    Court(promtool, tmp_path, seen).judge(
        rules, until(lost + late - 1), at(lost + late + 1, blind), until(seen.end, BLIND)
    )
    saw(
        f"{WANTED} groups stay; ScalingActive is False: {said['reason']}; told of after {late:g} minutes"
    )


ADAPTERS = [
    name
    for name in get_args(Cluster.model_fields["metrics_adapter"].annotation)
    if name not in ("none", "unknown")
]
ALIKE: dict[str, Any] = {"min": LOWEST, "max": HIGHEST}
WAYS: Mapping[str, Mapping[str, Any]] = {
    "prometheus-adapter": {"pods": {**ALIKE, "type": "Pods"}},
    "keda": {
        "zero": {
            "min": 0,
            "max": HIGHEST,
            "buffer_query": "sum(llm_d_epp_flow_control_queue_size)",
            "buffer_holds": "30m",
        }
    },
}
"""What only one adapter can do, beside what all can."""


@pytest.mark.claim(
    "Every object of an autoscaled serving is accepted, strictly validated, whoever gives the metric",
    "design §4 Autoscaling; apis",
)
@pytest.mark.parametrize("adapter", ADAPTERS)
def test_autoscalers_are_accepted(adapter: str, plain: ControlPlane, saw: Saw) -> None:
    monitoring = plain.cluster.monitoring.model_copy(update={"prometheus": PROMETHEUS})
    cluster = plain.cluster.model_copy(
        update={"metrics_adapter": adapter, "monitoring": monitoring}
    )
    ways = {"scaled": ALIKE, **WAYS.get(adapter, {})}
    made = make(cluster, *(each(name, size=SIZE, autoscaling=way) for name, way in ways.items()))
    for name in ways:
        plain.namespace(name)
    for document in made.documents:
        assert plain.api.apply(document, dry_run=True).warnings == ()
    scalers = [one["kind"] for one in made.documents if one["kind"] in (SCALER, "ScaledObject")]
    assert len(scalers) == len(ways)
    saw(f"{len(scalers)} {' and '.join(sorted({*scalers}))}, and all that comes with it")
