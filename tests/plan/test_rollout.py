from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gangform.admission.admission import Policy
from gangform.apis.core import DeploymentForm
from gangform.apis.leaderworkerset import LeaderWorkerSetForm
from gangform.apis.set_rollout import Strategy
from gangform.apis.versions import Release
from gangform.findings import Finding
from gangform.inputs.cluster import Cluster
from gangform.inputs.serving import Autoscaling, Rollout, Serving
from gangform.plan import rollout
from gangform.plan.rollout import RolloutPlan
from gangform.plan.serving import ServingPlan
from gangform.plan.simulation import World, simulate
from gangform.units import Seconds

MakeServing = Callable[..., Serving]
MakeCluster = Callable[..., Cluster]
MakePlan = Callable[..., ServingPlan]
Codes = Callable[[Iterable[Finding]], list[str]]
Roll = Callable[..., RolloutPlan]
Faults = Callable[..., list[Finding]]

SET, DEPLOYMENT = LeaderWorkerSetForm(), DeploymentForm()
AT = ("servings", "llm")


def policy(**changes: Any) -> Policy:
    given: dict[str, Any] = {
        "queued": False,
        "needs_queue": False,
        "surge_finishes": True,
        "surges": True,
        "gangs": False,
        "scales": True,
        "one_workload_per_group": False,
        "longest_name": None,
    }
    return Policy(**{**given, **changes})


FREE = policy()
KUEUE = policy(surge_finishes=False)
LONE = policy(surge_finishes=False, surges=False, one_workload_per_group=True)


@pytest.fixture
def roll(make_serving: MakeServing) -> Roll:
    def plan(
        groups: int = 4, *, under: Policy = FREE, form: Any = SET, **asked: Any
    ) -> RolloutPlan:
        serving = make_serving(groups=groups, rollout=Rollout(**asked))
        return rollout.derive(
            serving,
            policy=under,
            form=form,
            replicas=serving.lowest_groups,
            highest=serving.highest_groups,
            teardown=Seconds(90),
            cold_start=Seconds(600),
        )

    return plan


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


# ── what is derived ──────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("under", "form", "asked", "pair"),
    [
        (FREE, SET, {}, (0, 1)),
        (FREE, SET, {"spare_groups": 1}, (1, 0)),
        (FREE, SET, {"spare_groups": 3}, (1, 0)),
        (KUEUE, SET, {}, (0, 1)),
        (KUEUE, SET, {"spare_groups": 1}, (0, 1)),
        (LONE, SET, {"spare_groups": 1}, (0, 1)),
        (policy(surges=False), SET, {"spare_groups": 1}, (0, 1)),
        (KUEUE, DEPLOYMENT, {}, (0, 1)),
        (KUEUE, DEPLOYMENT, {"spare_groups": 1}, (1, 0)),
        (LONE, DEPLOYMENT, {"spare_groups": 1}, (1, 0)),
        (FREE, SET, {"max_surge": 2}, (2, 0)),
        (FREE, SET, {"max_surge": 0}, (0, 1)),
        (FREE, SET, {"max_unavailable": 2}, (0, 2)),
        (FREE, SET, {"max_unavailable": 2, "spare_groups": 1}, (0, 2)),
        (FREE, SET, {"max_unavailable": 0, "spare_groups": 1}, (1, 0)),
        (FREE, SET, {"max_unavailable": 0}, (0, 0)),
        (FREE, SET, {"max_surge": 2, "max_unavailable": 1}, (2, 1)),
        (KUEUE, SET, {"max_surge": 1}, (1, 0)),
    ],
)
def test_surge_follows_a_spare_group_and_unavailable_follows_surge(
    roll: Roll, under: Policy, form: Any, asked: dict[str, int], pair: tuple[int, int]
) -> None:
    plan = roll(under=under, form=form, **asked)
    assert (plan.max_surge, plan.max_unavailable) == pair


@settings(deadline=None)
@given(spare=st.integers(0, 3), finishes=st.booleans())
def test_what_is_derived_always_moves(spare: int, finishes: bool) -> None:
    surge = rollout.max_surge(None, spare=spare, finishes=finishes, unavailable=None)
    unavailable = rollout.max_unavailable(None, surge=surge)
    assert surge + unavailable == 1
    assert finishes or not surge


@pytest.mark.parametrize(
    ("under", "asked", "reason"),
    [
        (FREE, {}, "no spare group is declared, so one group after another is replaced in place"),
        (
            FREE,
            {"spare_groups": 1},
            "a spare group is declared, so a new group comes up before an old one goes",
        ),
        (
            KUEUE,
            {"spare_groups": 1},
            "a spare group is declared, but under this backend a surge does not finish",
        ),
        (FREE, {"max_surge": 0}, "as declared"),
        (KUEUE, {"max_unavailable": 1}, "as declared"),
    ],
)
def test_the_numbers_come_with_their_reason(
    roll: Roll, under: Policy, asked: dict[str, int], reason: str
) -> None:
    assert roll(under=under, **asked).reason == reason


def test_capacity_beyond_the_wanted_groups_is_the_larger_of_surge_and_spare(roll: Roll) -> None:
    assert roll().extra == 0
    assert roll(spare_groups=2).extra == 2
    assert (roll(spare_groups=2).spare, roll(spare_groups=2).max_surge) == (2, 1)
    assert roll(max_surge=3, spare_groups=2).extra == 3
    assert roll(under=KUEUE, spare_groups=1).extra == 1


@pytest.mark.parametrize(
    ("canary", "partition"), [(None, 0), (0, 4), (1, 3), (3, 1), (4, 0), (9, 0)]
)
def test_a_canary_keeps_the_rest_below_the_partition(
    roll: Roll, canary: int | None, partition: int
) -> None:
    assert roll(canary_groups=canary).partition == partition


def test_a_rollout_takes_a_grace_and_a_cold_start_for_each_group(roll: Roll) -> None:
    assert roll(4).duration == 4 * 690
    assert roll(4, spare_groups=1).duration == 4 * 690 + 600
    assert roll(4, max_surge=2, max_unavailable=0).duration == 4 * 690 + 600
    assert roll(4, canary_groups=1).duration == 690
    assert roll(4, canary_groups=3).duration == 3 * 690
    assert roll(4, canary_groups=1, spare_groups=1).duration == 690 + 600
    assert roll(4, canary_groups=0).duration == 0
    assert rollout.duration(3, 0, Seconds(1), Seconds(10)) == 33
    assert rollout.duration(3, 2, Seconds(1), Seconds(10)) == 43


# ── peak and floor, against the controller's stepping ────────────────────────────────────────────


@settings(deadline=None, max_examples=150)
@given(
    replicas=st.integers(1, 7),
    surge=st.integers(0, 8),
    unavailable=st.integers(0, 8),
    partition=st.sampled_from([0, 0, 1, 3]),
    teardown=st.integers(0, 9),
    cold=st.integers(1, 9),
)
def test_the_closed_formulas_are_those_of_the_simulation(
    replicas: int, surge: int, unavailable: int, partition: int, teardown: int, cold: int
) -> None:
    if not surge and not unavailable:
        return
    played = simulate(
        Strategy(replicas, surge, unavailable, partition),
        World(size=2, grace=Seconds(0), worker_grace=Seconds(teardown), start=Seconds(cold)),
    )
    assert played is not None
    assert played.peak == rollout.peak(replicas, surge, unavailable)
    assert played.floor >= rollout.floor(replicas, unavailable)
    if unavailable < 2 and not partition:
        assert played.floor == rollout.floor(replicas, unavailable)
    made = rollout.peak(replicas, surge, unavailable) - replicas
    assert played.end == rollout.duration(
        rollout.replaced(replicas, partition), made, Seconds(teardown), Seconds(cold)
    )


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "peak", "floor"),
    [
        (6, 0, 1, 6, 5),
        (6, 1, 0, 7, 6),
        (6, 1, 1, 7, 5),
        (6, 2, 1, 8, 5),
        (6, 2, 2, 8, 4),
        (4, 1, 1, 5, 3),
        (2, 1, 0, 3, 2),
        (2, 2, 1, 3, 1),
        (2, 2, 0, 4, 2),
        (1, 1, 0, 2, 1),
        (1, 1, 1, 1, 0),
        (1, 0, 1, 1, 0),
        (2, 0, 5, 2, 0),
    ],
)
def test_peak_and_floor_are_those_of_the_lab(
    replicas: int, surge: int, unavailable: int, peak: int, floor: int
) -> None:
    assert rollout.peak(replicas, surge, unavailable) == peak
    assert rollout.floor(replicas, unavailable) == floor


@pytest.mark.parametrize(
    ("replicas", "surge", "unavailable", "peak"),
    [(3, 1, 0, 4), (3, 0, 1, 3), (3, 1, 1, 4), (1, 1, 1, 2), (2, 5, 0, 4)],
)
def test_a_deployment_makes_at_most_as_many_again(
    replicas: int, surge: int, unavailable: int, peak: int
) -> None:
    assert rollout.peak(replicas, surge, unavailable, sets=False) == peak


def test_a_deployment_makes_each_replica_once(roll: Roll) -> None:
    once = Seconds(90) + Seconds(600)
    assert roll(3, form=DEPLOYMENT, max_surge=1, max_unavailable=0).duration == 3 * once
    assert roll(3, max_surge=1, max_unavailable=0).duration == 3 * once + Seconds(600)


def test_only_a_group_of_several_pods_holds_two_revisions() -> None:
    (said,) = rollout.remarks(SET, 2)
    assert "two revisions" in said
    assert [*rollout.remarks(SET, 1), *rollout.remarks(DEPLOYMENT, 1)] == []


def test_a_deployment_keeps_no_more_room_than_it_takes(roll: Roll) -> None:
    alone = roll(1, form=DEPLOYMENT, max_surge=3, max_unavailable=0)
    assert (alone.peak, alone.extra) == (2, 1)
    assert roll(1, form=DEPLOYMENT, max_surge=3, max_unavailable=0, spare_groups=2).extra == 2
    assert roll(1, max_surge=3, max_unavailable=0).extra == 3


def test_the_peak_is_that_of_the_autoscalers_maximum_and_the_floor_of_its_minimum(
    make_plan: MakePlan,
) -> None:
    plan = make_plan(autoscaling=Autoscaling(min=2, max=6), rollout=Rollout(spare_groups=1))
    found = plan.lead.rollout
    assert (found.peak, found.floor) == (7, 2)
    cold = plan.lead.startup.cold_start
    assert found.duration == 2 * (plan.lead.launch.teardown + cold) + cold


# ── findings ─────────────────────────────────────────────────────────────────────────────────────


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
