"""What a change of whole bundles costs, said in one line an object."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.diff.conftest import Cost, Edit, Object, documents, one, priced, shipped

from gangform.apis.versions import Release, Versions
from gangform.apis.volcano import GROUP_NAME
from gangform.diff.gate import RECREATES, not_allowed
from gangform.diff.price import prices
from gangform.diff.words import record
from gangform.documents.document import Key
from gangform.units import Seconds

SET = "LeaderWorkerSet"
KUEUE = Versions(lws=Release(0, 9), kueue=Release(0, 17))
GROUPS = ("leaderTemplate", "workerTemplate")


def template(objects: list[Object], side: str = "leaderTemplate", name: str | None = None) -> Any:
    return one(objects, SET, name)["spec"]["leaderWorkerTemplate"][side]


def image(objects: list[Object]) -> None:
    for each in objects:
        if each["kind"] == SET:
            for side in GROUPS:
                containers = each["spec"]["leaderWorkerTemplate"][side]["spec"]["containers"]
                containers[0]["image"] = "other:1"
        elif each["kind"] == "Deployment":
            each["spec"]["template"]["spec"]["containers"][0]["image"] = "other:1"


def rolling(**words: int) -> Edit:
    def edit(objects: list[Object]) -> None:
        image(objects)
        for each in objects:
            if each["kind"] == SET:
                each["spec"]["rolloutStrategy"]["rollingUpdateConfiguration"].update(words)

    return edit


def renamed(objects: list[Object], old: str, new: str) -> None:
    text = json.dumps(objects).replace(f'"{old}', f'"{new}').replace(f"={old}", f"={new}")
    objects[:] = json.loads(text)


def test_nothing_changed_costs_nothing(cost: Cost) -> None:
    for cluster in ("prod-kueue", "prod-plain", "prod-volcano-topology"):
        assert cost(shipped(cluster), lambda _: None) == []


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "+0 GPUs while it lasts, at least 1 serving"),
        ({"maxUnavailable": 2}, "+0 GPUs while it lasts, at least 0 serving"),
        # Without one that may be missing it stays there (lab E4: R 2, (1, 0)).
        (
            {"maxSurge": 1, "maxUnavailable": 0},
            "+16 GPUs while it lasts, at least 1 serving, it never ends under Kueue",
        ),
        # Under Kueue a surge group may be killed late in the rollout (lab E4).
        ({"maxSurge": 1}, "+16 GPUs while it lasts, at least 0 serving"),
    ],
)
def test_a_rollout_is_counted_by_its_own_fields(
    cost: Cost, words: dict[str, int], said: str
) -> None:
    found = cost(shipped("prod-kueue", "deepseek-r1"), rolling(**words))
    assert found == [
        f"LeaderWorkerSet/llm/deepseek-r1: rolls 2 groups ({said}): "
        "{leader,worker}Template.spec.containers[engine].image"
    ]


def test_the_plan_knows_how_long_it_takes(cost: Cost) -> None:
    key = Key("leaderworkerset.x-k8s.io", SET, "llm", "deepseek-r1")
    found = cost(shipped("prod-kueue", "deepseek-r1"), image, durations={key: Seconds(61)})
    assert "at least 1 serving, ~2 min)" in found[0]


def test_groups_that_are_new_take_no_time_and_do_not_serve_yet(cost: Cost) -> None:
    key = Key("leaderworkerset.x-k8s.io", SET, "llm", "deepseek-r1")

    def more(objects: list[Object]) -> None:
        image(objects)
        one(objects, SET)["spec"]["replicas"] = 6

    objects = shipped("prod-kueue", "deepseek-r1")
    (found,) = cost(objects, more, durations={key: Seconds(360)})
    assert "rolls 2 groups (+0 GPUs while it lasts, at least 2 serving, ~2 min)" in found


def test_a_higher_minimum_does_not_serve_when_the_rollout_begins(cost: Cost) -> None:
    def higher(objects: list[Object]) -> None:
        image(objects)
        one(objects, "HorizontalPodAutoscaler")["spec"]["minReplicas"] = 3

    found = cost(shipped("prod-kueue", "qwen3-coder"), higher)
    assert "rolls 3 to 4 groups (+0 GPUs while it lasts, at least 1 serving)" in found[0]


def test_a_canary_that_goes_on_takes_the_time_of_what_it_releases(cost: Cost) -> None:
    key = Key("leaderworkerset.x-k8s.io", SET, "llm", "deepseek-r1")
    objects = shipped("prod-kueue", "deepseek-r1")
    rolling(partition=1)(objects)
    (found,) = cost(objects, rolling(partition=0), durations={key: Seconds(120)})
    assert "rolls 1 group (+0 GPUs while it lasts, at least 1 serving, ~1 min)" in found


def test_an_autoscaled_set_rolls_from_its_minimum_to_its_maximum(cost: Cost) -> None:
    (found,) = cost(shipped("prod-kueue", "qwen3-coder"), image)
    assert "rolls 2 to 4 groups (+0 GPUs while it lasts, at least 1 serving)" in found


def test_a_higher_minimum_takes_gpus_for_good(cost: Cost) -> None:
    def higher(objects: list[Object]) -> None:
        one(objects, "HorizontalPodAutoscaler")["spec"]["minReplicas"] = 3

    assert cost(shipped("prod-kueue", "qwen3-coder"), higher) == [
        "LeaderWorkerSet/code/qwen3-coder: no restart; +16 GPUs for good at the minimum",
        "HorizontalPodAutoscaler/code/qwen3-coder: in place: spec.minReplicas (groups below it are added at once)",
    ]


def test_a_deployment_rolls_by_its_strategy(cost: Cost) -> None:
    def surging(objects: list[Object]) -> None:
        image(objects)
        one(objects, "Deployment")["spec"]["strategy"] = {
            "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}
        }

    def at_once(objects: list[Object]) -> None:
        image(objects)
        one(objects, "Deployment")["spec"]["strategy"] = {"type": "Recreate"}

    objects = shipped("prod-kueue", "llama-70b")
    assert "(+0 GPUs while it lasts, at least 2 serving)" in cost(objects, image)[0]
    assert "(+8 GPUs while it lasts, at least 3 serving)" in cost(objects, surging)[0]
    assert "(+0 GPUs while it lasts, at least 0 serving)" in cost(objects, at_once)[0]


def test_a_canary_rolls_only_what_it_releases(cost: Cost) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    assert "rolls 1 group (" in cost(objects, rolling(partition=1))[0]
    assert "no restart, a canary holds back all groups" in cost(objects, rolling(partition=2))[0]
    rolling(partition=1)(objects)
    assert "rolls 1 group (" in cost(objects, rolling(partition=0))[0]


def test_more_groups_restart_nothing(cost: Cost) -> None:
    def scaled(count: int) -> Edit:
        return lambda objects: one(objects, SET)["spec"].update(replicas=count)

    objects = shipped("prod-kueue", "deepseek-r1")
    (more,) = cost(objects, scaled(3))
    assert more.endswith("no restart: spec.replicas; 1 group more (+16 GPUs)")
    (less,) = cost(objects, scaled(1))
    assert less.endswith("no restart: spec.replicas; 1 group less (-16 GPUs)")


def test_what_kueue_freezes_is_refused_and_takes_no_gpus(cost: Cost) -> None:
    def larger(objects: list[Object]) -> None:
        for side in GROUPS:
            engine = template(objects, side)["spec"]["containers"][0]
            engine["resources"]["requests"]["cpu"] = "7"

    (found,) = cost(shipped("prod-kueue", "deepseek-r1"), larger, versions=KUEUE)
    assert found.endswith(
        "refused while Kueue manages it: "
        "{leader,worker}Template.spec.containers[engine].resources.requests.cpu; "
        "instead delete it and apply it anew, or give it another name; its groups start again either way"
    )
    (found,) = cost(shipped("prod-plain"), larger)
    assert "rolls " in found


def test_an_annotation_outside_the_pace_promises_nothing(cost: Cost) -> None:
    def exclusive(objects: list[Object]) -> None:
        one(objects, SET)["metadata"]["annotations"] = {
            "leaderworkerset.sigs.k8s.io/exclusive-topology": "rack"
        }

    (found,) = cost(shipped("prod-plain"), exclusive)
    assert "no promise how many serve" in found


def test_sets_of_one_serving_are_priced_together(cost: Cost) -> None:
    key = Key("leaderworkerset.x-k8s.io", SET, "llm", "deepseek-r1-racked-0")
    objects = shipped("prod-volcano-topology", "deepseek-r1-racked")
    (found,) = cost(
        objects,
        image,
        durations={key._replace(name=f"deepseek-r1-racked-{n}"): Seconds(60) for n in range(3)},
    )
    assert found.startswith(
        "LeaderWorkerSet/llm/deepseek-r1-racked: rolls 3 groups, one set after another "
        "(+0 GPUs while it lasts, at least 2 serving, ~3 min)"
    )
    for each in objects:
        each["metadata"].pop("annotations", None)
    (found,) = cost(objects, image)
    assert "rolls 3 groups, all at once if applied together" in found
    assert "at least 0 serving" in found

    def one_more(objects: list[Object]) -> None:
        image(objects)
        another = copy.deepcopy(one(objects, SET, "deepseek-r1-racked-0"))
        another["metadata"]["name"] = "deepseek-r1-racked-3"
        for side in GROUPS:
            template([another], side)["metadata"]["annotations"][GROUP_NAME] = another["metadata"][
                "name"
            ]
        objects.append(another)

    (found, *_) = cost(objects, one_more)
    assert (
        "rolls 3 groups, all at once if applied together (+0 GPUs while it lasts, at least 0"
        in found
    )

    def one_less(objects: list[Object]) -> None:
        objects.remove(one(objects, SET, "deepseek-r1-racked-2"))

    (found,) = cost(objects, one_less)
    assert "no restart; 1 group less (-32 GPUs)" in found


Renaming = Callable[[list[Object]], object]


@pytest.mark.parametrize(
    "edit",
    [
        lambda objects: renamed(objects, "deepseek-r1", "deepseek-next"),
        lambda objects: one(objects, SET)["metadata"].update(namespace="other"),
        lambda objects: one(objects, SET)["metadata"].update(name="other"),
    ],
    ids=["serving", "namespace", "name"],
)
def test_a_renamed_workload_is_made_anew(edit: Renaming) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    price = next(each for each in priced(objects, edit) if each.role == "workload")
    assert price.outcome == "recreates"
    assert price.former is not None
    (found,) = not_allowed([price], ())
    assert found.code is RECREATES
    assert f"--allow-recreate {price.key.name}" in found.fix
    assert list(not_allowed([price], [price.key.name])) == []
    assert list(not_allowed([price], [price.former.name])) == []


def test_another_model_under_another_name_is_no_renaming(cost: Cost) -> None:
    def other(objects: list[Object]) -> None:
        renamed(objects, "deepseek-r1", "kimi")
        template(objects)["spec"]["containers"][0]["args"][0] = "moonshot/kimi"

    assert cost(shipped("prod-kueue", "deepseek-r1"), other) == [
        "LeaderWorkerSet/llm/kimi: new: 2 groups, 32 GPUs",
        "LeaderWorkerSet/llm/deepseek-r1: removed: 2 groups, 32 GPUs",
    ]


def test_one_label_for_all_is_no_renaming(cost: Cost) -> None:
    """Others call every model server alike."""
    objects = shipped("prod-kueue", "deepseek-r1")
    for each in objects:
        each["metadata"]["labels"] = {"app.kubernetes.io/name": "vllm"}

    def other(after: list[Object]) -> None:
        one(after, SET)["metadata"]["name"] = "kimi"
        template(after)["spec"]["containers"][0]["args"][0] = "moonshot/kimi"

    found = cost(objects, other)
    assert "LeaderWorkerSet/llm/kimi: new: 2 groups, 32 GPUs" in found
    assert "LeaderWorkerSet/llm/deepseek-r1: removed: 2 groups, 32 GPUs" in found


def test_what_only_a_new_object_repairs_needs_leave() -> None:
    def claims(objects: list[Object]) -> None:
        one(objects, SET)["spec"]["leaderWorkerTemplate"]["volumeClaimTemplates"] = [
            {"metadata": {"name": "a"}}
        ]

    found = priced(shipped("prod-kueue", "deepseek-r1"), claims)
    (refused,) = not_allowed(found, ())
    assert refused.what == (
        "the change recreates 2 groups (32 GPUs): volumeClaimTemplates (it is taken, and then no rollout of the set "
        "ever starts)"
    )


def roles(**words: int) -> Object:
    """A set of two roles, in two slices."""
    engine = {"name": "a", "image": "a:1", "resources": {"limits": {"nvidia.com/gpu": "8"}}}
    rolling: Object = {"rollingUpdateConfiguration": words} if words else {}
    role = {
        "replicas": 2,
        "rolloutStrategy": rolling,
        "leaderWorkerTemplate": {"size": 2, "workerTemplate": {"spec": {"containers": [engine]}}},
    }
    return {
        "apiVersion": "disaggregatedset.x-k8s.io/v1",
        "kind": "DisaggregatedSet",
        "metadata": {"name": "pd"},
        "spec": {
            "slices": 2,
            "roles": [
                {"name": name, "spec": copy.deepcopy(role)} for name in ("prefill", "decode")
            ],
        },
    }


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ({}, "+64 GPUs while it lasts, at least 8 serving"),
        ({"maxSurge": 0, "maxUnavailable": 1}, "+0 GPUs while it lasts, no promise how many serve"),
    ],
)
def test_all_roles_roll_together(cost: Cost, words: dict[str, int], said: str) -> None:
    def one_role(objects: list[Object]) -> None:
        objects[0]["spec"]["roles"][0]["spec"]["leaderWorkerTemplate"]["restartPolicy"] = "None"

    (found,) = cost([roles(**words)], one_role)
    assert found == (
        f"DisaggregatedSet/pd: rolls 8 groups ({said}): "
        "spec.roles[prefill].spec.leaderWorkerTemplate.restartPolicy"
    )


def test_a_service_says_that_its_endpoints_move(cost: Cost) -> None:
    def moved(objects: list[Object]) -> None:
        one(objects, "Service")["spec"]["ports"][0]["port"] = 9000

    assert cost(shipped("prod-kueue", "deepseek-r1"), moved) == [
        "Service/llm/deepseek-r1-leader: in place: spec.ports[http].port (the endpoints move at once: clients of the "
        "old port lose it)"
    ]


def test_a_budget_that_goes_is_said_and_an_alert_is_not(cost: Cost) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    for kind, said in (
        ("PodDisruptionBudget", ["PodDisruptionBudget/llm/deepseek-r1: removed"]),
        ("PrometheusRule", []),
    ):
        found = cost(objects, lambda after, kind=kind: after.remove(one(after, kind)))
        assert found == said


def test_a_machine_gets_every_field(cost: Cost) -> None:
    (price,) = priced(shipped("prod-kueue", "deepseek-r1"), image)
    data = record(price)
    assert data["outcome"] == "rolls"
    assert data["rollout"] == {
        "groups": [2, 2],
        "moreGpus": 0,
        "serving": 1,
        "seconds": None,
        "ends": True,
    }
    assert {field["path"] for field in data["fields"]} == {
        f"spec.leaderWorkerTemplate.{side}.spec.containers[engine].image" for side in GROUPS
    }
    json.dumps(data)


def test_foreign_objects_of_any_shape_are_priced_without_a_fault() -> None:
    strange: list[Object] = [
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": []},
        {"apiVersion": "leaderworkerset.x-k8s.io/v1", "kind": SET, "metadata": {"name": "b"}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "c"}, "spec": {"ports": 3}},
        {"kind": "Nothing"},
        {},
    ]
    other = [{**each, "spec": {"template": {"spec": {}}}} for each in strange]
    assert prices(documents(strange), documents(other))
    assert prices(documents(strange), documents([]))
