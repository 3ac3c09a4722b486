"""Whether a rollout moves, ends and keeps serving, and what is said where it does not."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from tests.plan.policies import DEPLOYMENT, FREE, KUEUE, LONE, SET

from gangform.admission.admission import Policy
from gangform.apis.versions import Release
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Autoscaling, Rollout, Serving
from gangform.plan import rollout
from gangform.plan.rollout import RolloutPlan
from gangform.plan.serving import ServingPlan
from gangform.units import Seconds

MakeServing = Callable[..., Serving]
MakeCluster = Callable[..., Cluster]
MakePlan = Callable[..., ServingPlan]
Codes = Callable[[Iterable[Finding]], list[str]]
Roll = Callable[..., RolloutPlan]
Faults = Callable[..., list[Finding]]

AT = ("servings", "llm")


@pytest.fixture
def faults(make_serving: MakeServing) -> Faults:
    def check(
        groups: int | None = 4,
        *,
        under: Policy = FREE,
        form: Any = SET,
        staged: bool | None = None,
        lws: Release | None = None,
        autoscaling: Autoscaling | None = None,
        **asked: Any,
    ) -> list[Finding]:
        serving = make_serving(
            groups=groups,
            rollout=Rollout(**asked),
            **({"autoscaling": autoscaling} if autoscaling else {}),
        )
        plan = rollout.derive(
            serving,
            policy=under,
            form=form,
            replicas=serving.lowest_groups,
            highest=serving.highest_groups,
            teardown=Seconds(90),
            cold_start=Seconds(600),
        )
        found = rollout.check(
            plan,
            serving=serving,
            policy=under,
            form=form,
            replicas=serving.lowest_groups,
            staged=staged,
            lws=lws,
            at=AT,
        )
        return list(found)

    return check


def test_the_defaults_of_several_groups_say_nothing(faults: Faults) -> None:
    assert faults() == []
    assert faults(spare_groups=1) == []
    assert faults(under=KUEUE, spare_groups=1) == []
    assert faults(under=LONE, staged=True) == []


def test_a_rollout_that_may_neither_add_nor_take_is_refused(faults: Faults, codes: Codes) -> None:
    (found,) = faults(max_surge=0, max_unavailable=0)
    assert codes([found]) == ["rollout-cannot-move"]
    assert found.at.path == (*AT, "rollout")
    assert found.what == "maxSurge 0, maxUnavailable 0: no group may be added and none taken down"
    assert codes(faults(max_unavailable=0)) == ["rollout-cannot-move"]


@pytest.mark.parametrize("asked", [{"max_surge": 1}, {"max_surge": 1, "max_unavailable": 1}])
def test_a_surge_beside_lone_sets_is_refused(
    faults: Faults, codes: Codes, asked: dict[str, int]
) -> None:
    (found,) = faults(under=LONE, staged=True, **asked)
    assert codes([found]) == ["surge-not-possible"]
    assert found.at.path == (*AT, "rollout", "maxSurge")
    assert faults(under=LONE, staged=True, max_surge=0) == []
    assert faults(under=LONE, form=DEPLOYMENT, **asked) == []


def test_a_surge_under_kueue_with_nothing_unavailable_never_ends(
    faults: Faults, codes: Codes
) -> None:
    (found,) = faults(under=KUEUE, max_surge=1, max_unavailable=0)
    assert codes([found]) == ["surge-never-finishes"]
    assert found.breaks
    assert found.what.endswith("and the last old group waits for it for ever")
    assert codes(faults(1, under=KUEUE, max_surge=1)) == ["surge-never-finishes"]
    assert faults(max_surge=1, max_unavailable=0) == []
    assert faults(under=KUEUE, form=DEPLOYMENT, max_surge=1) == []


def test_a_surge_under_kueue_dips_by_a_group(faults: Faults, codes: Codes) -> None:
    (found,) = faults(under=KUEUE, max_surge=1, max_unavailable=1)
    assert codes([found]) == ["surge-dips-below-floor"]
    assert not found.breaks
    assert found.what.endswith("2 of 4 groups may serve for a while where 3 are promised")
    (two,) = faults(under=KUEUE, max_surge=2, max_unavailable=1)
    assert two.what.endswith("1 of 4 groups may serve for a while where 3 are promised")
    assert faults(max_surge=1, max_unavailable=1) == []
    assert faults(under=KUEUE, form=DEPLOYMENT, max_surge=1, max_unavailable=1) == []


def test_where_no_group_is_promised_none_dips(faults: Faults, codes: Codes) -> None:
    found = faults(2, under=KUEUE, max_surge=1, max_unavailable=2)
    assert codes(found) == ["rollout-stops-serving"]


@pytest.mark.parametrize(
    ("under", "fix"), [(FREE, "set maxUnavailable 0"), (KUEUE, "set maxSurge 0")]
)
def test_a_single_group_never_surges_with_one_unavailable(
    faults: Faults, codes: Codes, under: Policy, fix: str
) -> None:
    idle, stops = faults(1, under=under, max_surge=1, max_unavailable=1)
    assert codes([idle, stops]) == ["surge-does-not-happen", "rollout-stops-serving"]
    assert "its peak is 1 group" in idle.what
    assert idle.fix == fix
    assert codes(faults(2, max_surge=1, max_unavailable=1)) == []
    alone = faults(1, under=under, form=DEPLOYMENT, max_surge=1, max_unavailable=1)
    assert codes(alone) == ["rollout-stops-serving"]
    assert codes(faults(1, max_surge=1, max_unavailable=0)) == []


def test_all_groups_never_surge_where_all_may_be_missing(faults: Faults, codes: Codes) -> None:
    idle, stops = faults(2, max_surge=2, max_unavailable=2)
    assert codes([idle, stops]) == ["surge-does-not-happen", "rollout-stops-serving"]
    assert "with 2 groups: its peak is 2 groups" in idle.what
    # The lesser surge comes first, and so does the part of a surge that may not be missing.
    assert codes(faults(2, max_surge=1, max_unavailable=2)) == ["rollout-stops-serving"]
    assert codes(faults(2, max_surge=2, max_unavailable=1)) == []


def test_a_rollout_that_takes_all_groups_says_for_how_long(faults: Faults, codes: Codes) -> None:
    (found,) = faults(1)
    assert codes([found]) == ["rollout-stops-serving"]
    assert found.what == (
        "maxSurge 0, maxUnavailable 1 with 1 group: a rollout leaves none serving, for about 11m30s"
    )
    assert found.seen["seconds"] == "690"
    (two,) = faults(2, max_unavailable=2)
    assert "with 2 groups:" in two.what
    assert faults(1, spare_groups=1) == []
    assert faults(2, max_unavailable=1) == []


def test_the_groups_of_a_canary_that_stay_keep_serving(faults: Faults) -> None:
    assert faults(2, max_unavailable=2, canary_groups=1) == []


def test_before_0_7_a_broken_set_is_not_repaired_by_a_surge(faults: Faults, codes: Codes) -> None:
    (found,) = faults(spare_groups=1, lws=Release(0, 6))
    assert codes([found]) == ["rollout-never-repairs"]
    assert "under LeaderWorkerSet 0.6" in found.what
    assert faults(spare_groups=1, lws=Release(0, 7)) == []
    assert faults(spare_groups=1, lws=None) == []
    assert faults(max_surge=1, max_unavailable=1, lws=Release(0, 6)) == []
    assert faults(lws=Release(0, 6)) == []
    assert faults(form=DEPLOYMENT, spare_groups=1, lws=Release(0, 6)) == []


def test_a_set_that_was_just_applied_is_not_taken_for_available(make_serving: MakeServing) -> None:
    seen, up = rollout.waits_for(make_serving(), "llm-0", Release(0, 9))
    assert seen == (
        "kubectl wait -n m lws/llm-0 --timeout=5m --for=jsonpath='{.status.observedGeneration}'="
        "$(kubectl get -n m lws/llm-0 -o jsonpath='{.metadata.generation}')"
    )
    assert up == "kubectl wait -n m lws/llm-0 --timeout=24h --for=condition=Available"
    older, _ = rollout.waits_for(make_serving(), "llm-0", Release(0, 8))
    assert older == "kubectl wait -n m lws/llm-0 --timeout=5m --for=condition=UpdateInProgress"


def test_lone_sets_that_nothing_holds_back_are_said(
    faults: Faults, make_serving: MakeServing, codes: Codes
) -> None:
    (found,) = faults(3, under=LONE, staged=False)
    assert codes([found]) == ["rollout-not-staged"]
    assert found.what.startswith("llm-0 … llm-2 are 3 sets:")
    seen, up = rollout.waits_for(make_serving(), "llm-0", None)
    assert f"after each set run `{seen}` && `{up}`" in found.fix
    assert faults(3, under=LONE, staged=True) == []
    assert faults(3, under=LONE, staged=None) == []
    assert codes(faults(1, under=LONE, staged=False)) == ["rollout-stops-serving"]


def test_argo_cd_stages_lone_sets(
    make_plan: MakePlan, make_cluster: MakeCluster, codes: Codes
) -> None:
    by_hand = make_plan(backend="volcano-podgroup")
    assert "rollout-not-staged" in codes(by_hand.findings)
    staged = make_plan(backend="volcano-podgroup", on=make_cluster(gitops="argocd"))
    assert "rollout-not-staged" not in codes(staged.findings)
    assert [workload.stage for workload in staged.workloads] == [0, 1, 2, 3]


@pytest.mark.parametrize("canary", [0, 1, 3])
def test_a_canary_leaves_groups_at_the_old_revision(faults: Faults, canary: int) -> None:
    assert faults(canary_groups=canary) == []


@pytest.mark.parametrize("canary", [4, 5])
def test_a_canary_of_all_groups_is_refused(faults: Faults, codes: Codes, canary: int) -> None:
    (found,) = faults(canary_groups=canary)
    assert codes([found]) == ["canary-not-fewer-groups"]
    assert found.at.path == (*AT, "rollout", "canaryGroups")
    assert found.fix.startswith("use at most 3,")


def test_a_canary_with_an_autoscaler_is_refused(faults: Faults, codes: Codes) -> None:
    (found,) = faults(None, autoscaling=Autoscaling(min=2, max=6), canary_groups=1)
    assert codes([found]) == ["canary-with-autoscaler"]
    assert "with 2 to 6 groups" in found.what


def test_a_canary_needs_one_set_of_groups(faults: Faults, codes: Codes) -> None:
    assert codes(faults(form=DEPLOYMENT, canary_groups=1)) == ["canary-needs-groups"]
    (found,) = faults(under=LONE, staged=True, canary_groups=1)
    assert codes([found]) == ["canary-needs-groups"]
    assert "each group is a set of its own" in found.what
