from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Autoscaling, Disruption, Parallelism, Pods, Rollout
from gangform.plan.disruption import Budget
from gangform.plan.serving import ServingPlan

MakePlan = Callable[..., ServingPlan]
MakeCluster = Callable[..., Cluster]
Codes = Callable[[Iterable[Finding]], list[str]]

NAME = "leaderworkerset.sigs.k8s.io/name"
INDEX = "leaderworkerset.sigs.k8s.io/group-index"
ONE = Parallelism(tensor=8)
LONE = {"backend": "volcano-podgroup"}


def per_group(*released: int) -> dict[str, Any]:
    return {"disruption": Disruption(mode="perGroup", released=released)}


def test_a_serial_budget_lets_one_pod_of_the_set_go(make_plan: MakePlan) -> None:
    assert make_plan().disruption.budgets == (
        Budget(name="llm", selector={NAME: "llm"}, max_unavailable=1),
    )


def test_a_serial_budget_covers_all_sets_of_one_group(make_plan: MakePlan) -> None:
    (budget,) = make_plan(**LONE).disruption.budgets
    assert budget == Budget(
        name="llm", selector={"app.kubernetes.io/name": "llm"}, max_unavailable=1
    )


def test_a_budget_a_group_keeps_every_pod_of_it(make_plan: MakePlan) -> None:
    budgets = make_plan(groups=3, **per_group()).disruption.budgets
    assert budgets == tuple(
        Budget(
            name=f"llm-group-{index}",
            selector={NAME: "llm", INDEX: str(index)},
            min_available=2,
        )
        for index in range(3)
    )


def test_a_budget_a_group_goes_by_the_set_where_each_is_its_own(make_plan: MakePlan) -> None:
    budgets = make_plan(groups=2, **LONE, **per_group(0)).disruption.budgets
    assert budgets == (Budget(name="llm-group-1", selector={NAME: "llm-1"}, min_available=2),)


def test_a_released_group_has_no_budget(make_plan: MakePlan) -> None:
    plan = make_plan(**per_group(1, 3)).disruption
    assert [budget.name for budget in plan.budgets] == ["llm-group-0", "llm-group-2"]
    assert plan.drain.endswith(
        "; groups 1, 3 are released, and drains take them at once, also all of them together"
    )
    one = make_plan(**per_group(1)).disruption.drain
    assert one.endswith("; group 1 is released, and a drain takes it at once")
    assert make_plan(**per_group()).disruption.drain.endswith("or deleting its leader")


def test_no_more_groups_are_released_than_a_rollout_takes_down(
    make_plan: MakePlan, codes: Codes
) -> None:
    (found,) = make_plan(**per_group(1, 3)).findings
    assert codes([found]) == ["released-beyond-plan"]
    assert found.breaks
    assert found.what == (
        "groups 1, 3 are released: drains may take 2 of 4 groups together, and a rollout takes down 1 at the most"
    )
    assert found.fix == "release 1 group, and the next once what was released is back"
    assert found.seen == {"released": "2", "planned": "1", "groups": "4"}
    assert codes(make_plan(**per_group(1, 1)).findings) == []
    assert codes(make_plan(**per_group(1)).findings) == []


@pytest.mark.parametrize(
    ("rollout", "backend", "planned"),
    [
        (Rollout(), "none", 1),
        (Rollout(max_unavailable=2), "none", 2),
        (Rollout(max_unavailable=3, max_surge=1), "none", 3),
        # A surge first takes no group down, and a drain of a released one still takes one.
        (Rollout(spare_groups=1), "none", 1),
        (Rollout(spare_groups=3), "kueue", 1),
        (Rollout(max_unavailable=2), "volcano-podgroup", 2),
        (Rollout(), "volcano-podgroup", 1),
    ],
)
def test_so_many_groups_may_be_released_as_may_be_missing(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    codes: Codes,
    rollout: Rollout,
    backend: str,
    planned: int,
) -> None:
    def found(released: int) -> list[str]:
        plan = make_plan(
            groups=6,
            backend=backend,
            rollout=rollout,
            on=make_cluster(gitops="argocd"),
            **per_group(*range(released)),
        )
        assert plan.disruption.releasable == planned
        return [one for one in codes(plan.findings) if one.startswith("released")]

    assert found(planned) == []
    assert found(planned + 1) == ["released-beyond-plan"]
    assert found(6) == ["released-all-groups"]


def test_a_rollout_that_takes_all_groups_down_still_leaves_a_budget(
    make_plan: MakePlan, codes: Codes
) -> None:
    plan = make_plan(groups=2, rollout=Rollout(max_unavailable=2), **per_group(0, 1))
    assert "released-all-groups" in codes(plan.findings)


def test_a_group_keeps_its_budget(make_plan: MakePlan, codes: Codes) -> None:
    (found,) = make_plan(groups=2, **per_group(0, 1)).findings
    assert codes([found]) == ["released-all-groups"]
    assert found.breaks
    assert codes(make_plan(groups=2, **per_group(0)).findings) == []


@pytest.mark.parametrize("apart", [per_group(), LONE])
def test_objects_of_their_own_are_made_for_so_many_groups(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes, apart: dict[str, Any]
) -> None:
    on = make_cluster(gitops="argocd")
    plan = make_plan(groups=1_000_000, on=on, **apart)
    assert codes(plan.findings) == ["groups-too-many-apart"]
    assert plan.findings[0].at.path == ("servings", "llm", "groups")
    assert len(plan.workloads) + len(plan.disruption.budgets) == 1001
    assert codes(make_plan(groups=100, on=on, **apart).findings) == []
    assert codes(make_plan(groups=1_000_000).findings) == []


def test_no_budget_is_made_for_an_index_that_only_a_surge_reaches(make_plan: MakePlan) -> None:
    plan = make_plan(groups=2, rollout=Rollout(spare_groups=2), **per_group())
    assert len(plan.disruption.budgets) == 2


@pytest.mark.parametrize(
    ("changes", "drain"),
    [
        ({}, "a drain takes one whole group after another: 3 of 4 keep serving"),
        (
            {"groups": 1},
            "a drain takes one whole group after another: 0 of 1 keep serving, so nothing serves until it is back",
        ),
        (
            {"autoscaling": Autoscaling(min=2, max=6)},
            "a drain takes one whole group after another: 1 of 2 at the least keep serving",
        ),
        ({"parallelism": ONE}, "a drain takes one whole pod after another: 3 of 4 keep serving"),
    ],
)
def test_a_drain_is_told_in_one_sentence(
    make_plan: MakePlan, changes: dict[str, Any], drain: str
) -> None:
    assert make_plan(**changes).disruption.drain == drain


def test_what_no_budget_stops_is_said(make_plan: MakePlan) -> None:
    for shape in ({}, {"parallelism": ONE}):
        assert "Kueue's evictions" in make_plan(backend="kueue", **shape).disruption.unstopped
        assert "Kueue" not in make_plan(**shape).disruption.unstopped
    assert make_plan().disruption.unstopped == (
        "no budget stops preemption, taints, lost nodes, scaling down, rollouts, the rebuild of a group that lost a "
        "pod or plain deletion; a group that is not ready may always be drained, also while it loads"
    )
    assert make_plan(parallelism=ONE).disruption.unstopped == (
        "no budget stops preemption, taints, lost nodes, scaling down, rollouts or plain deletion; a pod that is not "
        "ready may always be drained, also while it loads"
    )


SAFE, KEEP = "cluster-autoscaler.kubernetes.io/safe-to-evict", "karpenter.sh/do-not-disrupt"


@pytest.mark.parametrize(
    ("autoscaler", "annotations", "says"),
    [
        ("none", {}, ""),
        ("unknown", {}, "not declared: one that runs asks the budgets, as a drain does"),
        (
            "cluster-autoscaler",
            {SAFE: "false"},
            "Cluster Autoscaler removes no node while one of these pods runs on it",
        ),
        ("karpenter", {KEEP: "true"}, "Karpenter does not consolidate a node"),
    ],
)
@pytest.mark.parametrize("how", [{}, per_group(), per_group(1), {"parallelism": ONE}, LONE])
def test_a_node_autoscaler_is_kept_away_where_one_is_declared(
    make_plan: MakePlan,
    make_cluster: MakeCluster,
    how: dict[str, Any],
    autoscaler: str,
    annotations: dict[str, str],
    says: str,
) -> None:
    plan = make_plan(on=make_cluster(node_autoscaler=autoscaler), **how)
    assert plan.lead.pods.annotations == annotations
    assert plan.disruption.autoscaler.startswith(says)
    assert bool(plan.disruption.autoscaler) == bool(says)


def test_released_groups_are_kept_from_the_node_autoscaler_too(
    make_plan: MakePlan, make_cluster: MakeCluster
) -> None:
    on = make_cluster(node_autoscaler="cluster-autoscaler")
    said = make_plan(on=on, **per_group(1)).disruption.autoscaler
    assert said.endswith("released or not, since the annotation is part of the pod template")
    assert "released" not in make_plan(on=on, **per_group()).disruption.autoscaler


def test_the_annotation_of_the_user_wins(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    on = make_cluster(node_autoscaler="karpenter")
    own = make_plan(on=on, pods=Pods(annotations={KEEP: "30m"}))
    assert own.lead.pods.annotations == {KEEP: "30m"}
    assert codes(own.findings) == []
    assert own.disruption.autoscaler == (
        f"Karpenter may take nodes as the budgets allow: the pods' own annotations say {KEEP}: 30m"
    )
    same = make_plan(on=on, pods=Pods(annotations={KEEP: "true"})).disruption
    assert same == make_plan(on=on).disruption


def test_serial_is_accepted_everywhere(make_plan: MakePlan, codes: Codes) -> None:
    assert codes(make_plan().findings) == []
    assert codes(make_plan(parallelism=ONE).findings) == []
    assert codes(make_plan(autoscaling=Autoscaling(min=2, max=3)).findings) == []


def test_groups_are_released_only_from_budgets_of_their_own(
    make_plan: MakePlan, codes: Codes
) -> None:
    plan = make_plan(disruption=Disruption(released=(1,)))
    assert codes(plan.findings) == ["released-without-per-group"]
    assert plan.findings[0].at.path == ("servings", "llm", "disruption", "released")
    assert codes(make_plan(**per_group(1)).findings) == []


def test_leader_ready_opens_a_hole_in_a_serial_budget(make_plan: MakePlan, codes: Codes) -> None:
    plan = make_plan(startup_policy="LeaderReady")
    assert "leader-ready-opens-budget" in codes(plan.findings)
    (hole,) = (one for one in plan.findings if one.code.id == "leader-ready-opens-budget")
    assert not hole.breaks
    per = make_plan(startup_policy="LeaderReady", **per_group())
    assert "leader-ready-opens-budget" not in codes(per.findings)
    alone = make_plan(startup_policy="LeaderReady", parallelism=ONE)
    assert codes(alone.findings) == ["field-needs-groups"]


def test_a_budget_a_group_needs_groups_with_an_index(make_plan: MakePlan, codes: Codes) -> None:
    plan = make_plan(parallelism=ONE, **per_group())
    assert codes(plan.findings) == ["budget-needs-groups"]
    assert "perGroup on a Deployment" in plan.findings[0].what


def test_a_budget_a_group_cannot_follow_an_autoscaler(make_plan: MakePlan, codes: Codes) -> None:
    plan = make_plan(autoscaling=Autoscaling(min=2, max=3), **per_group())
    assert codes(plan.findings) == ["budget-per-group-with-autoscaler"]
    assert "2 to 3 groups" in plan.findings[0].what


def test_only_a_group_that_exists_is_released(make_plan: MakePlan, codes: Codes) -> None:
    plan = make_plan(groups=4, **per_group(3, 4, 9))
    assert codes(plan.findings) == ["released-group-unknown"] * 2
    assert [finding.at.path[-1] for finding in plan.findings] == [1, 2]
    assert plan.findings[0].what == "group 4 is released, but the groups are 0 to 3"
