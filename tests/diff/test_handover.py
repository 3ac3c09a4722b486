"""A workload gets an autoscaler: the order in which it loses no group."""

from __future__ import annotations

import json

import pytest
from tests.diff.conftest import Object, one, priced, shipped

from gangform.diff.record import Price
from gangform.diff.words import line, record

SET, HPA, KEDA = "LeaderWorkerSet", "HorizontalPodAutoscaler", "ScaledObject"
NAME = "llm-xl"


def scaler(kind: str, name: str, target: str = SET) -> Object:
    version = "leaderworkerset.x-k8s.io/v1" if target == SET else "apps/v1"
    words = (
        ("minReplicas", "maxReplicas") if kind == HPA else ("minReplicaCount", "maxReplicaCount")
    )
    return {
        "apiVersion": "autoscaling/v2" if kind == HPA else "keda.sh/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "serve"},
        "spec": {
            "scaleTargetRef": {"apiVersion": version, "kind": target, "name": name},
            words[0]: 2,
            words[1]: 6,
        },
    }


def scaled(objects: list[Object], kind: str = HPA) -> None:
    objects.append(scaler(kind, NAME))
    one(objects, SET)["spec"].pop("replicas", None)


def of_set(found: list[Price]) -> Price:
    (price,) = (one for one in found if one.key.kind == SET)
    return price


@pytest.mark.parametrize("kind", [HPA, KEDA])
def test_the_number_is_handed_over_before_it_is_left_out(kind: str) -> None:
    price = of_set(priced(shipped("prod-plain"), lambda objects: scaled(objects, kind)))
    first, client, server, last = price.order
    assert first == f"apply {kind} {NAME} alone"
    resource = "leaderworkerset.leaderworkerset.x-k8s.io"
    assert f"kubectl apply edit-last-applied {resource} -n serve {NAME}" in client
    shared = json.loads(server.partition("<<< '")[2].partition("'")[0])
    assert (shared["kind"], shared["metadata"]) == (SET, {"name": NAME, "namespace": "serve"})
    assert shared["spec"] == {"replicas": 4}
    assert last == "apply the rest"
    assert line(price).endswith("only in the order that `gangform diff` shows")
    assert record(price)["order"] == list(price.order)


def test_argo_cd_is_told_first_to_leave_the_number_alone() -> None:
    def staged(objects: list[Object]) -> list[Object]:
        for each in objects:
            each["metadata"].setdefault("annotations", {})["argocd.argoproj.io/sync-wave"] = "1"
        return objects

    price = of_set(priced(staged(shipped("prod-plain")), scaled))
    ignored, sync = price.order
    assert '"jsonPointers": ["/spec/replicas"]' in ignored
    assert '"group": "leaderworkerset.x-k8s.io", "kind": "LeaderWorkerSet"' in ignored
    assert "syncOptions: [RespectIgnoreDifferences=true]" in ignored
    assert sync == f"sync this change: {HPA} {NAME} takes over at 4 groups"


def test_one_autoscaler_goes_before_another_comes() -> None:
    before = shipped("prod-plain")
    scaled(before)

    def exchange(objects: list[Object]) -> None:
        objects[:] = [each for each in objects if each["kind"] != HPA]
        scaled(objects, KEDA)

    price = of_set(priced(before, exchange))
    assert [step.partition(",")[0] for step in price.order] == [
        f"delete {HPA} {NAME}",
        f"apply {KEDA} {NAME}",
    ]


def single(objects: list[Object]) -> None:
    one(objects, SET)["spec"]["replicas"] = 1


@pytest.mark.parametrize("what", ["kept", "bounds", "written", "one", "new"])
def test_where_nothing_is_lost_there_is_no_order(what: str) -> None:
    before = shipped("prod-plain")
    if what in ("kept", "bounds"):
        scaled(before)
    if what == "one":
        single(before)
    if what == "new":
        before = [each for each in before if each["kind"] != SET]
        made = one(shipped("prod-plain"), SET)

    def edit(objects: list[Object]) -> None:
        if what == "bounds":
            one(objects, HPA)["spec"]["maxReplicas"] = 8
        elif what == "written":
            objects.append(scaler(HPA, NAME))
        elif what == "new":
            objects.append(made)
            scaled(objects)
        elif what == "one":
            scaled(objects)

    assert [price.order for price in priced(before, edit) if price.order] == []
