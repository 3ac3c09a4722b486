"""The cluster's foundation: what a change of it does, and whom it is for."""

from __future__ import annotations

import pytest
from tests.diff.conftest import Cost, Edit, Object, one, shipped

from gangform.apis.versions import Release, Versions

OLD = Versions(kueue=Release(0, 17))
NEXT = Versions(kueue=Release(0, 20))


def test_a_flavor_says_whom_it_is_for_and_whether_it_can_change(cost: Cost) -> None:
    def labels(objects: list[Object]) -> None:
        one(objects, "ResourceFlavor")["spec"]["nodeLabels"]["a"] = "b"

    (found,) = cost(shipped("prod-kueue"), labels, versions=OLD)
    assert found == (
        "ResourceFlavor/h100: refused by the API server: spec.nodeLabels.a; it is for deepseek-r1, llama-405b, "
        "llama-70b, qwen3-coder; instead make a flavor of another name and queues that name it"
    )
    (found,) = cost(shipped("prod-kueue"), labels, versions=NEXT)
    assert found.startswith("ResourceFlavor/h100: in place: spec.nodeLabels.a (groups that run")


def test_levels_never_change_before_kueue_0_20(cost: Cost) -> None:
    def levels(objects: list[Object]) -> None:
        one(objects, "Topology")["spec"]["levels"].pop(0)

    (found,) = cost(shipped("prod-kueue"), levels, versions=OLD)
    assert found.startswith("Topology/h100: refused by the API server: spec.levels[")
    assert "it is for deepseek-r1" in found


def test_a_quota_below_what_runs_is_said(cost: Cost) -> None:
    def quota(value: str) -> object:
        def edit(objects: list[Object]) -> None:
            queue = one(objects, "ClusterQueue", "serving")
            rows = queue["spec"]["resourceGroups"][0]["flavors"][0]["resources"]
            next(row for row in rows if row["name"] == "nvidia.com/gpu")["nominalQuota"] = value

        return edit

    (found,) = cost(shipped("prod-kueue"), quota("64"))
    assert "groups that run stay, also when they lose a pod" in found
    assert "nvidia.com/gpu: 64 is less than the 248 of the groups of" in found
    (found,) = cost(shipped("prod-kueue"), quota("512"))
    assert "is less than" not in found


GONE = "groups that run stay, and none is admitted by it any more"


def test_a_queue_under_another_name_is_one_that_was_renamed(cost: Cost) -> None:
    def other(objects: list[Object]) -> None:
        one(objects, "ClusterQueue", "serving")["metadata"]["name"] = "prod"
        one(objects, "LocalQueue", "serving")["spec"]["clusterQueue"] = "prod"

    found = cost(shipped("prod-kueue"), other, versions=OLD)
    users = "it is for deepseek-r1, llama-405b, llama-70b"
    assert (
        f"ClusterQueue/prod: made anew: it was ClusterQueue/serving; {users}; ClusterQueue/serving: {GONE}"
        in found
    )
    assert any(
        each.startswith("LocalQueue/llm/serving: refused by the API server: spec.clusterQueue")
        and each.endswith(f"{users}; instead make a LocalQueue of another name")
        for each in found
    )


def test_a_queue_that_goes_names_its_workloads(cost: Cost) -> None:
    def gone(objects: list[Object]) -> None:
        objects.remove(one(objects, "LocalQueue", "code"))

    assert cost(shipped("prod-kueue"), gone) == [
        f"LocalQueue/code/code: removed; it is for qwen3-coder; {GONE}"
    ]


@pytest.mark.parametrize("kind", ["ClusterQueue", "LocalQueue"])
def test_a_queue_that_is_drained_takes_its_groups_down(cost: Cost, kind: str) -> None:
    def stop(policy: str) -> Edit:
        def edit(objects: list[Object]) -> None:
            one(objects, kind, "serving")["spec"]["stopPolicy"] = policy

        return edit

    (found,) = cost(shipped("prod-kueue"), stop("HoldAndDrain"))
    assert (
        ": evicts 11 groups (248 GPUs): spec.stopPolicy (past any budget, and none is admitted until"
        in found
    )
    assert found.endswith("it is for deepseek-r1, llama-405b, llama-70b")
    (found,) = cost(shipped("prod-kueue"), stop("Hold"))
    assert ": in place: spec.stopPolicy (groups that run stay" in found


def test_what_a_drained_queue_evicts_is_not_known_without_its_sets(cost: Cost) -> None:
    def drain(objects: list[Object]) -> None:
        one(objects, "ClusterQueue", "code")["spec"]["stopPolicy"] = "HoldAndDrain"

    (found,) = cost(shipped("prod-kueue", "foundation"), drain)
    assert found.startswith("ClusterQueue/code: evicts all groups that run: spec.stopPolicy (")


def test_volcano_objects_name_their_workloads(cost: Cost) -> None:
    def capability(objects: list[Object]) -> None:
        one(objects, "Queue")["spec"]["capability"]["nvidia.com/gpu"] = "1"

    (found,) = cost(shipped("prod-volcano"), capability)
    assert found.startswith("Queue/serving: in place: spec.capability[nvidia.com/gpu]")
    assert "it is for kimi-k2" in found
    assert "nvidia.com/gpu: 1 is less than" in found

    def tier(objects: list[Object]) -> None:
        one(objects, "HyperNode")["spec"]["tier"] = 7

    (found,) = cost(shipped("prod-volcano-topology"), tier)
    assert "it is for deepseek-r1-racked-0" in found


def test_a_label_of_a_queue_is_for_nobody(cost: Cost) -> None:
    def label(objects: list[Object]) -> None:
        one(objects, "ClusterQueue", "code")["metadata"]["labels"]["a"] = "b"

    assert cost(shipped("prod-kueue"), label) == [
        "ClusterQueue/code: no restart: metadata.labels.a"
    ]
