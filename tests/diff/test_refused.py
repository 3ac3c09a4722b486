"""What a server refuses to a living set: who refuses it, and what leads there all the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from tests.diff.conftest import Cost, Edit, Object, one, shipped

from gangform.apis.kueue import PODSET_GROUP, PREFERRED_TOPOLOGY, REQUIRED_TOPOLOGY
from gangform.apis.versions import Release, Versions

KUEUE = Versions(kueue=Release(0, 19, 2))
SIDES = ("leaderTemplate", "workerTemplate")
LEVEL = "topology.example.com/block"
TORN = "refused by the webhook of Kueue: "


def annotated(*sides: str, **values: str | None) -> Edit:
    def edit(objects: list[Object]) -> None:
        for side in sides:
            template = one(objects, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"][side]
            annotations = template["metadata"]["annotations"]
            for key, value in named(values).items():
                annotations[key] = value
                if value is None:
                    del annotations[key]

    return edit


def named(values: Mapping[str, str | None]) -> dict[str, str | None]:
    keys = {"group": PODSET_GROUP, "required": REQUIRED_TOPOLOGY, "preferred": PREFERRED_TOPOLOGY}
    return {keys[word]: value for word, value in values.items()}


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    "values",
    [
        {"preferred": LEVEL},
        {"preferred": None, "required": LEVEL},
        {"group": "other"},
        {"group": None},
    ],
    ids=str,
)
def test_annotations_that_do_not_go_together_are_refused(
    cost: Cost, side: str, values: dict[str, str | None]
) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    (found,) = cost(objects, annotated(side, **values), versions=KUEUE)
    assert TORN in found
    assert found.endswith("; instead write the same ones into both templates")


@pytest.mark.parametrize(
    "values",
    [
        {"group": "7"},
        {"required": LEVEL},
        {"preferred": None},
    ],
    ids=str,
)
def test_annotations_that_no_template_may_have_are_refused(
    cost: Cost, values: dict[str, str | None]
) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    (found,) = cost(objects, annotated(*SIDES, **values), versions=KUEUE)
    assert TORN in found


@pytest.mark.parametrize(
    "values",
    [
        {"preferred": LEVEL},
        {"preferred": None, "required": LEVEL},
        {"group": "other"},
    ],
    ids=str,
)
def test_annotations_that_change_in_both_templates_roll(
    cost: Cost, values: dict[str, str | None]
) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    (found,) = cost(objects, annotated(*SIDES, **values), versions=KUEUE)
    assert "rolls 2 groups" in found


def test_templates_without_a_group_name_ask_each_for_itself(cost: Cost) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    annotated(*SIDES, group=None)(objects)
    (found,) = cost(objects, annotated("leaderTemplate", preferred=LEVEL), versions=KUEUE)
    assert "rolls 2 groups" in found


def test_who_refuses_and_the_way_out_are_each_said_once(cost: Cost) -> None:
    def edit(objects: list[Object]) -> None:
        annotated("leaderTemplate", preferred=LEVEL)(objects)
        for side in SIDES:
            template = one(objects, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"][side]
            template["spec"]["nodeSelector"] = {"a": "b"}

    (found,) = cost(shipped("prod-kueue", "deepseek-r1"), edit, versions=KUEUE)
    assert found.count("by the webhook of Kueue") == found.count("while Kueue manages it") == 1
    assert found.count("; instead ") == found.count("delete it and apply it anew") == 1


def containers(side: str, edit: Callable[[list[Object]], object]) -> Edit:
    def whole(objects: list[Object]) -> None:
        groups = one(objects, "LeaderWorkerSet")["spec"]["leaderWorkerTemplate"]
        edit(groups[side]["spec"]["containers"])

    return whole


def beside(objects: list[Object], **more: object) -> None:
    for side in SIDES:
        containers(side, lambda found: found.append({"name": "log", "image": "a", **more}))(objects)


def renamed(found: list[Object]) -> None:
    found[0]["name"] = "vllm"


REQUESTS = {"resources": {"requests": {"cpu": "1"}}}


def test_a_container_under_another_name_rolls(cost: Cost) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    (found,) = cost(objects, containers("leaderTemplate", renamed), versions=KUEUE)
    assert found.endswith(": leaderTemplate.spec.containers[vllm].name")
    assert "rolls 2 groups" in found


def test_a_container_put_before_a_renamed_one_is_one_more(cost: Cost) -> None:
    def edit(found: list[Object]) -> None:
        renamed(found)
        found.insert(0, {"name": "proxy", "image": "a", **REQUESTS})

    objects = shipped("prod-kueue", "deepseek-r1")
    (found,) = cost(objects, containers("leaderTemplate", edit), versions=KUEUE)
    assert "refused while Kueue manages it: leaderTemplate.spec.containers[proxy]; " in found


def test_containers_in_another_order_are_refused_where_their_requests_differ(cost: Cost) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    beside(objects, **REQUESTS)
    (found,) = cost(objects, containers("leaderTemplate", list.reverse), versions=KUEUE)
    assert "refused while Kueue manages it: leaderTemplate.spec.containers; " in found


def test_containers_of_one_shape_may_change_places(cost: Cost) -> None:
    objects = shipped("prod-kueue", "deepseek-r1")
    beside(objects, **REQUESTS)
    beside(objects, **REQUESTS)
    for side in SIDES:
        containers(side, lambda found: found[-1].update(name="trace", image="b"))(objects)
    (found,) = cost(
        objects,
        containers("leaderTemplate", lambda found: found.insert(1, found.pop())),
        versions=KUEUE,
    )
    assert "rolls 2 groups" in found
